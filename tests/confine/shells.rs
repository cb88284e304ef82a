//! The shell that goes on: the same walls around every command of it, and nothing that a command leaves behind
//! can speak for a later one.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use peacrab::base::cancel::Cancel;
use peacrab::sandbox::confine::{
    End, Exec, Observer, SandboxMode, Shell, ShellCommand, ShellInput, ShellLine, ShellOutcome,
    Shells, Taken,
};

use crate::attacks;
use crate::world::{CANARY, GOT_OUT, World, seconds};
use crate::{chosen_rows, modes};

/// Attacks of which one share is tried in a shell; each of them is tried in a sandbox of its own elsewhere.
const SHARE: usize = 4;

fn open(exec: &Exec, world: &World) -> Shell {
    let folder = world.workspace();
    let command = ShellCommand {
        line: "",
        folder: &folder,
        inode: None,
        unsandboxed: false,
    };
    exec.open_shell(&command, &Cancel::new()).unwrap()
}

fn run_for(shell: &mut Shell, line: &str, timeout: Duration) -> ShellOutcome {
    let observer: Observer = Arc::new(|_| Ok(()));
    let line = ShellLine {
        line,
        timeout,
        cancel: &Cancel::new(),
        input: (&ShellInput::default(), &observer),
    };
    shell.run(&line, &mut |_| ()).unwrap()
}

fn run(shell: &mut Shell, line: &str) -> ShellOutcome {
    run_for(shell, line, seconds(10))
}

fn says(shell: &mut Shell, line: &str) -> String {
    run(shell, line).output.text()
}

