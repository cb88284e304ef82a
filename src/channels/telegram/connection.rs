//! Telegram as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::api::{Api, ApiError, Button, ChatTarget, MessageBody, SendAs, Upload};
use super::receive;
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::channels::{
    BUTTON_DATA_BYTES, CALL_TIME, CHAT_INTERVAL, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE,
    TOTAL_SPAN, UPLOAD_BYTES,
};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    self, Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent,
};
use crate::channels::kit::markdown::html;
use crate::channels::kit::sink::SharedSink;
use crate::config::schema;
use crate::net::http::Tls;
use crate::text::markup;

/// Messages to one group within [`GROUP_SPAN`].
const GROUP_MESSAGES: usize = 20;
/// See [`GROUP_MESSAGES`].
const GROUP_SPAN: Duration = Duration::from_secs(60);
/// Messages to all chats within [`TOTAL_SPAN`].
const TOTAL_MESSAGES: usize = 30;
/// How often "typing" is shown, which Telegram takes away after five seconds.
const TYPING_INTERVAL: Duration = Duration::from_secs(4);
/// Bytes of a picture that is sent as one; a larger one goes as a file.
const PHOTO_BYTES: u64 = 10 * 1024 * 1024;

/// UTF-16 units of a caption.
const CAPTION_UNITS: usize = 1024;

/// The endings of pictures that Telegram shows as such.
const PHOTO_ENDINGS: [&str; 4] = ["jpg", "jpeg", "png", "webp"];

/// Telegram, as the configuration describes it.
pub struct Telegram {
    config: schema::Bot,
    tls: Tls,
    clock: Clock,
    capabilities: Capabilities,
    state: Option<PathBuf>,
    /// Whether drafts are wanted and no server has refused one.
    has_drafts: Arc<AtomicBool>,
}

impl Telegram {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(config: schema::Bot, tls: Tls, clock: Clock) -> Self {
        let capabilities = Capabilities {
            buttons: true,
            edits: true,
            button_data_bytes: BUTTON_DATA_BYTES,
            upload_bytes: UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            typing_interval: Some(TYPING_INTERVAL),
            chat_interval: CHAT_INTERVAL,
            group_rate: (GROUP_MESSAGES, GROUP_SPAN),
            total_rate: (TOTAL_MESSAGES, TOTAL_SPAN),
            reaction: config.react_emoji.clone(),
            quotes: config.reply_to_message,
            edit_interval: Some(Duration::from_millis(config.stream_edit_interval_ms)),
        };
        Self {
            has_drafts: Arc::new(AtomicBool::new(config.flag("drafts"))),
            config,
            tls,
            clock,
            capabilities,
            state: None,
        }
    }

    /// Notes in this folder which updates crash the program, so that each can do so only twice.
    #[must_use]
    pub fn remembering(self, state: PathBuf) -> Self {
        Self {
            state: Some(state),
            ..self
        }
    }
}

