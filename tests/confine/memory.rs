//! What is killed first when memory runs out, and what a shell that waits may keep of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use peacrab::base::access::Role;
use peacrab::base::cancel::Cancel;
use peacrab::sandbox::confine::{
    Exec, SandboxMode, Service, SessionStart, Sessions, Shell, ShellCommand, ShellInput, ShellLine,
    ShellOutcome, Shells, Taken,
};

use super::world::{World, seconds};
use super::{chosen_modes, job, modes, until};

const SCORE: &str = "cat /proc/self/oom_score_adj";

fn own_score() -> i32 {
    std::fs::read_to_string("/proc/self/oom_score_adj")
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn whatever_is_started_goes_before_this_program_when_memory_runs_out() {
    let world = World::new();
    let folder = world.workspace();
    let before = own_score();
    let mut all = modes(&world, true, true);
    all.push((
        "off",
        Exec::new(world.settings(SandboxMode::Off, true)).unwrap(),
    ));
    for (mode, exec) in all {
        let said = world.run(&exec, SCORE).output.text();
        assert_eq!(said.trim(), "700", "{mode}");
        // What runs outside the sandbox because a person has allowed it.
        let command = ShellCommand {
            unsandboxed: true,
            ..job(SCORE, &folder)
        };
        let outcome = exec
            .run(&command, seconds(5), &Cancel::new(), &mut |_| ())
            .unwrap();
        assert_eq!(outcome.output.text().trim(), "700", "{mode}, outside");
        let mut shell = exec.open_shell(&job("", &folder), &Cancel::new()).unwrap();
        assert_eq!(
            run(&mut shell, SCORE).output.text().trim(),
            "700",
            "{mode}, shell"
        );
        let sessions = Sessions::default();
        for terminal in [
            None,
            Some(peacrab::sys::pty::Size {
                columns: 80,
                rows: 24,
            }),
        ] {
            let start = SessionStart {
                command: &job(SCORE, &folder),
                terminal,
                owner: "a",
                role: Role::Owner,
            };
            let id = sessions.start(&exec, &start, Arc::new(|_| Ok(()))).unwrap();
            assert!(
                until(&sessions, id, "700").contains("700"),
                "{mode}, {terminal:?}"
            );
        }
        let service = Service {
            name: "score",
            line: SCORE,
            folder: Some(folder.clone()),
            write: Vec::new(),
            read: Vec::new(),
            protect: Vec::new(),
            environment: Vec::new(),
            network: None,
        };
        let mut served = exec.serve(&service, &Cancel::new()).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut served.output, &mut text).unwrap();
        assert_eq!(text.trim(), "700", "{mode}, served");
    }
    assert_eq!(own_score(), before);
}

fn run(shell: &mut Shell, line: &str) -> ShellOutcome {
    let observer: peacrab::sandbox::confine::Observer = Arc::new(|_| Ok(()));
    let line = ShellLine {
        line,
        timeout: seconds(20),
        cancel: &Cancel::new(),
        input: (&ShellInput::default(), &observer),
    };
    shell.run(&line, &mut |_| ()).unwrap()
}

