//! The child's side: it gets its policy over a pipe, confines itself by it and becomes the command.
//!
//! With a view of its own there are three processes: the supervisor, which the daemon knows and can
//! ask to end; the first process of the new process namespace, with which everything in it dies; and
//! the command. Without, there are two, and the supervisor finds every descendant and kills it.

mod gate;
mod root;
mod rules;
mod supervise;
mod temporary;

pub use rules::PROGRAMS;
pub use temporary::{PREFIX as TEMPORARY, remove_leftovers};

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::Resource;

use super::POLICY_BYTES;
use super::policy::{Bounds, ChildTask, Policy, Step};
#[cfg(feature = "test-hooks")]
use super::policy::{HOOKED, Hooks};
use crate::sys::process::{self, Alone, Fork, Signals};
use crate::sys::{at, descriptor, namespaces, pty, seccomp};
use gate::Gate;
use supervise::{Ceiling, Failure, Status, Watch, While};

/// The exit status of a child that could not confine itself. The daemon reads the reason from
/// a pipe of its own; this only has to differ from what shells use.
const CONFINE_FAILED: i32 = 120;
/// What is added to a command's chance to be killed when memory runs out (0 to 1000).
const OOM_SCORE: &str = "700";
/// The same for the supervisor of a command that shares the machine's processes.
const OOM_SCORE_OF_SUPERVISOR: &str = "400";
/// How much a command stands back when the processor is busy (0 to 19).
const NICENESS: i32 = 5;

/// The entry of the hidden subcommand. Nothing may have been set up before it, no thread above all.
pub fn main() -> ! {
    let status = match Status::open() {
        Ok(status) => status,
        // Without its pipes it was not started by us, and a report would reach no one.
        Err(_) => std::process::exit(CONFINE_FAILED),
    };
    let code = match confine(&status) {
        Ok(()) => 0,
        Err(failure) => {
            status.failed(&failure);
            CONFINE_FAILED
        }
    };
    std::process::exit(code)
}

/// The proof that a fork is safe, and the control group of the command.
type Starting = (Alone, Option<OwnedFd>);

/// Makes this process and all that it starts go before the gateway when memory runs out. Raising the number needs no
/// right, but later the file is not this account's, or is read-only. Returns the file, which lowers it again.
fn raise_oom_score() -> Option<File> {
    let mut file = File::options()
        .write(true)
        .open("/proc/self/oom_score_adj")
        .ok()?;
    file.write_all(OOM_SCORE.as_bytes()).ok()?;
    Some(file)
}

/// Lets the command go before its supervisor, which has to end what the command leaves.
fn lower_oom_score(file: Option<File>) {
    if let Some(mut file) = file {
        // Where it stays as it is, the command is the larger one.
        let _ = file.write_all(OOM_SCORE_OF_SUPERVISOR.as_bytes());
    }
}

fn confine(status: &Status) -> Result<(), Failure> {
    let policy = read_policy().doing("read what to do")?;
    let group = open_group(&policy);
    let score = raise_oom_score();
    let alone = Alone::prove().doing("start alone")?;
    if !policy.hooks.skips(Step::Descriptors) {
        process::close_on_exec_from(3).doing("close what was open")?;
    }
    // It fails for the leader of a group only, and then there is a session already.
    let _ = rustix::process::setsid();
    if policy.isolation.system_calls {
        rustix::thread::set_no_new_privs(true).doing("renounce new privileges")?;
    }
    let signals = Signals::new().doing("wait for signals")?;
    if policy.isolation.own_view() {
        in_namespaces(&policy, status, (alone, group), &signals)
    } else {
        in_group(&policy, status, (alone, group), (&signals, score))
    }
}

/// The control group of the command. Without it the command cannot be frozen, and nothing else is missing.
fn open_group(policy: &Policy) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = || rustix::fs::open(&policy.group, flags, Mode::empty()).ok();
    (!policy.group.as_os_str().is_empty())
        .then(opened)
        .flatten()
}

/// Forks the process that becomes the command, into its control group where it can.
fn fork_command(status: &Status, (alone, group): Starting) -> io::Result<Fork> {
    let Some(group) = group else {
        return alone.fork();
    };
    // Under `RestrictNamespaces=` of systemd there is no clone3(2); moving takes the kernel some milliseconds.
    let into = alone.fork_into(group.as_fd());
    let is_in = into.is_ok();
    let fork = into.or_else(|_| alone.fork())?;
    if matches!(fork, Fork::Child) && (is_in || enter_group(&group).is_ok()) {
        status.grouped();
    }
    Ok(fork)
}

fn enter_group(group: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let own = rustix::fs::openat(group, "cgroup.procs", flags, Mode::empty())?;
    rustix::io::write(&own, b"0")?;
    Ok(())
}

