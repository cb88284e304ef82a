//! The tools for files: reading, writing, listing and finding.

use super::*;

#[test]
fn read_file_gives_parts_that_say_how_to_go_on() {
    let bench = Bench::new(16_000);
    bench.put("four", "one\r\ntwo\nthree\nfour");
    let read = |arguments| bench.succeeds("read_file", arguments);
    assert_eq!(read(json!({"path": "four"})), "one\ntwo\nthree\nfour\n");
    assert_eq!(
        read(json!({"path": "four", "offset": "2", "limit": 2, "numbered": true})),
        "    2  two\n    3  three\n\n[up to line 3 of a longer file; go on with offset 4]"
    );
    assert_eq!(read(json!({"path": "four", "offset": 4})), "four\n");
    for offset in [5, 500] {
        assert_eq!(
            bench.fails("read_file", json!({"path": "four", "offset": offset})),
            format!("the offset {offset} is beyond the end: the file has 4 lines")
        );
    }
    bench.put("empty", "");
    assert_eq!(read(json!({"path": "empty"})), "[the file is empty]");
    bench.put("latin", b"caf\xe9\n");
    assert_eq!(read(json!({"path": "latin"})), "caf\u{fffd}\n");
}

#[test]
fn read_file_follows_its_own_notes_through_a_long_file() {
    let bench = Bench::new(1000);
    let lines: Vec<String> = (1..=300).map(|number| format!("line {number} ä")).collect();
    bench.put("long", lines.join("\n"));
    let mut offset = 1;
    let mut seen = String::new();
    for _ in 0..300 {
        let text = bench.succeeds("read_file", json!({"path": "long", "offset": offset}));
        assert!(text.chars().count() <= 1000);
        let Some((part, note)) = text.split_once("\n[up to line ") else {
            seen.push_str(&text);
            break;
        };
        seen.push_str(part);
        let next = note.rsplit_once(' ').unwrap().1.trim_end_matches(']');
        offset = next.parse().unwrap();
    }
    assert_eq!(seen.lines().collect::<Vec<_>>(), lines);
    assert!(
        !bench.path(".results").exists(),
        "the file itself has the whole"
    );
}

#[test]
fn read_file_never_reads_a_huge_file_whole() {
    let bench = Bench::new(16_000);
    bench.put("huge", "a line\n".repeat(5000));
    let file = std::fs::File::options()
        .append(true)
        .open(bench.path("huge"));
    file.unwrap().set_len(2 << 30).unwrap();
    let text = bench.succeeds("read_file", json!({"path": "huge"}));
    assert!(text.len() < 16_100);
    assert!(text.contains("go on with offset "), "{text}");
    let text = bench.succeeds("read_file", json!({"path": "huge", "offset": 5001}));
    assert!(text.contains("[this line is longer than what can be shown"));
    let error = bench.fails(
        "edit_file",
        json!({"path": "huge", "old_text": "a", "new_text": "b"}),
    );
    assert!(
        error.starts_with("huge is larger than the limit of "),
        "{error}"
    );
}

#[test]
fn read_file_names_what_is_no_text_and_gives_images() {
    let bench = Bench::new(16_000);
    bench.put("a.zip", b"PK\x03\x04\0\0");
    assert_eq!(
        bench.succeeds("read_file", json!({"path": "a.zip"})),
        "a.zip is not a text file: ZIP archive or Office document, 6 bytes"
    );
    let image = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![7; 20_000]].concat();
    bench.put("a.png", &image);
    let result = bench.run("read_file", json!({"path": "a.png"}));
    assert_eq!(result.text, "a.png: image/png, 20008 bytes");
    assert_eq!(result.images[0].media_type, "image/png");
    assert_eq!(result.images[0].path, "a.png");
    assert!(result.images[0].base64.starts_with("iVBORw0KGgoHBwcH"));
    bench.put("big.png", [image, vec![0; IMAGE_BYTES]].concat());
    let error = bench.fails("read_file", json!({"path": "big.png"}));
    assert!(
        error.contains("larger than the limit of 1500 kB"),
        "{error}"
    );
    bench.put("folder/x", "");
    let error = bench.fails("read_file", json!({"path": "folder"}));
    assert_eq!(error, "cannot read folder: is a directory");
}

