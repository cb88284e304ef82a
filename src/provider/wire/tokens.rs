//! Takes control tokens out of a text: marks of a model's template that a server did not understand.

/// Bytes of the longest name in a token.
const NAME_BYTES: usize = 40;

/// Tokens that do not have the usual form. Words that people write are not among them.
const OTHERS: [&str; 8] = [
    "[TOOL_CALLS]",
    "[ARGS]",
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_function_call>",
    "<end_function_call>",
    "<|tool_call>",
    "<tool_call|>",
];

/// Takes a text in pieces. What stands in code is a quotation, and stays.
#[derive(Debug, Default)]
pub struct Tokens {
    /// The beginning of what may be a token.
    held: String,
    in_code: bool,
}

enum Begun {
    Token(usize),
    Perhaps,
    Text,
}

impl Tokens {
    /// Takes a piece and returns what of it, and of what was held back, is text.
    pub fn push(&mut self, piece: &str) -> String {
        if self.held.is_empty() && !piece.contains(['<', '[', '`']) {
            return piece.to_owned();
        }
        let whole = std::mem::take(&mut self.held) + piece;
        let mut text = String::with_capacity(whole.len());
        let mut rest = whole.as_str();
        while let Some(at) = rest.find(['<', '[', '`']) {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            let is_quote = rest.starts_with('`');
            self.in_code ^= is_quote;
            let begun = match is_quote || self.in_code {
                true => Begun::Text,
                false => token(rest),
            };
            match begun {
                Begun::Token(length) => rest = &rest[length..],
                Begun::Text => {
                    text.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
                Begun::Perhaps => {
                    rest.clone_into(&mut self.held);
                    return text;
                }
            }
        }
        text + rest
    }

    /// The text is over.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// The token that a text begins with.
fn token(text: &str) -> Begun {
    for (open, close) in [("<|", "|>"), ("<｜", "｜>")] {
        let Some(inside) = text.strip_prefix(open) else {
            if open.starts_with(text) {
                return Begun::Perhaps;
            }
            continue;
        };
        let is_over = |char: char| !(char.is_ascii_alphanumeric() || "_-▁".contains(char));
        let end = inside.find(is_over).unwrap_or(inside.len());
        let rest = &inside[end..];
        if (1..=NAME_BYTES).contains(&end) && rest.starts_with(close) {
            return Begun::Token(open.len() + end + close.len());
        }
        if end <= NAME_BYTES && close.starts_with(rest) {
            return Begun::Perhaps;
        }
    }
    for other in OTHERS {
        if text.starts_with(other) {
            return Begun::Token(other.len());
        }
        if other.starts_with(text) {
            return Begun::Perhaps;
        }
    }
    Begun::Text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean(pieces: &[&str]) -> String {
        let mut tokens = Tokens::default();
        let text: String = pieces.iter().map(|piece| tokens.push(piece)).collect();
        text + &tokens.finish()
    }

    #[test]
    fn control_tokens_are_no_text_and_quoted_ones_are() {
        for (said, text) in [
            ("Hello.<|im_end|>", "Hello."),
            ("<｜tool▁calls▁begin｜>x<｜end▁of▁sentence｜>", "x"),
            ("a [TOOL_CALLS] b<end_of_turn>", "a  b"),
            (
                "The mark `<|im_end|>` ends it.",
                "The mark `<|im_end|>` ends it.",
            ),
            ("```\n<|eot_id|>\n```<|eot_id|>", "```\n<|eot_id|>\n```"),
            ("a <| b |> c <||> <|", "a <| b |> c <||> <|"),
            ("a < b, [x](y) and <p>", "a < b, [x](y) and <p>"),
        ] {
            assert_eq!(clean(&[said]), text, "{said}");
        }
    }

    proptest! {
        #[test]
        fn the_cuts_between_pieces_do_not_matter(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<|"), Just("im_end"), Just("|>"), Just("<｜"), Just("｜>"), Just("é"),
                    Just("`"), Just("[TOOL_CALLS]"), Just("[AR"), Just(" "), Just("<end_of_turn>"),
                ],
                0..12,
            ),
            cut in 0_usize..120,
        ) {
            let said = parts.concat();
            let (left, right) = said.split_at(said.floor_char_boundary(cut.min(said.len())));
            prop_assert_eq!(clean(&[left, right]), clean(&[&said]));
        }
    }
}
