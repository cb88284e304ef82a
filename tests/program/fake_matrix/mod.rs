//! The fake homeserver by itself: proved with matrix-nio, which works with real ones.

mod standalone;
