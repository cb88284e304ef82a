//! Headers, encodings, addresses and texts as real programs write them, and everything else.

use proptest::prelude::*;

use super::address::mailbox;
use super::body::{of_html, split, unflow, without_uuencoded};
use super::decode::{Decoder, Encoding, base64_lines, quoted};
use super::headers::{Headers, ids};
use super::trust::{Servers, Trust, judge};
use super::words::{decode_charset, decode_words, encode, file_name, parameter};
use super::{QUOTE_CHARS, QUOTED_LINE_BYTES};

fn decoded(encoding: Encoding, pieces: &[&[u8]]) -> Vec<u8> {
    let mut decoder = Decoder::new(encoding);
    let mut out = Vec::new();
    pieces
        .iter()
        .for_each(|piece| decoder.push(piece, &mut out));
    decoder.finish(&mut out);
    out
}

#[test]
fn fields_are_unfolded_and_found_in_any_case() {
    let headers = Headers::parse(
        b"Received: a\r\nSUBJECT: one\r\n two\r\n\tthree\r\nfrom : x@y\r\nnot a field\r\n\r\nTo: body\r\n",
    );
    assert_eq!(headers.first("subject"), Some("one two\tthree"));
    assert_eq!(
        headers.first("from"),
        Some("x@y"),
        "the old form counts, too"
    );
    assert_eq!(headers.first("to"), None, "the body is not looked at");
    let twice = Headers::parse(b"From: a@x\nfrom: b@x\n");
    assert_eq!(twice.all("from").collect::<Vec<_>>(), ["a@x", "b@x"]);
}

#[test]
fn the_mails_before_it_end_with_the_one_that_it_answers() {
    let headers = Headers::parse(
        b"Message-ID: <c@x>\r\nIn-Reply-To: <b@x> (Ana's mail)\r\nReferences: <a@x>\r\n <b@x>\r\n <z@x>\r\n",
    );
    assert_eq!(headers.earlier(), ["<a@x>", "<z@x>", "<b@x>"]);
    assert_eq!(headers.id().as_deref(), Some("<c@x>"));
    let odd: Vec<String> = ids("<a b> <> <c\u{e9}@x> <ok@x").collect();
    assert_eq!(odd, Vec::<String>::new());
}

#[test]
fn encoded_words_are_decoded_and_joined() {
    for (value, expected) in [
        ("plain", "plain"),
        ("=?UTF-8?Q?Gr=C3=BC=C3=9Fe_aus?= Bern", "Grüße aus Bern"),
        ("=?utf-8?B?R3LDvMOfZQ==?=", "Grüße"),
        // The bytes of one character in two words.
        ("=?utf-8?B?R3LD?=\r\n =?utf-8?B?vMOfZQ==?=", "Grüße"),
        ("=?iso-8859-1?Q?caf=E9?=  =?utf-8?Q?_noir?=", "café noir"),
        ("a =?utf-8?Q?b?= c", "a b c"),
        ("=?utf-8*de?Q?b?=", "b"),
        ("=?gb2312?B?xOO6ww==?= x", "你好 x"),
        ("=?hz-gb-2312?B?xOO6ww==?= x", "你好 x"),
        ("=?broken", "=?broken"),
        ("=?utf-8?X?abc?=", "=?utf-8?X?abc?="),
        ("2 =? 3", "2 =? 3"),
        ("[SPAM]=?utf-8?B?VGhpcw==?=", "[SPAM]This"),
        ("Some =?utf-8?Q??=", "Some "),
        ("=?utf-8?q? =C3=BC_Test?=", " ü Test"),
        ("=?cp-850?Q?gr=81n?=", "grün"),
        ("=?unicode-1-1-utf-7?Q?caf+AOk-?=", "café"),
        ("=?iso-8859-2?Q?Dzie=C5=84?=", "Dzień"),
    ] {
        assert_eq!(decode_words(value), expected, "{value}");
    }
}

