//! The output of one command in a shell: told as it comes, and kept as plain lines.

use crate::sandbox::confine::OUTPUT_BYTES;
use crate::sandbox::confine::run::{Captured, Collector, Output};
use crate::text::overstrike::Overstrike;

/// Collects the output of one command as plain text.
pub struct Follower<'a> {
    collector: Collector<'a>,
    screen: Overstrike,
    /// Bytes as they came.
    pub total: u64,
    is_binary: bool,
    plain: String,
}

impl<'a> Follower<'a> {
    /// Nothing yet.
    pub fn new(output: Output<'a>) -> Self {
        Self {
            collector: Collector::new(OUTPUT_BYTES, output),
            screen: Overstrike::default(),
            total: 0,
            is_binary: false,
            plain: String::new(),
        }
    }

    /// Takes bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.is_binary |= bytes.contains(&0);
        self.collector.tell(bytes);
        self.screen.feed(bytes, &mut self.plain);
        if !self.plain.is_empty() {
            self.collector.keep(self.plain.as_bytes());
            self.plain.clear();
        }
    }

    /// The output.
    pub fn finish(mut self) -> Captured {
        self.screen.finish(&mut self.plain);
        if self.is_binary {
            Captured::binary(self.total)
        } else {
            self.collector.keep(self.plain.as_bytes());
            self.collector.finish()
        }
    }
}
