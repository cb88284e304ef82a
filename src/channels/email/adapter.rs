//! E-mail as a channel: what it can do, and the calls of one worker.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::SUBJECT_CHARS;
use super::compose::{self, Head, MailHtml};
use super::imap::Imap;
use super::imap::value::Value;
use super::incoming::{FileId, bare_subject};
use super::mime::address;
use super::mime::decode::{Decoder, base64_lines};
use super::receive;
use super::settings::Settings;
use super::smtp::Smtp;
use super::threads::{Thread, Threads};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::channels::{BUTTON_DATA_BYTES, CHAT_INTERVAL, DOWNLOAD_BYTES};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::sink::SharedSink;
use crate::config::channels::Bot;
use crate::net::Tls;
use crate::sys::random;
use crate::text::markup;
use crate::text::one_line;
use std::time::Duration;

/// Bytes of a file that is sent: with its encoding it has a third more, and most servers take 25 MB.
const UPLOAD_BYTES: u64 = 18 * 1024 * 1024;
/// Bytes of a file that are fetched at once, as they are encoded.
const FETCH_BYTES: u64 = 64 * 1024;
/// Bytes of a file that are encoded at once: whole lines of 57.
const ENCODE_BYTES: usize = 57 * 64;
/// Mails to all people within [`SENT_SPAN`]: providers allow some hundred a day.
const SENT: usize = 20;
/// See [`SENT`].
const SENT_SPAN: Duration = Duration::from_secs(60);

/// E-mail, as the configuration describes it.
pub struct Email {
    parts: Arc<Parts>,
    capabilities: Capabilities,
}

/// What the receiver and all connections share.
pub(super) struct Parts {
    pub settings: Settings,
    pub tls: Tls,
    pub clock: Clock,
    pub threads: Threads,
}

impl Email {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(bot: &Bot, tls: Tls, clock: Clock, state: &Path) -> Self {
        let capabilities = Capabilities {
            buttons: false,
            edits: false,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            typing_interval: None,
            chat_interval: CHAT_INTERVAL,
            group_rate: (SENT, SENT_SPAN),
            total_rate: (SENT, SENT_SPAN),
            reaction: String::new(),
            // An answer names the mail that it answers.
            quotes: true,
            edit_interval: None,
        };
        let parts = Parts {
            settings: Settings::new(bot),
            tls,
            clock,
            threads: Threads::new(state),
        };
        Self {
            parts: Arc::new(parts),
            capabilities,
        }
    }
}

impl Adapter for Email {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        place(address).ok().map(|_| false)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &MailHtml)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &MailHtml)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        let heartbeat = crate::base::bus::Heartbeats::default().register("test");
        let mut imap = self.parts.imap(cancel, &heartbeat)?;
        imap.select(&self.parts.settings.mailbox)?;
        imap.log_out();
        self.parts.smtp(cancel, &heartbeat)?.quit();
        Ok(self.parts.settings.from.clone())
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Worker {
            parts: Arc::clone(&self.parts),
            cancel: cancel.clone(),
            heartbeat: heartbeat.clone(),
            imap: None,
        }))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(&self.parts, &intake, &heartbeat, &cancel);
    }
}

