//! `peacrab update`: puts another version of this program in place, and takes it back when the gateway
//! does not become ready with it. Nothing is fetched without being asked.

mod running;
mod texts;

use std::fs::OpenOptions;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;

use self::running::{Found, Running};
use super::Context;
use super::compose;
use super::service;
use super::terminal::interrupt::Foreground;
use super::terminal::print;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::config::FILE_BYTES;
use crate::config::home::program_for;
use crate::config::schema::Tls;
use crate::config::settings::Settings;
use crate::gateway::control::{self, Request};
use crate::sys;
use crate::update::key::PublicKey;
use crate::update::staged::take_request;
use crate::update::{Installed, Release, Source, Version, check_program, package_of};

/// `peacrab update …`
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Only show whether there is a newer version
    #[arg(long)]
    check: bool,
    /// Take the release from here instead of update.url: its folder, a URL, or one program of it
    #[arg(long, value_name = "FOLDER|URL|FILE")]
    from: Option<String>,
    /// Go back to the version before the last update
    #[arg(long, conflicts_with_all = ["check", "from", "allow_older", "staged"])]
    rollback: bool,
    /// Also install a version that is not newer
    #[arg(long)]
    allow_older: bool,
    /// Install what the gateway has fetched, for peacrab-update.service
    #[arg(long, hide = true, conflicts_with_all = ["check", "from", "allow_older"])]
    staged: bool,
}

/// Runs the command.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let (context, foreground) = (context.clone(), Foreground::new()?);
    foreground.run(move |cancel| match (arguments.staged, arguments.rollback) {
        (true, _) => install_staged(&context),
        (_, true) => roll_back(&context),
        _ => update(&context, &arguments, cancel),
    })??;
    Ok(Exit::Done)
}

/// Updates from where the user says, or from `update.url`.
fn update(context: &Context, arguments: &Arguments, cancel: &Cancel) -> Result<()> {
    let key = PublicKey::built_in()?;
    let (url, tls) = configured(context)?;
    let from = arguments
        .from
        .clone()
        .or(Some(url).filter(|url| !url.is_empty()));
    let from = from.ok_or_else(|| Error::Usage(texts::NO_SOURCE.to_owned()))?;
    let (source, name) = Source::open(&from, &compose::tls(&tls)?, cancel)?;
    let release = Release::find(source, name.as_deref(), key)?;
    let (version, own) = (release.version(), Version::own());
    if arguments.check {
        let from = arguments
            .from
            .as_deref()
            .map(|from| format!(" --from {from}"));
        let command = command(context)? + &from.unwrap_or_default();
        return print::line(&if version > own {
            texts::available(version, own, &command)
        } else {
            texts::newest(own)
        });
    }
    if version == own && !arguments.allow_older {
        return print::line(&texts::newest(own));
    }
    if version < own && !arguments.allow_older {
        return Err(Error::Usage(texts::is_older(version, own)));
    }
    let program = unpackaged()?;
    let progress = |bytes| {
        if std::io::stderr().is_terminal() {
            print::raw_error(&texts::downloading(version, bytes));
        }
    };
    let installed = Installed::lock(&program)?;
    if !arguments.allow_older {
        check_newer(&installed, version)?;
    }
    fetch(&installed, &release, &progress)?;
    if std::io::stderr().is_terminal() {
        print::raw_error("\n");
    }
    put(context, &installed, version).map_err(Error::from)
}

/// Updates from what the gateway has fetched and verified; here it is verified again, because the account
/// of the gateway could have changed it.
fn install_staged(context: &Context) -> Result<()> {
    let home = context.home()?;
    let mut named = None;
    let mut install = || -> Result<(), Failure> {
        let source = take_request(&home.update())?;
        let release = Release::find(source, None, PublicKey::built_in()?)?;
        let (version, own) = (release.version(), Version::own());
        named = Some(version);
        if version <= own {
            return Err(Error::Failed(texts::not_newer(version, own)).into());
        }
        let installed = Installed::lock(&unpackaged()?)?;
        check_newer(&installed, version)?;
        fetch(&installed, &release, &|_| ())?;
        put(context, &installed, version)
    };
    let done = install();
    if let Err(failure) = &done {
        let request = Request::UpdateFailed {
            version: named.map(|version| version.to_string()),
            reason: match failure {
                Failure::NotDone(error) => Some(error.to_string()),
                Failure::TakenBack(_) => None,
            },
        };
        // Without a gateway no chat waits for it now; its next start tells that it was interrupted.
        let _ = control::ask(&home.control(), &request);
    }
    done.map_err(Error::from)
}

/// Fails when another update has put a version in place meanwhile than that of this process, and the new one is not
/// newer than that. A program that does not run may be replaced by any.
fn check_newer(installed: &Installed, version: Version) -> Result<()> {
    match check_program(installed.path(), None) {
        Ok(now) if version <= now => Err(Error::Failed(texts::not_newer(version, now))),
        _ => Ok(()),
    }
}

