//! Pictures and documents of a message, and what the person is told where the model does not see a picture.

use super::Run;
use crate::agent::context::Content;
use crate::agent::host::TurnEvent;
use crate::agent::texts;
use crate::base::access::Role;
use crate::base::chat::Image;
use crate::base::language::Language;
use crate::base::limits::chat::IMAGE_BYTES;
use crate::base::message::{Attachment, Envelope, Media, OutgoingMessage};
use crate::models::table::OFFLINE;
use crate::text::truncate_chars;
use crate::tools::DocumentFault;

/// Documents of one message whose beginnings are read for the model.
const DOCUMENTS: usize = 4;
/// Characters of their texts that the message shows: three or four pages.
const SHOWN_CHARS: usize = 12_000;
/// Bytes of text that are taken from a command.
const TEXT_BYTES: usize = 512 * 1024;
/// The command that reads a document that our reader cannot: without an error where it is not installed.
const PDFTOTEXT: &str = "command -v pdftotext >/dev/null || exit 0; head -c 5 \"$1\" | grep -q %PDF- || exit 0; \
                         pdftotext -q \"$1\" - | head -c 500000";

impl Run<'_> {
    /// Reads the pictures of a message. The person is told which of them no model could take.
    pub(super) fn read_pictures(&mut self, message: &Envelope) -> Vec<Image> {
        let photos = message
            .attachments
            .iter()
            .filter(|attachment| attachment.media == Media::Photo);
        let mut images = Vec::new();
        for photo in photos {
            match self.agent.toolbox.image(&photo.path, self.cancel) {
                Some(image) => images.push(image),
                None => {
                    let name = sent_name(&photo.path);
                    let megabytes = IMAGE_BYTES as f64 / 1e6;
                    let text = texts::picture_unusable(message.language(), &name, &megabytes);
                    self.host.on_event(TurnEvent::Lasting(&text));
                }
            }
        }
        self.has_pictures |= !images.is_empty();
        images
    }

    /// Reads the beginnings of a message's documents, which the model can read on in. The person is told which of them
    /// cannot be read.
    pub(super) fn read_documents(&mut self, message: &Envelope) -> Vec<Content> {
        let files = message.attachments.iter();
        let files = files.filter(|attachment| attachment.media == Media::Document);
        let files: Vec<&Attachment> = files.take(DOCUMENTS).collect();
        let chars = SHOWN_CHARS / files.len().max(1);
        let mut contents = Vec::new();
        for file in files {
            let excerpt = self.agent.toolbox.excerpt(&file.path, chars, self.cancel);
            let Some(mut excerpt) = excerpt else {
                continue;
            };
            let is_other = [
                DocumentFault::Misnamed,
                DocumentFault::Empty,
                DocumentFault::Other,
                DocumentFault::Locked,
            ];
            if excerpt.fault.is_none_or(|fault| !is_other.contains(&fault))
                && excerpt.text.is_empty()
                && let Some(text) = self.read_by_command(&file.path, message)
            {
                excerpt.text = truncate_chars(&text, chars).to_owned();
                excerpt.is_cut = excerpt.text.len() < text.len();
                excerpt.about = "PDF document, as `pdftotext` reads it".to_owned();
                excerpt.reader = "pdftotext";
                excerpt.fault = None;
            }
            if let Some(fault) = excerpt.fault {
                let describe = match fault {
                    DocumentFault::Misnamed => texts::document_misnamed,
                    DocumentFault::Empty => texts::document_empty,
                    DocumentFault::Unreadable => texts::document_unreadable,
                    DocumentFault::Other => texts::document_other,
                    DocumentFault::Scan => texts::document_scan,
                    DocumentFault::Partial => texts::document_partial,
                    DocumentFault::Locked => texts::document_locked,
                };
                let name = sent_name(&file.path);
                let text = describe(message.language(), &name);
                self.host.on_event(TurnEvent::Lasting(&text));
            }
            contents.push(Content::document(&file.path, excerpt));
        }
        contents
    }

    /// The text that `pdftotext`, where it is there, finds in the sandbox: it knows more ways in which documents are
    /// protected, damaged or written.
    fn read_by_command(&self, path: &str, message: &Envelope) -> Option<String> {
        let session = self.session.chat().to_string();
        let of = (PDFTOTEXT, path);
        let toolbox = &self.agent.toolbox;
        let read = toolbox.read_out(of, message.language(), TEXT_BYTES, &self.caller(&session));
        let text = read.ok()?;
        (!text.trim().is_empty()).then_some(text)
    }
}

/// The name that a file had before it was stored, which put the time before it.
fn sent_name(path: &str) -> &str {
    let name = OutgoingMessage::name_of(path);
    let is_number = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let own = name.split_once('-').and_then(|(day, rest)| {
        let (time, own) = rest.split_once('-')?;
        (is_number(day, 8) && is_number(time, 6) && !own.is_empty()).then_some(own)
    });
    own.unwrap_or(name)
}

/// The notice for a person whose picture goes to a model that does not see.
pub(super) fn describe_blind(model: &str, role: Role, language: Language) -> String {
    let text = match model {
        OFFLINE => return texts::blind_helper(language).to_owned(),
        model => texts::blind(language, &model),
    };
    match (role, model.split_once('/')) {
        (Role::Owner, Some((provider, _))) => text + &texts::blind_by_name(language, &provider),
        _ => text,
    }
}