#[test]
fn a_subject_of_ours_is_read_again_as_it_was() {
    for text in [
        "Re: hello",
        "Re: Grüße aus 苏黎世 und noch viel mehr, was nicht in ein Wort passt 🦀🦀🦀",
        "=?x?=",
    ] {
        let encoded = encode(text);
        assert!(encoded.is_ascii());
        assert!(
            encoded
                .split("\r\n")
                .all(|line| line.len() <= QUOTED_LINE_BYTES),
            "{encoded}"
        );
        assert_eq!(decode_words(&encoded.replace("\r\n", "")), text);
    }
    let long = format!("Re: {}", "plans for the garden, ".repeat(9));
    let encoded = encode(long.trim());
    assert!(
        encoded.starts_with("Re: plans for") && encoded.lines().count() > 2,
        "{encoded}"
    );
    assert!(
        encoded.lines().all(|line| line.len() <= QUOTED_LINE_BYTES),
        "{encoded}"
    );
}

#[test]
fn a_parameter_is_found_in_each_of_its_forms() {
    let list = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    for (pairs, expected) in [
        (list(&[("filename", "a.txt")]), Some("a.txt")),
        (
            list(&[("filename", "=?utf-8?Q?=C3=BC.txt?=")]),
            Some("ü.txt"),
        ),
        (
            list(&[("filename", "x"), ("filename*", "UTF-8''%C3%BC.txt")]),
            Some("ü.txt"),
        ),
        (
            list(&[("filename*1*", "%BC.txt"), ("filename*0*", "utf-8'de'%C3")]),
            Some("ü.txt"),
        ),
        (
            list(&[("filename*0", "long"), ("filename*1", "er.txt")]),
            Some("longer.txt"),
        ),
        (list(&[("name", "x")]), None),
        // A set that is not known, pieces with a set each, and those that begin with one.
        (
            list(&[("filename*", "x-mystery''caf%E9.txt")]),
            Some("café.txt"),
        ),
        (
            list(&[
                ("filename*0*", "iso-8859-1''caf%E9%20"),
                ("filename*1*", "utf-8''%C3%BC"),
                ("filename*2", ".txt"),
            ]),
            Some("café ü.txt"),
        ),
        (
            list(&[("filename*1", "long"), ("filename*2", "er.txt")]),
            Some("longer.txt"),
        ),
        (
            list(&[
                ("filename*0*", "ISO-2022-JP''%1B%24B%24%22%24"),
                ("filename*1*", "%24%1B%28B.png"),
            ]),
            Some("あい.png"),
        ),
        (
            list(&[
                ("filename*0", "=?UTF-8?Q?a_=F0=9F"),
                ("filename*1", "=98=81.docx?="),
            ]),
            Some("a 😁.docx"),
        ),
        (list(&[("filename*", "plain's.txt")]), Some("plain's.txt")),
    ] {
        assert_eq!(
            parameter(&pairs, "filename").as_deref(),
            expected,
            "{pairs:?}"
        );
    }
    assert_eq!(file_name("a.txt"), ";\r\n filename=\"a.txt\"");
    let both = file_name("ü\".txt");
    assert!(
        both.contains("filename=\"__.txt\"") && both.contains("filename*=UTF-8''%C3%BC%22.txt"),
        "{both}"
    );
}

