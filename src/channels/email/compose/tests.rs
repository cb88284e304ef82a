//! What mails look like when they are sent.

use proptest::prelude::*;

use super::*;
use crate::channels::email::mime::headers::Headers;
use crate::channels::email::mime::words::decode_words;
use crate::text::markup::render;

fn fields<'a>(subject: &'a str, earlier: &'a [String]) -> Head<'a> {
    Head {
        from: "bot@example.org",
        to: "ana@example.org",
        subject,
        date: DateTime::parse_from_rfc3339("2026-11-02T09:08:07+01:00").unwrap(),
        id: "<0.00000000000000ff.peacrab@example.org>",
        earlier,
    }
}

fn both(markdown: &str) -> (String, String) {
    let pieces = render(markdown, &MailHtml);
    let written = &pieces[0].written;
    (plain(written), html(written))
}

#[test]
fn a_mail_has_both_forms_and_names_what_it_answers() {
    let earlier = ["<a@x>".to_owned(), "<b@x>".to_owned()];
    let mail = text_mail(
        &fields("Re: Grüße", &earlier),
        "one <b>two</b>\n.three",
        true,
    );
    assert!(
        mail.replace("\r\n", "").find(['\r', '\n']).is_none(),
        "{mail}"
    );
    assert!(mail.is_ascii());
    let headers = Headers::parse(mail.as_bytes());
    for (name, expected) in [
        ("from", "bot@example.org"),
        ("to", "ana@example.org"),
        ("date", "Mon, 02 Nov 2026 09:08:07 +0100"),
        ("in-reply-to", "<b@x>"),
        ("references", "<a@x> <b@x>"),
        ("auto-submitted", "auto-replied"),
        ("mime-version", "1.0"),
    ] {
        assert_eq!(headers.first(name), Some(expected), "{mail}");
    }
    assert_eq!(decode_words(headers.first("subject").unwrap()), "Re: Grüße");
    assert!(mail.contains("\r\n\r\none two\r\n=2Ethree\r\n"), "{mail}");
    assert!(mail.contains("one <b>two</b><br>\r\n=2Ethree"), "{mail}");
}

#[test]
fn a_mail_that_begins_a_conversation_answers_nothing() {
    let mail = text_mail(&fields("Hello", &[]), "one & two", false);
    let headers = Headers::parse(mail.as_bytes());
    assert_eq!(headers.first("auto-submitted"), Some("auto-generated"));
    assert_eq!(headers.first("in-reply-to"), None);
    assert!(
        headers
            .first("content-type")
            .unwrap()
            .starts_with("text/plain")
    );
    assert!(mail.ends_with("\r\n\r\none & two\r\n"), "{mail}");
}

#[test]
fn a_file_is_attached_under_its_name() {
    let (before, after) = file_mail(&fields("x", &[]), ("a <b>plot</b>", true), "grüße.png");
    assert!(before.contains("\r\n\r\na plot\r\n"), "{before}");
    assert!(before.contains("--=_0.00000000000000ff.peacrab--\r\n--=_f_"));
    assert!(before.contains("Content-Type: image/png\r\n"));
    assert!(before.contains("filename*=UTF-8''gr%C3%BC%C3%9Fe.png"));
    assert!(before.ends_with("\r\n\r\n"));
    assert_eq!(after, "--=_f_0.00000000000000ff.peacrab--\r\n");
}

#[test]
fn markdown_is_readable_in_both_forms() {
    let (plain, html) = both(
        "# Title\n\nSee [the docs](https://example.org/a?b=1&c=2) and `x < y`.\n\n> quoted\n> more\n\n```sh\nls  -l\n\necho\n```\n\n- one\n- two",
    );
    assert!(
        plain.contains("the docs <https://example.org/a?b=1&c=2>"),
        "{plain}"
    );
    assert!(
        plain.contains("x < y") && plain.contains("> quoted\n> more"),
        "{plain}"
    );
    assert!(plain.contains("    ls  -l\n\n    echo"), "{plain}");
    assert!(html.contains("<b>Title</b><br>"), "{html}");
    assert!(
        html.contains("<a href=\"https://example.org/a?b=1&amp;c=2\">the docs</a>"),
        "{html}"
    );
    assert!(html.contains("<code>x &lt; y</code>"), "{html}");
    // Code keeps its lines and spaces without breaks.
    assert!(html.contains("ls  -l\n\necho"), "{html}");
}

#[test]
fn an_address_that_is_its_own_text_is_shown_once() {
    assert_eq!(both("<https://example.org>").0, "https://example.org");
    assert_eq!(both("<ana@example.org>").0, "ana@example.org");
}

#[test]
fn the_thread_comes_back_in_an_answer() {
    let thread = thread_id("<root@x>");
    let id = message_id(Some(&thread), 7, "bot@example.org");
    assert_eq!(thread_of(&id), Some(Some(thread.as_str())));
    let id = message_id(None, 7, "bot@example.org");
    assert_eq!(id, "<0.0000000000000007.peacrab@example.org>");
    assert_eq!(thread_of(&id), Some(None));
    for id in [
        "<a@x>",
        "<.peacrab@x>",
        "<x.0000000000000007.peacrab@x>",
        "<0.7.peacrab@x>",
        "<0.000000000000000g.peacrab@x>",
        "0.0000000000000007.peacrab@x",
    ] {
        assert_eq!(thread_of(id), None, "{id}");
    }
}

proptest! {
    #[test]
    fn a_text_without_markup_is_the_same_in_the_plain_form(text in "[a-z <>&\"\n]{1,200}") {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        prop_assert_eq!(plain(&escaped), text);
    }

    #[test]
    fn any_markdown_makes_a_mail_that_transports_it(markdown in any::<String>()) {
        for piece in render(&markdown, &MailHtml) {
            let mail = text_mail(&fields("x", &[]), &piece.written, true);
            prop_assert!(mail.is_ascii());
            prop_assert!(mail.split("\r\n").all(|line| line.len() < 200 && !line.contains(['\r', '\n'])));
        }
    }

    #[test]
    fn anything_is_taken_as_markup(text in "[<>a-z/&;=\" \n]{0,80}") {
        plain(&text);
        html(&text);
    }
}
