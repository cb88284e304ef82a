//! How long the sound of an MP4 plays (ISO/IEC 14496-12 and -14): its frames are counted. What a decoder may play in
//! another way than it is counted here is not counted at all.

use std::io::{self, Read, Seek, SeekFrom};

use super::length::number;

/// Samples of a frame of AAC.
const AAC_FRAME: u64 = 1_024;
/// Samples of a second of AAC, by its index (ISO/IEC 14496-3, table 1.18).
const AAC_RATES: [u64; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];
/// Boxes that are looked at.
const BOXES: usize = 1_024;
/// Bytes of the description of a track that are read.
const DESCRIPTION_BYTES: u64 = 1_024;
/// Pieces of a track that its edit list may name: an empty one, and the whole.
const EDITS: u64 = 2;

/// A track, as far as its boxes have been read.
#[derive(Default)]
struct Track {
    /// Samples of a second of its AAC.
    rate: Option<u64>,
    /// Whether it has pictures or words.
    is_silent: bool,
    frames: Option<u64>,
}

impl Track {
    /// Its seconds; `None` where its sound is of a kind that is not counted.
    fn seconds(&self) -> Option<u64> {
        match (self.frames, self.rate) {
            (None, _) => Some(0),
            _ if self.is_silent => Some(0),
            (Some(frames), Some(rate)) => Some(frames.saturating_mul(AAC_FRAME).div_ceil(rate)),
            (Some(_), None) => None,
        }
    }
}

/// The seconds of sound in a file of so many bytes; `None` where they cannot be counted.
pub(super) fn count(reader: &mut (impl Read + Seek), bytes: u64) -> io::Result<Option<u64>> {
    let mut tracks = vec![Track::default()];
    let mut at = 0_u64;
    for _ in 0..BOXES {
        if at.saturating_add(8) > bytes {
            return Ok(total(&tracks));
        }
        reader.seek(SeekFrom::Start(at))?;
        let mut head = [0; 8];
        reader.read_exact(&mut head)?;
        let (size, name) = head.split_at(4);
        let mut length = number(size, 0, 4, true).unwrap_or_default();
        let mut head_length = 8;
        if length == 1 {
            let mut size = [0; 8];
            reader.read_exact(&mut size)?;
            length = number(&size, 0, 8, true).unwrap_or_default();
            head_length = 16;
        }
        match (name, length) {
            // To the end of the file.
            (b"mdat", 0) => return Ok(total(&tracks)),
            (_, length) if length < head_length => return Ok(None),
            (b"moof" | b"mvex" | b"stz2", _) => return Ok(None),
            (b"trak", _) => tracks.push(Track::default()),
            _ => {}
        }
        let Some(track) = tracks.last_mut() else {
            return Ok(None);
        };
        // The next one begins within these.
        let is_outer = matches!(
            name,
            b"moov" | b"trak" | b"mdia" | b"minf" | b"stbl" | b"edts" | b"udta"
        );
        if name == b"stsd" {
            let mut entries = Vec::new();
            let size = (length - head_length).min(DESCRIPTION_BYTES);
            reader.take(size).read_to_end(&mut entries)?;
            describe(track, &entries);
        } else if name == b"stsz" || name == b"elst" {
            let mut rest = [0; 12];
            reader.read_exact(&mut rest)?;
            let (frames, edits) = (number(&rest, 8, 4, true), number(&rest, 4, 4, true));
            if name == b"elst" && edits.is_none_or(|edits| edits > EDITS)
                || name == b"stsz" && track.frames.is_some()
            {
                return Ok(None);
            }
            track.frames = if name == b"stsz" {
                frames
            } else {
                track.frames
            };
        }
        at = at.saturating_add(if is_outer { head_length } else { length });
    }
    Ok(None)
}

/// The seconds of all tracks: which of them is heard is not known.
fn total(tracks: &[Track]) -> Option<u64> {
    let seconds = tracks.iter().map(Track::seconds);
    let sum = seconds.sum::<Option<u64>>()?;
    (sum > 0).then_some(sum)
}

/// Reads the description of a track (`stsd`), which is of one kind.
fn describe(track: &mut Track, entries: &[u8]) {
    let is_one = number(entries, 4, 4, true) == Some(1) && track.rate.is_none();
    match entries.get(12..16) {
        Some(b"mp4a") if is_one => track.rate = entries.get(16..).and_then(aac_rate),
        Some(b"avc1" | b"avc3" | b"hvc1" | b"hev1" | b"mp4v" | b"av01" | b"vp09" | b"tx3g")
            if is_one =>
        {
            track.is_silent = true;
        }
        // Of several kinds, or of one that is not counted.
        _ => (track.rate, track.is_silent) = (None, false),
    }
}

/// Samples of a second of AAC, by the configuration of its decoder (`esds`) in the entry of a track.
fn aac_rate(entry: &[u8]) -> Option<u64> {
    // Behind the fields of every track with sound there are boxes.
    let mut boxes = entry.get(28..)?;
    loop {
        let length = usize::try_from(number(boxes, 0, 4, true)?).ok()?;
        let (this, behind) = boxes.split_at_checked(length.max(8))?;
        if this.get(4..8) == Some(b"esds") {
            return descriptor_rate(this.get(12..)?);
        }
        boxes = behind;
    }
}

