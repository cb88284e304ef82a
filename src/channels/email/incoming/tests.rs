//! Whose mails count, and what becomes of them.

use proptest::prelude::*;

use super::super::imap::structure::content;
use super::super::imap::value::Response;
use super::*;
use crate::channels::email::compose::message_id;
use crate::channels::email::mime::vouched::Doubt;

fn policy() -> Policy {
    Policy {
        own: vec!["bot@example.org".to_owned()],
        servers: Servers::Named("mx.example.org".to_owned()),
        is_strict: true,
    }
}

const GOOD: &str = "Authentication-Results: mx.example.org; dkim=pass header.d=example.net\r\n";

fn judged(fields: &str) -> Judgement {
    judge(&Headers::parse(fields.as_bytes()), &policy())
}

#[test]
fn a_mail_of_a_confirmed_person_is_from_them() {
    let judgement = judged(&format!("{GOOD}From: Ana <ana@example.net>\r\n"));
    let Judgement::From(ana) = judgement else {
        panic!("{judgement:?}")
    };
    assert_eq!(
        (ana.name.as_str(), ana.address.as_str()),
        ("Ana", "ana@example.net")
    );
    let no = judged(&format!(
        "{GOOD}From: ana@example.net\r\nAuto-Submitted: No\r\n"
    ));
    assert!(matches!(no, Judgement::From(_)));
}

#[test]
fn programs_are_never_answered() {
    for field in [
        "Auto-Submitted: auto-replied",
        "Auto-Submitted: auto-generated (rejected)",
        "Precedence: bulk",
        "Precedence: LIST",
        "Precedence: junk",
        "List-Id: <x.example.org>",
        "Return-Path: <>",
        "Content-Type: multipart/report; report-type=delivery-status",
        "X-Autoreply: yes",
        "X-Auto-Response-Suppress: All",
    ] {
        let fields = format!("{GOOD}From: ana@example.net\r\n{field}\r\n");
        assert!(
            matches!(judged(&fields), Judgement::Automatic(_)),
            "{field}"
        );
    }
    for from in [
        "MAILER-DAEMON@example.net",
        "postmaster@example.net",
        "noreply@example.net",
        "Bot@example.org",
    ] {
        let fields = format!("{GOOD}From: {from}\r\n");
        assert!(matches!(judged(&fields), Judgement::Automatic(_)), "{from}");
    }
}

#[test]
fn whose_sender_is_not_clear_or_not_confirmed_is_refused() {
    for fields in [
        "",
        "From: ana@example.net\r\nFrom: eve@evil.example\r\n",
        "From: ana@example.net\r\nFROM : ana@example.net\r\n",
        "From: ana@example.net, bob@example.net\r\n",
        "From: ana@example.net\r\n ,eve@evil.example\r\n",
    ] {
        assert_eq!(
            judged(&format!("{GOOD}{fields}")),
            Judgement::Unclear,
            "{fields}"
        );
    }
    let unconfirmed = |trust| Judgement::Unconfirmed {
        from: "ana@example.net".to_owned(),
        trust,
    };
    let from = "From: ana@example.net\r\n";
    assert_eq!(judged(from), unconfirmed(Trust::Unknown(None)));
    let denied = "Authentication-Results: mx.example.org; dkim=fail header.d=example.net\r\n";
    assert_eq!(
        judged(&format!("{denied}{GOOD}{from}")),
        unconfirmed(Trust::Denied)
    );
    let other = "Authentication-Results: mx.other.example; dkim=pass header.d=example.net\r\n";
    assert_eq!(
        judged(&format!("{other}{from}")),
        unconfirmed(Trust::Unknown(Some("mx.other.example".to_owned())))
    );
    let lenient = Policy {
        is_strict: false,
        ..policy()
    };
    let headers = Headers::parse(from.as_bytes());
    assert!(matches!(judge(&headers, &lenient), Judgement::From(_)));
}

fn made(fields: &str, text: &str) -> Envelope {
    made_of(fields, text, false)
}