/// The supervisor of a process namespace. It returns when the last process in there is gone.
fn in_namespaces(
    policy: &Policy,
    status: &Status,
    starting: Starting,
    signals: &Signals,
) -> Result<(), Failure> {
    let user = policy.isolation.namespaces == super::policy::Namespaces::User;
    // Only root may, and only root has groups that could open what its name does not.
    let _ = rustix::thread::set_thread_groups(&[]);
    namespaces::leave(starting.0, user, !policy.network).doing("make namespaces")?;
    process::set_undumpable().doing("close its memory")?;
    match starting.0.fork().doing("start the first process")? {
        Fork::Child => first_process(policy, status, starting, signals),
        Fork::Parent(first) => Watch {
            status,
            signals,
            ceiling: None,
            gate: None,
        }
        .namespace(first),
    }
}

/// The first process in the namespace: when it ends, the kernel kills all others in there.
fn first_process(
    policy: &Policy,
    status: &Status,
    starting: Starting,
    signals: &Signals,
) -> Result<(), Failure> {
    process::die_with_parent().doing("die with its parent")?;
    if !policy.network {
        namespaces::loopback_up().doing("switch the loopback on")?;
    }
    root::enter(policy, status)?;
    if policy.task == ChildTask::Interactive {
        // Its supervisor sees there how much memory they hold.
        for folder in policy.in_memory() {
            let held = at::open_root(Path::new(folder)).doing("open a folder in memory")?;
            descriptor::send(rustix::stdio::stdin(), held).doing("hand a folder over")?;
        }
    }
    let temporary = Path::new("/tmp");
    let gated = has_gate(policy, status);
    let (ours, theirs) = UnixStream::pair().doing("connect with the command")?;
    let alone = starting.0;
    match fork_command(status, starting).doing("start the command")? {
        Fork::Child => {
            command(policy, status, temporary, gated, theirs).map(|never| match never {})
        }
        Fork::Parent(main) => {
            drop(theirs);
            process::drop_capabilities().doing("drop its rights")?;
            let watch = Watch {
                status,
                signals,
                ceiling: Ceiling::of(policy.bounds.processes),
                gate: open_gate(policy, temporary, alone, gated.then_some(ours))?,
            };
            watch.command(main)
        }
    }
}

/// Whether calls can be looked at; says what is missing where not.
fn has_gate(policy: &Policy, status: &Status) -> bool {
    gate::works(policy).unwrap_or_else(|missing| {
        status.note(missing);
        false
    })
}

/// Waits for the filter's descriptor, if one is to come.
fn open_gate<'a>(
    policy: &'a Policy,
    temporary: &'a Path,
    alone: Alone,
    from: Option<UnixStream>,
) -> Result<Option<Gate<'a>>, Failure> {
    let Some(from) = from else {
        return Ok(None);
    };
    let listener = descriptor::receive(&from).doing("take over the command's calls")?;
    Ok(listener.map(|listener| Gate::new(policy, temporary, alone, listener)))
}

/// The supervisor where there is no namespace: it adopts every orphan and kills all at the end.
fn in_group(
    policy: &Policy,
    status: &Status,
    starting: Starting,
    (signals, score): (&Signals, Option<File>),
) -> Result<(), Failure> {
    process::set_undumpable().doing("close its memory")?;
    process::adopt_orphans().doing("adopt orphans")?;
    let (temporary, _in_use) = temporary::create().doing("make a folder for temporary files")?;
    let gated = has_gate(policy, status);
    let (ours, theirs) = UnixStream::pair().doing("connect with the command")?;
    let alone = starting.0;
    match fork_command(status, starting).doing("start the command")? {
        Fork::Child => {
            command(policy, status, &temporary, gated, theirs).map(|never| match never {})
        }
        Fork::Parent(main) => {
            lower_oom_score(score);
            drop(theirs);
            let asks = gated || rules::asks_before_signals(policy);
            if asks {
                // What it does for the command it does with no more rights than that has.
                process::drop_capabilities().doing("drop its rights")?;
            }
            let watch = Watch {
                status,
                signals,
                ceiling: Ceiling::of(policy.bounds.processes),
                gate: open_gate(policy, &temporary, alone, asks.then_some(ours))?,
            };
            let ended = watch.command(main);
            if !policy.hooks.skips(Step::Sweep) {
                supervise::sweep(signals, status);
            }
            // What cannot be removed is in the system's own folder for such things.
            let _ = std::fs::remove_dir_all(&temporary);
            ended
        }
    }
}

