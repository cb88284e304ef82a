//! A bounded reader of ZIP archives (PKWARE's APPNOTE.TXT, 4.3): stored and deflated files. The central
//! directory counts; an archive in which the two headers of a file differ is refused, and so is every
//! link and every path that leads elsewhere.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::package::{File, check_path};
use super::{FILES_MAX, NAMES_MAX, PACKAGE_BYTES};

const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// The largest size or offset; beyond, an archive has other fields, which are not read.
const LARGE: u32 = u32::MAX;

/// Where a file of the archive is.
struct Member {
    path: String,
    method: u16,
    checksum: u32,
    packed: usize,
    size: usize,
    offset: usize,
    is_executable: bool,
}

/// Whether this is a ZIP archive.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(LOCAL) || bytes.starts_with(END)
}

/// The files of an archive whose paths `wanted` accepts. The error says what is wrong, as a sentence.
pub fn read(bytes: &[u8], wanted: &dyn Fn(&str) -> bool) -> Result<Vec<File>, String> {
    let mut files = Vec::new();
    let mut total = 0_usize;
    for member in members(bytes)? {
        if !wanted(&member.path) {
            continue;
        }
        total = total.saturating_add(member.size);
        if files.len() == FILES_MAX || total > PACKAGE_BYTES {
            let most = PACKAGE_BYTES / 1024 / 1024;
            return Err(format!(
                "The archive has more than {FILES_MAX} files or {most} MB."
            ));
        }
        files.push(unpack(bytes, member)?);
    }
    Ok(files)
}

/// The paths of all files in an archive.
pub fn paths(bytes: &[u8]) -> Result<Vec<String>, String> {
    let members = members(bytes)?;
    Ok(members.into_iter().map(|member| member.path).collect())
}

fn members(bytes: &[u8]) -> Result<Vec<Member>, String> {
    let damaged = || "The archive is damaged or not a ZIP file.".to_owned();
    let from = bytes.len().saturating_sub(usize::from(u16::MAX) + 22);
    let tail = bytes.get(from..).unwrap_or_default();
    let end = tail.windows(END.len()).rposition(|window| window == END);
    let end = bytes
        .get(from + end.ok_or_else(damaged)?..)
        .unwrap_or_default();
    let count = usize::from(half(end, 10).ok_or_else(damaged)?);
    if count > NAMES_MAX {
        return Err(format!("The archive has more than {NAMES_MAX} names."));
    }
    let mut at = word(end, 16).ok_or_else(damaged)? as usize;
    let mut members: Vec<Member> = Vec::new();
    for _ in 0..count {
        let header = bytes.get(at..).filter(|header| header.starts_with(CENTRAL));
        let (member, length) = central(header.ok_or_else(damaged)?)?;
        at += length;
        members.extend(member);
    }
    let mut paths: Vec<&str> = members.iter().map(|member| member.path.as_str()).collect();
    paths.sort_unstable();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("The archive has {} twice.", pair[0])),
        None => Ok(members),
    }
}

/// An entry of the central directory and its length; `None` for a folder.
fn central(header: &[u8]) -> Result<(Option<Member>, usize), String> {
    let damaged = || "The archive is damaged: its directory is cut off.".to_owned();
    let half = |at| half(header, at).ok_or_else(damaged);
    let word = |at| word(header, at).ok_or_else(damaged);
    let (name, extra, comment) = (half(28)?, half(30)?, half(32)?);
    let length = 46 + usize::from(name) + usize::from(extra) + usize::from(comment);
    let name = header.get(46..46 + usize::from(name)).ok_or_else(damaged)?;
    let path = path_of(name).ok_or("The archive has a name that is not UTF-8.")?;
    if path.ends_with('/') {
        return Ok((None, length));
    }
    check_path(&path)?;
    if half(8)? & 1 != 0 {
        return Err(format!("{path} in the archive is encrypted."));
    }
    // The upper half are the permissions, if the archive was made on Unix.
    let mode = match half(4)? >> 8 {
        3 | 19 => word(38)? >> 16,
        _ => 0,
    };
    if !matches!(mode & 0o170_000, 0 | 0o100_000) {
        return Err(format!(
            "{path} in the archive is a link or a device. Only files and folders are installed."
        ));
    }
    let (packed, size, offset) = (word(20)?, word(24)?, word(42)?);
    if [packed, size, offset].contains(&LARGE) {
        return Err("The archive is too large (ZIP64).".to_owned());
    }
    let member = Member {
        path,
        method: half(10)?,
        checksum: word(16)?,
        packed: packed as usize,
        size: size as usize,
        offset: offset as usize,
        is_executable: mode & 0o111 != 0,
    };
    Ok((Some(member), length))
}

