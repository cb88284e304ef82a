//! Whose word a mail is when it may have been sent on, with other fields.

use super::*;

/// What the receiving server says of a mail that someone else has sent on.
const SENT_ON: &str = "Authentication-Results: mx.home.test; dkim=pass header.d=victim.test header.b=abcdefgh; \
                       spf=pass smtp.mailfrom=evil.test; dmarc=pass header.from=victim.test\r\n";
/// What it says of one that comes from the sender's own server.
const DIRECT: &str = "Authentication-Results: mx.home.test; spf=pass smtp.mailfrom=ana@victim.test; dkim=pass \
                      header.d=victim.test\r\n";
const NAMES: &str = "from:to:subject:date:message-id:content-type";
const HEAD: &str = "From: ana@victim.test\r\nTo: Bot <bot@home.test>\r\nSubject: x\r\nDate: Mon, 30 Nov 2026 12:00:00 \
                    +0000\r\nMessage-ID: <a@victim.test>\r\nContent-Type: text/plain\r\n";

fn signed(names: &str) -> String {
    format!("DKIM-Signature: v=1; d=victim.test; h={names}; bh=x;\r\n b=abcdefghijk\r\n")
}

fn of(head: &str) -> Word {
    let servers = Servers::new("mx.home.test", "");
    let expected = Expected {
        own: &["bot@home.test".to_owned()],
        servers: Some(&servers),
        now: DateTime::parse_from_rfc3339("2026-12-01T12:00:00Z").ok(),
    };
    word(
        &Headers::parse(head.as_bytes()),
        "ana@victim.test",
        &expected,
    )
}

fn doubt(head: &str) -> Option<Doubt> {
    of(head).doubt
}

#[test]
fn a_signature_that_leaves_out_a_field_does_not_vouch_for_a_mail_that_was_sent_on() {
    let sent_on = |names: &str| format!("{SENT_ON}{}{HEAD}", signed(names));
    assert_eq!(doubt(&sent_on(NAMES)), None);
    assert_eq!(
        doubt(&sent_on(
            " From : TO:Subject:\r\n\tDate:Message-ID:Content-Type:x"
        )),
        None
    );
    for left_out in NAMES.split(':') {
        let names: Vec<&str> = NAMES.split(':').filter(|name| *name != left_out).collect();
        let names = names.join(":");
        assert_eq!(doubt(&sent_on(&names)), Some(Doubt::Unsigned), "{left_out}");
        // The sender's own server may sign what it likes.
        assert_eq!(doubt(&format!("{DIRECT}{}{HEAD}", signed(&names))), None);
    }
    for more in [
        "Cc: bot@home.test\r\n",
        "Content-Transfer-Encoding: base64\r\n",
    ] {
        assert_eq!(
            doubt(&(sent_on(NAMES) + more)),
            Some(Doubt::Unsigned),
            "{more}"
        );
    }
    let part = sent_on(NAMES).replace("; bh", "; l=20; bh");
    assert_eq!(
        doubt(&part),
        Some(Doubt::Unsigned),
        "only a part of the text is signed"
    );
    let none = format!("{SENT_ON}{HEAD}");
    assert_eq!(
        doubt(&none),
        Some(Doubt::Unsigned),
        "the signature is missing"
    );
    let head = HEAD.replace("Message-ID: <a@victim.test>\r\n", "");
    let without = format!(
        "{SENT_ON}{}{head}",
        signed("from:to:subject:date:content-type")
    );
    assert_eq!(
        doubt(&without),
        Some(Doubt::Unsigned),
        "anyone can add an id"
    );
}

#[test]
fn a_signature_of_someone_else_s_making_vouches_for_nothing() {
    let short = signed("from:to");
    for other in [
        signed(NAMES),
        signed(NAMES).replace("victim.test", "evil.test"),
        signed(NAMES).replace("b=abcdefghijk", "b=ABCDEFGH"),
    ] {
        for head in [format!("{other}{short}"), format!("{short}{other}")] {
            let head = format!("{SENT_ON}{head}{HEAD}");
            assert_eq!(doubt(&head), Some(Doubt::Unsigned), "{head}");
        }
    }
    // Where the server names the signature, another one with less does not matter.
    let less = short.replace("b=abcdefghijk", "b=ABCDEFGH");
    assert_eq!(
        doubt(&format!("{SENT_ON}{less}{}{HEAD}", signed(NAMES))),
        None
    );
    let dmarc = "Authentication-Results: mx.home.test; dmarc=pass header.from=victim.test\r\n";
    assert_eq!(doubt(&format!("{dmarc}{}{HEAD}", signed(NAMES))), None);
    let head = format!("{dmarc}{less}{}{HEAD}", signed(NAMES));
    assert_eq!(doubt(&head), Some(Doubt::Unsigned), "either may be valid");
}

