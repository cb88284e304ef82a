//! Calls of servers: their way to a result, through questions and logins.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::catalog::{Entry, Target};
use super::{Mcp, results};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::{Effect, InputAnswer, InputKind, InputRequest, ToolCall, ToolResult};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::net::http::Tls;
use crate::tools::arguments::Arguments;
use crate::tools::mcp::client::http::HttpParts;
use crate::tools::mcp::client::oauth::Login;
use crate::tools::mcp::client::servers::ServerCall;
use crate::tools::mcp::client::{Paused, Step};
use crate::tools::{Caller, Context};

/// Bytes of a call's arguments.
const ARGUMENTS_BYTES: usize = 1024 * 1024;
/// Calls that wait for an answer of a person.
const PARKED: usize = 8;

/// What a login needs.
#[derive(Clone)]
pub struct Logins {
    /// The TLS settings.
    pub tls: Tls,
    /// The folder of stored logins.
    pub folder: PathBuf,
    /// Where the time comes from.
    pub clock: Clock,
}

/// A call that waits for an answer.
pub(super) struct Parked {
    session: String,
    /// A hash of the call, or of the server of a login.
    call: u64,
    waits: Waits,
}

/// What it waits for.
enum Waits {
    /// The answer to a question of the server.
    Question(Box<Paused>),
    /// The end of a login.
    Login(Box<Login>),
}

impl Mcp {
    /// Calls what an entry stands for, or goes on with a call that an answer has come for.
    pub(super) fn call(
        &self,
        entry: &Entry,
        call: &ToolCall,
        context: &Context<'_>,
        arguments: &Arguments,
    ) -> Result<ToolResult> {
        let caller = context.caller;
        // A reply may use an id twice.
        let id = hash(&[&call.id, &call.name, &call.arguments]);
        let waits = caller.input.and_then(|_| self.take(caller.session, id));
        let (step, may_log_in) = match (caller.input, waits) {
            (None, _) => (self.begin(entry, arguments, caller), true),
            (Some(answer), Some(Waits::Question(paused))) => {
                let step = paused.answer(answer, caller.cancel, &mut |text| tell(caller, text));
                (step, true)
            }
            (Some(InputAnswer::Returned(address)), Some(Waits::Login(mut login)))
                if caller.role == Role::Owner =>
            {
                login.finish(address, caller.cancel)?;
                // With the login its lists can be read, too.
                self.servers.refresh(&entry.server, caller.cancel)?;
                (self.begin(entry, arguments, caller), false)
            }
            (Some(_), Some(Waits::Login(_))) => return Err(needs_login(&entry.server)),
            (Some(_), None) => {
                return Err(Error::Failed(format!(
                    "the MCP server {} does not wait for this answer any longer: call the tool again",
                    entry.server
                )));
            }
        };
        let server = &entry.server;
        match step {
            Ok(Step::Done(result)) => {
                let what = format!("{} of the MCP server {server}", describe(&entry.target));
                results::render(context, &what, server, &result)
            }
            Ok(Step::Asked(paused)) => {
                let request = paused.request().clone();
                self.park(caller.session, id, Waits::Question(paused))?;
                Ok(effect(request))
            }
            Err(Error::Status {
                status: 401 | 403, ..
            }) if may_log_in && caller.role == Role::Owner => self.log_in(server, id, caller),
            Err(error) => Err(named(server, error)),
        }
    }

    fn begin(&self, entry: &Entry, arguments: &Arguments, caller: &Caller<'_>) -> Result<Step> {
        let mut members = arguments.members();
        let request = match &entry.target {
            Target::Tool(tool) => {
                // Models write null for what they leave out.
                if !tool.schema.contains("null") {
                    members.retain(|_, value| !value.is_null());
                }
                ServerCall::Tool {
                    name: tool.name.clone(),
                    arguments: members,
                }
            }
            Target::ReadResource(_) => ServerCall::ReadResource {
                uri: arguments.text("uri", "the URI of a resource")?.into_owned(),
            },
            Target::GetPrompt(_) => ServerCall::GetPrompt {
                name: arguments.text("name", "the name of a prompt")?.into_owned(),
                arguments: texts(members.remove("arguments")),
            },
        };
        if arguments.to_json().len() > ARGUMENTS_BYTES {
            return Err(Error::TooLarge {
                what: "what the call passes on".to_owned(),
                limit: ARGUMENTS_BYTES,
            });
        }
        let progress = &mut |text: &str| tell(caller, text);
        self.servers
            .call(&entry.server, request, caller.cancel, progress)
    }

    /// Begins a login, whose link goes to an owner: it gives the agent an account for everyone.
    fn log_in(&self, server: &str, id: u64, caller: &Caller<'_>) -> Result<ToolResult> {
        let settings = self
            .settings
            .get(server)
            .ok_or_else(|| needs_login(server))?;
        let parts = self.logins.parts(server, settings.clone());
        let login = Login::begin(&parts, None, caller.cancel)
            .map_err(|error| Error::Failed(format!("{}: {error}", needs_login(server))))?;
        let request = InputRequest {
            server: server.to_owned(),
            message: String::new(),
            kind: InputKind::Link {
                url: login.url().to_owned(),
                returns: true,
            },
        };
        self.park(caller.session, id, Waits::Login(Box::new(login)))?;
        Ok(effect(request))
    }

