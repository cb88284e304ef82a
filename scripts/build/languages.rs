//! Packs the translations of the bot's texts: `src/base/language/*.po` becomes a file of bytes for each language, which
//! `base/language/catalog` has in it.

use std::path::Path;

use super::po;

/// The folder of the translations.
const FOLDER: &str = "src/base/language";
/// The languages whose texts are not in the source.
const CODES: [&str; 5] = ["de", "fr", "es", "pt", "ja"];

/// Packs all of them into a folder. What is wrong with one comes with file and line.
pub fn pack(folder: &Path) -> Result<(), String> {
    for code in CODES {
        let path = format!("{FOLDER}/{code}.po");
        println!("cargo::rerun-if-changed={path}");
        let place = |fault: &po::Fault| format!("{path}:{}: {}", fault.line, fault.problem);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let packed = po::read(&text).and_then(|entries| po::pack(&entries));
        let packed = packed.map_err(|fault| place(&fault))?;
        for fault in &packed.left_out {
            println!("cargo::warning={}", place(fault));
        }
        let file = folder.join(format!("{code}.texts"));
        std::fs::write(&file, packed.bytes)
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}
