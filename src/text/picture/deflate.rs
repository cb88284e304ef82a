//! PURE: DEFLATE in a zlib stream (RFC 1950, RFC 1951), for drawings: matches are found in a small table, and the
//! codes are the fixed ones. It needs 10 kB where `miniz_oxide` needs 300, for a few per cent more bytes.

use crate::base::checksum::adler32;

/// Bytes that are compressed together. Nothing is matched across them, and a hash table fits its positions
/// into 16 bits.
const BLOCK_BYTES: usize = 48 * 1024;
/// Entries of the table in which the compression looks for earlier bytes: 8 kB.
const HASH_ENTRIES: usize = 4096;

/// The shortest and the longest match that the format has.
const MATCH: std::ops::RangeInclusive<usize> = 3..=258;
/// The farthest match.
const DISTANCE_MAX: usize = 32 * 1024;
/// The symbol that ends a block.
const END: u32 = 256;

/// A zlib stream that is being written.
#[derive(Debug)]
pub struct Deflate {
    out: Vec<u8>,
    /// Bits that do not fill a byte yet.
    bits: u32,
    count: u32,
    adler: u32,
    waiting: Vec<u8>,
}

impl Deflate {
    /// A stream that continues these bytes.
    pub fn new(out: Vec<u8>) -> Self {
        let mut stream = Self {
            out,
            bits: 0,
            count: 0,
            adler: 1,
            waiting: Vec::new(),
        };
        // A window of 32 kB, and a check value that makes the two bytes a multiple of 31.
        stream.out.extend([0x78, 0x01]);
        stream
    }

    /// Takes further bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        self.adler = adler32(self.adler, bytes);
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= BLOCK_BYTES {
            let waiting = std::mem::take(&mut self.waiting);
            for block in waiting.chunks(BLOCK_BYTES) {
                self.block(block, false);
            }
        }
    }

    /// All of it, with its end.
    pub fn finish(mut self) -> Vec<u8> {
        let waiting = std::mem::take(&mut self.waiting);
        self.block(&waiting, true);
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
        self.out.extend(self.adler.to_be_bytes());
        self.out
    }

    fn block(&mut self, bytes: &[u8], is_last: bool) {
        self.put(u32::from(is_last), 1);
        self.put(1, 2);
        let mut heads = vec![u16::MAX; HASH_ENTRIES];
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let earlier = look_up(&mut heads, rest, at);
            // A run of one byte is a match with the byte before it.
            let candidates = [earlier, at.checked_sub(1)].into_iter().flatten();
            let found = candidates
                .filter(|earlier| at - earlier <= DISTANCE_MAX)
                .map(|earlier| (common(bytes, earlier, at), at - earlier))
                .max_by_key(|(length, _)| *length);
            at += match found {
                Some((length, distance)) if MATCH.contains(&length) => {
                    self.put_match(length as u32, distance as u32);
                    length
                }
                _ => {
                    self.put_symbol(u32::from(rest[0]));
                    1
                }
            };
        }
        self.put_symbol(END);
    }

    fn put_match(&mut self, length: u32, distance: u32) {
        let (value, extra) = (length - 3, (length - 3).max(4).ilog2() - 2);
        match length {
            258 => self.put_symbol(285),
            _ => {
                self.put_symbol(257 + (extra << 2) + (value >> extra));
                self.put(value & ((1 << extra) - 1), extra);
            }
        }
        let (value, extra) = (distance - 1, (distance - 1).max(2).ilog2() - 1);
        self.put_code((extra << 1) + (value >> extra), 5);
        self.put(value & ((1 << extra) - 1), extra);
    }

    /// Writes a literal, a length or the end in the fixed code (RFC 1951, 3.2.6).
    fn put_symbol(&mut self, symbol: u32) {
        match symbol {
            0..=143 => self.put_code(0x30 + symbol, 8),
            144..=255 => self.put_code(0x190 + symbol - 144, 9),
            256..=279 => self.put_code(symbol - 256, 7),
            _ => self.put_code(0xC0 + symbol - 280, 8),
        }
    }

    /// Writes a code, which begins with its highest bit.
    fn put_code(&mut self, code: u32, bits: u32) {
        self.put(code.reverse_bits() >> (32 - bits), bits);
    }

    /// Writes a number, which begins with its lowest bit.
    fn put(&mut self, value: u32, bits: u32) {
        self.bits |= value << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.out.push(self.bits as u8);
            self.bits >>= 8;
            self.count -= 8;
        }
    }
}

/// Where the next bytes may have been before; notes that they are here now.
fn look_up(heads: &mut [u16], rest: &[u8], at: usize) -> Option<usize> {
    let &[first, second, third, ..] = rest else {
        return None;
    };
    let key = u32::from_le_bytes([first, second, third, 0]).wrapping_mul(0x9E37_79B1);
    let head = heads.get_mut(key as usize >> 20)?;
    let earlier = std::mem::replace(head, at as u16);
    (earlier != u16::MAX).then_some(usize::from(earlier))
}

/// How many bytes are the same at two places, up to the longest match.
fn common(bytes: &[u8], earlier: usize, at: usize) -> usize {
    let (first, second) = (bytes.iter().skip(earlier), bytes.iter().skip(at));
    let same = first.zip(second).take(*MATCH.end());
    same.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec_zlib;
    use proptest::prelude::*;

    fn there_and_back(pieces: &[&[u8]]) -> usize {
        let mut stream = Deflate::new(Vec::new());
        pieces.iter().for_each(|piece| stream.write(piece));
        let packed = stream.finish();
        assert_eq!(decompress_to_vec_zlib(&packed).unwrap(), pieces.concat());
        packed.len()
    }

    #[test]
    fn nothing_runs_and_long_repetitions_come_back() {
        there_and_back(&[]);
        assert!(there_and_back(&[&[7; 300_000]]) < 2500);
        let row: Vec<u8> = (0..=255).cycle().take(1000).collect();
        assert!(there_and_back(&[row.as_slice(); 200]) < 6000);
        for length in 1..600 {
            there_and_back(&[&vec![length as u8; length], b"x"]);
        }
    }

    /// A block is longer than the farthest match.
    #[test]
    fn what_is_too_far_away_is_not_a_match() {
        let noise: Vec<u8> = (0..45_000_u32)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        there_and_back(&[b"a rare beginning", &noise, b"a rare beginning"]);
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(
            pieces in prop::collection::vec(prop::collection::vec(0_u8..4, 0..900), 0..9),
            noise in prop::collection::vec(any::<u8>(), 0..3000),
        ) {
            let mut all: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            all.push(&noise);
            there_and_back(&all);
        }
    }
}
