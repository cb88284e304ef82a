//! Tools that people and the model write: `tools/NAME/` in the workspace, with a tool.json and an
//! executable in any language. It gets the arguments as JSON on standard input, in the sandbox of exec,
//! and what it writes to standard output is the result.
//!
//! Nothing in such a folder is trusted. A person allows a tool for exactly what is in it, and what runs
//! is a copy of that.

mod folder;
pub mod manifest;

use std::path::{Path, PathBuf};

use crate::base::approval::{Answer, Cause, Question};
use crate::base::chat::{Effect, ToolResult, ToolSpec};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::sandbox::confine::{Outcome, OutputChunk};
use crate::sandbox::files::{Next, Workspace};
use crate::store::state::{ToolApproval, ToolApprovals};
use crate::sys::at::Kind;
use crate::sys::file::read_beginning;
use crate::tools::results::Keeper;

use super::arguments::Arguments;
use super::commands::{Commands, ToolRun, quote, with_errors};
use super::mcp::names::PREFIX;
use super::results::Spool;
use super::{Capabilities, Context, specs};
use folder::Copies;
pub use folder::{Contents, read as read_folder};
use manifest::{Manifest, is_name};

/// Bytes of the name of a custom tool: shorter than a provider's limit, for it is also a folder's name.
const CUSTOM_NAME_BYTES_MAX: usize = 48;
/// Bytes of a tool.json that are read; one that fits into a request has less.
const CUSTOM_MANIFEST_BYTES_MAX: usize = 8 * 1024;
/// Bytes of the specs of all custom tools, which go into every request: about 1,000 tokens.
const CUSTOM_SPECS_BYTES_MAX: usize = 4000;
/// Files and folders in the folder of a custom tool: all are hashed before each call.
const CUSTOM_FILES_MAX: usize = 64;
/// Bytes of all files of a custom tool, enough for a compiled program; hashing them takes a slow board
/// a quarter of a second.
const CUSTOM_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Folders in `tools/` that are looked at for custom tools; models choose worse from more tools.
const CUSTOM_TOOLS_MAX: usize = 32;
/// Bytes of the arguments of a call of a custom tool: they fit into a pipe, so a tool that does not
/// read them holds nothing up.
const CUSTOM_INPUT_BYTES_MAX: usize = 32 * 1024;

/// The folder of the workspace's tools.
pub const FOLDER: &str = "tools";
/// The file that describes a tool.
pub const FILE: &str = "tool.json";

/// Names of built-in tools that are not always there.
const RESERVED: [&str; 5] = ["web_fetch", "web_search", "spawn", "tasks", "find_tools"];

/// A folder in `tools/`.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The name of the folder, which is the tool's.
    pub name: String,
    /// What its tool.json says, or why the tool cannot be used.
    pub manifest: std::result::Result<Manifest, String>,
}

/// The folders in `tools/`, sorted by name. Their executables are not looked at.
pub fn list(workspace: &Workspace) -> Vec<Listed> {
    let mut found = Vec::new();
    // Without the folder there are no tools.
    let _ = workspace.walk(Path::new(FOLDER), &mut |one| {
        let name = one.path.to_string_lossy();
        if !name.starts_with('.') && one.status.kind != Kind::File {
            found.push((name.into_owned(), one.status.kind));
        }
        if found.len() > CUSTOM_TOOLS_MAX {
            Next::Stop
        } else {
            Next::Pass
        }
    });
    let mut bytes = 0;
    let listed = found.into_iter().enumerate().map(|(index, (name, kind))| {
        let manifest = if index < CUSTOM_TOOLS_MAX { read_manifest(workspace, &name, kind) } else { Err(format!("there can be at most {CUSTOM_TOOLS_MAX} tools")) };
        let manifest = manifest.and_then(|manifest| {
            let size = manifest.spec(&name).bytes();
            if bytes + size > CUSTOM_SPECS_BYTES_MAX {
                return Err(format!(
                    "left out: with it the descriptions and parameters of all tools in {FOLDER}/ would take more \
                     than {CUSTOM_SPECS_BYTES_MAX} bytes of every request. Shorten them, or remove a tool"
                ));
            }
            bytes += size;
            Ok(manifest)
        });
        Listed { name, manifest }
    });
    listed.collect()
}

/// Why a name cannot be a tool's.
pub fn check_name(name: &str) -> std::result::Result<(), String> {
    if !is_name(name) {
        return Err(format!(
            "the name of a tool has 1 to {CUSTOM_NAME_BYTES_MAX} lower-case letters, digits and _, and begins with a letter"
        ));
    }
    let is_built_in = specs(Capabilities::ALL)
        .iter()
        .any(|spec| spec.name == name)
        || RESERVED.contains(&name);
    match is_built_in || name.starts_with(PREFIX) {
        true if is_built_in => Err(format!("{name} is the name of a built-in tool; rename it")),
        true => Err(format!(
            "names that begin with {PREFIX} are those of MCP servers; rename it"
        )),
        false => Ok(()),
    }
}

