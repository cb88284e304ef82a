//! The text that a person wrote, apart from signatures and what earlier mails said. PURE.

use super::QUOTE_CHARS;
use crate::channels::kit::names::clean_name;
use crate::text::html::{Form, Tokenizer, Writer};
use crate::text::truncate_chars;

/// What a mail says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// What its writer wrote.
    pub text: String,
    /// What it quotes below that, where that is short; else empty.
    pub quote: String,
    /// Whether the text is only what it quotes.
    pub is_quotation: bool,
}

/// What references are relative to that are not whole: a mail has no address.
const NO_ADDRESS: &str = "https://mail.invalid/";

/// The text of a mail that is HTML, of at most so many characters.
pub fn of_html(html: &str, chars: usize) -> String {
    let mut tokens = Tokenizer::default();
    let mut writer = Writer::new(Form::Markdown, NO_ADDRESS, chars);
    for char in html.chars() {
        if writer.is_done() {
            break;
        }
        tokens.push(char, &mut writer);
    }
    tokens.finish(&mut writer);
    writer.finish().text
}

/// The text with the lines that a program has broken at spaces joined again (RFC 3676).
pub fn unflow(text: &str, deletes_space: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let depth = quote_depth(line);
        let line = if depth == 0 {
            line.strip_prefix(' ').unwrap_or(line)
        } else {
            line
        };
        let goes_on = line.ends_with(' ')
            && line != "-- "
            && lines
                .peek()
                .is_some_and(|next| quote_depth(next) == depth && depth == 0 && !next.is_empty());
        match goes_on {
            true if deletes_space => out.push_str(line.strip_suffix(' ').unwrap_or(line)),
            true => out.push_str(line),
            false => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn quote_depth(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b'>').count()
}

/// The text with files that are written within it (uuencode) taken apart: those with text are kept, others named.
pub fn without_uuencoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let is_next_data = lines
            .peek()
            .is_some_and(|next| uudecode(next.trim_end()).is_some());
        let Some(name) = begun_file(line).filter(|_| is_next_data) else {
            out.push_str(line);
            continue;
        };
        let (mut bytes, mut behind) = (Vec::new(), "");
        for line in lines.by_ref() {
            match uudecode(line.trim_end_matches(['\r', '\n'])) {
                Some(decoded) => bytes.extend(decoded),
                None if line.trim_end() == "end" => break,
                // It is not whole.
                None => {
                    behind = line;
                    break;
                }
            }
        }
        let name = clean_name(name);
        match std::str::from_utf8(&bytes) {
            Ok(text) if !text.contains('\0') => {
                out.push_str(&format!("[File {name}]\n{}\n", text.trim_end()));
            }
            _ => out.push_str(&format!(
                "[File {name} with {} bytes, written into the text, which is not kept. If it matters, ask the \
                 sender to attach it]\n",
                bytes.len()
            )),
        }
        out.push_str(behind);
    }
    out
}

/// The name in the line before a file, such as `begin 644 cat.jpg`.
fn begun_file(line: &str) -> Option<&str> {
    let (mode, name) = line.strip_prefix("begin ")?.trim().split_once(' ')?;
    let is_mode =
        (3..=4).contains(&mode.len()) && mode.bytes().all(|byte| (b'0'..b'8').contains(&byte));
    is_mode.then_some(name.trim())
}

/// The bytes of a line of a file, which has their number before them; `None` for another line.
fn uudecode(line: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| (b' '..=b'`').contains(&byte).then(|| (byte - b' ') & 0x3f);
    let (first, rest) = line.as_bytes().split_first()?;
    let count = usize::from(value(*first)?);
    // Spaces at the end may have been lost, and some add a character.
    let most = count.div_ceil(3) * 4;
    if rest.len() > most + 1 || rest.len() + 4 < most {
        return None;
    }
    let mut bytes = Vec::with_capacity(count);
    for group in rest.chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            bits = bits << 6 | u32::from(value(group.get(at).copied().unwrap_or(b' '))?);
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    bytes.resize(count, 0);
    Some(bytes)
}

/// Cuts off the signature and what is quoted at the end. A forwarded mail is kept whole: what it quotes is what it
/// is about.
pub fn split(text: &str, is_forward: bool) -> Body {
    let text = text.replace('\r', "");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = match is_forward {
        true => lines.len(),
        false => history(&lines),
    };
    let own = lines.get(..end).unwrap_or_default();
    let quoted = lines.get(end..).unwrap_or_default();
    let signed = own.iter().rposition(|line| *line == "--");
    let own = own.get(..signed.unwrap_or(own.len())).unwrap_or_default();
    let own = own.join("\n").trim().to_owned();
    let quote = quoted.join("\n").trim().to_owned();
    match own.is_empty() {
        // It says nothing but what it quotes.
        true if !is_forward => Body {
            text: truncate_chars(&quote, QUOTE_CHARS).to_owned(),
            quote: String::new(),
            is_quotation: !quote.is_empty(),
        },
        _ => Body {
            text: own,
            quote: match truncate_chars(&quote, QUOTE_CHARS).len() == quote.len() {
                true => as_quote(&quote),
                false => String::new(),
            },
            is_quotation: false,
        },
    }
}

