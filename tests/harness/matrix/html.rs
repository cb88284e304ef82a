//! Which HTML clients show. <https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes>

/// The elements that clients show, as far as bots use them.
const ELEMENTS: [&str; 25] = [
    "del",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "p",
    "a",
    "ul",
    "ol",
    "sup",
    "sub",
    "li",
    "b",
    "i",
    "u",
    "strong",
    "em",
    "s",
    "code",
    "hr",
    "pre",
    "span",
];

/// Checks that every element is known, closed and has no attribute but its own.
pub(super) fn check_html(html: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        let mark = &rest[at..];
        if let Some(behind) = mark.strip_prefix('&') {
            let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&nbsp;"];
            if !known.iter().any(|entity| mark.starts_with(entity)) {
                return Err(format!("an & that is no entity in {html:?}"));
            }
            rest = behind;
            continue;
        }
        let end = mark
            .find('>')
            .ok_or_else(|| format!("an open < in {html:?}"))?;
        let tag = &mark[1..end];
        rest = &mark[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing in {html:?}"));
            }
            continue;
        }
        if tag == "br" {
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let fits = match name {
            "a" => {
                let schemes = ["https:", "http:", "mailto:", "ftp:", "magnet:"];
                let mut targets = schemes.iter().map(|scheme| format!("href=\"{scheme}"));
                targets.any(|target| attributes.starts_with(&target))
            }
            "code" => attributes.is_empty() || attributes.starts_with("class=\"language-"),
            name => ELEMENTS.contains(&name) && attributes.is_empty(),
        };
        if !fits {
            return Err(format!("<{tag}> is not shown"));
        }
        open.push(name);
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(format!("{open:?} stays open in {html:?}")),
    }
}
