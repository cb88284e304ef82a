//! For any text of the model, the messages fit, their tags nest, and without tags they are the plain
//! text.

use peacrab::channels::kit::markdown::html::{Piece, draft, render};
use peacrab::text::markup::code_block;
use peacrab::text::truncate_bytes;

fn check(piece: &Piece) {
    assert!(piece.plain.encode_utf16().count() <= 4096, "{piece:?}");
    assert!(!piece.plain.trim().is_empty(), "{piece:?}");
    let mut open = Vec::new();
    let mut parts = piece.html.split('<');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (tag, behind) = part.split_once('>').expect("the end of a tag");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{piece:?}"),
            None => open.extend(tag.split(' ').next()),
        }
        text.push_str(behind);
    }
    assert!(open.is_empty(), "{piece:?}");
    assert!(!text.contains('>'), "{piece:?}");
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    assert_eq!(text, piece.plain);
}

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let pieces = render(text);
    assert_eq!(pieces, render(text));
    pieces.iter().for_each(check);
    draft(text).iter().for_each(check);
    // A longer text can have so many marks that none counts.
    let code = truncate_bytes(text, 8 * 1024);
    for piece in render(&code_block(code, code)) {
        check(&piece);
        assert!(
            piece.html.starts_with("<pre>") || piece.plain.starts_with("```"),
            "{piece:?}"
        );
    }
}
