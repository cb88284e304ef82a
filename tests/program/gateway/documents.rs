//! Documents that people send: their text is in the question that the model gets, or the reason why not.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use super::scene::Scene;
use crate::harness::executable;
use crate::harness::gateway::Gateway;
use crate::harness::model::{call, say};
use crate::harness::program::{PEACRAB, Program};
use crate::harness::telegram::{Media, Upload};
use crate::harness::wait_until;

/// An input of the fuzz targets.
macro_rules! input {
    ($path:literal) => {
        include_bytes!(concat!("../../fuzz/corpus/", $path))
    };
}

const TWO_PAGES: &[u8] = input!("pdf_document/two-pages");

/// One page, which is a picture.
const PICTURES: &[u8] = b"%PDF-1.4 1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[3 0 R]>>endobj \
    3 0 obj<</Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>endobj 4 0 obj<<>>stream\n/X Do\nendstream endobj \
    5 0 obj<</Subtype/Image>>stream\nx\nendstream endobj trailer<</Root 1 0 R>>";

fn document(name: &str, bytes: &[u8]) -> Upload {
    Upload::new(Media::Document, name, bytes)
}

#[test]
fn a_question_about_a_pdf_is_answered_from_its_text_in_the_same_turn() {
    let scene = Scene::playing([say("96.50 EUR.")]);
    let gateway = scene.start();
    let question = "what does it say about the total?";
    scene
        .ana
        .sends(document("invoice.pdf", TWO_PAGES).caption(question));
    scene.wait_for("96.50 EUR.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    for part in [
        question,
        "-invoice.pdf]",
        "[PDF document, 2 pages. Its whole text, as it is in the file:]",
        "  [page 1]",
        "  Café (Zürich): 3 herons and a crane",
        "  Total   96.50 EUR",
        "  你好",
        "  On page two: the password is swordfish.",
    ] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
}