/// A name as a path. Programs on Windows write backslashes, against 4.4.17.1; no path of a skill has one
/// otherwise.
fn path_of(name: &[u8]) -> Option<String> {
    Some(str::from_utf8(name).ok()?.replace('\\', "/"))
}

fn unpack(bytes: &[u8], member: Member) -> Result<File, String> {
    let Member { path, size, .. } = member;
    let damaged = || format!("The archive is damaged at {path}.");
    let header = bytes
        .get(member.offset..)
        .filter(|header| header.starts_with(LOCAL));
    let header = header.ok_or_else(damaged)?;
    let name = usize::from(half(header, 26).ok_or_else(damaged)?);
    let extra = usize::from(half(header, 28).ok_or_else(damaged)?);
    if header.get(30..30 + name).and_then(path_of).as_ref() != Some(&path) {
        return Err(damaged());
    }
    let packed = header
        .get(30 + name + extra..)
        .and_then(|rest| rest.get(..member.packed));
    let packed = packed.ok_or_else(damaged)?;
    let content = match member.method {
        0 => packed.to_vec(),
        // The limit is the size that the directory gives: more is not unpacked.
        8 => decompress_to_vec_with_limit(packed, size).map_err(|_| damaged())?,
        method => {
            return Err(format!(
                "{path} in the archive is packed in an unknown way ({method})."
            ));
        }
    };
    if content.len() != size || checksum(&content) != member.checksum {
        return Err(damaged());
    }
    Ok(File {
        path,
        content,
        is_executable: member.is_executable,
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_le_bytes(bytes))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes))
}

