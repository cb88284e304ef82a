//! `peacrab skills install` and `new`.

use std::path::Path;

use clap::Args;

use super::{confirm, texts};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::cli::LINE_CHARS;
use crate::cli::Context;
use crate::cli::compose::tls;
use crate::cli::terminal::print;
use crate::net::Guard;
use crate::net::guard::special_purpose;
use crate::net::http::{Client, Settings};
use crate::sys::file::read_at_most;
use crate::text::{ellipsize_chars, reveal};
use crate::tools::skills::manifest::Manifest;
use crate::tools::skills::package::{File, Package};
use crate::tools::skills::{FILE, Skills, built_in, is_proper_name};
use std::time::Duration;

/// Bytes of an archive. It may have more than one skill.
const ARCHIVE_BYTES: usize = 8 * 1024 * 1024;
/// Files of a skill that are named before it is installed.
const FILES_SHOWN: usize = 40;
/// How long a server may take until a skill begins to come, and how long it may pause.
const SERVER_TIME: Duration = Duration::from_secs(20);

/// `peacrab skills install …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// A folder, a ZIP file, a SKILL.md, or the https address of one of the two files
    #[arg(value_name = "DIR|FILE|URL")]
    source: String,
    /// The name that it gets [default: its own]
    #[arg(long)]
    name: Option<String>,
    /// Replace a skill of the same name in the workspace
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Accept http:// and addresses of your own network
    #[arg(long)]
    allow_private: bool,
}

/// Shows what would be installed, asks, and installs it.
pub fn run(context: &Context, skills: &Skills<'_>, arguments: &Arguments) -> Result<Exit> {
    let package = find(context, arguments)?;
    let replaces = skills.is_own(&package.name);
    if replaces && !arguments.force {
        // Before the question.
        skills.install(&package, false)?;
    }
    print::out(&describe(skills, &package))?;
    if !arguments.yes {
        print::line(texts::TRUST)?;
        if !confirm(&texts::ask_to_install(&package.name, replaces))? {
            print::line(texts::NOT_INSTALLED)?;
            return Ok(Exit::Done);
        }
    }
    skills.install(&package, arguments.force)?;
    print::line(&texts::installed(&package.name))?;
    Ok(Exit::Done)
}

/// Makes a skill from the template.
pub fn new(skills: &Skills<'_>, name: &str) -> Result<()> {
    if !is_proper_name(name) {
        return Err(Error::Usage(texts::bad_name(name)));
    }
    let skill = File {
        path: FILE.to_owned(),
        content: texts::template(name).into_bytes(),
        is_executable: false,
    };
    let package = Package {
        name: name.to_owned(),
        manifest: Manifest::default(),
        files: vec![skill],
    };
    // `--force` is for `install` alone.
    if skills.is_own(name) {
        return Err(Error::Usage(texts::already_there(name)));
    }
    skills.install(&package, false)?;
    let path = skills.folder(name).join(FILE);
    print::line(&texts::made(&path.display().to_string(), name))?;
    match built_in::built_in(name) {
        Some(_) => print::line(&texts::replaces_built_in(name)),
        None => Ok(()),
    }
}

fn find(context: &Context, arguments: &Arguments) -> Result<Package> {
    let (source, name) = (&arguments.source, arguments.name.as_deref());
    if source.contains("://") {
        return Package::from_bytes(download(context, arguments)?, source, name);
    }
    let path = Path::new(source);
    let about = std::fs::metadata(path).map_err(Error::io("open", path))?;
    if about.is_dir() {
        return Package::from_folder(path, name);
    }
    let bytes = read_at_most(path, ARCHIVE_BYTES)?;
    let found = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Package::from_bytes(bytes, &found.to_string_lossy(), name)
}

fn download(context: &Context, arguments: &Arguments) -> Result<Vec<u8>> {
    let is_accepted = if arguments.allow_private {
        arguments.source.starts_with("http")
    } else {
        arguments.source.starts_with("https://")
    };
    if !is_accepted {
        return Err(Error::Usage(texts::NEEDS_TLS.to_owned()));
    }
    let settings = Settings {
        carries_secret: false,
        guard: if arguments.allow_private {
            Guard::default()
        } else {
            Guard::new(|address| match special_purpose(address.ip()) {
                None => Ok(()),
                Some(_) => Err(texts::PRIVATE),
            })
        },
        ..Settings::new(SERVER_TIME, SERVER_TIME)
    };
    let tls = tls(&context.start()?.config.tls)?;
    let client = Client::new(&tls, settings, &Cancel::new())?;
    client
        .get_moved(&arguments.source)?
        .read_to_end(ARCHIVE_BYTES)
}

/// What would be installed: the description, what it needs, its files, and the scripts among them.
fn describe(skills: &Skills<'_>, package: &Package) -> String {
    let Package {
        name,
        manifest,
        files,
    } = package;
    let mut text = format!("{}: {}\n", print::bold(name), reveal(&manifest.description));
    let mut add = |label: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!(
                "  {label}: {}\n",
                reveal(&ellipsize_chars(value, LINE_CHARS))
            ));
        }
    };
    let mut programs = manifest.programs.clone();
    programs.extend(manifest.any_programs.iter().map(|group| group.join(" or ")));
    add("Programs", &programs.join(", "));
    add("Variables", &manifest.variables.join(", "));
    add("Tools", &manifest.tools);
    add("License", &manifest.license);
    let missing = skills.reasons(manifest);
    add("Not available here", &missing);
    if manifest.always {
        add("Prompt", texts::ALWAYS);
    }
    add("Size", &texts::size(files.len(), package.bytes()));
    for file in files.iter().take(FILES_SHOWN) {
        text.push_str(&format!("    {:>8}  {}\n", file.content.len(), file.path));
    }
    if let Some(more @ 1..) = files.len().checked_sub(FILES_SHOWN) {
        text.push_str(&format!("    and {more} more\n"));
    }
    let scripts: Vec<&File> = files.iter().filter(|file| file.is_program()).collect();
    if !scripts.is_empty() {
        text.push_str(&format!("  {}\n", texts::SCRIPTS));
        for script in scripts.iter().take(FILES_SHOWN) {
            text.push_str(&format!("    skills/{name}/{}\n", script.path));
        }
        if let Some(more @ 1..) = scripts.len().checked_sub(FILES_SHOWN) {
            text.push_str(&format!("    and {more} more\n"));
        }
    }
    if built_in::built_in(name).is_some() && !skills.is_own(name) {
        text.push_str(&format!("  {}\n", texts::replaces_built_in(name)));
    }
    text
}
