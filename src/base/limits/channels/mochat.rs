//! Bounds of MoChat.

/// Sessions and panels that are followed, each.
pub const TARGETS: usize = 64;
