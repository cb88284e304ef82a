//! Which elements a reader does not see, and where one ends whose end tag may be missing. PURE.

use super::tokens::Tag;

/// An element that is left out, with all that is in it.
#[derive(Debug)]
pub struct Skipped {
    name: String,
    /// How often it is open.
    depth: u32,
    /// Elements that are open in it, where it ends with the one around it.
    inner: u32,
    /// Whether nobody sees it: else it is a menu or the like, which does not hold the page's content.
    is_hidden: bool,
}

/// What a tag means to an element that is left out.
pub enum Step {
    /// It belongs to the element.
    Within,
    /// It is the element's end tag.
    Last,
    /// The element has ended before it.
    Behind,
}

/// Elements without an end tag.
const VOID: [&str; 14] = [
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "hr", "img", "input", "link",
    "meta", "source", "wbr",
];

/// Elements that stand for something else than text.
const MEDIA: [&str; 18] = [
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "canvas",
    "iframe",
    "noembed",
    "noframes",
    "object",
    "audio",
    "video",
    "select",
    "datalist",
    "button",
    "textarea",
    "annotation",
    "annotation-xml",
];

/// Elements around the content.
const FRAME: [&str; 3] = ["nav", "footer", "aside"];

impl Skipped {
    /// The element that a tag begins, if that is left out; `None` within where it has no content.
    pub fn begin(tag: &Tag) -> Option<Option<Self>> {
        let is_void = VOID.contains(&tag.name.as_str()) || tag.is_closed && tag.name == "svg";
        let is_hidden = is_hidden(tag);
        let is_skipped = is_hidden
            || MEDIA.contains(&tag.name.as_str())
            || FRAME.contains(&tag.name.as_str())
            || tag.name == "dialog"
            || is_frame(tag);
        is_skipped.then(|| {
            (!is_void).then(|| Self {
                name: tag.name.clone(),
                depth: 1,
                inner: 0,
                is_hidden: is_hidden || tag.name == "template",
            })
        })
    }

    /// Takes a tag that begins an element.
    pub fn start(&mut self, tag: &Tag) -> Step {
        let name = tag.name.as_str();
        // The end tag of a menu may be missing; and menus have no paragraphs.
        let is_content = matches!(name, "main" | "article" | "h1")
            || self.name == "nav" && matches!(name, "p" | "pre" | "blockquote" | "table");
        if !self.is_hidden && is_content || self.inner == 0 && ends_before(&self.name, name) {
            return Step::Behind;
        }
        if self.name == name {
            self.depth = self.depth.saturating_add(1);
        } else if self.has_no_end() && is_container(name) {
            self.inner = self.inner.saturating_add(1);
        }
        Step::Within
    }

    /// Takes an end tag.
    pub fn end(&mut self, name: &str) -> Step {
        if self.name == name {
            self.depth = self.depth.saturating_sub(1);
            return if self.depth == 0 {
                Step::Last
            } else {
                Step::Within
            };
        }
        if self.has_no_end() && is_container(name) {
            match self.inner.checked_sub(1) {
                Some(left) => self.inner = left,
                None => return Step::Behind,
            }
        }
        Step::Within
    }

    /// Whether its end tag may be missing.
    fn has_no_end(&self) -> bool {
        matches!(
            self.name.as_str(),
            "p" | "li"
                | "dt"
                | "dd"
                | "tr"
                | "td"
                | "th"
                | "thead"
                | "tbody"
                | "tfoot"
                | "rt"
                | "rp"
                | "option"
        )
    }
}

/// Whether an element without an end tag ends before another one (HTML, section 13.1.2.4).
fn ends_before(open: &str, next: &str) -> bool {
    match open {
        "p" => is_block(next),
        "li" => next == "li",
        "dt" | "dd" => matches!(next, "dt" | "dd"),
        "td" | "th" => matches!(next, "td" | "th" | "tr" | "tbody" | "thead" | "tfoot"),
        "tr" => matches!(next, "tr" | "tbody" | "thead" | "tfoot"),
        "thead" | "tbody" | "tfoot" => matches!(next, "tbody" | "thead" | "tfoot"),
        "rt" | "rp" => matches!(next, "rt" | "rp"),
        _ => false,
    }
}

/// Elements before which a paragraph ends.
fn is_block(name: &str) -> bool {
    is_container(name)
        || matches!(
            name,
            "p" | "li"
                | "dt"
                | "dd"
                | "h1"
                | "h2"
                | "h3"
                | "h4"
                | "h5"
                | "h6"
                | "hr"
                | "pre"
                | "summary"
        )
}

