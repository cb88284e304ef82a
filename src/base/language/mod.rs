//! The languages of the bot, and `texts!`, which declares what it says in each.

use serde::{Deserialize, Serialize};

/// A language that the bot's fixed texts come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// Chinese, in simplified characters.
    #[serde(rename = "zh")]
    Chinese,
    /// English, also for people whose language is not here.
    #[default]
    #[serde(rename = "en", other)]
    English,
}

impl Language {
    /// The language of an IETF tag, such as `zh-hans` or `en-US` ([BCP 47]): what a person has chosen
    /// in their app.
    ///
    /// [BCP 47]: https://www.rfc-editor.org/info/bcp47
    pub fn from_tag(tag: &str) -> Self {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        if primary.eq_ignore_ascii_case("zh") {
            Self::Chinese
        } else {
            Self::English
        }
    }

    /// The language of a text: Chinese where it has a Chinese character.
    pub fn of_text(text: &str) -> Self {
        let is_chinese = |char: char| ('\u{3400}'..='\u{9fff}').contains(&char);
        if text.contains(is_chinese) {
            Self::Chinese
        } else {
            Self::English
        }
    }

    /// What is between two sentences.
    pub fn sentence_space(self) -> &'static str {
        match self {
            Self::Chinese => "",
            Self::English => " ",
        }
    }

    /// Whether it is the default, which is not worth storing.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Declares texts for people, each in every language, as functions; and for the tests a table of them
/// all, `TABLE`. A text in which a language is missing, or that names a value it is not given, does
/// not compile.
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
    (@one [$($doc:tt)*] [$vis:vis] $name:ident() $english:literal, $chinese:literal) => {
        $($doc)*
        $vis fn $name(language: $crate::base::language::Language) -> &'static str {
            match language {
                $crate::base::language::Language::English => $english,
                $crate::base::language::Language::Chinese => $chinese,
            }
        }
    };
    (@one [$($doc:tt)*] [$vis:vis] $name:ident($($value:ident),+) $english:literal, $chinese:literal) => {
        $($doc)*
        $vis fn $name(
            language: $crate::base::language::Language,
            $($value: &dyn ::std::fmt::Display),+
        ) -> String {
            match language {
                $crate::base::language::Language::English => format!($english),
                $crate::base::language::Language::Chinese => format!($chinese),
            }
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
    let values = |text: &str| {
        let mut names: Vec<String> = text
            .split('{')
            .skip(1)
            .filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()))
            .collect();
        names.sort();
        names
    };
    for (name, english, chinese) in table {
        assert!(
            !english.is_empty() && !chinese.is_empty(),
            "{name} is empty"
        );
        assert_eq!(values(english), values(chinese), "the values in {name}");
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
        for tag in ["", "en", "de-CH", "zha", "-zh"] {
            assert_eq!(Language::from_tag(tag), Language::English, "{tag}");
        }
    }

    #[test]
    fn an_unknown_language_in_a_file_is_read() {
        let read = |text: &str| serde_json::from_str::<Language>(text).is_ok();
        assert!(read("\"en\"") && read("\"zh\"") && read("\"xx\""));
    }
}
