//! A small world around a workspace: secrets, other processes and a listener, and what must stay
//! the same after every command.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use peacrab::base::cancel::Cancel;
use peacrab::base::sync::{Mutex, MutexGuard};
use peacrab::sandbox::confine::{Exec, Outcome, SandboxMode, Settings, ShellCommand};

/// The content of every file that must not be read.
pub const CANARY: &str = "canary-5b1f0d7a";
/// What a command prints when it has reached something forbidden.
pub const GOT_OUT: &str = "GOT-OUT";
/// Python's way to the C library; see `attacks::more`.
const PYTHON: &str = "import ctypes,os;c=ctypes.CDLL(None,use_errno=True);e=ctypes.get_errno;\
    o=lambda x:x and print(\"GOT-OUT\")";
/// Time limit of a command, in seconds.
const TIMEOUT_S: u64 = 2;
/// Time in which what was killed is gone, in seconds, on a busy machine.
const END_S: u64 = 10;
/// The variable with the factor for all time limits: an emulated board is slow.
const SLOWNESS: &str = "PEACRAB_TEST_SLOWNESS";

/// This many seconds, or more on a slow machine.
pub fn seconds(seconds: u64) -> Duration {
    let slowness = std::env::var(SLOWNESS).map_or(1, |text| text.parse().unwrap());
    Duration::from_secs(seconds * slowness)
}

/// One world at a time: a fork bomb in one would use up the processes of another.
static ALONE: Mutex<()> = Mutex::new(());

pub struct World {
    _alone: MutexGuard<'static, ()>,
    folder: tempfile::TempDir,
    victim: Child,
    network: TcpListener,
    /// Sockets outside that must not get a connection.
    sockets: Vec<UnixListener>,
    abstract_name: String,
    before: BTreeMap<PathBuf, String>,
}