fn read_manifest(
    workspace: &Workspace,
    name: &str,
    kind: Kind,
) -> std::result::Result<Manifest, String> {
    check_name(name)?;
    if kind != Kind::Folder {
        return Err("it is a link or something else that is not a folder".to_owned());
    }
    let path = Path::new(FOLDER).join(name).join(FILE);
    let read = || -> Result<Vec<u8>> {
        let file = workspace.open_read(&path)?;
        read_beginning(&file, CUSTOM_MANIFEST_BYTES_MAX as u64 + 1)
            .map_err(Error::io("read", &path))
    };
    let bytes = read().map_err(|error| error.to_string())?;
    manifest::read(name, &bytes).map_err(|fault| format!("{FILE}: {fault}"))
}

/// A tool that could run, and what is in its folder.
#[derive(Debug)]
pub struct Candidate {
    /// What its tool.json says.
    pub manifest: Manifest,
    /// The folder; the executable comes first among its files.
    pub contents: Contents,
}

/// Reads the folder of a listed tool, whole. The error says why it could not run.
pub fn examine(workspace: &Workspace, name: &str) -> Result<Candidate> {
    let mut contents = read_folder(workspace, name, None)?;
    let path = |file: &str| format!("{FOLDER}/{name}/{file}");
    let manifest = manifest::read(name, &contents.manifest)
        .map_err(|fault| Error::Failed(format!("{}: {fault}", path(FILE))))?;
    let command = &manifest.command;
    if !contents.files.iter().any(|file| &file.path == command) {
        return Err(Error::Failed(format!(
            "there is no executable {}",
            path(command)
        )));
    }
    if !contents.executables.contains(command) {
        let file = path(command);
        return Err(Error::Failed(format!(
            "{file} is not executable: chmod +x {file}"
        )));
    }
    contents
        .files
        .sort_by_key(|file| (&file.path != command, file.path != FILE));
    Ok(Candidate { manifest, contents })
}

/// The custom tools of an agent.
#[derive(Clone, Debug)]
pub struct CustomTools {
    approvals: ToolApprovals,
    copies: Copies,
    clock: Clock,
}

impl CustomTools {
    /// The custom tools of an agent, with what is kept about them below the folder `state`.
    pub fn new(state: &Path, agent: &str, clock: Clock) -> Self {
        Self {
            approvals: ToolApprovals::new(state, agent),
            copies: Copies(state.join(FOLDER)),
            clock,
        }
    }

    /// Which tools a person has allowed.
    pub fn approvals(&self) -> &ToolApprovals {
        &self.approvals
    }

    /// The tools as the model is told about them.
    pub(super) fn specs(workspace: &Workspace) -> Vec<ToolSpec> {
        let listed = list(workspace).into_iter();
        let specs = listed.filter_map(|one| Some(one.manifest.ok()?.spec(&one.name)));
        specs.collect()
    }

    /// Runs a call; `None` when there is no such folder.
    pub(super) fn run(
        &self,
        name: &str,
        commands: &Commands,
        context: &Context<'_>,
        arguments: &Arguments,
    ) -> Option<Result<ToolResult>> {
        let listed = list(context.workspace).into_iter();
        let found = listed.into_iter().find(|one| one.name == name)?;
        Some(match found.manifest {
            Ok(_) => self.call(name, commands, context, arguments),
            Err(fault) => Err(Error::Failed(format!(
                "the tool {name} cannot be used: {fault}"
            ))),
        })
    }

    fn call(
        &self,
        name: &str,
        commands: &Commands,
        context: &Context<'_>,
        arguments: &Arguments,
    ) -> Result<ToolResult> {
        let input = arguments.to_json();
        if input.len() > CUSTOM_INPUT_BYTES_MAX {
            return Err(Error::TooLarge {
                what: format!("the arguments of {name}"),
                limit: CUSTOM_INPUT_BYTES_MAX,
            });
        }
        let candidate = examine(context.workspace, name)?;
        let hash = &candidate.contents.hash;
        let approval = self.approvals.find(name, hash);
        let mut run = ToolRun {
            name,
            hash,
            input: &input,
            workspace: context.workspace.path(),
            seconds: candidate.manifest.timeout,
            decision: "allowed: an approved tool",
        };
        let decided;
        if approval != ToolApproval::Approved {
            let Some((asked, answer)) = context.caller.answer else {
                if !commands.can_ask() {
                    run.decision = "refused: tools.exec.approval";
                    commands.refuse_tool(&run, context.caller)?;
                    return Err(unapproved(name, "tools.exec.approval is \"never\""));
                }
                let is_changed = approval == ToolApproval::Changed;
                return Ok(ask(question(
                    name,
                    &candidate,
                    is_changed,
                    commands.account(),
                    context,
                )));
            };
            let refusal = match answer {
                answer if answer.allows() && asked.hash == *hash => None,
                answer if answer.allows() => Some(changed(name)),
                Answer::Unattended => Some(unapproved(name, "there is no one to ask")),
                answer => Some(Error::Failed(format!(
                    "the tool {name} was not run: {answer}"
                ))),
            };
            decided = match &refusal {
                Some(error) => error.to_string(),
                None => answer.to_string(),
            };
            run.decision = decided.lines().next().unwrap_or_default();
            if let Some(error) = refusal {
                commands.refuse_tool(&run, context.caller)?;
                return Err(error);
            }
            if answer == Answer::Always {
                let now = self.clock.now().to_rfc3339();
                self.approvals.add(name, hash, now)?;
            }
        }
        self.start(&run, &candidate.manifest, commands, context)
    }

