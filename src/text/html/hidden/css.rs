//! Styles as far as they hide text: those of an element, and rules of the page's own `<style>`. PURE.
//!
//! Not covered: sheets of other files, which would take a request each; selectors with combinators,
//! attributes or pseudo-classes, and conditions (`@media print`), because what they match needs the whole
//! document or its window; a `<style>` below the text, which is written by then; and letters in the colour of
//! what is behind them, unless one rule says both.

use std::borrow::Cow;

use crate::text::html::tokens::Tag;

/// Bytes of one `<style>` that are read; the longest ones of pages that people read have some 30 kB.
const STYLE_BYTES: usize = 32 * 1024;
/// Rules kept of them that show or hide something.
const STYLE_RULES: usize = 256;
/// Bytes of one rule's declarations; what hides text has a few dozen.
const STYLE_BLOCK_BYTES: usize = 256;
/// Bytes of a selector.
const STYLE_SELECTOR_BYTES: usize = 64;

/// A declaration, in lower case and without escapes.
struct Declaration {
    name: String,
    value: String,
    is_important: bool,
}

/// The declarations of an element or a rule.
pub struct Style(Vec<Declaration>);

/// What a style does to a text; `None` where it says nothing about that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Whether nobody sees it, whatever the styles of the elements in it say.
    pub is_hidden: Option<bool>,
    /// Whether only what is important too says otherwise.
    is_important: bool,
    /// Whether it has no ink.
    pub is_invisible: Option<bool>,
    /// Whether it has no size.
    pub is_small: Option<bool>,
}

impl Effect {
    /// The effect of this and of what counts more. A place or a shape is taken back by no later one.
    fn then(self, later: Self) -> Self {
        let is_known = later.is_hidden.is_some() && (later.is_important || !self.is_important);
        let hiding = if is_known { later } else { self };
        Self {
            is_invisible: later.is_invisible.or(self.is_invisible),
            is_small: later.is_small.or(self.is_small),
            ..hiding
        }
    }
}

/// Cuts a style into its declarations (CSS Syntax, section 5.4.5).
fn declarations(style: &str) -> Vec<Declaration> {
    let (mut all, mut name, mut part) = (Vec::new(), None, String::new());
    let (mut depth, mut quote) = (0_usize, None);
    let mut chars = style.chars().peekable();
    loop {
        let next = chars.next();
        match next {
            Some('\\') => part.extend(unescape(&mut chars)),
            Some(char) if quote.is_some() => {
                quote = quote.filter(|open| *open != char);
                part.push(char);
            }
            Some('/') if chars.peek() == Some(&'*') => {
                let mut last = ' ';
                chars.next();
                chars.find(|char| std::mem::replace(&mut last, *char) == '*' && *char == '/');
            }
            Some(':') if name.is_none() && depth == 0 => name = Some(std::mem::take(&mut part)),
            None | Some(';') if next.is_none() || depth == 0 => {
                let value = std::mem::take(&mut part).to_lowercase();
                let (value, is_important) = match value.rsplit_once('!') {
                    Some((value, mark)) if mark.trim() == "important" => (value, true),
                    _ => (&*value, false),
                };
                if let Some(name) = name.take() {
                    all.push(Declaration {
                        name: name.trim().to_lowercase(),
                        value: value.trim().to_owned(),
                        is_important,
                    });
                }
                if next.is_none() {
                    return all;
                }
            }
            Some('}') if depth == 1 => {
                // The end of a rule within the rule.
                (depth, name) = (0, None);
                part.clear();
            }
            Some(char) => {
                match char {
                    '"' | '\'' => quote = Some(char),
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                part.push(char);
            }
            None => return all,
        }
    }
}

/// The character of an escape, behind its backslash (CSS Syntax, section 4.3.7).
fn unescape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    let mut code = String::new();
    while let Some(digit) = chars.next_if(|char| char.is_ascii_hexdigit() && code.len() < 6) {
        code.push(digit);
    }
    if code.is_empty() {
        return chars.next();
    }
    chars.next_if(|char| char.is_whitespace());
    let code = u32::from_str_radix(&code, 16).ok()?;
    Some(char::from_u32(code).unwrap_or('\u{fffd}'))
}

