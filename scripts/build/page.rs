//! Compresses the files of the web page into `OUT_DIR/page`, each as NAME.gz (RFC 1952).

use std::path::{Path, PathBuf};
use std::{env, fs};

use miniz_oxide::deflate::compress_to_vec;

/// Where the files are.
const FOLDER: &str = "src/channels/http/page";
/// The best compression.
const LEVEL: u8 = 10;

/// Compresses all files of the page. Does nothing for a program without HTTP.
pub fn compress() {
    println!("cargo::rerun-if-changed={FOLDER}");
    if env::var_os("CARGO_FEATURE_HTTP").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("OUT_DIR")).join("page");
    fs::create_dir_all(&out).expect("the folder for the page");
    let entries = fs::read_dir(FOLDER).expect(FOLDER);
    for path in entries.map(|entry| entry.expect(FOLDER).path()) {
        let text = fs::read_to_string(&path).expect("a file of the page");
        let name = path.file_name().expect("a name").to_string_lossy();
        let packed = gzip(strip(&path, &text).as_bytes());
        fs::write(out.join(format!("{name}.gz")), packed).expect("a compressed file");
    }
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
    let length = u32::try_from(bytes.len()).expect("a short file");
    packed.extend(length.to_le_bytes());
    packed
}

/// The checksum of RFC 1952, 8.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let mask = (sum & 1).wrapping_neg();
            sum = (sum >> 1) ^ (0xedb8_8320 & mask);
        }
    }
    !sum
}