impl Adapter for Telegram {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        // The ids of groups are negative, and no chat has 0.
        let place = ChatTarget::parse(address).filter(|place| place.chat != 0);
        place.map(|place| place.chat < 0)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &html::Html)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &html::Html)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        let api = Api::new(&self.tls, &self.config, TEST_PATIENCE, cancel)?;
        Ok(format!("@{}", api.get_me()?.username))
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        let api = Api::new(&self.tls, &self.config, PATIENCE, cancel)?;
        let heartbeat = heartbeat.clone();
        let api = api.with_progress(move || heartbeat.beat(CALL_TIME));
        Ok(Box::new(api.with_drafts(&self.has_drafts)))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(receive::ReceiverParts {
            tls: &self.tls,
            config: &self.config,
            clock: &self.clock,
            intake,
            heartbeat,
            cancel,
            state: self.state.clone(),
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let buttons = keyboard(post);
        let reply_to = post.reply_to.and_then(|message| message.parse().ok());
        let sent = self.send_message(place(to)?, &body(post, &buttons), reply_to)?;
        Ok(sent.to_string())
    }

    fn preview(&mut self, to: &Address, id: u32, post: &Post<'_>) -> Option<Sent> {
        let place = ChatTarget::parse(to).filter(|place| place.chat > 0)?;
        if !self.has_drafts() {
            return None;
        }
        let shown = match self.send_message_draft(place, id, &body(post, &[])) {
            Err(ApiError::Refused(said)) => {
                tracing::info!("answers are shown as messages while they are written: {said}");
                self.forget_drafts();
                return None;
            }
            shown => shown,
        };
        Some(shown.map_err(Failure::from))
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        let buttons = keyboard(post);
        self.edit_message_text(place(to)?, id(message)?, &body(post, &buttons))?;
        Ok(())
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        Ok(self.delete_message(place(to)?, id(message)?)?)
    }

    fn upload(&mut self, to: &Address, upload: &adapter::Upload<'_>) -> Sent {
        let caption = MessageBody {
            silent: upload.silent,
            ..MessageBody::default()
        };
        send_as_it_is(self, place(to)?, upload, (caption, None))
    }

    fn upload_with_text(
        &mut self,
        to: &Address,
        upload: &adapter::Upload<'_>,
        text: &Post<'_>,
    ) -> Option<Sent> {
        // Its markup is counted too, which does no harm.
        if text.text.encode_utf16().count() > CAPTION_UNITS {
            return None;
        }
        let buttons = keyboard(text);
        let reply_to = text.reply_to.and_then(|message| message.parse().ok());
        let caption = (body(text, &buttons), reply_to);
        Some(place(to).and_then(|place| send_as_it_is(self, place, upload, caption)))
    }

    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent {
        Ok(self.set_message_reaction(place(to)?, id(message)?, emoji)?)
    }

    fn typing(&mut self, to: &Address) -> Sent {
        Ok(self.send_chat_action(place(to)?, "typing")?)
    }

    fn fetch(&mut self, id: &str, into: &mut File, limit: usize) -> Sent {
        let found = self.get_file(id)?;
        if found.file_size.is_some_and(|size| size > limit as u64) {
            return Err(Failure::Local(Error::TooLarge {
                what: "the file".to_owned(),
                limit,
            }));
        }
        Ok(self.download(&found.file_path, into, limit)?)
    }

    fn set_menu(&mut self, commands: &[MenuEntry]) -> Sent {
        for language in Language::ALL {
            self.set_my_commands(commands, language)?;
        }
        Ok(())
    }
}

/// Sends a file with its caption: as a voice message, as a picture where Telegram takes it for one, else as a document.
fn send_as_it_is(
    api: &Api,
    place: ChatTarget,
    upload: &adapter::Upload<'_>,
    (caption, reply_to): (MessageBody<'_>, Option<i64>),
) -> Sent {
    let adapter::Upload {
        mut file,
        name,
        voice,
        ..
    } = *upload;
    let as_what = |send_as| Upload {
        file,
        name,
        send_as,
        caption,
    };
    let length = file.metadata().map_err(Error::io("read", name));
    let length = length.map_err(Failure::Local)?.len();
    let send_as = match voice {
        Some(seconds) => Some(SendAs::Voice(seconds)),
        None => (is_photo(name) && length <= PHOTO_BYTES).then_some(SendAs::Photo),
    };
    if let Some(send_as) = send_as {
        match api.send_file(place, &as_what(send_as), reply_to) {
            // Too wide, too high, or not a picture after all; or the person takes no voice messages.
            Err(ApiError::Refused(_)) => {}
            sent => return Ok(sent.map(drop)?),
        }
        let rewound = file.seek(SeekFrom::Start(0));
        rewound.map_err(|error| Failure::Local(Error::io("read", name)(error)))?;
    }
    Ok(api
        .send_file(place, &as_what(SendAs::Document), reply_to)
        .map(drop)?)
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let said = error.to_string();
        match error {
            ApiError::TooManyRequests { retry_after } => Self::RetryAfter(retry_after),
            ApiError::CannotParse(said) => Self::Markup(said),
            ApiError::NotModified => Self::NotModified,
            ApiError::MessageGone => Self::MessageGone,
            ApiError::TooLong => Self::TooLong,
            ApiError::Gone { moved_to, .. } => Self::Gone {
                said,
                moved_to: moved_to.map(|chat| ChatTarget { chat, thread: None }.address()),
            },
            ApiError::Refused(_) => Self::Refused(said),
            ApiError::Server(_) | ApiError::Timeout(_) => Self::Trouble(said),
            ApiError::Token | ApiError::Conflict { .. } | ApiError::Network(_) => Self::Down(said),
            ApiError::Local(error) => Self::Local(error),
            ApiError::Stopped => Self::Stopped,
        }
    }
}

