//! Processes: forking with a single thread, signals as a descriptor, dropping rights, limits.

#![expect(
    unsafe_code,
    reason = "fork(2), signalfd(2) and close_range(2) have no safe wrapper"
)]

pub mod crash;
pub mod memory;

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Gid, Pid, Resource, Rlimit, Signal, Uid, WaitId, WaitIdOptions,
};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

/// The proof that this process has one thread only, so that it may fork and go on.
#[derive(Clone, Copy, Debug)]
pub struct Alone(PhantomData<*const ()>);

/// Where one is after a fork.
#[derive(Debug)]
pub enum Fork {
    /// In the new process.
    Child,
    /// In the old one, with the new one's number.
    Parent(Pid),
}

impl Alone {
    /// Checks that there is no other thread. None may be started as long as the proof exists.
    pub fn prove() -> io::Result<Self> {
        match std::fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(Self(PhantomData)),
            _ => Err(io::Error::other("this process has several threads")),
        }
    }

    /// Forks (fork(2)).
    pub fn fork(self) -> io::Result<Fork> {
        // SAFETY: there is one thread, so no lock can be held by a thread that the child lacks.
        let number = unsafe { libc::fork() };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Pid::from_raw(number).map_or(Fork::Child, Fork::Parent))
    }

    /// The same, with the child in the control group that this folder is from its first instruction on (clone(2),
    /// `CLONE_INTO_CGROUP`).
    pub fn fork_into(self, group: BorrowedFd<'_>) -> io::Result<Fork> {
        // `struct clone_args` of linux/sched.h: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
        // set_tid, set_tid_size, cgroup.
        let mut arguments = [0_u64; 11];
        arguments[0] = CLONE_INTO_CGROUP;
        arguments[4] = libc::SIGCHLD as u64;
        arguments[10] = group.as_raw_fd() as u64;
        // SAFETY: as in `fork`; without a stack and CLONE_VM the child goes on with a copy of this one's memory. The
        // kernel reads as many bytes of the arguments as it is told that there are.
        let number = unsafe {
            libc::syscall(
                libc::SYS_clone3,
                arguments.as_ptr(),
                size_of_val(&arguments),
            )
        };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Pid::from_raw(number as i32).map_or(Fork::Child, Fork::Parent))
    }
}

/// See linux/sched.h.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// What woke a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A child changed, or may have.
    Child,
    /// It was asked to end, or the receiver of the result is gone.
    End,
    /// A call waits for an answer, or no process is left that could ask.
    Question,
    /// The time is over.
    Time,
}

/// SIGCHLD and SIGTERM as something to wait for (signalfd(2)). They are blocked from then on, in
/// forked children too, until [`reset_signals`].
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks the two signals and opens the descriptor.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before use, and all pointers are to it.
        let descriptor = unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just made this descriptor and nothing else has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Waits for a signal, for the reader of `lifeline` (a pipe's writing end) to go, for a question
    /// or the time.
    pub fn wait(
        &self,
        lifeline: BorrowedFd<'_>,
        questions: Option<BorrowedFd<'_>>,
        time: Option<Duration>,
    ) -> io::Result<Woken> {
        let asked = questions.map_or(PollFlags::empty(), |_| PollFlags::IN);
        let questions = questions.unwrap_or(lifeline);
        let mut descriptors = [
            PollFd::new(&self.0, PollFlags::IN),
            PollFd::new(&lifeline, PollFlags::empty()),
            PollFd::new(&questions, asked),
        ];
        let time = time.map(Timespec::try_from).transpose();
        let time = time.map_err(|_| io::ErrorKind::InvalidInput)?;
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut descriptors, time.as_ref()))?;
        let [signals, lifeline, questions] = descriptors.map(|one| !one.revents().is_empty());
        match (lifeline, signals, questions) {
            (true, ..) => Ok(Woken::End),
            (_, true, _) => self.read(),
            (_, _, true) => Ok(Woken::Question),
            _ => Ok(Woken::Time),
        }
    }

    /// Takes the signals that are there; SIGTERM outweighs.
    fn read(&self) -> io::Result<Woken> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut record = [0_u8; SIZE];
        let mut woken = Woken::Child;
        while rustix::io::read(&self.0, &mut record).is_ok_and(|length| length == SIZE) {
            // `ssi_signo` is the record's first member.
            if record[..4] == (libc::SIGTERM as u32).to_ne_bytes() {
                woken = Woken::End;
            }
        }
        Ok(woken)
    }
}

