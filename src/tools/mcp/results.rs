//! What a server returns, for the model: text, images, and files in the workspace.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::value::RawValue;

use crate::base::chat::{Image, ToolResult};
use crate::base::error::Result;
use crate::base::hex::hex;
use crate::base::json::{self, Members};
use crate::base::limits::chat::IMAGE_BYTES;
use crate::text::one_line;
use crate::tools::Context;
use crate::tools::files::FileType;
use crate::tools::results::marked;

/// Parts of a result.
const PARTS: usize = 64;
/// Parts of a result that are stored as files.
const FILES: usize = 16;

/// Bytes of the hash in the name of a file.
const HASH_BYTES: usize = 8;
/// Characters of an address or a name that a server gives.
const LABEL_CHARS: usize = 200;

/// What has been read of a result.
struct Reader<'a> {
    context: &'a Context<'a>,
    texts: Vec<String>,
    images: Vec<Image>,
    files: usize,
}

/// The result of a call as the model reads it. `what` names the call, such as `the tool on of the MCP
/// server lamp`.
pub fn render(context: &Context<'_>, what: &str, server: &str, result: &str) -> Result<ToolResult> {
    // Of a tool, of a resource, and of a prompt.
    let raw = Members::read(result).unwrap_or_default();
    let (content, contents) = (parts(&raw, "content"), parts(&raw, "contents"));
    let messages = parts(&raw, "messages");
    let mut reader = Reader {
        context,
        texts: Vec::new(),
        images: Vec::new(),
        files: 0,
    };
    if Members::read(result).is_none() {
        reader.read(result);
    }
    for part in content.iter().chain(&contents).take(PARTS) {
        reader.read(part.get());
    }
    for message in messages.iter().take(PARTS) {
        match Members::read(message.get()) {
            Some(message) => {
                let role = one_line(&message.text_or_empty("role"), LABEL_CHARS);
                reader.texts.push(format!("{role}:"));
                for part in parts(&message, "content").iter().take(PARTS) {
                    reader.read(part.get());
                }
            }
            None => reader.read(message.get()),
        }
    }
    if reader.texts.is_empty()
        && let Some(structured) = raw.raw("structuredContent")
    {
        reader.texts.push(structured.get().to_owned());
    }
    let left_out = content.len().max(contents.len()).max(messages.len());
    if left_out > PARTS {
        reader
            .texts
            .push(format!("[{} more parts are left out]", left_out - PARTS));
    }
    let text = if reader.texts.is_empty() {
        "(no output)".to_owned()
    } else {
        marked(
            &format!("content of the MCP server {server}"),
            &reader.texts.join("\n"),
        )?
    };
    Ok(if raw.is_true("isError") {
        ToolResult::failed(format!("Error: {what} failed:\n\n{text}"))
    } else {
        ToolResult {
            images: reader.images,
            ..ToolResult::new(text)
        }
    })
}

/// The parts of a list, or the only one, which stands there itself.
fn parts<'a>(members: &Members<'a>, name: &str) -> Vec<&'a RawValue> {
    let only = || members.raw(name).into_iter().collect();
    members.list(name).unwrap_or_else(only)
}

impl Reader<'_> {
    /// Reads a part. A string is a text, and what is no part of a known kind is shown as it is written.
    fn read(&mut self, part: &str) {
        let before = self.texts.len();
        match Members::read(part) {
            Some(part) => self.take(&part),
            None => self.texts.extend(json::from_str::<String>(part)),
        }
        if self.texts.len() == before {
            self.texts.push(part.to_owned());
        }
    }

    /// Takes a part of a result, or what is in a resource.
    fn take(&mut self, part: &Members<'_>) {
        // One within another is none.
        let resource = part.raw("resource").map(|_| part.members("resource"));
        let part = resource.as_ref().unwrap_or(part);
        let label = |name: &str| one_line(&part.text_or_empty(name), LABEL_CHARS);
        let uri = label("uri");
        // An image or a sound, or the bytes of a resource.
        let base64 = part.text("data").or_else(|| part.text("blob"));
        let text = part.text("text");
        if !uri.is_empty() && (base64.is_some() || text.is_some()) {
            self.texts.push(format!("[{uri}]"));
        } else if !uri.is_empty() {
            let about = format!("{} {}", label("name"), label("description"));
            let about = one_line(&about, LABEL_CHARS);
            self.texts
                .push(format!("[resource {uri}: {}]", about.trim()));
        }
        match (base64, text) {
            (Some(base64), _) => self.take_bytes(&base64, &part.text_or_empty("mimeType")),
            (None, text) => self.texts.extend(text),
        }
    }

    /// Bytes that are not text: stored as a file, and shown to a model that sees.
    fn take_bytes(&mut self, base64: &str, media_type: &str) {
        let Ok(bytes) = STANDARD.decode(base64.trim()) else {
            return self.texts.push("[bytes that cannot be read]".to_owned());
        };
        // A provider refuses an image that is not what its type says.
        let image_type = match FileType::detect(&bytes) {
            FileType::Image(image_type) => Some(image_type),
            _ => None,
        };
        let media_type = image_type.unwrap_or(media_type);
        let shown_type = one_line(media_type, LABEL_CHARS);
        self.files += 1;
        if self.files > FILES {
            return self
                .texts
                .push(format!("[{shown_type}: left out, there are too many]"));
        }
        let path = match self.store(&bytes, extension(media_type)) {
            Ok(path) => path.display().to_string(),
            Err(error) => {
                return self
                    .texts
                    .push(format!("[{shown_type}: could not be stored: {error}]"));
            }
        };
        self.texts.push(format!(
            "[{shown_type}, {} bytes, stored as {path}]",
            bytes.len()
        ));
        if let Some(image_type) = image_type
            && bytes.len() <= IMAGE_BYTES
        {
            self.images.push(Image {
                media_type: image_type.to_owned(),
                // Padded and without white space, as providers take it.
                base64: STANDARD.encode(&bytes),
                path,
            });
        }
    }

    fn store(&self, bytes: &[u8], extension: &str) -> Result<PathBuf> {
        let hash = digest(&SHA256, bytes);
        let name = hex(hash.as_ref().iter().take(HASH_BYTES));
        let name = format!("{name}.{extension}");
        let Context {
            results, workspace, ..
        } = self.context;
        results.store_bytes(workspace, &name, bytes)
    }
}

/// The ending of a file with this media type.
fn extension(media_type: &str) -> &'static str {
    let plain = media_type.split(';').next().unwrap_or_default().trim();
    match plain.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "text/plain" => "txt",
        "text/html" => "html",
        "text/csv" => "csv",
        _ => "bin",
    }
}
