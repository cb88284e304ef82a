use proptest::prelude::*;

use super::draw::draw;
use super::*;

fn shown(bytes: &[u8]) -> String {
    let mut emulator = Emulator::new(20, 5);
    emulator.feed(bytes);
    emulator.screen().text(None)
}

#[test]
fn the_screen_shows_what_was_written_where_it_was_written() {
    assert_eq!(shown(b"hello\r\n  world  "), "hello\n  world");
    assert_eq!(shown(b"10%\r20%\r30%"), "30%");
    assert_eq!(shown(b"abc\x08\x08X"), "aXc");
    assert_eq!(shown(b"\x1b[3;5Hhere"), "\n\n    here");
    assert_eq!(shown(b"a\x1b[2J\x1b[Hb"), "b");
    assert_eq!(shown(b"\x1b[31mred\x1b[0m"), "red");
    assert_eq!(shown("日本x".as_bytes()), "日本x");
    assert_eq!(shown(b"1\r\n2\r\n3\r\n4\r\n5\r\n6"), "2\n3\n4\n5\n6");
}

#[test]
fn the_alternate_screen_covers_the_other_one_and_goes() {
    let mut emulator = Emulator::new(20, 5);
    emulator.feed(b"$ vi\r\n\x1b[?1049h\x1b[?1h\x1b[?2004h\x1b[H~");
    let screen = emulator.screen();
    assert_eq!(screen.text(None), "~");
    assert!(screen.is_alternate() && screen.has_application_cursor());
    assert!(screen.has_bracketed_paste());
    emulator.feed(b"\x1b[?1049l\x1b[?1l\x1b[?2004l$ ");
    let screen = emulator.screen();
    assert_eq!(screen.text(None), "$ vi\n$");
    assert!(!screen.is_alternate() && !screen.has_application_cursor());
}

#[test]
fn the_cursor_is_marked_where_it_is_shown() {
    let mut emulator = Emulator::new(20, 5);
    let mark = |text: &str| format!("[{text}]");
    emulator.feed(b"$ ls");
    assert_eq!(emulator.screen().text(Some(&mark)), "$ ls[ ]");
    emulator.feed(b"\x1b[D");
    assert_eq!(emulator.screen().text(Some(&mark)), "$ l[s]");
    emulator.feed(b"\x1b[?25l");
    assert_eq!(emulator.screen().text(Some(&mark)), "$ ls");
}

#[test]
fn what_programs_ask_is_answered() {
    let mut emulator = Emulator::new(80, 24);
    assert_eq!(emulator.feed(b"\x1b[5n"), b"\x1b[0n");
    assert_eq!(emulator.feed(b"\x1b[3;7H\x1b[6n"), b"\x1b[3;7R");
    assert_eq!(emulator.feed(b"\x1b[c"), IDENTITY.as_bytes());
    assert_eq!(emulator.feed(b"\x1bZ"), IDENTITY.as_bytes());
    assert_eq!(emulator.feed(b"\x1b[>c"), b"\x1b[>0;10;1c");
    assert_eq!(emulator.feed(b"\x1b[18t"), b"\x1b[8;24;80t");
    assert_eq!(emulator.feed(b"\x1b[?12$p"), b"\x1b[?12;0$y");
    let color = emulator.feed(b"\x1b]11;?\x07");
    assert!(color.starts_with(b"\x1b]11;rgb:"));
    assert_eq!(emulator.feed(b"nothing"), b"");
    let many = emulator.feed(&b"\x1b[c".repeat(10_000));
    assert!(!many.is_empty() && many.len() <= super::REPLIES_BYTES);
}

#[test]
fn a_title_is_short_and_has_no_controls() {
    let mut emulator = Emulator::new(80, 24);
    emulator.feed(format!("\x1b]2;vim \u{9b}x{}\x07", "y".repeat(500)).as_bytes());
    let screen = emulator.screen();
    assert!(screen.title().starts_with("vim xy"), "{}", screen.title());
    assert_eq!(screen.title().chars().count(), limits::TITLE_CHARS);
}

