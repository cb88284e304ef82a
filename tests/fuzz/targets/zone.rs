//! Any bytes are the file or the rule of a zone whose times can be asked for, or are refused.

use super::number;
use peacrab::base::zone::Zone;

pub fn run(bytes: &[u8]) {
    let (seconds, bytes) = number(bytes, 8);
    let rule = || Zone::from_rule(str::from_utf8(bytes).ok()?);
    if let Some(zone) = Zone::from_file("x", bytes).or_else(rule) {
        let span = zone.span(seconds);
        assert!(span.start <= seconds && (seconds < span.end || span.end == i64::MAX));
        let local = zone.at(seconds).naive_local();
        zone.resolve(local);
    }
}
