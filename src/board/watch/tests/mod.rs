//! Tests of what is pure, and of the files.

mod rules;
mod series;
mod store;
