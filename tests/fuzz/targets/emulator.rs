//! No output of a program harms the terminal that shows it, wherever it is cut and however that is resized.

use peacrab::text::emulator::{Emulator, draw::draw, keys};

/// Ends a piece of output; the next two bytes are the new size. Never a byte of UTF-8.
const CUT: u8 = 0xFF;

fn check(emulator: &Emulator) {
    let screen = emulator.screen();
    let (columns, rows) = screen.size();
    let drawn = draw(&screen);
    assert_eq!(drawn.len(), usize::from(rows));
    assert!(drawn.iter().all(|row| row.len() == usize::from(columns)));
    let text = screen.text(Some(&|text: &str| format!("[{text}]")));
    let is_control = |char: char| char.is_control() && char != '\n';
    assert!(!text.contains(is_control), "{text:?}");
    assert!(screen.cursor().is_none_or(|(row, _)| row < rows));
}

pub fn run(bytes: &[u8]) {
    let Some(([columns, rows], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let mut emulator = Emulator::new((*columns).into(), (*rows).into());
    let mut pieces = rest.split(|byte| *byte == CUT);
    for piece in pieces.by_ref().take(1) {
        emulator.feed(piece);
        check(&emulator);
    }
    for piece in pieces {
        let Some(([columns, rows], rest)) = piece.split_first_chunk() else {
            continue;
        };
        emulator.resize((*columns).into(), (*rows).into());
        emulator.feed(rest);
        check(&emulator);
    }
    if let Ok(pressed) = keys::parse(&String::from_utf8_lossy(rest)) {
        keys::encode(&pressed, columns > rows);
    }
}
