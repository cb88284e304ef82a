//! A control group whose processes are stopped together, without their knowing: cgroups(7), version 2, since Linux 5.7
//! with processes that begin in it (`CLONE_INTO_CGROUP`, clone(2)).
//!
//! A stop by signals would not do: a timer can send a stopped process SIGCONT.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// What the names of our groups begin with; the number of the process follows.
const NAME: &str = "peacrab-";
/// The pause between two looks whether all have stopped.
const LOOK: Duration = Duration::from_millis(2);

/// A group. It is removed when this is dropped, or by the next process that makes one.
#[derive(Debug)]
pub struct Freezer(PathBuf);

impl Freezer {
    /// A new group below that of this process, with nothing in it. Fails where the system has none of version 2, or has
    /// not given us ours (`Delegate=` in systemd.resource-control(5)).
    pub fn make() -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::Unsupported);
        let own = own_group(
            &fs::read_to_string("/proc/self/mounts")?,
            &fs::read_to_string("/proc/self/cgroup")?,
        )
        .ok_or_else(missing)?;
        remove_leftovers(&own);
        let folder = own.join(format!("{NAME}{}", std::process::id()));
        if let Err(error) = fs::create_dir(&folder)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        let freezer = Self(folder);
        freezer.set("0")?;
        Ok(freezer)
    }

    /// The folder of the group; a process may begin in it.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Stops all processes in the group, and waits until none of them runs; after so many looks they go on.
    pub fn freeze(&self, looks: u32) -> io::Result<()> {
        self.set("1")?;
        for _ in 0..looks {
            let events = fs::read_to_string(self.0.join("cgroup.events"))?;
            if events.lines().any(|line| line == "frozen 1") {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        let _ = self.thaw();
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Lets them go on.
    pub fn thaw(&self) -> io::Result<()> {
        self.set("0")
    }

    fn set(&self, state: &str) -> io::Result<()> {
        fs::write(self.0.join("cgroup.freeze"), state)
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Groups of processes that are gone. One with processes in it stays.
fn remove_leftovers(own: &Path) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(NAME));
        if number.is_some_and(|number| !Path::new("/proc").join(number).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The folder of this process's group, from /proc/self/mounts and /proc/self/cgroup.
fn own_group(mounts: &str, groups: &str) -> Option<PathBuf> {
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, kind) = (words.next()?, words.next()?);
        (kind == "cgroup2").then_some(point)
    })?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let is_below = !group.split('/').any(|part| part == "..");
    is_below.then(|| Path::new(mount).join(group.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_group_is_that_of_version_two() {
        let hybrid = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let plain = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        for (mounts, groups, expected) in [
            (
                hybrid,
                "4:memory:/a\n0::/\n",
                Some("/sys/fs/cgroup/unified/"),
            ),
            (
                plain,
                "0::/system.slice/peacrab.service\n",
                Some("/sys/fs/cgroup/system.slice/peacrab.service"),
            ),
            (plain, "0::/../../x\n", None),
            (plain, "1:cpu:/\n", None),
            ("tmpfs / tmpfs rw 0 0\n", "0::/\n", None),
        ] {
            assert_eq!(own_group(mounts, groups), expected.map(PathBuf::from));
        }
    }
}
