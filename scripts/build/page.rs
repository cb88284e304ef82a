//! Compresses the files of the web page into the folder `page`, each as NAME.gz (RFC 1952).

use std::path::Path;
use std::{env, fs};

use miniz_oxide::deflate::compress_to_vec;

use super::checksum::crc32;

/// Where the files are.
const FOLDER: &str = "src/channels/http/page";
/// The best compression.
const LEVEL: u8 = 10;

/// Compresses all files of the page. Does nothing for a program without HTTP.
pub fn compress(folder: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={FOLDER}");
    if env::var_os("CARGO_FEATURE_HTTP").is_none() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("{FOLDER}: {error}");
    let folder = folder.join("page");
    fs::create_dir_all(&folder).map_err(failed)?;
    for entry in fs::read_dir(FOLDER).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let text = fs::read_to_string(&path).map_err(failed)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let packed = gzip(strip(&path, &text).as_bytes());
        fs::write(folder.join(format!("{name}.gz")), packed).map_err(failed)?;
    }
    Ok(())
}

/// A text without what only people read: indentation, empty lines, and lines that are comments. No string of the page
/// goes over more than one line.
fn strip(path: &Path, text: &str) -> String {
    let is_script = path.extension().is_some_and(|it| it == "js");
    let lines = text.lines().map(str::trim);
    let is_comment = |line: &str| is_script && line.starts_with("//");
    let kept = lines.filter(|line| !line.is_empty() && !is_comment(line));
    kept.collect::<Vec<_>>().join("\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // Compressed with deflate; no name, no time, an unknown system: the same file gives the same bytes.
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    packed.extend(compress_to_vec(bytes, LEVEL));
    packed.extend(crc32(bytes).to_le_bytes());
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed
}
