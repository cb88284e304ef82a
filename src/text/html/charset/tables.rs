//! Tables of code points, which scripts/charsets writes from Python's codecs: deflated, and unpacked only
//! while something is decoded with them. PURE.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Unpacked bytes of the largest table of a character set.
const CHARSET_TABLE_BYTES: usize = 48 * 1024;

pub const GB18030: &[u8] = include_bytes!("tables/gb18030.bin");
pub const BIG5: &[u8] = include_bytes!("tables/big5.bin");
pub const SHIFT_JIS: &[u8] = include_bytes!("tables/shift-jis.bin");
pub const JIS_X_0212: &[u8] = include_bytes!("tables/jis-x-0212.bin");
pub const EUC_KR: &[u8] = include_bytes!("tables/euc-kr.bin");
pub const SINGLE_BYTE: &[u8] = include_bytes!("tables/single-byte.bin");

/// Code points of the Basic Multilingual Plane; 0 where nothing is assigned.
#[derive(Debug, Default)]
pub struct Table(Vec<u16>);

impl Table {
    /// Unpacks a table. Each point is written as its difference to the one before, the low bytes of all
    /// first and then the high ones.
    pub fn unpack(packed: &[u8]) -> Self {
        // What is in the program can be unpacked: the tests do it.
        let bytes = decompress_to_vec_with_limit(packed, CHARSET_TABLE_BYTES).unwrap_or_default();
        let (low, high) = bytes.split_at(bytes.len() / 2);
        let mut point: u16 = 0;
        let points = low.iter().zip(high).map(|(low, high)| {
            point = point.wrapping_add(u16::from_le_bytes([*low, *high]));
            point
        });
        Self(points.collect())
    }

    /// The character at a place.
    pub fn char(&self, place: usize) -> Option<char> {
        let point = self.0.get(place).copied().filter(|point| *point != 0)?;
        char::from_u32(u32::from(point))
    }

    /// The code points from 0x80 on that are not in this table.
    pub fn others(&self) -> Self {
        let mut is_here = vec![0_u64; 0x1_0000 / 64];
        for point in &self.0 {
            if let Some(bits) = is_here.get_mut(usize::from(*point) / 64) {
                *bits |= 1 << (point % 64);
            }
        }
        let is_other = |point: &u16| {
            let bits = is_here.get(usize::from(*point) / 64);
            bits.is_some_and(|bits| bits >> (point % 64) & 1 == 0)
        };
        let chars = (0x80..=u16::MAX).filter(|point| !(0xd800..0xe000).contains(point));
        Self(chars.filter(is_other).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_whole() {
        let rows = [
            (GB18030, 126 * 190),
            (BIG5, 126 * 157),
            (SHIFT_JIS, 60 * 188),
            (EUC_KR, 126 * 190),
            (JIS_X_0212, 94 * 94),
            (SINGLE_BYTE, 31 * 128),
        ];
        for (packed, length) in rows {
            assert_eq!(Table::unpack(packed).0.len(), length);
        }
        // GB18030 has a place for each code point: the others take four bytes.
        assert_eq!(Table::unpack(GB18030).others().0.len(), 39_420);
    }
}
