//! The processes that use most, from /proc. PURE apart from [`Snapshot::take`].

use std::fmt::Write;
use std::path::Path;

use crate::base::limits::board::FILE_BYTES;
use crate::sys;
use crate::text::truncate_chars;

/// Processes that are looked at for a list.
const PROCESSES_MAX: usize = 4096;
/// Processes that are shown.
const TOP_SHOWN: usize = 10;
/// Characters of a process's name; the kernel keeps 15, and more of its own threads.
const PROCESS_NAME_CHARS: usize = 32;

/// A process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    /// Clock ticks of processor time that it has used.
    ticks: u64,
    /// Bytes of memory.
    memory: u64,
    name: String,
}

/// All processes at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Clock ticks of all processors together, idle ones included.
    total: u64,
    processes: Vec<Process>,
}

impl Snapshot {
    /// Reads the processes below `root`.
    pub fn take(root: &Path) -> Self {
        let text = |path: &str| {
            let bytes = sys::file::read_at_most(&root.join(path), FILE_BYTES).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let page = sys::host::page_size();
        let entries = std::fs::read_dir(root.join("proc")).into_iter().flatten();
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let read = |id: u32| parse_process(id, &text(&format!("proc/{id}/stat"))?, page);
        Self {
            total: text("proc/stat")
                .and_then(|text| parse_total(&text))
                .unwrap_or(0),
            processes: ids.take(PROCESSES_MAX).filter_map(read).collect(),
        }
    }

    /// The processes that used most since an earlier moment, as a table: the share of all processors, the memory
    /// in MB, and the name.
    pub fn format_since(&self, earlier: &Self) -> String {
        let span = self.total.saturating_sub(earlier.total).max(1);
        let before = |process: &Process| {
            let mut all = earlier.processes.iter();
            let same = all.find(|one| one.id == process.id && one.name == process.name);
            same.map_or(process.ticks, |one| one.ticks)
        };
        let mut used: Vec<(u64, &Process)> = self
            .processes
            .iter()
            .map(|process| (process.ticks.saturating_sub(before(process)), process))
            .collect();
        used.sort_by_key(|(ticks, process)| std::cmp::Reverse((*ticks, process.memory)));
        let mut text = "  PID  CPU%    MB  NAME\n".to_owned();
        for (ticks, process) in used.into_iter().take(TOP_SHOWN) {
            let tenths = (ticks.saturating_mul(1000) / span).min(1000);
            let (id, name) = (process.id, &process.name);
            let megabytes = process.memory / 1_000_000;
            let (whole, tenth) = (tenths / 10, tenths % 10);
            let _ = writeln!(text, "{id:>5} {whole:>3}.{tenth} {megabytes:>5}  {name}");
        }
        text
    }
}

/// The first line of /proc/stat: the ticks of all processors, by what they did.
fn parse_total(text: &str) -> Option<u64> {
    let mut words = text.lines().next()?.split_ascii_whitespace();
    (words.next() == Some("cpu")).then_some(())?;
    // Time of guests, the ninth number and the tenth, is part of the first ones.
    let numbers = words.take(8).filter_map(|word| word.parse::<u64>().ok());
    numbers.reduce(u64::saturating_add)
}

/// /proc/PID/stat (proc_pid_stat(5)): the name is in parentheses and may contain anything, also parentheses.
fn parse_process(id: u32, text: &str, page: u64) -> Option<Process> {
    let (_, rest) = text.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let field = |number: usize| -> Option<u64> {
        // The state, the first field behind the name, is number 3.
        rest.split_ascii_whitespace().nth(number - 3)?.parse().ok()
    };
    let is_shown = |char: &char| !char.is_control() && *char != '`';
    let name: String = name.chars().filter(is_shown).collect();
    Some(Process {
        id,
        ticks: field(14)?.saturating_add(field(15)?),
        memory: field(24)?.saturating_mul(page),
        name: truncate_chars(&name, PROCESS_NAME_CHARS).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stat(name: &str, ticks: u64, pages: u64) -> String {
        format!(
            "7 ({name}) S 1 7 7 0 -1 4194560 1 2 3 4 {ticks} 5 0 0 20 0 1 0 100 1000 {pages} 99"
        )
    }

    fn snapshot(total: u64, processes: &[(u32, &str, u64, u64)]) -> Snapshot {
        let parse = |(id, name, ticks, pages): &(u32, &str, u64, u64)| {
            parse_process(*id, &stat(name, *ticks, *pages), 4096).unwrap()
        };
        Snapshot {
            total,
            processes: processes.iter().map(parse).collect(),
        }
    }

    #[test]
    fn what_used_most_comes_first_then_what_is_large() {
        let before = snapshot(
            10_000,
            &[(1, "systemd", 500, 3000), (7, "nginx: (worker)", 90, 2000)],
        );
        let after = snapshot(
            10_400,
            &[
                (1, "systemd", 500, 3000),
                (7, "nginx: (worker)", 290, 2000),
                (8, "new", 50, 9000),
            ],
        );
        assert_eq!(
            after.format_since(&before),
            "  PID  CPU%    MB  NAME\n\
             \x20   7  50.0     8  nginx: (worker)\n\
             \x20   8   0.0    36  new\n\
             \x20   1   0.0    12  systemd\n"
        );
    }

    #[test]
    fn the_files_of_proc_are_read_and_odd_ones_left_out() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("proc/stat", "cpu  10 20 30 40 5 0 0 0 99 99\ncpu0 1 2 3\n");
        put("proc/12/stat", &stat("a) b`\u{1b}[31m", 1, 100));
        put("proc/13/stat", "13 (torn");
        put("proc/self/stat", "no number");
        let found = Snapshot::take(root.path());
        assert_eq!(found.total, 105);
        assert_eq!(found.processes.len(), 1);
        assert_eq!(found.processes[0].name, "a) b[31m");
        assert_eq!(Snapshot::take(Path::new("/nowhere")).processes, []);
        assert!(!Snapshot::take(Path::new("/")).processes.is_empty());
    }

    proptest! {
        #[test]
        fn no_file_panics(text in ".{0,200}", numbers in prop::collection::vec(any::<u64>(), 0..30)) {
            let _ = (parse_total(&text), parse_process(1, &text, 4096));
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let line = format!("1 (x) S {}", numbers.join(" "));
            if let Some(process) = parse_process(1, &line, 4096) {
                let all = Snapshot { total: 1, processes: vec![process] };
                let _ = all.format_since(&Snapshot::default());
            }
        }
    }
}
