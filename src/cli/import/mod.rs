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
use super::compose::{check_workspace, open_workspace};
use super::terminal::interrupt::Foreground;
use super::terminal::print;
use crate::base::error::{Error, Exit, Result};
use crate::config::home::command_for;
use crate::config::load::{load, save};
use crate::config::{Home, Loaded};
use crate::sys::file::{private_folder, read_at_most, unlock};
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

It recognises the home of nanobot, PicoClaw, OpenClaw, Hermes or zeroclaw, and takes settings with
their keys, the files of the workspace, memory, skills, jobs, conversations and allow-lists. Nothing
is written there, and nothing that is here already is replaced. Import only a home of your own.";

/// `peacrab import …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The home folder of the other program, such as ~/.nanobot
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
    let home = context.home()?;
    let is_ours = |path: &Path| path.canonicalize().is_ok_and(|path| path == home.path());
    if is_ours(from) {
        return Err(Error::Usage(texts::OWN_HOME.to_owned()));
    }
    let file = context.config_file()?;
    let loaded = match file.exists() {
        true => context.start()?,
        false => load(&file, false, context.environment())?,
    };
    let source = Source::open(from, workspace).map_err(|error| texts::explain(error, from))?;
    let (context, foreground) = (context.clone(), Foreground::new()?);
    let report = foreground.run(move |_| match writes {
        true => take_all(&context, &home, &loaded, &source).map(|report| (report, source)),
        false => look(&context, &home, &loaded, &source).map(|report| (report, source)),
    })??;
    let (report, source) = report;
    print::line(&texts::heading(&source, writes))?;
    print::out(&report.text())?;
    print::line(&texts::outcome(&source, &report, writes))
}

fn plan(
    context: &Context,
    loaded: &Loaded,
    source: &Source,
    report: &mut Report,
) -> Result<Option<String>> {
    let file = context.config_file()?;
    let text = match file.exists() {
        true => {
            let text = read_at_most(&file, CONFIG_BYTES)?;
            String::from_utf8_lossy(&text)
                .trim_start_matches('\u{feff}')
                .to_owned()
        }
        false => String::new(),
    };
    let is_empty = text.trim().is_empty();
    let target = Target {
        file: &file,
        text: if is_empty { "{}\n".to_owned() } else { text },
        loaded,
        environment: context.environment(),
    };
    report.part(texts::SETTINGS);
    settings::plan(source, &target, report)
}

/// Says what would be taken.
fn look(context: &Context, home: &Home, loaded: &Loaded, source: &Source) -> Result<Report> {
    let mut report = Report::default();
    plan(context, loaded, source, &mut report)?;
    let folder = home.workspace(&loaded.config.agents.defaults.workspace);
    let workspace = match folder.is_dir() {
        true => Some(open_workspace(context, home, loaded)?),
        false => None,
    };
    let place = files::Place {
        workspace: workspace.as_ref(),
        writes: false,
    };
    take_rest(source, home, &place, &mut report)?;
    Ok(report)
}

/// Takes everything, the configuration last: until then the program starts as before.
fn take_all(context: &Context, home: &Home, loaded: &Loaded, source: &Source) -> Result<Report> {
    let folder = home.workspace(&loaded.config.agents.defaults.workspace);
    private_folder(home.path())?;
    let Some(lock) = home.try_lock()? else {
        return Err(Error::Failed(texts::gateway_runs(home.path())));
    };
    let mut report = Report::default();
    let taken = (|| {
        let text = plan(context, loaded, source, &mut report)?;
        make_home(home)?;
        private_folder(&folder)?;
        check_workspace(context, loaded, &folder)?;
        let workspace = open_workspace(context, home, loaded)?;
        let place = files::Place {
            workspace: Some(&workspace),
            writes: true,
        };
        take_rest(source, home, &place, &mut report)?;
        fill_workspace(&folder)?;
        if let Some(text) = text {
            save(&context.config_file()?, &text)?;
        }
        Ok(())
    })();
    let _ = unlock(&lock);
    taken.map(|()| report)
}

fn take_rest(
    source: &Source,
    home: &Home,
    place: &files::Place<'_>,
    report: &mut Report,
) -> Result<()> {
    files::take(source, place, report)?;
    files::take_skills(source, place, report)?;
    jobs::take(source, home, place.writes, report)?;
    sessions::take(source, home, place.writes, report)
}

/// The command that imports a home, for people to type.
pub fn command(context: &Context, from: &Path) -> Result<String> {
    let peacrab = command_for(&context.home()?, context.environment());
    Ok(format!(
        "{peacrab} import {}",
        crate::config::home::quote_for_shell(from)
    ))
}
