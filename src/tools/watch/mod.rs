//! watch: "tell me when it is done". The model adds watches that tell the chat in which it was asked.

use std::path::Path;
use std::sync::Arc;

use super::arguments::Arguments;
use super::commands::Commands;
use super::{Context, Tool};
use crate::base::access::Role;
use crate::base::chat::{Effect, ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::watch::{HOST_TIMEOUT, WATCHES_MAX};
use crate::base::message::Address;
use crate::board::watch::store::Added;
use crate::board::watch::{Cause, Rule, Store, Then, Watch, What, parse};
use crate::net::Dialer;
use crate::net::guard::special_purpose;
use crate::tools::cron::Scope;

/// Watches that the model may have made in one chat: a model that adds them in a loop is stopped here.
const MODEL_WATCHES_MAX: usize = 8;

pub(super) const WATCH: ToolSpec = ToolSpec::fixed(
    "watch",
    "Tell this chat when something happens on the board. add: rule, such as \"disk / > 90%\", \"service nginx\", \
     \"pid 1234\", \"cmd 'test -e done' succeeds every 1m then ask PROMPT\" (you get it); a wrong one shows the nearest form. remove: id.",
    r#"{"type":"object","properties":{"action":{"enum":["add","list","remove"]},"rule":{"type":"string"},"id":{"type":"integer"}},"required":["action"]}"#,
);

/// The watches of the home, and who is told when they change.
pub struct Watches {
    /// The file.
    pub store: Store,
    /// Has the gateway read it again.
    pub changed: Box<dyn Fn() + Send + Sync>,
    pub(super) commands: Option<Arc<Commands>>,
}

impl Watches {
    /// The watches of a file; without commands until the toolbox has some.
    pub fn new(store: Store, changed: Box<dyn Fn() + Send + Sync>) -> Self {
        Self {
            store,
            changed,
            commands: None,
        }
    }

    /// The question that has to be answered before the commands of a rule may be kept; they run in the sandbox.
    fn permit(&self, context: &Context<'_>, rule: &Rule) -> Result<Option<ToolResult>> {
        let watched = match &rule.what {
            What::Command { line, .. } => Some(line),
            _ => None,
        };
        let then = match &rule.then {
            Then::Run(line) => Some(line),
            _ => None,
        };
        if watched.is_some() && then.is_some() {
            let text = "a rule of yours can have one command: use then ask";
            return Err(Error::Failed(text.to_owned()));
        }
        for line in watched.into_iter().chain(then) {
            let commands = self.commands.as_ref().ok_or_else(|| {
                Error::Failed("commands are turned off (tools.exec.enabled)".to_owned())
            })?;
            if let Some(question) = commands.permit_later(line, context)? {
                return Ok(Some(ToolResult {
                    effect: Some(Effect::Ask(question)),
                    ..ToolResult::default()
                }));
            }
        }
        Ok(None)
    }

    fn add(&self, context: &Context<'_>, chat: Option<&Address>, text: &str) -> Result<ToolResult> {
        let text = context.eraser.clean(text.trim());
        let rule = parse::parse(&text, Language::English).map_err(Error::Failed)?;
        let mut missing = "";
        if let What::File { path, .. } = &rule.what {
            match context.workspace.open_read(Path::new(path)) {
                Err(error @ Error::Refused { .. }) => return Err(error),
                Err(_) => missing = " The file cannot be read yet: the news begins when it can.",
                Ok(_) => {}
            }
        }
        if matches!(rule.what, What::Log { .. }) {
            return Err(Error::Failed(format!(
                "the journal cannot be watched by you, as your tools do not reach it either. An owner can: /watch {rule}"
            )));
        }
        check_host(context, &rule)?;
        let made = self.of_chat(chat)?;
        let made = made.iter().filter(|watch| watch.by_model).count();
        if made >= context.caller.role.places(MODEL_WATCHES_MAX) {
            return Err(Error::Failed(format!(
                "there are {made} watches of yours for this chat, as many as possible for this person: remove some first"
            )));
        }
        if let Some(asked) = self.permit(context, &rule)? {
            return Ok(asked);
        }
        let shown = rule.to_string();
        let cause = Cause {
            chat,
            role: context.caller.role,
            author: context.caller.author,
            by_model: true,
        };
        let text = match self.store.insert(rule, cause)? {
            Added::New(id) => {
                format!("Watching, as number {id}: {shown}. This chat gets the news.{missing}")
            }
            Added::Known(id) => format!("It is watched already, as number {id}: {shown}"),
            Added::NoProcess(pid) => {
                return Err(Error::Failed(format!("process {pid} is not running")));
            }
            Added::NoFile => {
                let text = "only a regular file can be followed, and none in /proc or /sys";
                return Err(Error::Failed(text.to_owned()));
            }
            Added::TooMany => {
                let most = context.caller.role.places(WATCHES_MAX);
                let kept = match context.caller.role {
                    Role::Owner => "",
                    _ => ", and the other places are kept for owners",
                };
                return Err(Error::Failed(format!(
                    "there are {most} watches already{kept}"
                )));
            }
        };
        (self.changed)();
        Ok(ToolResult::new(text))
    }

    /// The watches of a chat; for the terminal all.
    fn of_chat(&self, chat: Option<&Address>) -> Result<Vec<Watch>> {
        let mut watches = self.store.read()?.watches;
        watches.retain(|watch| chat.is_none() || watch.chat.as_ref() == chat);
        Ok(watches)
    }

    fn list(&self, chat: Option<&Address>) -> Result<String> {
        let watches = self.of_chat(chat)?;
        let lines = watches.iter().map(|watch| {
            let paused = if watch.is_paused { " (paused)" } else { "" };
            format!("- {}: {}{paused}", watch.id, watch.rule)
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        Ok(if text.is_empty() {
            "Nothing is watched for this chat, except the board itself.".to_owned()
        } else {
            text
        })
    }
}

/// Fails for a host that the model's own tools do not reach either: no look at it would ever find anything out.
fn check_host(context: &Context<'_>, rule: &Rule) -> Result<()> {
    let What::Host { host, port } = &rule.what else {
        return Ok(());
    };
    let dialer = Dialer::new(context.caller.cancel);
    // A name that is not known now may be later.
    let resolved = dialer.resolve(host, port.unwrap_or_default(), HOST_TIMEOUT);
    let first = resolved.ok().and_then(|found| found.first().copied());
    match first.and_then(|address| special_purpose(address.ip())) {
        Some(why) => Err(Error::Failed(format!(
            "{host} cannot be watched by you, as your tools do not reach it either: {why}. An owner can: /watch {rule}"
        ))),
        None => Ok(()),
    }
}

impl Tool for Watches {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let scope = Scope::of(context.caller.session, context.caller.role);
        let action = arguments.text("action", "add, list or remove")?;
        let adds_unasked = action == "add" && !context.caller.is_asked;
        if matches!(scope, Scope::OwnJob(_)) || adds_unasked {
            return Err(Error::Failed(
                "a scheduled job or a watch cannot change watches: say in your answer what should be watched"
                    .to_owned(),
            ));
        }
        let chat = scope.chat();
        match action.as_ref() {
            "list" => self.list(chat).map(ToolResult::new),
            "add" => {
                let rule = arguments.text("rule", "a rule such as \"service nginx\"")?;
                self.add(context, chat, &rule)
            }
            "remove" => {
                let id = arguments.number("id", "the number of a watch")?;
                let id = id.and_then(|id| u32::try_from(id as i64).ok());
                let of_chat = self.of_chat(chat)?;
                let found = of_chat.iter().find(|watch| Some(watch.id) == id);
                let found = found.ok_or_else(|| {
                    Error::Failed(
                        "no watch of this chat has that id; action list shows them".to_owned(),
                    )
                })?;
                let person = context.caller.in_person();
                let is_own = person.is_some_and(|person| {
                    found.author.as_ref().is_some_and(|it| it.id == person.id)
                });
                if !is_own && !context.caller.role.may_change(found.maker()) {
                    return Err(Error::Failed(format!(
                        "watch {} is an owner's, and only an owner can remove it",
                        found.id
                    )));
                }
                self.store.change(|list| {
                    list.retain(|watch| watch.id != found.id);
                    Ok(())
                })?;
                (self.changed)();
                Ok(ToolResult::new(format!("Removed: {}", found.rule)))
            }
            other => Err(Error::Failed(format!(
                "action must be add, list or remove, not {other:?}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
