//! What a person looks at on the board beside its status: processes, addresses, the journal, and machines to wake.

pub mod journal;
pub mod network;
pub mod top;
pub mod wake;
