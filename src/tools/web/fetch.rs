//! web_fetch: reads a page.

use std::io::{self, Read};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::hosts::guard_for;
use super::{Context, Web, answered, marked};
use crate::base::chat::ToolResult;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::http::REDIRECTS_MAX;
use crate::base::limits::web::{FETCH_CHARS, URL_BYTES};
use crate::net::http::{Body, Found, Response, error_of};
use crate::text::html::charset::{Charset, Source};
use crate::text::html::{Document, Form, Page, Tokenizer, Writer, link};
use crate::text::{is_prose, truncate_chars};
use crate::tools::arguments::Arguments;

/// Characters of a result around the page and its address: the title, the marks and a note.
const FRAME_CHARS: usize = 600;
/// Characters of a page, whatever the call says: at most 400 kB of memory.
const FETCH_CHARS_MAX: usize = 100_000;
/// Characters that are read beyond those, so that a secret at the end is found before it is cut.
const SECRET_CHARS: usize = 200;
/// Characters of the name of a type or a character set; the longest registered ones have 85 and 45.
const LABEL_CHARS: usize = 100;

const ACCEPT: &str = "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1";

/// What a call asks for, and what it is done with.
struct Call<'a> {
    web: &'a Web,
    context: &'a Context<'a>,
    form: Form,
    max_chars: usize,
    watch: Stopwatch,
}

/// Runs a call.
pub fn fetch(web: &Web, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let typed = arguments.text("url", "an http or https address")?;
    let form = match arguments
        .optional_text("extract_mode", "markdown or text")?
        .as_deref()
    {
        None | Some("markdown") => Form::Markdown,
        Some("text") => Form::Text,
        Some(other) => {
            return Err(Error::Failed(format!(
                "extract_mode must be markdown or text, not {other:?}"
            )));
        }
    };
    let max_chars = arguments.number("max_chars", "a number of characters")?;
    let call = Call {
        web,
        context,
        form,
        max_chars: max_chars
            .unwrap_or_else(|| room(context.results.max_chars(), &typed))
            .clamp(1, FETCH_CHARS_MAX),
        watch: Stopwatch::start(),
    };
    let url = link::typed(&typed)
        .filter(|url| is_usable(url))
        .ok_or_else(|| {
            Error::Failed(
            "the url must look like https://example.org/page: http or https, and without a password"
                .to_owned(),
        )
        })?;
    let (url, response) = find(&call, url)?;
    read(&call, &url, response)
}

/// Fetches a picture, of at most so many bytes.
pub fn picture(web: &Web, context: &Context<'_>, url: &str, bytes: usize) -> Result<Vec<u8>> {
    let call = Call {
        web,
        context,
        form: Form::Text,
        max_chars: 0,
        watch: Stopwatch::start(),
    };
    let url = link::typed(url).filter(|url| is_usable(url));
    let url = url.ok_or_else(|| Error::Failed("it is not an http or https address".to_owned()))?;
    let (_, response) = find(&call, url)?;
    response.read_to_end(bytes)
}

/// Characters of a page that fit into a result whole, with its marks.
fn room(result_chars: usize, url: &str) -> usize {
    let frame = url.len() + FRAME_CHARS;
    let room = result_chars.saturating_sub(frame).max(result_chars / 2);
    room.min(FETCH_CHARS)
}

fn is_usable(url: &str) -> bool {
    url.len() <= URL_BYTES && link::host_and_port(url).is_some()
}

/// Follows redirects to the page, and asks the guard at each of them.
fn find(call: &Call<'_>, mut url: String) -> Result<(String, Response)> {
    let (web, cancel) = (call.web, call.context.caller.cancel);
    let bound = (call.watch, web.settings.fetch.max_bytes);
    for _ in 0..=REDIRECTS_MAX {
        let (host, port) = link::host_and_port(&url).unwrap_or_default();
        let (guard, refused) = guard_for(&web.settings.allow_hosts, host, port);
        let found = web
            .client(guard, false, bound, cancel)?
            .find(&url, &[("accept", ACCEPT)]);
        let target = match found {
            Ok(Found::Here(response)) => return Ok((url, response)),
            Ok(Found::Moved(target)) => target,
            Err(Error::Status { status, body, .. }) => {
                return Err(answered(&url, status, &body));
            }
            Err(error @ Error::Network { .. }) if refused.load(Ordering::Relaxed) => {
                return Err(Error::Failed(format!(
                    "{error}. Only public addresses can be read, and hosts that the owner has added to \
                     tools.web.allowHosts"
                )));
            }
            Err(error) => return Err(error),
        };
        let next = link::absolute(&url, &target).filter(|url| is_usable(url));
        url = next.ok_or_else(|| {
            Error::Failed(format!(
                "{url} redirects to something that is not an http or https address"
            ))
        })?;
        if call.watch.elapsed() > web.page_time {
            return Err(Error::Failed(format!(
                "the page did not come within {} s",
                web.page_time.as_secs()
            )));
        }
    }
    Err(Error::Failed(format!(
        "{url} is the end of more than {REDIRECTS_MAX} redirects; gave up"
    )))
}

