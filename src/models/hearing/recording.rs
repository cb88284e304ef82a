//! A recording: what kind it is, and how long. Its name and what others say about it do not count.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::length::{self, number};
use crate::base::error::{Error, Result};

/// Bytes at a file's beginning that tell its kind; the heads of Ogg and of WAV are there as well.
const HEAD_BYTES: u64 = 512;
/// Bytes at a file's end in which an Ogg's last page begins: no page has more
/// (<https://www.rfc-editor.org/rfc/rfc3533>).
const LAST_PAGE_BYTES: u64 = 65_307;
/// Bytes of a second where the file does not say: 64 kbit/s, more than voice messages have.
const SECOND_BYTES: u64 = 8_000;
/// Bytes of a second of AMR, as DingTalk and WeChat have it.
const AMR_SECOND_BYTES: u64 = 1_600;
/// Boxes of an MP4 that are looked at for its length.
const BOXES: usize = 64;

/// The name that a recording is sent under, which tells its kind, and its media type.
type Kind = (&'static str, &'static str);

/// A file that is listened to.
#[derive(Debug)]
pub struct Recording {
    file: File,
    bytes: u64,
    kind: Option<Kind>,
    seconds: u64,
    is_counted: bool,
}

impl Recording {
    /// Looks at a file.
    pub fn open(mut file: File) -> Result<Self> {
        let fail = |error| Error::io("read", "the recording")(error);
        let (bytes, kind, seconds) = look(&mut file).map_err(fail)?;
        let counted = length::count(&file, kind.map(|(name, _)| name)).map_err(fail)?;
        Ok(Self {
            file,
            bytes,
            kind,
            seconds: seconds.max(counted.unwrap_or_default()),
            is_counted: counted.is_some(),
        })
    }

    /// Whether the sound in it was counted: its length is more than what the file says of itself.
    pub fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Its length; estimated where the file does not say.
    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The ending of a name that tells its kind; `None` for no audio that is known.
    pub fn ending(&self) -> Option<&'static str> {
        let (name, _) = self.kind?;
        name.rsplit('.').next()
    }

    /// The name that it is sent under and its media type. Fails for what servers do not take.
    pub(super) fn kind(&self) -> Result<Kind> {
        let other = "servers take only Ogg, MP3, MP4, WAV, FLAC and WebM";
        self.kind.ok_or_else(|| Error::Failed(other.to_owned()))
    }

    /// The file from its beginning.
    pub(super) fn reader(&self) -> Result<&File> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))
            .map_err(Error::io("read", "the recording"))?;
        Ok(file)
    }
}

/// The size, the kind and the seconds of a file.
fn look(file: &mut File) -> std::io::Result<(u64, Option<Kind>, u64)> {
    let bytes = file.metadata()?.len();
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let begins = |mark: &[u8]| head.starts_with(mark);
    let at = |from: usize, mark: &[u8]| head.get(from..).is_some_and(|rest| rest.starts_with(mark));
    let guess = bytes.div_ceil(SECOND_BYTES);
    let (kind, seconds) = if begins(b"OggS") {
        (
            ("audio.ogg", "audio/ogg"),
            of_ogg(file, &head, bytes)?.unwrap_or(guess),
        )
    } else if begins(b"RIFF") && at(8, b"WAVE") {
        let rate = number(&head, 28, 4, false).filter(|rate| *rate > 0);
        (
            ("audio.wav", "audio/wav"),
            rate.map_or(guess, |rate| bytes.div_ceil(rate)),
        )
    } else if at(4, b"ftyp") {
        (
            ("audio.mp4", "audio/mp4"),
            of_mp4(file, bytes)?.unwrap_or(guess),
        )
    } else if begins(b"ID3") || head.len() > 1 && head[0] == 0xff && head[1] & 0xe0 == 0xe0 {
        (("audio.mp3", "audio/mp3"), guess)
    } else if begins(b"fLaC") {
        (("audio.flac", "audio/flac"), guess)
    } else if begins(b"\x1a\x45\xdf\xa3") {
        (("audio.webm", "audio/webm"), guess)
    } else if begins(b"#!AMR") {
        return Ok((bytes, None, bytes.div_ceil(AMR_SECOND_BYTES)));
    } else {
        return Ok((bytes, None, guess));
    };
    Ok((bytes, Some(kind), seconds))
}

/// The seconds of an Ogg with Opus or Vorbis: the position of its last page
/// (<https://www.rfc-editor.org/rfc/rfc7845>).
fn of_ogg(file: &mut File, head: &[u8], bytes: u64) -> std::io::Result<Option<u64>> {
    let position = |mark: &[u8]| head.windows(mark.len()).position(|part| part == mark);
    let vorbis = position(b"\x01vorbis").and_then(|start| number(head, start + 12, 4, false));
    let rate = position(b"OpusHead").map(|_| 48_000).or(vorbis);
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(bytes.saturating_sub(LAST_PAGE_BYTES)))?;
    file.by_ref().take(LAST_PAGE_BYTES).read_to_end(&mut end)?;
    let pages = end.windows(4).rposition(|part| part == b"OggS");
    let samples = pages.and_then(|page| number(&end, page + 6, 8, false));
    let samples = samples.filter(|samples| i64::try_from(*samples).is_ok());
    let rate = rate.filter(|rate| *rate > 0);
    Ok(samples
        .zip(rate)
        .map(|(samples, rate)| samples.div_ceil(rate)))
}

