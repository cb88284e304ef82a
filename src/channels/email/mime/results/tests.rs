//! How the field is read, and that what a sender can put into it, above it or below it confirms no one.

use proptest::prelude::*;

use super::super::headers::Headers;
use super::super::trust::{Servers, Trust, judge};
use super::*;

fn trust(fields: &[&str], from: &str) -> Trust {
    let mut text = String::new();
    for field in fields {
        text += &format!("Authentication-Results: {field}\r\n");
    }
    let servers = Servers::new("mx.home.test", "");
    judge(&Headers::parse(text.as_bytes()), &servers, from)
}

fn is_confirmed(field: &str) -> bool {
    trust(&[field], "ana@victim.test") == Trust::Confirmed
}

/// What only the sender of a forged mail writes.
const FORGED: &str =
    "mx.home.test; dkim=pass header.d=victim.test; dmarc=pass header.from=victim.test";

#[test]
fn all_that_the_grammar_has_is_read() {
    let field = "\t(a (b \\) c) d) \"mx\\.home.test\" 1 (v);\r\n  Dkim (x) / 1 = (y) PASS reason = \"so \\\"it\\\" is; \
                 really\"\r\n\theader . d = \"Victim.test\" header.b=aB/+=; x-new=neutral odd.thing=\"(\" ; spf=none\r\n \
                 smtp.mailfrom=\"a; b\"@x.test";
    let headers = Headers::parse(format!("A: {field}\r\n").as_bytes());
    let results = Results::parse(headers.first("a").unwrap()).unwrap();
    assert_eq!(results.server, "mx.home.test");
    let read: Vec<String> = results
        .methods
        .iter()
        .map(|method| format!("{}={} {:?}", method.name, method.result, method.properties))
        .collect();
    assert_eq!(
        read,
        [
            "dkim=pass [(\"reason\", \"so \\\"it\\\" is; really\"), (\"header.d\", \"Victim.test\"), \
             (\"header.b\", \"aB/+=\")]",
            "x-new=neutral [(\"odd.thing\", \"(\")]",
            "spf=none [(\"smtp.mailfrom\", \"a; b@x.test\")]",
        ]
    );
    let none = Results::parse("mx.home.test 1 ; (really) none (at all)").unwrap();
    assert_eq!(none.methods, []);
}

#[test]
fn what_providers_write_is_read() {
    for field in [
        "mx.home.test; dkim=pass header.i=@victim.test header.s=20230601 header.b=\"Tq/5+2=\"; spf=pass (google.com: \
         domain of a@victim.test designates 1.2.3.4 as permitted sender) smtp.mailfrom=a@victim.test; dmarc=pass \
         (p=REJECT sp=REJECT dis=NONE) header.from=victim.test; dara=pass header.i=@gmail.com",
        "mx.home.test; bimi=skipped (DMARC Policy is not at enforcement); arc=none (no signatures found); dkim=pass \
         (2048-bit rsa key sha256) header.d=victim.test header.i=@victim.test header.b=3Wm/EHLd header.a=rsa-sha256 \
         header.s=s1 x-bits=2048; x-return-mx=pass header.domain=victim.test policy.is_org=yes (MX Records found: a,b); \
         dmarc=pass policy.published-domain-policy=none (p=none,d=none) header.from=victim.test; iprev=pass \
         smtp.remote-ip=2001:db8::1 (mail.victim.test); x-vs=clean score=-100 state=0",
        "mx.home.test; dkim=pass header.i=@victim.test; spf=fail smtp.mailfrom=; dmarc=pass(p=NONE) \
         header.from=victim.test;",
        "mx.home.test (amavisd-new); dkim=pass (1024-bit key) header.d=victim.test; spf=none smtp.mailfrom=<>",
        "mx.home.test; dmarc=none header.from=victim.test; spf=pass smtp.mailfrom=prvs=1=a@victim.test",
        "mx.home.test; spf=pass (spfCheck: domain of victim.test designates 1.2.3.4 as permitted sender) \
         client-ip=1.2.3.4; envelope-from=x@victim.test; helo=mail.victim.test; dkim=pass header.i=@victim.test; \
         dmarc=pass header.from=victim.test;",
        "mx.home.test; dkim=pass (signature verified) header.i=@victim.test; spf=Pass smtp.mailfrom=a@victim.test; \
         dmarc=pass (p=reject dis=none) d=victim.test",
        "mx.home.test; dkim=none; spf=pass (mx.home.test: domain of \"a b\"@victim.test designates 1.2.3.4 as permitted \
         sender) smtp.mailfrom=\"a b\"@victim.test; dmarc=pass header.from=<ana@victim.test>",
    ] {
        assert!(is_confirmed(field), "{field}");
    }
}

