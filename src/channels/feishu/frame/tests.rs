use proptest::prelude::*;

use super::*;

fn ping() -> Frame {
    Frame {
        service: 33_554_678,
        headers: vec![("type".to_owned(), "ping".to_owned())],
        ..Frame::default()
    }
}

/// These are the bytes that lark-oapi 1.7.5 makes of the same frame.
#[test]
fn a_ping_is_written_as_the_vendors_library_writes_it() {
    let expected = [
        0x08, 0x00, 0x10, 0x00, 0x18, 0xf6, 0x81, 0x80, 0x10, 0x20, 0x00, 0x2a, 0x0c, 0x0a, 0x04,
        b't', b'y', b'p', b'e', 0x12, 0x04, b'p', b'i', b'n', b'g',
    ];
    assert_eq!(ping().encode(), expected);
    assert_eq!(Frame::decode(&expected), Some(ping()));
}

#[test]
fn the_required_fields_have_to_be_there_even_when_they_are_zero() {
    let whole = Frame::default().encode();
    assert_eq!(whole, [0x08, 0, 0x10, 0, 0x18, 0, 0x20, 0]);
    assert_eq!(Frame::decode(&whole), Some(Frame::default()));
    for missing in 0..4 {
        let mut bytes = whole.clone();
        bytes.drain(2 * missing..2 * missing + 2);
        assert_eq!(Frame::decode(&bytes), None, "without {missing}");
    }
}

#[test]
fn a_frame_that_is_cut_off_or_too_large_is_none() {
    let mut frame = ping();
    frame.payload = b"{}".to_vec();
    frame.log_new = Some("2026".to_owned());
    let bytes = frame.encode();
    assert_eq!(Frame::decode(&bytes), Some(frame.clone()));
    for end in 1..bytes.len() {
        assert_ne!(Frame::decode(&bytes[..end]), Some(frame.clone()), "{end}");
    }
    let many = |count| Frame {
        headers: vec![("a".to_owned(), "b".to_owned()); count],
        ..Frame::default()
    };
    assert!(Frame::decode(&many(FRAME_HEADERS).encode()).is_some());
    assert!(Frame::decode(&many(FRAME_HEADERS + 1).encode()).is_none());
    let long = |bytes| Frame {
        headers: vec![("a".to_owned(), "b".repeat(bytes))],
        ..Frame::default()
    };
    assert!(Frame::decode(&long(FRAME_TEXT_BYTES).encode()).is_some());
    assert!(Frame::decode(&long(FRAME_TEXT_BYTES + 1).encode()).is_none());
}

#[test]
fn unknown_fields_are_passed_over_and_odd_ones_refused() {
    let whole = Frame::default().encode();
    let with = |more: &[u8]| Frame::decode(&[whole.as_slice(), more].concat());
    // Field 10 as a number, as bytes, with 64 and with 32 bits.
    for more in [
        &[0x50, 0x96, 0x01][..],
        &[0x52, 0x01, 0xff],
        &[0x51, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x55, 0, 0, 0, 0],
    ] {
        assert_eq!(with(more), Some(Frame::default()), "{more:?}");
    }
    for more in [
        // A group; the field 0; a length beyond the end; a number with eleven bytes, and one with 65 bits.
        &[0x53][..],
        &[0x00, 0x01],
        &[
            0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ],
        &[
            0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01,
        ],
        &[
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02,
        ],
        // The sequence as bytes, a header as a number, a header without a value.
        &[0x0a, 0x00],
        &[0x28, 0x00],
        &[0x2a, 0x03, 0x0a, 0x01, b'a'],
    ] {
        assert_eq!(with(more), None, "{more:?}");
    }
}

fn frames() -> impl Strategy<Value = Frame> {
    let headers = proptest::collection::vec((".{0,20}", ".{0,20}"), 0..8);
    let numbers = (any::<u64>(), any::<u64>(), any::<i32>(), any::<i32>());
    let text = || proptest::option::of(".{0,20}");
    let payload = proptest::collection::vec(any::<u8>(), 0..200);
    (numbers, headers, text(), text(), payload, text()).prop_map(
        |(
            (sequence, log, service, method),
            headers,
            payload_encoding,
            payload_type,
            payload,
            log_new,
        )| Frame {
            sequence,
            log,
            service,
            method,
            headers,
            payload_encoding,
            payload_type,
            payload,
            log_new,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(frame in frames()) {
        prop_assert_eq!(Frame::decode(&frame.encode()), Some(frame));
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Frame::decode(&bytes);
    }
}
