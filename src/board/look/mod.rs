//! What a person looks at on the board beside its status: processes, addresses, and machines to wake.

pub mod network;
pub mod top;
pub mod wake;
