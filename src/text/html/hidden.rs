//! Which elements a reader does not see, and where one ends whose end tag may be missing. PURE.

mod css;

use super::tokens::Tag;
use css::{Effect, Sheet, Style};

/// Elements within elements whose ends are known. Pages have up to 60.
const OPEN_ELEMENTS: usize = 128;

/// An element that is left out, with all that is in it.
#[derive(Debug)]
pub struct Skipped {
    name: String,
    /// Its place among those that are open.
    at: usize,
    /// Whether nobody sees it: else it is a menu or the like, which does not hold the page's content.
    is_hidden: bool,
    /// Whether it is a sheet of styles for this page.
    is_sheet: bool,
}

/// The elements that are open, as far as it matters where one ends that has no end tag of its own
/// (HTML, section 13.2.6.4.7).
#[derive(Debug, Default)]
pub struct Open {
    stack: Vec<Element>,
    sheet: Sheet,
    /// How many more are open than are kept.
    lost: u32,
}

#[derive(Debug)]
struct Element {
    name: String,
    role: Role,
    /// Whether nobody sees it, whatever is in it.
    is_hidden: bool,
    /// Whether its text has no size.
    is_small: bool,
    /// Whether its text has no ink.
    is_invisible: bool,
}

/// What the name of an open element means for where others end. A page can ask for it at each of its tags, about each
/// open element, so the names are compared once.
#[derive(Clone, Copy, Debug)]
struct Role {
    is_media: bool,
    is_block: bool,
    is_table_part: bool,
    /// It may end before a tag that begins another.
    may_lack_end: bool,
    /// What is around it does not end before a tag that is in it.
    is_wall: bool,
}

impl Role {
    fn of(name: &str) -> Self {
        let is_media = MEDIA.contains(&name);
        Self {
            is_media,
            is_block: is_block(name),
            is_table_part: is_table_part(name),
            may_lack_end: [
                "p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "tfoot", "rt", "rp",
            ]
            .contains(&name),
            is_wall: is_media || is_container(name) && !matches!(name, "div" | "address"),
        }
    }
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
    /// The element that a tag begins, if that is left out; `None` within where it has no content. Any other
    /// is among the open ones from now on.
    pub fn begin(tag: &Tag, open: &mut Open) -> Option<Option<Self>> {
        let name = tag.name.as_str();
        let is_void = is_void(tag);
        let element = open.element(tag);
        // What cannot be shown again by what is in it.
        let is_last = is_void || open.stack.len() >= OPEN_ELEMENTS;
        let is_hidden = element.is_hidden || is_last && element.is_unseen();
        let is_skipped =
            is_hidden || MEDIA.contains(&name) || FRAME.contains(&name) || is_frame(tag);
        let skipped = is_skipped.then(|| {
            (!is_void).then(|| Self {
                name: name.to_owned(),
                at: open.stack.len(),
                is_hidden: is_hidden || name == "template",
                is_sheet: name == "style" && is_for_screens(tag),
            })
        });
        match skipped {
            Some(Some(_)) => {
                open.lost = 0;
                open.stack.push(element);
            }
            None if !is_void => open.push(element),
            _ => {}
        }
        skipped
    }

    /// Whether a tag, before which the open elements were ended that end there, begins something in it.
    pub fn holds(&self, tag: &Tag, open: &mut Open) -> bool {
        let name = tag.name.as_str();
        // The end tag of a menu may be missing; and menus have no paragraphs.
        let is_content = matches!(name, "main" | "article" | "h1")
            || self.name == "nav" && matches!(name, "p" | "pre" | "blockquote" | "table");
        if !self.is_hidden && is_content {
            open.stack.truncate(self.at);
        }
        let holds = open.stack.len() > self.at;
        // Of a picture or the like only the end counts.
        if holds && !is_void(tag) && (self.name == name || !MEDIA.contains(&&*self.name)) {
            let element = open.element(tag);
            open.push(element);
        }
        holds
    }

    /// Takes a character of its text.
    pub fn push(&self, char: char, open: &mut Open) {
        if self.is_sheet {
            open.sheet.push(char);
        }
    }

    /// Whether it is the element at this place.
    pub fn is_at(&self, at: usize) -> bool {
        self.at == at
    }

