//! Names of hosts that are not in ASCII, as resolvers want them (RFC 3492, RFC 5890). Pure.

use crate::text::is_invisible;

/// Bytes of a label and of a name (RFC 1035, section 2.3.4).
const LABEL_BYTES: usize = 63;
const NAME_BYTES: usize = 253;

// The parameters of RFC 3492, section 5.
const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const FIRST_BIAS: u32 = 72;
const FIRST: u32 = 0x80;

/// A name in ASCII: in lower case, and each label that is not in ASCII as `xn--…`. `None` for one that is too long or
/// has characters that nobody sees. Characters that only look different, such as those of full width, are not mapped:
/// such a name is another one, which does not exist.
pub fn name_in_ascii(name: &str) -> Option<String> {
    let is_hidden = |char: char| is_invisible(char) || char.is_whitespace();
    if name.len() > 4 * NAME_BYTES || name.contains(is_hidden) {
        return None;
    }
    let name = name.to_lowercase();
    // The full stops of East Asia (RFC 3490, section 3.1).
    let labels = name.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']);
    let labels = labels.map(|label| {
        if label.is_ascii() {
            Some(label.to_owned())
        } else {
            let chars: Vec<char> = label.chars().take(LABEL_BYTES + 1).collect();
            let label = format!("xn--{}", encode(&chars)?);
            (label.len() <= LABEL_BYTES).then_some(label)
        }
    });
    let name = labels.collect::<Option<Vec<String>>>()?.join(".");
    (name.len() <= NAME_BYTES).then_some(name)
}

/// RFC 3492, section 6.3. `None` on an overflow.
fn encode(label: &[char]) -> Option<String> {
    let mut out: String = label.iter().filter(|char| char.is_ascii()).collect();
    let basic = u32::try_from(out.len()).ok()?;
    if basic > 0 {
        out.push('-');
    }
    let (mut next, mut delta, mut bias, mut done) = (FIRST, 0_u32, FIRST_BIAS, basic);
    let length = u32::try_from(label.len()).ok()?;
    while done < length {
        let points = label.iter().map(|char| u32::from(*char));
        let least = points.clone().filter(|point| *point >= next).min()?;
        delta = delta.checked_add((least - next).checked_mul(done + 1)?)?;
        next = least;
        for point in points {
            if point < next {
                delta = delta.checked_add(1)?;
            }
            if point == next {
                push_number(delta, bias, &mut out);
                bias = adapt(delta, done + 1, done == basic);
                delta = 0;
                done += 1;
            }
        }
        delta = delta.checked_add(1)?;
        next += 1;
    }
    Some(out)
}

/// A number with digits of variable weight, the least first.
fn push_number(mut number: u32, bias: u32, out: &mut String) {
    let mut k = BASE;
    loop {
        let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
        if number < threshold {
            break;
        }
        let above = BASE - threshold;
        out.push(digit(threshold + (number - threshold) % above));
        number = (number - threshold) / above;
        k += BASE;
    }
    out.push(digit(number));
}

fn digit(value: u32) -> char {
    char::from_digit((value + 10) % BASE, BASE).unwrap_or('a')
}

fn adapt(delta: u32, points: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / DAMP } else { delta / 2 };
    delta += delta / points;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The expected names are from Python's codecs and RFC 3492, section 7.1.
    #[test]
    fn names_are_what_resolvers_know() {
        for (name, expected) in [
            ("example.org", "example.org"),
            ("Bücher.Example", "xn--bcher-kva.example"),
            ("münchen.de", "xn--mnchen-3ya.de"),
            ("中文。中国", "xn--fiq228c.xn--fiqs8s"),
            ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
            ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
            ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
            ("😀.example", "xn--e28h.example"),
        ] {
            assert_eq!(name_in_ascii(name).as_deref(), Some(expected), "{name}");
        }
        for name in ["a b", "ex\u{200b}ample.org", "\u{ad}x", &"é".repeat(200)] {
            assert_eq!(name_in_ascii(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_in_ascii_or_none(name in "\\PC{0,80}") {
            if let Some(ascii) = name_in_ascii(&name) {
                prop_assert!(ascii.is_ascii());
                prop_assert!(ascii.len() <= NAME_BYTES);
            }
        }
    }
}
