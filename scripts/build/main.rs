//! Makes what the program contains and no source can be: runs before it is compiled.

#![allow(clippy::expect_used, reason = "an error ends the build and says why")]

mod page;

fn main() {
    page::compress();
}
