//! `peacrab mcp add` and `remove`.

use std::path::{Component, Path, PathBuf};

use clap::{Args, FromArgMatches};
use serde_json::{Map, Value};

use super::{open, texts, try_out};
use crate::base::error::{Error, Exit, Result};
use crate::cli::Context;
use crate::cli::compose::{mcp_folder_of, remove_homes_of};
use crate::cli::config::change::{apply, write};
use crate::cli::terminal::print;
use crate::config::Loaded;
use crate::config::key::Key;
use crate::config::load::{text_with, text_without};
use crate::config::table;
use crate::text::one_line;
use crate::tools::mcp::client::oauth;
use crate::tools::mcp::client::servers::FAILURE;

/// The section of the servers.
const SECTION: &str = "tools.mcpServers";

/// `peacrab mcp add …`
#[derive(Clone, Debug, Args)]
pub struct AddArguments {
    /// A name for it: letters, digits, - and _
    #[arg(value_name = "NAME")]
    name: String,
    /// An environment variable of the program; write '${NAME}' for one of Peacrab's own
    #[arg(long = "env", value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// An HTTP header for every request
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
    /// Let the program use the network, whatever commands may do
    #[arg(long, conflicts_with = "no_network")]
    network: bool,
    /// Keep the program from the network
    #[arg(long)]
    no_network: bool,
    /// Let the program read this folder too; can be used several times
    #[arg(long = "read", value_name = "PATH")]
    read: Vec<String>,
    /// Start the program in this folder, and not in a home of its own; a relative one is in the workspace. All that can
    /// write there can change what it loads
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Do not connect to it now
    #[arg(long)]
    no_test: bool,
    /// Its URL, or -- and its command with the arguments
    #[arg(
        value_name = "URL|COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    target: Vec<String>,
}

/// Adds a server to the configuration, and tests it.
pub fn add(context: &Context, agent: Option<&str>, arguments: &AddArguments) -> Result<Exit> {
    let arguments = &sorted(arguments)?;
    let loaded = context.load()?;
    let name = &arguments.name;
    if loaded.config.tools.mcp_servers.contains_key(name) {
        return Err(Error::Usage(texts::already_there(name)));
    }
    let mut changes = changes(arguments)?;
    let target = arguments.target.first();
    if arguments.cwd.is_some() && target.is_some_and(|target| is_url(target)) {
        return Err(Error::Usage(texts::beside_url("--cwd")));
    }
    let workspace = &loaded.config.agents.defaults.workspace;
    let workspace = context.home()?.workspace(workspace);
    let is_there = target.is_some_and(|word| is_inside(word));
    let given = arguments.cwd.as_deref().or(is_there.then_some("."));
    let folder = given.map(|folder| from_workspace(&workspace, folder));
    if let Some(folder) = &folder {
        changes.push((format!("{SECTION}.{name}.cwd"), folder.as_str().into()));
    }
    let mut rows: Vec<(&Key, &str, &Value)> = Vec::new();
    for (path, value) in &changes {
        let (key, _) = table::find_spelt(path).ok_or_else(|| {
            Error::Usage(format!(
                "{} cannot be the name of a server",
                one_line(name, 40)
            ))
        })?;
        rows.push((key, path, value));
    }
    let file = context.config_file()?;
    write(context, &file, &text_with(&file, &rows)?)?;
    print::line(&texts::added(name, &file))?;
    if let Some(folder) = &folder {
        print::line(&texts::starts_in(name, folder))?;
    }
    apply(context, None, &format!("{SECTION}.{name}.command"))?;
    if arguments.no_test {
        return Ok(Exit::Done);
    }
    let loaded = context.start()?.of_agent(agent)?;
    let examined = open(context, &loaded, name).and_then(|mcp| try_out::examine(mcp, name, false));
    match examined {
        Ok(text) => print::out(&text).map(|()| Exit::Done),
        Err(Error::Stopped) => Err(Error::Stopped),
        Err(error) => Err(Error::Failed(texts::added_but(name, &error))),
    }
}

