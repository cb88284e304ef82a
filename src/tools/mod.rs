//! Floor 7: the tools that the model can use: their descriptions, and running them.
//!
//! A call never fails outright: an error becomes a text that says what went wrong and asks the model to
//! try another way. What needs a person or a chat is not done here but returned as an
//! [`Effect`](crate::base::chat::Effect), which the host of the turn performs.

pub mod agents;
pub mod arguments;
mod caller;
pub mod commands;
pub mod cron;
pub mod custom;
mod device;
mod files;
pub mod mcp;
pub mod memory;
mod message;
mod registry;
mod results;
pub mod schema;
pub mod skills;
mod stickers;
pub mod watch;
pub mod web;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::{Image, ToolCall, ToolResult, ToolSpec};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::secret::Eraser;
use crate::board::Board;
use crate::sandbox::files::{PromptPlaces, Workspace};
use crate::store::plans::{Agent, Plans};
use crate::text::ellipsize_chars;
use crate::tools::skills::Skills;

use agents::spawn::{SPAWN, spawn};
use arguments::Arguments;
use commands::Commands;
use cron::{CRON, Planner};
use custom::CustomTools;
use device::{DEVICE, Device};
use mcp::{Mcp, names};
use memory::{MEMORY, MemoryTool};
use message::{MESSAGE, Messages, SPOKEN_MESSAGE};
use registry::{BuiltIn, Registry};
use results::Results;
use watch::{WATCH, Watches};
use web::{Fetch, Search, WEB_FETCH, WEB_SEARCH, Web};

pub use caller::{Caller, NOT_FOR_SUBAGENTS, has_tool};
pub use files::{DocumentFault, Excerpt, FileType};
pub use registry::Tool;
pub use results::unmarked;

/// Characters of a hint's argument, as nanobot shows them: what fits a line on a telephone.
const HINT_CHARS: usize = 40;

/// What there is beyond the workspace. It decides which built-in tools there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capabilities {
    /// Commands can be run.
    pub commands: bool,
    /// The board can be read.
    pub board: bool,
    /// Conversations are stored and can be searched.
    pub memory: bool,
    /// Pages can be read.
    pub web: bool,
    /// Jobs can be planned.
    pub cron: bool,
    /// Watches can be added.
    pub watch: bool,
    /// People are in chats rather than at the terminal.
    pub chats: bool,
    /// Tasks can be given to subagents.
    pub subagents: bool,
}

impl Capabilities {
    /// All there can be.
    pub const ALL: Self = Self {
        commands: true,
        board: true,
        memory: true,
        web: true,
        cron: true,
        watch: true,
        chats: true,
        subagents: true,
    };
}

/// The tools that change files themselves; others do it by commands.
const CHANGES_FILES: [&str; 4] = ["write_file", "edit_file", "append_file", "memory"];

/// What a model is told to do about most errors. People do not see it.
pub const ADVICE: &str = "\n\nLook at the error and try another way.";

/// The built-in tools as the model is told about them.
pub fn specs(capabilities: Capabilities) -> Vec<ToolSpec> {
    let mut specs = files::TOOLS.map(|(spec, _)| spec).to_vec();
    if capabilities.commands {
        specs.extend(commands::SPECS);
    }
    if capabilities.board {
        specs.push(DEVICE);
    }
    if capabilities.memory {
        specs.push(MEMORY);
    }
    if capabilities.web {
        specs.extend([WEB_SEARCH, WEB_FETCH]);
    }
    if capabilities.cron {
        specs.push(CRON);
    }
    if capabilities.watch {
        specs.push(WATCH);
    }
    if capabilities.subagents {
        specs.push(SPAWN);
    }
    if capabilities.chats {
        specs.push(MESSAGE);
    }
    specs
}

/// What a tool works with during a call.
pub struct Context<'a> {
    /// The folders that tools may use.
    pub workspace: &'a Workspace,
    /// Who makes the call.
    pub caller: &'a Caller<'a>,
    results: &'a Results,
    /// For text that a tool cuts: half of a key is still a secret.
    eraser: &'a Eraser,
}

/// The tools, ready for use. Calls may run at the same time.
pub struct Toolbox {
    workspace: Workspace,
    /// The same for someone who is not an owner.
    keeping: Workspace,
    commands: Option<Arc<Commands>>,
    results: Results,
    eraser: Eraser,
    registry: Registry,
    /// The only skills that may be used; `None`: all.
    skills: Option<Vec<String>>,
    planner: Option<Arc<Planner>>,
    custom: Option<CustomTools>,
    mcp: Option<Mcp>,
    plans: Option<Plans>,
    web: Option<Arc<Web>>,
}

