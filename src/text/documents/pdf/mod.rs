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

/// The text of the pages, from one of them on.
pub fn read(bytes: &[u8], first: usize) -> Result<Text, Unreadable> {
    let file = File::new(bytes);
    if file.is_protected() {
        return Err(Unreadable::Protected);
    }
    let pages = pages(&file);
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
    Ok(Text {
        about: format!("PDF document, {}", count_of(pages.len(), "page", "pages")),
        text: writer.text,
        next,
    })
}

fn describe(number: usize, page: &Page) -> String {
    let lines: Vec<String> = page.text.trim().lines().map(layout::in_order).collect();
    let text = lines.join("\n");
    let letters = text.chars().count();
    match (letters, page.unreadable, page.has_picture) {
        (0, 0, true) => format!("[page {number} has no text: {SCAN}"),
        (0, 0, false) => format!("[page {number} has no text]"),
        (letters, unreadable, _) if unreadable > letters => format!(
            "[page {number}: its fonts do not say which letters {unreadable} of the characters are]\n{text}"
        ),
        _ => format!("[page {number}]\n{text}\n"),
    }
}

/// The pages with the resources that they inherit.
fn pages(file: &File<'_>) -> Vec<(Object, Object)> {
    let root = file.trailer("Root");
    let root = file.resolve(&root).into_owned();
    let mut pages = Vec::new();
    let mut seen = BTreeSet::new();
    collect(
        file,
        (root.get("Pages"), &Object::Null),
        (&mut pages, &mut seen),
        0,
    );
    if pages.is_empty() {
        // The tree of pages is damaged.
        for number in file.numbers() {
            let found = file.find(number).object;
            if found.get("Type").name() == Some("Page") && pages.len() < PAGES {
                pages.push((found, Object::Null));
            }
        }
    }
    pages
}

fn collect(
    file: &File<'_>,
    (node, inherited): (&Object, &Object),
    (pages, seen): (&mut Vec<(Object, Object)>, &mut BTreeSet<u32>),
    depth: usize,
) {
    if let Object::Reference(number) = node
        && !seen.insert(*number)
    {
        return;
    }
    let node = file.resolve(node);
    if depth > DEPTH || pages.len() >= PAGES || !matches!(*node, Object::Dictionary(_)) {
        return;
    }
    let own = file.member(&node, "Resources");
    let resources = if own == Object::Null { inherited } else { &own };
    match file.member(&node, "Kids") {
        Object::Array(kids) => {
            for kid in &kids {
                collect(file, (kid, resources), (pages, seen), depth + 1);
            }
        }
        _ => pages.push((node.into_owned(), resources.clone())),
    }
}