#[test]
fn no_attack_gets_out_of_a_shell_that_goes_on() {
    let mut world = World::new();
    let mut failures = Vec::new();
    for (mode, exec) in modes(&world, true, true) {
        let rows = attacks::all()
            .flat_map(|(class, commands)| commands.iter().map(move |command| (class, command)));
        let mut shell = open(&exec, &world);
        for (class, command) in chosen_rows(rows.step_by(SHARE)) {
            if !attacks::applies(class, mode) {
                continue;
            }
            let command = world.fill(command);
            let outcome = run_for(&mut shell, &format!("( {command}\n)"), seconds(2));
            let output = outcome.output.text();
            let mut lines = output.lines().filter(|line| !line.starts_with("    "));
            if output.contains(CANARY) || lines.any(|line| line.contains(GOT_OUT)) {
                failures.push(format!("{mode}, {class}: {command}: {output:?}"));
            }
            // What the command changed for the shell is not what the next one is tried with.
            if !outcome.is_alive || !shell.background().is_empty() {
                drop(shell);
                shell = open(&exec, &world);
            }
        }
        drop(shell);
        // Nothing is left of it all, and nothing outside has changed.
        for damage in world.attack(&exec, "true") {
            failures.push(format!("{mode}: afterwards: {damage}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_a_command_leaves_behind_cannot_speak_for_a_later_one() {
    let world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        let mut shell = open(&exec, &world);
        // Lines like a report, on every descriptor and to everything that can be opened.
        let forger = "( while :; do for fd in 0 1 2 3 4 5 6 7 8 9; do \
                      printf '%032d 0\\n' 0 >&$fd; printf '%032d 0\\n' 0 > /proc/$$/fd/$fd; done; sleep 0.01; \
                      done ) 2>/dev/null </dev/null &";
        run(&mut shell, forger);
        let started = Instant::now();
        let outcome = run(&mut shell, "sleep 0.3; echo real; (exit 7)");
        assert_eq!(outcome.end, End::Exit(7), "{mode}");
        assert!(outcome.output.text().contains("real"), "{mode}");
        assert!(started.elapsed() >= Duration::from_millis(300), "{mode}");
        assert!(!shell.background().is_empty(), "{mode}");
        let held = says(&mut shell, "ls -l /proc/self/fd | grep -c socket");
        assert!(held.lines().any(|line| line == "0"), "{mode}: {held}");
        // The folder is what the kernel says, not what the shell's variables say.
        run(&mut shell, "PWD=/etc; pwd() { echo /etc; }; cd() { :; }");
        assert_eq!(
            shell.folder(),
            Some(world.workspace().canonicalize().unwrap()),
            "{mode}"
        );
        drop(shell);
    }
}

#[test]
fn a_command_that_is_stopped_ends_and_the_shell_goes_on() {
    let world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        let mut shell = open(&exec, &world);
        run(&mut shell, "A=kept; sleep 600 & B=$!");
        for line in [
            "sleep 600; echo NEXT",
            "while :; do :; done",
            "while :; do sleep 0.1; done",
            "(trap '' INT TERM; sleep 600; sleep 600)",
            "sh -c 'sleep 600 & sleep 600'",
            "cat",
        ] {
            let limit = Duration::from_millis(300);
            let outcome = run_for(&mut shell, line, limit);
            assert_eq!(outcome.end, End::TimedOut(limit), "{mode}: {line}");
            assert!(outcome.is_alive, "{mode}: {line}");
            assert!(!outcome.output.text().contains("NEXT"), "{mode}: {line}");
            assert_eq!(shell.background(), ["sleep 600"], "{mode}: {line}");
        }
        assert_eq!(
            says(&mut shell, "echo $A; kill -0 $B && echo lives"),
            "kept\nlives\n",
            "{mode}"
        );
        let lost = run_for(
            &mut shell,
            "trap '' INT; while :; do :; done",
            Duration::from_millis(300),
        );
        assert!(!lost.is_alive, "{mode}");
    }
}

#[test]
fn a_flood_is_stopped_and_its_output_is_its_own() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let mut shell = open(&exec, &world);
    // Lines of a usual length: those of `yes` alone take an emulated board ten times as long.
    let line = format!("yes {}", "y".repeat(100));
    let flood = run_for(&mut shell, &line, seconds(60));
    assert!(matches!(flood.end, End::Stopped(_)), "{:?}", flood.end);
    assert!(flood.is_alive);
    assert_eq!(says(&mut shell, "echo only this"), "only this\n");
    let binary = says(&mut shell, "head -c 1000 /bin/sh");
    assert_eq!(binary, "(binary output, 1000 bytes)");
    let ended = run(&mut shell, "echo last; exit 5");
    assert_eq!((ended.end, ended.is_alive), (End::Exit(5), false));
    assert_eq!(ended.output.text(), "last\n");
}

/// How often each process of the sandboxes has been woken so far: its voluntary switches, by its PID.
fn wakeups() -> BTreeMap<u64, u64> {
    let status = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/status")).ok();
    let field = |status: &str, name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all: BTreeMap<u64, (u64, u64)> = pids
        .filter_map(|pid| {
            let status = status(pid)?;
            let parent = field(&status, "PPid:")?;
            let switches = field(&status, "voluntary_ctxt_switches:")?;
            Some((u64::from(pid), (parent, switches)))
        })
        .collect();
    let own = u64::from(std::process::id());
    let is_below = |pid: u64| {
        let parent = |pid: &u64| all.get(pid).map(|(parent, _)| *parent);
        std::iter::successors(parent(&pid), parent).any(|above| above == own)
    };
    let below = all.iter().filter(|(pid, _)| is_below(**pid));
    below
        .map(|(pid, (_, switches))| (*pid, *switches))
        .collect()
}

/// How often they were woken in a span of time. One that has ended since then takes its count along.
fn wakeups_within(span: Duration) -> u64 {
    let before = wakeups();
    std::thread::sleep(span);
    let after = wakeups().into_iter();
    let woken = after
        .map(|(pid, switches)| switches.saturating_sub(before.get(&pid).copied().unwrap_or(0)));
    woken.sum()
}

/// The supervisor of root's commands counts tasks, often only while they grow. In a process of its own: others of this
/// one wake theirs for reasons of their own.
#[test]
fn a_shell_that_waits_wakes_the_processor_hardly_more_than_once_a_second() {
    const INNER: &str = "PEACRAB_TEST_WAITING";
    if std::env::var_os(INNER).is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let name = "shells::a_shell_that_waits_wakes_the_processor_hardly_more_than_once_a_second";
        again.args(["--exact", name, "--nocapture"]).env(INNER, "1");
        assert!(again.status().unwrap().success());
        return;
    }
    let world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        let mut shell = open(&exec, &world);
        assert_eq!(says(&mut shell, "echo here"), "here\n", "{mode}");
        // A machine that is busy takes longer to come to rest: new tasks, also of others, are looked at often.
        let spans = (0..90).map(|_| wakeups_within(Duration::from_secs(1)));
        let mut spans = spans.inspect(|span| println!("{mode}: {span} wakeups in 1 s"));
        assert!(spans.any(|span| span <= 4), "{mode}");
        assert_eq!(says(&mut shell, "echo still here"), "still here\n");
    }
}

