//! Whatever a command writes: the pieces make no difference, no control is left, and the memory is bounded.

use super::in_two;
use peacrab::text::overstrike::Overstrike;

fn shown(pieces: &[&[u8]]) -> String {
    let (mut screen, mut out) = (Overstrike::default(), String::new());
    for piece in pieces {
        screen.feed(piece, &mut out);
        assert!(screen.open_lines().len() < 4 * 64 * 4096 + 64);
    }
    screen.finish(&mut out);
    out
}

pub fn run(bytes: &[u8]) {
    let (bytes, left, right) = in_two(bytes);
    let whole = shown(&[bytes]);
    assert_eq!(whole, shown(&[left, right]));
    let is_control = |char: char| char.is_control() && char != '\n' && char != '\t';
    assert!(!whole.contains(is_control), "{whole:?}");
}
