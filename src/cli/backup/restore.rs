//! `peacrab restore`: checks a backup, says what would change, and puts it in place.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::{STANDARD, ask_passphrase, read_passphrase, texts};
use crate::base::error::{Error, Exit, Result};
use crate::base::sync::Mutex;
use crate::cli::Context;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::print;
use crate::cli::terminal::prompt::Prompt;
use crate::config::Home;
use crate::store::backup::{Backup, Survey, swap};
use crate::sys::file::{open_to_read, private_folder, unlock};

const AFTER_HELP: &str = "\
Examples:
  peacrab restore --check peacrab.tar.gz
  peacrab restore peacrab.tar.gz
  sudo peacrab restore - <peacrab.tar.gz

It says what will change and asks first. What is there now is kept in the home folder, in \
before-restore. Restore only backups of your own: the settings in them decide what runs here. \
Messages that were waiting when the backup was made are answered or sent on the next start.";

/// `peacrab restore …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The backup; - is standard input, redirected from a file
    file: PathBuf,
    /// Only check the backup, and say what would change
    #[arg(long)]
    check: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// The passphrase is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Checks or restores a backup.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let mut backup = open(&arguments.file)?;
    if backup.is_encrypted() {
        backup.unlock(match &arguments.passphrase_file {
            Some(file) => read_passphrase(file)?,
            None => ask_passphrase(texts::PASSPHRASE)?,
        });
    }
    let (home, foreground) = (context.home()?, Foreground::new()?);
    let path = home.path().to_owned();
    let (mut backup, survey) = foreground.run(move |cancel| {
        let survey = backup.survey(&path, cancel);
        survey.map(|survey| (backup, survey))
    })??;
    print::line(&texts::describe(&survey))?;
    for note in texts::survey_notes(&survey) {
        print::notice(&note);
    }
    if arguments.check {
        print::line(texts::INTACT)?;
        return Ok(Exit::Done);
    }
    if !arguments.yes {
        if !print::can_ask() || arguments.file == Path::new(STANDARD) {
            return Err(Error::Usage(texts::NEEDS_YES.to_owned()));
        }
        let is_new = !std::fs::read_dir(home.path()).is_ok_and(|mut there| there.next().is_some());
        let prompt = Arc::new(Mutex::new(Prompt::for_questions()));
        let answer = foreground.ask(&prompt, &texts::question(home.path(), is_new), false)?;
        if !matches!(&*answer.to_ascii_lowercase(), "y" | "yes") {
            print::line(texts::UNCHANGED)?;
            return Ok(Exit::Done);
        }
    }
    private_folder(home.path())?;
    let Some(lock) = home.try_lock()? else {
        return Err(Error::Failed(texts::gateway_runs(home.path())));
    };
    let there = home.clone();
    let restored = foreground.run(move |cancel| {
        let new = swap::prepare(there.path())?;
        let extracted = backup.extract(&survey, &new, cancel);
        let exchanged = extracted.and_then(|()| swap::exchange(there.path()));
        if exchanged.is_err() && !swap::is_begun(there.path()) {
            let _ = swap::discard(there.path());
        }
        exchanged.map(|aside| (survey, aside))
    })?;
    let _ = unlock(&lock);
    let (survey, aside) = restored?;
    finish(context, &home, &survey, aside.as_deref())
}

fn finish(context: &Context, home: &Home, survey: &Survey, aside: Option<&Path>) -> Result<Exit> {
    print::line(&texts::restored(survey, home.path(), aside))?;
    let config = context.config_file()?;
    if survey.has_config && config != home.config_file() {
        print::notice(&texts::other_config(&config, home));
    }
    if let Some(text) = texts::to_set_again(survey, &context.home_command(home.path())) {
        print::line(&text)?;
    }
    Ok(Exit::Done)
}

fn open(path: &Path) -> Result<Backup> {
    if path != Path::new(STANDARD) {
        let opened = open_to_read(path).map_err(Error::io("open", path));
        let file = opened.map_err(|error| texts::explain(error, "restore"))?;
        return Backup::new(file, path);
    }
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Error::Usage(texts::FROM_A_TERMINAL.to_owned()));
    }
    let file = stdin.as_fd().try_clone_to_owned();
    let file = File::from(file.map_err(Error::io("open", "standard input"))?);
    // It is read twice.
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(Error::Usage(texts::FROM_A_PIPE.to_owned()));
    }
    Backup::new(file, Path::new("standard input"))
}
