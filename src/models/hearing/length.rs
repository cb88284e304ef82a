//! How long a recording plays: counted by what is decoded, not by what its head says of it.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};

/// Samples of a second of Opus, whatever it was made from (<https://www.rfc-editor.org/rfc/rfc7845#section-4>).
const OPUS_RATE: u64 = 48_000;
/// Pages of an Ogg that are looked at: some hours.
const PAGES: usize = 100_000;

/// The seconds of sound in a file that is sent under this name; `None` where they cannot be counted.
pub(super) fn count(file: &File, name: Option<&str>) -> io::Result<Option<u64>> {
    let mut file = file;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(file);
    let counted = match name {
        Some("audio.ogg") => of_opus(&mut reader),
        Some("audio.mp4") => super::mp4::count(&mut reader, bytes),
        Some("audio.wav") => of_wav(&mut reader, bytes),
        _ => Ok(None),
    };
    match counted {
        // It is cut, or lies about its lengths.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        counted => counted,
    }
}

/// Adds up the packets of an Ogg with Opus. `None` for other sound, and where something else is between its pages.
fn of_opus(reader: &mut impl Read) -> io::Result<Option<u64>> {
    let (mut samples, mut packets) = (0, 0_u64);
    let mut body = Vec::new();
    for _ in 0..PAGES {
        let mut head = [0; 27];
        match reader.read_exact(&mut head[..1]) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Ok((packets > 2).then(|| u64::div_ceil(samples, OPUS_RATE)));
            }
            read => read?,
        }
        reader.read_exact(&mut head[1..])?;
        if !head.starts_with(b"OggS") {
            return Ok(None);
        }
        let mut lengths = vec![0; usize::from(head[26])];
        reader.read_exact(&mut lengths)?;
        body.resize(lengths.iter().map(|length| usize::from(*length)).sum(), 0);
        reader.read_exact(&mut body)?;
        // The first one may be the rest of a packet.
        let (mut is_begun, mut rest) = (head[5] & 1 == 1, body.as_slice());
        for length in lengths {
            let (part, behind) = rest
                .split_at_checked(usize::from(length))
                .unwrap_or_default();
            rest = behind;
            if !is_begun {
                packets += 1;
                match packets {
                    1 if !part.starts_with(b"OpusHead") => return Ok(None),
                    1 | 2 => {}
                    _ => samples += samples_of(part),
                }
            }
            is_begun = length == u8::MAX;
        }
    }
    Ok(None)
}

/// The samples of a packet of Opus (<https://www.rfc-editor.org/rfc/rfc6716#section-3.1>).
fn samples_of(packet: &[u8]) -> u64 {
    let Some(contents) = packet.first() else {
        return 0;
    };
    let frame = match contents >> 3 {
        mode @ 0..=11 => [480, 960, 1_920, 2_880][usize::from(mode & 3)],
        mode @ 12..=15 => [480, 960][usize::from(mode & 1)],
        mode => [120, 240, 480, 960][usize::from(mode & 3)],
    };
    let frames = match contents & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u64::from(packet.get(1).copied().unwrap_or_default() & 0x3f),
    };
    frame * frames
}

/// The seconds of a WAV whose samples are not compressed.
fn of_wav(reader: &mut impl Read, bytes: u64) -> io::Result<Option<u64>> {
    let mut head = [0; 36];
    reader.read_exact(&mut head)?;
    let field = |from, count| number(&head, from, count, false).unwrap_or_default();
    let (kind, channels, rate, bits) = (field(20, 2), field(22, 2), field(24, 4), field(34, 2));
    let second = rate.saturating_mul(channels).saturating_mul(bits) / 8;
    let is_plain = head.get(12..16) == Some(b"fmt ") && matches!(kind, 1 | 3);
    Ok((is_plain && second > 0).then(|| bytes.div_ceil(second)))
}

/// A number of so many bytes; `None` where they are not there.
pub(super) fn number(bytes: &[u8], from: usize, count: usize, is_big_endian: bool) -> Option<u64> {
    let bytes = bytes.get(from..from.checked_add(count)?)?;
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    Some(match is_big_endian {
        true => bytes.iter().fold(0, add),
        false => bytes.iter().rev().fold(0, add),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A page with these packets.
    fn page(flags: u8, packets: &[&[u8]]) -> Vec<u8> {
        let mut page = b"OggS\0".to_vec();
        page.push(flags);
        page.extend([0; 20]);
        page.push(packets.len() as u8);
        page.extend(packets.iter().map(|packet| packet.len() as u8));
        page.extend(packets.concat());
        page
    }

    fn opus(packets: &[&[u8]]) -> Vec<u8> {
        let heads = [page(2, &[b"OpusHead"]), page(0, &[b"OpusTags"])].concat();
        [heads, page(4, packets)].concat()
    }

    #[test]
    fn the_packets_of_opus_are_added_up_whatever_its_pages_say() {
        let count = |file: &[u8]| of_opus(&mut Cursor::new(file)).unwrap();
        // 60 ms of speech, 2 × 20 ms of music, and 6 × 20 ms.
        let packets: [&[u8]; 3] = [b"\x18..", b"\xf9..", b"\xfb\x06."];
        let second = packets.iter().cycle().take(15).copied().collect::<Vec<_>>();
        assert_eq!(count(&opus(&second)), Some(2));
        let mut rest = page(1, &[b"\xfb\x3f", b"\x18"]);
        rest.splice(0..0, opus(&[b"\x18"]));
        assert_eq!(count(&rest), Some(1), "the rest of a packet is none");
        assert_eq!(count(&page(2, &[b"\x01vorbis"])), None);
        assert_eq!(count(&[opus(&packets), b"....".repeat(9)].concat()), None);
        assert_eq!(count(b""), None);
    }

    #[test]
    fn samples_are_counted() {
        let wav = |kind: u8, rate: u8| {
            let mut head = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0".to_vec();
            head.extend([kind, 0, 1, 0, 0x80, 0x3e, 0, 0, 0, 0, 0, rate, 2, 0, 16, 0]);
            head
        };
        let count = |head: &[u8]| of_wav(&mut Cursor::new(head), 64_000).unwrap();
        assert_eq!(count(&wav(1, 0)), Some(2));
        assert_eq!(
            count(&wav(1, 255)),
            Some(2),
            "its rate of bytes is not needed"
        );
        assert_eq!(count(&wav(0x11, 0)), None, "compressed");
    }

    proptest::proptest! {
        #[test]
        fn no_file_is_too_odd(
            start in "(OggS|RIFF....WAVE)",
            rest in proptest::collection::vec(0_u8.., 0..200),
        ) {
            let file = [start.as_bytes(), &rest].concat();
            let _ = of_opus(&mut Cursor::new(&file));
            let _ = of_wav(&mut Cursor::new(&file), file.len() as u64);
        }
    }
}
