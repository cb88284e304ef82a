//! `peacrab tools`: the tools that the model can use, built in and in the workspace.

mod change;
mod list;
mod texts;

use clap::{Args, Subcommand, ValueEnum};

use super::Context;
use super::compose::open_workspace;
use super::terminal::print;
use crate::base::clock::Clock;
use crate::base::error::{Exit, Result};
use crate::config::Loaded;
use crate::sandbox::files::Workspace;
use crate::store::state::{ToolApproval, ToolApprovals};
use crate::text::{count_of, reveal};
use crate::tools::custom::{self, Candidate, CustomTools, Listed};

const AFTER_HELP: &str = "\
A tool of your own is a folder tools/NAME in the workspace: a tool.json with its \
description and parameters, and an executable in any language. It gets the \
arguments as JSON on standard input, in the sandbox, and what it prints is the \
result. You are asked before its first run, and again after each change.

Examples:
  peacrab tools new lamp            write an example to start from
  peacrab tools check               check yours for problems
  peacrab tools approve lamp        let the agent use it, in jobs too";

/// `peacrab tools …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// The agent of agents.list [default: the default agent]
    #[arg(long, global = true, value_name = "ID")]
    agent: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools with their parameters
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Find problems in your tools
    Check {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Write a new tool that works, to be changed
    New {
        /// Its name: lower-case letters, digits and _
        name: String,
        /// The language it is written in
        #[arg(long, value_enum, default_value_t = Lang::Sh)]
        lang: Lang,
    },
    /// Let the agent use a tool as it is now
    Approve {
        /// Its name
        #[arg(value_name = "NAME")]
        tool: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Ask again before a tool runs
    Revoke {
        /// Its name
        #[arg(value_name = "NAME")]
        tool: String,
    },
}

/// The language of a new tool.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lang {
    /// A script of the shell
    Sh,
    /// Python 3
    Python,
}

impl Arguments {
    /// Whether the workspace or what is allowed is changed.
    pub fn changes(&self) -> bool {
        !matches!(
            self.action,
            None | Some(Action::List { .. } | Action::Check { .. })
        )
    }
}

/// The names of the custom tools, for completions.
pub fn names(context: &Context) -> Vec<(String, String)> {
    let custom = context
        .start()
        .and_then(|loaded| Custom::of(context, &loaded.of_agent(None)?));
    let workspace = custom.ok().and_then(|custom| custom.workspace);
    let listed = workspace.as_ref().map(custom::list).unwrap_or_default();
    let described = |one: Listed| {
        let description = one.manifest.ok()?.description;
        Some((one.name, reveal(&description).into_owned()))
    };
    listed.into_iter().filter_map(described).collect()
}

/// Runs the action.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let loaded = context.start()?.of_agent(arguments.agent.as_deref())?;
    match arguments.action {
        None => list::run(context, &loaded, false),
        Some(Action::List { json }) => list::run(context, &loaded, json),
        Some(Action::Check { json }) => check(&Custom::of(context, &loaded)?, json),
        Some(Action::New { name, lang }) => change::new(context, &loaded, &name, lang),
        Some(Action::Approve { tool, yes }) => change::approve(context, &loaded, &tool, yes),
        Some(Action::Revoke { tool }) => change::revoke(context, &loaded, &tool),
    }
}

/// The custom tools of an agent.
pub(super) struct Custom {
    workspace: Option<Workspace>,
    approvals: ToolApprovals,
    is_enabled: bool,
}

/// A custom tool that was looked at.
pub(super) struct Checked {
    /// Its name.
    pub name: String,
    /// Whether it is allowed, or why it cannot be used.
    pub state: Result<(Candidate, ToolApproval), String>,
}

impl Custom {
    /// Those of the agent whose settings these are. No workspace is created.
    pub fn of(context: &Context, loaded: &Loaded) -> Result<Self> {
        let home = context.home()?;
        let folder = home.workspace(&loaded.config.agents.defaults.workspace);
        let workspace = if folder.is_dir() {
            Some(open_workspace(context, &home, loaded)?)
        } else {
            None
        };
        let custom = CustomTools::new(&home.state(), loaded.agent_id(), Clock::System);
        let tools = &loaded.config.tools;
        Ok(Self {
            workspace,
            approvals: custom.approvals().clone(),
            is_enabled: tools.custom.enabled && tools.exec.enabled,
        })
    }

    /// Whether the agent can use them.
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// All folders in `tools/`.
    pub fn check(&self) -> Vec<Checked> {
        let workspace = self.workspace.iter();
        let checked = workspace.flat_map(|workspace| {
            let listed = custom::list(workspace).into_iter();
            listed.map(|one| self.check_one(workspace, one))
        });
        checked.collect()
    }

    fn check_one(&self, workspace: &Workspace, listed: Listed) -> Checked {
        let name = listed.name;
        let state = listed.manifest.and_then(|_| {
            let candidate = custom::examine(workspace, &name).map_err(|error| error.to_string())?;
            let approval = self.approvals.find(&name, &candidate.contents.hash);
            Ok((candidate, approval))
        });
        Checked { name, state }
    }
}

impl Checked {
    /// What is wrong, on one line that begins with the folder; `None` when it can be used.
    pub fn fault(&self) -> Option<String> {
        let fault = self.state.as_ref().err()?;
        let folder = format!("{}/{}", custom::FOLDER, self.name);
        let text = if fault.starts_with(&folder) || fault.contains(&format!(" {folder}/")) {
            fault.clone()
        } else {
            format!("{folder}: {fault}")
        };
        Some(reveal(&text.replace('\n', " ")).into_owned())
    }
}

fn check(custom: &Custom, json: bool) -> Result<Exit> {
    let checked = custom.check();
    let faults: Vec<String> = checked.iter().filter_map(Checked::fault).collect();
    if json {
        print::out(&list::custom_as_json(&checked))?;
    } else {
        for fault in &faults {
            print::line(fault)?;
        }
        print::line(&match (checked.len(), faults.len()) {
            (0, _) => texts::NO_TOOLS.to_owned(),
            (count, 0) => texts::no_faults(&count_of(count, "tool", "tools")),
            (_, count) => texts::faults(&count_of(count, "problem", "problems")),
        })?;
    }
    Ok(if faults.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}
