//! Runs commands that try to escape from the sandbox, in every mode that this machine supports.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail by panicking"
)]

mod attacks;
#[path = "../harness/feature.rs"]
mod feature;
mod links;
mod memory;
mod network;
mod paths;
mod refused;
mod served;
mod shells;
mod terminal;
mod world;

use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use attacks::files::ATTRIBUTE_ATTACKS;
use attacks::processes::NETWORK_ATTACKS;
use attacks::work::{CARGO, CRATE, PROGRAMS, REFUSED, WORK};
use peacrab::base::access::Role;
use peacrab::base::cancel::Cancel;
use peacrab::sandbox::confine::{
    End, Exec, HOOKED, OutputChunk, SandboxMode, SessionEvent, SessionStart, Sessions,
    ShellCommand, Step,
};
use world::{CANARY, GOT_OUT, World, seconds};

/// Each kind of isolation, and the newest version of Landlock that is used. Its older versions
/// leave gaps that the filter must close.
const MODES: [(&str, SandboxMode, u32); 5] = [
    ("all that works", SandboxMode::Auto, u32::MAX),
    ("namespaces", SandboxMode::Namespaces, u32::MAX),
    ("Landlock", SandboxMode::Landlock, u32::MAX),
    ("Landlock 3", SandboxMode::Landlock, 3),
    ("Landlock 1", SandboxMode::Landlock, 1),
];

/// The variable that names the modes to try, separated by commas; otherwise all. An emulated board takes
/// minutes for each, and has kernels without Landlock and without namespaces of its own.
const ONLY: &str = "PEACRAB_TEST_MODES";

/// The modes to try. A name that does not exist is an error, or nothing would be tried.
fn chosen_modes() -> Vec<(&'static str, SandboxMode, u32)> {
    let Ok(names) = std::env::var(ONLY) else {
        return MODES.to_vec();
    };
    let chosen = names.split(',').map(|name| {
        let found = MODES.iter().find(|(mode, ..)| *mode == name.trim());
        *found.unwrap_or_else(|| panic!("{ONLY}: there is no mode {name}"))
    });
    chosen.collect()
}

/// The variable with the share of each table to try, such as `3/7`: an emulated board needs a second for each row.
const SHARE: &str = "PEACRAB_TEST_SHARE";

/// The rows of a table to try.
fn chosen_rows<T>(rows: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let share = std::env::var(SHARE).unwrap_or("0/1".to_owned());
    let (number, count) = share.split_once('/').unwrap();
    let (number, count): (usize, usize) = (number.parse().unwrap(), count.parse().unwrap());
    rows.skip(number).step_by(count)
}

/// Whether a mode works here. It must, unless the machine lacks what it needs.
fn works(exec: &Exec, mode: SandboxMode) -> bool {
    let feature = match mode {
        SandboxMode::Namespaces => "namespaces",
        SandboxMode::Landlock => "landlock",
        SandboxMode::Auto | SandboxMode::Off => "a sandbox",
    };
    feature::has(feature, exec.isolation().map(drop))
}

