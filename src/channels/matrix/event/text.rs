//! The text of a message as clients write it. Pure.

use crate::net::http::address::percent_encode;

/// Where links to people, rooms and messages lead.
const LINK: &str = "https://matrix.to/#/";

/// The text without the quote that older clients put before a reply.
/// <https://spec.matrix.org/v1.12/client-server-api/#fallbacks-for-rich-replies>
pub fn without_fallback(body: &str) -> &str {
    let is_fallback = body.starts_with("> <@") || body.starts_with("> * <@");
    if !is_fallback {
        return body;
    }
    let mut rest = body;
    while rest.starts_with("> ") || rest.starts_with(">\n") {
        rest = rest.find('\n').map_or("", |newline| &rest[newline + 1..]);
    }
    rest.strip_prefix('\n').unwrap_or(rest)
}

/// The text with the names of people for the links to them, `[Ana](https://matrix.to/#/@ana:example.org)`.
pub fn names_for_links(body: &str) -> String {
    let mark = ["](", LINK, "@"].concat();
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find(&mark) {
        let (before, link) = rest.split_at(at);
        let name = before.rfind('[').map(|open| (open, &before[open + 1..]));
        let end = link.find(')').filter(|end| !link[..*end].contains('\n'));
        match (name, end) {
            (Some((open, name)), Some(end)) => {
                out.push_str(&before[..open]);
                out.push_str(name);
                rest = &link[end + 1..];
            }
            _ => {
                out.push_str(before);
                out.push_str(&mark);
                rest = &link[mark.len()..];
            }
        }
    }
    out + rest
}

/// Whether HTML has a link to a person.
pub fn links_to(html: &str, user: &str) -> bool {
    let encoded = percent_encode(user);
    let half = user.replace(':', "%3A");
    [user, &encoded, &half].iter().any(|id| {
        let link = [LINK, id].concat();
        html.match_indices(&link).any(|(at, link)| {
            let next = html[at + link.len()..].chars().next();
            next.is_some_and(|next| ['"', '\'', '?', '&'].contains(&next))
        })
    })
}

/// What follows a name at the beginning of a text, in any case.
pub fn strip_name<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = body.chars();
    for expected in name.chars() {
        let found = rest.next()?;
        if found != expected && !found.to_lowercase().eq(expected.to_lowercase()) {
            return None;
        }
    }
    Some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_quote_before_a_reply_is_removed_and_no_other() {
        for (body, text) in [
            (
                "> <@ana:x.org> hi\n> there\n\nanswer\n> mine",
                "answer\n> mine",
            ),
            ("> * <@ana:x.org> waves\n\nanswer", "answer"),
            ("> a quote of mine\n\ntext", "> a quote of mine\n\ntext"),
            ("> <@ana:x.org> only", ""),
            ("", ""),
        ] {
            assert_eq!(without_fallback(body), text, "{body:?}");
        }
    }

    #[test]
    fn links_to_people_become_their_names() {
        for (body, text) in [
            ("[Ana](https://matrix.to/#/@ana:x.org) hi", "Ana hi"),
            (
                "see [a] [@b:x](https://matrix.to/#/@b:x), [c](https://x.y)",
                "see [a] @b:x, [c](https://x.y)",
            ),
            ("](https://matrix.to/#/@a", "](https://matrix.to/#/@a"),
            (
                "[a](https://matrix.to/#/@a\n)",
                "[a](https://matrix.to/#/@a\n)",
            ),
        ] {
            assert_eq!(names_for_links(body), text);
        }
    }

    #[test]
    fn a_link_is_to_the_whole_id() {
        let me = "@bot:x.org";
        for link in ["@bot:x.org", "@bot%3Ax.org", "%40bot%3Ax.org"] {
            let html = |end: &str| format!("<a href=\"https://matrix.to/#/{link}{end}\">bot</a>");
            assert!(links_to(&html(""), me), "{link}");
            assert!(!links_to(&html("anization"), me), "{link}");
        }
        assert!(!links_to("@bot:x.org", me));
    }

    #[test]
    fn a_name_is_found_in_any_case() {
        assert_eq!(strip_name("PEACRAB: hi", "Peacrab"), Some(": hi"));
        assert_eq!(strip_name("Ärger!", "ärger"), Some("!"));
        assert_eq!(strip_name("Pea", "Peacrab"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_understood(body in "[> <@a:\\n\\[\\]()/#.htpsmrixo]{0,120}") {
            let _ = without_fallback(&body);
            let link = names_for_links(&body);
            prop_assert!(link.len() <= body.len());
            let _ = links_to(&body, "@a:x");
        }
    }
}
