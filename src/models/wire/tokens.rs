//! Takes control tokens out of a text: marks of a model's template that a server did not understand.

use super::quote::Quotes;

/// Bytes of the longest name in a token.
const NAME_BYTES: usize = 40;

/// What the usual tokens begin and end with.
const FORMS: [(&str, &str); 2] = [("<|", "|>"), ("<｜", "｜>")];

/// Tokens that do not have the usual form. Words that people write are not among them.
const OTHERS: [&str; 32] = [
    "[TOOL_CALLS]",
    "[/TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[CALL_ID]",
    "[ARGS]",
    "[INST]",
    "[/INST]",
    "[BEGIN FINAL RESPONSE]",
    "[END FINAL RESPONSE]",
    "<start_of_turn>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "<start_function_call>",
    "<end_function_call>",
    "<start_function_response>",
    "<end_function_response>",
    "<|tool_call>",
    "<tool_call|>",
    "<|tool_response>",
    "<tool_response|>",
    "<|turn>",
    "<turn|>",
    "<seed:bos>",
    "<seed:eos>",
    "[|assistant|]",
    "[|user|]",
    "[|system|]",
    "[|tool|]",
    "[|endofturn|]",
    "]~b]",
    "]~!b[",
];

/// Tokens that end in a number, without it.
const NUMBERED: [&str; 2] = ["<SPECIAL_", "<unused"];

/// Tokens behind which a role or the like is named.
const HEADS: [&str; 14] = [
    "<|im_start|>",
    "<|start_header_id|>",
    "<|header_start|>",
    "<|start_of_role|>",
    "<|im_assistant|>",
    "<|im_user|>",
    "<|im_system|>",
    "<|role_start|>",
    "<|begin|>",
    "<start_of_turn>",
    "<|turn>",
    "]~b]",
    "<|open|>",
    "<|close|>",
];

/// Kimi's tokens, behind which a part of the answer is named.
const PARTS: [&str; 2] = ["<|open|>", "<|close|>"];

/// The names of the model's own role, and of the parts of its answer.
const OWN: [&str; 7] = [
    "assistant",
    "model",
    "ai",
    "response",
    "think",
    "message",
    "tools",
];

/// The names of others' roles, whose words are no part of an answer.
const FOREIGN: [&str; 7] = [
    "user",
    "human",
    "system",
    "developer",
    "tool",
    "ipython",
    "observation",
];

/// What only some servers leave, and only behind an answer; elsewhere people write it.
const ENDS: [&str; 7] = [
    "</s>",
    "<eos>",
    "<pad>",
    "[e~[",
    "[EOS]",
    "[EOT]",
    "</tool_call>",
];

/// Bytes of all tokens and white space behind an answer.
const TAIL_BYTES: usize = 256;

/// Tags whose end means something behind their beginning: of text that HTML strikes out, and of a quoted call.
const PAIRS: [(&str, &str); 2] = [("<s>", "</s>"), ("<tool_call>", "</tool_call>")];

/// What tokens begin with.
const BEGINS: [char; 3] = ['<', '[', ']'];

/// Takes a text in pieces. What stands in code is a quotation, and stays.
#[derive(Debug, Default)]
pub struct Tokens {
    /// The beginning of what may be a token.
    held: String,
    quotes: Quotes,
    /// Which of the pairs are open.
    open: [bool; 2],
    /// Whether what comes are words that the model puts into somebody else's mouth.
    is_foreign: bool,
    /// Whether nothing but white space has come behind a token.
    is_behind: bool,
}