/// The name of a mode, or of what is left of it here: where only one kind of isolation works, all that works is that one.
fn named(mode: &'static str, exec: &Exec) -> &'static str {
    let Ok(isolation) = exec.isolation() else {
        return mode;
    };
    match (mode, isolation.own_view(), isolation.landlock) {
        ("all that works", false, _) => "Landlock",
        ("all that works", true, 0) => "namespaces",
        _ => mode,
    }
}

/// The modes that this machine supports.
fn modes(world: &World, network: bool, protect: bool) -> Vec<(&'static str, Exec)> {
    let mut found = Vec::new();
    for (name, choice, version) in chosen_modes() {
        let mut settings = world.settings(choice, network);
        if !protect {
            // With Landlock alone, folders that contain a protected path cannot get new entries.
            settings.protect.clear();
        }
        let exec = Exec::new(settings).unwrap().with_landlock_at_most(version);
        if works(&exec, choice) {
            found.push((named(name, &exec), exec));
        }
    }
    assert!(!found.is_empty(), "no mode works here");
    found
}

#[test]
fn no_attack_gets_out() {
    let mut world = World::new();
    let mut failures = Vec::new();
    for (mode, exec) in modes(&world, true, true) {
        let rows = attacks::all()
            .flat_map(|(class, commands)| commands.iter().map(move |command| (class, command)));
        for (class, command) in chosen_rows(rows) {
            if !attacks::applies(class, mode) {
                continue;
            }
            for damage in world.attack(&exec, command) {
                failures.push(format!("{mode}, {class}: {command}: {damage}"));
            }
        }
    }
    let count: usize = attacks::all().map(|(_, commands)| commands.len()).sum();
    assert!(count >= 310, "{count}");
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn in_a_view_of_its_own_a_command_cannot_touch_what_is_not_there() {
    let mut world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        if exec.isolation().unwrap().own_view() {
            for command in ATTRIBUTE_ATTACKS {
                let damage = world.attack(&exec, command);
                assert!(damage.is_empty(), "{mode}: {command}: {damage:?}");
            }
        }
    }
}

#[test]
fn who_sees_everything_still_does_not_see_what_is_hidden() {
    let world = World::new();
    for (mode, choice, version) in chosen_modes() {
        let mut settings = world.settings(choice, true);
        settings.whole = true;
        settings.protect.push(world.at("outside/victim"));
        let exec = Exec::new(settings).unwrap().with_landlock_at_most(version);
        if !works(&exec, choice) {
            continue;
        }
        let text = |command: &str| world.run(&exec, command).output.text();
        assert!(text("cat {secret}").contains(CANARY), "{mode}");
        assert!(text("ls /").contains("usr"), "{mode}");
        assert!(
            text("cp {secret} {allowed}/copy && rm {allowed}/copy && echo done").contains("done"),
            "{mode}"
        );
        for command in [
            "cat {home}/.peacrab/config.json",
            "echo x > {outside}/victim/file && echo GOT-OUT",
            "touch {outside}/victim/new && echo GOT-OUT",
            "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern && echo GOT-OUT",
            "mount -t tmpfs x /mnt && echo GOT-OUT",
            "perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); listen(S, 1) and print \"GOT-OUT\"'",
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un(q({outside}/service.sock))) and print \"GOT-OUT\"'",
        ] {
            let said = text(command);
            assert!(
                !said.contains(CANARY) && !said.contains(GOT_OUT),
                "{mode}: {command}: {said}"
            );
        }
    }
}

#[test]
fn nothing_reaches_the_network_when_it_is_off() {
    let mut world = World::new();
    for (mode, exec) in modes(&world, false, true) {
        for command in chosen_rows(attacks::network()) {
            let damage = world.attack(&exec, command);
            assert!(damage.is_empty(), "{mode}: {command}: {damage:?}");
        }
    }
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let damage = world.attack(&exec, NETWORK_ATTACKS[0]);
    assert!(!damage.is_empty(), "with the network on it is reached");
}

#[test]
fn plain_work_goes_through() {
    let world = World::new();
    for network in [true, false] {
        for (mode, exec) in modes(&world, network, false) {
            for (command, expected) in chosen_rows(WORK.iter()) {
                let outcome = world.run_for(&exec, command, WORK_TIME);
                let text = outcome.output.text();
                world.clean();
                assert!(
                    text.contains(expected),
                    "{mode}: {command}: {text:?} {}",
                    outcome.end
                );
            }
        }
    }
}

/// How long a compiler or an interpreter may take on a busy machine.
const WORK_TIME: Duration = Duration::from_secs(30);

