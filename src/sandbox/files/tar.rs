//! Archives of the format ustar, with the extended headers of pax for what ustar has no room for: the
//! blocks before and after the content of each member. Pure.
//!
//! <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html>

/// Bytes of a block; everything is a multiple of it.
pub const BLOCK: usize = 512;
/// Bytes of a name in a header of ustar, which has a prefix beside it that is not used here.
const NAME: usize = 100;
/// The largest size that a header's eleven octal digits hold.
const SIZE: u64 = 0o777_7777_7777;

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder; its path ends with a slash.
    Folder,
    /// The extended header of the member that follows.
    Extended,
}

/// A member of an archive.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its path, relative, with slashes.
    pub path: &'a [u8],
    /// What it is.
    pub kind: Kind,
    /// Bytes of its content.
    pub size: u64,
    /// Its permissions.
    pub mode: u32,
    /// When it was changed, in seconds since 1970.
    pub modified: i64,
}

/// The blocks before the content of a member.
pub fn header(member: &Member<'_>) -> Vec<u8> {
    let mut records = Vec::new();
    if member.path.len() > NAME || !member.path.is_ascii() {
        record(&mut records, "path", member.path);
    }
    if member.size > SIZE {
        record(&mut records, "size", member.size.to_string().as_bytes());
    }
    let mut blocks = Vec::new();
    if !records.is_empty() {
        let extended = Member {
            path: b"pax",
            kind: Kind::Extended,
            size: records.len() as u64,
            mode: 0o644,
            modified: member.modified,
        };
        blocks.extend(plain_header(&extended));
        blocks.extend(&records);
        blocks.resize(blocks.len() + padding(records.len() as u64), 0);
    }
    blocks.extend(plain_header(member));
    blocks
}

/// Zero bytes after a content of this size.
pub fn padding(size: u64) -> usize {
    let over = (size % BLOCK as u64) as usize;
    (BLOCK - over) % BLOCK
}

/// The end of an archive.
pub const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

/// A record of an extended header: its own length in decimal digits, a space, `key=value`, a newline.
fn record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    // The length counts its own digits.
    let mut length = rest + 1;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    records.extend(format!("{length} {key}=").as_bytes());
    records.extend(value);
    records.push(b'\n');
}

fn plain_header(member: &Member<'_>) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(place) = block.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    };
    let name = member.path.get(..NAME).unwrap_or(member.path);
    put(0, name);
    put(100, format!("{:07o}\0", member.mode & 0o7777).as_bytes());
    // It belongs to the one who unpacks it.
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    let size = match member.kind {
        Kind::Folder => 0,
        Kind::File | Kind::Extended => member.size.min(SIZE),
    };
    put(124, format!("{size:011o}\0").as_bytes());
    let modified = u64::try_from(member.modified).unwrap_or(0).min(SIZE);
    put(136, format!("{modified:011o}\0").as_bytes());
    put(148, b"        ");
    put(
        156,
        match member.kind {
            Kind::File => b"0",
            Kind::Folder => b"5",
            Kind::Extended => b"x",
        },
    );
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    if let Some(place) = block.get_mut(148..156) {
        place.copy_from_slice(sum.as_bytes());
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn member(path: &str, size: u64) -> Member<'_> {
        Member {
            path: path.as_bytes(),
            kind: Kind::File,
            size,
            mode: 0o640,
            modified: 1_795_330_800,
        }
    }

    #[test]
    fn a_short_member_has_one_block_with_the_right_sum() {
        let block = header(&member("a/b.txt", 8));
        assert_eq!(block.len(), BLOCK);
        assert_eq!(&block[..8], b"a/b.txt\0");
        assert_eq!(&block[100..108], b"0000640\0");
        assert_eq!(&block[124..136], b"00000000010\0");
        assert_eq!(&block[257..265], b"ustar\x0000");
        let mut blank = block.clone();
        blank[148..156].fill(b' ');
        let sum: u32 = blank.iter().map(|byte| u32::from(*byte)).sum();
        assert_eq!(&block[148..156], format!("{sum:06o}\0 ").as_bytes());
    }

    #[test]
    fn a_record_counts_its_own_length() {
        for (length, expected) in [
            (1, 9),
            (2, 11),
            (90, 99),
            (91, 101),
            (989, 999),
            (990, 1001),
        ] {
            let mut records = Vec::new();
            record(&mut records, "path", &vec![b'x'; length]);
            assert_eq!(records.len(), expected, "{length}");
            assert!(records.starts_with(format!("{expected} path=").as_bytes()));
        }
    }

    proptest! {
        #[test]
        fn any_member_is_whole_blocks(path in "\\PC{0,300}", size: u64, mode: u32, modified: i64) {
            let member = Member { mode, modified, ..member(&path, size) };
            let blocks = header(&member);
            prop_assert_eq!(blocks.len() % BLOCK, 0);
            prop_assert_eq!((size % BLOCK as u64) as usize + padding(size), if size % BLOCK as u64 == 0 { 0 } else { BLOCK });
        }
    }
}
