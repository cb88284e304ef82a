//! What the kernel reports to the thread, and the one call that waits for it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use super::{Running, Thread};
use crate::base::clock::Stopwatch;
use crate::base::limits::clock::TURNED_LOOK;
use crate::base::limits::watch::REST;
use crate::board::watch::{BuiltIn, Subject, What};
use crate::gateway::watch::GROUPS_MAX;
use crate::gateway::watch::{Item, system};
use crate::sys::memory;
use crate::sys::watch::events::{self, Interest, Waited};

/// The longest wait of the thread: what no event reports is seen at least then.
const WAIT_MAX: Duration = Duration::from_secs(3600);
/// Least time between two looks at a file that grows, in milliseconds.
const FILE_PACE_MS: i64 = 1000;

/// A descriptor of the kernel.
pub(super) struct Source {
    descriptor: OwnedFd,
    is_priority: bool,
    /// The keys of the items to look at.
    keys: &'static [&'static str],
}

impl Thread<'_> {
    /// Has the kernel report changes of what an item is about. What exists only later is added then.
    pub(super) fn see(&self, item: &Item) -> Vec<i32> {
        let mut seen = Vec::new();
        let Some(changes) = &self.changes else {
            return seen;
        };
        let mut add = |path: &Path, interest| seen.extend(changes.add(path, interest).ok());
        let root = &self.watches().root;
        match &item.subject {
            Subject::Rule(rule) => match &rule.what {
                What::File { path, .. } => {
                    let path = Path::new(path);
                    add(path, Interest::Content);
                    path.parent()
                        .into_iter()
                        .for_each(|folder| add(folder, Interest::Names));
                }
                What::Service(name) => {
                    if let Some(group) = system::service(root, name) {
                        add(&group.join("cgroup.events"), Interest::Content);
                        add(&group, Interest::Names);
                        group
                            .parent()
                            .into_iter()
                            .for_each(|folder| add(folder, Interest::Names));
                    }
                    system::services(root)
                        .iter()
                        .for_each(|folder| add(folder, Interest::Names));
                }
                _ => {}
            },
            Subject::BuiltIn(BuiltIn::Login) => {
                add(&root.join("run/systemd/sessions"), Interest::Names);
                add(&root.join("run/utmp"), Interest::Content);
            }
            Subject::BuiltIn(_) => {}
        }
        seen
    }

    /// Waits for the next look, or until the kernel reports something.
    pub(super) fn wait(&mut self) {
        let now = self.now();
        let waits = self.running.iter().filter(|running| !running.is_probed);
        let next = waits.map(|running| running.next_ms).min();
        let shared = self.watches().shared.lock();
        // Of a paused one nothing is due.
        let entries = || {
            let items = shared.items.iter().filter(|item| !item.is_paused);
            items.filter_map(|item| shared.entries.get(&item.key))
        };
        let seen = entries()
            .filter(|entry| entry.notice.is_none())
            .filter_map(|entry| entry.seen.deadline(now));
        let muted =
            entries().filter_map(|entry| Some(now.up_ms.saturating_add(entry.muted?.left(now)?)));
        let next = next
            .into_iter()
            .chain(seen)
            .chain(muted)
            .chain(self.retry)
            .min();
        // A message that waits for a chat is tried again with the next look.
        drop(shared);
        let left = next.map_or(i64::MAX, |next| next.saturating_sub(now.up_ms).max(0));
        let mut time = Duration::from_millis(left.unsigned_abs()).min(WAIT_MAX);
        if self.gateway.clock().turned().is_some() {
            time = time.min(TURNED_LOOK);
        }
        let Some(wake) = &self.watches().wake else {
            return;
        };
        let mut waited = vec![Waited {
            descriptor: wake.as_fd(),
            is_priority: false,
        }];
        let plain = |descriptor| Waited {
            descriptor,
            is_priority: false,
        };
        // A folder in which others write all the time does not keep the processor busy.
        let pace = Duration::from_millis(FILE_PACE_MS.unsigned_abs());
        let noise = self.noise.as_ref();
        let rest = noise.and_then(|noise| pace.checked_sub(noise.elapsed()));
        let changes = self.changes.iter().map(|changes| match rest {
            Some(_) => plain(wake.as_fd()),
            None => plain(changes.as_fd()),
        });
        waited.extend(changes);
        time = rest.map_or(time, |rest| time.min(rest));
        let sources = self.sources.iter();
        waited.extend(sources.map(|source| Waited {
            descriptor: source.descriptor.as_fd(),
            is_priority: source.is_priority,
        }));
        let processes = self
            .running
            .iter()
            .filter_map(|running| running.process.as_ref());
        waited.extend(processes.map(|process| plain(process.as_fd())));
        if time >= REST {
            memory::give_back_stack();
        }
        let ready = match events::wait(&waited, Some(time)) {
            Ok(ready) => ready,
            Err(error) => {
                tracing::warn!("failed to wait for events: {error}");
                std::thread::sleep(Duration::from_secs(1));
                return;
            }
        };
        drop(waited);
        wake.clear();
        self.take_events(&ready);
    }

    /// Has what the kernel has reported looked at.
    fn take_events(&mut self, ready: &[bool]) {
        let now = self.now().up_ms;
        let mut ready = ready.iter().copied().skip(1);
        if self.changes.is_some() && ready.next() == Some(true) {
            self.take_changes(now);
        }
        let mut keys: Vec<&str> = Vec::new();
        let mut broken = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            if ready.next() != Some(true) {
                continue;
            }
            keys.extend(source.keys);
            if !source.is_priority {
                events::clear(&source.descriptor);
            } else if !source.take() {
                broken.push(index);
            }
        }
        for index in broken.into_iter().rev() {
            self.sources.remove(index);
        }
        for running in &mut self.running {
            let has_ended = running.process.is_some() && ready.next() == Some(true);
            if has_ended {
                // Its end stays readable.
                running.process = None;
            }
            if has_ended || keys.contains(&running.item.key.as_str()) {
                running.next_ms = now;
            }
        }
    }

    fn take_changes(&mut self, now: i64) {
        let mut seen: Vec<(i32, Option<OsString>)> = Vec::new();
        let (mut is_lost, mut is_listed) = (false, false);
        let (mut is_any, mut is_meant_for_any) = (false, false);
        let name = self.watches().store.path();
        let name = name.file_name();
        if let Some(changes) = &self.changes {
            changes.read(&mut |change| match change.watch {
                None => is_lost = true,
                Some(watch) => {
                    is_any = true;
                    is_listed |= Some(watch) == self.store && change.name.as_deref() == name;
                    let change = (watch, change.name);
                    if !seen.contains(&change)
                        && self.running.iter().any(|running| running.is_meant(&change))
                    {
                        seen.push(change);
                    }
                }
            });
        }
        let is_other = || {
            let watches = self.watches();
            watches.store.stamp() != watches.shared.lock().stamp
        };
        if (is_listed || is_lost) && is_other() {
            self.watches().look_again();
            is_meant_for_any = true;
        }
        for index in 0..self.running.len() {
            let Some(running) = self.running.get(index) else {
                break;
            };
            if !is_lost && !seen.iter().any(|change| running.is_meant(change)) {
                continue;
            }
            is_meant_for_any = true;
            // A file that comes, or comes again, is another one for the kernel.
            self.see_again(index);
            if let Some(running) = self.running.get_mut(index) {
                // A file that grows all the time is not read all the time.
                let soon = match (&running.file, running.looked_ms) {
                    (Some(_), Some(last)) => now.max(last.saturating_add(FILE_PACE_MS)),
                    _ => now,
                };
                running.next_ms = running.next_ms.min(soon);
            }
        }
        self.noise = (is_any && !is_meant_for_any).then(Stopwatch::start);
    }

    /// Has the kernel report changes of what an item is about now.
    pub(super) fn see_again(&mut self, index: usize) {
        let seen = match self.running.get(index) {
            Some(running) => self.see(&running.item),
            None => return,
        };
        if let Some(running) = self.running.get_mut(index) {
            running.seen = seen;
        }
    }
}