#[test]
fn programs_do_their_work() {
    let world = World::new();
    let missing = attacks::missing(PROGRAMS.iter().map(|(program, ..)| *program));
    let mut failures = Vec::new();
    // Older versions of Landlock allow the same, and compilers take their time.
    let newest = modes(&world, true, false).into_iter();
    for (mode, exec) in newest.filter(|(mode, _)| !mode.starts_with("Landlock ")) {
        for (program, command, expected) in chosen_rows(PROGRAMS.iter()) {
            if missing.contains(program) {
                continue;
            }
            let outcome = world.run_for(&exec, command, WORK_TIME);
            let text = outcome.output.text();
            world.clean();
            let refused = REFUSED.iter().any(|(name, mode_begins, says)| {
                name == program && mode.starts_with(mode_begins) && text.contains(says)
            });
            if !text.contains(expected) && !refused {
                failures.push(format!("{mode}: {command}: {text:?} {}", outcome.end));
            }
        }
    }
    let count = PROGRAMS
        .iter()
        .filter(|row| !missing.contains(&row.0))
        .count();
    let found = (count >= 40).then_some(());
    let why = format!("only {count} of them, because these are missing: {missing:?}");
    feature::has("work", found.ok_or(why));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Rust's toolchain is in an account's home: it works as a read-only folder if the account may read it.
#[test]
fn a_crate_is_built_with_a_toolchain_that_may_be_read() {
    let world = World::new();
    let cargo = std::path::Path::new(env!("CARGO"));
    let toolchain = cargo.ancestors().nth(2).unwrap();
    let mut settings = world.settings(SandboxMode::Auto, true);
    settings.read.push(toolchain.to_owned());
    // A compiler needs more than the limits for the attacks.
    settings.bounds.memory_bytes = 2 * 1024 * 1024 * 1024;
    settings.bounds.file_bytes = 256 * 1024 * 1024;
    settings.protect.clear();
    let command = CARGO.replace("{toolchain}", &toolchain.display().to_string());
    for (mode, choice, version) in chosen_modes() {
        settings.mode = choice;
        let exec = Exec::new(settings.clone())
            .unwrap()
            .with_landlock_at_most(version);
        if !works(&exec, choice) {
            continue;
        }
        let text = world.run_for(&exec, &format!("{CRATE} && {command}"), WORK_TIME);
        let text = text.output.text();
        world.clean();
        let reachable = std::fs::metadata(cargo).is_ok();
        // Where the folders above it are to be seen, the shell says that they are closed.
        let says = ["not found", "Permission denied"];
        let refused = !reachable && says.iter().any(|says| text.contains(says));
        assert!(text.contains("built") || refused, "{mode}: {text}");
    }
}

/// An attack whose program is missing proves nothing.
#[test]
fn the_programs_of_the_attacks_are_here() {
    let (missing, count) = attacks::programs();
    let found = (count >= 220).then_some(());
    let why = format!("only {count} attacks have theirs, because these are missing: {missing:?}");
    feature::has("programs", found.ok_or(why));
}

/// If a step can be left out unnoticed, it may not work at all.
#[test]
fn each_step_is_needed() {
    let mut world = World::new();
    let leaked = rustix::io::fcntl_dupfd_cloexec(
        std::fs::File::open(world.at("outside/secret")).unwrap(),
        100,
    )
    .unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let leak = "cat /proc/self/fd/1?? < /dev/null; cat <&100".to_owned();
    let steps = [
        (
            Step::Namespaces,
            SandboxMode::Namespaces,
            "cat {secret}".to_owned(),
        ),
        (
            Step::FileRights,
            SandboxMode::Landlock,
            "cat {secret}".to_owned(),
        ),
        (
            Step::SystemCalls,
            SandboxMode::Landlock,
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) and print \"GOT-OUT\"'"
                .to_owned(),
        ),
        (Step::Descriptors, SandboxMode::Namespaces, leak),
        (
            Step::Limits,
            SandboxMode::Auto,
            "head -c 30000000 /dev/zero > big; [ $(stat -c %s big) -gt 9000000 ] && echo GOT-OUT"
                .to_owned(),
        ),
        (
            Step::Sweep,
            SandboxMode::Landlock,
            "setsid sleep 600 > /dev/null 2>&1 & sleep 0.1".to_owned(),
        ),
        (
            Step::Capabilities,
            SandboxMode::Landlock,
            "nice -n -5 true 2>&1 | grep -q . || echo GOT-OUT".to_owned(),
        ),
    ];
    for (step, choice, command) in steps {
        let settings = world.settings(choice, true);
        let whole = Exec::new(settings.clone()).unwrap();
        // An ordinary user has no capabilities to drop.
        let applies = step != Step::Capabilities || rustix::process::getuid().is_root();
        if !applies || !works(&whole, choice) {
            continue;
        }
        assert_eq!(world.attack(&whole, &command), [""; 0], "{step:?}");
        let cut = Exec::new(settings).unwrap().without(step);
        assert!(
            !world.attack(&cut, &command).is_empty(),
            "{step:?} is not needed for {command}"
        );
    }
}

