//! The terminal as a screen: its modes, and the line that shows what a turn waits for.

pub mod mode;
pub mod status;
