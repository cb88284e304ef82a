//! `peacrab skills`: what the model can learn from, built in and in the workspace.

mod check;
mod install;
mod texts;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use unicode_width::UnicodeWidthChar;

use super::Context;
use super::compose::{exec_of, open_workspace};
use super::terminal::print;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::cli::LINE_CHARS;
use crate::base::limits::skills::LISTED_CHARS;
use crate::sandbox::files::Workspace;
use crate::text::{ellipsize_chars, escape_json, reveal};
use crate::tools::skills::{Place, Skill, Skills};

/// Columns of a description on the narrowest terminal.
const DESCRIPTION_COLUMNS_MIN: usize = 20;

const AFTER_HELP: &str = "\
A skill is a folder with a SKILL.md that teaches the model a task. The model is \
shown the names and descriptions, and reads a skill when a task fits; $NAME in a \
message loads one.

Examples:
  peacrab skills new backup                 write a skill of your own
  peacrab skills install ~/Downloads/x.zip  install one after a look at it
  peacrab skills check                      check yours for problems";

/// `peacrab skills …`
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
    /// List the skills, and why some are not available
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Print the SKILL.md of a skill
    Show {
        /// Its name
        #[arg(value_name = "NAME")]
        skill: String,
    },
    /// Make a new skill in the workspace
    New {
        /// Its name: lower-case letters, digits and hyphens
        name: String,
    },
    /// Install a skill from a folder, a ZIP file or an https address
    Install(install::Arguments),
    /// Remove a skill from the workspace
    #[command(alias = "uninstall")]
    Remove {
        /// Its name
        #[arg(value_name = "NAME")]
        skill: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Find problems in a skill, or in all of the workspace
    Check {
        /// A skill's name, or a folder
        #[arg(value_name = "NAME|DIR")]
        skill: Option<PathBuf>,
    },
}

impl Arguments {
    /// Whether the workspace is changed.
    pub fn changes(&self) -> bool {
        let action = self.action.as_ref();
        action.is_some_and(|action| {
            matches!(
                action,
                Action::New { .. } | Action::Install(_) | Action::Remove { .. }
            )
        })
    }
}

/// The workspace, and the environment of commands in it.
struct Places {
    workspace: Workspace,
    environment: Option<Vec<(OsString, OsString)>>,
}

impl Places {
    fn open(context: &Context, agent: Option<&str>) -> Result<Self> {
        let loaded = context.start()?.of_agent(agent)?;
        let home = context.home()?;
        let workspace = open_workspace(context, &home, &loaded)?;
        let environment = if loaded.config.tools.exec.enabled {
            Some(exec_of(context, &home, &loaded)?.environment().to_vec())
        } else {
            None
        };
        Ok(Self {
            workspace,
            environment,
        })
    }

    fn skills(&self) -> Skills<'_> {
        Skills::new(&self.workspace, self.environment.as_deref())
    }
}

/// The names of the skills, for completions.
pub fn names(context: &Context) -> Vec<(String, String)> {
    // Completing a word makes no home.
    let home = context.home().is_ok_and(|home| home.path().is_dir());
    let places = home.then(|| Places::open(context, None).ok()).flatten();
    let skills = places.map(|places| places.skills().list());
    let named = |skill: Skill| (skill.name, reveal(&skill.description).into_owned());
    skills.into_iter().flatten().map(named).collect()
}

/// Runs the action.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let places = Places::open(context, arguments.agent.as_deref())?;
    let skills = places.skills();
    match arguments.action {
        None => list(&skills, false)?,
        Some(Action::List { json }) => list(&skills, json)?,
        Some(Action::Show { skill }) => {
            skills.find(&skill)?;
            print::out(&shown(&skills.text(&skill)?))?;
        }
        Some(Action::New { name }) => install::new(&skills, &name)?,
        Some(Action::Install(arguments)) => return install::run(context, &skills, &arguments),
        Some(Action::Remove { skill, yes }) => {
            if !yes && skills.is_own(&skill) && !confirm(&texts::ask_to_remove(&skill))? {
                print::line(texts::NOT_REMOVED)?;
                return Ok(Exit::Done);
            }
            skills.remove(&skill)?;
            print::line(&texts::removed(&skill))?;
        }
        Some(Action::Check { skill }) => return check::run(&skills, skill.as_deref()),
    }
    Ok(Exit::Done)
}

/// Asks at the terminal. Without one nothing is done that was not confirmed with `--yes`.
fn confirm(question: &str) -> Result<bool> {
    if !print::can_ask() {
        return Err(Error::Usage(texts::NEEDS_YES.to_owned()));
    }
    let answer = print::ask(question)?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn list(skills: &Skills<'_>, json: bool) -> Result<()> {
    let (skills, rest) = skills.list_and_rest();
    let width = skills
        .iter()
        .map(|skill| skill.name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for skill in &skills {
        if json {
            let value = json!({
                "name": skill.name,
                "description": skill.description,
                "builtIn": skill.place == Place::BuiltIn,
                "path": skill.path,
                "always": skill.always,
                "missing": skill.missing.iter().map(ToString::to_string).collect::<Vec<_>>(),
            });
            text.push_str(&escape_json(&value.to_string()));
            text.push('\n');
        } else {
            text.push_str(&format_skill(skill, width));
        }
    }
    print::out(&text)?;
    note_rest(rest);
    Ok(())
}

/// Says that not all folders are skills that are used.
fn note_rest(rest: usize) {
    if rest > 0 {
        print::notice(&texts::not_used(rest));
    }
}

fn format_skill(skill: &Skill, width: usize) -> String {
    let name = format!("{:<width$}", skill.name);
    // One line for each skill; `show` has all of it.
    let room = print::columns().saturating_sub(width + "  built in  …".len());
    let mut room = room.max(DESCRIPTION_COLUMNS_MIN);
    let fits = |char: &char| {
        let columns = char.width().unwrap_or(0);
        let is_fitting = columns <= room;
        room = room.saturating_sub(columns);
        is_fitting
    };
    let chars = skill.description.chars().take_while(fits).count();
    let description = ellipsize_chars(&skill.description, chars.min(LISTED_CHARS));
    let place = match skill.place {
        Place::BuiltIn => "built in",
        Place::Workspace => "yours   ",
    };
    let mut text = format!(
        "{}  {place}  {}\n",
        print::bold(&name),
        reveal(&description)
    );
    let gap = " ".repeat(width);
    if skill.always {
        text.push_str(&format!("{gap}            {}\n", print::dim(texts::ALWAYS)));
    }
    if !skill.missing.is_empty() {
        let reasons =
            ellipsize_chars(&texts::unavailable(&skill.reasons()), LINE_CHARS).into_owned();
        let reasons = print::wrapped(&format!("{gap}            {}", reveal(&reasons)));
        text.push_str(&format!("{}\n", print::dim(&reasons)));
    }
    text
}

/// The text of a file from anywhere, as a terminal may get it.
fn shown(text: &str) -> String {
    let mut text = reveal(text.replace("\r\n", "\n").trim_end()).into_owned();
    text.push('\n');
    text
}
