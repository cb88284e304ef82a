//! Processes, from /proc: who one is, and which is the busiest.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::limits::watch::SYSTEM_BYTES;
use crate::sys;
use std::time::Duration;

/// Processes that are looked at to find the busiest.
const PROCESSES_MAX: usize = 512;
/// How long processes are compared to find the busiest.
const BUSY_SPAN: Duration = Duration::from_millis(500);

/// The name of a process, and when it was started, in ticks since the start of the machine; `None` when it is gone or
/// has ended and only its parent has not noticed yet.
pub fn identity(pid: u32) -> Option<(String, u64)> {
    let stat = Stat::parse(&read(Path::new("/"), &format!("proc/{pid}/stat"))?)?;
    (!stat.has_ended).then_some((stat.name, stat.start))
}

/// A line of /proc/PID/stat (proc_pid_stat(5)).
struct Stat {
    name: String,
    /// A zombie, of which no thread is left: the first one may end before the others.
    has_ended: bool,
    /// Ticks of the processors.
    busy: u64,
    start: u64,
    /// Pages in memory.
    pages: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name is in brackets and may itself contain some.
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let words: Vec<&str> = after.split_ascii_whitespace().collect();
        // Counted from the state, which is the third field.
        let number = |field: usize| words.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            name: name.to_owned(),
            has_ended: matches!(words.first(), Some(&("Z" | "X"))) && number(20)? <= 1,
            busy: number(14)?.saturating_add(number(15)?),
            start: number(22)?,
            pages: number(24)?,
        })
    }
}

fn read(root: &Path, path: &str) -> Option<String> {
    let bytes = sys::file::read_at_most(&root.join(path), SYSTEM_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn all(root: &Path) -> BTreeMap<u32, Stat> {
    let entries = std::fs::read_dir(root.join("proc")).into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let stat = |pid: u32| Some((pid, Stat::parse(&read(root, &format!("proc/{pid}/stat"))?)?));
    pids.take(PROCESSES_MAX).filter_map(stat).collect()
}

/// The process that uses the processors most now, such as `ffmpeg 180 %`. Takes a moment.
pub fn busiest(root: &Path) -> Option<String> {
    let before = all(root);
    std::thread::sleep(BUSY_SPAN);
    let after = all(root);
    let used = |(pid, stat): (&u32, &Stat)| {
        let before = before
            .get(pid)
            .filter(|before| before.start == stat.start)?;
        Some((stat.busy.checked_sub(before.busy)?, stat.name.clone()))
    };
    let (ticks, name) = after.iter().filter_map(used).max()?;
    // Linux shows hundredths of a second here, whatever its own clock (time(7), `USER_HZ`).
    let percent = ticks.saturating_mul(1000) / (BUSY_SPAN.as_millis() as u64).max(1);
    (percent > 0).then(|| format!("{name} {} %", percent))
}

/// The process with the most memory, such as `chromium 812 MB`.
pub fn largest(root: &Path) -> Option<String> {
    let all = all(root);
    let stat = all.values().max_by_key(|stat| stat.pages)?;
    let bytes = stat.pages.saturating_mul(sys::memory::page_bytes());
    (bytes > 0).then(|| format!("{} {} MB", stat.name, bytes / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_brackets() {
        let line = "12 (a) (b) R 1 2 3 4 5 6 7 8 9 10 30 12 15 16 17 18 19 20 777 22 555 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.busy, stat.start, stat.pages),
            ("a) (b", 42, 777, 555)
        );
        for odd in ["", "1", "1 (x)", "1 (x) R 1", ")("] {
            assert!(Stat::parse(odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn this_process_is_known_and_one_that_is_none_is_not() {
        let (_, start) = identity(std::process::id()).unwrap();
        assert!(start > 0);
        assert_eq!(identity(u32::MAX), None);
    }

    #[test]
    fn one_that_has_ended_is_gone_before_its_parent_asks() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let since = crate::base::clock::Stopwatch::start();
        while identity(child.id()).is_some() {
            assert!(since.elapsed().as_secs() < 60);
            std::thread::yield_now();
        }
        assert!(Path::new(&format!("/proc/{}/stat", child.id())).exists());
        child.wait().unwrap();
        let line =
            |threads| format!("1 (a) Z 1 2 3 4 5 6 7 8 9 10 1 1 15 16 17 18 {threads} 0 7 0 5");
        assert!(Stat::parse(&line(1)).unwrap().has_ended);
        assert!(!Stat::parse(&line(2)).unwrap().has_ended);
    }

    #[test]
    fn the_largest_process_is_named() {
        assert!(largest(Path::new("/")).unwrap().ends_with(" MB"));
        let none = tempfile::tempdir().unwrap();
        assert_eq!((largest(none.path()), busiest(none.path())), (None, None));
    }
}
