//! `/update`: shows a new version, and has it installed when a person says so.
//!
//! The gateway may not replace its own program. It fetches and verifies the release, and asks root for the
//! rest (see [`staged`](crate::update::staged)); the run after that says in the chat how it went.

use std::path::PathBuf;
use std::sync::Arc;

use super::Call;
use super::texts::{self, format_error};
use crate::agent::commands::CommandAnswer;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Address, CommandButton, DraftKey};
use crate::gateway::{Gateway, sleep};
use crate::net::http::Tls;
use crate::store::state::updates::{RequestedUpdate, UpdateRequest};
use crate::text::markup::{code_block, inline_code, plain, with_code};
use crate::text::truncate_chars;
use crate::update::key::PublicKey;
use crate::update::{Release, Source, Staged, Version, package_of};
use std::time::Duration;

/// Characters of a reason that a chat gets.
const REASON_CHARS: usize = 600;
/// How long a chat waits for the end of an update: to stop, start, fail, and start the old version.
const CHAT_TIME: Duration = Duration::from_secs(4 * 60);

/// What updates take.
pub struct Updates {
    /// Where a release is put for root.
    pub staged: Staged,
    /// Who waits for an update.
    pub requested: UpdateRequest,
    /// How servers are trusted.
    pub tls: Tls,
    /// This program.
    pub program: PathBuf,
    /// Whether systemd waits for requests of this home.
    pub has_unit: Box<dyn Fn() -> bool + Send + Sync>,
    /// The command that updates this program on the board.
    pub command: String,
}

/// What a person may ask for.
enum Asked<'a> {
    Check,
    Install(&'a str),
    Later,
}

impl Gateway {
    /// Answers `/update`. An installation is requested last, when the command has been finished: the
    /// request restarts the gateway, and the next run must not install again.
    pub(super) fn update(self: &Arc<Self>, call: &Call<'_>) {
        let Call {
            message,
            argument,
            language,
            cancel,
        } = *call;
        let to = message.address();
        let draft = DraftKey::command(&message.id);
        if let Some(delivery) = self.delivery(&to) {
            delivery.working(&draft, &to);
        }
        let asked = match argument.split_once(' ').unwrap_or((argument, "")) {
            ("install", version) => Asked::Install(version.trim()),
            ("later", _) => Asked::Later,
            _ => Asked::Check,
        };
        let mut requested = None;
        let answer = match asked {
            Asked::Check => self.offer_update(language, cancel),
            Asked::Later => Ok(texts::update_later(language).to_owned().into()),
            Asked::Install(version) => {
                self.stage_update(version, &to, language, cancel)
                    .map(|version| {
                        requested = Some(version);
                        texts::update_installing(language, &version).into()
                    })
            }
        };
        let answer = answer.unwrap_or_else(|error| {
            let text = format_error(&error, language);
            with_code(truncate_chars(&text, REASON_CHARS)).into()
        });
        self.finish_command(message, answer);
        if let Some(delivery) = self.delivery(&to) {
            delivery.resting(&draft);
        }
        if let Some(version) = requested {
            tracing::info!(chat = %to, %version, "asking for an update");
            match self.parts.updates.staged.request(version) {
                Ok(()) => self.watch_update(),
                Err(error) => self.end_update(Some(error.to_string())),
            }
        }
    }

    /// The release at `update.url`.
    fn find_release(&self, language: Language, cancel: &Cancel) -> Result<Release> {
        let url = self.live().update_url.clone();
        if url.is_empty() {
            return Err(Error::Usage(texts::update_unset(language).to_owned()));
        }
        let (source, name) = Source::open(&url, &self.parts.updates.tls, cancel)?;
        Release::find(source, name.as_deref(), PublicKey::built_in()?)
    }