#[test]
fn a_signature_of_a_subdomain_counts_beside_others_and_spf_is_that_of_the_same_mailbox() {
    let below = |names: &str| signed(names).replace("d=victim.test", "d=mail.victim.test");
    let noted = SENT_ON.replace("header.d=victim.test", "header.d=mail.victim.test");
    assert_eq!(doubt(&format!("{noted}{}{HEAD}", below(NAMES))), None);
    // The other one is of someone else's making, and not valid.
    let head = format!("{noted}{}{}{HEAD}", below("from:to:date"), signed(NAMES));
    assert_eq!(doubt(&head), Some(Doubt::Unsigned));
    let from = |sender: &str| format!("{}{HEAD}", DIRECT.replace("ana@victim.test", sender));
    for sender in [
        "ana@victim.test",
        "victim.test",
        "Ana+crab@victim.test",
        "prvs=1a2b=ana@victim.test",
    ] {
        assert_eq!(doubt(&from(sender)), None, "{sender}");
    }
    // A provider that forwards the mails of another customer under an address of theirs.
    let forwarded = from("eve+caf_=bot=home.test@victim.test");
    assert_eq!(doubt(&forwarded), Some(Doubt::Unsigned));
}

#[test]
fn spf_counts_only_in_what_our_servers_have_written() {
    let dkim = "Authentication-Results: mx.home.test; dkim=pass header.d=victim.test\r\n";
    let spf = "Authentication-Results: mx.home.test; spf=pass smtp.mailfrom=ana@victim.test\r\n";
    let received = "Received: from evil.test by mx.home.test with ESMTPS id x\r\n";
    let inner = "Received: from mx.home.test by mx.home.test with LMTP id y\r\n";
    let posed = "Received: from x with LMTP by mx.home.test with ESMTPS id x\r\n";
    for (head, expected) in [
        (format!("{dkim}{spf}{received}"), None),
        (format!("{dkim}{received}{spf}"), Some(Doubt::Unsigned)),
        (format!("{dkim}{spf}"), Some(Doubt::Unsigned)),
        (format!("{received}{dkim}{spf}"), Some(Doubt::Unsigned)),
        (format!("{inner}{dkim}{spf}{received}"), None),
        (
            format!("{inner}{dkim}{received}{spf}"),
            Some(Doubt::Unsigned),
        ),
        (
            format!("{posed}{dkim}{spf}{received}"),
            Some(Doubt::Unsigned),
        ),
    ] {
        assert_eq!(doubt(&format!("{head}{HEAD}")), expected, "{head}");
    }
}

#[test]
fn each_check_of_icloud_counts_in_its_own_field() {
    let servers = Servers::new("", "imap.mail.me.com");
    let expected = Expected {
        own: &["bot@home.test".to_owned()],
        servers: Some(&servers),
        now: None,
    };
    let of = |spf: &str| {
        let dmarc = "Received: by a with ESMTP\r\nAuthentication-Results: dmarc.icloud.com; dmarc=pass \
                     header.from=victim.test\r\n";
        let head = format!("{dmarc}Authentication-Results: {spf}\r\n{HEAD}");
        word(
            &Headers::parse(head.as_bytes()),
            "ana@victim.test",
            &expected,
        )
        .doubt
    };
    let pass = "spf=pass smtp.mailfrom=ana@victim.test";
    assert_eq!(of(&format!("spf.icloud.com; {pass}")), None);
    assert_eq!(of(&format!("spf.evil.test; {pass}")), Some(Doubt::Unsigned));
    let none =
        format!("spf.icloud.com; spf=none\r\nAuthentication-Results: spf.icloud.com; {pass}");
    assert_eq!(of(&none), Some(Doubt::Unsigned), "only the topmost counts");
}