/// CRC-32 as ZIP uses it.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An archive of stored or deflated files: path, content, permissions.
    fn archive(files: &[(&str, &[u8], u32)], deflates: bool) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (path, content, mode) in files {
            let packed = match deflates {
                true => miniz_oxide::deflate::compress_to_vec(content, 6),
                false => content.to_vec(),
            };
            let offset = bytes.len() as u32;
            let mut common = Vec::new();
            for value in [20_u16, 0, if deflates { 8 } else { 0 }, 0, 0] {
                common.extend(value.to_le_bytes());
            }
            for value in [checksum(content), packed.len() as u32, content.len() as u32] {
                common.extend(value.to_le_bytes());
            }
            common.extend((path.len() as u16).to_le_bytes());
            common.extend([0, 0]);
            bytes.extend(LOCAL);
            bytes.extend(&common);
            bytes.extend(path.as_bytes());
            bytes.extend(&packed);
            directory.extend(CENTRAL);
            directory.extend([20, 3]);
            directory.extend(&common);
            directory.extend([0; 6]);
            directory.extend((mode << 16).to_le_bytes());
            directory.extend(offset.to_le_bytes());
            directory.extend(path.as_bytes());
        }
        let start = bytes.len() as u32;
        bytes.extend(&directory);
        bytes.extend(END);
        bytes.extend([0; 4]);
        for _ in 0..2 {
            bytes.extend((files.len() as u16).to_le_bytes());
        }
        bytes.extend((directory.len() as u32).to_le_bytes());
        bytes.extend(start.to_le_bytes());
        bytes.extend([0, 0]);
        bytes
    }

    fn all(bytes: &[u8]) -> Result<Vec<File>, String> {
        read(bytes, &|_| true)
    }

    #[test]
    fn files_are_unpacked_with_their_permission_to_run() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
        for deflates in [false, true] {
            let long = "words ".repeat(2000);
            let files = [
                ("a/SKILL.md", long.as_bytes(), 0o100_644),
                ("a/run.sh", b"x", 0o100_755),
                ("a/", b"", 0),
            ];
            let bytes = archive(&files, deflates);
            let found = all(&bytes).unwrap();
            let shown: Vec<_> = found
                .iter()
                .map(|file| (file.path.as_str(), file.is_executable))
                .collect();
            assert_eq!(shown, [("a/SKILL.md", false), ("a/run.sh", true)]);
            assert_eq!(found[0].content, long.as_bytes());
            assert_eq!(paths(&bytes).unwrap().len(), 2);
        }
    }

    #[test]
    fn what_leads_elsewhere_or_lies_about_itself_is_refused() {
        for path in [
            "../x",
            "/x",
            "a/../../x",
            "a//x",
            "./x",
            "..\\x",
            "a\\..\\..\\x",
            "\\x",
            "\\\\server\\x",
            "C:\\x",
            "C:x",
            "x\0",
            "a\nb",
            "\u{202e}x",
        ] {
            let error = all(&archive(&[(path, b"x", 0)], false)).unwrap_err();
            assert!(error.contains("path"), "{path:?}: {error}");
        }
        let link = archive(&[("a", b"/etc/passwd", 0o120_777)], false);
        assert!(all(&link).unwrap_err().contains("a link or a device"));
        let twice = archive(&[("a", b"1", 0), ("a", b"2", 0)], false);
        assert!(all(&twice).unwrap_err().contains("twice"));
        let good = archive(&[("abc", &[b'x'; 5000], 0)], true);
        let at = |needle: &[u8]| {
            good.windows(4)
                .rposition(|window| window == needle)
                .unwrap()
        };
        let central_at = at(CENTRAL);
        let mut sizes = good.clone();
        sizes[central_at + 24..central_at + 28].copy_from_slice(&10_u32.to_le_bytes());
        assert!(all(&sizes).unwrap_err().contains("damaged"));
        let mut large = good.clone();
        large[central_at + 24..central_at + 28]
            .copy_from_slice(&(PACKAGE_BYTES as u32 + 1).to_le_bytes());
        assert!(all(&large).unwrap_err().contains("more than"));
        let mut renamed = good.clone();
        renamed[30] = b'z';
        assert!(all(&renamed).unwrap_err().contains("damaged"));
        let mut encrypted = good.clone();
        encrypted[central_at + 8] = 1;
        assert!(all(&encrypted).unwrap_err().contains("encrypted"));
        let mut other = good.clone();
        let last = other.len();
        other[last - 30] ^= 1;
        let _ = all(&other);
        assert!(all(&good).is_ok());
        assert!(all(b"").is_err() && all(b"PK\x05\x06").is_err() && all(&good[..60]).is_err());
    }

    #[test]
    fn backslashes_are_separators() {
        let files: [(&str, &[u8], u32); 3] = [
            ("a\\SKILL.md", b"x", 0),
            ("a\\b\\", b"", 0),
            ("a\\b/c.md", b"y", 0),
        ];
        let found = all(&archive(&files, true)).unwrap();
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a/SKILL.md", "a/b/c.md"]);
        let twice = archive(&[("a\\b", b"1", 0), ("a/b", b"2", 0)], false);
        assert!(all(&twice).unwrap_err().contains("twice"));
    }

    #[test]
    fn a_bomb_is_unpacked_no_further_than_it_says() {
        let zeros = vec![0; PACKAGE_BYTES];
        let fits = archive(&[("a", &zeros, 0)], true);
        assert!(fits.len() < PACKAGE_BYTES / 100);
        assert_eq!(all(&fits).unwrap()[0].content.len(), PACKAGE_BYTES);
        let more = archive(&[("a", &zeros, 0), ("b", b"x", 0)], true);
        assert!(all(&more).unwrap_err().contains("more than"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = archive(&[("SKILL.md", b"---\n", 0), ("x/y", &[7; 300], 0o100_755)], true);
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = all(&bytes);
            bytes.truncate(cut.index(bytes.len()) + 1);
            let _ = all(&bytes);
        }
    }
}