#[test]
fn a_field_of_our_server_that_cannot_be_read_refuses_the_mail() {
    for (ours, from) in [
        // In the place of the server's name, so it may be ours.
        ("", Trust::Unreadable),
        ("(", Trust::Unreadable),
        ("\"mx.home.test", Trust::Unreadable),
        ("mx.home.test (x", Trust::Unreadable),
        ("mx.home.test 1 (x; dkim=none", Trust::Unreadable),
        ("mx.home.test\"; dkim=none", Trust::Unreadable),
        ("\"\"; none", Trust::Unreadable),
        ("dkim=none", Trust::Unreadable),
        ("mx.home.test x; dkim=none", Trust::Unreadable),
        ("mx.other.test (x; dkim=none", Trust::Unreadable),
        // Behind our server's name.
        ("mx.home.test", Trust::Unreadable),
        ("mx.home.test;", Trust::Unreadable),
        ("mx.home.test 2; dkim=none", Trust::Unreadable),
        ("mx.home.test 99999999999; none", Trust::Unreadable),
        (
            "mx.home.test; none; dkim=pass header.d=victim.test",
            Trust::Unreadable,
        ),
        ("mx.home.test; spf=none smtp.mailfrom=(", Trust::Unreadable),
        ("mx.home.test; spf=none smtp.mailfrom=\"", Trust::Unreadable),
        (
            "mx.home.test; spf=none smtp.mailfrom=\"\\",
            Trust::Unreadable,
        ),
        ("mx.home.test; spf=none (\\", Trust::Unreadable),
        ("mx.home.test; spf=none (a (b)", Trust::Unreadable),
        ("mx.home.test; spf=none)", Trust::Unreadable),
        ("MX.Home.Test; dkim", Trust::Unreadable),
        ("mx.home.test; none", Trust::Denied),
        ("mx.home.test; dkim=none", Trust::Denied),
    ] {
        assert_eq!(trust(&[ours, FORGED], "ana@victim.test"), from, "{ours}");
        assert_eq!(
            trust(&["a.test; none", ours, FORGED], "ana@victim.test"),
            from,
            "{ours}"
        );
    }
    // Certainly another server's.
    for other in [
        "mx.other.test; spf=none (",
        "mx.other.test 2; x",
        "\"a b\"; none",
        "nothomе.test; none",
    ] {
        assert_eq!(
            trust(&[other, FORGED], "ana@victim.test"),
            Trust::Confirmed,
            "{other}"
        );
    }
}

