//! Checksums against accidents. PURE. Against people there are hashes (`ring`).

/// The CRC-32 of some bytes (ISO 3309), as PNG and ZIP have it.
pub fn crc32(bytes: &[u8]) -> u32 {
    // A bit at a time: a table of 1 kB would only be faster.
    !bytes.iter().fold(!0, |state: u32, byte| {
        (0..8).fold(state ^ u32::from(*byte), |state: u32, _| match state & 1 {
            1 => (state >> 1) ^ 0xEDB8_8320,
            _ => state >> 1,
        })
    })
}

/// The Adler-32 of some bytes (RFC 1950), piece by piece: begins with 1.
pub fn adler32(state: u32, bytes: &[u8]) -> u32 {
    const BASE: u32 = 65_521;
    let (mut low, mut high) = (state & 0xFFFF, state >> 16);
    for byte in bytes {
        low = (low + u32::from(*byte)) % BASE;
        high = (high + low) % BASE;
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_standards() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(1, b"Wikipedia"), 0x11E6_0398);
        assert_eq!(adler32(adler32(1, b"Wiki"), b"pedia"), 0x11E6_0398);
    }
}
