//! Commands on a terminal: they have what a terminal gives, and get no further than others.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use peacrab::base::cancel::Cancel;
use peacrab::sandbox::confine::{End, Exec, SandboxMode, ShellCommand, Terminal, TerminalRequest};
use peacrab::sys::pty::{self, Size};
use rustix::pipe::pipe;

use super::world::{World, seconds};
use super::{attacks, chosen_rows, feature, modes};

const SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// What programs do with a terminal, and what they show then.
const WORK: &[(&str, &str)] = &[
    ("tty", "/dev/pts/"),
    ("stty size", "24 80"),
    (
        "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all three",
        "all three",
    ),
    (
        "echo said to the terminal > /dev/tty",
        "said to the terminal",
    ),
    ("echo \"$TERM.\"", "xterm"),
    ("echo \"[${COLUMNS-none}${LINES-none}]\"", "[nonenone]"),
    ("stty -a | grep -o iutf8", "iutf8"),
    // Job control: a shell may put a program into the foreground, and gets back what it stops.
    ("bash -ic 'sleep 0.01 & fg; echo over $?' 2>&1", "over 0"),
    (
        "set -m; sh -c 'kill -STOP $$' & wait $!; jobs; kill -KILL %1",
        "topped",
    ),
    (
        "set -m; (kill -TERM 0; echo not here); echo went on",
        "went on",
    ),
    (
        "perl -e 'print -t STDIN ? \"a terminal\" : \"none\"'",
        "a terminal",
    ),
    (
        "python3 -c 'import os; print(os.get_terminal_size().columns)'",
        "80",
    ),
    ("ps -o tty= -p $$", "pts"),
    ("exit 7", ""),
];

/// The programs of these that a board may lack.
const PROGRAMS: &[&str] = &["bash", "perl", "python3", "stty"];

/// Attempts to get further by means of a terminal. `{tty}` is a terminal of somebody else.
const ATTACKS: &[&str] = &[
    "perl -e 'ioctl(STDIN, 0x5412, q(x)) and print q(GOT-OUT)'",
    "perl -e 'open(T, q(+<), q(/dev/tty)) or die; ioctl(T, 0x5412, q(x)) and print q(GOT-OUT)'",
    "perl -e 'my $s = pack(q(C), 3); ioctl(STDIN, 0x541c, $s) and print q(GOT-OUT)'",
    "perl -e 'my $d = pack(q(i), 2); ioctl(STDIN, 0x5423, $d) and print q(GOT-OUT)'",
    "perl -e 'my $n = q(0); syscall(16, 0, 0x5412, $n) == 0 and print q(GOT-OUT)'",
    // Its upper half is no part of the request.
    "perl -e 'my $n = q(0); syscall(16, 0, 0x100005412, $n) == 0 and print q(GOT-OUT)'",
    "echo typed > {tty}; cat < {tty} & sleep 0.2",
    "perl -e 'open(T, q(+>), q({tty})) and syswrite(T, q(typed))'",
    "perl -MPOSIX -e 'fork and exit; setsid; open(T, q(+<), q({tty})) and ioctl(T, 0x540e, 0); syswrite(T, q(typed))'",
    "for one in /dev/pts/* /proc/{victim}/fd/* /proc/{daemon}/fd/*; do echo typed > \"$one\"; done",
    "for one in /dev/tty0 /dev/tty1 /dev/console /dev/ttyS0 /dev/vcs /dev/vcsa; do : < $one && echo GOT-OUT; done",
    "for one in /proc/self/fd/*; do [ ${one##*/} -gt 2 ] && readlink $one | grep -E 'socket|pipe|ptmx' && echo GOT-OUT; done",
    "setsid sh -c 'trap \"\" HUP TERM INT; sleep 600' & sleep 0.1",
    "nohup sleep 600 & exit",
    "(trap '' HUP; setsid sleep 600 < /dev/null > /dev/null 2>&1 &) & sleep 0.1",
    "kill -HUP $PPID; kill -0 $PPID && [ $PPID -gt 1 ] && echo GOT-OUT",
    "cat {secret}; cat {home}/.peacrab/config.json",
    "sudo -n true && echo GOT-OUT; grep -q 'NoNewPrivs:.0' /proc/self/status && echo GOT-OUT",
    "python3 -c 'import pty, os; pid, fd = pty.fork(); pid == 0 and os.execlp(\"cat\", \"cat\", \"{secret}\"); print(os.read(fd, 1000))'",
];