#[test]
fn the_self_test_holds_and_notices_a_missing_wall() {
    let world = World::new();
    for network in [true, false] {
        for (mode, exec) in modes(&world, network, true) {
            let rows = exec.self_test(&world.at("home/.peacrab")).unwrap();
            assert!(rows.len() >= 40, "{rows:?}");
            for row in rows {
                assert!(row.held, "{mode}: {}", row.attempt);
            }
        }
    }
    let open = Exec::new(world.settings(SandboxMode::Off, false)).unwrap();
    let rows = open.self_test(&world.at("home/.peacrab")).unwrap();
    let out = rows.iter().filter(|row| !row.held).count();
    assert!(out >= 25, "{rows:?}");
}

#[test]
#[should_panic(expected = "this test needs a feature: gone")]
fn a_test_is_not_passed_by_being_skipped() {
    feature::has("a feature", Err("gone"));
}

/// The tests run a program with the hooks; `cross/build` refuses one.
#[test]
fn the_hooks_are_in_the_program_for_tests_and_what_is_released_is_searched_for_them() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_peacrab")).unwrap();
    let has = |content: &[u8], text: &str| {
        content
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(has(&program, HOOKED));
    let build = include_bytes!("../../cross/build");
    assert!(has(build, &HOOKED[..HOOKED.len() / 2]));
}

fn job<'a>(command: &'a str, folder: &'a std::path::Path) -> ShellCommand<'a> {
    ShellCommand {
        line: command,
        folder,
        inode: None,
        unsandboxed: false,
    }
}

#[test]
fn output_and_end_are_told() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    for (command, end) in [
        ("exit 3", End::Exit(3)),
        ("kill -TERM $$", End::Signal(15)),
        ("no-such-program", End::Exit(127)),
    ] {
        assert_eq!(world.run(&exec, command).end, end, "{command}");
    }
    let both = world
        .run(&exec, "echo one; echo two >&2; echo three")
        .output
        .text();
    assert_eq!(both, "one\ntwo\nthree\n");
    let binary = world.run(&exec, "head -c 1000 /bin/sh").output.text();
    assert_eq!(binary, "(binary output, 1000 bytes)");
}

#[test]
fn a_large_output_keeps_its_ends_and_goes_on_elsewhere() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let folder = world.workspace();
    let mut spilled = 0;
    let command = "echo first; yes | head -c 3000000 >&2; echo last";
    let outcome = exec
        .run(
            &job(command, &folder),
            seconds(20),
            &Cancel::new(),
            &mut |piece| {
                if let OutputChunk::Whole(bytes) = piece {
                    spilled += bytes.len();
                }
            },
        )
        .unwrap();
    let text = outcome.output.text();
    assert!(text.starts_with("first\n") && text.ends_with("last\n"));
    assert_eq!(spilled, 3_000_000 + 11);
    assert_eq!(outcome.end, End::Exit(0));
}

#[test]
fn a_command_ends_with_its_time_and_with_its_token() {
    let world = World::new();
    for (_, exec) in modes(&world, true, true) {
        let folder = world.workspace();
        let time = Duration::from_millis(200);
        let started = Instant::now();
        let job = job("trap '' TERM; sleep 60 & sleep 60; sleep 60", &folder);
        let outcome = exec.run(&job, time, &Cancel::new(), &mut |_| ()).unwrap();
        assert_eq!(outcome.end, End::TimedOut(time));
        let cancel = Cancel::new();
        let other = cancel.clone();
        let stopper = std::thread::spawn(move || {
            other.wait(Duration::from_millis(200));
            other.cancel();
        });
        let outcome = exec
            .run(&job, Duration::from_secs(60), &cancel, &mut |_| ())
            .unwrap();
        stopper.join().unwrap();
        assert_eq!(outcome.end, End::Cancelled);
        assert!(started.elapsed() < seconds(40), "{:?}", started.elapsed());
    }
}

