//! The languages of the bot, and `texts!`, which declares what it says. English and Chinese are in the source; the others
//! are in `.po` files here, which `scripts/languages` keeps up to date.

pub mod catalog;
#[cfg(test)]
mod po;
pub mod template;

use serde::{Deserialize, Serialize};

/// Words for yes, in small letters.
pub const YES: [&str; 8] = ["yes", "是", "ja", "oui", "sí", "si", "sim", "はい"];
/// Words for no, in small letters; that of Spanish is the English one.
pub const NO: [&str; 7] = ["no", "否", "nein", "non", "não", "nao", "いいえ"];

/// A language that the bot's fixed texts come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Language {
    /// Chinese, in simplified characters.
    #[serde(rename = "zh")]
    Chinese,
    /// German.
    #[serde(rename = "de")]
    German,
    /// French.
    #[serde(rename = "fr")]
    French,
    /// Spanish.
    #[serde(rename = "es")]
    Spanish,
    /// Portuguese, as it is written in Brazil.
    #[serde(rename = "pt")]
    Portuguese,
    /// Japanese.
    #[serde(rename = "ja")]
    Japanese,
    /// English, also for people whose language is not here.
    #[default]
    #[serde(rename = "en", other)]
    English,
}

impl Language {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 7] = [
        Self::English,
        Self::Chinese,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Portuguese,
        Self::Japanese,
    ];

    /// Its code of two letters (ISO 639-1).
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Portuguese => "pt",
            Self::Japanese => "ja",
        }
    }

    /// Its name in itself.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "中文",
            Self::German => "Deutsch",
            Self::French => "Français",
            Self::Spanish => "Español",
            Self::Portuguese => "Português",
            Self::Japanese => "日本語",
        }
    }

    /// The language of an IETF tag, such as `zh-hans` or `en-US` ([BCP 47]): what a person has chosen
    /// in their app.
    ///
    /// [BCP 47]: https://www.rfc-editor.org/info/bcp47
    pub fn from_tag(tag: &str) -> Self {
        Self::known_tag(tag).unwrap_or_default()
    }

    /// The first language of a list of tags that the bot speaks, such as that of an `Accept-Language` header:
    /// `it, de-CH;q=0.8`.
    pub fn pick(tags: &str) -> Self {
        let tags = tags.split(',').filter_map(|tag| tag.split(';').next());
        let mut known = tags.filter_map(|tag| Self::known_tag(tag.trim()));
        known.next().unwrap_or_default()
    }

    /// The language that a person names: by a tag or by its own name.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_name = |language: &Self| language.own_name().to_lowercase() == text.to_lowercase();
        let by_name = Self::ALL.into_iter().find(is_name);
        by_name.or_else(|| Self::known_tag(text))
    }

    fn known_tag(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        let is_it = |language: &Self| primary.eq_ignore_ascii_case(language.code());
        Self::ALL.into_iter().find(is_it)
    }

    /// The language of a text: Japanese where it has kana, else Chinese where it has a Chinese character, else the
    /// default, for letters do not tell the others apart.
    pub fn of_text(text: &str) -> Self {
        let is_kana = |char| matches!(char, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{ff66}'..='\u{ff9d}');
        let is_chinese = |char: char| ('\u{3400}'..='\u{9fff}').contains(&char);
        if text.contains(is_kana) {
            Self::Japanese
        } else if text.contains(is_chinese) {
            Self::Chinese
        } else {
            Self::English
        }
    }

    /// What is between two sentences.
    pub const fn sentence_space(self) -> &'static str {
        if self.has_wide_marks() { "" } else { " " }
    }

    /// What ends a sentence.
    pub const fn full_stop(self) -> &'static str {
        if self.has_wide_marks() { "。" } else { "." }
    }

    /// Whether its full stop, comma and colon are as wide as its characters, without a space behind.
    pub const fn has_wide_marks(self) -> bool {
        matches!(self, Self::Chinese | Self::Japanese)
    }

    /// Whether it is the default, which is not worth storing.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Declares texts for people, each in English and Chinese, as functions; and for the tests a table of them all, `TABLE`.
