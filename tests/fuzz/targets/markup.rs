//! For any text of the model, the messages fit, their tags nest, and without tags they are the plain
//! text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peacrab::channels::telegram::html::{Piece, draft, render};
use peacrab::markup::code_block;

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
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    assert_eq!(text, piece.plain);
}

fuzz_target!(|text: &str| {
    let pieces = render(text);
    assert_eq!(pieces, render(text));
    pieces.iter().for_each(check);
    draft(text).iter().for_each(check);
    for piece in render(&code_block(text, text)) {
        check(&piece);
        assert!(piece.html.starts_with("<pre>") || piece.plain.starts_with("```"), "{piece:?}");
    }
});