impl Toolbox {
    /// A toolbox with the file tools. A result longer than `max_chars` is shortened in the middle, and a
    /// file in the workspace gets all of it. The eraser removes secrets from every result.
    pub fn new(workspace: Workspace, max_chars: usize, eraser: Eraser, clock: Clock) -> Self {
        let mut registry = Registry::default();
        for (spec, run) in files::TOOLS {
            registry.add_built_in(spec, Box::new(run));
        }
        Self {
            keeping: workspace.keeping_places(),
            workspace,
            commands: None,
            results: Results::new(max_chars, clock),
            eraser,
            registry,
            skills: None,
            planner: None,
            custom: None,
            mcp: None,
            plans: None,
            web: None,
        }
    }

    /// Adds the command tools.
    pub fn with_commands(mut self, commands: Commands) -> Self {
        let commands = Arc::new(commands);
        for (spec, tool) in commands::SPECS.into_iter().zip(commands::tools(&commands)) {
            self.registry.add_built_in(spec, tool);
        }
        self.commands = Some(commands);
        self
    }

    /// Adds the tool that reads the board.
    pub fn with_board(mut self, board: Arc<Board>) -> Self {
        self.registry.add_built_in(DEVICE, Box::new(Device(board)));
        self
    }

    /// Adds the tool for the memory, which searches the journals in this folder too.
    pub fn with_memory(mut self, sessions: PathBuf, clock: Clock) -> Self {
        let tool = MemoryTool { sessions, clock };
        self.registry.add_built_in(MEMORY, Box::new(tool));
        self
    }

    /// Adds the tools that search the web and read pages.
    pub fn with_web(mut self, web: Web) -> Self {
        let web = Arc::new(web);
        self.registry
            .add_built_in(WEB_SEARCH, Box::new(Search(Arc::clone(&web))));
        self.registry
            .add_built_in(WEB_FETCH, Box::new(Fetch(Arc::clone(&web))));
        self.web = Some(web);
        self
    }

    /// Hides all skills but these; `None` hides none.
    pub fn with_skills(mut self, only: Option<Vec<String>>) -> Self {
        self.skills = only;
        self
    }

    /// Adds the tool that plans reminders and jobs.
    pub fn with_cron(mut self, planner: Arc<Planner>) -> Self {
        self.registry
            .add_built_in(CRON, Box::new(Arc::clone(&planner)));
        self.planner = Some(planner);
        self
    }

    /// Adds the tool that adds watches. What they run needs the command tools, which come before.
    pub fn with_watches(mut self, watches: Watches) -> Self {
        let watches = Watches {
            commands: self.commands.clone(),
            ..watches
        };
        self.registry.add_built_in(WATCH, Box::new(watches));
        self
    }

    /// Adds the tool that gives tasks to subagents, and those of the subagents that work on plans, which no other
    /// conversation has.
    pub fn with_subagents(mut self, plans: Plans) -> Self {
        let run: BuiltIn = spawn;
        self.registry.add_built_in(SPAWN, Box::new(run));
        self.plans = Some(plans);
        self
    }

    /// Adds the tools in the workspace, which run like commands and therefore need them.
    pub fn with_custom(mut self, custom: CustomTools) -> Self {
        self.custom = Some(custom);
        self
    }

    /// Adds the tools of MCP servers.
    pub fn with_mcp(mut self, mcp: Mcp) -> Self {
        self.mcp = Some(mcp);
        self
    }

    /// Adds the tool that sends messages, for where people are in chats; `speaks` is whether it can speak them. Stickers
    /// with an address need the tools of the web, which come before.
    pub fn with_chats(mut self, speaks: bool) -> Self {
        let web = self.web.clone();
        let spec = if speaks { SPOKEN_MESSAGE } else { MESSAGE };
        self.registry.add_built_in(spec, Box::new(Messages { web }));
        self
    }

    /// Adds a tool that is not built in. Its spec may come from anywhere: an invalid one, one that is too
    /// large, and a name that is taken are refused.
    pub fn add(&mut self, spec: ToolSpec, tool: Box<dyn Tool>) -> Result<()> {
        self.registry.add(spec, tool)
    }

    /// The command tools, where there are any.
    pub fn commands(&self) -> Option<&Commands> {
        self.commands.as_deref()
    }

    /// The tools of MCP servers, where there are any.
    pub fn mcp(&self) -> Option<&Mcp> {
        self.mcp.as_ref()
    }

    /// The jobs, where any can be planned.
    pub fn planner(&self) -> Option<&Planner> {
        self.planner.as_deref()
    }

    /// Ends the background commands of a session that someone with a role may end, and returns those that were running.
    /// Blocks until they are gone.
    pub fn end_of(&self, session: &str, role: Role) -> Vec<String> {
        let commands = self.commands.as_ref();
        commands.map_or_else(Vec::new, |commands| commands.end_of(session, role))
    }