/// Whether a browser understands a value, as far as it matters here.
fn is_valid(Declaration { name, value, .. }: &Declaration) -> bool {
    let is_any = |words: &str| words.split(' ').any(|word| word == value);
    let is_known = value.contains('(') || ELSEWHERE.contains(&&**value);
    let words = match &**name {
        "display" => {
            let mut words = value.split_whitespace().peekable();
            return is_known
                || words.peek().is_some() && words.all(|word| DISPLAYS.contains(&word));
        }
        "visibility" => "visible hidden collapse",
        "opacity" | "zoom" => "normal",
        "font-size" => {
            "xx-small x-small small medium large x-large xx-large xxx-large smaller larger math"
        }
        name if LENGTHS.contains(&name) => "auto none min-content max-content fit-content",
        _ => return true,
    };
    is_known || is_any(words) || length(value).is_some()
}

/// Values that are those of something else.
const ELSEWHERE: [&str; 6] = [
    "inherit",
    "initial",
    "unset",
    "revert",
    "revert-layer",
    "currentcolor",
];

const DISPLAYS: [&str; 29] = [
    "none",
    "block",
    "inline",
    "inline-block",
    "flex",
    "inline-flex",
    "grid",
    "inline-grid",
    "table",
    "inline-table",
    "table-row",
    "table-cell",
    "table-column",
    "table-caption",
    "table-row-group",
    "table-header-group",
    "table-footer-group",
    "table-column-group",
    "list-item",
    "contents",
    "flow-root",
    "flow",
    "run-in",
    "ruby",
    "math",
    "-webkit-box",
    "-webkit-inline-box",
    "-ms-flexbox",
    "-webkit-flex",
];

/// Properties that are lengths.
const LENGTHS: [&str; 10] = [
    "left",
    "top",
    "right",
    "bottom",
    "text-indent",
    "margin-left",
    "height",
    "max-height",
    "width",
    "max-width",
];

/// A number or a length, in pixels as far as that can be known.
fn length(value: &str) -> Option<f32> {
    let unit = value.trim_start_matches(|char: char| char.is_ascii_digit() || "+-.".contains(char));
    let number: f32 = value[..value.len() - unit.len()].parse().ok()?;
    let pixels = match unit {
        "" | "px" | "q" | "pt" | "%" => 1.0,
        "em" | "rem" | "ch" | "ex" | "ic" | "lh" | "pc" => 16.0,
        "vw" | "vh" | "vmin" | "vmax" => 10.0,
        "in" => 96.0,
        "cm" => 38.0,
        "mm" => 4.0,
        _ => return None,
    };
    Some(number * pixels)
}

/// Whether a size of letters is nothing, or next to it; `None` where that depends on the letters around.
fn is_nothing(size: &str) -> Option<bool> {
    let is_relative = ["em", "%", "ex", "ch"]
        .iter()
        .any(|unit| size.ends_with(unit));
    match length(size) {
        Some(0.0) => Some(true),
        Some(number) if !is_relative || size.ends_with("rem") => Some(number <= 2.0),
        Some(_) => None,
        None => (size == "initial" || size.ends_with("small") || size.ends_with("large"))
            .then_some(false),
    }
}

impl Style {
    /// Reads the `style` of an element.
    pub fn read(style: &str) -> Self {
        Self(declarations(style))
    }

    /// The value of a property, in lower case: the last one that is important, or else the last one. What a
    /// browser does not understand does not count.
    pub fn get(&self, name: &str) -> Option<&str> {
        Some(self.0[self.place(name)?].value.as_str())
    }

    fn place(&self, name: &str) -> Option<usize> {
        let last = |is_important: bool| {
            self.0.iter().rposition(|one| {
                one.name == name && one.is_important == is_important && is_valid(one)
            })
        };
        last(true).or_else(|| last(false))
    }

    /// The size of letters: that of `font-size`, or within `font`; the last one counts.
    fn font_size(&self) -> Option<&str> {
        if self.place("font") < self.place("font-size") {
            return self.get("font-size");
        }
        // A size, perhaps with a line's height, and a family behind it.
        let mut words = self.get("font")?.split_whitespace();
        let size = words.find_map(|word| {
            let size = word.split('/').next()?;
            let is_weight = word.parse::<f32>().is_ok_and(|weight| weight >= 1.0);
            (length(size).is_some() && !is_weight).then_some(size)
        });
        size.filter(|_| words.next().is_some())
    }

