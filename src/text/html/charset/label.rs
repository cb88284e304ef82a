//! The names of character sets in headers and pages (Encoding standard, section 4.2). PURE.

use super::Charset;

/// The sets in which a byte is a character and for which there is a table, in the order of the table.
const SINGLE_BYTE: [&str; 31] = [
    "ibm866",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-10",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "windows-874",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "ibm437",
    "ibm850",
    "ibm852",
    "ibm855",
    "ibm858",
    "x-mac-cyrillic",
];

/// Other names of sets in use.
const SYNONYMS: [(&str, &str); 30] = [
    ("iso-ir-101", "iso-8859-2"),
    ("iso-ir-109", "iso-8859-3"),
    ("iso-ir-110", "iso-8859-4"),
    ("iso-ir-144", "iso-8859-5"),
    ("iso-ir-127", "iso-8859-6"),
    ("iso-ir-126", "iso-8859-7"),
    ("iso-ir-138", "iso-8859-8"),
    ("iso-ir-148", "windows-1254"),
    ("iso-ir-157", "iso-8859-10"),
    ("dos-874", "windows-874"),
    ("latin2", "iso-8859-2"),
    ("l2", "iso-8859-2"),
    ("latin3", "iso-8859-3"),
    ("latin4", "iso-8859-4"),
    ("cyrillic", "iso-8859-5"),
    ("arabic", "iso-8859-6"),
    ("greek", "iso-8859-7"),
    ("hebrew", "iso-8859-8"),
    ("iso-8859-8-i", "iso-8859-8"),
    ("iso-8859-9", "windows-1254"),
    ("latin5", "windows-1254"),
    ("latin6", "iso-8859-10"),
    ("iso-8859-11", "windows-874"),
    ("tis-620", "windows-874"),
    ("latin9", "iso-8859-15"),
    ("l9", "iso-8859-15"),
    ("koi8", "koi8-r"),
    ("koi8-ru", "koi8-u"),
    ("mac", "macintosh"),
    ("x-mac-roman", "macintosh"),
];

/// How the labels of sets begin that are in use and not known here. A browser takes no notice of any other label, and
/// looks at the page.
const OTHERS: [&str; 6] = ["hz-gb", "iso-2022-", "x-mac-", "utf-7", "utf-32", "ebcdic"];

/// What the label of a character set means.
#[derive(Debug, PartialEq, Eq)]
pub enum Label {
    /// A set that can be read.
    Known(Charset),
    /// A set that cannot be read, under this name.
    Unknown(String),
    /// Nothing at all, as `charset=none`.
    Meaningless,
}

impl Label {
    /// Reads a label such as `"UTF-8"`, with or without its quotes.
    pub fn read(label: &str) -> Self {
        let name = label.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
        // `iso8859_2`, `iso88592` and `cp1251` are what standards call `iso-8859-2` and `windows-1251`. A year may
        // follow.
        let mut usual = name.split(':').next().unwrap_or_default().replace('_', "-");
        // Something may follow that was never part of it.
        let is_part = |char: char| char.is_ascii_alphanumeric() || "-.".contains(char);
        let end = usual.find(|char| !is_part(char)).unwrap_or(usual.len());
        usual.truncate(end);
        // MS-DOS numbers its sets, of which `cp-850` is one.
        let number = usual
            .trim_start_matches(char::is_alphabetic)
            .trim_start_matches('-');
        let dos = format!("ibm{number}");
        if ["", "cp", "cp-", "ibm", "ibm-", "dos-"].contains(&&usual[..usual.len() - number.len()])
            && SINGLE_BYTE.contains(&&*dos)
        {
            usual = dos;
        }
        for (short, long) in [
            ("iso8859", "iso-8859"),
            ("x-cp12", "cp12"),
            ("cp12", "windows-12"),
        ] {
            if let Some(rest) = usual.strip_prefix(short) {
                usual = format!("{long}{rest}");
            }
        }
        if let Some(number) = usual.strip_prefix("iso-8859")
            && number.starts_with(|char: char| char.is_ascii_digit())
        {
            usual = format!("iso-8859-{number}");
        }
        if let Some(charset) = multibyte(&usual) {
            return Self::Known(charset);
        }
        let synonym = SYNONYMS.iter().find(|(other, _)| *other == usual);
        let usual = synonym.map_or(&*usual, |(_, name)| name);
        if let Some(row) = SINGLE_BYTE.iter().position(|name| *name == usual) {
            return Self::Known(Charset::SingleByte(row));
        }
        if OTHERS.iter().any(|other| usual.starts_with(other)) {
            Self::Unknown(name)
        } else {
            Self::Meaningless
        }
    }
}

/// Unicode, Western Europe, and the sets of East Asia.
fn multibyte(name: &str) -> Option<Charset> {
    Some(match name {
        "utf-8" | "utf8" | "unicode-1-1-utf-8" | "utf-8-sig" | "utf8mb4" | "x-utf-8"
        | "cp65001" | "65001" => Charset::Utf8,
        "utf-16" | "utf-16le" | "unicode" | "ucs-2" => Charset::Utf16(false),
        "utf-16be" => Charset::Utf16(true),
        "ascii" | "us-ascii" | "iso-8859-1" | "latin1" | "latin-1" | "l1" | "windows-1252"
        | "ansi-x3.4-1968" | "iso-ir-100" => Charset::Windows1252,
        "gb18030" | "gbk" | "gb2312" | "gb-2312" | "gb-2312-80" | "csgb2312" | "chinese"
        | "csiso58gb231280" | "iso-ir-58" | "x-gbk" | "cp936" | "ms936" | "euc-cn" => {
            Charset::Gb18030
        }
        "big5" | "big-5" | "cn-big5" | "csbig5" | "x-x-big5" | "big5-hkscs" | "cp950" => {
            Charset::Big5
        }
        "shift-jis" | "sjis" | "x-sjis" | "csshiftjis" | "ms-kanji" | "windows-31j" | "ms932"
        | "cp932" => Charset::ShiftJis,
        "euc-jp" | "x-euc-jp" | "eucjp" | "cseucpkdfmtjapanese" => Charset::EucJp,
        "csiso2022jp" | "csiso2022jp2" | "cp50220" | "cp50221" | "cp50222" => Charset::Iso2022Jp,
        _ if name.starts_with("iso-2022-jp") => Charset::Iso2022Jp,
        "euc-kr" | "euckr" | "cseuckr" | "korean" | "ks-c-5601-1987" | "ks-c-5601-1989"
        | "ksc5601" | "ksc-5601" | "csksc56011987" | "iso-ir-149" | "windows-949" | "cp949"
        | "uhc" => Charset::EucKr,
        _ => return None,
    })
}