/// A command on a terminal, until it has ended; `typed` is typed once the screen shows the word before it.
fn run(exec: &Exec, world: &World, line: &str, typed: &[(&str, &str)]) -> (String, End) {
    let line = world.fill(line);
    let folder = world.workspace();
    let terminal = open(exec, &line, &folder, false);
    let (wake, _held) = pipe().unwrap();
    follow(terminal, &wake, typed)
}

fn open(exec: &Exec, line: &str, folder: &std::path::Path, unsandboxed: bool) -> Terminal {
    let request = TerminalRequest {
        command: ShellCommand {
            line,
            folder,
            inode: None,
            unsandboxed,
        },
        size: SIZE,
    };
    let opened = exec.open_terminal(&request, &Cancel::new());
    opened.unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn follow(
    mut terminal: Terminal,
    wake: &impl std::os::fd::AsFd,
    typed: &[(&str, &str)],
) -> (String, End) {
    let (mut output, mut buffer) = (Vec::new(), [0; 4096]);
    let mut waiting = typed.iter();
    let mut next = waiting.next();
    let mut input: &[u8] = b"";
    let (started, mut is_stopped) = (Instant::now(), false);
    // What is typed is an answer, for which a busy machine needs time; an attack may go on for ever.
    let time_to_run = if typed.is_empty() {
        seconds(4)
    } else {
        seconds(30)
    };
    loop {
        let time = Some(Duration::from_millis(100));
        let event = terminal.wait((&mut buffer, input), wake.as_fd(), time);
        let event = event.unwrap();
        output.extend_from_slice(&buffer[..event.length]);
        input = &input[event.typed..];
        if event.closed {
            break;
        }
        if let Some((shown, keys)) = next
            && String::from_utf8_lossy(&output).contains(shown)
        {
            input = keys.as_bytes();
            next = waiting.next();
        }
        if !is_stopped && (started.elapsed() > time_to_run || output.len() > 1_000_000) {
            is_stopped = true;
            terminal.terminate();
        }
        assert!(started.elapsed() < seconds(60), "it does not end");
    }
    let output = String::from_utf8_lossy(&output).into_owned();
    (output, terminal.end(None))
}

#[test]
fn a_terminal_is_what_programs_expect_of_one() {
    let world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        for (line, expected) in chosen_rows(WORK.iter()) {
            let programs = PROGRAMS.iter().copied();
            let missing = attacks::missing(programs.filter(|program| line.contains(program)));
            let found = missing.is_empty().then_some(());
            if !feature::has("work", found.ok_or(format!("{missing:?} is missing"))) {
                continue;
            }
            let (output, end) = run(&exec, &world, line, &[]);
            assert!(
                output.contains(expected),
                "{mode}: {line}: {output:?} {end}"
            );
            if *line == "exit 7" {
                assert_eq!(end, End::Exit(7), "{mode}");
            }
        }
        let typed = [
            ("$ ", "echo be''gins; cat\r"),
            ("begins\r\n", "to cat\r"),
            ("to cat\r\nto cat", "\x03"),
            ("^C\r\n$ ", "echo a''b; exit 3\r"),
        ];
        let (output, end) = run(&exec, &world, "PS1='$ ' exec sh -i", &typed);
        assert!(output.contains("ab"), "{mode}: {output:?}");
        assert_eq!(end, End::Exit(3), "{mode}: {output:?}");
        let line = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done";
        assert!(resized(&exec, &world, line).contains("20 40"), "{mode}");
    }
}