#[test]
fn a_session_is_written_to_read_and_killed() {
    let world = World::new();
    let folder = world.workspace();
    for (_, exec) in modes(&world, true, true) {
        let sessions = Sessions::default();
        let id = sessions
            .start(
                &exec,
                &of(
                    &job("while read -r x; do echo got $x; done; echo bye", &folder),
                    "a",
                ),
                Arc::new(|_| Ok(())),
            )
            .unwrap();
        sessions.write("a", id, "one\n").unwrap();
        assert_eq!(until(&sessions, id, "got one\n"), "got one\n");
        assert!(
            sessions.read("b", id, &Cancel::new()).is_err(),
            "another owner does not see it"
        );
        assert_eq!(sessions.list("a").len(), 1);
        let killed = sessions.kill("a", id).unwrap();
        assert_eq!(killed.end, Some(End::Cancelled));
        assert!(sessions.list("a").is_empty());
        let flood = sessions
            .start(&exec, &of(&job("yes", &folder), "a"), Arc::new(|_| Ok(())))
            .unwrap();
        let since = loop {
            let since = sessions.read("a", flood, &Cancel::new()).unwrap();
            if since.dropped > 0 || !since.text.is_empty() {
                break since;
            }
            std::thread::yield_now();
        };
        assert!(since.text.len() <= 128 * 1024);
        drop(sessions);
        let left = world.run(&exec, "true");
        assert!(left.end.is_success());
    }
}

#[test]
fn a_session_that_nobody_asks_for_ends() {
    let world = World::new();
    let folder = world.workspace();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let sessions = Sessions::new(Duration::from_millis(100));
    let told = Arc::new(Mutex::new(None));
    let ended = told.clone();
    let observer = Arc::new(move |event: SessionEvent<'_>| {
        if let SessionEvent::Ended(end) = event {
            *ended.lock().unwrap() = Some(end.clone());
        }
        Ok(())
    });
    sessions
        .start(&exec, &of(&job("sleep 600", &folder), "a"), observer)
        .unwrap();
    let started = Instant::now();
    while sessions.list("a")[0].end.is_none() {
        assert!(started.elapsed() < seconds(40));
        std::thread::yield_now();
    }
    let end = sessions.list("a")[0].end.clone();
    assert!(matches!(end, Some(End::Stopped(_))), "{end:?}");
    assert_eq!(*told.lock().unwrap(), end);
}

fn of<'a>(command: &'a ShellCommand<'a>, owner: &'a str) -> SessionStart<'a> {
    SessionStart {
        command,
        terminal: None,
        owner,
        role: Role::Owner,
    }
}

fn until(sessions: &Sessions, id: u32, wanted: &str) -> String {
    let mut text = String::new();
    let started = Instant::now();
    while !text.contains(wanted) && started.elapsed() < seconds(40) {
        text += &sessions.read("a", id, &Cancel::new()).unwrap().text;
        std::thread::yield_now();
    }
    text
}