/// What a text begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// A token of so many bytes.
    Token(usize),
    /// A token with the role of a speaker, and whether that is the model.
    Header(usize, bool),
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
        match tail(&self.held, self.open) {
            Some(Tail::Whole) => {
                let held = std::mem::take(&mut self.held);
                held.chars().filter(|char| char.is_whitespace()).collect()
            }
            _ => self.take("", true),
        }
    }

    fn take(&mut self, piece: &str, is_over: bool) -> String {
        let whole = std::mem::take(&mut self.held) + piece;
        let mut text = String::with_capacity(whole.len());
        let mut rest = whole.as_str();
        while let Some(at) = rest.find(BEGINS) {
            self.release(&rest[..at], &mut text);
            rest = &rest[at..];
            let is_begun = |mark: &str| mark.starts_with(rest) && mark.len() > rest.len();
            let tail = tail(rest, self.open).filter(|tail| *tail != Tail::Header);
            let mut pairs = PAIRS.iter();
            let may_end =
                tail.is_some() || pairs.any(|(open, close)| is_begun(open) || is_begun(close));
            let begun = match self.quotes.is_code() {
                _ if may_end && !is_over => Begun::Perhaps,
                true => Begun::Text,
                false => token(rest, is_over),
            };
            match begun {
                Begun::Token(length) => {
                    self.is_behind = true;
                    rest = &rest[length..];
                }
                Begun::Header(length, is_own) => {
                    // Within a line it is spoken about.
                    let is_message = self.is_behind || self.quotes.begins_line();
                    self.is_foreign = !is_own && (is_message || self.is_foreign);
                    self.is_behind = true;
                    rest = &rest[length..];
                }
                Begun::Perhaps if !is_over => {
                    rest.clone_into(&mut self.held);
                    return text;
                }
                Begun::Text | Begun::Perhaps => {
                    for (is_open, (open, _)) in self.open.iter_mut().zip(PAIRS) {
                        *is_open |= rest.starts_with(open);
                    }
                    // Calls may be within calls.
                    self.open[0] &= !rest.starts_with(PAIRS[0].1);
                    self.release(&rest[..1], &mut text);
                    rest = &rest[1..];
                }
            }
        }
        self.release(rest, &mut text);
        text
    }

    fn release(&mut self, words: &str, text: &mut String) {
        self.is_behind &= words.trim_start().is_empty();
        if !self.is_foreign {
            self.quotes.push(words);
            *text += words;
        }
    }
}

/// What a text is that may end an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Tokens and white space.
    Whole,
    /// Tokens with the header of another message, whose words may follow.
    Header,
    /// Tokens with the beginning of another one.
    Begun,
}

/// Whether a text is what a template has behind an answer, where these pairs are open.
pub fn tail(mut text: &str, open: [bool; 2]) -> Option<Tail> {
    let start = text.len();
    let is_open = |end: &str| {
        let mut pairs = open.iter().zip(PAIRS);
        pairs.any(|(is_open, (_, close))| *is_open && close == end)
    };
    let ends = || ENDS.into_iter().filter(|end| !is_open(end));
    loop {
        text = text.trim_start();
        if start - text.len() > TAIL_BYTES {
            return None;
        }
        if text.is_empty() {
            return Some(Tail::Whole);
        }
        if let Some(rest) = ends().find_map(|end| text.strip_prefix(end)) {
            text = rest;
            continue;
        }
        match token(text, false) {
            Begun::Token(length) => text = &text[length..],
            Begun::Header(..) => return Some(Tail::Header),
            Begun::Perhaps => return Some(Tail::Begun),
            Begun::Text => {
                let is_begun = ends().any(|end| end.starts_with(text));
                return is_begun.then_some(Tail::Begun);
            }
        }
    }
}

/// Bytes of the token that a whole text begins with.
pub fn token_length(text: &str) -> Option<usize> {
    match token(text, true) {
        Begun::Token(length) | Begun::Header(length, _) => Some(length),
        Begun::Perhaps | Begun::Text => None,
    }
}

/// What a text begins with that comes in pieces until it `is_over`.
fn token(text: &str, is_over: bool) -> Begun {
    let length = match bare_token(text) {
        Begun::Token(length) => length,
        other => return other,
    };
    if !HEADS.contains(&&text[..length]) {
        return Begun::Token(length);
    }
    let rest = &text[length..];
    let is_over_at = |char: char| !(char.is_ascii_alphanumeric() || "_-".contains(char));
    let end = rest.find(is_over_at).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    // A word that goes on is none of these.
    let is_whole = after.starts_with(['\n', '\r', '<']) || after.is_empty() && is_over;
    let names = || OWN.iter().chain(&FOREIGN);
    match names().any(|one| *one == name) {
        true if is_whole && PARTS.contains(&&text[..length]) => Begun::Token(length + end),
        true if is_whole => Begun::Header(length + end, OWN.contains(&name)),
        _ if after.is_empty() && !is_over && names().any(|one| one.starts_with(name)) => {
            Begun::Perhaps
        }
        _ => Begun::Token(length),
    }
}