/// What a body contains.
#[derive(Debug, PartialEq)]
enum Content {
    Html,
    /// XML with text for readers: XHTML, feeds and SVG.
    Xml,
    /// Text as it is: plain text, JSON, other XML and the like.
    Text,
    /// Its media type.
    Binary(String),
}

/// What is in a body, by its header and its first bytes.
fn content_of(media_type: &str, beginning: &[u8]) -> Content {
    let name = |known: &str| {
        Content::Binary(
            if media_type.is_empty() {
                known
            } else {
                media_type
            }
            .to_owned(),
        )
    };
    let is_wide = beginning.starts_with(&[0xff, 0xfe]) || beginning.starts_with(&[0xfe, 0xff]);
    if beginning.starts_with(b"%PDF-") {
        return Content::Binary("application/pdf".to_owned());
    }
    if beginning.contains(&0)
        && !is_wide
        && !matches!(media_type, "text/html" | "application/xhtml+xml")
    {
        return name("binary data");
    }
    match media_type {
        "text/html" => Content::Html,
        "application/xhtml+xml"
        | "application/rss+xml"
        | "application/atom+xml"
        | "image/svg+xml" => Content::Xml,
        "text/xml" | "application/xml" => xml(beginning),
        _ if media_type.ends_with("+xml") => xml(beginning),
        "" | "application/octet-stream" => {
            let start = String::from_utf8_lossy(beginning).to_ascii_lowercase();
            let has = |tag: &str| start.contains(tag);
            match ["<!doctype html", "<html", "<head", "<body"]
                .into_iter()
                .any(has)
            {
                _ if start.trim_start().starts_with("<?xml") => xml(beginning),
                true => Content::Html,
                false => Content::Text,
            }
        }
        _ if media_type.starts_with("text/") || media_type.ends_with("+json") => Content::Text,
        "application/json"
        | "application/javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/x-sh" => Content::Text,
        _ => name("unknown data"),
    }
}

fn xml(beginning: &[u8]) -> Content {
    if Document::is_known(&String::from_utf8_lossy(beginning)) {
        Content::Xml
    } else {
        Content::Text
    }
}

/// The name of a type or a character set, of which nothing is left that could be a sentence or a command.
fn label(name: &str) -> String {
    let is_part = |char: &char| char.is_ascii_alphanumeric() || "/+-_.:".contains(*char);
    name.chars().filter(is_part).take(LABEL_CHARS).collect()
}

/// Media type and character set of a header such as `text/html; charset=utf-8`.
fn split_content_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';');
    let media_type = label(&parts.next().unwrap_or_default().to_ascii_lowercase());
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().to_owned())
    });
    (media_type, charset)
}

/// Reads the page that a reply contains.
fn read(call: &Call<'_>, url: &str, response: Response) -> Result<ToolResult> {
    let header = response.header("content-type").unwrap_or_default();
    let (media_type, charset) = split_content_type(header);
    let size = response
        .header("content-length")
        .and_then(|length| length.parse::<u64>().ok());
    let mut body = Limited {
        body: response.into_reader(usize::MAX),
        left: call.web.settings.fetch.max_bytes,
        watch: call.watch,
        time: call.web.page_time,
        end: None,
    };
    let source = Source::new(&mut body).map_err(error_of)?;
    let content = content_of(&media_type, source.beginning());
    if let Content::Binary(media_type) = content {
        let size = size.map_or_else(String::new, |size| format!(", {size} bytes"));
        return Err(Error::Failed(format!(
            "{url} is not text but {media_type}{size}, which web_fetch cannot read. Download it with exec \
             if it is needed"
        )));
    }
    let charset = source.charset(charset.as_deref(), content != Content::Text).map_err(|name| {
        let name = label(&name);
        Error::Failed(format!(
            "{url} is in the character set {name}, which web_fetch cannot read. With exec: curl -s URL | \
             iconv -f {name} -t utf-8"
        ))
    })?;
    let limit = call.max_chars + SECRET_CHARS;
    let writer = || Writer::new(call.form, url, limit);
    let page = match content {
        Content::Html => read_html(source, charset, writer()),
        Content::Xml => read_xml(source, charset, writer()),
        Content::Text | Content::Binary(_) => read_text(source, charset, limit),
    };
    let mut page = page.map_err(error_of)?;
    // Half of a secret would not be recognised.
    page.text = call.context.eraser.clean(&page.text).into_owned();
    let kept = truncate_chars(&page.text, call.max_chars).len();
    page.is_cut |= kept < page.text.len();
    page.text.truncate(kept);
    let end = body.end;
    match end {
        Some(End::Broken(Error::Stopped)) => Err(Error::Stopped),
        Some(End::Broken(error)) if page.text.is_empty() => Err(error),
        end => Ok(ToolResult::new(format_page(
            call,
            url,
            &page,
            end.as_ref(),
        )?)),
    }
}

