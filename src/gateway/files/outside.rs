//! `/get!`: a file from outside the workspace. The person is asked about the command that copies it, as for `/sh!`.

use std::path::{Path, PathBuf};

use super::pack::{FOLDER, path_of};
use super::{Job, format_bytes, name_of, short, texts};
use crate::base::error::{Error, Result};
use crate::base::message::OutgoingMessage;
use crate::config::home::quote_for_shell;
use crate::sys::random;
use crate::text::markup::inline_code;
use crate::tools::Caller;
use crate::tools::commands::TypedCommand;

impl Job<'_> {
    /// Copies a file into the workspace for as long as it takes to send it.
    pub(super) fn get_outside(&self, path: &str) -> Result<OutgoingMessage> {
        let language = self.language();
        let from = Path::new(path);
        if !from.is_absolute() || path.contains(['\n', '\0']) {
            return Err(Error::Usage(texts::get_outside_usage(language).to_owned()));
        }
        let to = self.message.address();
        let limit = self.gateway.delivery(&to).map(|it| it.upload_bytes());
        let name = name_of(from, self.workspace);
        // Where this account sees nothing, the command says so.
        if let Ok(about) = from.metadata() {
            if !about.is_file() {
                let path = short(path);
                return Err(Error::Usage(texts::get_outside_no_file(language, &path)));
            }
            self.check_room(&name, about.len(), limit.unwrap_or(u64::MAX))?;
        }
        let number = u32::from_ne_bytes(random::bytes()?);
        let copy = PathBuf::from(path_of(number, &name));
        self.workspace.create(&copy)?;
        let sent = self.copy(path, &copy).and_then(|()| {
            let size = self.size(&copy)?;
            self.check_room(&name, size, limit.unwrap_or(u64::MAX))?;
            Ok(size)
        });
        let size = sent.inspect_err(|_| {
            if let Err(error) = self.workspace.remove(&copy) {
                tracing::warn!("failed to remove a copy in {FOLDER}: {error}");
            }
        })?;
        let files = vec![self.absolute(&copy)];
        let text = texts::one_file(language, &inline_code(&name), &format_bytes(size));
        Ok(OutgoingMessage {
            made_files: files.clone(),
            files,
            ..OutgoingMessage::text(&to, text)
        })
    }

    fn check_room(&self, name: &str, size: u64, limit: u64) -> Result<()> {
        if size <= limit {
            return Ok(());
        }
        let (name, size, limit) = (inline_code(name), format_bytes(size), format_bytes(limit));
        Err(Error::Usage(texts::too_large(
            self.language(),
            &name,
            &size,
            &limit,
        )))
    }

    /// Runs the command that copies it, once it is allowed.
    fn copy(&self, from: &str, to: &Path) -> Result<()> {
        let (message, language) = (self.message, self.language());
        let to = self.absolute(to);
        let [from, to] = [from, to.as_str()].map(|path| quote_for_shell(Path::new(path)));
        let line = format!("cp -- {from} {to}");
        let agent = self.hosted.agent()?;
        let toolbox = agent.toolbox();
        let typed = TypedCommand {
            line: &line,
            unsandboxed: true,
            language,
        };
        self.gateway.parts.inbox.begin(&message.id)?;
        let run = |caller: &Caller<'_>| toolbox.shell(typed, caller, &mut |_| {});
        let gateway = self.gateway;
        let ran = gateway.run_typed(message, self.hosted, self.cancel, run)?;
        if ran.is_success {
            return Ok(());
        }
        let output = ran.output.trim();
        let why = if output.is_empty() { &ran.end } else { output };
        Err(Error::Failed(why.to_owned()))
    }
}
