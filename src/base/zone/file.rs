//! Files of zones: TZif, [RFC 9636], versions 1 to 4. PURE.
//!
//! [RFC 9636]: https://www.rfc-editor.org/rfc/rfc9636

use super::OFFSET_SECONDS_MAX;
use super::rule::Rule;

/// What a file says about a zone.
#[derive(Debug, PartialEq, Eq)]
pub struct Data {
    /// The offset before the first change, in seconds east of Greenwich.
    pub first: i32,
    /// The instants of changes, ascending, with the offset behind each.
    pub changes: Vec<(i64, i32)>,
    /// What holds behind the last change.
    pub rule: Option<Rule>,
}

/// Reads a file; `None` when it is damaged, or counts leap seconds, which the system's clock does not.
pub fn parse(bytes: &[u8]) -> Option<Data> {
    let mut reader = Reader(bytes);
    let header = Header::read(&mut reader)?;
    if header.version == 0 {
        return header.read_data(&mut reader, 4);
    }
    // The first block is for programs that know only version 1.
    header.read_data_bytes(&mut reader, 4)?;
    let header = Header::read(&mut reader)?;
    let mut data = header.read_data(&mut reader, 8)?;
    let footer = str::from_utf8(reader.0).ok()?.strip_prefix('\n')?;
    let (rule, _) = footer.split_once('\n')?;
    if !rule.is_empty() {
        data.rule = Some(Rule::parse(rule)?);
    }
    Some(data)
}

struct Header {
    version: u8,
    ut_marks: usize,
    standard_marks: usize,
    leap_seconds: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Header {
    fn read(reader: &mut Reader) -> Option<Self> {
        let (b"TZif", version) = (reader.take(4)?, *reader.take(1)?.first()?) else {
            return None;
        };
        reader.take(15)?;
        let mut count = || usize::try_from(reader.number(4)?).ok();
        Some(Self {
            version,
            ut_marks: count()?,
            standard_marks: count()?,
            leap_seconds: count()?,
            times: count()?,
            types: count()?,
            chars: count()?,
        })
    }

    /// Takes what follows the header: the times, their types, and what the types are.
    fn read_data_bytes<'a>(
        &self,
        reader: &mut Reader<'a>,
        time_bytes: usize,
    ) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
        let times = reader.take(self.times.checked_mul(time_bytes)?)?;
        let kinds = reader.take(self.times)?;
        let types = reader.take(self.types.checked_mul(TYPE_BYTES)?)?;
        reader.take(self.chars)?;
        reader.take(self.leap_seconds.checked_mul(time_bytes + 4)?)?;
        reader.take(self.standard_marks)?;
        reader.take(self.ut_marks)?;
        Some((times, kinds, types))
    }

    fn read_data(&self, reader: &mut Reader, time_bytes: usize) -> Option<Data> {
        let (times, kinds, types) = self.read_data_bytes(reader, time_bytes)?;
        if self.leap_seconds != 0 {
            return None;
        }
        let offset = |kind: usize| {
            let at = kind.checked_mul(TYPE_BYTES)?;
            let offset = Reader(types.get(at..)?).number(4)?;
            let offset = i32::try_from(offset).ok()?;
            (offset.abs() <= OFFSET_SECONDS_MAX).then_some(offset)
        };
        let first = offset(0)?;
        let mut changes: Vec<(i64, i32)> = Vec::new();
        for (time, kind) in times.chunks(time_bytes).zip(kinds) {
            let time = Reader(time).number(time_bytes)?;
            if changes.last().is_some_and(|(last, _)| *last >= time) {
                return None;
            }
            changes.push((time, offset(usize::from(*kind))?));
        }
        Some(Data {
            first,
            changes,
            rule: None,
        })
    }
}

/// Bytes of a local time type: an offset, whether it is daylight-saving time, an abbreviation's place.
const TYPE_BYTES: usize = 6;

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a signed number, big-endian.
    fn number(&mut self, bytes: usize) -> Option<i64> {
        let taken = self.take(bytes)?;
        let first = i64::from(taken.first()?.cast_signed());
        let add = |sum: i64, byte: &u8| (sum << 8) | i64::from(*byte);
        Some(taken.iter().skip(1).fold(first, add))
    }
}
