//! Workbooks of Excel (ECMA-376, part 1, 18): the sheets as tables, with the values that the program computed.

mod number;

use super::table::COLUMNS;
use super::xml::{self, Part};
use super::zip::Archive;
use super::{TEXT_BYTES, Text, Unreadable, Writer};
use crate::text::count_of;
use crate::text::html::Tag;
use number::Format;

/// Sheets of a workbook.
const SHEETS: usize = 256;
/// Bytes of the texts that cells share.
const SHARED_BYTES: usize = 16 * 1024 * 1024;
/// Rows without values one after another that are shown as such.
const EMPTY_ROWS: usize = 3;
/// Names of sheets that the description of a workbook shows.
const SHOWN_SHEETS: usize = 20;

/// The sheets, from one of them on.
pub fn read(archive: &mut Archive<'_>, first: usize) -> Result<Text, Unreadable> {
    let mut book = Book::default();
    xml::read(&archive.text("xl/workbook.xml"), &mut book);
    let mut relations = Relations::default();
    xml::read(&archive.text("xl/_rels/workbook.xml.rels"), &mut relations);
    let mut shared = Shared::default();
    xml::read(&archive.text("xl/sharedstrings.xml"), &mut shared);
    let mut styles = Styles::default();
    xml::read(&archive.text("xl/styles.xml"), &mut styles);
    let count = book.sheets.len();
    if count == 0 {
        return Err(Unreadable::Damaged);
    }
    if first > count {
        return Err(Unreadable::Beyond(count));
    }
    let mut writer = Writer::default();
    let mut next = None;
    for (index, (name, id)) in book.sheets.iter().enumerate().skip(first - 1) {
        if writer.is_full() {
            next = Some(index + 1);
            break;
        }
        writer.gap();
        writer.line(&format!("[sheet {}: {name}]", index + 1));
        let path = relations.path(id, index);
        let mut sheet = Sheet {
            shared: &shared.texts,
            styles: &styles,
            is_1904: book.is_1904,
            ..Sheet::default()
        };
        xml::read(&archive.text(&path), &mut sheet);
        let is_cut = sheet.is_full();
        match sheet.rows.is_empty() {
            true => writer.line("[this sheet is empty]"),
            false => writer.table(sheet.rows),
        }
        if is_cut || writer.is_cut {
            writer
                .text
                .push_str("[the rest of this sheet is left out: a program has to read it]\n");
            next = (index + 1 < count).then_some(index + 2);
            break;
        }
    }
    let names = book.sheets.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.take(SHOWN_SHEETS).collect();
    Ok(Text {
        about: format!(
            "Excel workbook, {}: {}",
            count_of(count, "sheet", "sheets"),
            names.join(", ")
        ),
        text: writer.text,
        next,
        is_partial: false,
    })
}

/// The sheets of a workbook, by name and relation.
#[derive(Default)]
struct Book {
    sheets: Vec<(String, String)>,
    is_1904: bool,
}

impl Part for Book {
    fn start(&mut self, tag: &Tag) {
        let value = |name| tag.attribute(name).unwrap_or_default();
        match tag.name.as_str() {
            "sheet" if self.sheets.len() < SHEETS => {
                let relation = tag.attributes().find(|(name, _)| name.ends_with(":id"));
                let name = value("name").replace(char::is_control, " ");
                let relation = relation.map_or("", |(_, id)| id);
                self.sheets.push((name, relation.to_owned()));
            }
            "workbookpr" => self.is_1904 = matches!(value("date1904"), "1" | "true"),
            _ => {}
        }
    }

    fn end(&mut self, _name: &str) {}

    fn text(&mut self, _char: char) {}
}

/// The paths of parts.
#[derive(Default)]
struct Relations(Vec<(String, String)>);

impl Relations {
    fn path(&self, id: &str, index: usize) -> String {
        let found = self.0.iter().find(|(known, _)| known == id);
        match found.map(|(_, target)| target.as_str()) {
            Some(target) if target.starts_with('/') => target.to_owned(),
            Some(target) => format!("xl/{}", target.trim_start_matches("./")),
            None => format!("xl/worksheets/sheet{}.xml", index + 1),
        }
    }
}

impl Part for Relations {
    fn start(&mut self, tag: &Tag) {
        if let (Some(id), Some(target)) = (tag.attribute("id"), tag.attribute("target"))
            && self.0.len() < SHEETS * 2
        {
            self.0.push((id.to_owned(), target.to_owned()));
        }
    }

    fn end(&mut self, _name: &str) {}

    fn text(&mut self, _char: char) {}
}

/// The texts that cells refer to.
#[derive(Default)]
struct Shared {
    texts: Vec<String>,
    text: String,
    bytes: usize,
    is_text: bool,
    /// Within the reading of Chinese or Japanese characters.
    is_reading: bool,
}

impl Part for Shared {
    fn start(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "t" => self.is_text = !self.is_reading,
            "rph" => self.is_reading = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.is_text = false,
            "rph" => self.is_reading = false,
            "si" => self.texts.push(std::mem::take(&mut self.text)),
            _ => {}
        }
    }

    fn text(&mut self, char: char) {
        if self.is_text {
            self.text.push(char);
            self.bytes += char.len_utf8();
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > SHARED_BYTES
    }
}