#[test]
fn character_sets_are_read_or_said_to_be_unknown() {
    assert_eq!(decode_charset("", "ü".as_bytes()).as_deref(), Some("ü"));
    assert_eq!(
        decode_charset("us-ascii", "ü".as_bytes()).as_deref(),
        Some("ü")
    );
    assert_eq!(decode_charset("iso-8859-15", b"\xa4").as_deref(), Some("€"));
    assert_eq!(decode_charset("", b"caf\xe9").as_deref(), Some("café"));
    assert_eq!(
        decode_charset("gb18030", b"\xc4\xe3").as_deref(),
        Some("你")
    );
    for (name, bytes, text) in [
        ("hz-gb-2312", &b"a ~~ ~{Dc:C~} b"[..], "a ~ 你好 b"),
        (
            "unicode-1-1-utf-7",
            b"Gr+APwA3w-e 1 +- 2, +2D3eAA-",
            "Grüße 1 + 2, 😀",
        ),
        ("utf-7", b"caf+AOk", "café"),
        ("iso-2022-kr", b"\x1b$)C\x0e>H3g\x0f ok", "안녕 ok"),
        ("iso-2022-cn", b"\x1b$)A\x0eDc:C\x0f.", "你好."),
        ("utf-8", b"caf\xe9, na\xefve", "café, naïve"),
        ("utf-8", b"gr\xc3\xbc\xc3", "grü\u{fffd}"),
        ("iso-2022-jp", "日本".as_bytes(), "日本"),
        ("iso-8859-2", "Dzień dobry".as_bytes(), "Dzień dobry"),
        ("windows-1250", "Žluťoučký kůň".as_bytes(), "Žluťoučký kůň"),
        ("windows-1251", b"\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"),
        ("windows-1251", b"\xd0\xa8", "РЁ"),
        ("ansi", b"plain", "plain"),
        ("cp-850", b"gr\x81n", "grün"),
        ("\"", b"caf\xc3\xa9", "café"),
    ] {
        assert_eq!(decode_charset(name, bytes).as_deref(), Some(text), "{name}");
    }
    assert_eq!(decode_charset("x-unknown", b"\xc4\xe3"), None);
    assert_eq!(
        decode_charset("hz-gb-2312", b"ascii").as_deref(),
        Some("ascii")
    );
}

#[test]
fn encodings_are_read_as_broken_programs_write_them() {
    for (name, encoded, text) in [
        ("quoted-printable", "a =  \t\r\nb=\nc= d=", "a bc= d="),
        ("Quoted-Printable;", "=c3=BC", "ü"),
        ("\"base64\"", "w7w=", "ü"),
        ("base-64", "w7\r\n w", "ü"),
        ("x-mystery", "ü", "ü"),
    ] {
        let bytes = decoded(Encoding::named(name), &[encoded.as_bytes()]);
        assert_eq!(String::from_utf8_lossy(&bytes), text, "{name}");
    }
}

#[test]
fn files_within_a_text_are_taken_out() {
    let text = "Look:\nbegin 644 cat.txt\n#0V%T\n`\nend\nbye\nbegin 600 it now\n";
    assert_eq!(
        without_uuencoded(text),
        "Look:\n[File cat.txt]\nCat\nbye\nbegin 600 it now\n"
    );
    let binary = "begin 755 a.bin\n#_P#^\nnot of it\n";
    let read = without_uuencoded(binary);
    assert!(
        read.starts_with("[File a.bin with 3 bytes") && read.ends_with("\nnot of it\n"),
        "{read}"
    );
}

#[test]
fn encodings_are_decoded_wherever_they_are_cut() {
    let text = b"a=C3=BC=\r\nb=3D=zz =\n.=";
    for at in 0..text.len() {
        let (left, right) = text.split_at(at);
        let found = decoded(Encoding::Quoted, &[left, right]);
        assert_eq!(String::from_utf8_lossy(&found), "aüb==zz .=", "{at}");
    }
    let text = b"aGVs\r\nbG8=";
    for at in 0..text.len() {
        let (left, right) = text.split_at(at);
        assert_eq!(decoded(Encoding::Base64, &[left, right]), b"hello", "{at}");
    }
}