#[test]
fn the_memory_that_a_shell_keeps_is_counted() {
    let world = World::new();
    let folder = world.workspace();
    for (mode, choice, version) in chosen_modes() {
        let mut settings = world.settings(choice, true);
        settings.bounds.tmp_bytes = 64 * 1024 * 1024;
        settings.bounds.file_bytes = 64 * 1024 * 1024;
        let exec = Exec::new(settings).unwrap().with_landlock_at_most(version);
        if !super::works(&exec, choice) || !exec.isolation().unwrap().own_view() {
            // There it is a folder on the machine's disk, and there is no memory to share.
            continue;
        }
        let open = || exec.open_shell(&job("", &folder), &Cancel::new()).unwrap();
        let shells = Shells::default();
        let mut shell = open();
        assert!(
            !shells.holds_too_much(&shell),
            "{mode}: {}",
            shell.held_bytes()
        );
        run(
            &mut shell,
            "head -c 9000000 /dev/zero > /tmp/x; head -c 5000000 /dev/zero > /dev/shm/x",
        );
        assert!(
            (14_000_000..16_000_000).contains(&shell.held_bytes()),
            "{mode}: {}",
            shell.held_bytes()
        );
        assert!(!shells.holds_too_much(&shell), "{mode}");
        run(&mut shell, "head -c 40000000 /dev/zero > /tmp/y");
        assert!(shells.holds_too_much(&shell), "{mode}");
        run(&mut shell, "rm /tmp/x /tmp/y");
        assert!(!shells.holds_too_much(&shell), "{mode}");
        // What is removed and still open is memory all the same.
        run(
            &mut shell,
            "exec 5> /tmp/z; head -c 52000000 /dev/zero >&5; rm /tmp/z",
        );
        assert!(shells.holds_too_much(&shell), "{mode}");
        run(&mut shell, "exec 5>&-");
        // With a program in the background it may be in use, up to what all shells may have together.
        run(
            &mut shell,
            "sleep 600 & head -c 50000000 /dev/zero > /tmp/x",
        );
        assert!(!shells.holds_too_much(&shell), "{mode}");
        for owner in ["a", "b"] {
            assert!(matches!(shells.take(owner, 0, false), Taken::New));
            let mut other = open();
            run(
                &mut other,
                "sleep 600 & head -c 50000000 /dev/zero > /tmp/x",
            );
            if owner == "a" {
                assert!(!shells.holds_too_much(&other), "{mode}");
            }
            shells.give_back(owner, other, 0);
        }
        assert!(shells.holds_too_much(&shell), "{mode}");
        // Memory that has no name in a folder is refused there.
        let said = run(
            &mut shell,
            "perl -e 'print defined shmget(0, 1000, 0600) ? q(SHARED) : $!'",
        )
        .output
        .text();
        assert!(!said.contains("SHARED"), "{mode}: {said}");
        let said = run(
            &mut shell,
            "perl -e 'print defined msgget(0, 0600) ? q(SHARED) : $!'",
        )
        .output
        .text();
        assert!(!said.contains("SHARED"), "{mode}: {said}");
    }
}

/// A control group with this many bytes of memory, in either version; `None` where this account can make none.
fn group_with_memory(bytes: u64) -> Option<PathBuf> {
    let places = [
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ("/sys/fs/cgroup", "memory.max"),
    ];
    places.iter().find_map(|(top, limit)| {
        let group = Path::new(top).join(format!("peacrab-test-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let is_limited = fs::write(group.join(limit), bytes.to_string());
        is_limited.map_err(|_| fs::remove_dir(&group)).ok()?;
        Some(group)
    })
}

/// Many small processes use up the memory of a control group in which this program is the largest one.
#[test]
fn a_command_that_uses_up_the_memory_is_killed_and_this_program_is_not() {
    const INNER: &str = "PEACRAB_TEST_MEMORY";
    const MEGABYTE: usize = 1024 * 1024;
    if std::env::var_os(INNER).is_some() {
        let held = std::hint::black_box(vec![1_u8; 50 * MEGABYTE]);
        let world = World::new();
        for (mode, exec) in modes(&world, true, true) {
            let line = "for i in 1 2 3 4 5 6 7 8; do perl -e '$x = chr(65 + $$ % 2) x 20000000; sleep 2' || echo KILLED & done; wait";
            let outcome = world.run_for(&exec, line, seconds(30));
            let said = outcome.output.text();
            let is_killed = said.contains("KILLED") || !outcome.end.is_success();
            assert!(is_killed, "{mode}: {said}");
        }
        assert_eq!(held.len(), 50 * MEGABYTE);
        return;
    }
    let Some(group) = group_with_memory(120 * MEGABYTE as u64) else {
        return;
    };
    let status = Command::new("sh")
        .args([
            "-c",
            "echo $$ > \"$GROUP/cgroup.procs\" && exec \"$0\" \"$@\"",
        ])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "memory::a_command_that_uses_up_the_memory_is_killed_and_this_program_is_not",
            "--nocapture",
        ])
        .env("GROUP", &group)
        .env(INNER, "1")
        .status()
        .unwrap();
    let removed = std::iter::repeat_with(|| fs::remove_dir(&group))
        .take(1000)
        .any(|it| it.is_ok());
    assert!(status.success(), "{status}");
    assert!(removed, "{}", group.display());
}