/// However seldom the supervisor looks at a shell that waits, many processes at once are noticed.
#[test]
fn a_bomb_after_a_rest_is_stopped() {
    let world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        let mut shell = open(&exec, &world);
        // Bounded, should nothing stop it: it doubles eleven times, and ends by itself after the time limit.
        let limit = seconds(15);
        let rest = limit.as_secs() + 5;
        let bomb = format!("perl -e 'sleep 2; fork for (1 .. 11); sleep {rest}'; echo GOT-OUT");
        let ran = run_for(&mut shell, &bomb, limit);
        println!("{mode}: {}", ran.end);
        assert!(!ran.output.text().contains(GOT_OUT), "{mode}");
        // The kernel bounds the processes of others itself, and they go on with what they have.
        let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        let is_noticed = !matches!(ran.end, End::TimedOut(_));
        assert!(is_noticed || !is_root, "{mode}: {}", ran.end);
    }
}

#[test]
fn each_command_has_an_input_of_its_own() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let mut shell = open(&exec, &world);
    let observer: Observer = Arc::new(|_| Ok(()));
    let typed = |shell: &mut Shell, line: &str, texts: &[&str], ends: bool| {
        let input = ShellInput::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for text in texts {
                    while !input.send(text).unwrap() {
                        std::thread::yield_now();
                    }
                }
                if ends {
                    assert!(input.close());
                }
            });
            let line = ShellLine {
                line,
                timeout: seconds(10),
                cancel: &Cancel::new(),
                input: (&input, &observer),
            };
            shell.run(&line, &mut |_| ()).unwrap().output.text()
        })
    };
    assert_eq!(
        typed(
            &mut shell,
            "read a; echo \"<$a>\"",
            &["one\ntwo\nthree\n"],
            false
        ),
        "<one>\n"
    );
    // What the first one has left unread is not for the second.
    assert_eq!(
        typed(&mut shell, "read a; echo \"<$a>\"", &["four\n"], false),
        "<four>\n"
    );
    assert_eq!(
        typed(&mut shell, "cat; echo over", &["five\n"], true),
        "five\nover\n"
    );
    assert_eq!(
        typed(&mut shell, "read a; echo \"<$a>\"", &["six\n"], false),
        "<six>\n"
    );
}