#[test]
fn a_screen_can_become_smaller_and_larger() {
    let mut emulator = Emulator::new(80, 24);
    emulator.feed(b"\x1b[24;80Hend");
    emulator.resize(40, 20);
    assert_eq!(emulator.screen().size(), (40, 20));
    emulator.feed(b"\x1b[2J\x1b[20;38Hend");
    emulator.resize(0, 0);
    emulator.feed("日本\r\n\x1b[5;5Hx".as_bytes());
    emulator.resize(80, 24);
    assert_eq!(emulator.screen().size(), (80, 24));
    let _ = emulator.screen().text(None);
}

/// Sequences that reach into every part of an emulator, with numbers beyond what it has.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0_u32..4, 0_u32..100, Just(65_535), Just(4_000_000_000)];
    let last = prop::sample::select(b"@ABCDEFGHJKLMPSTXbdfghlmnrtcqsu`".to_vec());
    let lead = prop::sample::select(vec!["", "?", ">", " ", "$", "!"]);
    prop_oneof![
        (lead, number.clone(), number, last).prop_map(|(lead, first, second, last)| {
            let mut piece = format!("\x1b[{lead}{first};{second}").into_bytes();
            piece.push(last);
            piece
        }),
        prop::sample::select(vec![
            "\x1b[?1049h",
            "\x1b[?1049l",
            "\x1b[?47h",
            "\x1b[?6h",
            "\x1b[?6l",
            "\x1b7",
            "\x1b8",
            "\x1bM",
            "\x1bc",
            "\r\n",
            "\t",
            "\x08",
            "\x0b",
            "\x1b[?25l",
            "\x1b(0",
            "\x1b]2;t\x07",
            "\x1b[38;5;9m",
            "\x1b[48;2;1;2;3m",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        "[a-z日本👍🏽\u{301}\u{200d}é ]{0,30}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_comes_and_however_it_is_resized_the_screen_can_be_read(
        (columns, rows) in (0_u16..140, 0_u16..70),
        steps in proptest::collection::vec((piece(), proptest::option::weighted(0.1, (0_u16..140, 0_u16..70))), 0..60),
    ) {
        let mut emulator = Emulator::new(columns, rows);
        for (bytes, size) in steps {
            let replies = emulator.feed(&bytes);
            prop_assert!(replies.len() <= super::REPLIES_BYTES);
            if let Some((columns, rows)) = size {
                emulator.resize(columns, rows);
            }
            let screen = emulator.screen();
            let (columns, rows) = screen.size();
            if let Some((row, _)) = screen.cursor() {
                prop_assert!(row < rows);
            }
            for row in 0..rows {
                let line = screen.line(row, Some(&|text: &str| format!("{text}\u{332}")));
                prop_assert!(!line.contains(|char: char| char.is_control()), "{line:?}");
            }
            prop_assert_eq!(draw(&screen).len(), usize::from(rows));
            prop_assert!(draw(&screen).iter().all(|line| line.len() == usize::from(columns)));
        }
    }
}

#[test]
fn a_program_cannot_keep_the_emulator_busy_for_long() {
    // A few bytes may stand for a long work, and a terminal has to be able to close between two pieces.
    for worst in [
        "x\x1b[65535b",
        "\x1b[65535L",
        "\x1b[65535S",
        "\x1b[65535@",
        "\x1b[65535T",
        "\x1b[65535X",
    ] {
        let mut emulator = Emulator::new(132, 24);
        let bytes = worst.repeat(super::FEED_BYTES / worst.len());
        let watch = crate::base::clock::Stopwatch::start();
        emulator.feed(bytes.as_bytes());
        assert!(
            watch.elapsed() < std::time::Duration::from_secs(20),
            "{worst:?}: {:?}",
            watch.elapsed()
        );
    }
}