#[test]
fn encoded_words_are_read_as_broken_programs_write_them() {
    for (value, expected) in [
        ("=?utf-8?Q?hello world?=", "hello world"),
        ("=?utf-8?B?w7 w=?=", "ü"),
        ("=?utf-8?b?w7w?=", "ü"),
        ("=?UTF-8?B?w7w=w7w=?=", "üü"),
        ("=?utf-8?q?=c3=BC_x?=", "ü x"),
        ("=?utf-8?B?w6?= =?UTF8?B?nA==?=", "Ü"),
        ("=?utf-8?Q?=C3?=\t =?utf-8?Q?=BC?=", "ü"),
        ("=?utf-8?Q?=C3?==?utf-8?B?vA==?=", "ü"),
        ("=?x-unknown?Q?=C3=BC?=", "ü"),
        ("=?x-unknown?Q?caf=E9?=", "café"),
        ("=??Q?=C3=BC?=", "ü"),
        ("=?\"utf-8\"?Q?=C3=BC?=", "ü"),
        ("=? utf-8 ? Q ?=C3=BC?=", "ü"),
        ("=?utf-8*de?Q?=C3=BC?=", "ü"),
        ("=?us-ascii?Q?=C3=BC?=", "ü"),
        ("=?utf-8?Q?really?=3F=C3=BC?= x", "really??ü x"),
        ("=?utf-8?Q?really?_yes?=", "really? yes"),
        ("=?utf-8?Q?a?=DE =?utf-8?Q?b?=", "aDE b"),
        ("=?utf-8?Q?=ZZ=?=", "=ZZ="),
        ("a=?utf-8?Q?b?=c", "abc"),
        ("=?utf-8?X?b?= =?utf-8?Q?b", "=?utf-8?X?b?= =?utf-8?Q?b"),
        (
            "=?iso-2022-jp?B?GyRCRnwbKEI=?= =?iso-2022-jp?B?GyRCS1wbKEI=?=",
            "日本",
        ),
        ("=?utf-8?Q??= =?utf-8?Q?b?=", "b"),
    ] {
        assert_eq!(decode_words(value), expected, "{value}");
    }
    let raw = Headers::parse(b"Subject: caf\xe9\r\nFrom: an\xc3\xa4@x.org\r\n\r\n");
    assert_eq!(
        (raw.first("subject"), raw.first("from")),
        (Some("café"), Some("anä@x.org"))
    );
}

fn trust(fields: &[&str], named: &str, host: &str, from: &str) -> Trust {
    let text: String = fields
        .iter()
        .map(|field| format!("Authentication-Results: {field}\r\n"))
        .collect();
    judge(
        &Headers::parse(text.as_bytes()),
        &Servers::new(named, host),
        from,
    )
}

#[test]
fn the_word_of_the_receiving_server_counts() {
    let gmail = "mx.google.com;\r\n dkim=pass header.i=@example.org header.s=x header.b=AbC;\r\n \
                 spf=pass (google.com: domain of ana@example.org designates 1.2.3.4 as permitted) \
                 smtp.mailfrom=ana@example.org;\r\n dmarc=pass (p=NONE sp=NONE dis=NONE) header.from=example.org";
    let from = "ana@example.org";
    assert_eq!(
        trust(&[gmail], "", "imap.gmail.com", from),
        Trust::Confirmed
    );
    assert_eq!(
        trust(&[gmail], "mx.google.com", "imap.x.org", from),
        Trust::Confirmed
    );
    let said = Trust::Unknown(Some("mx.google.com".to_owned()));
    assert_eq!(trust(&[gmail], "", "imap.example.net", from), said);
    assert_eq!(
        trust(&[gmail], "other.example", "imap.gmail.com", from),
        said
    );
    assert_eq!(trust(&[], "", "imap.gmail.com", from), Trust::Unknown(None));
    // The sender's own, below that of the server.
    let denied = "mx.google.com; spf=fail smtp.mailfrom=ana@example.org; dkim=none";
    assert_eq!(
        trust(&[denied, gmail], "", "imap.gmail.com", from),
        Trust::Denied
    );
    assert_eq!(
        trust(&["x.example; none", gmail], "", "imap.gmail.com", from),
        Trust::Confirmed
    );
}

#[test]
fn the_server_is_found_by_the_domain_of_the_mailbox() {
    let is_known = |server: &str, host: &str| {
        let field = format!("{server}; dmarc=pass header.from=example.org");
        trust(&[&field], "", host, "ana@example.org") == Trust::Confirmed
    };
    assert!(is_known("mail.home.example", "imap.home.example"));
    assert!(is_known("home.example", "imap.home.example"));
    assert!(is_known("MX6.messagingengine.com", "imap.fastmail.com"));
    assert!(is_known("localhost", "localhost"));
    assert!(!is_known("evilhome.example", "imap.home.example"));
    assert!(!is_known("example", "home.example"));
    assert!(
        !is_known("mx.example", "home.example"),
        "a top-level domain is everybody's"
    );
}