    /// Takes note of files of the prompt that have changed, by their paths in the workspace: what runs for someone who is
    /// not an owner, and could change the new ones, ends. Blocks until it is gone. What was replaced by hand is found too.
    pub fn prompt_changed(&self, changed: &[String]) {
        let Some(now) = PromptPlaces::look(self.workspace.path()) else {
            return;
        };
        if let Some(commands) = &self.commands {
            commands.end_lesser(&now, changed);
        }
        let servers = self.mcp.as_ref().map(Mcp::servers);
        if let Some(servers) = servers.filter(|servers| servers.are_open_to(&now, changed)) {
            servers.stop_all();
        }
    }

    /// Ends the background commands of all sessions, and the programs of servers. Blocks until they are
    /// gone.
    pub fn end_all(&self) {
        if let Some(mcp) = &self.mcp {
            mcp.servers().stop_all();
        }
        if let Some(commands) = &self.commands {
            commands.end_all();
        }
    }

    /// The tools as the model is told about them, in a conversation that has not searched for any.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.specs_for("")
    }

    /// The tools as the model is told about them in a conversation. Those in the workspace are read now.
    pub fn specs_for(&self, session: &str) -> Vec<ToolSpec> {
        let mut specs = self.registry.specs().to_vec();
        if let Some(message) = specs.iter_mut().find(|spec| spec.name == MESSAGE.name) {
            stickers::offer(&self.workspace, message);
        }
        if let Some((_, agent)) = self.plan_of(session) {
            specs.extend_from_slice(agents::plan::specs(agent.part));
        }
        if self.custom().is_some() {
            let custom = CustomTools::specs(&self.workspace).into_iter();
            let is_new = |spec: &ToolSpec| !specs.iter().any(|known| known.name == spec.name);
            let custom: Vec<ToolSpec> = custom.filter(is_new).collect();
            let custom = custom.into_iter();
            specs.extend(custom.map(|spec| ToolSpec {
                description: self.cleaned(&spec.description).into_owned().into(),
                parameters: self.cleaned(&spec.parameters).into_owned().into(),
                ..spec
            }));
        }
        if let Some(mcp) = &self.mcp {
            specs.extend(mcp.specs(session, &|text| self.cleaned(text).into_owned()));
        }
        specs
    }

    /// Begins a turn of a conversation, and returns the tools as the model is told about them.
    pub fn begin_turn(&self, session: &str) -> Vec<ToolSpec> {
        let specs = self.specs_for(session);
        // By now it is known how old the lists of servers are.
        if let Some(mcp) = &self.mcp {
            mcp.begin_turn(session);
        }
        specs
    }

    /// The plans, and which agent of theirs has a conversation; `None` for all others.
    fn plan_of(&self, session: &str) -> Option<(&Plans, Agent)> {
        self.plans.as_ref().zip(Agent::parse(session))
    }

    fn custom(&self) -> Option<(&CustomTools, &Commands)> {
        self.custom.as_ref().zip(self.commands())
    }

    /// The folders that the tools work in.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The same for someone with a role: only owners change the files of the prompt.
    fn workspace_of(&self, role: Role) -> &Workspace {
        match role {
            Role::Owner => &self.workspace,
            Role::User | Role::Guest => &self.keeping,
        }
    }

    /// The skills that the model can use.
    pub fn skills(&self) -> Skills<'_> {
        let environment = self
            .commands
            .as_ref()
            .map(|commands| commands.environment());
        Skills::new(&self.workspace, environment).only(self.skills.as_deref())
    }

    /// A text without secrets.
    pub fn cleaned<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.eraser.clean(text)
    }

    /// What removes secrets from texts.
    pub fn eraser(&self) -> &Eraser {
        &self.eraser
    }

    /// Whether a tool only reads; false for an unknown one.
    pub fn is_read_only(&self, name: &str) -> bool {
        let found = self.registry.get(name);
        match found {
            Some((spec, _)) => spec.read_only,
            None => agents::plan::reads(name)
                .or_else(|| Some(self.mcp.as_ref()?.is_read_only(name)))
                .unwrap_or(false),
        }
    }

    /// Whether a tool's calls can say how far they are.
    pub fn tells_progress(&self, name: &str) -> bool {
        name.starts_with(names::PREFIX)
    }

    /// Runs a call. The text of a failed one begins with "Error".
    pub fn run(&self, call: &ToolCall, caller: &Caller<'_>) -> ToolResult {
        self.prompt_changed(&[]);
        let has = |name: &str| caller.has(name);
        let found = self.registry.get(&call.name).filter(|_| has(&call.name));
        let result = match found {
            Some((_, tool)) => self.run_tool(tool, call, caller),
            None if caller.role == Role::Guest => Err(self.unknown(&call.name, caller)),
            None => self
                .run_plan(call, caller)
                .or_else(|| self.run_mcp(call, caller))
                .unwrap_or_else(|| self.run_custom(call, caller)),
        };
        let mut result = result.unwrap_or_else(|error| {
            ToolResult::failed(format!("Error: {error}{}", self.advice(&error)))
        });
        let text = self.eraser.clean(&result.text).into_owned();
        let name = match found {
            Some((spec, _)) => &spec.name,
            None if names::is_plain(&call.name) => call.name.as_str(),
            None => "call",
        };
        result.text = if result.is_from_outside {
            self.results.fit_without_file(text)
        } else {
            let workspace = self.workspace_of(caller.role);
            self.results.fit(workspace, name, text)
        };
        result
    }

    fn run_tool(
        &self,
        tool: &dyn Tool,
        call: &ToolCall,
        caller: &Caller<'_>,
    ) -> Result<ToolResult> {
        if caller.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let commands = self
            .commands()
            .filter(|_| CHANGES_FILES.contains(&&*call.name));
        let _change = commands.map(Commands::change_files).transpose()?;
        tool.run(&self.context(caller), &Arguments::parse(&call.arguments)?)
    }

    /// `None` when the caller is no agent of a plan, or its part in it has no tool of this name.
    fn run_plan(&self, call: &ToolCall, caller: &Caller<'_>) -> Option<Result<ToolResult>> {
        let (plans, agent) = self.plan_of(caller.session)?;
        match Arguments::parse(&call.arguments) {
            Ok(arguments) => {
                let context = self.context(caller);
                agents::plan::run(plans, &agent, &call.name, &context, &arguments)
            }
            Err(error) => agents::plan::reads(&call.name).map(|_| Err(error)),
        }
    }

    /// `None` when no MCP server can have a tool of this name.
    fn run_mcp(&self, call: &ToolCall, caller: &Caller<'_>) -> Option<Result<ToolResult>> {
        let mcp = self.mcp.as_ref()?;
        if caller.cancel.is_cancelled() {
            if caller.input.is_some() {
                mcp.give_up(caller.session);
            }
            return Some(Err(Error::Stopped));
        }
        match Arguments::parse(&call.arguments) {
            Ok(arguments) => mcp.run(call, &self.context(caller), &arguments),
            Err(error) => Some(Err(error)),
        }
    }

    fn run_custom(&self, call: &ToolCall, caller: &Caller<'_>) -> Result<ToolResult> {
        let unknown = || self.unknown(&call.name, caller);
        let (custom, commands) = self.custom().ok_or_else(unknown)?;
        if caller.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let arguments = Arguments::parse(&call.arguments)?;
        custom
            .run(&call.name, commands, &self.context(caller), &arguments)
            .unwrap_or_else(|| Err(unknown()))
    }

    fn context<'a>(&'a self, caller: &'a Caller<'a>) -> Context<'a> {
        Context {
            workspace: self.workspace_of(caller.role),
            caller,
            results: &self.results,
            eraser: &self.eraser,
        }
    }

    /// What the model is told to do about an error. It is a paragraph of its own: people see only the
    /// error.
    fn advice(&self, error: &Error) -> String {
        match error {
            // Nothing is wrong with the call.
            Error::Stopped => String::new(),
            Error::Refused { .. } => format!("\n\n{}", self.workspace.rules()),
            _ => ADVICE.to_owned(),
        }
    }

    fn unknown(&self, name: &str, caller: &Caller<'_>) -> Error {
        let specs = self.specs();
        let names = specs.iter().map(|spec| &*spec.name);
        let names: Vec<&str> = names.filter(|name| caller.has(name)).collect();
        let names = names.join(", ");
        Error::Failed(format!("there is no tool {name:?}; there are {names}"))
    }

    /// An image in the workspace, for a model that sees; `None` if it is not one, or too large.
    pub fn image(&self, path: &str, cancel: &Cancel) -> Option<Image> {
        let call = ToolCall {
            id: String::new(),
            name: files::READ_FILE.name.into_owned(),
            arguments: serde_json::json!({ "path": path }).to_string(),
            signature: None,
        };
        let caller = Caller::new("", Role::Owner, "", cancel);
        self.run(&call, &caller).images.pop()
    }

    /// The first characters of a document in the workspace; `None` for files that are none by their names either.
    pub fn excerpt(&self, path: &str, chars: usize, cancel: &Cancel) -> Option<Excerpt> {
        files::excerpt((&self.workspace, path), chars, &self.eraser, cancel)
    }

    /// A short form of a call for people, such as `read_file("src/main.py")`.
    pub fn hint(&self, call: &ToolCall) -> String {
        let arguments = Arguments::parse(&call.arguments).unwrap_or_default();
        let Some(text) = arguments.subject() else {
            return format!("{}()", call.name);
        };
        let text = self.eraser.clean(text).replace(char::is_control, " ");
        let shown = ellipsize_chars(&text, HINT_CHARS);
        format!("{}(\"{shown}\")", call.name)
    }
}
