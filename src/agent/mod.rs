//! Floor 7: the agent. `turn` decides, `run` does, `context` tells the model where it is.
pub mod context;
pub mod turn;