    fn effect(&self) -> Effect {
        let is_hidden = if self.hides() {
            Some(true)
        } else {
            self.get("display").map(|_| false)
        };
        Effect {
            is_hidden,
            is_important: is_hidden.is_some() && self.0.iter().any(|one| one.is_important),
            is_invisible: match self.get("visibility") {
                Some("hidden" | "collapse") => Some(true),
                Some("visible" | "initial") => Some(false),
                _ => None,
            },
            is_small: self.font_size().and_then(is_nothing),
        }
    }

    /// Whether all text is invisible, whatever the styles of the elements in it say.
    fn hides(&self) -> bool {
        let get = |name: &'static str| self.get(name).unwrap_or_default();
        let within = |names: &[&'static str], is_meant: &dyn Fn(f32) -> bool| {
            names
                .iter()
                .any(|name| length(get(name)).is_some_and(is_meant))
        };
        let is_zero = |number: f32| number.abs() <= 0.01;
        let is_clipped = (["overflow", "overflow-x", "overflow-y"].iter())
            .any(|name| matches!(get(name), "hidden" | "clip"));
        let is_thin = |name: &'static str| within(&[name], &|number| number <= 1.0);
        let color = get("color");
        get("display") == "none"
            || get("content-visibility") == "hidden"
            || get("mso-hide") == "all"
            || within(&["opacity", "zoom", "scale"], &is_zero)
            || is_clear(color)
            || is_clear(get("-webkit-text-fill-color"))
            || !color.is_empty()
                && !ELSEWHERE.contains(&color)
                && [get("background"), get("background-color")].contains(&color)
            || is_shrunk(get("transform"))
            || get("filter").starts_with("opacity") && numbers(get("filter")).first() == Some(&0.0)
            || within(&LENGTHS[..6], &is_far)
            || is_clipped
                && (within(&LENGTHS[6..], &is_zero)
                    || is_thin("height") && is_thin("width")
                    || get("text-indent") == "100%")
            || is_cut_away(get("clip"))
            || is_cut_away(get("clip-path"))
    }
}

/// Whether a place or a distance is beyond the window.
fn is_far(number: f32) -> bool {
    number <= -500.0 || number >= 5000.0
}

/// The numbers in a function, as they are written.
fn numbers(value: &str) -> Vec<f32> {
    let (_, inner) = value.split_once('(').unwrap_or_default();
    let parts = inner.split(|char: char| char.is_whitespace() || "(,)".contains(char));
    parts.filter_map(length).collect()
}

/// Whether a color cannot be seen.
fn is_clear(color: &str) -> bool {
    let digits = color.strip_prefix('#').unwrap_or_default();
    color == "transparent"
        || matches!(digits.len(), 4 | 8) && digits.ends_with(&"0".repeat(digits.len() / 4))
        || color.contains('(') && numbers(color).get(3) == Some(&0.0)
}

fn is_shrunk(transform: &str) -> bool {
    let numbers = numbers(transform);
    transform.starts_with("scale") && numbers.iter().take(2).any(|number| *number == 0.0)
        || transform.starts_with("translate") && numbers.into_iter().any(is_far)
}

/// Whether a shape leaves nothing of what it clips, or a dot.
fn is_cut_away(shape: &str) -> bool {
    let (name, _) = shape.split_once('(').unwrap_or_default();
    match (name, &*numbers(shape)) {
        ("rect", [top, right, bottom, left, ..]) => bottom - top <= 1.0 || right - left <= 1.0,
        ("inset", [all]) => *all >= 50.0,
        ("inset", [one, two, ..]) => one.max(*two) >= 50.0,
        ("circle" | "ellipse", [radius, ..]) => *radius == 0.0,
        ("polygon", [first, rest @ ..]) => rest.iter().all(|number| number == first),
        _ => false,
    }
}

/// Rules of the page's own sheets.
#[derive(Debug, Default)]
pub struct Sheet {
    /// The sheet that is not read yet.
    text: String,
    rules: Vec<Rule>,
}

/// A rule for one compound selector, such as `p.note`.
#[derive(Debug)]
struct Rule {
    /// Names of an element (after a space), a class (after a dot) and an id (after a hash).
    parts: Vec<(char, String)>,
    effect: Effect,
}

impl Sheet {
    /// Takes a character of a `<style>`.
    pub fn push(&mut self, char: char) {
        if self.text.len() < STYLE_BYTES {
            self.text.push(char);
        }
    }