impl World {
    pub fn new() -> Self {
        let alone = ALONE.lock();
        let folder = tempfile::Builder::new().prefix("w").tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [
            "home/.peacrab/workspace/sub/deep",
            "home/.peacrab/sessions",
            "home/.peacrab/state",
            "home/.ssh",
            "outside/victim",
            "allowed",
            "readonly",
        ] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in [
            "home/.peacrab/config.json",
            "home/.peacrab/sessions/a.jsonl",
            "home/.peacrab/state/approvals.json",
            "home/.ssh/id_ed25519",
            "outside/secret",
            "outside/victim/file",
        ] {
            fs::write(at(name), format!("{CANARY}\n")).unwrap();
        }
        fs::set_permissions(at("home/.ssh/id_ed25519"), Permissions::from_mode(0o600)).unwrap();
        for (name, text) in [
            ("home/.peacrab/workspace/note.txt", "a note\nsecond line\n"),
            ("home/.peacrab/workspace/sub/deep/guarded", "guarded\n"),
            ("readonly/manual", "the manual\n"),
            ("allowed/data", "data\n"),
        ] {
            fs::write(at(name), text).unwrap();
        }
        let network = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        network.set_nonblocking(true).unwrap();
        let abstract_name = format!("peacrab-test-{}", folder.path().display());
        let address = SocketAddr::from_abstract_name(&abstract_name);
        let mut world = Self {
            _alone: alone,
            sockets: vec![
                UnixListener::bind(at("outside/service.sock")).unwrap(),
                UnixListener::bind(at("readonly/service.sock")).unwrap(),
                UnixListener::bind_addr(&address.unwrap()).unwrap(),
            ],
            abstract_name,
            victim: victim(),
            folder,
            network,
            before: BTreeMap::new(),
        };
        for socket in &world.sockets {
            socket.set_nonblocking(true).unwrap();
        }
        world.before = world.outside();
        world
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn workspace(&self) -> PathBuf {
        self.at("home/.peacrab/workspace")
    }

    pub fn settings(&self, choice: SandboxMode, network: bool) -> Settings {
        let mut settings = Settings::new(&self.workspace());
        settings.program = env!("CARGO_BIN_EXE_peacrab").into();
        settings.mode = choice;
        settings.network = network;
        settings.write = vec![self.at("allowed")];
        settings.read = vec![self.at("readonly")];
        settings.protect = vec![self.workspace().join("sub/deep/guarded")];
        settings.home = Some(self.at("home/.peacrab"));
        settings.root = Some(self.at("root"));
        settings.bounds.memory_bytes = 256 * 1024 * 1024;
        settings.bounds.file_bytes = 8 * 1024 * 1024;
        settings.bounds.tmp_bytes = 16 * 1024 * 1024;
        settings.bounds.processes = 100;
        settings.environment("", &[], |name| std::env::var_os(name))
    }

    /// Replaces the placeholders.
    pub fn fill(&self, command: &str) -> String {
        let path = |name: &str| self.at(name).display().to_string();
        let port = self.network.local_addr().unwrap().port().to_string();
        command
            .replace("{home}", &path("home"))
            .replace("{secret}", &path("outside/secret"))
            .replace("{outside}", &path("outside"))
            .replace("{allowed}", &path("allowed"))
            .replace("{readonly}", &path("readonly"))
            .replace("{workspace}", &self.workspace().display().to_string())
            .replace("{victim}", &self.victim.id().to_string())
            .replace("{daemon}", &std::process::id().to_string())
            .replace("{abstract}", &self.abstract_name)
            .replace("{port}", &port)
            .replace("{c}", PYTHON)
    }

    pub fn run(&self, exec: &Exec, command: &str) -> Outcome {
        self.run_for(exec, command, seconds(TIMEOUT_S))
    }

    pub fn run_for(&self, exec: &Exec, command: &str, time: Duration) -> Outcome {
        let command = self.fill(command);
        let folder = self.workspace();
        let job = ShellCommand {
            line: &command,
            folder: &folder,
            inode: None,
            unsandboxed: false,
        };
        let outcome = exec.run(&job, time, &Cancel::new(), &mut |_| ());
        outcome.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Runs an attack and describes its effects; empty if it was blocked.
    pub fn attack(&mut self, exec: &Exec, command: &str) -> Vec<String> {
        let started = Instant::now();
        let outcome = self.run(exec, command);
        self.judge(&outcome.output.text(), started)
    }

    /// Describes the effects of a command that has ended, began then and has written this.
    pub fn judge(&mut self, output: &str, started: Instant) -> Vec<String> {
        let mut damage = Vec::new();
        if started.elapsed()
            > seconds(TIMEOUT_S) + peacrab::base::limits::confine::KILL_GRACE + seconds(END_S)
        {
            damage.push(format!("it took {:?}", started.elapsed()));
        }
        // Newer versions of Python quote the command, indented, when it fails.
        let mut said = output.lines().filter(|line| !line.starts_with("    "));
        if output.contains(CANARY) || said.any(|line| line.contains(GOT_OUT)) {
            damage.push(format!("it printed {output:?}"));
        }
        for path in files_below(&self.workspace())
            .into_iter()
            .chain(files_below(&self.at("allowed")))
        {
            let found = fs::symlink_metadata(&path);
            let is_file = found.as_ref().is_ok_and(|found| found.is_file());
            if is_file && found.is_ok_and(|found| found.mode() & 0o6000 != 0) {
                damage.push(format!("{} lends its owner's rights", path.display()));
            }
            if is_file && fs::read(&path).is_ok_and(|content| contains(&content, CANARY.as_bytes()))
            {
                damage.push(format!("{} has a secret", path.display()));
            }
        }
        self.check_world(&mut damage);
        self.clean();
        damage
    }

    fn check_world(&mut self, damage: &mut Vec<String>) {
        let after = self.outside();
        for (path, was) in &self.before {
            match after.get(path) {
                Some(is) if is == was => {}
                is => damage.push(format!("{} was {was:?} and is {is:?}", path.display())),
            }
        }
        for path in after.keys().filter(|path| !self.before.contains_key(*path)) {
            damage.push(format!("{} is new", path.display()));
        }
        if self.victim.try_wait().unwrap().is_some() {
            damage.push("another process was killed".to_owned());
            self.victim = victim();
        }
        if self.network.accept().is_ok() {
            damage.push("the network was reached".to_owned());
        }
        if self.sockets.iter().any(|socket| socket.accept().is_ok()) {
            damage.push("a service was reached".to_owned());
        }
        damage.extend(self.survivors());
    }

    /// What of a command lives on, although everything that was killed has had time to be gone. It is killed, so that it
    /// does not disturb the next one.
    fn survivors(&self) -> Option<String> {
        let started = Instant::now();
        let mut found = self.processes();
        while !found.is_empty() && started.elapsed() < seconds(END_S) {
            std::thread::sleep(Duration::from_millis(20));
            found = self.processes();
        }
        for (pid, _) in &found {
            let _ = Command::new("kill").args(["-9", pid]).status();
        }
        (!found.is_empty()).then(|| format!("these live on: {found:?}"))
    }

    /// Processes that have the workspace as their home, like every child of a command, and those that have emptied their
    /// environment and name a place of this world: their numbers and command lines.
    fn processes(&self) -> Vec<(String, String)> {
        let mark = format!("HOME={}\0", self.workspace().display());
        let place = self.at("outside").display().to_string();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let found = entries.filter_map(|entry| {
            let read = |name| fs::read(entry.path().join(name)).unwrap_or_default();
            let line = read("cmdline");
            let is_ours =
                contains(&read("environ"), mark.as_bytes()) || contains(&line, place.as_bytes());
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            is_ours.then(|| (entry.file_name().to_string_lossy().into_owned(), line))
        });
        found.collect()
    }

    /// Everything outside the writable folders, with its content, and what all processes
    /// share.
    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for kind in ["shm", "sem", "msg"] {
            let path = Path::new("/proc/sysvipc").join(kind);
            let table = fs::read_to_string(&path).unwrap_or_default();
            // Others on this machine make and remove some meanwhile: those of the attacks have these keys or modes.
            let is_of_attack = |line: &&str| {
                let mut fields = line.split_whitespace();
                let (key, mode) = (fields.next(), fields.nth(1));
                key == Some(IPC_KEY) || mode.is_some_and(|mode| mode.ends_with(IPC_MODE))
            };
            let count = table.lines().filter(is_of_attack).count();
            found.insert(path, count.to_string());
        }
        let victim = PathBuf::from(format!("/proc/{}/stat", self.victim.id()));
        let line = fs::read_to_string(&victim).unwrap_or_default();
        let niceness = line
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split(' ').nth(17));
        found.insert(
            "the victim's niceness".into(),
            niceness.unwrap_or("").to_owned(),
        );
        for folder in ["home/.ssh", "outside", "readonly", "home/.peacrab"] {
            for path in files_below(&self.at(folder)) {
                let inside = path.starts_with(self.workspace()) && !path.ends_with("deep/guarded");
                if !inside {
                    found.insert(path.clone(), Self::describe(&path));
                }
            }
        }
        found
    }