/// The last steps, in the process that becomes the command.
fn command(
    policy: &Policy,
    status: &Status,
    temporary: &Path,
    gated: bool,
    supervisor: UnixStream,
) -> Result<Infallible, Failure> {
    process::die_with_parent().doing("die with its parent")?;
    rustix::process::setsid().doing("start a session")?;
    enter_folder(policy).doing("enter the working folder")?;
    let terminal = match policy.terminal {
        Some(size) => Some(open_terminal(size).doing("open a terminal")?),
        None => None,
    };
    let input = match policy.task {
        ChildTask::Interactive => {
            descriptor::receive(rustix::stdio::stdin()).doing("take the input")?
        }
        _ => None,
    };
    if !policy.keep_input && terminal.is_none() {
        let null = open_null().doing("open /dev/null")?;
        rustix::stdio::dup2_stdin(&null).doing("close the input")?;
    }
    if !policy.hooks.skips(Step::Limits) {
        set_limits(&policy.bounds).doing("set limits")?;
    }
    if policy.isolation.system_calls && !policy.hooks.skips(Step::Capabilities) {
        process::drop_capabilities().doing("drop its rights")?;
    }
    if policy.isolation.landlock > 0 {
        rules::restrict(policy, temporary, terminal.as_deref()).doing("set file rights")?;
    }
    if policy.isolation.system_calls && !policy.hooks.skips(Step::SystemCalls) {
        let filter = rules::filter(policy, gated);
        let listener = seccomp::install(&filter).doing("filter system calls")?;
        if let Some(listener) = listener {
            descriptor::send(&supervisor, listener).doing("hand its calls over")?;
        }
    }
    drop(supervisor);
    #[cfg(feature = "test-hooks")]
    if policy.hooks != Hooks::default() {
        status.note(HOOKED);
    }
    status.confined();
    match &policy.task {
        ChildTask::Escape => {
            // As a command is, whose calls the supervisor has to see.
            process::set_dumpable().doing("open its memory")?;
            super::self_test::try_everything(&policy.environment)
        }
        ChildTask::Shell(line) => {
            let mut shell = std::process::Command::new("/bin/sh");
            shell.arg("-c").arg(line).env_clear();
            shell.envs(policy.environment.iter().map(|(name, value)| (name, value)));
            shell.env("TMPDIR", temporary);
            if !policy.errors_apart && terminal.is_none() {
                let output = rustix::stdio::stdout();
                rustix::stdio::dup2_stderr(output).doing("join the outputs")?;
            }
            process::reset_signals().doing("reset the signals")?;
            Err(shell.exec()).doing("run /bin/sh")
        }
        ChildTask::Interactive => {
            let input = input.map_or_else(open_null, Ok).doing("take the input")?;
            connect_shell(&input).doing("connect the shell")?;
            let mut shell = std::process::Command::new("/bin/sh");
            shell.arg("-i").env_clear();
            shell.envs(policy.environment.iter().map(|(name, value)| (name, value)));
            shell.env("TMPDIR", temporary).env_remove("ENV");
            process::reset_signals().doing("reset the signals")?;
            Err(shell.exec()).doing("run /bin/sh")
        }
    }
}

/// Gives this process a terminal: one of its own view, where it has one. The other end goes to the daemon, through
/// the socket that is the input until then. Returns where the terminal is among the files.
fn open_terminal(size: pty::Size) -> io::Result<PathBuf> {
    let pair = pty::open(size)?;
    descriptor::send(rustix::stdio::stdin(), pair.master)?;
    pty::take(&pair.slave)?;
    Ok(pair.path)
}

/// Whoever swaps the folder for another one after it was approved gets nothing run there.
fn enter_folder(policy: &Policy) -> io::Result<()> {
    rustix::process::chdir(&policy.folder)?;
    let here = std::fs::metadata(".")?;
    match policy.inode {
        Some(approved) if approved != (here.dev(), here.ino()) => Err(io::Error::other(
            "the folder was replaced since it was approved",
        )),
        _ => Ok(()),
    }
}

/// Gives an interactive shell its descriptors: the socket as its own input and for its reports, and for the
/// commands an input and an output. What the shell itself says, prompts above all, goes nowhere.
fn connect_shell(input: &OwnedFd) -> io::Result<()> {
    use super::shell::{INPUT, OUTPUT, REPORT};
    descriptor::place(input, INPUT)?;
    descriptor::place(rustix::stdio::stdout(), OUTPUT)?;
    descriptor::place(rustix::stdio::stdin(), REPORT)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}

fn open_null() -> io::Result<OwnedFd> {
    Ok(File::open("/dev/null")?.into())
}

/// Takes the policy off the pipe and not one byte more: what follows is the command's input.
fn read_policy() -> io::Result<Policy> {
    let mut length = [0; 4];
    read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > POLICY_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut content = vec![0; length];
    read_exact(&mut content)?;
    Policy::decode(&content).ok_or_else(|| {
        io::Error::other("the program was replaced by another version: restart Peacrab")
    })
}

fn read_exact(mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match rustix::io::read(rustix::stdio::stdin(), &mut *buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => buffer = &mut buffer[length..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn set_limits(limits: &Bounds) -> io::Result<()> {
    process::limit(Resource::Cpu, limits.cpu_seconds)?;
    process::limit(Resource::Data, limits.memory_bytes)?;
    process::limit(Resource::Fsize, limits.file_bytes)?;
    process::limit(Resource::Nofile, limits.files)?;
    process::limit(Resource::Core, 0)?;
    // The kernel counts what the user already runs, so that goes on top.
    process::limit(
        Resource::Nproc,
        process::tasks_on_machine() + limits.processes,
    )?;
    // The daemon and the supervisor come first where there is little to share.
    rustix::process::nice(NICENESS)?;
    Ok(())
}
