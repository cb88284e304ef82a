//! `/get!`: a file from outside the workspace. The person is asked about the command that copies it, as for `/sh!`.

use std::path::Path;

use super::{Job, format_bytes, name_of, short, texts};
use crate::base::error::{Error, Result};
use crate::base::message::OutgoingMessage;
use crate::config::home::quote_for_shell;
use crate::gateway::commands::texts as answers;
use crate::text::markup::inline_code;
use crate::tools::Caller;
use crate::tools::commands::{Shell, TypedCommand};

impl Job<'_> {
    /// Copies a file to where nothing in the sandbox sees it, for as long as it takes to send it.
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

    /// Runs the command that copies it, once it is allowed.
    fn copy(&self, from: &str, to: &str) -> Result<()> {
        let (message, language) = (self.message, self.language());
        let [from, to] = [from, to].map(|path| quote_for_shell(Path::new(path)));
        let line = format!("cp -- {from} {to}");
        let agent = self.hosted.agent()?;
        let toolbox = agent.toolbox();
        let typed = TypedCommand {
            line: &line,
            unsandboxed: true,
            language,
        };
        let caller = Caller {
            session: message.session.as_str(),
            role: message.role,
            message: &message.id,
            cancel: self.cancel,
            answer: None,
            progress: None,
            input: None,
            without: &[],
            author: None,
        };
        self.gateway.parts.inbox.begin(&message.id)?;
        let mut shell = toolbox.shell(typed, &caller, &mut |_| {})?;
        if let Shell::Ask(question) = shell {
            let answer = self
                .gateway
                .ask_writer(message, self.hosted, &question, self.cancel)?;
            let caller = Caller {
                answer: Some((&question, answer)),
                ..caller
            };
            shell = toolbox.shell(typed, &caller, &mut |_| {})?;
        }
        match shell {
            Shell::Ran(ran) if ran.is_success => Ok(()),
            Shell::Ran(ran) if ran.output.trim().is_empty() => Err(Error::Failed(ran.end)),
            Shell::Ran(ran) => Err(Error::Failed(ran.output.trim().to_owned())),
            Shell::Ask(_) => Err(Error::Failed(answers::command_changed(language).to_owned())),
        }
    }
}