/// Elements around others, which always have an end tag.
fn is_container(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "center"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "header"
            | "html"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "section"
            | "table"
            | "ul"
    )
}

/// Whether nobody sees an element.
fn is_hidden(tag: &Tag) -> bool {
    // Scripts show these once the page is ready.
    if matches!(tag.name.as_str(), "html" | "body" | "main") {
        return false;
    }
    let class = tag.attribute("class").unwrap_or_default();
    let is_own = tag
        .attribute("href")
        .is_some_and(|target| target.starts_with('#'));
    // The signs beside headings that lead to themselves.
    let is_anchor =
        tag.name == "a" && is_own && (class.contains("anchor") || class.contains("headerlink"));
    let is = |name: &str, value: &str| {
        let found = tag.attribute(name).map(str::trim);
        found.is_some_and(|found| found.eq_ignore_ascii_case(value))
    };
    tag.attribute("hidden").is_some()
        || is("aria-hidden", "true")
        || tag.name == "dialog" && tag.attribute("open").is_none()
        || is_anchor
        || tag.attribute("style").is_some_and(hides)
}

/// Whether an element surrounds the content by its role. Only those that always have an end tag.
fn is_frame(tag: &Tag) -> bool {
    let role = tag.attribute("role").unwrap_or_default().trim();
    let roles = ["navigation", "search", "dialog", "alert"];
    matches!(
        tag.name.as_str(),
        "div" | "section" | "span" | "ul" | "ol" | "table" | "a" | "header" | "form"
    ) && roles.iter().any(|one| role.eq_ignore_ascii_case(one))
}

/// The value of a property in a `style`; the last one counts, in lower case.
pub fn property(style: &str, name: &str) -> Option<String> {
    let all = style.rsplit(';').filter_map(|part| part.split_once(':'));
    let mut found = all.filter(|(known, _)| plain(known).eq_ignore_ascii_case(name));
    let (_, value) = found.next()?;
    let value = plain(value).to_ascii_lowercase();
    Some(value.trim_end_matches("!important").trim().to_owned())
}

/// A text without comments.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.trim().to_owned()
}

/// Whether a `style` makes text invisible.
fn hides(style: &str) -> bool {
    let get = |name: &str| property(style, name).unwrap_or_default();
    let is_zero = |name: &str| {
        let value = get(name);
        let number = value.trim_end_matches(|char: char| char.is_ascii_alphabetic() || char == '%');
        number.parse::<f32>() == Ok(0.0)
    };
    let is_far = |name: &str| {
        let value = get(name);
        let number = value.trim_end_matches(|char: char| char.is_ascii_alphabetic() || char == '%');
        number.parse::<f32>().is_ok_and(|number| number <= -500.0)
    };
    let is_clipped =
        get("overflow") == "hidden" || get("overflow-y") == "hidden" || get("overflow") == "clip";
    let clip = get("clip").replace([' ', ','], "").replace("px", "");
    let clip_path = get("clip-path").replace(' ', "");
    get("display") == "none"
        || matches!(get("visibility").as_str(), "hidden" | "collapse")
        || get("content-visibility") == "hidden"
        || get("mso-hide") == "all"
        || is_zero("opacity")
        || is_zero("font-size")
        || get("color") == "transparent"
        || get("transform").replace(' ', "") == "scale(0)"
        || [
            "left",
            "top",
            "right",
            "bottom",
            "text-indent",
            "margin-left",
        ]
        .into_iter()
        .any(is_far)
        || is_clipped
            && ["height", "max-height", "width", "max-width"]
                .into_iter()
                .any(is_zero)
        || matches!(clip.as_str(), "rect(0000)" | "rect(1111)")
        || matches!(
            clip_path.as_str(),
            "inset(50%)" | "inset(100%)" | "circle(0)"
        )
}

/// Whether an element's text is struck out.
pub fn is_struck(tag: &Tag) -> bool {
    let style = tag.attribute("style").unwrap_or_default();
    let has_line =
        |name: &str| property(style, name).is_some_and(|value| value.contains("line-through"));
    !VOID.contains(&tag.name.as_str())
        && (matches!(tag.name.as_str(), "del" | "s" | "strike")
            || has_line("text-decoration")
            || has_line("text-decoration-line"))
}