/// The same by its descriptors, each of which is within the one before (ISO/IEC 14496-1, 7.2.6).
fn descriptor_rate(bytes: &[u8]) -> Option<u64> {
    let stream = descriptor(bytes, 3)?;
    // Those with further fields are not made by recorders.
    let decoder = descriptor(stream.get(3..).filter(|_| stream.get(2) == Some(&0))?, 4)?;
    let is_aac = decoder.first() == Some(&0x40);
    let configuration = descriptor(decoder.get(13..).filter(|_| is_aac)?, 5)?;
    let bits = number(configuration, 0, 2, true)?;
    let (kind, index) = (bits >> 11, bits >> 7 & 0xF);
    // AAC LC, and those that double it, whose frames are counted at the rate of what they double.
    let is_counted = matches!(kind, 2 | 5 | 29);
    let rate = AAC_RATES.get(usize::try_from(index).ok()?);
    rate.filter(|_| is_counted).copied()
}

/// The content of a descriptor of a kind.
fn descriptor(bytes: &[u8], kind: u8) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(&[kind])?;
    let mut length = 0;
    for _ in 0..4 {
        let (byte, behind) = rest.split_first()?;
        length = length << 7 | usize::from(byte & 0x7F);
        rest = behind;
        if byte & 0x80 == 0 {
            return rest.get(..length);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn boxed(name: &str, content: &[u8]) -> Vec<u8> {
        let mut made = (content.len() as u32 + 8).to_be_bytes().to_vec();
        made.extend(name.as_bytes());
        made.extend(content);
        made
    }

    /// The description of a track with AAC, of this configuration.
    fn aac(configuration: [u8; 2]) -> Vec<u8> {
        let mut decoder = vec![4, 17, 0x40, 0x15];
        decoder.extend([0; 11]);
        decoder.extend([5, 2]);
        decoder.extend(configuration);
        let mut stream = vec![3, 0x80, 22, 0, 1, 0];
        stream.extend(decoder);
        let esds = boxed("esds", &[vec![0; 4], stream].concat());
        described("mp4a", &[vec![0; 28], esds].concat())
    }

    fn described(kind: &str, fields: &[u8]) -> Vec<u8> {
        let entry = boxed(kind, fields);
        boxed("stsd", &[vec![0, 0, 0, 0, 0, 0, 0, 1], entry].concat())
    }

    fn frames(count: u32) -> Vec<u8> {
        let content = [vec![0; 8], count.to_be_bytes().to_vec()].concat();
        boxed("stsz", &content)
    }

    fn track(tables: &[Vec<u8>]) -> Vec<u8> {
        ["stbl", "minf", "mdia", "trak"]
            .iter()
            .fold(tables.concat(), |content, name| boxed(name, &content))
    }

    fn file(tracks: &[Vec<u8>]) -> Vec<u8> {
        let head = boxed("ftyp", b"isom");
        [head, boxed("moov", &tracks.concat())].concat()
    }

    fn count(file: &[u8]) -> Option<u64> {
        super::count(&mut Cursor::new(file), file.len() as u64).unwrap()
    }

    /// AAC LC with 48 kHz, and with 8 kHz.
    const FAST: [u8; 2] = [0x11, 0x90];
    const SLOW: [u8; 2] = [0x15, 0x88];

    #[test]
    fn frames_count_at_the_rate_of_their_decoder() {
        let sound = |configuration, count| track(&[aac(configuration), frames(count)]);
        assert_eq!(count(&file(&[sound(FAST, 469)])), Some(11));
        assert_eq!(count(&file(&[sound(SLOW, 469)])), Some(61));
        let picture = track(&[described("avc1", &[0; 78]), frames(9_000)]);
        assert_eq!(count(&file(&[picture.clone(), sound(FAST, 469)])), Some(11));
        assert_eq!(count(&file(&[picture])), None, "no sound");
        assert_eq!(
            count(&file(&[sound(FAST, 469), sound(FAST, 469)])),
            Some(22),
            "either is heard"
        );
    }

    #[test]
    fn what_may_play_longer_than_it_is_counted_is_not_counted() {
        let sound = track(&[aac(FAST), frames(469)]);
        let moof = [file(std::slice::from_ref(&sound)), boxed("moof", b"")].concat();
        let edits = |count: u8| {
            let list = boxed("elst", &[0, 0, 0, 0, 0, 0, 0, count, 0, 0, 0, 0]);
            let edited = boxed("edts", &list);
            file(&[[sound.clone(), edited].concat()])
        };
        assert_eq!(count(&edits(2)), Some(11));
        let mut two_kinds = aac(FAST);
        two_kinds[15] = 2;
        let cases = [
            ("fragments", moof),
            (
                "fragments to come",
                file(&[sound.clone(), boxed("mvex", b"")]),
            ),
            ("repetitions", edits(3)),
            (
                "another table",
                file(&[track(&[aac(FAST), frames(9), frames(9)])]),
            ),
            (
                "a table of another kind",
                file(&[track(&[aac(FAST), frames(9), boxed("stz2", &[0; 12])])]),
            ),
            (
                "two kinds of sound",
                file(&[track(&[two_kinds, frames(469)])]),
            ),
            (
                "other sound",
                file(&[track(&[described("Opus", &[0; 28]), frames(469)])]),
            ),
            (
                "a size that is none",
                [
                    file(std::slice::from_ref(&sound)),
                    b"\0\0\0\x04free".to_vec(),
                ]
                .concat(),
            ),
            (
                "more boxes than are looked at",
                [boxed("free", b"").repeat(BOXES), file(&[sound])].concat(),
            ),
        ];
        for (what, file) in cases {
            assert_eq!(count(&file), None, "{what}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_file_is_too_odd(rest in proptest::collection::vec(0_u8.., 0..120)) {
            let whole = file(&[track(&[aac(FAST), frames(9), rest.clone()])]);
            let _ = count(&whole);
            let _ = super::count(&mut Cursor::new(&rest), rest.len() as u64);
            let _ = descriptor_rate(&rest);
        }
    }
}
