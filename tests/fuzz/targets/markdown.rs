//! No answer can send commands to the terminal, wherever it is cut into pieces.

use super::number;
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

pub fn run(bytes: &[u8]) {
    let (cut, text) = number(bytes, 2);
    let text = &*String::from_utf8_lossy(text);
    let cut = text.floor_char_boundary(cut as usize);
    let (left, right) = text.split_at(cut);
    // Only the renderer's own escape sequences: `ESC [ numbers m`.
    for out in [rendered(&[text]), rendered(&[left, right])] {
        for sequence in out.split('\u{1b}').skip(1) {
            let end = sequence.trim_start_matches(|c: char| c.is_ascii_digit() || "[;".contains(c));
            assert!(
                sequence.starts_with('[') && end.starts_with('m'),
                "{sequence:?}"
            );
        }
    }
}