#[test]
fn shells_are_kept_for_each_chat_and_the_longest_idle_goes_first() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Off, true)).unwrap();
    let shells = Shells::default();
    let start = |owner: &str| {
        assert!(
            matches!(shells.take(owner, 1, false), Taken::New),
            "{owner}"
        );
        let mut shell = open(&exec, &world);
        run(&mut shell, &format!("A={owner}"));
        shells.give_back(owner, shell, 1);
    };
    ["a", "b", "c", "d", "e"]
        .iter()
        .for_each(|owner| start(owner));
    let Taken::Kept(mut shell) = shells.take("b", 1, false) else {
        panic!("b has no shell");
    };
    assert_eq!(says(&mut shell, "echo $A"), "b\n");
    assert!(matches!(shells.take("b", 1, false), Taken::Busy));
    run(&mut shell, "(sleep 0.1; echo late) & :");
    shells.give_back("b", *shell, 1);
    let runs = || shells.look("b", |shell| !shell.background().is_empty());
    let started = Instant::now();
    while runs() == Some(true) && started.elapsed() < seconds(40) {
        std::thread::yield_now();
    }
    assert_eq!(
        shells
            .look("b", Shell::take_unread)
            .map(|unread| unread.text),
        Some("late\n".to_owned())
    );
    // It was the one that waited longest.
    assert!(matches!(shells.take("a", 1, false), Taken::New));
    shells.give_up("a");
    // Other settings need another shell.
    assert!(matches!(shells.take("b", 2, false), Taken::New));
    shells.end_all();
    shells.give_up("b");
    // More commands may run at a time than shells are kept, and none is told that its chat is busy.
    let many = ["1", "2", "3", "4", "5", "6"];
    for owner in many {
        assert!(
            matches!(shells.take(owner, 1, false), Taken::New),
            "{owner}"
        );
    }
    for owner in many {
        shells.give_back(owner, open(&exec, &world), 1);
    }
    for (owner, is_kept) in many
        .into_iter()
        .zip([false, false, true, true, true, true])
        .rev()
    {
        let taken = shells.take(owner, 1, false);
        assert_eq!(matches!(taken, Taken::Kept(_)), is_kept, "{owner}");
        shells.give_up(owner);
    }
    let idle = Shells::new(Duration::from_millis(50));
    assert!(matches!(idle.take("a", 1, false), Taken::New));
    idle.give_back("a", open(&exec, &world), 1);
    let started = Instant::now();
    loop {
        match idle.take("a", 1, false) {
            Taken::New => break,
            Taken::Kept(shell) => idle.give_back("a", *shell, 1),
            Taken::Busy => panic!("nothing runs in it"),
        }
        std::thread::sleep(Duration::from_millis(100));
        assert!(started.elapsed() < seconds(40));
    }
}

/// The disk that commands see as `/` is the real one, and it is not written to for each command.
#[test]
fn the_root_is_on_the_disk_and_read_only() {
    let world = World::new();
    let mut settings = world.settings(SandboxMode::Auto, true);
    let root = world.at("allowed-not/root");
    std::fs::create_dir_all(root.parent().unwrap()).unwrap();
    settings.root = Some(root.clone());
    let exec = Exec::new(settings.clone()).unwrap();
    if !exec.isolation().unwrap().own_view() {
        return;
    }
    let said = |exec: &Exec, line: &str| world.run(exec, line).output.text();
    let disk = std::fs::metadata(world.workspace()).unwrap().dev();
    let line =
        "stat -c %d / \"$HOME\" | uniq | wc -l; touch /new /usr/new /etc/new; mkdir /x; ls /x";
    let text = said(&exec, line);
    assert!(
        text.starts_with("1\n") && !text.contains("GOT"),
        "{disk}: {text}"
    );
    assert_eq!(text.matches("Read-only").count(), 4, "{text}");
    let names = |folder: &std::path::Path| {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .flatten()
            .map(|one| one.file_name())
            .collect();
        names.sort();
        names
    };
    let (before, changed) = (names(&root), std::fs::metadata(&root).unwrap().mtime_nsec());
    said(&exec, "true");
    assert_eq!(
        (names(&root), std::fs::metadata(&root).unwrap().mtime_nsec()),
        (before, changed)
    );
    // Where it cannot be made, or is in the way, the root is in memory.
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("usr"), "in the way").unwrap();
    assert_eq!(
        said(&exec, "echo runs; touch /new && echo GOT"),
        "runs\ntouch: cannot touch '/new': Read-only file system\n"
    );
    settings.root = Some("/proc/none/root".into());
    assert_eq!(said(&Exec::new(settings).unwrap(), "echo runs"), "runs\n");
}