/// Each line with a quotation mark.
fn as_quote(text: &str) -> String {
    let line = |line: &str| match line.starts_with('>') {
        true => line.to_owned(),
        false => format!("> {line}"),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The line at which what is quoted begins, to the end.
fn history(lines: &[&str]) -> usize {
    if let Some(at) = lines.iter().position(|line| is_original(line)) {
        return at;
    }
    if let Some(at) = (0..lines.len()).find(|at| is_head(lines.get(*at..).unwrap_or_default())) {
        let is_rule = |line: &&str| line.len() >= 5 && line.bytes().all(|byte| byte == b'_');
        let above = lines.get(..at).unwrap_or_default();
        let blank = above.iter().rev().take_while(|line| line.is_empty());
        let before = at - blank.count();
        return match lines.get(before.wrapping_sub(1)).is_some_and(is_rule) {
            true => before - 1,
            false => at,
        };
    }
    let is_quoted = |line: &&str| line.starts_with('>') || line.is_empty();
    let last = lines.iter().rposition(|line| !is_quoted(line));
    let first = last.map_or(0, |last| last + 1);
    // What follows the quotation, such as a signature, keeps it from being at the end; a few lines may.
    if !lines.iter().skip(first).any(|line| line.starts_with('>')) {
        return with_attribution_only(lines);
    }
    match last {
        Some(last) => attribution(lines, last).unwrap_or(first),
        None => first,
    }
}

/// A quotation that a signature follows: between its introduction and the signature are only quoted lines.
fn with_attribution_only(lines: &[&str]) -> usize {
    let Some(sign) = lines.iter().position(|line| *line == "--") else {
        return lines.len();
    };
    let above = lines.get(..sign).unwrap_or_default();
    if above.iter().any(|line| line.starts_with('>')) {
        history(above)
    } else {
        lines.len()
    }
}

/// Where the sentence begins that introduces a quotation, such as "On Monday, Ana wrote:", if this line is its
/// end. It may be broken into three lines.
fn attribution(lines: &[&str], last: usize) -> Option<usize> {
    let line = lines.get(last)?.trim();
    if !line.ends_with([':', '：']) {
        return None;
    }
    let first = last.saturating_sub(2);
    let beginning = (first..=last).rev().find(|at| {
        let line = lines.get(*at).copied().unwrap_or_default();
        STARTS.iter().any(|start| line.starts_with(start))
    });
    let is_alone = last == 0 || lines.get(last - 1).is_some_and(|line| line.is_empty());
    let has_address = line.contains('@') || line.chars().any(|char| char.is_ascii_digit());
    beginning.or((is_alone && has_address).then_some(last))
}

/// How such sentences begin in some languages.
const STARTS: [&str; 10] = [
    "On ", "Am ", "Le ", "El ", "Il ", "Em ", "Op ", "Den ", "在", "于",
];

/// How the heads of quoted mails begin in some languages.
const ORIGINALS: [&str; 8] = [
    "original message",
    "ursprüngliche nachricht",
    "originalnachricht",
    "message d'origine",
    "mensaje original",
    "messaggio originale",
    "原始邮件",
    "reply message",
];

/// Whether a line is the rule above an older mail, such as `-----Original Message-----`.
fn is_original(line: &str) -> bool {
    let inner = line.trim_matches(['-', ' ', '_']).to_lowercase();
    line.starts_with("--") && line.ends_with('-') && ORIGINALS.contains(&inner.as_str())
}

/// Whether lines begin with the head of an older mail: From, then Sent or Date, and so on.
fn is_head(lines: &[&str]) -> bool {
    const FROM: [&str; 5] = ["From:", "Von:", "De:", "Da:", "发件人"];
    const DATE: [&str; 7] = [
        "Sent:",
        "Date:",
        "Gesendet:",
        "Envoyé",
        "Enviado",
        "Inviato:",
        "发送时间",
    ];
    let begins = |line: Option<&&str>, starts: &[&str]| {
        let line = line.copied().unwrap_or_default().replace('*', "");
        starts.iter().any(|start| line.trim().starts_with(start))
    };
    let next = lines.iter().skip(1).take(3);
    begins(lines.first(), &FROM) && next.into_iter().any(|line| begins(Some(line), &DATE))
}