    fn describe(path: &Path) -> String {
        let found = fs::symlink_metadata(path).unwrap();
        let content = match found.is_file() {
            true => fs::read_to_string(path).unwrap_or_else(|error| error.to_string()),
            false => String::new(),
        };
        format!(
            "{:o} {} {} {content}",
            found.mode(),
            found.uid(),
            times(&found)
        )
    }

    /// Restores the workspace.
    pub fn clean(&self) {
        let workspace = self.workspace();
        for entry in fs::read_dir(&workspace).unwrap().flatten() {
            let name = entry.file_name();
            if name != "note.txt" && name != "sub" {
                let path = entry.path();
                let removed = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
        }
    }
}

/// The key, in decimal, and the last digits of the mode by which what attacks share is known.
const IPC_KEY: &str = "24257";
const IPC_MODE: &str = "642";

/// A process of the same user that attacks may try to kill. It holds nothing of a test that leaves it behind.
fn victim() -> Child {
    Command::new("sleep")
        .arg("86400")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// The modification time of a file; that of a folder changes with its entries.
fn times(found: &fs::Metadata) -> i64 {
    if found.is_file() { found.mtime() } else { 0 }
}

fn contains(content: &[u8], part: &[u8]) -> bool {
    content.windows(part.len()).any(|window| window == part)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path()));
        }
    }
    found
}
