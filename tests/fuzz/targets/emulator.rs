//! No output of a program harms the terminal that shows it, wherever it is cut and however that is resized.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peacrab::emulator::{Emulator, draw::draw, keys};

fuzz_target!(|input: (u8, u8, Vec<(Vec<u8>, Option<(u8, u8)>)>, String)| {
    let (columns, rows, steps, typed) = input;
    let mut emulator = Emulator::new(columns.into(), rows.into());
    for (bytes, size) in steps {
        emulator.feed(&bytes);
        if let Some((columns, rows)) = size {
            emulator.resize(columns.into(), rows.into());
        }
        let screen = emulator.screen();
        let (columns, rows) = screen.size();
        let drawn = draw(&screen);
        assert_eq!(drawn.len(), usize::from(rows));
        assert!(drawn.iter().all(|row| row.len() == usize::from(columns)));
        let text = screen.text(Some(&|text: &str| format!("[{text}]")));
        assert!(!text.contains(|char: char| char.is_control() && char != '\n'), "{text:?}");
        assert!(screen.cursor().is_none_or(|(row, _)| row < rows));
    }
    if let Ok(pressed) = keys::parse(&typed) {
        keys::encode(&pressed, columns > rows);
    }
});
