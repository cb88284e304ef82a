//! Floor 6: what the model can use: their specs, and running them.
//!
//! A call never fails outright. What goes wrong becomes a text that says what and asks the model to
//! try another way.

pub mod arguments;
pub mod commands;
mod device;
mod files;
mod message;
mod results;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use crate::approval::{Answer, Question};
use crate::board::Board;
use crate::cancel::Cancel;
use crate::chat::{Image, ToolCall, ToolResult, ToolSpec};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::files::Workspace;
use crate::limits::tools::HINT_CHARS;
use crate::secret::Eraser;
use crate::text::ellipsize_chars;

use arguments::Arguments;
use commands::{Commands, exec, exec_session};
use files::{append_file, edit_file, find_files, grep, list_dir, read_file, write_file};
use results::Results;

/// The tools there are.
#[derive(Clone, Copy)]
enum Tool {
    ReadFile,
    WriteFile,
    EditFile,
    AppendFile,
    ListDir,
    FindFiles,
    Grep,
    Exec,
    ExecSession,
    Device,
    Message,
}

/// The tools with what the model is told of them, in the order in which it is told.
const TOOLS: [Tool; 11] = [
    Tool::ReadFile,
    Tool::WriteFile,
    Tool::EditFile,
    Tool::AppendFile,
    Tool::ListDir,
    Tool::FindFiles,
    Tool::Grep,
    Tool::Exec,
    Tool::ExecSession,
    Tool::Device,
    Tool::Message,
];

impl Tool {
    const fn spec(self) -> ToolSpec {
        match self {
            Self::ReadFile => read_file::SPEC,
            Self::WriteFile => write_file::SPEC,
            Self::EditFile => edit_file::SPEC,
            Self::AppendFile => append_file::SPEC,
            Self::ListDir => list_dir::SPEC,
            Self::FindFiles => find_files::SPEC,
            Self::Grep => grep::SPEC,
            Self::Exec => exec::SPEC,
            Self::ExecSession => exec_session::SPEC,
            Self::Device => device::SPEC,
            Self::Message => message::SPEC,
        }
    }

    /// Whether it is there with this equipment.
    const fn is_there(self, equipment: Equipment) -> bool {
        match self {
            Self::Exec | Self::ExecSession => equipment.commands,
            Self::Device => equipment.board,
            Self::Message => equipment.chats,
            _ => true,
        }
    }

    fn named(name: &str) -> Option<Self> {
        TOOLS.into_iter().find(|tool| tool.spec().name == name)
    }

    fn run(self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        match self {
            Self::ReadFile => read_file::run(context, arguments),
            Self::WriteFile => write_file::run(context, arguments),
            Self::EditFile => edit_file::run(context, arguments),
            Self::AppendFile => append_file::run(context, arguments),
            Self::ListDir => list_dir::run(context, arguments),
            Self::FindFiles => find_files::run(context, arguments),
            Self::Grep => grep::run(context, arguments),
            Self::Exec => exec::run(context, arguments),
            Self::ExecSession => exec_session::run(context, arguments),
            Self::Device => device::run(context, arguments),
            Self::Message => message::run(context, arguments),
        }
    }
}

/// What there is beyond the workspace. It decides which tools there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Equipment {
    /// Commands may be run.
    pub commands: bool,
    /// The board can be read.
    pub board: bool,
    /// People are in chats, and not at the terminal.
    pub chats: bool,
}

/// The tools as the model is told of them.
pub fn specs(equipment: Equipment) -> impl Iterator<Item = ToolSpec> {
    let there = TOOLS
        .into_iter()
        .filter(move |tool| tool.is_there(equipment));
    there.map(Tool::spec)
}

/// What a tool works with.
struct Context<'a> {
    workspace: &'a Workspace,
    commands: Option<&'a Commands>,
    board: Option<&'a Board>,
    results: &'a Results,
    caller: &'a Caller<'a>,
    cancel: &'a Cancel,
    /// For what a tool cuts: half a key is still half a key.
    eraser: &'a Eraser,
    /// Characters of a result in the conversation.
    most_chars: usize,
}

impl<'a> Context<'a> {
    fn commands(&self) -> Result<&'a Commands> {
        self.commands.ok_or_else(|| {
            Error::Failed("there are no commands here (tools.exec.enabled)".to_owned())
        })
    }
}

/// Who makes a call.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// The key of the session, which owns what it starts.
    pub session: &'a str,
    /// What stops the call.
    pub cancel: &'a Cancel,
    /// What a person has answered to the question that this call led to.
    pub answer: Option<(&'a Question, Answer)>,
}

/// Everything the model can use, ready for use. Calls may run side by side.
pub struct Toolbox {
    workspace: Workspace,
    commands: Option<Commands>,
    board: Option<Arc<Board>>,
    has_chats: bool,
    results: Results,
    eraser: Eraser,
    specs: Vec<ToolSpec>,
}

