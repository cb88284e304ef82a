//! PDF documents (ISO 32000-1): the text of their pages.

mod cmap;
mod content;
mod file;
mod filter;
mod font;
mod glyphs;
mod layout;
mod object;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::{SCAN, TEXT_BYTES, Text, Unreadable, Writer};
use crate::text::count_of;
use content::Reader;
use file::File;
use layout::Page;
use object::Object;

/// Pages of a document.
const PAGES: usize = 20_000;
/// Groups of pages within one another.
const DEPTH: usize = 64;
/// What is said behind the number of pages where there are others, or where a page's contents are missing.
const PARTIAL: &str = "; more of it is missing, because the file is damaged or was cut off";
/// The same where all pages are there with their contents.
const BESIDE: &str = "; all pages are there, but a font, a picture or the like is missing, because the file is \
                      damaged or was cut off";

/// The text of the pages, from one of them on.
pub fn read(bytes: &[u8], first: usize) -> Result<Text, Unreadable> {
    let file = File::new(bytes);
    if file.is_protected() {
        return Err(Unreadable::Protected);
    }
    let Pages { pages, missing } = Pages::of(&file);
    if pages.is_empty() {
        return Err(Unreadable::Damaged);
    }
    if first > pages.len() {
        return Err(Unreadable::Beyond(pages.len()));
    }
    let mut reader = Reader::new(&file);
    let mut writer = Writer::default();
    let mut next = None;
    for (index, (page, resources)) in pages.iter().enumerate().skip(first - 1) {
        let read = reader.read(page, resources);
        let text = describe(index + 1, &read);
        if index + 1 > first && writer.text.len() + text.len() > TEXT_BYTES {
            next = Some(index + 1);
            break;
        }
        writer.line(&text);
    }
    let is_whole = |(page, _): &(Object, Object)| {
        let mut contents = file.contents(page).into_iter();
        contents.all(|number| file.is_whole(number))
    };
    let partial = match (missing > 0 || !pages.iter().all(is_whole), file.is_cut()) {
        (true, _) => PARTIAL,
        (false, true) => BESIDE,
        (false, false) => "",
    };
    let count = count_of(pages.len(), "page", "pages");
    Ok(Text {
        about: format!("PDF document, {count}{partial}"),
        text: writer.text,
        next,
        is_partial: !partial.is_empty(),
    })
}

fn describe(number: usize, page: &Page) -> String {
    let lines: Vec<String> = page.text.trim().lines().map(layout::in_order).collect();
    let text = lines.join("\n");
    let letters = text.chars().count();
    if page.is_partial {
        return format!("[page {number}: a part of it is missing, or all]\n{text}\n");
    }
    match (letters, page.unreadable, page.has_picture) {
        (0, 0, true) => format!("[page {number} has no text: {SCAN}"),
        (0, 0, false) => format!("[page {number} has no text]"),
        (letters, unreadable, _) if unreadable > letters => format!(
            "[page {number}: its fonts do not say which letters {unreadable} of the characters are]\n{text}"
        ),
        _ => format!("[page {number}]\n{text}\n"),
    }
}

/// The pages of a file.
#[derive(Default)]
struct Pages {
    /// Pages with the resources that they inherit.
    pages: Vec<(Object, Object)>,
    /// Parts of their tree that are not in the file, or not whole.
    missing: usize,
}

impl Pages {
    fn of(file: &File<'_>) -> Self {
        let mut found = Self::default();
        let root = file.trailer("Root");
        let root = file.resolve(&root).into_owned();
        let tree = match file.member(&root, "Pages") {
            Object::Dictionary(_) => root.get("Pages").clone(),
            _ => top(file),
        };
        found.collect(file, (&tree, &Object::Null), &mut BTreeSet::new(), 0);
        if found.pages.is_empty() {
            // The tree of pages is damaged.
            found.missing = found.missing.max(1);
            for number in file.numbers() {
                let page = file.find(number).object;
                if page.get("Type").name() == Some("Page") && found.pages.len() < PAGES {
                    found.pages.push((page, Object::Null));
                }
            }
        }
        found
    }

    fn collect(
        &mut self,
        file: &File<'_>,
        (node, inherited): (&Object, &Object),
        seen: &mut BTreeSet<u32>,
        depth: usize,
    ) {
        if let Object::Reference(number) = node {
            if !seen.insert(*number) {
                return;
            }
            self.missing += usize::from(!file.is_whole(*number));
        }
        let node = file.resolve(node);
        if depth > DEPTH || self.pages.len() >= PAGES || !matches!(*node, Object::Dictionary(_)) {
            return;
        }
        let own = file.member(&node, "Resources");
        let resources = if own == Object::Null { inherited } else { &own };
        match file.member(&node, "Kids") {
            Object::Array(kids) => {
                for kid in &kids {
                    self.collect(file, (kid, resources), seen, depth + 1);
                }
            }
            _ => self.pages.push((node.into_owned(), resources.clone())),
        }
    }
}

/// The tree of pages that nothing leads to, because the end of the file is missing.
fn top(file: &File<'_>) -> Object {
    let is_top = |number: &u32| {
        let node = file.find(*number).object;
        node.get("Type").name() == Some("Pages") && *node.get("Parent") == Object::Null
    };
    let found = file.numbers().filter(is_top).last();
    found.map_or(Object::Null, Object::Reference)
}