#[test]
fn what_is_written_into_a_value_confirms_no_other_domain() {
    for methods in [
        "dkim=pass header.d=victim.test(.evil.test",
        "dkim=pass header.d=victim.test(a).evil.test",
        "dkim=pass header.d=victim.test (a) .evil.test",
        "dkim=pass header.d=victim.test\".evil.test\"",
        "dkim=pass header.d=\"victim.test\".evil.test",
        "dkim=pass header.d=\"victim.test\" @evil.test",
        "dkim=pass header.d=victim.test@evil.test",
        "dkim=pass header.d=victim.test,evil.test",
        "dkim=pass header.d=victim.test\\.evil.test",
        "dkim=pass header.d=victim.test/evil.test",
        "dkim=pass header.d=victim.test.",
        "dkim=pass header.d=.victim.test",
        "dkim=pass header.d=.test",
        "dkim=pass header.d=\"\"",
        "dkim=pass header.d=evil.test header.i=@victim.test",
        "dkim=pass header.d=victim.test header.i=@evil.test",
        "dkim=pass header.d=victim.test header.i=@evilvictim.test",
        "dkim=pass header.i=@victim.test header.i=@evil.test",
        "dkim=pass header.from=victim.test",
        "dkim=pass xheader.d=victim.test",
        "dkim=pass header.d.x=victim.test",
        "dkim=pass d=victim.test",
        "dkim=pass reason=\"header.d=victim.test\"",
        "dkim=pass reason=x; header.d=victim.test",
        "dkim=\"pass\" header.d=victim.test",
        "dkim=pass- header.d=victim.test",
        "dkim=passed header.d=victim.test",
        "dkim/2=pass header.d=victim.test",
        "dkim/x=pass header.d=victim.test",
        "dkim=neutral dkim=pass header.d=victim.test",
        "dkim-atps=pass header.d=victim.test",
        "spf=pass smtp.mailfrom=\"x@victim.test\"@evil.test",
        "spf=pass smtp.mailfrom=x@victim.test@evil.test",
        "spf=pass smtp.mailfrom=\"x\\\"@victim.test\"@evil.test",
        "spf=pass smtp.mailfrom=\"x; dkim=pass header.d=victim.test; y=\"@evil.test",
        "spf=pass (dkim=pass header.d=victim.test) smtp.mailfrom=evil.test",
        "spf=pass (\\) ; dkim=pass header.d=victim.test; x=(y) smtp.mailfrom=evil.test",
        "spf=pass smtp.mailfrom=vıctim.test",
        // What a server writes that copies the envelope's sender into a comment as it is.
        "spf=pass (domain of \"x) smtp.mailfrom=q; dkim=pass header.d=victim.test; y=z (@evil.test\" is permitted) \
         smtp.mailfrom=\"x) smtp.mailfrom=q; dkim=pass header.d=victim.test; y=z (@evil.test\"",
        "spf=pass (domain of \"x) smtp.mailfrom=q; dkim=pass header.d=victim.test; y=z (\"@evil.test is permitted) \
         smtp.mailfrom=\"x) smtp.mailfrom=q; dkim=pass header.d=victim.test; y=z (\"@evil.test",
        "spf=pass (domain of \\\"x) smtp.mailfrom=q; dkim=pass header.d=victim.test; y=z (\\\"@evil.test is permitted) \
         smtp.mailfrom=evil.test",
    ] {
        assert!(
            !is_confirmed(&format!("mx.home.test; {methods}")),
            "{methods}"
        );
    }
}

#[test]
fn dmarc_decides_where_it_came_to_a_result() {
    let others = "dkim=pass header.d=victim.test; spf=pass smtp.mailfrom=a@victim.test";
    for (dmarc, is_right) in [
        ("dmarc=pass header.from=victim.test", true),
        ("dmarc=pass header.from=Victim.TEST", true),
        ("dmarc=none header.from=victim.test", true),
        ("dmarc=unknown header.from=victim.test", true),
        ("dmarc=skipped", true),
        ("dmarc=pass d=evil.test", true),
        ("dmarc=pass header.from=<ana@victim.test>", true),
        ("dmarc=pass header.from=test", false),
        ("dmarc=fail header.from=victim.test", false),
        (
            "dmarc=fail (p=none dis=none) header.from=victim.test",
            false,
        ),
        ("dmarc=permerror header.from=victim.test", false),
        ("dmarc=temperror", false),
        ("dmarc/2=fail header.from=victim.test", false),
        ("dmarc/2=pass header.from=victim.test", false),
        ("dmarc=pass header.from=evil.test", false),
        ("dmarc=pass header.from=sub.victim.test", false),
        (
            "dmarc=pass header.from=victim.test header.from=evil.test",
            false,
        ),
        ("dmarc=pass header.from=victim.test; dmarc=fail", false),
        ("dmarc=fail; dmarc=pass header.from=victim.test", false),
    ] {
        for field in [
            format!("mx.home.test; {dmarc}; {others}"),
            format!("mx.home.test; {others}; {dmarc}"),
        ] {
            assert_eq!(is_confirmed(&field), is_right, "{field}");
        }
    }
}

#[test]
fn a_domain_that_passed_speaks_for_those_below_it() {
    let field = "mx.home.test; dmarc=pass header.from=victim.test";
    assert_eq!(trust(&[field], "ana@news.victim.test"), Trust::Confirmed);
    assert_eq!(trust(&[field], "ana@evilvictim.test"), Trust::Denied);
}