    /// Whether the element at this place is within it.
    pub fn is_around(&self, at: usize) -> bool {
        at > self.at
    }
}

impl Open {
    /// Whether nobody sees the text that comes next.
    pub fn is_unseen(&self) -> bool {
        self.stack.last().is_some_and(Element::is_unseen)
    }

    fn element(&mut self, tag: &Tag) -> Element {
        // Scripts show these once the page is ready.
        let effect = if is_root(&tag.name) {
            Effect::default()
        } else {
            self.sheet.effect(tag)
        };
        let around = self.stack.last();
        Element {
            role: Role::of(&tag.name),
            name: tag.name.clone(),
            is_hidden: effect.is_hidden == Some(true) || is_hidden(tag),
            is_small: (effect.is_small).unwrap_or(around.is_some_and(|around| around.is_small)),
            is_invisible: (effect.is_invisible)
                .unwrap_or(around.is_some_and(|around| around.is_invisible)),
        }
    }

    fn push(&mut self, element: Element) {
        if self.stack.len() < OPEN_ELEMENTS {
            self.stack.push(element)
        } else {
            self.lost = self.lost.saturating_add(1)
        }
    }

    /// Ends those that end where a tag begins another.
    pub fn end_before(&mut self, name: &str) {
        let ends = |stack: &[Element]| {
            let mut inner_first = stack.iter().enumerate().rev();
            inner_first.find_map(|(at, one)| {
                let is_end = one.role.is_wall;
                let ends = || one.role.may_lack_end && ends_before(&one.name, name);
                (is_end || ends()).then_some((at, is_end))
            })
        };
        while let Some((at, false)) = ends(&self.stack) {
            self.stack.truncate(at);
            self.lost = 0;
        }
    }

    /// Takes an end tag, and returns the place of the element that ends there, with all that is in it.
    pub fn end(&mut self, name: &str) -> Option<usize> {
        // What follows these is still where it was.
        if matches!(name, "html" | "body") {
            return None;
        }
        if let Some(left) = self.lost.checked_sub(1) {
            self.lost = left;
            return None;
        }
        let ended = Role::of(name);
        let stops = |one: &Element| {
            let is_one_of = |names: &[&str]| names.contains(&one.name.as_str());
            one.role.is_media
                || match name {
                    "table" => false,
                    _ if ended.is_table_part => is_one_of(&["table"]),
                    "li" if is_one_of(&["ul", "ol"]) => true,
                    _ if ended.is_block => is_one_of(&["table", "td", "th", "caption"]),
                    _ => one.role.is_block || one.role.is_table_part,
                }
        };
        let mut inner_first = self.stack.iter().enumerate().rev();
        let (at, one) = inner_first.find(|(_, one)| one.name == name || stops(one))?;
        (one.name == name).then(|| {
            self.stack.truncate(at);
            at
        })
    }
}

impl Element {
    fn is_unseen(&self) -> bool {
        self.is_small || self.is_invisible
    }
}

fn is_void(tag: &Tag) -> bool {
    VOID.contains(&tag.name.as_str()) || tag.is_closed && tag.name == "svg"
}

fn is_root(name: &str) -> bool {
    matches!(name, "html" | "body" | "main")
}

fn is_table_part(name: &str) -> bool {
    matches!(
        name,
        "caption" | "tr" | "td" | "th" | "thead" | "tbody" | "tfoot"
    )
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

/// Whether nobody sees an element, whatever its style.
fn is_hidden(tag: &Tag) -> bool {
    // Scripts show these once the page is ready.
    if is_root(&tag.name) {
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
}

fn is_for_screens(style: &Tag) -> bool {
    let media = style.attribute("media").unwrap_or_default();
    matches!(
        media.trim().to_ascii_lowercase().as_str(),
        "" | "all" | "screen"
    )
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

/// Whether an element's text is struck out.
pub fn is_struck(tag: &Tag) -> bool {
    let style = Style::read(tag.attribute("style").unwrap_or_default());
    let has_line = |name: &str| (style.get(name)).is_some_and(|line| line.contains("line-through"));
    !VOID.contains(&tag.name.as_str())
        && (matches!(tag.name.as_str(), "del" | "s" | "strike")
            || has_line("text-decoration")
            || has_line("text-decoration-line"))
}