/// The same without a role.
fn bare_token(text: &str) -> Begun {
    for (open, close) in FORMS {
        let Some(inside) = text.strip_prefix(open) else {
            if open.starts_with(text) {
                return Begun::Perhaps;
            }
            continue;
        };
        let is_over = |char: char| !(char.is_ascii_alphanumeric() || "_-▁/:".contains(char));
        let end = inside.find(is_over).unwrap_or(inside.len());
        let rest = &inside[end..];
        if (1..=NAME_BYTES).contains(&end) && rest.starts_with(close) {
            return Begun::Token(open.len() + end + close.len());
        }
        if end <= NAME_BYTES && close.starts_with(rest) {
            return Begun::Perhaps;
        }
    }
    for open in NUMBERED {
        let Some(inside) = text.strip_prefix(open) else {
            if open.starts_with(text) {
                return Begun::Perhaps;
            }
            continue;
        };
        let end = inside.find(|char: char| !char.is_ascii_digit());
        match end {
            Some(end) if (1..5).contains(&end) && inside[end..].starts_with('>') => {
                return Begun::Token(open.len() + end + 1);
            }
            None if inside.len() < 5 => return Begun::Perhaps,
            _ => {}
        }
    }
    let mut begun = Begun::Text;
    for other in OTHERS {
        if text.starts_with(other) {
            return Begun::Token(other.len());
        }
        if other.starts_with(text) {
            begun = Begun::Perhaps;
        }
    }
    begun
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
            ("x<|observation|>", "x"),
            ("x<|end_of_text|>\n<|eom|>", "x\n"),
            ("x<turn|>", "x"),
            ("<SPECIAL_12>x<SPECIAL_7>", "x"),
            ("x<tool_call|><|tool_response>", "x"),
            ("x</tool_call>", "x"),
            ("<tool_call>x</tool_call>", "<tool_call>x</tool_call>"),
            ("[|assistant|]x[|endofturn|]", "x"),
            (
                "<|start_header_id|>assistant<|end_header_id|>\n\nx",
                "\n\nx",
            ),
            ("<start_of_turn>model\nx<end_of_turn>", "\nx"),
            ("<|turn>model\nx<turn|>", "\nx"),
            ("<|im_start|>assistant\nx<|im_end|>", "\nx"),
            ("x<|im_end|>\n<|im_start|>assistant\ny", "x\n\ny"),
            ("x<|im_end|>\n<|im_start|>user\ny", "x\n"),
            ("x<|im_end|>\n<|im_start|>assistant", "x\n"),
            (
                "<|im_start|>user\ny<|im_end|>\n<|im_start|>assistant\nx",
                "\nx",
            ),
            ("]~b]ai\nx[e~[", "\nx"),
            (
                "<|open|>response<|sep|>x<|close|>response<|sep|><|close|>message<|sep|>",
                "x",
            ),
            ("<|im_start|>userland", "userland"),
            ("So: <|im_start|>user\nHi<|im_end|>", "So: \nHi"),
            ("<unused> and <SPECIAL_x>", "<unused> and <SPECIAL_x>"),
            ("<pre><|im_end|></pre> [x] ]", "<pre><|im_end|></pre> [x] ]"),
            (
                "    <|im_end|> a\n    <|im_end|> b",
                "     a\n    <|im_end|> b",
            ),
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
                    Just("</s>"), Just("</"), Just("s>"), Just("\n"), Just("<s>"), Just("<|im_start|>"), Just("<tool_call>"),
                    Just("</tool_call>"),
                    Just("assistant"), Just("user"), Just("<SPECIAL_"), Just("12>"), Just("]~b"), Just("]"),
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
