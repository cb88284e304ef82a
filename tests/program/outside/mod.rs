//! What comes from outside, and what lies in the home, may be anything.

mod poison;
mod trickle;