impl Toolbox {
    /// Puts the tools together. A result longer than `most_chars` characters is cut in its middle,
    /// and the whole goes to a file in the workspace. No text leaves with a secret that the eraser
    /// knows.
    pub fn new(workspace: Workspace, most_chars: usize, eraser: Eraser, clock: Clock) -> Self {
        Self {
            workspace,
            commands: None,
            board: None,
            has_chats: false,
            results: Results::new(most_chars, clock),
            eraser,
            specs: specs(Equipment::default()).collect(),
        }
    }

    /// The same with commands.
    pub fn with_commands(self, commands: Commands) -> Self {
        let commands = Some(commands);
        Self { commands, ..self }.told_anew()
    }

    /// The same with the board.
    pub fn with_board(self, board: Arc<Board>) -> Self {
        let board = Some(board);
        Self { board, ..self }.told_anew()
    }

    /// The same where people are in chats, to whom something can be sent.
    pub fn with_chats(self) -> Self {
        Self {
            has_chats: true,
            ..self
        }
        .told_anew()
    }

    /// The same with the specs of what it has.
    fn told_anew(mut self) -> Self {
        let equipment = Equipment {
            commands: self.commands.is_some(),
            board: self.board.is_some(),
            chats: self.has_chats,
        };
        self.specs = specs(equipment).collect();
        self
    }

    /// Ends what a conversation has running in the background.
    pub fn end_of(&self, session: &str) {
        if let Some(commands) = &self.commands {
            commands.end_of(session);
        }
    }

    /// The tools as the model is told of them.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The folders that the tools work in.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// A text without the secrets that no text may take along.
    pub fn cleaned<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.eraser.clean(text)
    }

    /// Whether a tool only reads; false for a tool that does not exist.
    pub fn is_read_only(&self, name: &str) -> bool {
        let mut specs = self.specs.iter();
        specs.any(|spec| spec.name == name && spec.read_only)
    }

    /// Runs a call. What goes wrong is told in the result's text, which then begins with "Error".
    pub fn run(&self, call: &ToolCall, caller: &Caller<'_>) -> ToolResult {
        let mut result = self
            .attempt(call, caller)
            .unwrap_or_else(|error| ToolResult {
                text: format!("Error: {error}{}", advice(&error)),
                failed: true,
                ..ToolResult::default()
            });
        let text = self.eraser.clean(&result.text).into_owned();
        let tool = Tool::named(&call.name).map_or("call", |tool| tool.spec().name);
        result.text = self.results.fit(&self.workspace, tool, text);
        result
    }

    fn attempt(&self, call: &ToolCall, caller: &Caller<'_>) -> Result<ToolResult> {
        let known = self.specs.iter().any(|spec| spec.name == call.name);
        let Some(tool) = Tool::named(&call.name).filter(|_| known) else {
            let names: Vec<&str> = self.specs.iter().map(|spec| spec.name).collect();
            return Err(Error::Failed(format!(
                "there is no tool {:?}; there are {}",
                call.name,
                names.join(", ")
            )));
        };
        if caller.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let context = Context {
            workspace: &self.workspace,
            commands: self.commands.as_ref(),
            board: self.board.as_deref(),
            results: &self.results,
            caller,
            cancel: caller.cancel,
            eraser: &self.eraser,
            most_chars: self.results.most_chars(),
        };
        tool.run(&context, &Arguments::parse(&call.arguments)?)
    }

    /// An image of the workspace, for a model that sees; none where it is none, or too large.
    pub fn image(&self, path: &str, cancel: &Cancel) -> Option<Image> {
        let call = ToolCall {
            id: String::new(),
            name: read_file::SPEC.name.to_owned(),
            arguments: serde_json::json!({ "path": path }).to_string(),
            signature: None,
        };
        let caller = Caller {
            session: "",
            cancel,
            answer: None,
        };
        self.run(&call, &caller).images.pop()
    }

    /// A call in a few words for people: `read_file("src/main.py")`, its first text cut to fit.
    pub fn hint(&self, call: &ToolCall) -> String {
        let arguments = Arguments::parse(&call.arguments).unwrap_or_default();
        let Some(text) = arguments.first_text() else {
            return format!("{}()", call.name);
        };
        let text = self.eraser.clean(text).replace(char::is_control, " ");
        let shown = ellipsize_chars(&text, HINT_CHARS);
        format!("{}(\"{shown}\")", call.name)
    }
}

/// What the model is asked to do about an error.
fn advice(error: &Error) -> &'static str {
    match error {
        // Nothing is wrong with the call.
        Error::Stopped => "",
        _ => "\n\nLook at the error and try another way.",
    }
}
