//! What a file holds, told by its first bytes.

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// Text, as far as can be seen.
    Text,
    /// An image that models see, with its media type.
    Image(&'static str),
    /// Something else, with its name.
    Binary(&'static str),
}

use Media::{Binary, Image, Text};

/// Where a signature stands, the signature, and what it means. The first that fits counts.
const SIGNATURES: [(usize, &[u8], Media); 24] = [
    (0, b"\x89PNG\r\n\x1a\n", Image("image/png")),
    (0, b"\xff\xd8\xff", Image("image/jpeg")),
    (0, b"GIF87a", Image("image/gif")),
    (0, b"GIF89a", Image("image/gif")),
    (8, b"WEBP", Image("image/webp")),
    (0, b"%PDF-", Binary("PDF document")),
    (0, b"PK\x03\x04", Binary("ZIP archive or Office document")),
    (0, b"\x1f\x8b", Binary("gzip archive")),
    (0, b"BZh", Binary("bzip2 archive")),
    (0, b"\xfd7zXZ\0", Binary("xz archive")),
    (0, b"\x28\xb5\x2f\xfd", Binary("zstd archive")),
    (0, b"7z\xbc\xaf\x27\x1c", Binary("7z archive")),
    (257, b"ustar", Binary("tar archive")),
    (0, b"\x7fELF", Binary("ELF program or library")),
    (0, b"SQLite format 3\0", Binary("SQLite database")),
    (0, b"OggS", Binary("Ogg audio")),
    (0, b"ID3", Binary("MP3 audio")),
    (8, b"WAVE", Binary("WAV audio")),
    (8, b"AVI ", Binary("AVI video")),
    (4, b"ftyp", Binary("MP4 audio, video or image")),
    (0, b"\x1aE\xdf\xa3", Binary("Matroska or WebM video")),
    (0, b"\xff\xfe", Binary("UTF-16 text")),
    (0, b"\xfe\xff", Binary("UTF-16 text")),
    (0, b"\0asm", Binary("WebAssembly module")),
];

/// Tells what a file holds by how it begins.
pub(super) fn detect(head: &[u8]) -> Media {
    let fits = |at: &usize, signature: &[u8]| {
        let rest = head.get(*at..).unwrap_or_default();
        // What stands further in is the name of a form of RIFF, and text may hold it by chance.
        let is_riff =
            !matches!(signature, b"WEBP" | b"WAVE" | b"AVI ") || head.starts_with(b"RIFF");
        rest.starts_with(signature) && is_riff
    };
    let known = SIGNATURES
        .iter()
        .find(|(at, signature, _)| fits(at, signature));
    match known {
        // Short signatures of letters may begin a text, too.
        Some((_, b"BZh" | b"ID3" | b"OggS" | b"ftyp" | b"ustar", _)) if !head.contains(&0) => Text,
        Some((_, _, media)) => *media,
        None if head.contains(&0) => Binary("binary data"),
        None => Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_first_bytes_say() {
        let cases: [(&[u8], Media); 10] = [
            (b"", Text),
            (b"fn main() {}", Text),
            ("Zürich, 日本".as_bytes(), Text),
            (b"caf\xe9", Text),
            (b"BZh is no archive", Text),
            (b"BZh91AY\0\0", Binary("bzip2 archive")),
            (b"\x89PNG\r\n\x1a\n\0", Image("image/png")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Image("image/webp")),
            (b"%PDF-1.7\n", Binary("PDF document")),
            (b"x\0y", Binary("binary data")),
        ];
        for (head, media) in cases {
            assert_eq!(detect(head), media, "{head:?}");
        }
    }
}