#[test]
fn files_are_written_added_to_and_edited() {
    let bench = Bench::new(16_000);
    let note = "notes/today.md";
    assert_eq!(
        bench.succeeds("write_file", json!({"path": note, "content": "one\ntwo\n"})),
        "Wrote 8 bytes to notes/today.md"
    );
    assert_eq!(
        bench.succeeds("append_file", json!({"path": note, "content": "two\n"})),
        "Added 4 bytes to notes/today.md"
    );
    let edit = json!({"path": note, "old_text": "two", "new_text": "2"});
    assert_eq!(
        bench.fails("edit_file", edit),
        "notes/today.md: old_text occurs 2 times, at lines 2, 3; add lines around it until it \
         is unique, or set replace_all"
    );
    let edit = json!({"path": note, "old_text": "two", "new_text": "2", "replace_all": "true"});
    assert_eq!(
        bench.succeeds("edit_file", edit),
        "Edited notes/today.md at 2 places"
    );
    let edit = json!({"path": note, "old_text": "one\n", "new_text": ""});
    assert_eq!(
        bench.succeeds("edit_file", edit),
        "Edited notes/today.md at line 1"
    );
    assert_eq!(bench.text_of(note), "2\n2\n");
    let error = bench.fails("write_file", json!({"path": note, "content": {"a": 1}}));
    assert_eq!(
        error,
        "the parameter content wants the file's whole text, and is an object"
    );
}

#[test]
fn folders_are_listed_and_files_found() {
    let bench = Bench::new(16_000);
    bench.put("src/main.rs", "12345");
    bench.put("src/deep/lib.rs", "");
    bench.put("README.md", "x");
    bench.put(".git/config", "x");
    symlink("src", bench.path("link")).unwrap();
    assert_eq!(
        bench.succeeds("list_dir", json!({"path": "."})),
        ".git/\nREADME.md (1 bytes)\nlink (link)\nsrc/\n"
    );
    assert_eq!(
        bench.succeeds("list_dir", json!({"path": "link", "recursive": true})),
        "deep/\ndeep/lib.rs (0 bytes)\nmain.rs (5 bytes)\n"
    );
    let few = bench.succeeds("list_dir", json!({"path": "", "max_entries": 1}));
    assert!(few.starts_with(".git/\n[there are more than 1;"), "{few}");
    assert!(
        bench
            .fails("list_dir", json!({"path": "README.md"}))
            .contains("not a directory")
    );
    let find = |arguments| bench.succeeds("find_files", arguments);
    assert_eq!(
        find(json!({"glob": "*.rs"})),
        "src/deep/lib.rs\nsrc/main.rs\n"
    );
    assert_eq!(
        find(json!({"glob": "deep/*", "path": "src"})),
        "src/deep/lib.rs\n"
    );
    assert_eq!(find(json!({"type": "folder"})), ".git/\nsrc/\nsrc/deep/\n");
    assert_eq!(find(json!({"glob": "*.py"})), "[nothing found]");
    let error = bench.fails("find_files", json!({"glob": "{a"}));
    assert!(error.starts_with("the glob \"{a\" is wrong: "), "{error}");
    let error = bench.fails("find_files", json!({"type": "pipe"}));
    assert_eq!(
        error,
        "the parameter type wants file or folder, and is \"pipe\""
    );
}

#[test]
fn grep_shows_lines_with_their_numbers_and_surroundings() {
    let bench = Bench::new(16_000);
    bench.put("a/one.txt", "alpha\nbeta\ngamma\ndelta\nepsilon\nBETA\n");
    bench.put("a/two.md", "beta");
    bench.put("binary", b"beta\0beta");
    bench.put(".git/x", "beta");
    let grep = |arguments| bench.succeeds("grep", arguments);
    assert_eq!(
        grep(json!({"pattern": "^beta$"})),
        "a/one.txt\n2: beta\n\na/two.md\n1: beta\n"
    );
    assert_eq!(
        grep(json!({"pattern": "beta", "glob": "*.md", "path": "a"})),
        "a/two.md\n1: beta\n"
    );
    assert_eq!(
        grep(
            json!({"pattern": "beta", "path": "a/one.txt", "case_insensitive": true, "context": 1})
        ),
        "a/one.txt\n1- alpha\n2: beta\n3- gamma\n--\n5- epsilon\n6: BETA\n"
    );
    let one = grep(json!({"pattern": "a", "max_matches": 1, "context": 1}));
    assert!(
        one.starts_with("a/one.txt\n1: alpha\n2- beta\n\n[stopped after 1 matches;"),
        "{one}"
    );
    assert_eq!(grep(json!({"pattern": "none"})), "[no match]");
    bench.put(
        "minified",
        format!("{}needle{}", "x".repeat(5000), "y".repeat(5000)),
    );
    let found = grep(json!({"pattern": "needle"}));
    assert!(found.contains("xneedley") && found.len() < 400, "{found}");
    let error = bench.fails("grep", json!({"pattern": "a("}));
    assert!(
        error.starts_with("the pattern \"a(\" is not understood: "),
        "{error}"
    );
    assert!(error.ends_with("put a \\ before them"), "{error}");
    assert!(
        bench
            .fails("grep", json!({"pattern": "x".repeat(2000)}))
            .contains("limit of 1000")
    );
    let error = bench.fails("grep", json!({"pattern": "((a{500}){500}){500}"}));
    assert!(error.contains("not understood"), "{error}");
}
