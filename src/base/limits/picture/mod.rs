//! Bounds of pictures.

/// Curves in one plot, so that they can be told apart and their legend leaves room.
pub const CURVES_MAX: usize = 6;
/// Characters of a curve's name in the legend.
pub const NAME_CHARS: usize = 24;
