//! Whether a command may run without a question: the rules (`decide`, `risk`, `split`, PURE), what people have allowed
//! (`standing`, `allowance`, `grant`), and the words of a refusal.

pub(super) mod allowance;
pub(super) mod decide;
pub(in crate::tools::commands) mod grant;
pub(super) mod refusal;
pub mod risk;
pub(in crate::tools::commands) mod split;
pub(super) mod standing;