fn place(to: &Address) -> Sent<ChatTarget> {
    ChatTarget::parse(to).ok_or_else(|| Failure::Refused(format!("{to} is not a Telegram chat")))
}

/// The number of a message. A draft of another version of the program may have any text.
fn id(message: &str) -> Sent<i64> {
    message.parse().map_err(|_| Failure::MessageGone)
}

fn keyboard(post: &Post<'_>) -> Vec<Vec<Button>> {
    let button = |button: &adapter::Button| Button {
        text: button.label.clone(),
        data: button.data.clone(),
    };
    let rows = post.buttons.iter();
    rows.map(|row| row.iter().map(button).collect()).collect()
}

fn body<'a>(post: &Post<'a>, buttons: &'a [Vec<Button>]) -> MessageBody<'a> {
    MessageBody {
        text: post.text,
        html: post.is_marked,
        buttons,
        silent: post.silent,
    }
}

fn is_photo(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    PHOTO_ENDINGS
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::{Value, json};

    use super::*;
    use crate::base::bus::Heartbeats;
    use crate::net::http::server::{Answer, Server, answer};

    fn telegram(server: &Server) -> Telegram {
        let mut config = schema::Bot::of("telegram");
        config.api_base = format!("http://{}", server.address);
        Telegram::new(config, Tls::new(None).unwrap(), Clock::System)
    }

    fn connect(server: &Server) -> Box<dyn Connection> {
        let heartbeat = Heartbeats::default().register("test");
        let telegram = telegram(server);
        telegram.connect(&Cancel::new(), &heartbeat).unwrap()
    }

    fn replies(status: &str, body: &Value) -> Answer {
        answer(status, "", body.to_string().as_bytes())
    }

    fn sent(message: i64) -> Answer {
        replies(
            "200 OK",
            &json!({"ok": true, "result": {"message_id": message}}),
        )
    }

    fn refused(description: &str, more: Value) -> Answer {
        let body = json!({
            "ok": false,
            "error_code": 400,
            "description": description,
            "parameters": more,
        });
        replies("400 Bad Request", &body)
    }

    #[test]
    fn a_post_goes_to_its_topic_with_markup_buttons_and_what_it_quotes() {
        let server = Server::plain([sent(45), sent(45)]);
        let mut connection = connect(&server);
        let to = Address::parse("telegram:-100:7");
        let buttons = [vec![adapter::Button {
            label: "Yes".to_owned(),
            data: "w:Yes".to_owned(),
        }]];
        let post = Post {
            text: "<b>hi</b>",
            is_marked: true,
            buttons: &buttons,
            reply_to: Some("3"),
            key: Some(9),
            silent: true,
        };
        assert_eq!(connection.send(&to, &post).unwrap(), "45");
        let (_, body) = server.request_with_body();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let expected = json!({
            "chat_id": -100,
            "message_thread_id": 7,
            "text": "<b>hi</b>",
            "link_preview_options": {"is_disabled": true},
            "parse_mode": "HTML",
            "disable_notification": true,
            "reply_parameters": {"message_id": 3, "allow_sending_without_reply": true},
            "reply_markup": {"inline_keyboard": [[{"text": "Yes", "callback_data": "w:Yes"}]]},
        });
        assert_eq!(body, expected);
        let plain = Post {
            text: "hi",
            ..Post::default()
        };
        connection.edit(&to, "45", &plain).unwrap();
        let (head, body) = server.request_with_body();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert!(head.contains("/editmessagetext"), "{head}");
        assert_eq!(
            body,
            json!({"chat_id": -100, "message_id": 45, "text": "hi", "link_preview_options": {"is_disabled": true}})
        );
    }

    #[test]
    fn a_picture_that_telegram_refuses_goes_whole_as_a_file() {
        let server = Server::plain([
            refused("Bad Request: PHOTO_INVALID_DIMENSIONS", json!({})),
            sent(46),
        ]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"not a picture").unwrap();
        file.rewind().unwrap();
        let upload = adapter::Upload {
            file: &file,
            name: "a.PNG",
            key: None,
            silent: false,
            voice: None,
        };
        let to = Address::parse("telegram:5");
        connect(&server).upload(&to, &upload).unwrap();
        for method in ["/sendphoto", "/senddocument"] {
            let (head, body) = server.request_with_body();
            let body = String::from_utf8(body).unwrap();
            assert!(
                head.contains(method) && body.contains("not a picture"),
                "{head} {body}"
            );
        }
    }

    #[test]
    fn each_failure_says_what_can_be_done_about_it() {
        let moved = json!({"migrate_to_chat_id": -1001});
        let server = Server::plain([
            refused(
                "Bad Request: group chat was upgraded to a supergroup chat",
                moved,
            ),
            refused("Bad Request: message to delete not found", json!({})),
            replies("502 Bad Gateway", &json!("a proxy's page")),
            replies(
                "401 Unauthorized",
                &json!({"ok": false, "description": "Unauthorized"}),
            ),
        ]);
        let mut connection = connect(&server);
        let to = Address::parse("telegram:-7");
        let post = Post {
            text: "hi",
            ..Post::default()
        };
        let error = connection.send(&to, &post).unwrap_err();
        assert!(
            matches!(&error, Failure::Gone { moved_to: Some(to), .. }
                if to.to_string() == "telegram:-1001"),
            "{error:?}"
        );
        let error = connection.delete(&to, "5").unwrap_err();
        assert!(matches!(error, Failure::MessageGone), "{error:?}");
        let error = connection.typing(&to).unwrap_err();
        assert!(matches!(error, Failure::Trouble(_)), "{error:?}");
        let error = connection.send(&to, &post).unwrap_err();
        assert!(matches!(error, Failure::Down(_)), "{error:?}");
        let strange = Address::parse("telegram:x");
        let error = connection.send(&strange, &post).unwrap_err();
        assert!(matches!(error, Failure::Refused(_)), "{error:?}");
    }

    /// The watchdog is fed while its bytes move, and only then: a call that falls silent is noticed.
    #[test]
    fn a_transfer_keeps_the_heartbeat_and_other_calls_do_not() {
        let found = json!({"ok": true, "result": {"file_id": "a", "file_path": "documents/a"}});
        let server = Server::plain([
            sent(7),
            replies("200 OK", &found),
            answer("200 OK", "", b"some bytes"),
            replies("200 OK", &json!({"ok": true, "result": true})),
        ]);
        let heartbeats = Heartbeats::default();
        let heartbeat = heartbeats.register("delivery");
        let telegram = telegram(&server);
        let mut connection = telegram.connect(&Cancel::new(), &heartbeat).unwrap();
        let break_promise = || {
            heartbeat.beat(Duration::ZERO);
            Cancel::new().wait(Duration::from_millis(2));
            assert_eq!(heartbeats.late(), Some("delivery"));
        };
        let to = Address::parse("telegram:5");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"some bytes").unwrap();
        file.rewind().unwrap();
        let upload = adapter::Upload {
            file: &file,
            name: "a.txt",
            key: None,
            silent: false,
            voice: None,
        };

        break_promise();
        connection.upload(&to, &upload).unwrap();
        assert_eq!(heartbeats.late(), None);
        break_promise();
        connection.fetch("a", &mut file, 100).unwrap();
        assert_eq!(heartbeats.late(), None);
        break_promise();
        connection.typing(&to).unwrap();
        assert_eq!(heartbeats.late(), Some("delivery"));
    }

    #[test]
    fn groups_are_known_by_their_ids_and_other_channels_are_none() {
        let server = Server::plain([]);
        let telegram = telegram(&server);
        for (address, expected) in [
            ("telegram:5", Some(false)),
            ("telegram:-5:7", Some(true)),
            ("telegram:x", None),
            ("discord:5", None),
        ] {
            assert_eq!(
                telegram.is_group(&Address::parse(address)),
                expected,
                "{address}"
            );
        }
    }
}