const OWN: Word = Word {
    doubt: None,
    is_answer_vouched: true,
};

fn made_of(fields: &str, text: &str, is_too_large: bool) -> Envelope {
    made_with(fields, text, (is_too_large, OWN))
}

fn made_with(fields: &str, text: &str, (is_too_large, word): (bool, Word)) -> Envelope {
    let headers = Headers::parse(fields.as_bytes());
    let fetched = Fetched {
        headers: &headers,
        content: &Content::default(),
        attached: "",
        number: "7.8",
        bytes: 40_000_000,
        is_too_large,
        word,
    };
    let ana = Mailbox {
        name: String::new(),
        address: "ana@example.net".to_owned(),
    };
    envelope(&fetched, &ana, text, 20)
}

#[test]
fn a_mail_is_a_message_in_the_conversation_of_its_thread() {
    let first = made(
        "Message-ID: <a@x>\r\nSubject: Re: =?utf-8?Q?W=C3=A4sche?= [now]\r\n",
        "dry?\n",
    );
    assert_eq!(first.text, "[Subject: Wäsche (now)]\ndry?");
    assert_eq!(first.reference, "<a@x>");
    let thread = thread_id("<a@x>");
    assert_eq!(
        first.session.as_str(),
        format!("email:ana@example.net:{thread}")
    );
    let sender = first.sender().unwrap();
    assert_eq!(
        (sender.id.as_str(), sender.name.as_str()),
        ("ana@example.net", "ana")
    );
    // The answer to it, whether ours is named or not.
    let ours = message_id(Some(&thread), 5, "bot@example.org");
    for fields in [
        format!("Message-ID: <c@x>\r\nIn-Reply-To: {ours}\r\nSubject: Re: x\r\n"),
        "Message-ID: <c@x>\r\nReferences: <a@x> <b@x>\r\nIn-Reply-To: <b@x>\r\n".to_owned(),
    ] {
        let next = made(&fields, "1\n");
        assert_eq!(
            (next.session.clone(), next.text.as_str()),
            (first.session.clone(), "1")
        );
        assert_ne!(next.id, first.id);
    }
    let reminder = message_id(None, 5, "bot@example.org");
    let next = made(&format!("In-Reply-To: {reminder}\r\n"), "done\n");
    assert_eq!(next.session.as_str(), "email:ana@example.net");
    assert_eq!(next.id, "email:7.8", "a mail without an id has its number");
}

#[test]
fn the_same_mail_is_recognised_whatever_its_number() {
    let fields = "Message-ID: <a@x>\r\n";
    assert_eq!(made(fields, "x").id, made(fields, "y").id);
    assert_ne!(made(fields, "x").id, made("Message-ID: <b@x>\r\n", "x").id);
}

#[test]
fn a_command_is_the_first_line_and_never_the_subject() {
    let fields = "Subject: hello\r\n";
    assert_eq!(made(fields, "/sh df -h\n\nBest, Ana\n").text, "/sh df -h");
    assert_eq!(made(fields, "\n  /status \n").text, "/status");
    let head = "In-Reply-To: <a@x>\r\nSubject: ";
    for (fields, body) in [
        ("Subject: /pair 123456 owner\r\n", ""),
        ("Subject: Re: /pair 123456 owner\r\n", ""),
        (
            &*format!("{head}Re: /pair 123456 owner\r\n"),
            "\n-- \nAna\n",
        ),
        ("Subject: Fwd: hello\r\n", "/pair 123456 owner\n"),
        ("Subject: WG: hello\r\n", "/sh reboot\n\nFrom: eve@x\n"),
        ("Subject: hello\r\n", "> /pair 123456 owner\n"),
    ] {
        let envelope = made(fields, body);
        assert!(
            !envelope.text.starts_with('/') || envelope.is_relayed,
            "{envelope:?}"
        );
        assert!(!envelope.text.is_empty(), "{fields}");
    }
    assert!(made("Subject: Fwd: hello\r\n", "/status").is_relayed);
    assert!(!made("Subject: hello\r\n", "/status").is_relayed);
    assert_eq!(
        made("Subject: /status\r\n", "hello").text,
        "[Subject: /status]\nhello"
    );
}