#[test]
fn what_is_confirmed_has_to_be_the_senders_domain() {
    let confirms = |methods: &str, from: &str| {
        let field = format!("mx.example; {methods}");
        trust(&[&field], "mx.example", "", &format!("ana@{from}")) == Trust::Confirmed
    };
    for (methods, from) in [
        ("dkim=pass header.d=example.org", "example.org"),
        ("dkim = pass header.d = \"Example.org\"", "example.org"),
        (
            "DKIM/1=PASS (good; really) header.d=example.org",
            "example.org",
        ),
        (
            "dkim=fail header.d=example.org; dkim=pass header.d=example.org",
            "example.org",
        ),
        ("dkim=pass header.d=example.org", "mail.example.org"),
        ("spf=pass smtp.mailfrom=bounce@example.org", "example.org"),
        ("spf=pass smtp.mailfrom=example.org", "example.org"),
        ("dmarc=pass header.from=example.org", "example.org"),
        // Some servers name the domain that has the record.
        ("dmarc=pass header.from=example.org", "mail.example.org"),
    ] {
        assert!(confirms(methods, from), "{methods}");
    }
    for (methods, from) in [
        ("none", "example.org"),
        ("dkim=pass", "example.org"),
        ("dkim=pass header.d=evil.example", "example.org"),
        ("dkim=pass header.d=org", "example.org"),
        ("dkim=pass header.d=mail.example.org", "example.org"),
        ("dkim=pass header.d=evilexample.org", "example.org"),
        ("dkim=pass header.d=example.org", "evilexample.org"),
        (
            "dkim=pass header.d=example.org header.d=evil.example",
            "example.org",
        ),
        (
            "dkim=neutral reason=\"dkim=pass header.d=example.org\"",
            "example.org",
        ),
        ("dkim=fail (dkim=pass header.d=example.org)", "example.org"),
        ("spf=softfail smtp.mailfrom=a@example.org", "example.org"),
        ("spf=pass smtp.helo=example.org", "example.org"),
        (
            "spf=pass smtp.mailfrom=\"x; dkim=pass header.d=example.org\"",
            "example.org",
        ),
        ("dmarc=pass header.from=evil.example", "example.org"),
        (
            "arc=pass header.d=example.org; x-dkim=pass header.d=example.org",
            "example.org",
        ),
    ] {
        assert!(!confirms(methods, from), "{methods}");
    }
}