/// The seconds of an MP4, from its `mvhd` box (ISO/IEC 14496-12).
fn of_mp4(file: &mut File, bytes: u64) -> std::io::Result<Option<u64>> {
    let mut at = 0;
    for _ in 0..BOXES {
        let mut start = [0; 40];
        file.seek(SeekFrom::Start(at))?;
        let mut count = 0;
        while count < start.len() {
            match file.read(&mut start[count..])? {
                0 => break,
                more => count += more,
            }
        }
        let start = &start[..count];
        let Some(size) = number(start, 0, 4, true) else {
            return Ok(None);
        };
        let name = start.get(4..8).unwrap_or_default();
        if name == b"mvhd" {
            // Version 1 has longer times.
            let (scale, length) = match start.get(8) {
                Some(1) => (number(start, 28, 4, true), number(start, 32, 8, true)),
                _ => (number(start, 20, 4, true), number(start, 24, 4, true)),
            };
            let scale = scale.filter(|scale| *scale > 0);
            return Ok(length
                .zip(scale)
                .map(|(length, scale)| length.div_ceil(scale)));
        }
        at += match (name, size) {
            // It begins within this one.
            (b"moov", _) => 8,
            (_, 1) => number(start, 8, 8, true).unwrap_or_default().max(16),
            (_, size) => size.max(8),
        };
        if at >= bytes {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn recording(bytes: &[u8]) -> Result<Recording> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Recording::open(file)
    }

    fn seconds(bytes: &[u8]) -> u64 {
        recording(bytes).unwrap().seconds()
    }

    /// An MP4 with a head of this version, of 7.5 seconds.
    fn mp4(version: u8) -> Vec<u8> {
        let mut head = b"\0\0\0\x6cmvhd".to_vec();
        head.extend_from_slice(&[version, 0, 0, 0]);
        let times = if version == 1 { 16 } else { 8 };
        head.extend(std::iter::repeat_n(9, times));
        head.extend_from_slice(&1_000_u32.to_be_bytes());
        match version {
            1 => head.extend_from_slice(&7_500_u64.to_be_bytes()),
            _ => head.extend_from_slice(&7_500_u32.to_be_bytes()),
        }
        let mut file = b"\0\0\0\x10ftypisom\0\0\0\0\0\0\x10\x08mdat".to_vec();
        file.extend(std::iter::repeat_n(0, 0x1000));
        file.extend_from_slice(b"\0\0\0\x74moov");
        [file, head].concat()
    }

    #[test]
    fn the_length_is_that_of_the_file() {
        let opus = |samples: u64| {
            let last = [b"OggS\0\x04".as_slice(), &samples.to_le_bytes(), &[0; 13]].concat();
            [
                b"OggS\0\x02\0\0\0\0OpusHead".as_slice(),
                &[0; 70_000],
                &last,
            ]
            .concat()
        };
        assert_eq!(seconds(&opus(48_000 * 61)), 61);
        assert_eq!(seconds(&opus(48_001)), 2);
        let guess = (opus(0).len() as u64).div_ceil(SECOND_BYTES);
        assert_eq!(
            seconds(&opus(u64::MAX)),
            guess,
            "a page that ends no packet"
        );
        let vorbis = [
            b"OggS\0\x02\0\0\0\0\x01vorbis\0\0\0\0\x02\x44\xac\0\0".as_slice(),
            b"OggS\0\x04\x44\xac\0\0\0\0\0\0",
        ];
        assert_eq!(seconds(&vorbis.concat()), 1);
        let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0".to_vec();
        wav.resize(64_000, 0);
        assert_eq!(seconds(&wav), 2);
        assert_eq!((seconds(&mp4(0)), seconds(&mp4(1))), (8, 8));
        assert_eq!(seconds(&[b"ID3".as_slice(), &[0; 16_000]].concat()), 3);
        assert_eq!(seconds(&[b"#!AMR\n".as_slice(), &[0; 3_000]].concat()), 2);
    }

    #[test]
    fn the_kind_is_told_by_the_bytes_and_servers_take_no_others() {
        for (bytes, name) in [
            (b"OggS".as_slice(), "audio.ogg"),
            (b"fLaC", "audio.flac"),
            (b"\xff\xfb\x90\x64", "audio.mp3"),
            (b"\x1a\x45\xdf\xa3", "audio.webm"),
            (b"\0\0\0\0ftyp", "audio.mp4"),
            (
                b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x01mdat\0\0\0\0\0\0\0\0",
                "audio.mp4",
            ),
        ] {
            assert_eq!(recording(bytes).unwrap().kind().unwrap().0, name);
        }
        for bytes in [
            b"".as_slice(),
            b"\xff",
            b"hello",
            b"#!AMR\n",
            b"RIFF\0\0\0\0AVI ",
        ] {
            recording(bytes).unwrap().kind().unwrap_err();
        }
    }

    proptest::proptest! {
        #[test]
        fn no_file_is_too_odd(
            start in "(OggS.{0,9}OpusHead|RIFF....WAVE|....ftyp|ID3|....mvhd)",
            rest in proptest::collection::vec(0_u8.., 0..200),
        ) {
            let _ = recording(&[start.as_bytes(), &rest].concat());
        }
    }
}