#[test]
fn long_and_large_mails_are_cut_and_say_so() {
    let long = made("", &"word ".repeat(20)).text;
    assert!(
        long.starts_with("word word word word") && long.ends_with("the rest was not read]"),
        "{long}"
    );
    let large = made_of("Subject: film\r\n", "", true);
    assert!(
        large.text.contains("\"film\"") && large.text.contains("40 MB"),
        "{}",
        large.text
    );
}

#[test]
fn the_language_is_that_of_the_program_or_the_text() {
    let language = |fields: &str, text: &str| made(fields, text).language();
    assert_eq!(language("", "hello"), Language::English);
    assert_eq!(language("", "你好"), Language::Chinese);
    assert_eq!(
        language("Content-Language: zh-CN\r\n", "hi"),
        Language::Chinese
    );
    assert_eq!(
        language("Content-Language: de\r\n", "你好"),
        Language::German
    );
    assert_eq!(
        language("Accept-Language: it, pt-BR;q=0.8, en;q=0.5\r\n", "oi"),
        Language::Portuguese
    );
    assert_eq!(language("", "こんにちは"), Language::Japanese);
}

#[test]
fn a_file_is_found_again_by_its_id() {
    let id = FileId {
        validity: 7,
        uid: 8,
        section: "1.2".to_owned(),
        encoding: Encoding::Base64,
    };
    assert_eq!(FileId::parse("7.8/1.2/b"), Some(id));
    for text in [
        "",
        "7/1/b",
        "7.8/1",
        "7.8/1/x",
        "7.8/1]/b",
        "7.8/1/b/c",
        "a.8/1/b",
    ] {
        assert_eq!(FileId::parse(text), None, "{text}");
    }
}

#[test]
fn subjects_lose_what_programs_put_before_them() {
    for (subject, bare) in [
        ("Re: AW: Re: x", "x"),
        ("回复：好", "好"),
        ("Request: x", "Request: x"),
        ("Re:", ""),
    ] {
        assert_eq!(bare_subject(subject), bare);
    }
    for subject in [
        "Fwd: x",
        "FW: x",
        "转发：x",
        "İLT: x",
        "VL: x",
        "Továbbítás: x",
        "転送: x",
        "전달: x",
        "PD: x",
        "VS: x",
        "VB: x",
        "ΠΡΘ: x",
        "Пересл.: x",
        "הועבר: x",
        "\u{200f}إعادة توجيه: x",
        "[list] Fwd: x",
        "[a] (b)Fw: x",
        "[Fwd: x]",
        "[list: 5] [Fwd: x]",
        "Fwd[2]: x",
        "Fwd (3) : x",
        "F\u{200b}wd: x",
    ] {
        assert!(is_forward(subject), "{subject}");
    }
    for subject in [
        "fw",
        "",
        "Re: Fwd: x",
        "[list] Re: Fwd: x",
        "[Fwd",
        "Request: x",
        "[list] x: Fwd",
    ] {
        assert!(!is_forward(subject), "{subject}");
    }
}

proptest! {
    #[test]
    fn any_mail_is_judged_and_read(fields in "((From|Subject|References|In-Reply-To|Message-ID|Auto-Submitted): [ -~é\t]{0,30}\r\n){0,6}", text in any::<String>()) {
        judged(&fields);
        let envelope = made(&fields, &text);
        prop_assert!(envelope.session.as_str().starts_with("email:ana@example.net"));
    }
}