/// A folder as the configuration has it: a relative one is in the workspace.
fn from_workspace(workspace: &Path, folder: &str) -> String {
    if folder.starts_with(['~', '$']) {
        return folder.to_owned();
    }
    let path: PathBuf = workspace.join(folder).components().collect();
    path.to_string_lossy().into_owned()
}

/// Whether a word names a program by a path in the folder that it starts in, and not by a name of `PATH`. The word alone
/// decides, and no file: the model can make files of any name.
fn is_inside(word: &str) -> bool {
    let mut parts = Path::new(word).components();
    let is_down = |part| matches!(part, Component::CurDir | Component::Normal(_));
    word.contains('/') && !is_url(word) && !word.starts_with('~') && parts.all(is_down)
}

/// Whether a target is an address, and no program.
fn is_url(target: &str) -> bool {
    let scheme = target.split_once("://").map_or("", |(scheme, _)| scheme);
    ["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

/// The arguments with the options that follow a URL: on the command line everything there could be a program's.
fn sorted(arguments: &AddArguments) -> Result<AddArguments> {
    let mut all = arguments.clone();
    let [url, rest @ ..] = arguments.target.as_slice() else {
        return Ok(all);
    };
    if !is_url(url) || rest.is_empty() {
        return Ok(all);
    }
    let command = AddArguments::augment_args(clap::Command::new("add"));
    let words = ["add", &all.name].map(str::to_owned);
    let matches = command.try_get_matches_from(words.iter().chain(rest));
    let later = matches.and_then(|matches| AddArguments::from_arg_matches(&matches));
    let later = later.map_err(|_| Error::Usage(texts::beside_url(&rest.join(" "))))?;
    if let Some(other) = later.target.first() {
        return Err(Error::Usage(texts::beside_url(other)));
    }
    all.target.truncate(1);
    all.env.extend(later.env);
    all.headers.extend(later.headers);
    all.read.extend(later.read);
    all.network |= later.network;
    all.no_network |= later.no_network;
    all.no_test |= later.no_test;
    all.cwd = later.cwd.or(all.cwd);
    if all.network && all.no_network {
        Err(Error::Usage(texts::beside_url("--network --no-network")))
    } else {
        Ok(all)
    }
}

/// The settings of a new server.
fn changes(arguments: &AddArguments) -> Result<Vec<(String, Value)>> {
    let path = |key: &str| format!("{SECTION}.{}.{key}", arguments.name);
    let mut changes = Vec::new();
    match arguments.target.as_slice() {
        [] => return Err(Error::Usage(texts::WHAT_TO_ADD.to_owned())),
        [url] if is_url(url) => {
            changes.push((path("url"), Value::from(url.as_str())));
        }
        [command, rest @ ..] => {
            changes.push((path("command"), Value::from(command.as_str())));
            if !rest.is_empty() {
                changes.push((path("args"), Value::from(rest)));
            }
        }
    }
    for (key, option, list) in [
        ("env", "--env", &arguments.env),
        ("headers", "--header", &arguments.headers),
    ] {
        if !list.is_empty() {
            changes.push((path(key), pairs(option, list)?.into()));
        }
    }
    if !arguments.read.is_empty() {
        let list = Value::from(arguments.read.as_slice());
        changes.push((path("readOnlyPaths"), list));
    }
    if arguments.network || arguments.no_network {
        changes.push((path("network"), arguments.network.into()));
    }
    Ok(changes)
}

/// Names with values. A header may be written with a colon, as in HTTP.
fn pairs(option: &str, list: &[String]) -> Result<Map<String, Value>> {
    let pair = |text: &String| {
        let at_equals = text.split_once('=');
        let at_colon = || text.split_once(':').filter(|_| option == "--header");
        let (name, value) = match (at_equals, at_colon()) {
            (Some((name, _)), Some(pair)) if name.contains(':') => pair,
            (Some(pair), _) | (None, Some(pair)) => pair,
            (None, None) => return Err(Error::Usage(texts::not_a_pair(option, text))),
        };
        match name.trim() {
            "" => Err(Error::Usage(texts::not_a_pair(option, text))),
            name => Ok((name.to_owned(), Value::from(value.trim()))),
        }
    };
    list.iter().map(pair).collect()
}

/// Removes a server from the configuration, with what is stored of it.
pub fn remove(context: &Context, loaded: &Loaded, name: &str) -> Result<Exit> {
    if !loaded.config.tools.mcp_servers.contains_key(name) {
        // This says what there is.
        open(context, loaded, name)?;
    }
    let file = context.config_file()?;
    let path = format!("{SECTION}.{name}");
    let Some(text) = text_without(&file, &path)? else {
        return Err(Error::Usage(texts::not_in_file(name, &file)));
    };
    write(context, &file, &text)?;
    let folder = mcp_folder_of(&context.home()?, loaded);
    oauth::forget(&folder, name)?;
    // It may never have been read.
    for ending in ["json", FAILURE] {
        let _ = std::fs::remove_file(folder.join(format!("{name}.{ending}")));
    }
    print::line(&texts::removed(name))?;
    apply(context, None, &path)?;
    remove_homes_of(&context.home()?, name);
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<AddArguments> {
        let command = AddArguments::augment_args(clap::Command::new("add"));
        let words = ["add", "notes"].iter().chain(words);
        let matches = command.try_get_matches_from(words).unwrap();
        sorted(&AddArguments::from_arg_matches(&matches).unwrap())
    }

    #[test]
    fn options_may_follow_a_url_and_belong_to_a_program_otherwise() {
        const URL: &str = "HTTPS://notes.example/mcp";
        for words in [
            ["--no-test", "--header", "A=b", URL],
            [URL, "--no-test", "--header", "A=b"],
            ["--no-test", URL, "--header", "A=b"],
            [URL, "--header", "A=b", "--no-test"],
        ] {
            let all = parse(&words).unwrap();
            assert!(
                all.no_test && all.target == [URL] && all.headers == ["A=b"],
                "{all:?}"
            );
            let url = ("tools.mcpServers.notes.url".to_owned(), Value::from(URL));
            assert!(changes(&all).unwrap().contains(&url));
        }
        for words in [
            &[URL, "more"][..],
            &[URL, "--unknown"],
            &[URL, "--network", "--no-network"],
        ] {
            let error = parse(words).unwrap_err().to_string();
            assert!(error.contains("URL") && error.contains(words[1]), "{error}");
        }
        let program = parse(&["npx", "--no-test", URL]).unwrap();
        assert!(!program.no_test && program.target == ["npx", "--no-test", URL]);
        assert_eq!(parse(&[]).unwrap().target.len(), 0);
    }

    #[test]
    fn a_word_alone_says_that_a_program_is_in_the_workspace() {
        for word in ["./server.py", "bin/server", "a/./b"] {
            assert!(is_inside(word), "{word}");
        }
        // Whatever files the workspace has.
        for word in ["npx", "server.py", ".", "../x", "./../x", "/opt/x", "~/x"] {
            assert!(!is_inside(word), "{word}");
        }
        assert!(!is_inside("https://notes.example/mcp"));
        let given = parse(&["--cwd", "tools", "npx", "./x"]).unwrap();
        assert_eq!(given.cwd.as_deref(), Some("tools"));
        for (folder, path) in [
            (".", "/w"),
            ("tools", "/w/tools"),
            ("/opt", "/opt"),
            ("~/x", "~/x"),
        ] {
            assert_eq!(from_workspace(Path::new("/w"), folder), path);
        }
    }

    fn pair(option: &str, text: &str) -> Option<(String, String)> {
        let pairs = pairs(option, &[text.to_owned()]).ok()?;
        let (name, value) = pairs.into_iter().next()?;
        Some((name, value.as_str().unwrap_or_default().to_owned()))
    }

    #[test]
    fn a_header_is_written_in_either_way() {
        let both = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(pair("--env", "A=b=c"), both("A", "b=c"));
        assert_eq!(pair("--header", "X-Key=a:b"), both("X-Key", "a:b"));
        assert_eq!(
            pair("--header", "Authorization: Bearer x="),
            both("Authorization", "Bearer x=")
        );
        for (option, text) in [
            ("--env", "A"),
            ("--env", "A:b"),
            ("--env", "=b"),
            ("--header", "A"),
        ] {
            assert_eq!(pair(option, text), None, "{text}");
        }
    }
}