#[test]
fn tables_of_word_excel_and_spreadsheets_come_as_tables() {
    let files = [
        (
            "birds.docx",
            input!("office_document/document.docx") as &[u8],
        ),
        ("book.xlsx", input!("office_document/book.xlsx")),
        ("names.csv", input!("table_file/gbk.csv")),
        ("west.CSV", input!("table_file/western.csv")),
    ];
    let scene = Scene::playing(files.map(|(name, _)| say(&format!("I have {name}."))));
    let gateway = scene.start();
    for (name, bytes) in files {
        scene.ana.sends(document(name, bytes));
        scene.wait_for(&format!("I have {name}."));
    }
    gateway.stop().ends_with(0);
    for (request, part) in [
        (0, "# The birds"),
        (0, "Seen in May & June:"),
        (0, "- a crane"),
        (0, r"| heron \\| grey | 17 |"),
        (0, "From a boat."),
        (1, "[Excel workbook, 2 sheets: Costs, 空表. Its whole text"),
        (1, "| 2026-03-01 | 0.3 | 茶 | 12.5% |"),
        (1, "| 2026-03-01 14:30 | =SUM(B2:B2) | TRUE | #DIV/0! |"),
        (2, "| 王芳 | 北京 海淀 | 1,5 |"),
        (3, r#"| Müller | Zürich \"West\" |"#),
    ] {
        let asked = scene.asked(request);
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
}

#[test]
fn a_document_without_text_says_why_and_a_hostile_one_harms_nothing() {
    let files = [
        (
            "scan.pdf",
            input!("pdf_document/scan") as &[u8],
            "[page 2 has no text: it seems to be a scan]",
        ),
        (
            "locked.pdf",
            input!("pdf_document/locked"),
            "it is protected by a password",
        ),
        (
            "bomb.pdf",
            input!("pdf_document/bomb"),
            "[PDF document, 1 page. ",
        ),
        (
            "none.pdf",
            b"%PDF-1.7 and nothing",
            "the document is damaged",
        ),
        (
            "cut.pdf",
            input!("pdf_document/cut"),
            "[PDF document, 2 pages; all pages are there, but a font, a picture or the like is missing, because the file is damaged or was cut off. What there is of",
        ),
        (
            "any.docx",
            b"PK\x03\x04 and nothing",
            "the document is damaged",
        ),
        (
            "sheet.xlsx",
            b"PK\x03\x04 and nothing",
            "the document is damaged",
        ),
        (
            "fake.pdf",
            b"just some words",
            "it is not the kind of document that its name says",
        ),
        ("blank.pdf", b"", "it is an empty file"),
    ];
    let scene = Scene::playing(files.map(|(name, ..)| say(&format!("I have {name}."))));
    let gateway = scene.start();
    for (name, bytes, _) in files {
        scene.ana.sends(document(name, bytes));
        scene.wait_for(&format!("I have {name}."));
    }
    gateway.stop().ends_with(0);
    for (index, (name, _, part)) in files.iter().enumerate() {
        let asked = scene.asked(index);
        assert!(asked.contains(part), "{name}: {part} is not in {asked}");
    }
    // The person hears of the same files as the model.
    let told = scene.texts().join("\n");
    for (name, why) in [
        ("locked.pdf", "protected by a password"),
        ("none.pdf", "it is damaged"),
        ("any.docx", "it is damaged"),
        ("sheet.xlsx", "it is damaged"),
        ("fake.pdf", "is not the kind of document that its name says"),
        ("blank.pdf", "it is empty"),
        ("cut.pdf", "the file is damaged or was cut off"),
    ] {
        let mut lines = told.lines();
        let kept = format!("{name} is kept");
        // By the name that it was sent with.
        let is_told = |line: &str| {
            let before = line.split_once(&kept).map(|(before, _)| before);
            before.is_some_and(|it| !it.contains('-')) && line.contains(why)
        };
        assert!(lines.any(is_told), "{name} in {told}");
    }
    // It has a page with text.
    assert!(!told.contains("scan.pdf is kept"), "{told}");
}

#[test]
fn a_scan_and_an_old_document_are_told_to_the_person_too() {
    const OLD: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and the rest";
    let files = [
        (
            "pictures.pdf",
            PICTURES,
            "[page 1 has no text: it seems to be a scan]",
        ),
        ("letter.doc", OLD, "saved as .docx, .xlsx or PDF it can"),
        (
            "secret.docx",
            OLD,
            "it is protected by a password, or of an old format",
        ),
    ];
    let scene = Scene::playing(files.map(|(name, ..)| say(&format!("I have {name}."))));
    let gateway = scene.start();
    for (index, (name, bytes, part)) in files.into_iter().enumerate() {
        scene.ana.sends(document(name, bytes));
        scene.wait_for(&format!("I have {name}."));
        let asked = scene.asked(index);
        assert!(asked.contains(part), "{name}: {part} is not in {asked}");
    }
    gateway.stop().ends_with(0);
    let told = scene.texts().join("\n");
    for part in [
        "pictures.pdf is kept, but its pages are pictures without text (a scan)",
        "letter.doc is kept, but I can't read this kind of document. Save it as .docx",
        "secret.docx is kept, but I can't read it: it is protected by a password, or of an old format.",
    ] {
        assert_eq!(told.matches(part).count(), 1, "{part} in {told}");
    }
}

#[test]
fn the_model_reads_on_from_a_page_of_a_document() {
    let read = |page| call("read_file", json!({"path": "two.pdf", "page": page}));
    let scene = Scene::playing([read(2), read(3), say("Swordfish.")]);
    std::fs::write(scene.home.workspace("two.pdf"), TWO_PAGES).unwrap();
    let gateway = scene.start();
    scene.ana.says("what is on page two?");
    scene.wait_for("Swordfish.");
    gateway.stop().ends_with(0);
    let result = |request: usize| {
        scene.model.requests()[request].messages().last().unwrap()["content"].to_string()
    };
    let page = result(1);
    assert!(
        page.contains("the password is swordfish") && !page.contains("Invoice 4711"),
        "{page}"
    );
    let beyond = result(2);
    assert!(beyond.contains("it ends with page or sheet 2"), "{beyond}");
}

#[test]
fn what_our_reader_cannot_read_is_read_by_pdftotext_where_it_is_there() {
    let scene = Scene::playing([say("Read.")]);
    let bin = scene.home.workspace("bin");
    std::fs::create_dir_all(&bin).unwrap();
    executable::script(&bin.join("pdftotext"), "echo \"by poppler: $*\"\n");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let program = Program::new(&scene.home).arg("gateway").env("PATH", &path);
    let gateway = Gateway::of(program);
    scene
        .ana
        .sends(document("locked.pdf", input!("pdf_document/locked")));
    scene.wait_for("Read.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    for part in [
        "[PDF document, as `pdftotext` reads it. Its whole text, as it is in the file:]",
        "  by poppler: -q /",
    ] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
}

#[test]
fn a_reader_of_documents_is_confined_before_it_reads() {
    let mut reader = Command::new(PEACRAB)
        .args(["__document", "table", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let process = format!("/proc/{}", reader.id());
    let read = |name: &str| fs::read_to_string(format!("{process}/{name}")).unwrap_or_default();
    // It has read nothing yet, and waits for its input.
    wait_until("the system call filter", || {
        read("status").contains("\nSeccomp:\t2")
    });
    let (status, limits) = (read("status"), read("limits"));
    for line in ["NoNewPrivs:\t1", "CapEff:\t0000000000000000"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    for (name, soft) in [
        ("Max cpu time", "50"),
        ("Max data size", "201326592"),
        ("Max file size", "0"),
        ("Max open files", "0"),
        ("Max processes", "0"),
        ("Max core file size", "0"),
    ] {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        let value = line.trim_start_matches(name).split_whitespace().next();
        assert_eq!(value, Some(soft), "{line}");
    }
    reader
        .stdin
        .take()
        .unwrap()
        .write_all(b"a,b\n1,2\n")
        .unwrap();
    let output = reader.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains('1'), "{text}");
}
