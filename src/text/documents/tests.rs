//! Documents of other shapes than those that people send in the stories.

use super::*;

/// An archive of stored parts.
fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in parts {
        let offset = bytes.len() as u32;
        let (size, length) = (text.len() as u32, name.len() as u16);
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend([size.to_le_bytes(), size.to_le_bytes()].concat());
        common.extend(length.to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(
            [
                b"PK\x03\x04",
                common.as_slice(),
                name.as_bytes(),
                text.as_bytes(),
            ]
            .concat(),
        );
        directory.extend([b"PK\x01\x02\x14\0", common.as_slice(), &[0; 10]].concat());
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let offset = bytes.len() as u32;
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0");
    bytes.extend(offset.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

fn text_of(kind: Kind, bytes: &[u8]) -> String {
    read(kind, bytes, 1).unwrap().text
}

fn word(body: &str) -> String {
    let parts = [("word/document.xml", body)];
    text_of(Kind::Office, &archive(&parts))
}

#[test]
fn a_file_is_a_document_by_its_beginning_and_its_name() {
    for (name, beginning, kind) in [
        ("a.pdf", &b"%PDF-1.4"[..], Some(Kind::Pdf)),
        ("a", b"%PDF-1.4", Some(Kind::Pdf)),
        ("a.PDF", b"\r\n%PDF-1.4", Some(Kind::Pdf)),
        ("a.txt", b"\r\n%PDF-1.4", None),
        ("a.docx", b"PK\x03\x04", Some(Kind::Office)),
        (
            "a.zip",
            b"PK\x03\x04 and what follows it is a name: xl/",
            None,
        ),
        (
            "a",
            b"PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0xl/workbook.xml",
            Some(Kind::Office),
        ),
        ("a.TSV", b"a\tb", Some(Kind::Table)),
        ("csv", b"a,b", None),
    ] {
        assert_eq!(Kind::detect(name, beginning), kind, "{name}");
    }
}

#[test]
fn words_are_said_once_and_tables_within_tables_stay_in_their_cell() {
    let run = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let choice = format!(
        "<mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback>{0}</mc:Fallback></mc:AlternateContent>",
        run("box")
    );
    assert_eq!(word(&format!("<w:body>{choice}</w:body>")).trim(), "box");
    let row = |cells: &str| format!("<w:tbl><w:tr>{cells}</w:tr></w:tbl>");
    let inner = row(&format!(
        "<w:tc>{}</w:tc><w:tc>{}</w:tc>",
        run("x"),
        run("y")
    ));
    let outer = row(&format!(
        "<w:tc>{}{inner}</w:tc><w:tc>{}</w:tc>",
        run("a"),
        run("b")
    ));
    assert_eq!(word(&outer).trim(), "| a x y | b |\n| --- | --- |");
    let deleted = "<w:p><w:del><w:delText>no</w:delText></w:del><w:t>yes</w:t></w:p>";
    assert_eq!(word(deleted).trim(), "yes");
    assert_eq!(word("<w:body/>").trim(), "[there is no text in it]");
    // A document that ends in the middle of a table.
    assert!(word("<w:tbl><w:tr><w:tc><w:p><w:t>a</w:t></w:p></w:tc>").contains("| a |"));
}

#[test]
fn what_is_no_document_or_has_no_such_page_is_an_error() {
    let other = archive(&[("a.txt", "x")]);
    assert_eq!(read(Kind::Office, &other, 1), Err(Unreadable::Unknown));
    assert_eq!(read(Kind::Office, b"PK", 1), Err(Unreadable::Damaged));
    assert_eq!(read(Kind::Pdf, b"%PDF-1.7", 1), Err(Unreadable::Damaged));
    let sheet = "<workbook><sheets><sheet name=\"A\" r:id=\"x\"/></sheets></workbook>";
    let book = archive(&[("xl/workbook.xml", sheet)]);
    assert_eq!(read(Kind::Office, &book, 2), Err(Unreadable::Beyond(1)));
    assert!(text_of(Kind::Office, &book).contains("[this sheet is empty]"));
}

#[test]
fn empty_rows_of_a_sheet_keep_the_places_of_the_others() {
    let row = |number: u32, text: &str| {
        let text = format!("<is><t>{text}</t></is>");
        format!("<row r=\"{number}\"><c r=\"A{number}\" t=\"inlineStr\">{text}</c></row>")
    };
    let rows = [
        row(1, "one"),
        row(3, "three"),
        "<row r=\"4\"/>".into(),
        row(90, "ninety"),
    ];
    let rows = format!(
        "<worksheet><sheetData>{}</sheetData></worksheet>",
        rows.concat()
    );
    let sheets = "<workbook><sheets><sheet name=\"A\" r:id=\"x\"/></sheets></workbook>";
    let parts = [
        ("xl/workbook.xml", sheets),
        ("xl/worksheets/sheet1.xml", &rows),
    ];
    let text = text_of(Kind::Office, &archive(&parts));
    let table = "| one |\n| --- |\n|  |\n| three |\n| [rows 4 to 89 are empty] |\n| ninety |\n";
    assert!(text.contains(table), "{text}");
}

#[test]
fn a_long_text_ends_and_says_so() {
    let row = "a,b\n".repeat(TEXT_BYTES / 8);
    let text = text_of(Kind::Table, row.as_bytes());
    assert!(text.len() < TEXT_BYTES + 100);
    assert!(text.ends_with("[the rest of the table is left out]\n"));
    let paragraph = format!("<w:p><w:t>{}</w:t></w:p>", "word ".repeat(100));
    let text = word(&paragraph.repeat(TEXT_BYTES / 400));
    assert!(text.len() < TEXT_BYTES + 100);
    assert!(text.ends_with("[the rest of the document is left out]\n"));
}

#[test]
fn separators_quotes_and_rows_without_an_end_are_understood() {
    for (text, expected) in [
        ("a;b\n1,5;2", "| a | b |\n| --- | --- |\n| 1,5 | 2 |\n"),
        ("sep=|\na|b;c\n", "| a | b;c |\n| --- | --- |\n"),
        ("a,\"b\"\"c\nd", "| a | b\"c d |\n| --- | --- |\n"),
        (
            "\u{feff}a\tb\r\n\r\n1\t2\r\n",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
        ),
        ("", ""),
    ] {
        assert_eq!(text_of(Kind::Table, text.as_bytes()), expected, "{text:?}");
    }
}
