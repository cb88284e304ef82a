//! Telegram as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::time::Duration;

use super::api::{Api, ApiError, Button, Place, SendAs, Upload, Words};
use super::html;
use super::receive::{self, ReceiverParts};
use crate::bus::Heartbeat;
use crate::cancel::Cancel;
use crate::channels::adapter::{
    self, Adapter, Capabilities, Connection, Failure, Piece, Post, Sent,
};
use crate::channels::intake::Intake;
use crate::clock::Clock;
use crate::config::schema;
use crate::error::{Error, Result};
use crate::http::Tls;
use crate::limits::channels::{
    BUTTON_DATA_BYTES, CALL_TIME, CHAT_INTERVAL, DOWNLOAD_BYTES, GROUP_MESSAGES, GROUP_SPAN,
    PATIENCE, PHOTO_BYTES, TOTAL_MESSAGES, TOTAL_SPAN, TYPING_INTERVAL, UPLOAD_BYTES,
};
use crate::markup;
use crate::message::Address;

/// The endings of pictures that Telegram shows as such.
const PHOTO_ENDINGS: [&str; 4] = ["jpg", "jpeg", "png", "webp"];

/// Telegram, as the configuration describes it.
pub struct Telegram {
    config: schema::Telegram,
    tls: Tls,
    clock: Clock,
    capabilities: Capabilities,
}

impl Telegram {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(config: schema::Telegram, tls: Tls, clock: Clock) -> Self {
        let capabilities = Capabilities {
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
            config,
            tls,
            clock,
            capabilities,
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
        // The ids of groups are negative.
        Place::of(address).map(|place| place.chat < 0)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &html::Html)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &html::Html)
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        let api = Api::new(&self.tls, &self.config, PATIENCE, cancel)?;
        let heartbeat = heartbeat.clone();
        Ok(Box::new(
            api.with_progress(move || heartbeat.beat(CALL_TIME)),
        ))
    }

    fn receive(&self, intake: Intake, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            tls: &self.tls,
            config: &self.config,
            clock: &self.clock,
            intake,
            heartbeat,
            cancel,
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        let buttons = keyboard(post);
        let reply_to = post.reply_to.and_then(|message| message.parse().ok());
        let sent = self.send_message(place(to)?, &words(post, &buttons), reply_to)?;
        Ok(sent.to_string())
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        let buttons = keyboard(post);
        self.edit_message_text(place(to)?, id(message)?, &words(post, &buttons))?;
        Ok(())
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        Ok(self.delete_message(place(to)?, id(message)?)?)
    }

    fn upload(&mut self, to: &Address, upload: &adapter::Upload<'_>) -> Sent {
        let place = place(to)?;
        let adapter::Upload { mut file, name, .. } = *upload;
        let as_what = |send_as| Upload {
            file,
            name,
            send_as,
            caption: Words::default(),
        };
        let length = file.metadata().map_err(Error::io("read", name));
        let length = length.map_err(Failure::Local)?.len();
        if is_photo(name) && length <= PHOTO_BYTES {
            match self.send_file(place, &as_what(SendAs::Photo), None) {
                // Too wide, too high, or not a picture after all.
                Err(ApiError::Refused(_)) => {}
                sent => return Ok(sent.map(drop)?),
            }
            let rewound = file.seek(SeekFrom::Start(0));
            rewound.map_err(|error| Failure::Local(Error::io("read", name)(error)))?;
        }
        self.send_file(place, &as_what(SendAs::Document), None)?;
        Ok(())
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

    fn set_menu(&mut self, commands: &[(&'static str, &'static str)]) -> Sent {
        Ok(self.set_my_commands(commands)?)
    }
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
                moved_to: moved_to.map(|chat| Place { chat, thread: None }.key()),
            },
            ApiError::Refused(_) => Self::Refused(said),
            ApiError::Server(_) | ApiError::Timeout(_) => Self::Trouble(said),
            ApiError::Token | ApiError::Conflict { .. } | ApiError::Network(_) => Self::Down(said),
            ApiError::Local(error) => Self::Local(error),
            ApiError::Stopped => Self::Stopped,
        }
    }
}

fn place(to: &Address) -> Sent<Place> {
    Place::of(to).ok_or_else(|| Failure::Refused(format!("{to} is not a chat of Telegram")))
}

/// The number of a message. A draft of another program's version may have any.
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

fn words<'a>(post: &Post<'a>, buttons: &'a [Vec<Button>]) -> Words<'a> {
    Words {
        text: post.text,
        html: post.is_marked,
        buttons,
    }
}

fn is_photo(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    PHOTO_ENDINGS
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}
