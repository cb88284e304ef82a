//! Small facts that outlive the process, each an atomic file below `state/`.

pub mod approvals;
pub mod audit;
pub mod changes;
pub mod chats;
pub mod file;
pub mod languages;
pub mod learned;
pub mod pairing;
pub mod starts;
pub mod time;
pub mod updates;
pub mod usage;

pub use approvals::Approvals;
pub use approvals::tools::{ToolApproval, ToolApprovals};
pub use audit::Audit;
pub use changes::PromptChanges;
pub use chats::asked::{AskedSecret, AskedSecrets, OpenQuestions};
pub use chats::shells::ShellMemory;
pub use chats::{FirstTurns, LastChat, ModelChoices, RestartRequests};
pub use file::{Damaged, Policy, StateFile};
pub use languages::Languages;
pub use learned::Learned;
pub use pairing::Pairing;
pub use starts::Starts;
pub use time::KnownTime;
pub use usage::{Counts, LastTurn, TokenUsage};
