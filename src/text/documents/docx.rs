//! Documents of Word (ECMA-376, part 1, 17): paragraphs, headings, lists, tables and notes.

use super::xml::{self, Part};
use super::zip::Archive;
use super::{Text, Unreadable, Writer};
use crate::text::html::Tag;

/// Bytes of a table's cells that are held until it ends.
const TABLE_BYTES: usize = 512 * 1024;

/// The text of a document and its notes.
pub fn read(archive: &mut Archive<'_>) -> Result<Text, Unreadable> {
    let mut body = Body::default();
    let document = archive.text("word/document.xml");
    xml::read(&document, &mut body);
    body.finish();
    for (part, title) in [
        ("word/footnotes.xml", "Footnotes"),
        ("word/endnotes.xml", "Endnotes"),
        ("word/comments.xml", "Comments"),
    ] {
        let mut notes = Body::default();
        xml::read(&archive.text(part), &mut notes);
        notes.finish();
        if !notes.writer.text.trim().is_empty() {
            body.writer.gap();
            body.writer.line(&format!("[{title}]"));
            body.writer.line(notes.writer.text.trim());
        }
    }
    if !document.contains('<') {
        return Err(Unreadable::Damaged);
    }
    if body.writer.is_cut {
        body.writer
            .text
            .push_str("[the rest of the document is left out]\n");
    }
    if body.writer.text.trim().is_empty() {
        body.writer.line("[there is no text in it]");
    }
    Ok(Text {
        about: "Word document".to_owned(),
        text: body.writer.text,
        next: None,
        is_partial: false,
    })
}

/// State of reading a part.
#[derive(Default)]
struct Body {
    writer: Writer,
    paragraph: String,
    /// The heading's level; 0 for none.
    level: usize,
    is_item: bool,
    /// Depth of tables.
    tables: usize,
    rows: Vec<Vec<String>>,
    cell: String,
    /// Columns that the cell takes.
    span: usize,
    table_bytes: usize,
    is_text: bool,
    /// Depth of what is said twice, in another way for older programs.
    fallbacks: usize,
}

impl Body {
    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let (level, is_item) = (
            std::mem::take(&mut self.level),
            std::mem::take(&mut self.is_item),
        );
        let text = paragraph.trim_end();
        if self.tables > 0 {
            if !text.is_empty() && self.table_bytes < TABLE_BYTES {
                self.table_bytes += text.len();
                if !self.cell.is_empty() {
                    self.cell.push(' ');
                }
                self.cell.push_str(text);
            }
            return;
        }
        match (level, is_item) {
            _ if text.is_empty() => self.writer.gap(),
            (1.., _) => {
                self.writer.gap();
                self.writer.line(&format!("{} {text}", "#".repeat(level)));
                self.writer.gap();
            }
            (_, true) => self.writer.line(&format!("- {text}")),
            _ => self.writer.line(text),
        }
    }

    fn end_table(&mut self) {
        self.tables = self.tables.saturating_sub(1);
        if self.tables == 0 {
            self.table_bytes = 0;
            self.writer.table(std::mem::take(&mut self.rows));
        }
    }

    fn finish(&mut self) {
        self.end_paragraph();
        self.tables = self.tables.min(1);
        if self.tables > 0 {
            self.end_table();
        }
    }
}

impl Part for Body {
    fn start(&mut self, tag: &Tag) {
        if tag.name == "fallback" {
            self.fallbacks += 1;
        }
        let value = tag.attribute("w:val").unwrap_or_default();
        match tag.name.as_str() {
            "t" => self.is_text = self.fallbacks == 0,
            "tab" if !self.paragraph.is_empty() => self.paragraph.push('\t'),
            "br" | "cr" if self.fallbacks == 0 => self.paragraph.push('\n'),
            "nobreakhyphen" => self.paragraph.push('-'),
            "pstyle" => {
                self.level = level_of(value);
                let style = value.to_lowercase();
                self.is_item |= style.starts_with("listbullet") || style.starts_with("listnumber");
            }
            "outlinelvl" => self.level = value.parse().map_or(0, |level: usize| level % 9 + 1),
            "numpr" => self.is_item = true,
            "tbl" => self.tables += 1,
            "tr" if self.tables == 1 && self.table_bytes < TABLE_BYTES => {
                self.rows.push(Vec::new());
            }
            "tc" if self.tables == 1 => (self.cell, self.span) = (String::new(), 1),
            "gridspan" if self.tables == 1 => {
                self.span = value.parse().unwrap_or(1).clamp(1, super::table::COLUMNS);
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "fallback" => self.fallbacks = self.fallbacks.saturating_sub(1),
            "t" => self.is_text = false,
            "p" => self.end_paragraph(),
            "tc" if self.tables == 1 => {
                let cell = std::mem::take(&mut self.cell);
                let span = std::mem::take(&mut self.span).max(1);
                if let Some(row) = self.rows.last_mut()
                    && row.len() + span <= super::table::COLUMNS
                {
                    row.push(cell);
                    row.extend((1..span).map(|_| String::new()));
                }
            }
            "tbl" => self.end_table(),
            _ => {}
        }
    }

    fn text(&mut self, char: char) {
        if self.is_text && self.paragraph.len() < super::TEXT_BYTES {
            self.paragraph.push(char);
        }
    }

    fn is_full(&self) -> bool {
        self.writer.is_cut
    }
}

/// The level of a heading by its style; 0 for other paragraphs.
fn level_of(style: &str) -> usize {
    let style = style.to_lowercase();
    match style.strip_prefix("heading") {
        Some(level) => level.trim().parse().map_or(0, |level: usize| level.min(6)),
        None => usize::from(style == "title"),
    }
}