#[test]
fn names_are_compared_in_one_form() {
    for (domain, from, is_right) in [
        ("bücher.test", "ana@xn--bcher-kva.test", true),
        ("XN--Bcher-KVA.test", "ana@xn--bcher-kva.test", true),
        ("BÜCHER.TEST", "ana@mail.xn--bcher-kva.test", true),
        ("xn--bcher-kva.test", "ana@bucher.test", false),
        ("\u{200b}victim.test", "ana@victim.test", false),
        ("victim\u{3002}test", "ana@victim.test", true),
    ] {
        let field = format!("mx.home.test; dkim=pass header.d={domain}");
        assert_eq!(
            trust(&[&field], from) == Trust::Confirmed,
            is_right,
            "{domain}"
        );
    }
    let servers = Servers::new("Bücher.test", "");
    let field = "Authentication-Results: xn--bcher-kva.test; dkim=none\r\nAuthentication-Results: bücher.test; \
                 dkim=pass header.d=victim.test\r\n";
    let headers = Headers::parse(field.as_bytes());
    assert_eq!(judge(&headers, &servers, "ana@victim.test"), Trust::Denied);
}

/// White space and comments as RFC 5322 has them, of which each has at least one.
fn apart() -> impl Strategy<Value = String> {
    let comment = r#"\(([a-z;=@.]|"[a-z;=@.]*"|\\[()\\]|\([a-z;=]*\))*\)"#;
    proptest::collection::vec(
        prop_oneof![Just(" ".to_owned()), Just("\r\n\t".to_owned()), comment],
        1..4,
    )
    .prop_map(|parts| parts.concat())
}

/// A text in quotation marks, with what has a meaning elsewhere.
fn quoted() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        r#"\\["\\;(]"#,
        "[a-z ;()@=.]{0,6}",
        Just("; dkim=pass header.d=victim.test;".to_owned()),
        Just("@victim.test".to_owned()),
    ];
    proptest::collection::vec(part, 0..4).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

proptest! {
    /// What stands between the words of a field changes nothing, and is no word of it.
    #[test]
    fn white_space_and_comments_mean_nothing(
        gaps in proptest::collection::vec(apart(), 12),
        result in prop_oneof![Just("pass"), Just("fail")],
    ) {
        let words = ["mx.home.test", ";", "dkim", "/", "1", "=", result, "header", ".", "d", "=", "victim.test"];
        let field: String = words.iter().zip(&gaps).map(|(word, gap)| format!("{gap}{word}")).collect();
        prop_assert_eq!(is_confirmed(&field), result == "pass", "{}", field);
    }

    /// What the envelope's sender writes before the @ confirms only the domain behind it.
    #[test]
    fn a_local_part_confirms_nothing(local in quoted(), reason in quoted(), gap in apart()) {
        let field = format!("mx.home.test;spf=pass reason={reason}{gap}smtp.mailfrom={local}@evil.test");
        let headers = Headers::parse(format!("A: {field}\r\n").as_bytes());
        prop_assert!(Results::parse(headers.first("a").unwrap()).is_some(), "{}", field);
        prop_assert!(!is_confirmed(&field), "{}", field);
    }

    /// Whatever our server's field has in it, a field below it does not count.
    #[test]
    fn nothing_below_our_field_counts(tail in r#"[;=()"\\@. a-z\t]{0,40}"#) {
        let ours = format!("mx.home.test; dkim=none {tail}");
        let found = trust(&[&ours, FORGED], "ana@victim.test");
        prop_assert!(matches!(found, Trust::Denied | Trust::Unreadable), "{}", ours);
    }

    /// A field that cannot be read is refused, and no text stops the reader.
    #[test]
    fn any_text_is_read_whole_or_not_at_all(text in any::<String>(), head in prop_oneof![Just("mx.home.test; "), Just("")]) {
        let field = format!("{head}{text}");
        if Results::parse(&field).is_some() {
            prop_assert!(server(&field).is_some());
            prop_assert_eq!(Results::parse(&format!("{field} (")), None);
            prop_assert_eq!(Results::parse(&format!("{field} \"")), None);
        }
    }
}
