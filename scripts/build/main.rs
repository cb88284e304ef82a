//! Makes what the program contains and no source can be: runs before it is compiled.

#![expect(
    clippy::print_stdout,
    reason = "this is how a build script talks to cargo"
)]

#[path = "../../src/base/checksum.rs"]
#[allow(dead_code, reason = "the program has more checksums")]
mod checksum;
mod languages;
mod page;
#[path = "../../src/base/language/po.rs"]
mod po;
#[path = "../../src/base/language/template.rs"]
#[allow(dead_code, reason = "the program fills texts, this packs them")]
mod template;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("cargo::error={problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let folder = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let folder = PathBuf::from(folder);
    languages::pack(&folder)?;
    page::compress(&folder)
}