impl Parts {
    /// A session with the IMAP server.
    pub fn imap(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Sent<Imap> {
        Imap::open(&self.settings.imap, &self.tls, cancel, heartbeat)
    }

    fn smtp(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Sent<Smtp> {
        Smtp::open(&self.settings.smtp, &self.tls, cancel, heartbeat)
    }
}

/// One worker: a session with the SMTP server for each mail, and one with the IMAP server while it fetches files.
struct Worker {
    parts: Arc<Parts>,
    cancel: Cancel,
    heartbeat: Heartbeat,
    /// With the UIDVALIDITY of its mailbox.
    imap: Option<(Imap, u64)>,
}

/// A mail that is about to be sent.
struct Outgoing<'a> {
    to: &'a Address,
    thread: Thread,
    id: String,
    subject: String,
    earlier: Vec<String>,
}

impl Worker {
    /// What the mail's head says; `None` when people's mails are not to be answered.
    fn outgoing<'a>(
        &self,
        to: &'a Address,
        (reply_to, key, title): (Option<&str>, Option<u64>, &str),
    ) -> Sent<Option<Outgoing<'a>>> {
        let settings = &self.parts.settings;
        let chat = place(to)?;
        let known = self
            .parts
            .threads
            .get(&chat, to.thread.as_deref().unwrap_or_default());
        let thread = known.unwrap_or_else(|| Thread {
            chat,
            id: to.thread.clone().unwrap_or_default(),
            ..Thread::default()
        });
        let is_answer = to.thread.is_some() || reply_to.is_some();
        if is_answer && !settings.answers {
            return Ok(None);
        }
        let mut earlier = if is_answer {
            thread.ids.clone()
        } else {
            Vec::new()
        };
        if let Some(answered) = reply_to.filter(|id| id.starts_with('<')) {
            earlier.retain(|id| id != answered);
            earlier.push(answered.to_owned());
        }
        let known = bare_subject(&thread.subject);
        let subject = match (is_answer, known) {
            (true, "") => format!("{}{}", settings.subject_prefix, title),
            (true, known) => format!("{}{known}", settings.subject_prefix),
            (false, _) => title.to_owned(),
        };
        let key = match key {
            Some(key) => key,
            None => u64::from_le_bytes(random::bytes()?),
        };
        Ok(Some(Outgoing {
            to,
            id: compose::message_id(to.thread.as_deref(), key, &settings.from),
            subject: one_line(&subject, SUBJECT_CHARS),
            earlier,
            thread,
        }))
    }

    /// Sends a mail: what comes before its file, the file, and what comes after it.
    fn deliver(
        &self,
        outgoing: &Outgoing<'_>,
        (before, after): (&str, &str),
        file: Option<&File>,
    ) -> Sent {
        let mut smtp = self.parts.smtp(&self.cancel, &self.heartbeat)?;
        let length = match file {
            Some(file) => file.metadata().map_err(Error::io("read", "a file"))?.len(),
            None => 0,
        };
        smtp.check_size(before.len() as u64 + length / 57 * 78 + after.len() as u64)?;
        smtp.begin(&self.parts.settings.from, &outgoing.thread.chat)?;
        smtp.data(before.as_bytes())?;
        if let Some(mut file) = file {
            let mut chunk = Vec::with_capacity(ENCODE_BYTES);
            loop {
                chunk.clear();
                let read = (&mut file)
                    .take(ENCODE_BYTES as u64)
                    .read_to_end(&mut chunk);
                if read.map_err(Error::io("read", "a file"))? == 0 {
                    break;
                }
                smtp.data(base64_lines(&chunk).as_bytes())?;
            }
        }
        smtp.data(after.as_bytes())?;
        smtp.end()?;
        smtp.quit();
        self.remember(outgoing);
        Ok(())
    }

    /// The next mail of the conversation names this one.
    fn remember(&self, outgoing: &Outgoing<'_>) {
        let Some(thread) = outgoing.to.thread.as_deref() else {
            return;
        };
        let threads = &self.parts.threads;
        let added = threads.add(
            &outgoing.thread.chat,
            thread,
            &outgoing.subject,
            &outgoing.id,
        );
        if let Err(error) = added {
            tracing::warn!("failed to save a conversation: {error}");
        }
    }

    fn head<'a>(&'a self, outgoing: &'a Outgoing<'_>) -> Head<'a> {
        Head {
            from: &self.parts.settings.from,
            to: &outgoing.thread.chat,
            subject: &outgoing.subject,
            date: self.parts.clock.now(),
            id: &outgoing.id,
            earlier: &outgoing.earlier,
        }
    }

    /// Fetches a part piece by piece over an open session.
    fn fetch_part(&mut self, file: &FileId, into: &mut File, limit: usize) -> Sent {
        let (imap, validity) = match &mut self.imap {
            Some(open) => open,
            None => {
                let mut imap = self.parts.imap(&self.cancel, &self.heartbeat)?;
                let mailbox = imap.select(&self.parts.settings.mailbox)?;
                self.imap.insert((imap, mailbox.validity))
            }
        };
        if *validity != file.validity {
            return Err(Failure::MessageGone);
        }
        let mut decoder = Decoder::new(file.encoding);
        let (mut at, mut written) = (0_u64, 0_usize);
        let mut decoded = Vec::new();
        let section = &file.section;
        loop {
            let items = format!("UID BODY.PEEK[{section}]<{at}.{FETCH_BYTES}>");
            let wanted = format!("BODY[{section}]");
            let found = imap.fetch(file.uid, &items, &wanted)?;
            let found = found.ok_or(Failure::MessageGone)?;
            let bytes = found.named(&wanted);
            let bytes = bytes.and_then(Value::bytes).unwrap_or_default();
            decoded.clear();
            decoder.push(bytes, &mut decoded);
            written += decoded.len();
            if written > limit {
                let what = "the file".to_owned();
                return Err(Failure::Local(Error::TooLarge { what, limit }));
            }
            into.write_all(&decoded)
                .map_err(Error::io("write", "a file"))?;
            at += bytes.len() as u64;
            if (bytes.len() as u64) < FETCH_BYTES {
                break;
            }
        }
        decoded.clear();
        decoder.finish(&mut decoded);
        Ok(into
            .write_all(&decoded)
            .map_err(Error::io("write", "a file"))?)
    }
}

