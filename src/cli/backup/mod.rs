//! `peacrab backup` and `peacrab restore`: everything in one file, and back.

pub mod restore;
mod texts;

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::Context;
use super::terminal::interrupt::Foreground;
use super::terminal::print;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::config::PASSPHRASE_CHARS_MIN;
use crate::base::secret::Secret;
use crate::config::schema;
use crate::store::backup::series::{Series, name_at};
use crate::store::backup::{Manifest, Packed, Saving, write, write_file};
use crate::sys::file::read_at_most;

/// Bytes of a file with a passphrase.
const PASSPHRASE_FILE_BYTES: usize = 4096;
/// The name of standard input and output.
const STANDARD: &str = "-";

const AFTER_HELP: &str = "\
Examples:
  peacrab backup /mnt/usb/peacrab.tar.gz
  peacrab backup --encrypt peacrab.backup
  peacrab backup --without-secrets - | ssh nas 'cat >peacrab.tar.gz'
  peacrab restore --check peacrab.tar.gz

The bot may run meanwhile. Without --encrypt it is an ordinary .tar.gz file. Files of the \
workspace and conversations are saved as they are, whatever is in them.";

/// `peacrab backup …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The new file, which must not exist yet, or a folder for one; - writes to standard output
    /// [default: the next automatic backup, see `peacrab config explain backup`]
    file: Option<PathBuf>,
    /// Leave out API keys, tokens and logins
    #[arg(long, requires = "file")]
    without_secrets: bool,
    /// Encrypt it with a passphrase, which is asked for
    #[arg(short, long, requires = "file")]
    encrypt: bool,
    /// Encrypt it with the passphrase in this file
    #[arg(long, value_name = "FILE", requires = "file")]
    passphrase_file: Option<PathBuf>,
}

/// Saves the home in a file.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let Some(mut file) = arguments.file.clone() else {
        return save_next(context);
    };
    if file.is_dir() {
        let is_encrypted = arguments.encrypt || arguments.passphrase_file.is_some();
        file.push(name_at(&Clock::System, is_encrypted));
    }
    // A configuration that is wrong is worth a backup too.
    if let Err(error) = context.start() {
        print::complain(&texts::warning(&error));
    }
    let is_standard = file == Path::new(STANDARD);
    if is_standard && std::io::stdout().is_terminal() {
        return Err(Error::Usage(texts::TO_A_TERMINAL.to_owned()));
    }
    if !is_standard && std::fs::symlink_metadata(&file).is_ok() {
        return Err(Error::Failed(texts::exists(&file)));
    }
    let passphrase = match &arguments.passphrase_file {
        Some(file) => Some(read_passphrase(file)?),
        None if arguments.encrypt => Some(ask_new_passphrase()?),
        None => None,
    };
    let without = arguments.without_secrets;
    let is_plain = passphrase.is_none() && !without;
    let named = (arguments.file.as_ref() != Some(&file)).then(|| file.clone());
    let (context, foreground) = (context.clone(), Foreground::new()?);
    let (packed, size, manifest) = foreground
        .run(move |cancel| save(&context, (&file, without), passphrase.as_ref(), cancel))??;
    if is_standard {
        print::notice(&texts::saved(&packed, None));
    } else if let Some(named) = named {
        print::line(&texts::saved_at(&packed, size, &named))?;
    } else {
        print::line(&texts::saved(&packed, Some(size)))?;
    }
    finish(&packed, &manifest, is_plain)
}

/// Makes the next automatic backup now.
fn save_next(context: &Context) -> Result<Exit> {
    let loaded = context.start()?;
    if let Some(why) = loaded.backup_fault {
        return Err(Error::Config(why));
    }
    let series = series(context, loaded.config.backup)?;
    let is_handed_over = series.settings.send || !series.settings.run.is_empty();
    let is_plain = series.settings.passphrase.is_empty() && !series.settings.without_secrets;
    let foreground = Foreground::new()?;
    let made = foreground.run(move |cancel| series.make(&Clock::System, cancel))??;
    print::line(&texts::saved_at(&made.packed, made.size, &made.path))?;
    if is_handed_over {
        print::notice(&texts::not_handed_over(&made.path));
    }
    finish(&made.packed, &made.manifest, is_plain)
}

/// The automatic backups of a home.
pub fn series(context: &Context, settings: schema::Backup) -> Result<Series> {
    Ok(Series {
        home: context.home()?,
        config: context.config_file()?,
        user_home: context.environment().get("HOME").cloned(),
        settings,
    })
}

/// Says what is not in it, and who could use it.
fn finish(packed: &Packed, manifest: &Manifest, is_plain: bool) -> Result<Exit> {
    for note in texts::notes(packed, manifest) {
        print::notice(&note);
    }
    if is_plain {
        print::notice(texts::PLAIN);
    }
    Ok(match packed.unreadable {
        0 => Exit::Done,
        _ => {
            print::complain(&texts::unreadable(packed));
            Exit::Failed
        }
    })
}

fn save(
    context: &Context,
    (file, without_secrets): (&Path, bool),
    passphrase: Option<&Secret>,
    cancel: &Cancel,
) -> Result<(Packed, u64, Manifest)> {
    let home = context.home()?;
    if !home.path().is_dir() {
        return Err(Error::Failed(texts::no_home(home.path())));
    }
    let user_home = context.environment().get("HOME").map(String::as_str);
    let (config, clock) = (context.config_file()?, Clock::System);
    let saving = Saving::new(home.path(), &config, user_home, without_secrets, &clock)?;
    let packing = saving.packing(cancel);
    let (packed, size) = if file == Path::new(STANDARD) {
        let mut stdout = std::io::stdout().lock();
        (
            write(&packing, passphrase, &mut stdout as &mut dyn Write)?,
            0,
        )
    } else {
        let written = write_file(&packing, passphrase, file);
        written.map_err(|error| texts::explain(error, "backup"))?
    };
    Ok((packed, size, saving.manifest))
}

/// The passphrase in a file, without the newline at its end.
fn read_passphrase(file: &Path) -> Result<Secret> {
    let bytes = read_at_most(file, PASSPHRASE_FILE_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    check_passphrase(Secret::new(&text))
}

fn check_passphrase(passphrase: Secret) -> Result<Secret> {
    if passphrase.expose().chars().count() < PASSPHRASE_CHARS_MIN {
        let text = texts::too_short(PASSPHRASE_CHARS_MIN);
        return Err(Error::Usage(text));
    }
    Ok(passphrase)
}

/// Asks until it is long enough and was typed the same twice; Ctrl-C ends that.
fn ask_new_passphrase() -> Result<Secret> {
    loop {
        let first = match check_passphrase(ask_passphrase(texts::NEW_PASSPHRASE)?) {
            Ok(first) => first,
            Err(error) => {
                print::complain(&error.to_string());
                continue;
            }
        };
        if ask_passphrase(texts::AGAIN)? == first {
            print::notice(texts::REMEMBER);
            return Ok(first);
        }
        print::complain(texts::DIFFERENT);
    }
}

/// Asks at the terminal, whatever standard input is.
fn ask_passphrase(question: &str) -> Result<Secret> {
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    let terminal = terminal.map_err(|_| Error::Usage(texts::NO_TERMINAL.to_owned()))?;
    Ok(Secret::new(&print::ask_hidden(question, terminal)?))
}
