//! Where a call ends: a template's mark within a value is a part of that value.

use super::Form;

/// Bytes of a tag in which its kind is named.
const TAG_BYTES: usize = 64;

/// Follows what stands behind a template's mark.
#[derive(Clone, Debug, Default)]
pub struct Inside {
    /// Bytes that are followed.
    read: usize,
    is_begun: bool,
    /// Whether values stand between tags rather than in quotation marks.
    is_tagged: bool,
    /// The quotation mark that ends the value.
    quote: Option<u8>,
    is_escaped: bool,
    /// Tags of values that are open: a value may quote a call.
    values: u32,
}

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Bytes of the call.
    pub inside: usize,
    /// The same with the mark that closes it; another call's mark may come instead.
    pub whole: usize,
}

impl Inside {
    /// Goes on in a text, of which the part that is known already is the same, up to the call's end.
    pub fn find_end(
        &mut self,
        text: &str,
        marks: (&str, &str),
        form: Form,
        is_over: bool,
    ) -> Option<End> {
        let (open, close) = marks;
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.read) {
            let rest = &bytes[self.read..];
            let is_begun_mark =
                |mark: &str| mark.len() > rest.len() && mark.as_bytes().starts_with(rest);
            if !is_over && (is_begun_mark(open) || is_begun_mark(close)) {
                return None;
            }
            if self.quote.is_none() && self.values == 0 {
                let end = |mark: &str| rest.starts_with(mark.as_bytes()).then_some(self.read);
                if let Some(inside) = end(close) {
                    let whole = inside + close.len();
                    return Some(End { inside, whole });
                }
                if let Some(inside) = end(open).filter(|_| self.is_begun) {
                    return Some(End {
                        inside,
                        whole: inside,
                    });
                }
            }
            if !self.is_begun && !byte.is_ascii_whitespace() {
                self.is_begun = true;
                self.is_tagged = form == Form::Tags && !matches!(byte, b'{' | b'[');
            }
            match self.is_tagged {
                true if byte == b'<' => {
                    let tag = &rest[..rest.len().min(TAG_BYTES)];
                    let end = tag.iter().position(|byte| *byte == b'>');
                    if end.is_none() && tag.len() < TAG_BYTES && !is_over {
                        return None;
                    }
                    self.take_tag(&tag[..end.unwrap_or(0)]);
                }
                true => {}
                false => self.take_quote(byte),
            }
            self.read += 1;
        }
        None
    }

    fn take_tag(&mut self, tag: &[u8]) {
        let has = |name: &str| tag.windows(name.len()).any(|part| part == name.as_bytes());
        let is_value = has("param") || has("arg_value");
        if is_value && !has("function") && !has("invoke") {
            self.values = if has("</") {
                self.values.saturating_sub(1)
            } else {
                self.values.saturating_add(1)
            };
        }
    }

    fn take_quote(&mut self, byte: u8) {
        match (self.quote, byte) {
            _ if self.is_escaped => self.is_escaped = false,
            (Some(_), b'\\') => self.is_escaped = true,
            (Some(quote), _) if quote == byte => self.quote = None,
            (None, b'"' | b'\'') => self.quote = Some(byte),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str, form: Form) -> Option<&str> {
        let marks = ("<tool_call>", "</tool_call>");
        let whole = Inside::default().find_end(text, marks, form, true);
        let mut inside = Inside::default();
        let mut found = None;
        for (at, char) in text.char_indices() {
            let part = &text[..at + char.len_utf8()];
            found = found.or_else(|| inside.find_end(part, marks, form, part == text));
        }
        assert_eq!(found, whole, "the pieces do not matter: {text}");
        whole.map(|end| &text[..end.inside])
    }

    #[test]
    fn a_mark_within_a_value_ends_no_call() {
        for (form, inside) in [
            (Form::Json, r#"{"a": "x</tool_call>y \" </tool_call>"}"#),
            (Form::Json, r#"{'a': 'x</tool_call>'}"#),
            (Form::Json, r#"{"a": {"b": 1}"#),
            (Form::Tags, r#"{"a": "<parameter=x></tool_call>"}"#),
            (
                Form::Tags,
                "<function=f><parameter=a>\"</tool_call></parameter></function>",
            ),
            (
                Form::Tags,
                "f<arg_key>a</arg_key><arg_value><tool_call>'</tool_call></arg_value>",
            ),
            (Form::Loose, "f(a='</tool_call>', b=\"it's\")"),
            (
                Form::Tags,
                "<function=f><parameter=a><parameter=b></parameter></tool_call></parameter></function>",
            ),
            (Form::Tags, "<function=set_param></function>"),
            (Form::Tags, ""),
        ] {
            let text = format!("{inside}</tool_call> more \"</tool_call>");
            assert_eq!(end(&text, form), Some(inside), "{text}");
        }
        let two = "{\"a\": 1}\n<tool_call>{}</tool_call>";
        assert_eq!(end(two, Form::Json), Some("{\"a\": 1}\n"));
        assert_eq!(end("{\"a\": \"</tool_call>", Form::Json), None);
    }
}
