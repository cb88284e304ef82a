//! Whether a command may run without a question: the rules (`decide`, `risk`, `folders`, PURE), what people have allowed
//! (`standing`, `allowance`, `grant`), and the words of a refusal.

pub(super) mod allowance;
pub(super) mod decide;
pub(in crate::tools::commands) mod folders;
pub(in crate::tools::commands) mod grant;
pub(super) mod refusal;
pub mod risk;
pub(super) mod standing;