    /// What the rules for an element and its own style do to its text. What each rule does is known before, so
    /// that a page of many elements costs little.
    pub fn effect(&mut self, tag: &Tag) -> Effect {
        let text = std::mem::take(&mut self.text);
        self.read(&text);
        let mut rules: Vec<_> = self.rules.iter().filter(|rule| rule.fits(tag)).collect();
        rules.sort_by_key(|rule| rule.weight());
        let own = tag.attribute("style").filter(|style| !style.is_empty());
        let own = own.map(|style| Style::read(style).effect());
        let all = rules.iter().map(|rule| rule.effect).chain(own);
        all.fold(Effect::default(), Effect::then)
    }

    fn read(&mut self, text: &str) {
        let text = without_comments(text);
        let mut rest = &*text;
        while let Some(at) = rest.find(['{', '}', ';']) {
            let (head, after) = (rest[..at].trim(), &rest[at + 1..]);
            let is_block = rest[at..].starts_with('{');
            rest = after;
            // What stands in these applies always; its end is passed over like any other that is stray.
            let is_open = ["@media all", "@media screen", "@media only screen"].contains(&head)
                || head.starts_with("@layer");
            if is_block && !is_open {
                let (block, after) = block(rest);
                rest = after;
                if !head.starts_with('@') {
                    self.add(head, block);
                }
            }
        }
    }

    fn add(&mut self, selectors: &str, block: &str) {
        let style = Style::read(&block[..block.floor_char_boundary(STYLE_BLOCK_BYTES)]);
        // What is animated appears by itself.
        let is_animated = style.0.iter().any(|one| {
            one.name.starts_with("animation") && one.value != "none" && one.value != "0s"
        });
        let effect = style.effect();
        if is_animated || effect == Effect::default() {
            return;
        }
        for parts in selectors.split(',').filter_map(compound) {
            if self.rules.len() < STYLE_RULES {
                self.rules.push(Rule { parts, effect });
            }
        }
    }
}

impl Rule {
    fn fits(&self, tag: &Tag) -> bool {
        self.parts.iter().all(|(kind, name)| match kind {
            '.' => {
                let classes = tag.attribute("class").unwrap_or_default();
                classes.split_whitespace().any(|class| class == name)
            }
            '#' => tag.attribute("id") == Some(name),
            _ => tag.name.eq_ignore_ascii_case(name),
        })
    }

    /// Ids count more than classes, and classes more than elements (Selectors 4, section 17).
    fn weight(&self) -> usize {
        let weights = self.parts.iter().map(|(kind, _)| match kind {
            '#' => 10_000,
            '.' => 100,
            _ => 1,
        });
        weights.sum()
    }
}

fn without_comments(text: &str) -> Cow<'_, str> {
    let Some((before, after)) = text.split_once("/*") else {
        return Cow::Borrowed(text);
    };
    let (mut out, mut rest) = (before.to_owned(), after);
    loop {
        rest = rest.split_once("*/").map_or("", |(_, after)| after);
        let (before, after) = rest.split_once("/*").unwrap_or((rest, ""));
        out.push_str(before);
        if after.is_empty() {
            return Cow::Owned(out);
        }
        rest = after;
    }
}

/// A block whose bracket is open, and what follows it.
fn block(text: &str) -> (&str, &str) {
    let (mut depth, mut quote, mut is_escaped) = (1_usize, None, false);
    for (at, char) in text.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if quote.is_some() => quote = quote.filter(|open| *open != char && char != '\n'),
            '"' | '\'' => quote = Some(char),
            '{' => depth += 1,
            '}' if depth == 1 => return (&text[..at], &text[at + 1..]),
            '}' => depth -= 1,
            _ => {}
        }
    }
    (text, "")
}

/// The parts of a selector of names, classes and ids; `None` for any other.
fn compound(selector: &str) -> Option<Vec<(char, String)>> {
    let selector = selector.trim();
    if selector.is_empty() || selector.len() > STYLE_SELECTOR_BYTES {
        return None;
    }
    let mut parts: Vec<(char, String)> = Vec::new();
    let mut chars = selector.chars().peekable();
    while let Some(char) = chars.next() {
        let letter = match char {
            '.' | '#' => {
                parts.push((char, String::new()));
                continue;
            }
            '\\' => unescape(&mut chars)?,
            '-' | '_' => char,
            _ if char.is_alphanumeric() => char,
            _ => return None,
        };
        if parts.is_empty() {
            parts.push((' ', String::new()));
        }
        parts.last_mut()?.1.push(letter);
    }
    Some(parts)
}
