//! Makes what the program contains and no source can be: runs before it is compiled.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "an error ends the build and says why, and cargo reads what is printed"
)]

mod page;

fn main() {
    page::compress();
}