fn format_page(call: &Call<'_>, url: &str, page: &Page, end: Option<&End>) -> Result<String> {
    let web = call.web;
    let title = if page.title.is_empty() {
        String::new()
    } else {
        format!("Title: {}\n\n", page.title)
    };
    let text = match page.text.trim_end() {
        "" => "(no text; the page may need JavaScript)",
        text => text,
    };
    let note = match end {
        _ if page.is_cut => format!(
            "\n[cut after {} characters; max_chars can be up to {FETCH_CHARS_MAX}]",
            call.max_chars
        ),
        None => String::new(),
        Some(End::Bytes) => format!(
            "\n[cut: the page has more than {} bytes (tools.web.fetch.maxBytes)]",
            web.settings.fetch.max_bytes
        ),
        Some(End::Time) => format!(
            "\n[cut: the server is slow, and this is what came within {} s]",
            web.page_time.as_secs()
        ),
        Some(End::Broken(error)) => format!("\n[cut: {error}]"),
    };
    Ok(format!(
        "{url}\n{}{note}",
        marked(&format!("{title}{text}"))?
    ))
}

fn read_html<R: Read>(source: Source<R>, charset: Charset, mut writer: Writer) -> io::Result<Page> {
    let mut tokens = Tokenizer::default();
    source.decode(charset, &mut |char| {
        tokens.push(char, &mut writer);
        !writer.is_done()
    })?;
    tokens.finish(&mut writer);
    Ok(writer.finish())
}

fn read_xml<R: Read>(source: Source<R>, charset: Charset, writer: Writer) -> io::Result<Page> {
    let mut tokens = Tokenizer::xml();
    let mut document = Document::new(writer);
    source.decode(charset, &mut |char| {
        tokens.push(char, &mut document);
        !document.is_done()
    })?;
    tokens.finish(&mut document);
    Ok(document.into_writer().finish())
}

fn read_text<R: Read>(source: Source<R>, charset: Charset, limit: usize) -> io::Result<Page> {
    let mut page = Page::default();
    let mut chars = 0;
    source.decode(charset, &mut |char| {
        if is_prose(char) {
            page.is_cut = chars == limit;
            if !page.is_cut {
                page.text.push(char);
                chars += 1;
            }
        }
        !page.is_cut
    })?;
    Ok(page)
}

/// Why a body ends before its own end.
enum End {
    /// It has more bytes than allowed.
    Bytes,
    /// It took too long.
    Time,
    /// It broke.
    Broken(Error),
}

/// A body that ends at a limit, and remembers at which.
struct Limited {
    body: Body,
    left: u64,
    watch: Stopwatch,
    time: Duration,
    end: Option<End>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.end.is_some() {
            return Ok(0);
        }
        if self.watch.elapsed() > self.time {
            self.end = Some(End::Time);
            return Ok(0);
        }
        let most = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        // Where nothing is left, one byte more shows whether there is any.
        let mut probe = [0];
        let room = match most {
            0 => &mut probe,
            _ => buffer.get_mut(..most).unwrap_or_default(),
        };
        match self.body.read(room) {
            Ok(count) if most > 0 => {
                self.left = self.left.saturating_sub(count as u64);
                Ok(count)
            }
            Ok(0) => Ok(0),
            Ok(_) => {
                self.end = Some(End::Bytes);
                Ok(0)
            }
            Err(error) => {
                self.end = Some(match error_of(error) {
                    Error::TooLarge { .. } => End::Bytes,
                    Error::Timeout { .. } if self.watch.elapsed() >= self.time => End::Time,
                    error => End::Broken(error),
                });
                Ok(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_body_is_follows_from_its_header_and_its_beginning() {
        let binary = |name: &str| Content::Binary(name.to_owned());
        for (media_type, beginning, content) in [
            ("text/html", &b"\0<p>"[..], Content::Html),
            ("", b" <!DOCTYPE HTML>", Content::Html),
            ("", b"hello", Content::Text),
            ("", b"a\0b", binary("binary data")),
            ("application/octet-stream", b"key: value", Content::Text),
            ("text/plain", b"%PDF-1.7", binary("application/pdf")),
            ("application/ld+json", b"{}", Content::Text),
            ("application/rss+xml", b"<rss>", Content::Xml),
            ("application/xhtml+xml", b"<p>", Content::Xml),
            (
                "text/xml",
                b"<?xml version='1.0'?><!-- x --><feed>",
                Content::Xml,
            ),
            ("", b"<?xml version='1.0'?><html>", Content::Xml),
            ("application/xml", b"<urlset>", Content::Text),
            ("text/plain", b"\xff\xfeh\0", Content::Text),
            ("image/png", b"\x89PNG", binary("image/png")),
            ("text/plain", b"\x7fELF\0", binary("text/plain")),
        ] {
            assert_eq!(content_of(media_type, beginning), content, "{media_type}");
        }
        let (media_type, charset) = split_content_type("Text/HTML ;x=y; Charset=\"UTF-8\"");
        assert_eq!(label("gbk; $(rm -r ~)\n`x`"), "gbkrm-rx");
        assert_eq!(
            (media_type.as_str(), charset.as_deref()),
            ("text/html", Some("\"UTF-8\""))
        );
    }
}
