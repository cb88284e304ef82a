//! What a server says of itself in 005 (ISUPPORT). Pure. <https://modern.ircdocs.horse/#feature-advertisement>

use super::WIRE_BYTES;
/// The same where a server announces LINELEN; what is beyond is not believed.
const WIRE_BYTES_MAX: usize = 4096;

/// Which letters of nicks and channels are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaseMapping {
    /// Those of ASCII.
    Ascii,
    /// Also `{}|^` and `[]\~`, which were the same keys in Scandinavia.
    #[default]
    Rfc1459,
    /// The same without `^` and `~`.
    StrictRfc1459,
}

impl CaseMapping {
    /// A name in lower case.
    pub fn fold(self, name: &str) -> String {
        let lower = |char: char| match (char, self) {
            ('[', Self::Rfc1459 | Self::StrictRfc1459) => '{',
            (']', Self::Rfc1459 | Self::StrictRfc1459) => '}',
            ('\\', Self::Rfc1459 | Self::StrictRfc1459) => '|',
            ('~', Self::Rfc1459) => '^',
            (char, _) => char.to_ascii_lowercase(),
        };
        name.chars().map(lower).collect()
    }

    /// Whether two names are the same.
    pub fn is_same(self, one: &str, other: &str) -> bool {
        self.fold(one) == self.fold(other)
    }
}

/// What the server can do, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// How names are compared.
    pub case: CaseMapping,
    /// How the names of channels begin.
    pub channel_types: String,
    /// Marks before a channel's name that mean only some of its members, such as `@`.
    pub status_marks: String,
    /// Bytes of a nick.
    pub nick_bytes: Option<usize>,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// The network's name; may be empty.
    pub network: String,
}

impl Default for Support {
    fn default() -> Self {
        Self {
            case: CaseMapping::default(),
            channel_types: "#&".to_owned(),
            status_marks: String::new(),
            nick_bytes: None,
            line_bytes: WIRE_BYTES,
            network: String::new(),
        }
    }
}

impl Support {
    /// Takes the parameters of a 005.
    pub fn read(&mut self, parameters: &[String]) {
        for parameter in parameters {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match key {
                "CASEMAPPING" => {
                    self.case = match value {
                        "rfc1459-strict" | "strict-rfc1459" => CaseMapping::StrictRfc1459,
                        "rfc1459" => CaseMapping::Rfc1459,
                        // No two people are taken for one.
                        _ => CaseMapping::Ascii,
                    }
                }
                "CHANTYPES" => value.clone_into(&mut self.channel_types),
                "STATUSMSG" => value.clone_into(&mut self.status_marks),
                "NICKLEN" | "MAXNICKLEN" => {
                    self.nick_bytes = value.parse().ok().filter(|bytes| *bytes > 0);
                }
                "LINELEN" => {
                    let bytes = value.parse().unwrap_or(WIRE_BYTES);
                    self.line_bytes = bytes.clamp(WIRE_BYTES, WIRE_BYTES_MAX);
                }
                "NETWORK" => value.clone_into(&mut self.network),
                _ => {}
            }
        }
    }

    /// The channel in a message's target; `None` for a nick, and for only some of a channel's members: all of them would
    /// read the answer.
    pub fn channel<'t>(&self, target: &'t str) -> Option<&'t str> {
        let is_channel = |name: &str| name.starts_with(|c| self.channel_types.contains(c));
        let bare = target.trim_start_matches(|c| self.status_marks.contains(c));
        let is_for_some = bare.len() < target.len() && is_channel(bare);
        (is_channel(target) && !is_for_some).then_some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_compared_as_the_server_does() {
        use CaseMapping::{Ascii, Rfc1459, StrictRfc1459};
        for (case, one, other, is_same) in [
            (Rfc1459, "Ana[x]\\~", "ana{X}|^", true),
            (StrictRfc1459, "a[~", "A{~", true),
            (StrictRfc1459, "a~", "a^", false),
            (Ascii, "Ana", "aNA", true),
            (Ascii, "a[", "a{", false),
            (Rfc1459, "ana", "anna", false),
            (Rfc1459, "É", "é", false),
        ] {
            assert_eq!(case.is_same(one, other), is_same, "{case:?} {one} {other}");
        }
    }

    #[test]
    fn what_the_server_says_is_read_and_bounded() {
        let mut support = Support::default();
        let words = "crab CASEMAPPING=ascii CHANTYPES=# STATUSMSG=@+ NICKLEN=16 LINELEN=1000000 NETWORK=Ex x";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        support.read(&words);
        assert_eq!(support.case, CaseMapping::Ascii);
        assert_eq!(
            (support.nick_bytes, support.line_bytes),
            (Some(16), WIRE_BYTES_MAX)
        );
        assert_eq!(support.network, "Ex");
        assert_eq!(support.channel("#crab"), Some("#crab"));
        assert_eq!(support.channel("@#crab"), None);
        assert_eq!(support.channel("@+#crab"), None);
        assert_eq!(support.channel("crab"), None);
        assert_eq!(support.channel("&crab"), None);
        for (value, case) in [
            ("rfc1459", CaseMapping::Rfc1459),
            ("strict-rfc1459", CaseMapping::StrictRfc1459),
            ("rfc7613", CaseMapping::Ascii),
            ("", CaseMapping::Ascii),
        ] {
            support.read(&[format!("CASEMAPPING={value}")]);
            assert_eq!(support.case, case, "{value}");
        }
        support.read(&["LINELEN=1".to_owned(), "NICKLEN=x".to_owned()]);
        assert_eq!((support.nick_bytes, support.line_bytes), (None, WIRE_BYTES));
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(name in "[ -~]{0,20}") {
            for case in [CaseMapping::Ascii, CaseMapping::Rfc1459, CaseMapping::StrictRfc1459] {
                let folded = case.fold(&name);
                prop_assert_eq!(case.fold(&folded), folded);
            }
        }
    }
}
