//! A writer that compresses what it is given (RFC 1951 and 1952), in bounded memory.

use std::io::{self, Write};

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, TDEFLStatus, compress, create_comp_flags_from_zip_params,
};

/// How hard an archive is compressed, of 10: more takes a board much longer for little.
const GZIP_LEVEL: i32 = 4;
/// Bytes of a compressor's output that are held.
const GZIP_BUFFER_BYTES: usize = 16 * 1024;

/// Begins a file: deflated, no name and no time, of an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Compresses into another writer. [`finish`](Gzip::finish) writes the end.
pub struct Gzip<W> {
    to: W,
    compressor: Box<CompressorOxide>,
    buffer: Vec<u8>,
    checksum: u32,
    /// Bytes so far, modulo 2^32 as the format has them.
    length: u32,
}

impl<W: Write> Gzip<W> {
    /// Begins a file.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.write_all(&HEADER)?;
        // Without the frame of zlib.
        let flags = create_comp_flags_from_zip_params(GZIP_LEVEL, -15, 0);
        Ok(Self {
            to,
            compressor: Box::new(CompressorOxide::new(flags)),
            buffer: vec![0; GZIP_BUFFER_BYTES],
            checksum: !0,
            length: 0,
        })
    }

    /// Writes the end, and returns what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.pass(&[], TDEFLFlush::Finish)?;
        self.to.write_all(&(!self.checksum).to_le_bytes())?;
        self.to.write_all(&self.length.to_le_bytes())?;
        Ok(self.to)
    }

    fn pass(&mut self, mut bytes: &[u8], flush: TDEFLFlush) -> io::Result<()> {
        loop {
            let (status, read, written) =
                compress(&mut self.compressor, bytes, &mut self.buffer, flush);
            self.to
                .write_all(self.buffer.get(..written).unwrap_or_default())?;
            bytes = bytes.get(read..).unwrap_or_default();
            match status {
                TDEFLStatus::Done => return Ok(()),
                TDEFLStatus::Okay if flush == TDEFLFlush::None && bytes.is_empty() => return Ok(()),
                TDEFLStatus::Okay => {}
                TDEFLStatus::BadParam | TDEFLStatus::PutBufFailed => {
                    return Err(io::Error::other("cannot compress"));
                }
            }
        }
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pass(bytes, TDEFLFlush::None)?;
        self.checksum = crc32(self.checksum, bytes);
        self.length = self.length.wrapping_add(bytes.len() as u32);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The checksum of IEEE 802.3, which begins with all ones and is inverted at the end, four bits at a time: a table of 16 is enough next to compressing.
pub fn crc32(checksum: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = table();
    let step = |checksum: u32| (checksum >> 4) ^ TABLE[(checksum & 15) as usize];
    bytes.iter().fold(checksum, |checksum, byte| {
        step(step(checksum ^ u32::from(*byte)))
    })
}

const fn table() -> [u32; 16] {
    let mut table = [0; 16];
    let mut index = 0;
    while index < 16 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 4 {
            value = (value >> 1) ^ (0xedb8_8320 & (value & 1).wrapping_neg());
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(!crc32(!0, b"123456789"), 0xcbf4_3926);
    }

    proptest! {
        #[test]
        fn what_is_written_in_pieces_comes_out_whole(
            pieces in proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..3000), 0..40),
        ) {
            let mut gzip = Gzip::new(Vec::new()).unwrap();
            for piece in &pieces {
                gzip.write_all(piece).unwrap();
            }
            let packed = gzip.finish().unwrap();
            let whole = pieces.concat();
            let (body, end) = packed[HEADER.len()..].split_at(packed.len() - HEADER.len() - 8);
            prop_assert_eq!(&decompress_to_vec(body).unwrap(), &whole);
            prop_assert_eq!(&end[..4], (!crc32(!0, &whole)).to_le_bytes());
            prop_assert_eq!(&end[4..], (whole.len() as u32).to_le_bytes());
        }
    }
}
