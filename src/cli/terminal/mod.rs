//! Everything that passes between the program and a person's terminal.

pub mod ask;
pub mod browser;
pub mod form;
pub mod input;
pub mod interrupt;
pub mod log;
pub mod markdown;
pub mod print;
pub mod prompt;
pub mod screen;
pub mod texts;
pub mod view;

pub use screen::{mode, status};

/// Characters of what a running call says about itself, on the line that shows what a turn waits for.
const STATUS_CHARS: usize = 60;