#[test]
fn a_mail_has_to_be_addressed_to_us() {
    let to = |to: &str| {
        let head = HEAD.replace("To: Bot <bot@home.test>", to);
        doubt(&format!("{DIRECT}{head}"))
    };
    for ours in [
        "To: BOT@home.test",
        "To: Eve <eve@evil.test>, \"B, o\" <bot+x@home.test>",
        "To: eve@evil.test\r\nCc: us: bot@home.test;",
    ] {
        assert_eq!(to(ours), None, "{ours}");
    }
    for others in [
        "To: Eve <eve@evil.test>",
        "To: \"bot@home.test\" <eve@evil.test>",
        "To: eve@evil.test (bot@home.test)",
        "To: undisclosed-recipients:;",
        "X: x",
        "To: eve@evil.test\r\nDelivered-To: eve@evil.test",
    ] {
        assert_eq!(to(others), Some(Doubt::Elsewhere), "{others}");
    }
    let alias = HEAD.replace("bot@home.test", "robot@home.test");
    let delivered = "Delivered-To: <robot@home.test>\r\n";
    assert_eq!(doubt(&format!("{delivered}{DIRECT}{alias}")), None);
    assert_eq!(
        doubt(&format!("{DIRECT}{delivered}{alias}")),
        Some(Doubt::Elsewhere)
    );
}

#[test]
fn a_field_that_is_there_twice_or_that_was_not_read_leaves_a_mail_unclear() {
    let whole = format!("{DIRECT}{HEAD}");
    for field in SIGNED.into_iter().chain(ANSWERS).chain(VERSION) {
        let head = format!("{whole}In-Reply-To: <b@x>\r\nReferences: <b@x>\r\n{field}: x\r\n");
        let is_new = matches!(field, "cc" | "content-transfer-encoding" | "mime-version");
        assert_eq!(doubt(&head).is_none(), is_new, "{field}");
        let twice = format!("{head}{field} : x\r\n");
        assert_eq!(doubt(&twice), Some(Doubt::Unclear), "{field}");
    }
    let many = "X: x\r\n".repeat(1000);
    assert_eq!(doubt(&format!("{whole}{many}{HEAD}")), Some(Doubt::Unclear));
    let long = format!("X: {}\r\n", "x".repeat(70_000));
    assert_eq!(doubt(&format!("{whole}{long}")), Some(Doubt::Unclear));
}

#[test]
fn a_mail_is_of_these_days() {
    for (date, is_right) in [
        ("Mon, 30 Nov 2026 12:00:00 +0000", true),
        ("24 Nov 2026 12:01 GMT", true),
        ("Wed, 2 Dec 2026 11:00:00 +0000 (UTC)", true),
        ("Tue, 24 Nov 2026 11:00:00 +0000", false),
        ("Wed, 2 Dec 2026 13:00:00 +0000", false),
        ("yesterday", false),
        ("", false),
    ] {
        let head = HEAD.replace("Mon, 30 Nov 2026 12:00:00 +0000", date);
        let expected = (!is_right).then_some(Doubt::Dated);
        assert_eq!(doubt(&format!("{DIRECT}{head}")), expected, "{date}");
    }
    // A board that does not know the time yet cannot tell.
    let old = HEAD.replace("2026", "2020");
    let expected = Expected {
        own: &["bot@home.test".to_owned()],
        servers: None,
        now: None,
    };
    let headers = Headers::parse(old.as_bytes());
    assert_eq!(word(&headers, "ana@victim.test", &expected).doubt, None);
}

#[test]
fn which_mail_is_answered_has_to_be_vouched_for() {
    let answer = "In-Reply-To: <b@x>\r\nReferences: <b@x>\r\n";
    let sent_on = |names: &str| of(&format!("{SENT_ON}{}{HEAD}{answer}", signed(names)));
    let with = format!("{NAMES}:in-reply-to:references");
    for (word, is_vouched) in [
        (sent_on(&with), true),
        (sent_on(NAMES), false),
        (of(&format!("{DIRECT}{HEAD}{answer}")), true),
    ] {
        assert_eq!((word.doubt, word.is_answer_vouched), (None, is_vouched));
    }
}
