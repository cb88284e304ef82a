use proptest::prelude::*;

use super::{Charset, Label, Source};

fn decode(charset: Charset, bytes: &[u8]) -> String {
    let mut text = String::new();
    let source = Source::new(bytes).unwrap();
    let mut take = |char| {
        text.push(char);
        true
    };
    source.decode(charset, &mut take).unwrap();
    text
}

/// The bytes are from Python's codecs.
#[test]
fn each_set_is_read() {
    let rows: [(&str, &[u8], &str); 23] = [
        (
            "gb2312",
            b"\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7",
            "你好，世界",
        ),
        ("gbk", b"\xb7\xb1\xf3w\xd7\xd6\xc5c\xe9F", "繁體字與镕"),
        (
            "gb18030",
            b"\xc4\xe3\x949\xfc6\x810\x8a9\xa1\xeb\x900\x810",
            "你😀ñ‰𐀀",
        ),
        (
            "big5",
            b"\xa4\xa4\xa4\xe5\xba\xf4\xad\xb6\xa1A\xb4\xfa\xb8\xd5",
            "中文網頁，測試",
        ),
        (
            "shift_jis",
            b"\x93\xfa\x96{\x8c\xea\xb6\xc5\x81E\x95\\\x8e\xa6",
            "日本語ｶﾅ・表示",
        ),
        (
            "euc-jp",
            b"\xc6\xfc\xcb\xdc\xb8\xec\x8e\xb6\x8e\xc5\xa1\xa6\xc9\xbd\xbc\xa8",
            "日本語ｶﾅ・表示",
        ),
        (
            "iso-2022-jp",
            b"\x1b$B$3$s$K$A$O\x1b(B world \x1b$B@$3&\x1b(B",
            "こんにちは world 世界",
        ),
        (
            "euc-kr",
            b"\xbe\xc8\xb3\xe7\xc7\xcf\xbc\xbc\xbf\xe4",
            "안녕하세요",
        ),
        (
            "ks_c_5601-1987",
            b"\x8cc\xb9\xe6\xb0\xa2\xc7\xcf",
            "똠방각하",
        ),
        (
            "windows-1251",
            b"\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0",
            "Привет, мир",
        ),
        ("koi8-r", b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
        ("koi8-u", b"\xeb\xc9\xa7\xd7", "Київ"),
        ("iso-8859-2", b"\xa3\xf3d\xbc", "Łódź"),
        ("windows-1250", b"\x8ei\x9ekov", "Žižkov"),
        ("iso-8859-7", b"\xc5\xeb\xeb\xdc\xe4\xe1", "Ελλάδα"),
        ("windows-1255", b"\xf9\xec\xe5\xed", "שלום"),
        ("windows-1256", b"\xe3\xd1\xcd\xc8\xc7", "مرحبا"),
        ("tis-620", b"\xe4\xb7\xc2", "ไทย"),
        ("iso-8859-9", b"\xddstanbul", "İstanbul"),
        ("windows-1257", b"\xd0iauliai", "Šiauliai"),
        ("windows-1258", b"\xd0\xe0", "Đà"),
        ("iso-8859-15", b"\xa4\xbd", "€œ"),
        ("ibm866", b"\x8c\xa8\xe0", "Мир"),
    ];
    for (label, bytes, text) in rows {
        let charset = Charset::named(label).expect(label);
        assert_eq!(decode(charset, bytes), text, "{label}");
    }
}

/// The bytes are from Python's codecs.
#[test]
fn sets_of_old_mails_are_read_by_all_their_names() {
    let rows: [(&str, &[u8], &str); 9] = [
        ("euc-jp", b"\x8f\xb0\xdd\x8f\xed\xe3a", "伮龥a"),
        (
            "iso-2022-jp-1",
            b"\x1b$(D0]\x1b(Ba\x1b$BF|K\\\x1b(B",
            "伮a日本",
        ),
        ("iso-2022-jp-3", b"\x1b$(QF|K\\\x1b(B.", "日本."),
        (
            "iso-2022-jp-ms",
            b"\x1b$BF|\nplain \xb6\x0e6\x0f.",
            "日\nplain ｶｶ.",
        ),
        ("cp-850", b"\x81ber", "über"),
        ("IBM850", b"\x82", "é"),
        ("437", b"\xe1", "ß"),
        ("\"utf-8  euao6y69zh2w\"", "é".as_bytes(), "é"),
        ("utf8;format=flowed", "é".as_bytes(), "é"),
    ];
    for (label, bytes, text) in rows {
        let charset = Charset::named(label).expect(label);
        assert_eq!(decode(charset, bytes), text, "{label}");
    }
}

#[test]
fn broken_characters_swallow_no_markup() {
    let rows: [(Charset, &[u8], &str); 8] = [
        (Charset::Gb18030, b"\xc4<b>", "\u{fffd}<b>"),
        (Charset::Gb18030, b"\x81\x30<", "\u{fffd}0<"),
        (Charset::Gb18030, b"\x81\x30\x81", "\u{fffd}"),
        (Charset::Gb18030, b"\xff\xff", "\u{fffd}"),
        (Charset::Big5, b"\xa4<", "\u{fffd}<"),
        (Charset::EucKr, b"\xb0>", "\u{fffd}>"),
        (Charset::EucJp, b"\x8f\xa1\xa1<", "\u{fffd}<"),
        (Charset::Iso2022Jp, b"\x1b$B$3\x1b(B<", "こ<"),
    ];
    for (charset, bytes, text) in rows {
        assert_eq!(decode(charset, bytes), text, "{charset:?} {bytes:?}");
    }
}

#[test]
fn a_page_names_its_set_in_a_tag_of_its_own() {
    for (page, expected) in [
        (
            "<meta name=description content='what a charset is'><meta charset=gbk>",
            Some("gbk"),
        ),
        (
            "<meta name=viewport><script charset=gbk></script><meta charset=utf-8>",
            Some("utf-8"),
        ),
        (
            "<!-- <meta charset=gbk> --><meta charset = 'big5' />",
            Some("big5"),
        ),
        (
            "<meta http-equiv=content-type content='text/html; charset=euc-kr'>",
            Some("euc-kr"),
        ),
        ("<!-- <meta charset=gbk>", None),
        ("<meta charset", None),
        ("<meta>charset=gbk", None),
    ] {
        assert_eq!(
            super::declared(page.as_bytes()).as_deref(),
            expected,
            "{page}"
        );
    }
}

#[test]
fn a_label_is_read_as_it_is_written() {
    for (label, charset) in [
        ("\"GB2312\"", Charset::Gb18030),
        ("Shift_JIS", Charset::ShiftJis),
        ("x-sjis", Charset::ShiftJis),
        ("ISO8859-1", Charset::Windows1252),
        ("x-cp1252", Charset::Windows1252),
    ] {
        assert_eq!(Label::read(label), Label::Known(charset), "{label}");
    }
    for label in ["iso88591", "ISO_8859-1:1987", "iso-ir-100", "iso-8859-1"] {
        assert_eq!(Label::read(label), Label::Known(Charset::Windows1252));
    }
    for label in ["utf-8mb4", "koi8-rus", "gbkk"] {
        assert_eq!(Label::read(label), Label::Meaningless, "{label}");
    }
    for (one, other) in [
        ("cp1251", "windows-1251"),
        ("ISO_8859-5", "cyrillic"),
        ("KOI8", "koi8-r"),
    ] {
        let known = Label::read(one);
        assert_eq!(known, Label::read(other));
        assert!(
            matches!(known, Label::Known(Charset::SingleByte(_))),
            "{one}"
        );
    }
    let unknown = Label::Unknown("iso-2022-kr".to_owned());
    assert_eq!(Label::read("ISO-2022-KR"), unknown);
    assert_eq!(Label::read("none"), Label::Meaningless);
}

fn charset() -> impl Strategy<Value = Charset> {
    prop_oneof![
        (0..30_usize).prop_map(Charset::SingleByte),
        Just(Charset::Gb18030),
        Just(Charset::Big5),
        Just(Charset::ShiftJis),
        Just(Charset::EucJp),
        Just(Charset::Iso2022Jp),
        Just(Charset::EucKr),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes, in whatever pieces, is at most a character a byte, and the same as in one piece.
    #[test]
    fn any_bytes_are_read(charset in charset(), bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        let whole = decode(charset, &bytes);
        prop_assert!(whole.chars().count() <= bytes.len());
        let mut decoder = super::Decoder::new(charset);
        let mut text = String::new();
        let mut waiting = Vec::new();
        for byte in &bytes {
            waiting.push(*byte);
            let mut take = |char| { text.push(char); true };
            let decoded = decoder.decode(&waiting, &mut take).unwrap();
            waiting.drain(..decoded);
        }
        if !waiting.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        prop_assert_eq!(text, whole);
    }
}