#[test]
fn signatures_and_quotations_are_cut_off() {
    let cases = [
        ("just this\n", "just this"),
        ("hello\n-- \nAna\nBern\n", "hello"),
        (
            "1\n\nOn Mon, 23 Nov 2026 at 10:00, Bot <bot@example.org> wrote:\n> Run this?\n> 1 yes\n",
            "1",
        ),
        (
            "1\n\nOn Mon, 23 Nov 2026 at 10:00, Bot\n<bot@example.org>\nwrote:\n\n> Run this?\n",
            "1",
        ),
        (
            "ja\n\nAm 23.11.2026 um 10:00 schrieb Bot <bot@example.org>:\n> x\n\n-- \nAna\n",
            "ja",
        ),
        (
            "好的\n\n在 2026年11月23日，Bot <bot@example.org> 写道：\n\n> 运行？\n",
            "好的",
        ),
        (
            "yes\n\n-----Original Message-----\nFrom: Bot\nSent: Monday\n\nRun?\n",
            "yes",
        ),
        (
            "yes\n\n________________________________\nFrom: Bot <bot@x>\nSent: Monday\nTo: Ana\n\nRun?\n",
            "yes",
        ),
        (
            "好\n\n------------------ 原始邮件 ------------------\n发件人: Bot\n",
            "好",
        ),
        // What is answered in between is kept.
        (
            "> first?\nyes\n> second?\nno\n",
            "> first?\nyes\n> second?\nno",
        ),
        ("see below:\n\n> the text in question\n", "see below:"),
        (
            "note: 5 apples\n\n1. one\n2. two\n",
            "note: 5 apples\n\n1. one\n2. two",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(split(text, false).text, expected, "{text}");
        assert_eq!(
            split(&text.replace('\n', "\r\n"), false).text,
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_short_quotation_is_kept_apart_and_a_long_one_is_not() {
    let short = split("and this?\n\n> it rained\n> all day\n", false);
    assert_eq!(short.quote, "> it rained\n> all day");
    let long = format!("and this?\n\n> {}\n", "x".repeat(QUOTE_CHARS));
    assert_eq!(split(&long, false).quote, "");
    let all = split("> only this\n", false);
    assert_eq!((all.text.as_str(), all.quote.as_str()), ("> only this", ""));
    let forwarded = "look\n\n-----Original Message-----\nFrom: Eve\nSent: x\n\nwin!\n";
    assert!(split(forwarded, true).text.ends_with("win!"));
}

#[test]
fn lines_that_were_broken_at_spaces_are_joined() {
    assert_eq!(
        unflow("/sh tar cf a.tar \nb c\nnext\n", false),
        "/sh tar cf a.tar b c\nnext\n"
    );
    assert_eq!(unflow("漢 \n字\n", true), "漢字\n");
    assert_eq!(unflow("a\n-- \nAna\n", false), "a\n-- \nAna\n");
    assert_eq!(unflow(" >not quoted\n", false), ">not quoted\n");
}

#[test]
fn a_mail_of_html_is_read_as_text() {
    let html = "<html><head><style>p{}</style></head><body><div>Hello <b>you</b>,<br>see \
                <a href=\"https://example.org/\">this</a>.</div><blockquote>On Monday</blockquote></body></html>";
    let text = of_html(html, 1000);
    assert!(
        text.starts_with("Hello you,\nsee [this](https://example.org/)."),
        "{text}"
    );
    assert!(text.contains("> On Monday"), "{text}");
}

#[test]
fn a_full_stop_at_the_beginning_of_a_line_counts_as_it_is_written() {
    for before in 60..90 {
        let written = quoted(&format!("{}.{}", "x".repeat(before), "ä".repeat(20)));
        let longest = written.split("\r\n").map(str::len).max();
        assert!(longest <= Some(QUOTED_LINE_BYTES), "{before}: {written}");
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_to_the_same(text in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let text = text.replace('\r', "");
        let written = quoted(&text);
        prop_assert!(written.is_ascii());
        for line in written.split("\r\n") {
            prop_assert!(line.len() <= QUOTED_LINE_BYTES && !line.starts_with('.') && !line.ends_with([' ', '\t']));
        }
        let read = decoded(Encoding::Quoted, &[written.as_bytes()]);
        prop_assert_eq!(String::from_utf8(read).unwrap().replace("\r\n", "\n"), text);
        let lines = base64_lines(&bytes);
        prop_assert_eq!(decoded(Encoding::Base64, &[lines.as_bytes()]), bytes);
    }

    #[test]
    fn anything_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), text in any::<String>()) {
        let headers = Headers::parse(&bytes);
        headers.earlier();
        for encoding in [Encoding::Plain, Encoding::Base64, Encoding::Quoted] {
            decoded(encoding, &[&bytes]);
        }
        decode_words(&text);
        split(&text, false);
        unflow(&text, true);
        if let Some(mailbox) = mailbox(&text) {
            let again = super::address::address(&mailbox.address);
            prop_assert_eq!(again, Some(mailbox.address.clone()));
            prop_assert!(super::address::domain(&mailbox.address).is_ascii());
        }
    }

    #[test]
    fn a_word_of_ours_is_read_again(text in any::<String>()) {
        let text = text.replace(char::is_control, "");
        prop_assert_eq!(decode_words(&encode(&text).replace("\r\n", "")), text);
    }

    #[test]
    fn texts_of_mails_never_grow(lines in prop::collection::vec("(> |On |-- |From: |)[a-z:@ ]{0,8}", 0..12)) {
        let text = lines.join("\n");
        let body = split(&text, false);
        prop_assert!(body.text.len() <= text.len());
    }
}
