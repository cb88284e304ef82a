//! The filters of streams (ISO 32000-1, 7.4). What is damaged gives what came before.

use miniz_oxide::inflate::{decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit};

use super::object::{Object, unhex};

/// Bytes of a row that a predictor works on.
const ROW_BYTES: usize = 1024 * 1024;

/// The bytes behind one filter, at most `limit`; `None` for a filter of images, and one that is unknown.
pub fn decode(name: &str, parameters: &Object, bytes: &[u8], limit: usize) -> Option<Vec<u8>> {
    match name {
        "FlateDecode" | "Fl" => Some(predict(inflate(bytes, limit), parameters)),
        "LZWDecode" | "LZW" => {
            let is_early = parameters.get("EarlyChange").count() != Some(0);
            Some(predict(lzw(bytes, is_early, limit), parameters))
        }
        "ASCIIHexDecode" | "AHx" => {
            let end = bytes.iter().position(|byte| *byte == b'>');
            Some(unhex(bytes.get(..end.unwrap_or(bytes.len()))?))
        }
        "ASCII85Decode" | "A85" => Some(ascii85(bytes)),
        "RunLengthDecode" | "RL" => Some(run_length(bytes, limit)),
        "Crypt" => Some(bytes.to_vec()),
        _ => None,
    }
}

fn inflate(bytes: &[u8], limit: usize) -> Vec<u8> {
    let unpacked = decompress_to_vec_zlib_with_limit(bytes, limit);
    let unpacked = unpacked.unwrap_or_else(|error| error.output);
    if unpacked.is_empty() && bytes.len() > 2 {
        // The header may be damaged, or another one.
        let bare = decompress_to_vec_with_limit(bytes.get(2..).unwrap_or_default(), limit);
        return bare.unwrap_or_else(|error| error.output);
    }
    unpacked
}

/// Undoes a predictor: TIFF's for whole bytes, and those of PNG.
fn predict(bytes: Vec<u8>, parameters: &Object) -> Vec<u8> {
    let number = |name, usual| parameters.get(name).count().unwrap_or(usual).max(1);
    let kind = number("Predictor", 1);
    if kind < 2 {
        return bytes;
    }
    let bits = number("Colors", 1).saturating_mul(number("BitsPerComponent", 8));
    let row = bits.saturating_mul(number("Columns", 1)).div_ceil(8);
    let step = bits.div_ceil(8);
    if row > ROW_BYTES {
        return bytes;
    }
    let mut plain: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut above = vec![0; row];
    let is_png = kind >= 10;
    for line in bytes.chunks(row + usize::from(is_png)) {
        let (method, line) = match (is_png, line) {
            (true, [method, line @ ..]) => (*method, line),
            _ => (1, line),
        };
        let mut current = line.to_vec();
        for index in 0..current.len() {
            let before = index.checked_sub(step);
            let left = before.and_then(|at| current.get(at)).copied().unwrap_or(0);
            let up = above.get(index).copied().unwrap_or(0);
            let corner = before.and_then(|at| above.get(at)).copied().unwrap_or(0);
            let predicted = match method {
                1 => left,
                2 => up,
                3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                4 => paeth(left, up, corner),
                _ => 0,
            };
            if let Some(byte) = current.get_mut(index) {
                *byte = byte.wrapping_add(predicted);
            }
        }
        plain.extend_from_slice(&current);
        above = current;
    }
    plain
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let estimate = i32::from(left) + i32::from(up) - i32::from(corner);
    let distance = |byte: u8| (estimate - i32::from(byte)).abs();
    if distance(left) <= distance(up) && distance(left) <= distance(corner) {
        left
    } else if distance(up) <= distance(corner) {
        up
    } else {
        corner
    }
}

fn lzw(bytes: &[u8], is_early: bool, limit: usize) -> Vec<u8> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    // Of each code beyond the bytes: where its sequence is in the output, and its length.
    let mut table: Vec<(usize, usize)> = Vec::new();
    let (mut plain, mut last): (Vec<u8>, Option<(usize, usize)>) = (Vec::new(), None);
    let (mut held, mut bits, mut width) = (0_u32, 0, 9);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        if bits < width {
            continue;
        }
        bits -= width;
        let code = (held >> bits) as usize & ((1 << width) - 1);
        held &= (1 << bits) - 1;
        let start = plain.len();
        match code {
            CLEAR => {
                table.clear();
                (last, width) = (None, 9);
                continue;
            }
            END => break,
            ..CLEAR => plain.push(code as u8),
            _ => {
                let known = table.get(code - 258).copied();
                // The one that this code completes: the last sequence and its first byte.
                let new = last.map(|(at, length)| (at, length + 1));
                let Some((at, length)) = known.or(new) else {
                    break;
                };
                for index in at..at + length {
                    plain.extend(plain.get(index).copied());
                }
            }
        }
        if let Some((at, length)) = last
            && table.len() < 4096 - 258
        {
            table.push((at, length + 1));
        }
        last = Some((start, plain.len() - start));
        let codes = table.len() + 258 + 1 + usize::from(is_early);
        width = match codes {
            ..513 => 9,
            513..1025 => 10,
            1025..2049 => 11,
            _ => 12,
        };
        if plain.len() >= limit {
            break;
        }
    }
    plain
}

fn ascii85(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let (mut group, mut count) = (0_u32, 0);
    for byte in bytes {
        match byte {
            b'z' if count == 0 => plain.extend([0; 4]),
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                count += 1;
                if count == 5 {
                    plain.extend(group.to_be_bytes());
                    (group, count) = (0, 0);
                }
            }
            b'~' => break,
            _ => {}
        }
    }
    if count > 1 {
        for _ in count..5 {
            group = group.wrapping_mul(85).wrapping_add(84);
        }
        plain.extend(group.to_be_bytes().iter().take(count - 1));
    }
    plain
}

fn run_length(bytes: &[u8], limit: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = bytes;
    while let [length, after @ ..] = rest
        && plain.len() < limit
    {
        let length = usize::from(*length);
        rest = match (length, after) {
            (128, _) => break,
            (..128, _) => {
                let count = (length + 1).min(after.len());
                plain.extend(after.iter().take(count));
                after.get(count..).unwrap_or_default()
            }
            (129.., [byte, after @ ..]) => {
                plain.extend(std::iter::repeat_n(*byte, 257 - length));
                after
            }
            _ => break,
        };
    }
    plain
}