/// Nor when this program's own caller ignores them: what a script starts in the background ignores interrupts.
#[test]
fn a_command_ignores_no_signal() {
    const INNER: &str = "PEACRAB_TEST_IGNORING";
    if std::env::var_os(INNER).is_none() {
        let status = Command::new("sh")
            .args(["-c", "trap '' HUP INT QUIT TERM; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "a_command_ignores_no_signal", "--nocapture"])
            .env(INNER, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    assert!(!own.contains("SigIgn:\t0000000000000000"), "{own}");
    let world = World::new();
    for (mode, exec) in modes(&world, true, true) {
        let status = world.run(&exec, "grep Sig /proc/self/status").output.text();
        for field in ["SigIgn:", "SigBlk:"] {
            let mut lines = status.lines();
            let set = lines.find_map(|line| line.strip_prefix(field)).unwrap();
            // The first 31; the libc has the next ones for itself.
            let set = u64::from_str_radix(set.trim(), 16).unwrap() & 0x7fff_ffff;
            assert_eq!(set, 0, "{mode}: {status}");
        }
    }
}

/// Runs all of the above again as an ordinary user, unless this is one already. It runs beside the tests as root: each
/// account has its own limit of processes.
#[test]
fn all_holds_for_an_ordinary_user() {
    const INNER: &str = "PEACRAB_TEST_INNER";
    if std::env::var_os(INNER).is_some() || !rustix::process::getuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    let status = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(std::env::current_exe().unwrap())
        .arg("--nocapture")
        .env(INNER, "1")
        .env("TMPDIR", folder.path())
        .current_dir("/")
        .status();
    let succeeded = status.as_ref().is_ok_and(|status| status.success());
    if feature::has("setpriv", status.map(drop)) {
        assert!(succeeded, "as an ordinary user");
    }
}

/// A folder of the workspace is replaced by a link to another folder, again and again: each command
/// runs in the folder that was checked, in the sandbox and outside of it.
#[test]
fn a_swapped_folder_is_not_entered() {
    let world = World::new();
    let (folder, link) = (
        world.workspace().join("work"),
        world.workspace().join("link"),
    );
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(world.at("trap")).unwrap();
    std::os::unix::fs::symlink(world.at("trap"), &link).unwrap();
    let trap = world.at("trap").display().to_string();
    let found = std::fs::metadata(&folder).unwrap();
    let inode = Some((found.dev(), found.ino()));
    let swap = || {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &folder, rustix::fs::CWD, &link, flags).unwrap();
    };
    let run = |exec: &Exec, unsandboxed| {
        let job = ShellCommand {
            line: "pwd -P",
            folder: &folder,
            inode,
            unsandboxed,
        };
        exec.run(&job, Duration::from_secs(20), &Cancel::new(), &mut |_| ())
            .map(|outcome| outcome.output.text())
    };
    for (mode, exec) in modes(&world, true, true) {
        for unsandboxed in [false, true] {
            assert!(run(&exec, unsandboxed).is_ok(), "{mode}");
            swap();
            let error = run(&exec, unsandboxed).unwrap_err().to_string();
            assert!(
                error.contains("replaced since it was approved")
                    || error.contains("enter the working folder"),
                "{mode}: {error}"
            );
            swap();
        }
    }
    let (_, exec) = modes(&world, true, true).remove(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        for round in 0..40 {
            let output = run(&exec, round % 2 == 0).unwrap_or_default();
            assert!(!output.contains(&trap), "{output}");
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn places_in_the_background_are_counted_for_each_owner_and_over_all() {
    let world = World::new();
    let folder = world.workspace();
    let exec = Exec::new(world.settings(SandboxMode::Off, true)).unwrap();
    let sessions = Sessions::default();
    let start = |owner: &str, line: &str| {
        let started = sessions.start(&exec, &of(&job(line, &folder), owner), Arc::new(|_| Ok(())));
        started.map_err(|error| error.to_string())
    };
    let start_for_user = || {
        let job = job("sleep 600", &folder);
        let start = SessionStart {
            role: Role::User,
            ..of(&job, "d")
        };
        let started = sessions.start(&exec, &start, Arc::new(|_| Ok(())));
        started.map_err(|error| error.to_string())
    };
    let one = start("a", "sleep 600").unwrap();
    for _ in 0..3 {
        start("a", "sleep 600").unwrap();
    }
    let error = start("a", "true").unwrap_err();
    assert!(error.contains("4 commands of this chat"), "{error}");
    start("b", "sleep 600").unwrap();
    start_for_user().unwrap();
    // Two places are an owner's, also beside others of owners.
    let error = start_for_user().unwrap_err();
    assert!(error.contains("6 commands of all chats"), "{error}");
    for _ in 0..2 {
        start("b", "sleep 600").unwrap();
    }
    let error = start("c", "true").unwrap_err();
    assert!(error.contains("8 commands of all chats"), "{error}");
    assert_eq!(sessions.in_sandbox().len(), 8);
    sessions.kill("a", one).unwrap();
    start("c", "true").unwrap();
}