/// What a program writes that learns of another size.
fn resized(exec: &Exec, world: &World, line: &str) -> String {
    let mut terminal = open(exec, line, &world.workspace(), false);
    let keyboard = terminal.keyboard().unwrap();
    let (wake, _held) = pipe().unwrap();
    let (mut output, mut buffer) = (String::new(), [0; 4096]);
    while !output.contains("ready") {
        let event = terminal.wait((&mut buffer, b""), std::os::fd::AsFd::as_fd(&wake), None);
        output += &String::from_utf8_lossy(&buffer[..event.unwrap().length]);
    }
    keyboard
        .resize(Size {
            columns: 40,
            rows: 20,
        })
        .unwrap();
    follow(terminal, &wake, &[]).0
}

#[test]
fn a_program_that_hides_its_input_is_noticed() {
    let world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        let line = "read go; stty -echo; echo ask; read x; stty echo; echo \"[$x]\"";
        let mut terminal = open(&exec, line, &world.workspace(), false);
        let keyboard = terminal.keyboard().unwrap();
        assert!(!keyboard.hides_input() || mode.is_empty());
        let (wake, _held) = pipe().unwrap();
        let (mut output, mut buffer) = (String::new(), [0; 4096]);
        let mut input: &[u8] = b"\r";
        while !output.contains("ask") {
            let event = terminal.wait((&mut buffer, input), std::os::fd::AsFd::as_fd(&wake), None);
            let event = event.unwrap();
            output += &String::from_utf8_lossy(&buffer[..event.length]);
            input = &input[event.typed..];
        }
        assert!(keyboard.hides_input(), "{mode}");
        let (rest, _) = follow(terminal, &wake, &[("", "secret\r")]);
        assert_eq!(rest.matches("secret").count(), 1, "{mode}: {rest:?}");
        assert!(rest.contains("[secret]"), "{mode}: {rest:?}");
    }
}

#[test]
fn no_attack_by_means_of_a_terminal_gets_out() {
    let mut world = World::new();
    let theirs = pty::open(SIZE).unwrap();
    rustix::io::ioctl_fionbio(&theirs.master, true).unwrap();
    let mut shown = File::from(theirs.master);
    let tty: PathBuf = theirs.path;
    let mut failures = Vec::new();
    for (mode, exec) in modes(&world, true, true) {
        for command in chosen_rows(ATTACKS.iter()) {
            let line = command.replace("{tty}", &tty.display().to_string());
            let started = Instant::now();
            let (output, _) = run(&exec, &world, &line, &[]);
            let mut damage = world.judge(&output, started);
            let mut buffer = [0; 100];
            if let Ok(length) = shown.read(&mut buffer) {
                damage.push(format!("{length} bytes came to another terminal"));
            }
            if !damage.is_empty() {
                failures.push(format!("{mode}: {command}: {damage:?}"));
            }
        }
    }
    // Without a sandbox it is reached, so the attempts are real ones.
    let exec = Exec::new(world.settings(SandboxMode::Off, true)).unwrap();
    run(
        &exec,
        &world,
        &format!("echo typed > {}", tty.display()),
        &[],
    );
    let mut buffer = [0; 100];
    assert!(shown.read(&mut buffer).unwrap() > 0);
    drop(theirs.slave);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_is_on_a_terminal_ends_with_it() {
    let mut world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        let started = Instant::now();
        let folder = world.workspace();
        let line = "trap '' HUP TERM INT; setsid sleep 600 & (sleep 600 &); sleep 600";
        let terminal = open(&exec, line, &folder, false);
        drop(terminal);
        let damage = world.judge("", started);
        assert!(damage.is_empty(), "{mode}: {damage:?}");
    }
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let folder = world.workspace();
    let terminal = open(
        &exec,
        "echo $(tty) $TERM; exec sh -c 'exit 4'",
        &folder,
        true,
    );
    let (wake, _held) = pipe().unwrap();
    let (output, end) = follow(terminal, &wake, &[]);
    assert!(
        output.contains("/dev/pts/") && output.contains("xterm"),
        "{output:?}"
    );
    assert_eq!(end, End::Exit(4));
}
