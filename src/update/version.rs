//! Versions. Pure, but for the version of this program in a build for tests.

use std::fmt;

/// A version, such as `0.2.0`; the order is that of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

impl Version {
    /// Reads a version: three numbers without signs or leading zeros, so that there is one way to
    /// write each.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(number);
        let version = Self([numbers.next()??, numbers.next()??, numbers.next()??]);
        numbers.next().is_none().then_some(version)
    }

    /// The version of this program.
    pub fn own() -> Self {
        Self::parse(current()).unwrap_or(Self([0; 3]))
    }
}

fn number(text: &str) -> Option<u32> {
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The version of this program as text.
pub fn current() -> &'static str {
    #[cfg(feature = "test-hooks")]
    if let Some(version) = pretended() {
        return version;
    }
    env!("CARGO_PKG_VERSION")
}

/// The version behind the end of this program's own file, where tests put it: a copy with another version
/// is then another program, as a release is.
#[cfg(feature = "test-hooks")]
fn pretended() -> Option<&'static str> {
    use std::io::{Read, Seek, SeekFrom};
    use std::sync::OnceLock;
    const MARK: &str = "\nPEACRAB_TEST_VERSION=";
    const TAIL_BYTES: i64 = 64;
    static VERSION: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let mut file = std::fs::File::open("/proc/self/exe").ok()?;
        file.seek(SeekFrom::End(-TAIL_BYTES)).ok()?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail).ok()?;
        let tail = String::from_utf8_lossy(&tail).into_owned();
        Some(tail.rsplit_once(MARK)?.1.to_owned())
    };
    VERSION.get_or_init(read).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_is_that_of_the_numbers() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("0.10.0") > version("0.9.9"));
        assert!(version("1.0.0") > version("0.99.99"));
        assert!(version("0.2.1") > version("0.2.0"));
        for odd in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "1.2.x",
            "1.-2.3",
            "1.+2.3",
            "01.2.3",
            "1.2.",
            " 1.2.3",
            "1.2.3-rc1",
            "1.2.4294967296",
            "１.2.3",
        ] {
            assert_eq!(Version::parse(odd), None, "{odd}");
        }
        assert_eq!(Version::own().to_string(), env!("CARGO_PKG_VERSION"));
    }

    proptest! {
        #[test]
        fn a_version_is_read_back_and_compared_like_its_numbers(a in any::<[u32; 3]>(), b in any::<[u32; 3]>()) {
            let (first, second) = (Version(a), Version(b));
            prop_assert_eq!(Version::parse(&first.to_string()), Some(first));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        }

        #[test]
        fn what_is_read_is_written_the_same(text in "[0-9.+ -]{0,12}") {
            if let Some(version) = Version::parse(&text) {
                prop_assert_eq!(version.to_string(), text);
            }
        }
    }
}
