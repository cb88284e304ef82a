//! PURE: PNG files with a palette (RFC 2083).

use super::Rgb;
use super::deflate::Deflate;
use crate::base::checksum::crc32;

/// Each byte of a row is written as its difference from the row above: equal rows become zeros.
const FILTER_UP: u8 = 2;

/// A picture whose pixels are indexes into a palette.
#[derive(Clone, Copy, Debug)]
pub struct Indexed<'a> {
    /// Pixels in a row; not 0.
    pub width: u32,
    /// The rows, one after another.
    pub pixels: &'a [u8],
    /// The colours.
    pub palette: &'a [Rgb],
}

/// Writes a picture, each pixel as a square of so many pixels.
pub fn encode(picture: Indexed<'_>, times: u32) -> Vec<u8> {
    let depth: u32 = match picture.palette.len() {
        0..=2 => 1,
        3..=4 => 2,
        5..=16 => 4,
        _ => 8,
    };
    let height = picture.pixels.len() as u32 / picture.width;
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [picture.width * times, height * times]
        .map(u32::to_be_bytes)
        .concat();
    // With a palette (3), the only compression, the only set of filters, not interlaced.
    header.extend([depth as u8, 3, 0, 0, 0]);
    chunk(&mut out, *b"IHDR", |out| out.extend(header));
    chunk(&mut out, *b"PLTE", |out| {
        for Rgb(red, green, blue) in picture.palette {
            out.extend([*red, *green, *blue]);
        }
    });
    chunk(&mut out, *b"IDAT", |out| {
        *out = rows(picture, depth, times, std::mem::take(out));
    });
    chunk(&mut out, *b"IEND", |_| ());
    out
}

/// Writes a chunk: its length, kind, content and checksum.
fn chunk(out: &mut Vec<u8>, kind: [u8; 4], content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; 4]);
    out.extend(kind);
    content(out);
    let length = (out.len() - start - 8) as u32;
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    let checksum = crc32(out.get(start + 4..).unwrap_or_default());
    out.extend(checksum.to_be_bytes());
}

fn rows(picture: Indexed<'_>, depth: u32, times: u32, out: Vec<u8>) -> Vec<u8> {
    let mut stream = Deflate::new(out);
    let bytes = (picture.width * times * depth).div_ceil(8) as usize;
    let mut above = vec![0; bytes];
    for row in picture.pixels.chunks_exact(picture.width as usize) {
        let packed = pack(row, depth, times, bytes);
        for _ in 0..times {
            stream.write(&[FILTER_UP]);
            let pairs = packed.iter().zip(&above);
            let up: Vec<u8> = pairs
                .map(|(byte, above)| byte.wrapping_sub(*above))
                .collect();
            stream.write(&up);
            above.copy_from_slice(&packed);
        }
    }
    stream.finish()
}

/// A row with the pixels of a byte side by side, the first one in the highest bits.
fn pack(row: &[u8], depth: u32, times: u32, bytes: usize) -> Vec<u8> {
    let mut packed = vec![0; bytes];
    let repeated = row.iter().flat_map(|pixel| (0..times).map(move |_| *pixel));
    for (index, pixel) in repeated.enumerate() {
        let bit = index as u32 * depth;
        if let Some(byte) = packed.get_mut(bit as usize / 8) {
            *byte |= pixel << (8 - depth - bit % 8);
        }
    }
    packed
}