/// Has the kernel keep how children end, although the caller ignores SIGCHLD: then it forgets them (wait(2)).
pub fn keep_children() {
    // SAFETY: the default action has no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Lets all signals through and ignores none, as a program that is run expects. A script starts what it runs in the
/// background with interrupts ignored (POSIX, section 2.11), and exec(2) would keep that: nothing could be interrupted.
pub fn reset_signals() -> io::Result<()> {
    /// The last one of the kernel's (signal(7)).
    const LAST: libc::c_int = 64;
    for signal in 1..=LAST {
        // It fails for those that are not to be changed: SIGKILL, SIGSTOP and the libc's own.
        // SAFETY: the default action has no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is initialised by sigemptyset before use, and all pointers are to it.
    let done = unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut())
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Marks every descriptor from `first` on as close-on-exec.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    const CLOSE_ON_EXEC: libc::c_uint = 4;
    // SAFETY: close_range(2) takes numbers only; close-on-exec leaves all descriptors usable.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            libc::c_uint::MAX,
            CLOSE_ON_EXEC,
        )
    };
    if done == 0 {
        return Ok(());
    }
    // Kernels before 5.11 do not know the flag.
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|number: &i32| *number >= first as i32) {
            // SAFETY: fcntl(2) takes numbers only; a number that is no descriptor is refused.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Keeps other processes of the same user out of this one's memory, environment and descriptors
/// (PR_SET_DUMPABLE), and its core off the disk.
pub fn set_undumpable() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        DumpableBehavior::NotDumpable,
    )?)
}

/// Takes [`set_undumpable`] back.
pub fn set_dumpable() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        DumpableBehavior::Dumpable,
    )?)
}

/// Has the kernel kill this process when the thread that made it ends.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(
        Signal::KILL,
    ))?)
}

/// Becomes the parent of every descendant whose own parent ends.
pub fn adopt_orphans() -> io::Result<()> {
    // Any number but 0 means yes (PR_SET_CHILD_SUBREAPER).
    let yes = Some(rustix::process::getpid());
    Ok(rustix::process::set_child_subreaper(yes)?)
}

/// Gives up every capability, also those that running a program as root would bring back.
pub fn drop_capabilities() -> io::Result<()> {
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED;
    // Both need CAP_SETPCAP. Without it this is not a root whose rights could come back, and
    // `no_new_privs` applies anyway.
    let _ = rustix::thread::set_capabilities_secure_bits(locked);
    for capability in CapabilitySet::all().iter() {
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(())
}

/// Becomes another user, without a way back: root gives up its groups, its user and with them its
/// capabilities (credentials(7)). The system calls change one thread, so there must be only one.
pub fn become_user(_alone: Alone, user: u32, group: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    rustix::thread::set_thread_groups(&[group])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    Ok(())
}

/// Whether this process may make namespaces and mounts without a user namespace.
pub fn is_administrator() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Sets a limit permanently, never above the current one.
pub fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let value = value.min(now.maximum.unwrap_or(u64::MAX));
    let both = Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    Ok(rustix::process::setrlimit(resource, both)?)
}

/// The number of tasks on the machine, as the kernel counts them (sysinfo(2), at most 65,535).
pub fn tasks_on_machine() -> u64 {
    u64::from(rustix::system::sysinfo().procs)
}

/// A process's group; none when the process is gone, or its group is of another namespace.
pub fn group(pid: Pid) -> Option<i32> {
    stat_field(pid.as_raw_pid(), 2).filter(|group| *group > 0)
}

/// Whether there are more than `most` processes and threads below `ancestor`. Quick when there are far
/// more.
pub fn has_more_tasks_below(ancestor: Pid, most: u64) -> bool {
    // In a process namespace all are below its first process.
    let is_first = ancestor.as_raw_pid() == 1;
    if is_first && numbers_in("/proc").len() as u64 > most + 1 {
        return true;
    }
    let below = descendants_of(ancestor);
    let mut left = most.checked_sub(below.len() as u64);
    for pid in below {
        let threads = stat_field(pid.as_raw_pid(), 17).unwrap_or(1);
        let beside = u64::try_from(threads).unwrap_or(1).saturating_sub(1);
        left = left.and_then(|left| left.checked_sub(beside));
        if left.is_none() {
            return true;
        }
    }
    false
}

/// Whether a process or thread is below `ancestor`, as far as /proc shows it.
pub fn is_below(number: i32, ancestor: Pid) -> bool {
    let mut at = number;
    while let Some(parent) = parent_of(at).filter(|parent| *parent > 0) {
        if parent == ancestor.as_raw_pid() {
            return true;
        }
        at = parent;
    }
    false
}

/// Whether this process has children, ended ones that were not waited for among them. Nothing is waited for.
pub fn has_children() -> bool {
    // Also children of clone(2) that end with another signal than SIGCHLD.
    let any = WaitIdOptions::from_bits_retain(libc::__WALL as u32);
    let options = any | WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(
        rustix::process::waitid(WaitId::All, options),
        Err(Errno::CHILD)
    )
}

/// Every process below `ancestor`, nearest first, as far as /proc shows them.
pub fn descendants_of(ancestor: Pid) -> Vec<Pid> {
    descendants_but(ancestor, &[])
}

