//! PURE: the words of a rule. Quotes may be curly, as phones write them.

/// A word of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text, without its quotes.
    pub text: String,
    /// Whether it was in quotes.
    pub is_quoted: bool,
    /// Where it begins in the text.
    pub at: usize,
}

/// Cuts a text into words. With `signs`, comparison signs are words of their own. False when a quote is not closed;
/// then the words before it are returned.
pub fn tokens(text: &str, signs: bool) -> (Vec<Word>, bool) {
    let mut words = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, first)) = chars.next() {
        if first.is_whitespace() {
            continue;
        }
        let close = match first {
            '\'' => Some('\''),
            '"' => Some('"'),
            '‘' | '’' => Some('’'),
            '“' | '”' => Some('”'),
            _ => None,
        };
        let mut word = String::new();
        if let Some(close) = close {
            loop {
                match chars.next() {
                    None => return (words, false),
                    Some((_, char)) if char == close => break,
                    Some((_, '\\')) if close == '"' => match chars.next() {
                        None => return (words, false),
                        Some((_, char)) => {
                            if !matches!(char, '"' | '\\') {
                                word.push('\\');
                            }
                            word.push(char);
                        }
                    },
                    Some((_, char)) => word.push(char),
                }
            }
        } else {
            let is_sign = |char: char| signs && matches!(char, '>' | '<' | '≥' | '≤' | '=');
            word.push(first);
            let is_of_sign = is_sign(first);
            while let Some((_, char)) = chars.peek() {
                if char.is_whitespace() || is_sign(*char) != is_of_sign {
                    break;
                }
                word.push(*char);
                chars.next();
            }
        }
        words.push(Word {
            text: word,
            is_quoted: close.is_some(),
            at,
        });
    }
    (words, true)
}