/// Exchanges the program and the one before.
fn roll_back(context: &Context) -> Result<()> {
    let installed = Installed::lock(&unpackaged()?)?;
    installed.take_old()?;
    let version =
        check_program(&installed.new_path(), None).inspect_err(|_| installed.discard())?;
    put(context, &installed, version).map_err(Error::from)
}

/// An update that did not succeed.
enum Failure {
    /// Nothing was changed.
    NotDone(Error),
    /// The new version did not become ready.
    TakenBack(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::NotDone(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotDone(error) => error,
            Failure::TakenBack(text) => Self::Failed(text),
        }
    }
}

/// Writes the program of a release beside the installed one, and makes sure that it runs here.
fn fetch(installed: &Installed, release: &Release, progress: &dyn Fn(u64)) -> Result<()> {
    let mut file = installed.create_new()?;
    let fetched = release.fetch(&mut file, progress);
    let fetched = fetched.and_then(|()| installed.allow_running(&file));
    // It cannot be started while it is open to be written (execve(2), ETXTBSY).
    drop(file);
    fetched
        .and_then(|()| check_program(&installed.new_path(), Some(release.version())).map(drop))
        .inspect_err(|_| installed.discard())
}

/// Puts the new program in place and restarts the gateway that runs it, if one does. If that does not
/// become ready, the program before is put back.
fn put(context: &Context, installed: &Installed, version: Version) -> Result<(), Failure> {
    let found = running::find(context, installed.path())?;
    installed.swap().inspect_err(|_| installed.discard())?;
    // From here on a line that cannot be printed changes nothing.
    let say = |text: &str| drop(print::line(text));
    say(&texts::installed(
        version,
        installed.path(),
        &installed.old_path(),
    ));
    match found {
        Found::None => say(texts::NO_GATEWAY),
        Found::Other(program) => say(&texts::other_program(&program)),
        Found::Running(mut gateway) => {
            say(&texts::restarting(gateway.name()));
            if let Err(why) = gateway.restart(version) {
                return Err(Failure::TakenBack(take_back(
                    installed,
                    &mut gateway,
                    version,
                    &why,
                )));
            }
            say(&texts::ready(version));
        }
    }
    Ok(())
}

/// Puts the program before back and restarts the gateway; says how that went.
fn take_back(installed: &Installed, gateway: &mut Running, version: Version, why: &str) -> String {
    let log = gateway.log();
    let own = check_program(&installed.old_path(), None).unwrap_or(Version::own());
    let back = match installed.restore() {
        Err(error) => texts::not_restored(installed.path(), &installed.old_path(), &error),
        Ok(()) => match gateway.restart(own) {
            Ok(()) => texts::is_back(own),
            Err(why) => texts::is_back_and_stopped(own, &why),
        },
    };
    texts::rolled_back(version, why, &back, &log)
}

/// The path of this program. Fails when it belongs to a package.
fn unpackaged() -> Result<PathBuf> {
    let program = program()?;
    match package_of(&program) {
        None => Ok(program),
        Some(package) => {
            let command = format!("sudo apt install ./{package}_VERSION_ARCHITECTURE.deb");
            Err(Error::Usage(texts::packaged(&program, &package, &command)))
        }
    }
}

/// The path of this program.
pub fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(Error::io("find", "this program"))?;
    // After an update the kernel appends this; the new program has the same path.
    Ok(PathBuf::from(
        own.to_string_lossy().trim_end_matches(" (deleted)"),
    ))
}

/// The command that updates this program on this machine.
pub fn command(context: &Context) -> Result<String> {
    let program = program()?;
    let can_replace = program
        .parent()
        .is_some_and(|folder| rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok());
    let peacrab = program_for(context.environment());
    Ok(if can_replace || sys::process::is_administrator() {
        format!("{peacrab} update")
    } else {
        format!("sudo {peacrab} update")
    })
}

/// `update.url` and how servers are trusted, from the home of the user or of the installed service. Keys
/// are not read: root has no use for them.
fn configured(context: &Context) -> Result<(String, Tls)> {
    let own = context.config_file()?;
    let service = || {
        let found = service::homes(context).into_iter();
        let mut files = found.map(|found| found.config.unwrap_or(found.home.join("config.json")));
        files.find(|file| file.exists())
    };
    let file = if own.exists() || context.is_config_named() {
        Some(own)
    } else {
        service()
    };
    let mut settings = Settings::new(None);
    if let Some(file) = file {
        // It may be in the home of another account, whose links lead where that may not look.
        let text = sys::file::open_regular(&file, OpenOptions::new().read(true))
            .and_then(|file| sys::file::read_beginning(&file, FILE_BYTES as u64))
            .map_err(Error::io("read", &file))?;
        settings.take_file(&String::from_utf8_lossy(&text), &file.display().to_string())?;
    }
    let variables = context.environment().iter();
    settings.take_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())));
    let text = |path: &str| Some(settings.set.get(path)?.value.as_str()?.to_owned());
    let tls = Tls {
        ca_file: text("tls.caFile"),
        ..Tls::default()
    };
    Ok((text("update.url").unwrap_or_default(), tls))
}