/// How numbers are shown, by the style of a cell.
#[derive(Default)]
struct Styles {
    own: Vec<(u32, Format)>,
    cells: Vec<Format>,
    is_cells: bool,
}

impl Part for Styles {
    fn start(&mut self, tag: &Tag) {
        let id = || tag.attribute("numfmtid")?.parse().ok();
        match tag.name.as_str() {
            "numfmt" => {
                let code = tag.attribute("formatcode").unwrap_or_default();
                self.own
                    .extend(id().map(|id: u32| (id, Format::of_code(code))));
            }
            "cellxfs" => self.is_cells = true,
            "xf" if self.is_cells => {
                let id = id().unwrap_or(0);
                let own = self.own.iter().find(|(known, _)| *known == id);
                let format = own.map_or_else(|| Format::built_in(id), |(_, format)| *format);
                self.cells.push(format);
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        self.is_cells &= name != "cellxfs";
    }

    fn text(&mut self, _char: char) {}
}

/// The rows of a sheet up to the last one that has values.
#[derive(Default)]
struct Sheet<'a> {
    shared: &'a [String],
    styles: &'a Styles,
    is_1904: bool,
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    /// The number of the current row, from 1, and of the last one that had values.
    number: usize,
    last: usize,
    /// The column of the current cell, from 0, and of the first one that has a value.
    column: usize,
    bytes: usize,
    kind: String,
    format: Format,
    /// The element whose text is read.
    within: Within,
    value: String,
    formula: String,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Within {
    #[default]
    Nothing,
    Value,
    Formula,
}

impl Default for &Styles {
    fn default() -> Self {
        const NONE: &Styles = &Styles {
            own: Vec::new(),
            cells: Vec::new(),
            is_cells: false,
        };
        NONE
    }
}

impl Sheet<'_> {
    fn start_cell(&mut self, tag: &Tag) {
        let named = tag.attribute("r").and_then(column_of);
        self.column = named.unwrap_or(self.row.len());
        let style = tag.attribute("s").and_then(|style| style.parse().ok());
        let style: usize = style.unwrap_or(0);
        self.format = self.styles.cells.get(style).copied().unwrap_or_default();
        self.kind = tag.attribute("t").unwrap_or_default().to_owned();
        (self.value, self.formula) = (String::new(), String::new());
    }

    /// Adds the rows without values before the current one, so that rows keep their numbers: many as a note.
    fn add_empty(&mut self) {
        let first = self.last + 1;
        match self.number.saturating_sub(first) {
            count @ 0..=EMPTY_ROWS => {
                (0..count).for_each(|_| self.rows.push(vec![String::new()]));
            }
            _ => {
                let note = format!("[rows {first} to {} are empty]", self.number - 1);
                self.rows.push(vec![note]);
            }
        }
        self.last = self.number.max(first);
    }

    fn end_cell(&mut self) {
        let value = std::mem::take(&mut self.value);
        let formula = std::mem::take(&mut self.formula);
        let shown = match self.kind.as_str() {
            _ if value.is_empty() && !formula.is_empty() => format!("={formula}"),
            "s" => {
                let text = value.trim().parse().ok();
                let text = text.and_then(|index: usize| self.shared.get(index));
                text.cloned().unwrap_or_default()
            }
            "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            "" | "n" if !value.is_empty() => self.format.show(value.trim(), self.is_1904),
            _ => value,
        };
        if shown.is_empty() || self.column >= COLUMNS {
            return;
        }
        if self.row.len() <= self.column {
            self.row.resize(self.column + 1, String::new());
        }
        self.bytes += shown.len() + 3;
        if let Some(cell) = self.row.get_mut(self.column) {
            *cell = shown;
        }
    }
}

impl Part for Sheet<'_> {
    fn start(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "c" => self.start_cell(tag),
            "v" | "t" => self.within = Within::Value,
            "f" => self.within = Within::Formula,
            "row" => {
                self.row.clear();
                let named = tag.attribute("r").and_then(|number| number.parse().ok());
                self.number = named.unwrap_or(self.number + 1);
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "v" | "t" | "f" => self.within = Within::Nothing,
            "c" => self.end_cell(),
            "row" if !self.row.is_empty() => {
                self.add_empty();
                self.bytes += self.row.len() * 2;
                self.rows.push(std::mem::take(&mut self.row));
            }
            _ => {}
        }
    }

    fn text(&mut self, char: char) {
        let text = match self.within {
            Within::Nothing => return,
            Within::Value => &mut self.value,
            Within::Formula => &mut self.formula,
        };
        if text.len() < TEXT_BYTES {
            text.push(char);
        }
    }

    fn is_full(&self) -> bool {
        self.bytes > TEXT_BYTES
    }
}

/// The column of a cell such as `AB12`, from 0.
fn column_of(cell: &str) -> Option<usize> {
    let letters = cell.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let digit = |byte: u8| usize::from(byte.to_ascii_uppercase() - b'A') + 1;
    letters
        .fold(0, |column, byte| column * 26 + digit(byte))
        .checked_sub(1)
}
