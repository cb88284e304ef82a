//! Zones for systems without zone data (Debian's package tzdata): the rule that each follows today, but
//! not what it was in the past, nor exceptions such as Morocco's Ramadan. `scripts/zones` makes the table.

use super::NAME_BYTES;
use strsim::osa_distance;

/// Edits between a wrong name and the one that it probably means.
const SLIP_EDITS: usize = 2;

/// Lines of a rule and the zones that follow it; a word with a slash at its end is the region of the
/// names behind it.
const TABLE: &str = include_str!("built_in.txt");

/// The rule of a zone.
pub fn find_rule(name: &str) -> Option<&'static str> {
    all().find(|zone| zone.is(name)).map(|zone| zone.rule)
}

/// The name of a zone that is written with other capitals, such as `utc`.
pub fn spelt(name: &str) -> Option<String> {
    let is_same = |zone: &Entry| {
        let (region, city) = name.split_at_checked(zone.region.len()).unwrap_or_default();
        zone.city.eq_ignore_ascii_case(city) && zone.region.eq_ignore_ascii_case(region)
    };
    let found = all().find(is_same);
    found.map(|zone| format!("{}{}", zone.region, zone.city))
}

/// The name of a zone that a wrong one probably means, such as `Europe/Zurich` for `zurich`.
pub fn suggest(name: &str) -> Option<String> {
    let name = name.trim().to_ascii_lowercase().replace(' ', "_");
    if name.is_empty() || name.len() > NAME_BYTES {
        return None;
    }
    let (mut best, mut least) = (None, SLIP_EDITS + 1);
    for zone in all() {
        let city = zone.city.to_ascii_lowercase();
        let whole = format!("{}{city}", zone.region.to_ascii_lowercase());
        let edits = osa_distance(&name, &whole).min(osa_distance(&name, &city));
        // In a short name two edits are another name.
        if edits < least && (edits == 0 || name.len() > 2 * edits + 1) {
            (best, least) = (Some(zone), edits);
        }
    }
    best.map(|zone| format!("{}{}", zone.region, zone.city))
}

#[derive(Clone, Copy)]
struct Entry {
    rule: &'static str,
    /// With its slash; empty for a name without a region.
    region: &'static str,
    city: &'static str,
}

impl Entry {
    fn is(&self, name: &str) -> bool {
        name.strip_prefix(self.region) == Some(self.city)
    }
}

fn all() -> impl Iterator<Item = Entry> {
    TABLE.lines().flat_map(|line| {
        let mut words = line.split(' ');
        let rule = words.next().unwrap_or_default();
        let mut region = "";
        words.filter_map(move |word| {
            if word.ends_with('/') {
                region = word.trim_start_matches('/');
                return None;
            }
            Some(Entry {
                rule,
                region,
                city: word,
            })
        })
    })
}

/// Every name, for the tests.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = String> {
    all().map(|zone| format!("{}{}", zone.region, zone.city))
}
