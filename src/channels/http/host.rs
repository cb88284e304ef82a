//! What the HTTP server asks of the gateway that it belongs to.

use std::sync::{Arc, OnceLock};

use super::hook::HookCall;
use crate::base::error::Result;

/// Whether a figure only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// It grows until the next start, or until midnight.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// A number about the gateway or the board.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name behind `peacrab_`, with its unit at the end.
    pub name: &'static str,
    /// One sentence about it.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: FigureKind,
    /// Tells it from others of the same name.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: f64,
}

/// The gateway, as the HTTP server sees it. Its methods wait for nothing but the disk.
pub trait Host: Send + Sync {
    /// Whether the gateway works: `None`, or what does not.
    fn trouble(&self) -> Option<String>;

    /// Numbers about the gateway and the board; those of one name stand together.
    fn figures(&self) -> Vec<Figure>;

    /// The ids of the agents.
    fn agents(&self) -> Vec<String>;

    /// Takes a call of a hook: what it comes to is on the disk when this returns. The same delivery is taken once.
    fn hook(&self, call: HookCall) -> Result<()>;
}

/// The place of the gateway, which is made after its channels.
#[derive(Clone, Default)]
pub struct Slot(Arc<OnceLock<Arc<dyn Host>>>);

impl Slot {
    /// Names the gateway, once.
    pub fn fill(&self, host: Arc<dyn Host>) {
        let _ = self.0.set(host);
    }

    /// The gateway; `None` before it is complete.
    pub fn host(&self) -> Option<&dyn Host> {
        self.0.get().map(AsRef::as_ref)
    }
}