    /// Says whether there is a newer version, with buttons where this gateway can have it installed.
    fn offer_update(&self, language: Language, cancel: &Cancel) -> Result<CommandAnswer> {
        let version = self.find_release(language, cancel)?.version();
        let own = Version::own();
        if version <= own {
            return Ok(texts::update_none(language, &own).into());
        }
        let available = texts::update_available(language, &version, &own);
        let space = language.sentence_space();
        if let Some(how) = self.update_by_hand(language) {
            return Ok(format!("{available}{space}{how}").into());
        }
        let question = texts::update_question(language);
        let button = |label: &str, command: String| CommandButton {
            label: label.to_owned(),
            command,
        };
        Ok(CommandAnswer {
            is_private: false,
            text: format!("{available}{space}{question}"),
            buttons: vec![vec![
                button(
                    texts::update_install(language),
                    format!("/update install {version}"),
                ),
                button(texts::update_not_now(language), "/update later".to_owned()),
            ]],
        })
    }

    /// How to update on the board, where this gateway cannot have it done.
    fn update_by_hand(&self, language: Language) -> Option<String> {
        let updates = &self.parts.updates;
        if let Some(package) = package_of(&updates.program) {
            return Some(texts::update_package(language, &inline_code(&package)));
        }
        let command = code_block(&updates.command, "");
        (!(updates.has_unit)()).then(|| texts::update_on_board(language, &command))
    }

    /// Fetches and verifies the version that a person agreed to, and notes who waits for it.
    fn stage_update(
        &self,
        version: &str,
        to: &Address,
        language: Language,
        cancel: &Cancel,
    ) -> Result<Version> {
        let updates = &self.parts.updates;
        if let Some(update) = updates.requested.get() {
            let text = texts::update_running(language, &update.version);
            return Err(Error::Usage(text));
        }
        if let Some(how) = self.update_by_hand(language) {
            return Err(Error::Usage(how));
        }
        let release = self.find_release(language, cancel)?;
        let found = release.version();
        if found.to_string() != version || found <= Version::own() {
            let text = texts::update_changed(language, &plain(version), &found);
            return Err(Error::Usage(text));
        }
        updates.staged.store(&release)?;
        updates.requested.set(RequestedUpdate {
            chat: to.clone(),
            language,
            version: found.to_string(),
        })?;
        Ok(found)
    }

    /// After a start: tells the chat that has waited for this version. One that waits for another
    /// version hears of it from `peacrab update`, or after a time that it was interrupted.
    pub(in crate::gateway) fn say_updated(self: &Arc<Self>) {
        let updates = &self.parts.updates;
        match updates.requested.get() {
            None => {}
            Some(update) if update.version == crate::update::current() => {
                let text = texts::update_done(update.language, &update.version);
                self.tell(&update.chat, &text);
                self.forget_update();
                if let Err(error) = updates.staged.clear() {
                    tracing::warn!("failed to remove the update that is installed: {error}");
                }
            }
            Some(_) => self.watch_update(),
        }
    }

    /// Tells the chat after a time that nothing came of its update.
    fn watch_update(self: &Arc<Self>) {
        let gateway = Arc::clone(self);
        self.timers.spawn(async move {
            sleep(CHAT_TIME).await;
            if let Some(update) = gateway.parts.updates.requested.get() {
                tracing::warn!("the update to {} did not finish", update.version);
                let own = Version::own();
                let text = texts::update_interrupted(update.language, &update.version, &own);
                gateway.tell(&update.chat, &text);
                gateway.forget_update();
            }
        });
    }

    /// Tells the chat how its update failed: why nothing was changed, or that the new version was taken
    /// back.
    pub(in crate::gateway) fn end_update(&self, reason: Option<String>) {
        let Some(update) = self.parts.updates.requested.get() else {
            return;
        };
        let (language, own) = (update.language, Version::own());
        let text = match reason {
            Some(reason) => {
                let reason = with_code(truncate_chars(&reason, REASON_CHARS));
                texts::update_failed(language, &reason)
            }
            None => texts::update_taken_back(language, &update.version, &own),
        };
        tracing::warn!(version = update.version, "the update failed");
        self.tell(&update.chat, &text);
        self.forget_update();
    }

    fn forget_update(&self) {
        if let Err(error) = self.parts.updates.requested.take() {
            tracing::warn!("failed to forget who waits for an update: {error}");
        }
    }
}