/// A text in which one of these is missing, or that names a value it is not given, does not compile. The other languages
/// have it by its English words; where one lacks it, it is English.
///
/// ```text
/// texts! {
///     /// Nothing runs.
///     fn idle() { "Nothing is running.", "没有正在运行的任务。" }
///     /// A person can talk with the bot now.
///     pub fn paired(name) { "{name} is now paired.", "{name} 已配对。" }
/// }
/// idle(Language::English)              a &'static str, because it is given no value
/// paired(Language::Chinese, &"Ann")    a String
/// ```
macro_rules! texts {
    (@names $first:ident $($more:ident)*) => {
        concat!(stringify!($first) $(, " ", stringify!($more))*)
    };
    (@one [$($doc:tt)*] [$vis:vis] $name:ident() $english:literal, $chinese:literal) => {
        $($doc)*
        $vis fn $name(language: $crate::base::language::Language) -> &'static str {
            const KEY: u32 = $crate::base::language::template::key($english);
            match language {
                $crate::base::language::Language::English => $english,
                $crate::base::language::Language::Chinese => $chinese,
                other => $crate::base::language::catalog::find(other, KEY).unwrap_or($english),
            }
        }
    };
    (@one [$($doc:tt)*] [$vis:vis] $name:ident($($value:ident),+) $english:literal, $chinese:literal) => {
        $($doc)*
        $vis fn $name(
            language: $crate::base::language::Language,
            $($value: &dyn ::std::fmt::Display),+
        ) -> String {
            const KEY: u32 = $crate::base::language::template::key($english);
            const NAMES: &str = $crate::base::language::texts!(@names $($value)+);
            if language == $crate::base::language::Language::Chinese {
                return format!($chinese);
            }
            let other = $crate::base::language::catalog::fill(language, KEY, NAMES, &[$($value),+]);
            other.unwrap_or_else(|| format!($english))
        }
    };
    ($(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident($($value:ident),*) { $english:literal, $chinese:literal $(,)? }
    )*) => {
        $($crate::base::language::texts! {
            @one [$(#[$doc])*] [$vis] $name($($value),*) $english, $chinese
        })*

        /// Every text above by its name, in English and in Chinese.
        #[cfg(test)]
        pub(crate) const TABLE: &[(&str, &str, &str)] =
            &[$((stringify!($name), $english, $chinese)),*];
    };
}

pub(crate) use texts;

/// What is wrong with a table of texts, for the tests of the rooms that have one.
#[cfg(test)]
pub fn check_table(table: &[(&str, &str, &str)]) {
    for (name, english, chinese) in table {
        assert!(
            !english.is_empty() && !chinese.is_empty(),
            "{name} is empty"
        );
        assert_eq!(
            po::values(english),
            po::values(chinese),
            "the values in {name}"
        );
        assert_eq!(
            Language::of_text(english),
            Language::English,
            "{name}: {english}"
        );
        let is_said = chinese.chars().any(char::is_alphabetic);
        assert!(
            !is_said || Language::of_text(chinese) == Language::Chinese,
            "{name} is not translated: {chinese}"
        );
        for language in Language::ALL {
            if let Some(text) = catalog::find(language, template::key(english)) {
                let values = (po::values(english), po::values(text));
                assert!(!text.is_empty() && values.0 == values.1, "{name}: {text}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    texts! {
        fn plain() { "Nothing is running.", "没有正在运行的任务。" }
        fn filled(name, count) { "{name} has {count}.", "{name} 有 {count} 个。" }
    }

    #[test]
    fn a_text_comes_in_each_language() {
        check_table(TABLE);
        assert_eq!(plain(Language::Chinese), "没有正在运行的任务。");
        assert_eq!(filled(Language::English, &"Ann", &2), "Ann has 2.");
        assert_eq!(filled(Language::Chinese, &"Ann", &2), "Ann 有 2 个。");
    }

    #[test]
    fn a_tag_names_a_language_by_its_first_part() {
        for tag in ["zh", "zh-hans", "ZH-TW", "zh_CN"] {
            assert_eq!(Language::from_tag(tag), Language::Chinese, "{tag}");
        }
        for tag in ["", "en", "it-CH", "zha", "-zh"] {
            assert_eq!(Language::from_tag(tag), Language::English, "{tag}");
        }
        assert_eq!(Language::from_tag("de-CH"), Language::German);
        assert_eq!(Language::pick("it, pt-BR;q=0.8, de"), Language::Portuguese);
        assert_eq!(Language::pick("en-GB,de;q=0.5"), Language::English);
        assert_eq!(Language::pick(";,,"), Language::English);
    }

    #[test]
    fn a_language_is_named_by_its_tag_or_its_own_name() {
        for language in Language::ALL {
            let name = language.own_name().to_uppercase();
            assert_eq!(Language::named(&name), Some(language));
            assert_eq!(Language::named(language.code()), Some(language));
            assert_eq!(
                serde_json::to_value(language).unwrap(),
                language.code(),
                "what is stored is the code"
            );
        }
        assert_eq!(Language::named(" pt-BR "), Some(Language::Portuguese));
        assert_eq!(Language::named("auto"), None);
    }

    #[test]
    fn kana_are_japanese_and_characters_alone_chinese() {
        for (text, language) in [
            ("コマンドを実行する", Language::Japanese),
            ("ﾃｽﾄ", Language::Japanese),
            ("运行命令", Language::Chinese),
            ("乔治・奥威尔", Language::Chinese),
            ("Größe", Language::English),
        ] {
            assert_eq!(Language::of_text(text), language, "{text}");
        }
    }

    #[test]
    fn an_unknown_language_in_a_file_is_read() {
        let read = |text: &str| serde_json::from_str::<Language>(text).is_ok();
        assert!(read("\"en\"") && read("\"zh\"") && read("\"xx\""));
    }
}