/// The text of a part with these parameters and encoding.
fn text_with(charset: &str, encoding: &str, bytes: &[u8]) -> String {
    let whole = format!(
        r#"* 1 FETCH (BODYSTRUCTURE ("text" "plain" ("charset" "{charset}") NIL NIL "{encoding}" 9 1))"#
    );
    let Some(Response::Numbered {
        value: Some(value), ..
    }) = Response::parse(whole.as_bytes())
    else {
        panic!("{whole}")
    };
    let content = content(value.named("BODYSTRUCTURE").unwrap());
    text_of(&content.texts[0], bytes, 1000)
}

#[test]
fn nothing_of_a_text_is_lost_and_nothing_stays_encoded() {
    for (charset, encoding, bytes, expected) in [
        (
            "us-ascii",
            "base64",
            &b"Hello Ana, how are you?\r\n"[..],
            "Hello Ana, how are you?\r\n",
        ),
        (
            "utf-8",
            "base64",
            b"R3LDvMOfZQ==\r\n_______________\r\nList mailing list\r\n",
            "Grüße\n_______________\r\nList mailing list\r\n",
        ),
        (
            "x-unknown",
            "8bit",
            b"caf\xe9",
            "[Its character set x-unknown is not known: letters may be wrong]\ncafé",
        ),
        ("x-unknown", "8bit", "café".as_bytes(), "café"),
        ("utf-7", "7bit", b"caf+AOk-", "café"),
        (
            "utf-8",
            "7bit",
            b"a\nbegin 644 b.txt\n#0V%T\n`\nend\n",
            "a\n[File b.txt]\nCat\n",
        ),
    ] {
        assert_eq!(
            text_with(charset, encoding, bytes),
            expected,
            "{charset} {encoding}"
        );
    }
}

#[test]
fn a_mail_says_which_one_it_answers_or_that_it_answers_one() {
    for (fields, target) in [
        ("", ""),
        ("In-Reply-To: <b@x>\r\nReferences: <a@x> <c@x>\r\n", "<b@x>"),
        ("References: <a@x> <b@x>\r\n", "<b@x>"),
        ("In-Reply-To: \r\nReferences: <a@x>\r\n", "<a@x>"),
        ("In-Reply-To: your mail of Monday\r\n", UNKNOWN_MESSAGE),
        (
            "In-Reply-To: what <no id> it said\r\nReferences: <a@x>\r\n",
            UNKNOWN_MESSAGE,
        ),
        ("References: none\r\n", UNKNOWN_MESSAGE),
    ] {
        let headers = Headers::parse(fields.as_bytes());
        assert_eq!(answered(&headers, true), target, "{fields}");
        let unvouched = answered(&headers, false);
        assert_eq!(unvouched.is_empty(), target.is_empty(), "{fields}");
        assert!(
            target.is_empty() || unvouched == UNKNOWN_MESSAGE,
            "{fields}"
        );
    }
}

#[test]
fn a_mail_that_may_have_been_sent_on_counts_as_forwarded_and_says_why() {
    let word = Word {
        doubt: Some(Doubt::Elsewhere),
        ..OWN
    };
    for text in ["/sh id", "1234", "yes"] {
        let sent_on = made_with("Message-ID: <a@x>\r\n", text, (false, word));
        assert!(sent_on.is_relayed, "{text}");
        assert!(
            sent_on.described.contains("not addressed to this mailbox")
                && sent_on.text == format!("{}\n{text}", sent_on.described),
            "{sent_on:?}"
        );
        assert!(!made("Message-ID: <a@x>\r\n", text).is_relayed, "{text}");
    }
}

#[test]
fn a_number_answers_only_the_mail_that_is_named() {
    for (fields, text, is_relayed) in [
        ("In-Reply-To: x\r\nReferences: <a@x>\r\n", "1234", true),
        ("In-Reply-To: x\r\n", " ４.\n", true),
        ("In-Reply-To: x\r\n", "/status", false),
        ("In-Reply-To: x\r\n", "four, please", false),
        ("In-Reply-To: <b@x>\r\n", "1234", false),
        ("", "1234", false),
    ] {
        let envelope = made(fields, text);
        assert_eq!(envelope.is_relayed, is_relayed, "{fields}{text}");
    }
}
