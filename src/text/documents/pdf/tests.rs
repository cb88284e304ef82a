//! Documents of other shapes than those of the fuzz targets' corpus.

use super::*;

/// A document of one page with this content and these resources, without tables of where its objects are.
fn page(content: &str, resources: &str) -> String {
    let text = format!(
        "%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[3 0 R]>>endobj\n\
         3 0 obj<</Type/Page/Contents 4 0 R/Resources<<{resources}>>>>endobj\n\
         4 0 obj<</Length 5 0 R>>stream\n{content}\nendstream endobj 5 0 obj {} endobj\ntrailer<</Root 1 0 R>>",
        content.len()
    );
    super::read(text.as_bytes(), 1).unwrap().text
}

fn show(content: &str) -> String {
    let font = "/Font<</F <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>";
    let text = page(&format!("BT /F 10 Tf {content} ET"), font);
    text.trim()
        .strip_prefix("[page 1]\n")
        .unwrap_or(&text)
        .to_owned()
}

#[test]
fn lines_and_words_come_from_places() {
    for (content, expected) in [
        ("(one) Tj 0 -12 Td (two) Tj", "one\ntwo"),
        ("(one) Tj 0 -30 Td (two) Tj", "one\n\ntwo"),
        ("12 TL (one) Tj (two) '", "one\ntwo"),
        ("[(o)20(ne)-300(two)] TJ", "one two"),
        ("(bold) Tj 0.2 0 Td (bold) Tj", "bold"),
        ("(\\101\\(\\)(x)\\\nB) Tj", "A()(x)B"),
        ("<4142 4> Tj", "AB@"),
        (
            "0 1 -1 0 0 0 Tm (up) Tj 0 1 -1 0 12 0 Tm (wards) Tj",
            "up\nwards",
        ),
        ("q 2 0 0 2 0 0 cm (in) Tj Q", "in"),
        ("BI /W 1 ID \x01EI\x02 EI (after) Tj", "after"),
        ("1 0 0 1 0 0 Tm (a) Tj (unended", "a"),
    ] {
        assert_eq!(show(content), expected, "{content}");
    }
}

#[test]
fn a_form_within_itself_ends() {
    let text = page("/X Do", "/XObject<</X 4 0 R>>");
    assert!(
        text.contains("[page 1 has no text: it seems to be a scan]"),
        "{text}"
    );
    let whole = "%PDF-1.4 1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[2 0 R 3 0 R 3 0 R]>>endobj \
        3 0 obj<</Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>endobj 4 0 obj<<>>stream\n/X Do\nendstream endobj \
        5 0 obj<</Subtype/Form>>stream\n/X Do /X Do\nendstream endobj trailer<</Root 1 0 R>>";
    let read = super::read(whole.as_bytes(), 1).unwrap();
    assert_eq!(read.about, "PDF document, 1 page");
}

#[test]
fn the_later_object_counts_and_pages_are_found_without_their_tree() {
    let text = "%PDF-1.4 4 0 obj<</Type/Page/Contents 6 0 R>>endobj 6 0 obj<<>>stream\nold\nendstream endobj \
        7 0 obj<</Type/Page/Contents 6 0 R/Resources<</Font<</F<</Subtype/Type1>>>>>>>>endobj \
        6 0 obj<</Length 99999>>stream\nBT /F 9 Tf (new) Tj ET\nendstream";
    let read = super::read(text.as_bytes(), 1).unwrap();
    assert!(
        read.is_partial
            && read
                .about
                .starts_with("PDF document, 2 pages; more of it is missing")
    );
    assert!(read.text.ends_with("[page 2]\nnew\n\n"), "{}", read.text);
    let second = super::read(text.as_bytes(), 2).unwrap();
    assert!(!second.text.contains("page 1"));
    assert_eq!(super::read(text.as_bytes(), 3), Err(Unreadable::Beyond(2)));
}

#[test]
fn a_file_that_was_cut_off_says_so_and_one_without_its_tables_is_whole() {
    let page = |number: usize| {
        let content = number + 1;
        format!(
            "{number} 0 obj<</Type/Page/Parent 2 0 R/Contents {content} 0 R/Resources<</Font<</F<</Subtype/Type1>>>>>>>>\
             endobj {content} 0 obj<</Length 40>>stream\nBT /F 9 Tf (words of page {number}) Tj ET         \nendstream endobj "
        )
    };
    let tree = "%PDF-1.4 1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj \
        2 0 obj<</Type/Pages/Count 3/Kids[3 0 R 5 0 R 7 0 R]>>endobj ";
    let two = format!("{tree}{}{}", page(3), page(5));
    let whole = format!("{two}{}", page(7));
    let read = |text: &str| super::read(text.as_bytes(), 1).unwrap();
    let of_all = read(&whole);
    assert_eq!(of_all.about, "PDF document, 3 pages");
    assert!(!of_all.is_partial && of_all.text.contains("words of page 7"));
    let of_two = read(&two);
    assert!(of_two.is_partial && of_two.text.contains("words of page 5"));
    let about =
        "PDF document, 2 pages; more of it is missing, because the file is damaged or was cut off";
    assert_eq!(of_two.about, about);
    // In the middle of the last page's contents, of its own object, and between the two.
    let last = whole.rfind("words").unwrap();
    let object = whole.rfind("/Resources").unwrap();
    let between = whole.rfind("8 0 obj").unwrap();
    for at in [last + 3, object, between] {
        let cut = read(&whole[..at]);
        assert!(
            cut.is_partial && cut.about.starts_with("PDF document, 3 pages; "),
            "{at}"
        );
        let mark = "[page 3: a part of it is missing, or all]";
        assert!(cut.text.contains(mark), "{at}: {}", cut.text);
    }
    let font = read(&format!("{whole}9 0 obj<</Length 40>>stream\nhalf a fo"));
    let about = "PDF document, 3 pages; all pages are there, but a font, a picture or the like is missing, \
                 because the file is damaged or was cut off";
    assert_eq!(font.about, about);
    assert!(font.is_partial && !font.text.contains("a part of it is missing"));
}

#[test]
fn filters_are_undone() {
    let null = Object::Null;
    for (name, packed, plain) in [
        ("ASCIIHexDecode", &b"48 65 6c6C6f>00"[..], "Hello"),
        ("ASCII85Decode", b"87cURD]i,\"Ebo80~>", "Hello World!"),
        (
            "RunLengthDecode",
            &[1, b'a', b'b', 254, b'c', 128, 9],
            "abccc",
        ),
        (
            "LZWDecode",
            &[0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01],
            "-----A---B",
        ),
    ] {
        let decoded = filter::decode(name, &null, packed, 1000).unwrap();
        assert_eq!(String::from_utf8_lossy(&decoded), plain, "{name}");
    }
    assert_eq!(filter::decode("DCTDecode", &null, b"", 1000), None);
}

#[test]
fn glyphs_have_the_texts_of_their_names() {
    for (name, text) in [
        ("A", "A"),
        ("eacute", "é"),
        ("Odieresis", "Ö"),
        ("ccedilla", "ç"),
        ("ohungarumlaut", "ő"),
        ("alpha", "α"),
        ("uni4F60", "你"),
        ("u1F600", "😀"),
        ("f_i.alt", ""),
        ("a.sc", "a"),
        ("fi", "fi"),
        ("g123", ""),
        ("percent", "%"),
    ] {
        assert_eq!(glyphs::text_of(name).unwrap_or_default(), text, "{name}");
    }
    assert_eq!(
        layout::in_order("Arabic: \u{627}\u{628} \u{62a}!"),
        "Arabic: \u{62a} \u{628}\u{627}!"
    );
}
