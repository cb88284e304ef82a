//! Texts as Slack sends them: escaped, with people, channels and links in angle brackets. PURE.
//! <https://docs.slack.dev/messaging/formatting-message-text>

/// What a text is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To be understood: links show where they lead.
    Prose,
    /// To be carried out: a link that Slack made of what was typed is that again.
    Command,
}

/// The text as it was typed. `name` gives the name of a person by their id.
pub fn decode(text: &str, reads: Use, name: &dyn Fn(&str) -> Option<String>) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        decoded.push_str(&unescape(&rest[..at]));
        rest = &rest[at + 1..];
        match rest.find('>') {
            Some(end) => {
                decoded.push_str(&unescape(&meaning(&rest[..end], reads, name)));
                rest = &rest[end + 1..];
            }
            None => decoded.push('<'),
        }
    }
    decoded.push_str(&unescape(rest));
    decoded
}

/// What the inside of angle brackets means to people.
fn meaning(inside: &str, reads: Use, name: &dyn Fn(&str) -> Option<String>) -> String {
    let (target, label) = match inside.split_once('|') {
        Some((target, label)) => (target, Some(label).filter(|label| !label.is_empty())),
        None => (inside, None),
    };
    if let Some(id) = target.strip_prefix('@') {
        let known = match reads {
            // In a command, a name could be taken for a part of it.
            Use::Command => None,
            Use::Prose => name(id).or_else(|| label.map(str::to_owned)),
        };
        return match (known, reads) {
            (Some(name), _) => format!("@{name}"),
            (None, Use::Prose) => format!("@{id}"),
            (None, Use::Command) => id.to_owned(),
        };
    }
    if let Some(id) = target.strip_prefix('#') {
        return format!("#{}", label.unwrap_or(id));
    }
    if let Some(special) = target.strip_prefix('!') {
        let word = special.split('^').next().unwrap_or_default();
        return match label {
            Some(label) => label.to_owned(),
            None => format!("@{word}"),
        };
    }
    match label {
        None => target.to_owned(),
        // What Slack has made a link of: `example.org`, an address of mail, a number.
        Some(label) if target.ends_with(label) => label.to_owned(),
        Some(label) if reads == Use::Command => label.to_owned(),
        Some(label) => format!("{label} ({target})"),
    }
}

/// The three characters that Slack escapes.
fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&amp;", "&")
}

/// The words of our own message, without what only its markup needs.
pub fn of_ours(text: &str) -> String {
    decode(text, Use::Prose, &|_| None).replace('\u{200b}', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(id: &str) -> Option<String> {
        (id == "U1").then(|| "Ana".to_owned())
    }

    #[test]
    fn what_is_in_angle_brackets_is_read_as_people_read_it() {
        for (text, expected) in [
            ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
            ("hi <@U1>, <@U2>, <@U3|cleo>", "hi @Ana, @U2, @cleo"),
            ("<#C1|general> and <#C2>", "#general and #C2"),
            ("<!here> <!channel|@channel>", "@here @channel"),
            (
                "<!subteam^S1|@crew> <!date^1^{date}|Monday>",
                "@crew Monday",
            ),
            ("<https://a.b/?x=1&amp;y=2>", "https://a.b/?x=1&y=2"),
            ("<https://a.b|the page>", "the page (https://a.b)"),
            ("<http://example.org|example.org>", "example.org"),
            ("<mailto:a@b.c|a@b.c>", "a@b.c"),
            ("open < bracket", "open < bracket"),
            ("<", "<"),
            ("", ""),
        ] {
            assert_eq!(decode(text, Use::Prose, &name), expected, "{text}");
        }
    }

    #[test]
    fn a_command_is_what_was_typed() {
        for (text, expected) in [
            ("/sh a &amp;&amp; b &gt; c", "/sh a && b > c"),
            ("/sh curl <https://a.b/c>", "/sh curl https://a.b/c"),
            ("/sh ping <http://a.b|a.b>", "/sh ping a.b"),
            ("/role <@U1> user", "/role U1 user"),
            ("/sh echo &lt;@U1&gt;", "/sh echo <@U1>"),
        ] {
            assert_eq!(decode(text, Use::Command, &name), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_decoded(text in "[<>|@#!&;a-z^: ]{0,40}|.{0,40}") {
            let _ = decode(&text, Use::Prose, &name);
        }

        #[test]
        fn what_was_escaped_comes_back(text in "[^\u{200b}]{0,60}") {
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            prop_assert_eq!(decode(&escaped, Use::Command, &name), text);
        }
    }
}
