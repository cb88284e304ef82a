//! Takes control tokens out of a text: marks of a model's template that a server did not understand.

use super::quote::Quotes;

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

/// Tokens that some servers leave behind an answer.
pub const ENDS: [&str; 13] = [
    "<|eot|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|call|>",
    "<|end|>",
    "<|endoftext|>",
    "<|/tool_call|>",
    "</s>",
    "<eos>",
    "[e~[",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
];

/// Bytes of all tokens and white space behind an answer.
const TAIL_BYTES: usize = 256;

/// Marks of struck-out text in HTML.
const STRIKES: [&str; 2] = ["<s>", "</s>"];

/// Takes a text in pieces. What stands in code is a quotation, and stays.
#[derive(Debug, Default)]
pub struct Tokens {
    /// The beginning of what may be a token.
    held: String,
    quotes: Quotes,
    /// Whether text is struck out, so that `</s>` ends that.
    is_struck: bool,
}

enum Begun {
    Token(usize),
    Perhaps,
    Text,
}

impl Tokens {
    /// Takes a piece and returns what of it, and of what was held back, is text.
    pub fn push(&mut self, piece: &str) -> String {
        self.take(piece, false)
    }

    /// The text is over.
    pub fn finish(&mut self) -> String {
        let is_end = tail(&self.held, self.is_struck) == Some(Tail::Whole);
        match is_end {
            true => {
                let held = std::mem::take(&mut self.held);
                ENDS.iter().fold(held, |held, end| held.replace(end, ""))
            }
            false => self.take("", true),
        }
    }

    fn take(&mut self, piece: &str, is_over: bool) -> String {
        let whole = std::mem::take(&mut self.held) + piece;
        let mut text = String::with_capacity(whole.len());
        let mut rest = whole.as_str();
        while let Some(at) = rest.find(['<', '[']) {
            self.release(&rest[..at], &mut text);
            rest = &rest[at..];
            let is_strike = |mark: &&str| mark.starts_with(rest) && mark.len() > rest.len();
            let may_end = tail(rest, self.is_struck).is_some() || STRIKES.iter().any(is_strike);
            let begun = match self.quotes.is_code() {
                _ if may_end && !is_over => Begun::Perhaps,
                true => Begun::Text,
                false => token(rest),
            };
            match begun {
                Begun::Token(length) => rest = &rest[length..],
                Begun::Perhaps if !is_over => {
                    rest.clone_into(&mut self.held);
                    return text;
                }
                Begun::Text | Begun::Perhaps => {
                    self.is_struck |= rest.starts_with(STRIKES[0]);
                    self.is_struck &= !rest.starts_with(STRIKES[1]);
                    self.release(&rest[..1], &mut text);
                    rest = &rest[1..];
                }
            }
        }
        self.release(rest, &mut text);
        text
    }

    fn release(&mut self, words: &str, text: &mut String) {
        self.quotes.push(words);
        *text += words;
    }
}

/// What a text is that may end an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Tokens and white space.
    Whole,
    /// The same, with the beginning of another token.
    Begun,
}

fn tail(mut text: &str, is_struck: bool) -> Option<Tail> {
    let ends = || {
        ENDS.into_iter()
            .filter(|end| !is_struck || *end != STRIKES[1])
    };
    if text.len() > TAIL_BYTES {
        return None;
    }
    while let Some(rest) = ends().find_map(|end| text.strip_prefix(end)) {
        text = rest.trim_start();
    }
    match text.is_empty() {
        true => Some(Tail::Whole),
        false => ends()
            .any(|end| end.starts_with(text))
            .then_some(Tail::Begun),
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
        let is_over = |char: char| !(char.is_ascii_alphanumeric() || "_-▁/".contains(char));
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
            ("Hello.</s>", "Hello."),
            ("Hello.</s>\n<|im_end|>\n", "Hello.\n\n"),
            ("Hello. [e~[", "Hello. "),
            ("Was <s>10</s>", "Was <s>10</s>"),
            ("The mark </s> ends it.", "The mark </s> ends it."),
            ("The mark `</s>`", "The mark `</s>`"),
            ("a `b\n\nc<|im_end|>", "a `b\n\nc"),
            ("x<|/tool_call|>", "x"),
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
                    Just("</s>"), Just("</"), Just("s>"), Just("\n"), Just("<s>"),
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
