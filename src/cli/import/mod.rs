//! `peacrab import`: takes over the home of another program.

mod files;
mod formats;
mod jobs;
mod report;
mod sessions;
mod settings;
mod source;
mod tables;
mod texts;

use std::path::{Path, PathBuf};

use clap::Args;

use super::Context;
use super::compose::files::{fill_workspace, make_home};
use super::compose::open_workspace;
use super::terminal::interrupt::Foreground;
use super::terminal::print;
use crate::base::error::{Error, Exit, Result};
use crate::config::home::command_for;
use crate::config::load::{load, save};
use crate::config::{Home, Loaded};
use crate::sandbox::files::Workspace;
use crate::sys::file::{private_folder, read_at_most, remove_unfinished, unlock};
use report::Report;
use settings::Target;
use source::Source;

/// Bytes of our configuration.
const CONFIG_BYTES: usize = crate::base::limits::config::FILE_BYTES;

const AFTER_HELP: &str = "\
Examples:
  peacrab import --dry-run ~/.nanobot
  peacrab import ~/.nanobot
  peacrab import --workspace /srv/claw ~/.openclaw

It recognises the home of nanobot, PicoClaw, OpenClaw, Hermes or zeroclaw, and takes settings with \
their keys, the files of the workspace, memory, skills, jobs, conversations and allow-lists. Nothing \
is written there, and nothing that is here already is replaced. Import only a home of your own.";

/// `peacrab import …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The home folder of the other program, such as ~/.nanobot, or the folder that it is in
    folder: Option<PathBuf>,
    /// Only say what would be taken
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// The folder that its agent works in, if that is not in its home folder
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// Takes over a home, or says what would be taken.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Some(folder) = arguments.folder else {
        let found = homes(context);
        return Err(Error::Usage(texts::name_one(&found)));
    };
    import(
        context,
        &folder,
        arguments.workspace.as_deref(),
        !arguments.dry_run,
    )?;
    Ok(Exit::Done)
}

/// The homes of other programs that this account has, each with the program's name.
pub fn homes(context: &Context) -> Vec<(&'static str, PathBuf)> {
    let found = source::find_homes(context.environment()).into_iter();
    found
        .map(|(program, path)| (program.name(), path))
        .collect()
}

/// Takes over the home in a folder, and reports what became of everything in it.
pub fn import(
    context: &Context,
    from: &Path,
    workspace: Option<&Path>,
    writes: bool,
) -> Result<()> {
    // Not yet by the context: what is wrong with the other home has nothing to do with where ours is.
    let home = Home::find(context.home_option(), |name| {
        context.environment().get(name).cloned()
    })?;
    let is_ours = |path: &Path| path.canonicalize().is_ok_and(|path| path == home.path());
    let source = source::home_at(from).and_then(|from| match is_ours(&from) {
        true => Err(Error::Usage(texts::OWN_HOME.to_owned())),
        false => Source::open(&from, workspace),
    });
    let source = source.map_err(|error| texts::explain(error, from))?;
    let file = context.config_file()?;
    let loaded = match file.exists() {
        true => context.start()?,
        false => load(&file, false, context.environment())?,
    };
    let (context, foreground) = (context.clone(), Foreground::new()?);
    let (report, source) = foreground.run(move |_| {
        let taking = Taking {
            context: &context,
            home: &home,
            loaded: &loaded,
            source: &source,
        };
        let report = if writes { taking.take() } else { taking.look() };
        report.map(|report| (report, source))
    })??;
    print::line(&texts::heading(&source, writes))?;
    print::out(&print::wrapped(&report.text()))?;
    print::line(&texts::outcome(&source, &report, writes))
}

/// What is taken, and into what.
struct Taking<'a> {
    context: &'a Context,
    home: &'a Home,
    loaded: &'a Loaded,
    source: &'a Source,
}

impl Taking<'_> {
    /// The text of the configuration with what is taken.
    fn plan(&self, report: &mut Report) -> Result<Option<String>> {
        let file = self.context.config_file()?;
        let mut text = "{}\n".to_owned();
        if file.exists() {
            let bytes = read_at_most(&file, CONFIG_BYTES)?;
            let there = String::from_utf8_lossy(&bytes);
            if !there.trim().is_empty() {
                text = there.trim_start_matches('\u{feff}').to_owned();
            }
        }
        let target = Target {
            file: &file,
            text,
            loaded: self.loaded,
            context: self.context,
        };
        report.part(texts::SETTINGS);
        settings::plan(self.source, &target, report)
    }

    /// Says what would be taken.
    fn look(&self) -> Result<Report> {
        let mut report = Report::default();
        self.plan(&mut report)?;
        let workspace = self.folder().is_dir().then(|| self.workspace());
        self.rest(workspace.transpose()?.as_ref(), false, &mut report)?;
        Ok(report)
    }

    /// Takes everything, the configuration last: until then the program starts as before.
    fn take(&self) -> Result<Report> {
        private_folder(self.home.path())?;
        let Some(lock) = self.home.try_lock()? else {
            return Err(Error::Failed(texts::gateway_runs(self.home.path())));
        };
        let mut report = Report::default();
        let taken = self.take_all(&mut report);
        let _ = unlock(&lock);
        taken.map(|()| report)
    }

    fn take_all(&self, report: &mut Report) -> Result<()> {
        let text = self.plan(report)?;
        make_home(self.home)?;
        for folder in [self.home.path(), &self.home.sessions()] {
            remove_unfinished(folder);
        }
        self.rest(Some(&self.workspace()?), true, report)?;
        fill_workspace(&self.folder())?;
        match text {
            Some(text) => save(&self.context.config_file()?, &text),
            None => Ok(()),
        }
    }

    fn rest(&self, workspace: Option<&Workspace>, writes: bool, report: &mut Report) -> Result<()> {
        let place = files::Place { workspace, writes };
        files::take(self.source, &place, report)?;
        files::take_skills(self.source, &place, report)?;
        jobs::take(self.source, self.home, writes, report)?;
        sessions::take(self.source, self.home, writes, report)
    }

    /// The folder of our workspace.
    fn folder(&self) -> PathBuf {
        let named = &self.loaded.config.agents.defaults.workspace;
        self.home.workspace(named)
    }

    fn workspace(&self) -> Result<Workspace> {
        open_workspace(self.context, self.home, self.loaded)
    }
}

/// The command that imports a home, for people to type.
pub fn command(context: &Context, from: &Path) -> Result<String> {
    let peacrab = command_for(&context.home()?, context.environment());
    Ok(format!(
        "{peacrab} import {}",
        crate::config::home::quote_for_shell(from)
    ))
}
