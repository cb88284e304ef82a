//! What changes after a question without any file that the line names: names in a folder, what links lead to, what processes
//! hold.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode};

use super::tests::Bench;
use super::{Place, Uses, bind_all, find, tree};

/// A mount, until it is dropped.
struct Mount(PathBuf);

impl Mount {
    /// None where this account makes no mounts.
    fn new(arguments: &[&str], place: PathBuf) -> Option<Self> {
        std::fs::create_dir(&place).unwrap();
        let output = Command::new("mount").args(arguments).arg(&place).output();
        let is_made = output.is_ok_and(|output| output.status.success());
        is_made.then_some(Self(place))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn link(bench: &Bench, target: &Path, name: &str) {
    let path = bench.workspace.join(name);
    let _ = std::fs::remove_file(&path);
    symlink(target, &path).unwrap();
}

fn why_not(bench: &Bench, line: &str) -> String {
    let uses = bench.find(line).map(|uses| format!("{uses:?}"));
    uses.expect_err(line).to_string()
}

/// Names in a folder, titles of processes, answers of servers and lines of a log are the agent's too.
#[test]
fn what_a_line_writes_to_a_file_is_bound_or_not_allowed_always() {
    let bench = Bench::new();
    let is_offered = |line: &str| {
        let uses = bench.find(line).unwrap();
        assert!(!uses.loads_unbound, "{line}");
        !uses.reads_changing
    };
    for line in [
        "ls sub > /mnt/out",
        "ls > /mnt/out",
        "ls | sort > /mnt/out",
        "sudo -n ls sub | sudo tee -a /mnt/out",
        "du -a sub | cut -f 2 > /mnt/out",
        "ps -C sleep -o args= > /mnt/out",
        "ps aux | tee /dev/null /mnt/out",
        "curl -fsS https://example.org/x > /mnt/out",
        "curl -fsS https://example.org/x | grep x >> /mnt/out",
        "journalctl -u ssh | tee /mnt/out",
        "docker logs web > /mnt/out 2>&1",
        "echo on && /usr/bin/ss -t > /mnt/out; date",
        "cat /var/log/syslog > /mnt/out",
        "grep x /var/log/syslog | tee /mnt/out",
        "cp /var/log/syslog /mnt/out",
        "mv x.sh /var/log/syslog /mnt",
        "head -n 1 /proc/loadavg > /mnt/out",
    ] {
        assert!(!is_offered(line), "{line}");
    }
    for line in [
        "ls sub > /dev/null 2>&1",
        "ls sub | tee /dev/null",
        "ls sub | grep y",
        "ps aux 2>/dev/null",
        "cat x.sh > /mnt/out",
        "cat x.sh | grep e | sudo -n tee /mnt/out",
        "cp x.sh /mnt/out",
        "mv x.sh /mnt/out",
        "echo 1 > /sys/class/leds/ACT/brightness",
        "printf on | tee /mnt/out",
        "date >> /mnt/out",
        "cat /etc/hostname > /mnt/out",
        "cat /dev/null > /mnt/out",
        "ls sub && echo on > /mnt/out",
        "echo on > /mnt/out; ps aux",
    ] {
        assert!(is_offered(line), "{line}");
    }
}

#[test]
fn names_that_a_line_writes_to_a_file_are_bound_for_the_one_run() {
    let bench = Bench::new();
    let marks = |line: &str| bench.find(line).unwrap().marks;
    link(&bench, Path::new("good"), "sub/deep/link");
    for line in ["ls -lR sub > /mnt/out", "ls -R | tee /mnt/out"] {
        let before = marks(line);
        assert_eq!(marks(line), before, "{line}");
        bench.put("sub/deep/* * * * * root evil", "");
        assert_ne!(marks(line), before, "{line}");
        std::fs::remove_file(bench.workspace.join("sub/deep/* * * * * root evil")).unwrap();
        link(&bench, Path::new("evil"), "sub/deep/link");
        assert_ne!(marks(line), before, "{line}");
        link(&bench, Path::new("good"), "sub/deep/link");
    }
    assert!(marks("ls -R sub").is_empty());
}

#[test]
fn a_link_to_a_folder_outside_is_shown_and_bound_to_what_is_in_it() {
    let bench = Bench::new();
    let [shared, more] = ["shared", "more"].map(|name| bench.workspace.with_file_name(name));
    std::fs::create_dir_all(shared.join("deep")).unwrap();
    std::fs::create_dir(&more).unwrap();
    bench.put("../shared/deep/log", "one\n");
    bench.put("../more/log", "one\n");
    symlink(&more, shared.join("more")).unwrap();
    symlink(".", shared.join("circle")).unwrap();
    link(&bench, &shared, "lib");
    let before = bench.find("make").unwrap();
    let shown = format!("lib → {}", shared.display());
    assert_eq!(before.influences, [shown]);
    assert_eq!(bench.find("make").unwrap().marks, before.marks);
    for name in ["shared/deep/log", "more/log", "shared/new"] {
        let before = bench.find("make").unwrap();
        bench.put(&format!("../{name}"), "two or more\n");
        assert_ne!(bench.find("make").unwrap().marks, before.marks, "{name}");
    }
    for number in 0..tree::BOUND_TREE {
        bench.put(&format!("../more/{number}"), "");
    }
    let error = why_not(&bench, "make");
    assert!(error.contains("more than 10000 files"), "{error}");
    assert!(
        error.contains("lib leads to") || error.contains("more leads to"),
        "{error}"
    );
    bench.find("df -h").unwrap();
    // What the system's packages bring is shown.
    link(&bench, Path::new("/usr"), "lib");
    assert_eq!(bench.find("make").unwrap().influences, ["lib → /usr"]);
    // The program's own files lie in the folder around.
    link(&bench, bench.workspace.parent().unwrap(), "lib");
    std::fs::remove_dir_all(&more).unwrap();
    bench.find("make").unwrap();
    std::fs::create_dir(bench.workspace.with_file_name("own")).unwrap();
    let error = why_not(&bench, "make");
    assert!(error.contains("changes without being asked"), "{error}");
}

/// Such as the folder for temporary files of another command.
#[test]
fn what_the_agent_writes_outside_of_its_folders_is_bound_behind_a_link() {
    let bench = Bench::new();
    let free = bench.workspace.with_file_name("free");
    std::fs::create_dir(&free).unwrap();
    let look = || {
        let place = Place {
            folder: &bench.workspace,
            home: &bench.workspace,
            workspace: &bench.workspace,
            others: &[],
            is_writable: &|path| path.starts_with(&bench.workspace) || path.starts_with(&free),
            is_hidden: &|_| false,
        };
        let mut uses = find("make", &place)?;
        bind_all(&mut uses, &place)?;
        Ok::<Uses, super::Error>(uses)
    };
    for target in [free.join("x.mk"), free.clone()] {
        link(&bench, &target, "lib");
        bench.put("../free/x.mk", "good\n");
        let before = look().unwrap();
        let shown = format!("lib → {}", target.display());
        assert_eq!(before.influences.first(), Some(&shown));
        bench.put("../free/x.mk", "evil\n");
        assert_ne!(look().unwrap().marks, before.marks, "{target:?}");
        bench.put("../free/x.mk", "good\n");
        assert_eq!(look().unwrap().marks, before.marks, "{target:?}");
    }
    let pipe = free.join("pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let error = look().unwrap_err().to_string();
    assert!(error.contains("is a pipe"), "{error}");
}

#[test]
fn what_a_process_holds_is_refused_and_what_the_kernel_says_is_not() {
    let bench = Bench::new();
    let this = std::process::id();
    link(&bench, Path::new(&format!("/proc/{this}/environ")), "link");
    const HELD: &str = "sh /proc/N/environ ¦ cp /proc/N/environ /mnt/x ¦ cat /proc/self/environ ¦ cat < /proc/thread-self/comm \
                        ¦ sh /proc/4194305/environ ¦ cd /proc/N && sh environ ¦ cd /proc; sh N/environ ¦ sh link ¦ cat link \
                        ¦ cd /proc; sh 4194305/environ ¦ sh /proc/sys/../N/environ ¦ sh /proc/*/environ ¦ cd /proc; sh ?/environ \
                        ¦ sh /proc/[0-9]*/comm ¦ P=1; sh /proc/$P/comm ¦ grep x /proc/N/cmdline ¦ ls /proc/N > /mnt/x";
    for line in HELD.replace('N', &this.to_string()).split(" ¦ ") {
        let error = why_not(&bench, line.trim());
        assert!(error.contains("by way of a process"), "{line}: {error}");
    }
    std::fs::remove_file(bench.workspace.join("link")).unwrap();
    for line in [
        "cat /proc/meminfo",
        "grep model /proc/cpuinfo",
        "head -n 1 /proc/loadavg",
        "cat /proc/net/route",
        "cat /proc/mounts",
        "cat /proc/self/cgroup",
        "ls -l /proc/1/fd",
        "ls -l /proc",
        "mount --rbind /proc /mnt/x; sleep 1",
        "awk '{print $1}' /proc/loadavg",
    ] {
        bench.find(line).unwrap();
    }
}

/// A mount of the same files under another path.
#[test]
fn another_mount_of_proc_or_of_our_own_files_is_the_same() {
    let bench = Bench::new();
    let own = bench.workspace.with_file_name("own");
    std::fs::create_dir_all(own.join("state")).unwrap();
    bench.put("../own/state/log", "{}\n");
    let sub = bench.workspace.join("sub");
    let [proc, home, other] =
        ["proc", "home", "other"].map(|name| bench.workspace.with_file_name(name));
    let this = std::process::id();
    let Some(_proc) = Mount::new(&["-t", "proc", "proc"], proc.clone()) else {
        return;
    };
    let state = own.join("state");
    let Some(_home) = Mount::new(&["--bind", state.to_str().unwrap()], home.clone()) else {
        return;
    };
    for line in ["sh {p}/N/environ", "cat {p}/N/comm", "sh {p}/*/environ"] {
        let line = line.replace('N', &this.to_string());
        let line = line.replace("{p}", proc.to_str().unwrap());
        let error = why_not(&bench, &line);
        assert!(error.contains("by way of a process"), "{line}: {error}");
    }
    let line = format!("cat {}", home.join("log").display());
    assert!(bench.find(&line).unwrap().reads_changing);
    let Some(_ws) = Mount::new(&["--bind", sub.to_str().unwrap()], other.clone()) else {
        return;
    };
    let line = format!("cat {}", other.join("y.sh").display());
    assert!(bench.find(&line).unwrap().loads_unbound);
    for (target, why) in [
        (proc.join(format!("{this}/cwd/x.mk")), "a process can"),
        (proc.join("loadavg"), "a process can"),
        (home.join("log"), "changes without being asked"),
        (home.clone(), "changes without being asked"),
    ] {
        link(&bench, &target, "lib");
        let error = why_not(&bench, "make");
        assert!(error.contains(why), "{target:?}: {error}");
    }
}

/// A script that is as it was can read what is not.
#[test]
fn a_text_that_names_what_changes_is_shown_with_that() {
    let bench = Bench::new();
    std::fs::create_dir(bench.workspace.with_file_name("own")).unwrap();
    bench.put("../own/audit.jsonl", "{}\n");
    let far = format!("{}\n\tcat /proc/1/environ\n", "#".repeat(65_530));
    for (text, shown) in [
        (
            "-include $(wildcard /proc/*/root/tmp/x.mk)\n",
            "/proc/*/root/tmp/x.mk",
        ),
        ("all:\n\t. /proc/$$PID/environ\n", "/proc/$$PID/environ"),
        ("all:\n\tcat /proc/{1,2}/comm\n", "/proc/"),
        ("all:\n\tcat //proc/./7/comm", "//proc/./7/comm"),
        (&*far, "/proc/1/environ"),
        ("all:\n\tsh ../own/audit.jsonl\n", "../own/audit.jsonl"),
    ] {
        bench.put("Makefile", text);
        let uses = bench.find("make").unwrap();
        let shown = format!("Makefile → {shown}");
        assert_eq!(uses.influences.first(), Some(&shown), "{text}");
        assert!(bench.find("cat Makefile").unwrap().reads_changing, "{text}");
    }
    bench.put("Makefile", "include sub/part\n");
    bench.put("sub/part", "-include /proc/7/root/x\n");
    let uses = bench.find("make").unwrap();
    assert_eq!(uses.influences[0], "sub/part → /proc/7/root/x");
    bench.put("sub/part", "");
    for text in [
        "all:\n\tgrep model /proc/cpuinfo; cat /proc/self/status\n",
        "all:\n\tcat sub/../x.sh https://example.org/proc/1\n",
        "all:\n\tcat ../own/none.jsonl\n",
        "/proc/1/environ\0",
    ] {
        bench.put("Makefile", text);
        assert_eq!(bench.find("make").unwrap().influences, ["Makefile"]);
        assert!(!bench.find("cat Makefile").unwrap().reads_changing);
    }
}

#[test]
fn our_own_files_are_known_by_the_name_of_their_folder() {
    let top = tempfile::tempdir().unwrap();
    let own = top.path().canonicalize().unwrap().join(".own");
    let workspace = own.join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    for name in ["audit.jsonl", "workspace/x.sh"] {
        std::fs::write(own.join(name), "").unwrap();
    }
    let place = Place {
        folder: &workspace,
        home: top.path(),
        workspace: &workspace,
        others: &[],
        is_writable: &|path| path.starts_with(&workspace),
        is_hidden: &|path| path.starts_with(&own) && !path.starts_with(&workspace),
    };
    assert_eq!(place.own(), Some(&*own));
    let names = |word: &str| place.names_own(word, place.own(), &workspace.join("x.sh"));
    let path = own.join("audit.jsonl").to_string_lossy().into_owned();
    for word in [
        &*path,
        "~/.own/audit.jsonl",
        "$HOME/.own/audit.jsonl",
        "/.own/audit.jsonl",
    ] {
        assert!(names(word), "{word}");
    }
    assert!(names("../audit.jsonl"));
    for word in [
        "~/.own/workspace/x.sh",
        "$X/.own/none",
        "../workspace/x.sh",
        "a/b",
    ] {
        assert!(!names(word), "{word}");
    }
}
