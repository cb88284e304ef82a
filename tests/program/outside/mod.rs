//! What comes from outside, and what lies in the home, may be anything.

mod control;
mod irregular;
mod misplaced;
mod poison;
mod shown;
mod trickle;