    fn start(
        &self,
        run: &ToolRun<'_>,
        manifest: &Manifest,
        commands: &Commands,
        context: &Context<'_>,
    ) -> Result<ToolResult> {
        let kept = self.approvals.hashes().unwrap_or_default();
        let copy = self
            .copies
            .keep(context.workspace, run.name, run.hash, &kept)?;
        let copy = copy.ok_or_else(|| changed(run.name))?;
        let mark = folder::mark(run.name, run.hash);
        let program = quote(&copy.join(&manifest.command).to_string_lossy());
        let line = with_errors(&program, &mark);
        let mut spool = Spool::new(
            Keeper::Workspace(context.results, context.workspace),
            context.eraser,
            run.name,
        );
        let mut output = |chunk: OutputChunk<'_>| {
            if let OutputChunk::Whole(bytes) = chunk {
                spool.write(bytes);
            }
        };
        let outcome = commands.run_tool(run, (&line, copy), context.caller, &mut output)?;
        Ok(render(context, run.name, &mark, &outcome, spool.finish()))
    }
}

fn ask(question: Question) -> ToolResult {
    ToolResult {
        effect: Some(Effect::Ask(Box::new(question))),
        ..ToolResult::default()
    }
}

fn question(
    name: &str,
    candidate: &Candidate,
    is_changed: bool,
    account: String,
    context: &Context<'_>,
) -> Question {
    let contents = &candidate.contents;
    Question {
        command: format!("{FOLDER}/{name}/{}", candidate.manifest.command),
        folder: context.workspace.path().to_string_lossy().into_owned(),
        account,
        cause: Cause::Tool {
            name: name.to_owned(),
            description: candidate.manifest.description.clone(),
            is_changed,
        },
        scripts: contents.files.clone(),
        hash: contents.hash.clone(),
        ..Question::default()
    }
}

fn changed(name: &str) -> Error {
    Error::Failed(format!(
        "the tool {name} was not run: its folder changed after the person was asked\n\nCall it again; the person is \
         asked again."
    ))
}

fn unapproved(name: &str, why: &str) -> Error {
    Error::Failed(format!(
        "the tool {name} was not run: it is not approved, and {why}. To approve it: `peacrab tools approve {name}`"
    ))
}

/// The result as the model reads it: the output, and of a failed run how it ended.
fn render(
    context: &Context<'_>,
    name: &str,
    mark: &str,
    outcome: &Outcome,
    spilled: Option<Result<PathBuf>>,
) -> ToolResult {
    let text = outcome.output.text();
    // Before it is cut: half of a key is still a secret.
    let text = context.eraser.clean(&text);
    // Nothing is behind the mark of a run that was ended.
    let parts = text.rsplit_once(&format!("\n{mark}\n"));
    let (output, errors) = parts.unwrap_or((&text, ""));
    let output = output.trim_end();
    let output = match spilled {
        Some(Ok(path)) => context
            .results
            .cut(output, &format!("the whole is in {}", path.display())),
        Some(Err(error)) => context
            .results
            .cut(output, &format!("the whole could not be kept: {error}")),
        None => output.to_owned(),
    };
    if outcome.end.is_success() {
        return ToolResult::new(if output.is_empty() {
            "(no output)".to_owned()
        } else {
            output
        });
    }
    let mut text = format!("Error: {name}: {}", outcome.end);
    for note in &outcome.notes {
        text.push_str(&format!(" ({note})"));
    }
    if !errors.trim().is_empty() {
        text.push_str(&format!("\n{}", errors.trim_end()));
    }
    if !output.is_empty() {
        text.push_str(&format!("\n\nIts output:\n{output}"));
    }
    ToolResult::failed(text)
}

#[cfg(test)]
mod tests;