    /// Keeps a call until its answer comes. Where too many wait, it is given up before anyone is asked.
    fn park(&self, session: &str, call: u64, waits: Waits) -> Result<()> {
        let session = session.to_owned();
        let new = Parked {
            session,
            call,
            waits,
        };
        let mut parked = self.parked.lock();
        // A login that a person began and left makes room; one that comes back hears of it.
        if parked.len() >= PARKED
            && let Some(place) = parked.iter().position(Parked::is_begun_by_person)
        {
            parked.remove(place);
        }
        if parked.len() < PARKED {
            parked.push_back(new);
            return Ok(());
        }
        drop(parked);
        new.give_up();
        Err(Error::Failed(format!(
            "{PARKED} calls wait for the answers of people already: try again when one of them has been answered"
        )))
    }

    fn take(&self, session: &str, call: u64) -> Option<Waits> {
        let mut parked = self.parked.lock();
        let is_meant = |one: &Parked| one.session == session && one.call == call;
        let place = parked.iter().position(is_meant)?;
        parked.remove(place).map(|one| one.waits)
    }

    /// Begins a login that a person asks for, and returns its link. The address comes later.
    pub fn begin_login(&self, session: &str, server: &str, cancel: &Cancel) -> Result<String> {
        let settings = self.settings.get(server).filter(|one| !one.url.is_empty());
        let settings = settings.ok_or_else(|| no_login(server))?;
        let login = Login::begin(&self.logins.parts(server, settings.clone()), None, cancel)?;
        let url = login.url().to_owned();
        let _ = self.take(&login_key(session), hash(&[server]));
        let login = Waits::Login(Box::new(login));
        self.park(&login_key(session), hash(&[server]), login)?;
        Ok(url)
    }

    /// Ends such a login with the address at which the browser ended.
    pub fn finish_login(
        &self,
        session: &str,
        server: &str,
        address: &str,
        cancel: &Cancel,
    ) -> Result<()> {
        match self.take(&login_key(session), hash(&[server])) {
            Some(Waits::Login(mut login)) => {
                let finished = login.finish(address, cancel);
                // After a wrong paste the next one may be right.
                if finished.is_err() && !login.is_used() {
                    self.park(&login_key(session), hash(&[server]), Waits::Login(login))?;
                }
                finished?;
                self.servers.stop(server);
                self.servers.refresh(server, cancel).map(drop)
            }
            _ => Err(Error::Failed(format!(
                "No login to {server} was begun here, or it has been too long."
            ))),
        }
    }

    /// Gives up the calls of a conversation that wait.
    pub fn give_up(&self, session: &str) {
        let all = std::mem::take(&mut *self.parked.lock());
        let (gone, left): (Vec<Parked>, Vec<Parked>) =
            all.into_iter().partition(|one| one.session == session);
        self.parked.lock().extend(left);
        gone.into_iter().for_each(Parked::give_up);
    }
}

impl Parked {
    fn is_begun_by_person(&self) -> bool {
        self.session.starts_with(LOGIN_KEY)
    }

    fn give_up(self) {
        if let Waits::Question(paused) = self.waits {
            paused.give_up();
        }
    }
}

impl Logins {
    /// What a login to a server is made of.
    pub fn parts(&self, server: &str, settings: crate::config::schema::McpServer) -> HttpParts {
        HttpParts {
            name: server.to_owned(),
            server: settings,
            tls: self.tls.clone(),
            logins: self.folder.clone(),
            clock: self.clock.clone(),
        }
    }
}

/// How the key of a session begins under which its logins wait.
const LOGIN_KEY: &str = "login ";

/// What stands for a session where its logins wait: they outlive its turns.
fn login_key(session: &str) -> String {
    format!("{LOGIN_KEY}{session}")
}

fn hash(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

fn no_login(server: &str) -> Error {
    Error::Usage(format!(
        "{} is not an MCP server with a url in tools.mcpServers.",
        crate::text::one_line(server, 40)
    ))
}

fn tell(caller: &Caller<'_>, text: &str) {
    if let Some(progress) = caller.progress {
        progress(text);
    }
}

fn effect(request: InputRequest) -> ToolResult {
    ToolResult {
        effect: Some(Effect::Input(Box::new(request))),
        ..ToolResult::default()
    }
}

/// The arguments of a prompt, which are strings.
fn texts(arguments: Option<Value>) -> Map<String, Value> {
    let Some(Value::Object(members)) = arguments else {
        return Map::new();
    };
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let members = members.into_iter();
    members
        .map(|(name, value)| (name, text(value).into()))
        .collect()
}

fn describe(target: &Target) -> String {
    match target {
        Target::Tool(tool) => format!("the tool {}", crate::text::one_line(&tool.name, 80)),
        Target::ReadResource(_) => "a resource".to_owned(),
        Target::GetPrompt(_) => "a prompt".to_owned(),
    }
}

fn needs_login(server: &str) -> Error {
    Error::Failed(format!(
        "the MCP server {server} needs a login: `peacrab mcp login {server}` on the board, or `/mcp login {server}` in \
         a chat"
    ))
}

/// The error, with the server that it is about.
pub(super) fn named(server: &str, error: Error) -> Error {
    match error {
        Error::Stopped => Error::Stopped,
        Error::Status {
            status: 401 | 403, ..
        } => needs_login(server),
        error => {
            let text = error.to_string();
            if text.contains(&format!("MCP server {server}")) {
                Error::Failed(text)
            } else {
                Error::Failed(format!("the MCP server {server}: {text}"))
            }
        }
    }
}
