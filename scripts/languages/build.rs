//! Packs the translations of the bot's texts when the program is built: `src/base/language/*.po` becomes a file of bytes
//! for each language, which `base/language/catalog` has in it.

#[path = "../../src/base/language/po.rs"]
mod po;
#[path = "../../src/base/language/template.rs"]
#[allow(dead_code, reason = "the program fills texts, this packs them")]
mod template;

use std::path::Path;
use std::process::ExitCode;

/// The folder of the translations.
const FOLDER: &str = "src/base/language";
/// The languages whose texts are not in the source.
const CODES: [&str; 5] = ["de", "fr", "es", "pt", "ja"];

fn main() -> ExitCode {
    for code in CODES {
        let path = format!("{FOLDER}/{code}.po");
        println!("cargo::rerun-if-changed={path}");
        if let Err(problem) = write_packed(code, &path) {
            println!("cargo::error={problem}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Packs a file for the program. What is wrong with it comes with file and line.
fn write_packed(code: &str, path: &str) -> Result<(), String> {
    let place = |fault: &po::Fault| format!("{path}:{}: {}", fault.line, fault.problem);
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let packed = po::read(&text).and_then(|entries| po::pack(&entries));
    let packed = packed.map_err(|fault| place(&fault))?;
    for fault in &packed.left_out {
        println!("cargo::warning={}", place(fault));
    }
    let folder = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let packed_file = Path::new(&folder).join(format!("{code}.texts"));
    std::fs::write(&packed_file, packed.bytes)
        .map_err(|error| format!("{}: {error}", packed_file.display()))
}