/// The same without these and their descendants.
pub fn descendants_but(ancestor: Pid, others: &[Pid]) -> Vec<Pid> {
    let mut pairs: Vec<(i32, i32)> = numbers_in("/proc")
        .into_iter()
        .filter_map(|pid| Some((parent_of(pid)?, pid)))
        .collect();
    pairs.sort_unstable();
    let mut found = vec![ancestor.as_raw_pid()];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        let from = pairs.partition_point(|pair| pair.0 < parent);
        let children = pairs[from..].iter().take_while(|pair| pair.0 == parent);
        let is_other = |pid: &i32| others.iter().any(|other| other.as_raw_pid() == *pid);
        found.extend(children.map(|pair| pair.1).filter(|pid| !is_other(pid)));
        at += 1;
    }
    found.drain(..1);
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// Whether a process has ended and only waits to be collected.
pub fn has_ended(pid: Pid) -> bool {
    let Ok(line) = std::fs::read(format!("/proc/{}/stat", pid.as_raw_pid())) else {
        return true;
    };
    // The state follows the name in brackets.
    let state = line.iter().rposition(|byte| *byte == b')');
    matches!(state.and_then(|end| line.get(end + 2)), Some(b'Z' | b'X'))
}

fn parent_of(pid: i32) -> Option<i32> {
    stat_field(pid, 1)
}

/// A number in /proc/PID/stat (proc_pid_stat(5)), counted from the state after the name in brackets,
/// which may itself contain brackets and spaces.
fn stat_field(pid: i32, index: usize) -> Option<i32> {
    let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&line[end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(index)?.parse().ok()
}

fn numbers_in(folder: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Sends a signal; a process that is gone is no error.
pub fn signal(pid: Pid, signal: Signal) {
    // ESRCH is fine, and nothing can be done about EPERM.
    let _ = rustix::process::kill_process(pid, signal);
}

/// Asks a process to end, by its handle (pidfd_open(2)), and returns whether it has.
pub fn end(handle: BorrowedFd<'_>) -> bool {
    // ESRCH is fine.
    let _ = rustix::process::pidfd_send_signal(handle, Signal::TERM);
    readable([handle], Some(Duration::ZERO)).is_ok_and(|[has_ended]| has_ended)
}

/// Stops the whole process until it is continued, as Ctrl-Z does. The signal is sent to this thread
/// (raise(3)): sent to the process, it could reach another one, and this one would go on for a moment.
pub fn suspend() {
    // SAFETY: it takes a number and returns one; SIGTSTP has no handler in this program.
    let _ = unsafe { libc::raise(libc::SIGTSTP) };
}

/// Waits until one of the descriptors has something to say or the time is over (poll(2)); says for
/// each whether it has. An end of file counts.
pub fn readable<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    time: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors
        .each_ref()
        .map(|one| PollFd::new(one, PollFlags::IN));
    let time = time.map(Timespec::try_from).transpose();
    let time = time.map_err(|_| io::ErrorKind::InvalidInput)?;
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, time.as_ref()))?;
    Ok(polled.map(|one| !one.revents().is_empty()))
}

/// Waits until the descriptor takes bytes or the time is over; false when it is over.
pub fn writable(descriptor: impl AsFd, time: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::new(&descriptor, PollFlags::OUT)];
    let time = Timespec::try_from(time).map_err(|_| io::ErrorKind::InvalidInput)?;
    let ready = rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, Some(&time)))?;
    Ok(ready > 0)
}

/// Ends the process as a power cut would, at the step that a test names in `PEACRAB_TEST_CUT_AT`.
#[cfg(feature = "test-hooks")]
pub fn cut_at(step: &str) {
    if std::env::var("PEACRAB_TEST_CUT_AT").is_ok_and(|named| named == step) {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    }
}

/// Nothing, outside tests.
#[cfg(not(feature = "test-hooks"))]
pub fn cut_at(_step: &str) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_cannot_prove_to_be_alone() {
        let other = std::thread::spawn(|| Alone::prove().is_err());
        assert!(other.join().unwrap());
    }

    #[test]
    fn descendants_are_found_below_their_ancestor() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "sleep 600 & echo $!; read -r line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        let sleeper: i32 = line.trim().parse().unwrap();
        let found: Vec<i32> = descendants_of(Pid::from_child(&child))
            .iter()
            .map(|pid| pid.as_raw_pid())
            .collect();
        signal(Pid::from_raw(sleeper).unwrap(), Signal::KILL);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, [sleeper]);
    }

    #[test]
    fn a_pipe_is_readable_at_its_end_too() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let none = Some(Duration::ZERO);
        assert_eq!(readable([reader.as_fd()], none).unwrap(), [false]);
        drop(writer);
        assert_eq!(readable([reader.as_fd()], none).unwrap(), [true]);
    }
}