impl Connection for Worker {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let title = title(post);
        let Some(outgoing) = self.outgoing(to, (post.reply_to, post.key, &title))? else {
            tracing::debug!(chat = %to, "not answered: channels.email.autoReplyEnabled is off");
            return Ok(String::new());
        };
        let mail = compose::text_mail(&self.head(&outgoing), post.text, post.is_marked);
        self.deliver(&outgoing, (&mail, ""), None)?;
        Ok(outgoing.id)
    }

    fn edit(&mut self, _: &Address, _: &str, _: &Post<'_>) -> Sent {
        Err(Failure::MessageGone)
    }

    fn delete(&mut self, _: &Address, _: &str) -> Sent {
        Err(Failure::Refused("a mail cannot be deleted".to_owned()))
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        let Some(outgoing) = self.outgoing(to, (None, upload.key, upload.name))? else {
            return Ok(());
        };
        let text = (upload.name, false);
        let (before, after) = compose::file_mail(&self.head(&outgoing), text, upload.name);
        self.deliver(&outgoing, (&before, &after), Some(upload.file))
    }

    fn upload_with_text(
        &mut self,
        to: &Address,
        upload: &Upload<'_>,
        text: &Post<'_>,
    ) -> Option<Sent> {
        let outgoing = self.outgoing(to, (text.reply_to, text.key, &title(text)));
        let send = |outgoing: Outgoing| {
            let text = (text.text, text.is_marked);
            let (before, after) = compose::file_mail(&self.head(&outgoing), text, upload.name);
            self.deliver(&outgoing, (&before, &after), Some(upload.file))
        };
        outgoing.map_or_else(|failure| Some(Err(failure)), |outgoing| outgoing.map(send))
    }

    fn react(&mut self, _: &Address, _: &str, _: &str) -> Sent {
        Ok(())
    }

    fn typing(&mut self, _: &Address) -> Sent {
        Ok(())
    }

    fn fetch(&mut self, id: &str, into: &mut File, limit: usize) -> Sent {
        let file = FileId::parse(id).ok_or(Failure::MessageGone)?;
        let fetched = self.fetch_part(&file, into, limit);
        if fetched.is_err() {
            self.imap = None;
        }
        fetched
    }

    fn set_menu(&mut self, _: &[MenuEntry]) -> Sent {
        Ok(())
    }
}

/// The subject of a mail that begins a conversation: the beginning of its text.
fn title(post: &Post<'_>) -> String {
    let plain = if post.is_marked {
        Cow::Owned(compose::plain(post.text))
    } else {
        Cow::Borrowed(post.text)
    };
    let title = plain.lines().find(|line| !line.trim().is_empty());
    one_line(title.unwrap_or("Peacrab"), TITLE_CHARS)
}

/// Characters of a text that become the subject of a mail that begins a conversation.
const TITLE_CHARS: usize = 60;

/// The person's address in an address of the channel, in lower case.
fn place(to: &Address) -> Sent<String> {
    let is_ours = to.channel == super::NAME && to.thread.as_deref().is_none_or(compose::is_thread);
    let address = address::address(&to.chat).filter(|_| is_ours);
    address.ok_or_else(|| Failure::Refused(format!("{to} is not an e-mail address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_get_into_commands() {
        for (address, expected) in [
            ("email:Ana@Example.org", Some("ana@example.org")),
            (
                "email:ana@example.org:0123456789abcdef",
                Some("ana@example.org"),
            ),
            ("email:ana@example.org:x", None),
            ("email:ana@example.org> SIZE=1", None),
            ("email:ana", None),
            ("email:", None),
            ("cli:ana@example.org", None),
        ] {
            let place = place(&Address::parse(address)).ok();
            assert_eq!(place.as_deref(), expected, "{address}");
        }
    }
}