impl Running {
    /// Whether a change is about it: in the folder of a file only the file's own name is.
    fn is_meant(&self, (watch, name): &(i32, Option<OsString>)) -> bool {
        let is_own = match (self.item.rule().map(|rule| &rule.what), name) {
            (Some(What::File { path, .. }), Some(name)) => {
                Path::new(path).file_name() == Some(name.as_os_str())
            }
            _ => true,
        };
        is_own && self.seen.contains(watch)
    }
}

impl Source {
    /// Takes the news of a file of /proc or /sys; false when it has none to give any more.
    fn take(&self) -> bool {
        let mut buffer = [0; 256];
        rustix::io::pread(&self.descriptor, &mut buffer, 0).is_ok()
    }
}

/// What the kernel reports besides changes of files. What it does not offer is looked at now and then.
pub(super) fn sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    if let Ok(descriptor) = events::addresses() {
        found.push(Source {
            descriptor,
            is_priority: false,
            keys: &["address"],
        });
    }
    // All tasks waited for memory in a tenth of two seconds. Without rights the window has to be 2 s or more
    // (Documentation/accounting/psi.rst).
    let mut options = OpenOptions::new();
    let pressure = options
        .read(true)
        .write(true)
        .open(root.join("proc/pressure/memory"));
    if let Ok(mut file) = pressure.and_then(is_of_kernel)
        && file.write_all(b"full 200000 2000000\0").is_ok()
    {
        found.push(Source {
            descriptor: file.into(),
            is_priority: true,
            keys: &["pressure", "oom"],
        });
    }
    let monitors = std::fs::read_dir(root.join("sys/class/hwmon"))
        .into_iter()
        .flatten();
    for monitor in monitors.flatten().take(GROUPS_MAX) {
        let path = monitor.path().join("in0_lcrit_alarm");
        if let Ok(file) = File::open(path) {
            let source = Source {
                descriptor: file.into(),
                is_priority: true,
                keys: &["undervoltage", "throttling"],
            };
            // Until it is read once, it says that there is news.
            if source.take() {
                found.push(source);
            }
        }
    }
    found
}

/// A made-up file of a test is not written.
fn is_of_kernel(file: File) -> std::io::Result<File> {
    use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};
    if fstatfs(&file)?.f_type == PROC_SUPER_MAGIC {
        Ok(file)
    } else {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
