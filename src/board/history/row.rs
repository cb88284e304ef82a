//! PURE: the bytes of the history's file. After two copies of a header, of which the newer good one counts, comes a
//! ring of rows, a row for each five minutes. Each has its own checksum: a row that was being written when the
//! power went is a gap, and nothing else is lost.

use crate::base::checksum::crc32;

use super::Quantity;
use super::{NAME_BYTES, OTHERS, SAMPLES};

/// Values in a row: the built-in quantities, then others that have names.
pub const COLUMNS: usize = Quantity::ALL.len() + OTHERS;
/// Bytes of a row: its slot, the values, the checksum.
pub const ROW_BYTES: usize = 4 + 4 * COLUMNS + 4;
/// Bytes of one copy of the header.
pub const HEADER_BYTES: usize = 1024;
/// Where the rows begin.
pub const ROWS_START: u64 = 2 * HEADER_BYTES as u64;
/// Bytes of the file.
pub const FILE_BYTES: u64 = ROWS_START + (SAMPLES * ROW_BYTES) as u64;

/// The number of five minutes since 1970.
pub type Slot = u32;
/// The values of a row; what was not known is not a number.
pub type Values = [f32; COLUMNS];

const MAGIC: &[u8; 8] = b"crabhist";
const VERSION: u32 = 1;

/// A row's bytes.
pub fn encode(slot: Slot, values: &Values) -> Vec<u8> {
    let mut bytes = slot.to_le_bytes().to_vec();
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes.extend(crc32(&bytes).to_le_bytes());
    bytes
}

/// A row; `None` when it was never written, or is damaged.
pub fn decode(bytes: &[u8]) -> Option<(Slot, Values)> {
    let (content, checksum) = bytes.split_last_chunk::<4>()?;
    let (slot, values) = content.split_first_chunk::<4>()?;
    if crc32(content) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (values, _) = values.as_chunks::<4>();
    let value = |index: usize| values.get(index).map(|bytes| f32::from_le_bytes(*bytes));
    let values = std::array::from_fn(|index| value(index).unwrap_or(f32::NAN));
    Some((u32::from_le_bytes(*slot), values))
}

/// Where a slot's row is in the file.
pub fn offset(slot: Slot) -> u64 {
    ROWS_START + (slot as usize % SAMPLES * ROW_BYTES) as u64
}

/// The names of the columns behind the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Grows with each change: the copy with the larger one counts.
    pub generation: u32,
    /// Each with the slot from which on its column is its own.
    pub names: [(String, Slot); OTHERS],
}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        for (name, since) in &self.names {
            let mut field = [0; NAME_BYTES];
            let name = crate::text::truncate_bytes(name, NAME_BYTES);
            for (place, byte) in field.iter_mut().zip(name.bytes()) {
                *place = byte;
            }
            bytes.extend(field);
            bytes.extend(since.to_le_bytes());
        }
        bytes.resize(HEADER_BYTES - 4, 0);
        bytes.extend(crc32(&bytes).to_le_bytes());
        bytes
    }

    /// The header of one copy; `None` when it is damaged or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (content, checksum) = bytes.split_last_chunk::<4>()?;
        let rest = content.strip_prefix(MAGIC)?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (generation, mut rest) = rest.split_first_chunk::<4>()?;
        let is_good = crc32(content) == u32::from_le_bytes(*checksum)
            && u32::from_le_bytes(*version) == VERSION;
        let mut header = is_good.then(|| Self {
            generation: u32::from_le_bytes(*generation),
            ..Self::default()
        })?;
        for entry in &mut header.names {
            let (name, after) = rest.split_first_chunk::<NAME_BYTES>()?;
            let (since, after) = after.split_first_chunk::<4>()?;
            let name = String::from_utf8_lossy(name);
            *entry = (
                name.trim_end_matches('\0').to_owned(),
                u32::from_le_bytes(*since),
            );
            rest = after;
        }
        Some(header)
    }

    /// The newer good one of the two copies.
    pub fn newest(bytes: &[u8]) -> Option<Self> {
        let copies = bytes.chunks(HEADER_BYTES).take(2).filter_map(Self::decode);
        copies.max_by_key(|header| header.generation)
    }

    /// Where the copy of this generation is in the file.
    pub fn offset(&self) -> u64 {
        u64::from(self.generation % 2) * HEADER_BYTES as u64
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let place = self.names.iter().position(|(known, _)| known == name)?;
        Some(Quantity::ALL.len() + place)
    }

    /// The column of a name, which it gets if it has none: a free one, or that of a name that is not in
    /// `wanted`. `None` when all are wanted.
    pub fn assign(&mut self, name: &str, slot: Slot, wanted: &[&str]) -> Option<usize> {
        if let Some(column) = self.column(name) {
            return Some(column);
        }
        let is_free = |(known, _): &(String, Slot)| known.is_empty();
        let is_unwanted = |(known, _): &(String, Slot)| !wanted.contains(&known.as_str());
        let place = self.names.iter().position(is_free);
        let place = place.or_else(|| self.names.iter().position(is_unwanted))?;
        *self.names.get_mut(place)? = (name.to_owned(), slot);
        Some(Quantity::ALL.len() + place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_and_a_header_come_back_and_damage_is_noticed() {
        let values: Values = std::array::from_fn(|index| index as f32 / 3.0);
        let row = encode(5_984_340, &values);
        assert_eq!(row.len(), ROW_BYTES);
        assert_eq!(decode(&row), Some((5_984_340, values)));
        let mut header = Header::default();
        assert_eq!(header.assign("pressure", 7, &[]), Some(5));
        assert_eq!(header.assign("湿度", 8, &["pressure"]), Some(6));
        assert_eq!(header.assign("pressure", 9, &[]), Some(5));
        header.generation = 3;
        let bytes = header.encode();
        assert_eq!(bytes.len(), HEADER_BYTES);
        assert_eq!(Header::decode(&bytes), Some(header));
        for (bytes, is_row) in [(row, true), (bytes, false)] {
            for place in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[place] ^= 16;
                let is_noticed = match is_row {
                    true => decode(&damaged).is_none(),
                    false => Header::decode(&damaged).is_none(),
                };
                assert!(is_noticed, "byte {place}");
            }
        }
        assert_eq!(
            decode(&[0; ROW_BYTES]),
            None,
            "a row that was never written"
        );
    }

    #[test]
    fn the_newer_copy_counts_and_a_torn_one_does_not() {
        let older = Header {
            generation: 4,
            ..Header::default()
        };
        let newer = Header {
            generation: 5,
            ..Header::default()
        };
        let mut file = [older.encode(), newer.encode()].concat();
        assert_eq!(Header::newest(&file).map(|one| one.generation), Some(5));
        file[HEADER_BYTES + 20] ^= 1;
        assert_eq!(Header::newest(&file).map(|one| one.generation), Some(4));
        file[20] ^= 1;
        assert_eq!(Header::newest(&file), None);
    }

    #[test]
    fn a_name_that_is_not_wanted_makes_room() {
        let mut header = Header::default();
        let names: Vec<String> = (0..OTHERS).map(|number| format!("w{number}")).collect();
        let mut wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        for name in &names {
            assert!(header.assign(name, 1, &wanted).is_some());
        }
        wanted.push("new");
        assert_eq!(header.assign("new", 2, &wanted), None);
        wanted.remove(3);
        assert_eq!(header.assign("new", 2, &wanted), Some(5 + 3));
        assert_eq!(header.names[3], ("new".to_owned(), 2));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            let _ = (decode(&bytes), Header::newest(&bytes));
        }
    }
}
