//! `/get!`: a file from outside the workspace. The person is asked about the command that copies it, as for `/sh!`.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::{Job, format_bytes, name_of, short, texts};
use crate::base::approval::Cause;
use crate::base::error::{Error, Result};
use crate::base::message::OutgoingMessage;
use crate::config::home::quote_for_shell;
use crate::sandbox::files::is_outside;
use crate::text::markup::inline_code;
use crate::tools::Caller;
use crate::tools::commands::{Attempt, TypedCommand};

impl Job<'_> {
    /// The error of a path outside the workspace, with the command that can send the file all the same, where there is one.
    pub(super) fn name_way_outside(&self, path: &str, error: Error) -> Error {
        let Some(from) = self.outside(Path::new(path)) else {
            return error;
        };
        let shown = from.to_string_lossy();
        if is_outside(&error) && from.is_dir() && self.is_own(&shown) {
            // No setting gives it to the tools.
            let path = short(path);
            return Error::Usage(texts::get_outside_no_file(self.language(), &path));
        }
        let is_file = !from.is_dir() && !shown.contains('\n');
        let can_ask = || {
            let agent = self.hosted.agent().ok()?;
            Some(agent.toolbox().commands()?.can_ask())
        };
        if !is_file || !is_outside(&error) || can_ask() != Some(true) {
            return error;
        }
        let command = inline_code(&format!("/get! {shown}"));
        Error::Usage(texts::get_outside(self.language(), &short(path), &command))
    }

    /// The whole path of what people name, without `..` and links unless it is whole already; `None` within the workspace.
    fn outside(&self, path: &Path) -> Option<PathBuf> {
        if path.is_absolute() {
            return Some(path.to_owned());
        }
        let workspace = real(self.workspace.path());
        let mut whole = workspace.clone();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    whole.pop();
                }
                part => whole.push(part),
            }
        }
        Some(real(&whole)).filter(|whole| !whole.starts_with(&workspace))
    }

    /// Copies a file to where nothing in the sandbox sees it, for as long as it takes to send it.
    pub(super) fn get_outside(&self, path: &str) -> Result<OutgoingMessage> {
        let language = self.language();
        let in_home = path.strip_prefix("~/").and_then(|rest| {
            let agent = self.hosted.agent().ok()?;
            let home = agent.toolbox().commands()?.outside_home();
            Some(home.join(rest).to_string_lossy().into_owned())
        });
        let path = in_home.as_deref().unwrap_or(path);
        let from = Path::new(path);
        if !from.is_absolute() || path.contains(['\n', '\0']) {
            return Err(Error::Usage(texts::get_outside_usage(language).to_owned()));
        }
        let to = self.message.address();
        let limit = self.gateway.delivery(&to).map(|it| it.upload_bytes());
        let name = name_of(from, self.workspace);
        match from.metadata() {
            Ok(about) if about.is_file() => {
                self.check_room(&name, about.len(), limit.unwrap_or(u64::MAX))?;
            }
            Ok(_) => {
                let path = short(path);
                return Err(Error::Usage(texts::get_outside_no_file(language, &path)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let path = short(path);
                return Err(Error::Usage(texts::get_outside_missing(language, &path)));
            }
            // Where this account may not look, the command says so.
            Err(_) => {}
        }
        let outgoing = &self.gateway.parts.outgoing;
        let (copy, _) = outgoing.create(&name)?;
        let sent = self.copy(path, &copy).and_then(|()| {
            let about = Path::new(&copy).symlink_metadata();
            let size = about.map_err(Error::io("look at", &copy))?.len();
            self.check_room(&name, size, limit.unwrap_or(u64::MAX))?;
            Ok(size)
        });
        let size = sent.inspect_err(|_| outgoing.remove(&copy))?;
        let text = texts::one_file(language, &inline_code(&name), &format_bytes(size));
        Ok(OutgoingMessage {
            files: vec![copy],
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

    /// Whether a file is the program's own, such as its configuration: in its home folder and in no workspace.
    fn is_own(&self, path: &str) -> bool {
        let (path, workspace) = (real(Path::new(path)), real(self.workspace.path()));
        let home = self.gateway.parts.state.parent().map(real);
        let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        below.is_some_and(|below| {
            let of_agent = below
                .components()
                .any(|part| part.as_os_str() == "workspace");
            !of_agent && !path.starts_with(workspace)
        })
    }

    /// Runs the command that copies it, once it is allowed.
    fn copy(&self, path: &str, to: &str) -> Result<()> {
        let (message, language) = (self.message, self.language());
        let [from, to] = [path, to].map(|path| quote_for_shell(Path::new(path)));
        let line = format!("cp -- {from} {to}");
        let agent = self.hosted.agent()?;
        let toolbox = agent.toolbox();
        let typed = TypedCommand {
            line: &line,
            unsandboxed: true,
            language,
        };
        let is_own = self.is_own(path);
        self.gateway.parts.inbox.begin(&message.id)?;
        let run = |caller: &Caller<'_>| {
            let mut attempt = toolbox.shell(typed, caller, &mut |_| {});
            if let Ok(Attempt::Ask(question)) = &mut attempt
                && question.cause == Cause::Unsandboxed
            {
                question.cause = Cause::Fetch {
                    path: path.to_owned(),
                    is_own,
                };
            }
            attempt
        };
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

/// The path without links, where it can be followed.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
