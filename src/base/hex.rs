//! Bytes as hexadecimal digits. PURE.

/// Bytes as two small digits each.
pub fn hex<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    let bytes = bytes.into_iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of digits of either case; `None` for anything else.
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_nothing_else_is_read() {
        assert_eq!(hex(&[0, 0x7f, 0xff]), "007fff");
        assert_eq!(unhex("007fFF"), Some(vec![0, 0x7f, 0xff]));
        assert_eq!(unhex(""), Some(vec![]));
        for wrong in ["0", "0g", "+1", "é", " 1"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
