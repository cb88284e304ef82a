//! Discord as a channel: what it can do, and the calls of one worker.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::DISCORD_UPLOAD_BYTES;
use super::api::Api;
use super::event::FileId;
use super::receive::{self, ReceiverParts};
use super::types::snowflake;
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::channels::{
    CALL_TIME, CHAT_INTERVAL, DOWNLOAD_BYTES, PATIENCE, TEST_PATIENCE, TOTAL_SPAN,
};
use crate::base::message::Address;
use crate::channels::kit::adapter::{
    Adapter, Capabilities, Connection, Failure, MenuEntry, Piece, Post, Sent, Upload,
};
use crate::channels::kit::markdown::discord::Markdown;
use crate::channels::kit::rest::rates::RateLimits;
use crate::channels::kit::service::Making;
use crate::channels::kit::sink::SharedSink;
use crate::config::schema;
use crate::net::http::Tls;
use crate::text::ellipsize_chars;
use crate::text::markup;

/// Bytes of a Discord button's data, its `custom_id`.
const DISCORD_BUTTON_DATA_BYTES: usize = 100;
/// Characters of a slash command's description at Discord.
const DISCORD_DESCRIPTION_CHARS: usize = 100;
/// Messages and other calls to all of Discord within a second: it allows 50.
const DISCORD_TOTAL: usize = 40;
/// Time between two showings of "typing", which Discord takes away after ten seconds.
const DISCORD_TYPING_INTERVAL: Duration = Duration::from_secs(8);

/// Discord, as the configuration describes it.
pub struct Discord {
    config: schema::Bot,
    tls: Tls,
    clock: Clock,
    state: PathBuf,
    capabilities: Capabilities,
    limits: Arc<RateLimits>,
}

impl Discord {
    /// Prepares the channel; nothing is connected yet.
    pub fn new(making: Making) -> Self {
        let Making {
            bot: config,
            tls,
            clock,
            state,
        } = making;
        let capabilities = Capabilities {
            buttons: true,
            edits: true,
            button_data_bytes: DISCORD_BUTTON_DATA_BYTES,
            upload_bytes: DISCORD_UPLOAD_BYTES,
            download_bytes: DOWNLOAD_BYTES,
            typing_interval: Some(DISCORD_TYPING_INTERVAL),
            // Five messages in five seconds, in private chats and in servers alike.
            chat_interval: CHAT_INTERVAL,
            group_rate: (DISCORD_TOTAL, TOTAL_SPAN),
            total_rate: (DISCORD_TOTAL, TOTAL_SPAN),
            reaction: config.react_emoji.clone(),
            quotes: config.reply_to_message,
            edit_interval: Some(Duration::from_millis(config.stream_edit_interval_ms)),
        };
        Self {
            config,
            tls,
            clock,
            state,
            capabilities,
            limits: Arc::default(),
        }
    }

    /// Calls of the REST API over a connection of their own.
    pub fn api(&self, patience: Duration, cancel: &Cancel) -> Result<Api> {
        Api::new(&self.tls, &self.config, &self.limits, patience, cancel)
    }
}

impl Adapter for Discord {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn is_group(&self, address: &Address) -> Option<bool> {
        // The id does not tell, and the limits are the same.
        channel(address).ok().map(|_| false)
    }

    fn render(&self, markdown: &str) -> Vec<Piece> {
        markup::render(markdown, &Markdown)
    }

    fn render_draft(&self, markdown: &str) -> Option<Piece> {
        markup::draft(markdown, &Markdown)
    }

    fn identify(&self, cancel: &Cancel) -> Sent<String> {
        Ok(self.api(TEST_PATIENCE, cancel)?.get_me()?.username)
    }

    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>> {
        let api = self.api(PATIENCE, cancel)?;
        let heartbeat = heartbeat.clone();
        Ok(Box::new(
            api.with_progress(move || heartbeat.beat(CALL_TIME)),
        ))
    }

    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel) {
        receive::run(ReceiverParts {
            discord: self,
            tls: &self.tls,
            config: &self.config,
            clock: &self.clock,
            state: &self.state,
            intake,
            heartbeat,
            cancel,
        });
    }
}

impl Connection for Api {
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String> {
        self.create_message(channel(to)?, post)
    }

    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent {
        self.edit_message(channel(to)?, id(message)?, post)
    }

    fn delete(&mut self, to: &Address, message: &str) -> Sent {
        self.delete_message(channel(to)?, id(message)?)
    }

    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent {
        Self::upload(self, channel(to)?, upload, None)
    }

