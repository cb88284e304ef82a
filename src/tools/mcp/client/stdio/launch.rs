//! How a program is started.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ring::digest::{Context, SHA256};

use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::hex::hex;
use crate::config::resolve::{Folder, Folders, expanded};
use crate::config::schema::{McpServer, Tools};
use crate::sandbox::confine::{Exec, Served, Service};
use crate::sandbox::files::{End, PromptPlaces};
use crate::sys::process;

/// Bytes of the hash of a server's program in the name of its home.
const HASH_BYTES: usize = 8;

/// Starts the programs of servers.
pub trait Launcher: Send + Sync {
    /// Starts the program of the server with this name, and returns when it is confined, with what has to be held until
    /// it has ended.
    fn launch(
        &self,
        name: &str,
        server: &McpServer,
        cancel: &Cancel,
    ) -> Result<(Served, Option<PromptPlaces>)>;

    /// Another number when programs would be started in another way.
    fn fingerprint(&self) -> u64;
}

/// Starts programs in the sandbox of commands.
pub struct Sandboxed {
    exec: Exec,
    workspace: PathBuf,
    /// The account's home folder, for `~`.
    user_home: Option<PathBuf>,
    /// Folders that commands may change or read.
    allowed_paths: Vec<String>,
    read_only_paths: Vec<String>,
}

impl Sandboxed {
    /// Uses the isolation of commands; `tools` names the folders that commands get.
    pub fn new(exec: Exec, tools: &Tools, workspace: PathBuf, user_home: Option<PathBuf>) -> Self {
        Self {
            exec,
            workspace,
            user_home,
            allowed_paths: tools.allowed_paths.clone(),
            read_only_paths: tools.read_only_paths.clone(),
        }
    }
}

impl Launcher for Sandboxed {
    fn launch(
        &self,
        name: &str,
        server: &McpServer,
        cancel: &Cancel,
    ) -> Result<(Served, Option<PromptPlaces>)> {
        let user_home = self.user_home.as_deref();
        // With the folders of commands: what these can change may have become a link.
        let tools = Tools {
            allowed_paths: [&self.allowed_paths[..], &server.allowed_paths].concat(),
            read_only_paths: [&self.read_only_paths[..], &server.read_only_paths].concat(),
            ..Tools::default()
        };
        let folders = Folders::of(&tools, &self.workspace, user_home)?;
        let real = |list: Vec<Folder>| -> Vec<PathBuf> {
            list.into_iter().filter_map(|one| one.real).collect()
        };
        let write = real(folders.write);
        // It works for everyone.
        let can_write = |path: &Path| {
            self.exec.is_writable(path) || write.iter().any(|folder| path.starts_with(folder))
        };
        let supervisor = Arc::new(OnceLock::new());
        let kept = PromptPlaces::hold(&self.workspace, &can_write, ending(&supervisor))?;
        let protect = [folders.protect, kept.paths()].concat();
        let environment = server.env.iter();
        let environment =
            environment.map(|(name, value)| (OsString::from(name), value.expose().into()));
        // Not the workspace, where everyone who can write there would have a say in what the program loads.
        let folder = match server.cwd.as_str() {
            "" => None,
            cwd => Some(expanded(cwd, &self.workspace, user_home)?),
        };
        let served = self.exec.serve(
            &Service {
                name: &home_of(name, server),
                line: &line(&server.command, &server.args),
                folder,
                write,
                read: real(folders.read),
                protect,
                environment: environment.collect(),
                network: server.network,
            },
            cancel,
        )?;
        let _ = supervisor.set(served.handle());
        Ok((served, Some(kept)))
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.exec.hash_settings(&mut hasher);
        (&self.user_home, &self.allowed_paths, &self.read_only_paths).hash(&mut hasher);
        hasher.finish()
    }
}

/// Ends a program, whose supervisor is known once it has started. `None` where the kernel gives no handle to it: it is
/// ended once the change is noticed.
fn ending(supervisor: &Arc<OnceLock<Option<OwnedFd>>>) -> End {
    let supervisor = Arc::clone(supervisor);
    Arc::new(move || match supervisor.get() {
        Some(Some(supervisor)) => process::end(supervisor.as_fd()),
        Some(None) => true,
        None => false,
    })
}

/// The name of the home of a server: another program of the same name does not get what this one has left there.
pub fn home_of(name: &str, server: &McpServer) -> String {
    let mut context = Context::new(&SHA256);
    for word in std::iter::once(&server.command).chain(&server.args) {
        context.update(&(word.len() as u64).to_le_bytes());
        context.update(word.as_bytes());
    }
    let hash = context.finish();
    format!("mcp.{name}.{}", hex(hash.as_ref().iter().take(HASH_BYTES)))
}

/// The line for a shell that runs a program with these arguments, which it does not interpret.
fn line(command: &str, arguments: &[String]) -> String {
    let mut line = "exec".to_owned();
    for word in std::iter::once(command).chain(arguments.iter().map(String::as_str)) {
        line.push_str(" '");
        line.push_str(&word.replace('\'', r"'\''"));
        line.push('\'');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn echoed(words: &[String]) -> String {
        let mut arguments = vec![r"%s\n".to_owned()];
        arguments.extend_from_slice(words);
        let line = line("printf", &arguments).replacen("exec ", "", 1);
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg(line)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_shell_interprets_nothing(words in proptest::collection::vec("[ -~é]{0,12}", 1..4)) {
            prop_assert_eq!(echoed(&words), words.join("\n") + "\n");
        }
    }

    #[test]
    fn another_program_of_the_same_name_has_another_home() {
        let server = |command: &str, args: &[&str]| McpServer {
            command: command.to_owned(),
            args: args.iter().map(|word| (*word).to_owned()).collect(),
            ..McpServer::default()
        };
        let home = |command: &str, args: &[&str]| home_of("lamp", &server(command, args));
        let own = home("npx", &["-y", "lamp"]);
        assert!(own.starts_with("mcp.lamp."), "{own}");
        assert_eq!(own, home("npx", &["-y", "lamp"]));
        for other in [
            home("npx", &["-y", "lamp2"]),
            home("npx", &["-ylamp"]),
            home("uvx", &["-y", "lamp"]),
            home("npx", &[]),
        ] {
            assert_ne!(own, other);
        }
    }

    #[test]
    fn what_looks_like_a_command_is_an_argument() {
        let words = ["$(id)", "`id`", "; id", "a'b\"c", "", "\\", "a\nb"];
        let words = words.map(str::to_owned);
        assert_eq!(echoed(&words), words.join("\n") + "\n");
    }
}
