//! `peacrab tools new`, `approve` and `revoke`.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Custom, Lang, texts};
use crate::base::approval::Script;
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::skills::NAME_CHARS;
use crate::base::limits::tools::SCRIPT_HEAD_BYTES;
use crate::cli::Context;
use crate::cli::compose::open_workspace;
use crate::cli::terminal::print;
use crate::config::Loaded;
use crate::sandbox::files::Workspace;
use crate::store::state::ToolApproval;
use crate::text::{grouped, nearest, one_line, reveal};
use crate::tools::custom::{FILE, FOLDER, check_name, examine, list, manifest};

/// The permissions of an executable.
const EXECUTABLE: u32 = 0o755;

/// Writes a tool that works.
pub fn new(context: &Context, loaded: &Loaded, name: &str, lang: Lang) -> Result<Exit> {
    check_name(name).map_err(Error::Usage)?;
    let workspace = open_workspace(context, &context.home()?, loaded)?;
    let folder = Path::new(FOLDER).join(name);
    if workspace.kind(&folder).is_ok() {
        return Err(Error::Usage(texts::already_there(
            &folder.display().to_string(),
        )));
    }
    let script = match lang {
        Lang::Sh => texts::SCRIPT_SH,
        Lang::Python => texts::SCRIPT_PYTHON,
    };
    make(&workspace, &folder.join(manifest::COMMAND), script, true)?;
    make(&workspace, &folder.join(FILE), texts::MANIFEST, false)?;
    let path = workspace.path().join(folder);
    print::line(&texts::made(&path.display().to_string(), name))?;
    Ok(Exit::Done)
}

fn make(workspace: &Workspace, path: &Path, text: &str, is_executable: bool) -> Result<()> {
    let mut file = workspace.create(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        if is_executable {
            file.set_permissions(Permissions::from_mode(EXECUTABLE))?;
        }
        file.sync_all()
    });
    written.map_err(Error::io("write", path))
}

/// Shows a tool and allows it as it was shown.
pub fn approve(context: &Context, loaded: &Loaded, name: &str, yes: bool) -> Result<Exit> {
    let custom = Custom::of(context, loaded)?;
    let workspace = find(&custom, name)?;
    let candidate = examine(workspace, name)?;
    let contents = &candidate.contents;
    if custom.approvals.find(name, &contents.hash) == ToolApproval::Approved {
        print::line(&texts::already_approved(name))?;
        return Ok(Exit::Done);
    }
    let description = reveal(&candidate.manifest.description).into_owned();
    print::line(&texts::about(name, &description))?;
    for file in &contents.files {
        print::line(&format_file(file))?;
    }
    if contents.files.iter().any(is_cut) {
        let folder = workspace.path().join(FOLDER).join(name);
        print::line(&texts::files_are_in(&folder.display().to_string()))?;
    }
    if !yes && !confirm(&texts::ask_to_approve(name))? {
        print::line(texts::NOT_APPROVED)?;
        return Ok(Exit::Failed);
    }
    let now = Clock::System.now().to_rfc3339();
    custom.approvals.add(name, &contents.hash, now)?;
    print::line(&texts::approved(name))?;
    Ok(Exit::Done)
}

/// Allows a tool no longer. Its folder need not exist any more.
pub fn revoke(context: &Context, loaded: &Loaded, name: &str) -> Result<Exit> {
    let custom = Custom::of(context, loaded)?;
    let name = one_line(name, NAME_CHARS);
    if custom.approvals.remove(&name)? {
        print::line(&texts::revoked(&name)).map(|()| Exit::Done)
    } else {
        Err(Error::Usage(texts::was_not_approved(&name)))
    }
}

/// The workspace, if it has a tool with this name that can be used.
fn find<'a>(custom: &'a Custom, name: &str) -> Result<&'a Workspace> {
    let listed = custom.workspace.as_ref().map(list).unwrap_or_default();
    let found = listed.iter().find(|one| one.name == name);
    match (&custom.workspace, found.map(|one| &one.manifest)) {
        (Some(workspace), Some(Ok(_))) => Ok(workspace),
        (_, Some(Err(fault))) => Err(Error::Failed(format!("{FOLDER}/{name}: {fault}"))),
        _ => {
            let name = one_line(name, NAME_CHARS);
            let near = nearest(&name, listed.iter().map(|one| one.name.as_str()));
            Err(Error::Usage(texts::unknown(&name, near)))
        }
    }
}

fn format_file(file: &Script) -> String {
    let bytes = grouped(usize::try_from(file.bytes).unwrap_or(usize::MAX));
    let mut text = format!("\n  {} ({bytes} bytes)", reveal(&file.path));
    let head = reveal(&file.head);
    for line in head.lines() {
        text.push_str(&format!("\n    {}", line.replace('\t', "    ")));
    }
    if is_cut(file) {
        text.push_str("\n    …");
    }
    text
}

/// Whether there is more in a file than its first lines.
fn is_cut(file: &Script) -> bool {
    // The head is without the last newline.
    file.bytes > file.head.len() as u64 + 1 || file.bytes > SCRIPT_HEAD_BYTES as u64
}

/// Asks at the terminal. Without one nothing is approved that was not confirmed with `--yes`.
fn confirm(question: &str) -> Result<bool> {
    if !print::can_ask() {
        return Err(Error::Usage(texts::NEEDS_YES.to_owned()));
    }
    let answer = print::ask(&format!("\n{question}"))?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}