    fn upload_with_text(
        &mut self,
        to: &Address,
        upload: &Upload<'_>,
        text: &Post<'_>,
    ) -> Option<Sent> {
        let send = |channel| Self::upload(self, channel, upload, Some(text));
        Some(channel(to).and_then(send))
    }

    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent {
        skip_if_limited(Self::react(self, channel(to)?, id(message)?, emoji))
    }

    fn typing(&mut self, to: &Address) -> Sent {
        skip_if_limited(Self::typing(self, channel(to)?))
    }

    fn fetch(&mut self, file: &str, into: &mut File, limit: usize) -> Sent {
        let unknown = || Failure::Refused("it has no URL".to_owned());
        let file = FileId::parse(file).ok_or_else(unknown)?;
        match self.download(file.url, into, limit) {
            // The address has expired, or the message is gone.
            Err(Failure::MessageGone) => {}
            outcome => return outcome,
        }
        let message = self.get_message(id(file.channel)?, id(file.message)?)?;
        let forwarded = message.message_snapshots.iter();
        let forwarded = forwarded.flat_map(|snapshot| &snapshot.message.attachments);
        let mut attachments = message.attachments.iter().chain(forwarded);
        let found = attachments.find(|attachment| attachment.id == file.attachment);
        self.download(&found.ok_or(Failure::MessageGone)?.url, into, limit)
    }

    fn set_menu(&mut self, commands: &[MenuEntry]) -> Sent {
        self.set_commands(&menu(commands))
    }
}

/// The locales of Discord whose language the bot speaks, without English, which all others get.
/// <https://discord.com/developers/docs/reference#locales>
const LOCALES: [(&str, Language); 8] = [
    ("zh-CN", Language::Chinese),
    ("zh-TW", Language::Chinese),
    ("de", Language::German),
    ("fr", Language::French),
    ("es-ES", Language::Spanish),
    ("es-419", Language::Spanish),
    ("pt-BR", Language::Portuguese),
    ("ja", Language::Japanese),
];

/// The slash commands as Discord takes them. Each has one argument, the rest of the line.
fn menu(commands: &[MenuEntry]) -> Value {
    let command = |entry: &MenuEntry| {
        let describe =
            |language| ellipsize_chars(entry.help(language), DISCORD_DESCRIPTION_CHARS - 1);
        let localized: Map<String, Value> = LOCALES
            .map(|(locale, language)| (locale.to_owned(), describe(language).into()))
            .into_iter()
            .collect();
        json!({
            "name": entry.name,
            "description": describe(Language::English),
            "description_localizations": localized,
            "options": [{
                "type": 3, "name": "text", "description": "The command's arguments",
            }],
        })
    };
    commands.iter().map(command).collect()
}

/// Reactions and "typing" have rate limits of their own. Nothing waits for these: a rate-limited one is
/// skipped.
fn skip_if_limited(outcome: Sent) -> Sent {
    match outcome {
        Err(Failure::RetryAfter(_)) => Ok(()),
        outcome => outcome,
    }
}

/// The channel's id in an address.
fn channel(to: &Address) -> Sent<&str> {
    let is_ours = to.channel == super::NAME && to.thread.is_none();
    let id = snowflake(&to.chat).filter(|_| is_ours);
    id.map(|_| to.chat.as_str())
        .ok_or_else(|| Failure::Refused(format!("{to} is not a channel of Discord")))
}

/// The id of a message or a channel. It becomes a part of a path.
fn id(text: &str) -> Sent<&str> {
    snowflake(text).map(|_| text).ok_or(Failure::MessageGone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_get_into_paths() {
        assert_eq!(channel(&Address::parse("discord:12")).ok(), Some("12"));
        for address in [
            "discord:",
            "discord:a",
            "discord:1/2",
            "discord:1:2",
            "cli:1",
        ] {
            assert!(channel(&Address::parse(address)).is_err(), "{address}");
        }
        assert!(id("12/../3").is_err() && id("").is_err());
    }

    #[test]
    fn commands_take_the_rest_of_the_line() {
        let menu = menu(&[MenuEntry::built_in("sh", |language| match language {
            Language::Chinese => "运行命令",
            Language::Spanish => "Ejecutar un comando",
            _ => "Run a command",
        })]);
        assert_eq!(menu[0]["name"], "sh");
        assert_eq!(menu[0]["description"], "Run a command");
        let localized = &menu[0]["description_localizations"];
        assert_eq!(localized["zh-CN"], "运行命令");
        assert_eq!(localized["es-419"], "Ejecutar un comando");
        assert_eq!(localized["ja"], "Run a command");
        assert_eq!(menu[0]["options"][0]["type"], 3);
    }
}
