//! No answer can send commands to the terminal, wherever it is cut into pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peacrab::cli::terminal::markdown::Renderer;

fn rendered(pieces: &[&str]) -> String {
    let mut renderer = Renderer::default();
    let mut out = String::new();
    for piece in pieces {
        renderer.push(piece, &mut out);
    }
    renderer.finish(&mut out);
    out
}

fuzz_target!(|input: (u16, &str)| {
    let (cut, text) = input;
    let cut = text.floor_char_boundary(usize::from(cut));
    let (left, right) = text.split_at(cut);
    // Only the renderer's own escape sequences: `ESC [ numbers m`.
    for out in [rendered(&[text]), rendered(&[left, right])] {
        for sequence in out.split('\u{1b}').skip(1) {
            let end = sequence.trim_start_matches(|c: char| c.is_ascii_digit() || "[;".contains(c));
            assert!(sequence.starts_with('[') && end.starts_with('m'), "{sequence:?}");
        }
    }
});
