//! What a watch cannot see, which is said at once; watches of the journal and of the command line.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// What `peacrab watch` prints.
fn watch(scene: &Scene, arguments: &[&str]) -> String {
    let program = Program::new(&scene.home).arg("watch").args(arguments);
    let printed = program.run().ends_with(0).stdout;
    printed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A gateway whose `journalctl` prints the lines of a file behind a cursor, which is the number of a line.
fn with_journal(scene: &Scene) -> (Program, PathBuf) {
    let (bin, journal) = (
        scene.home.path().join("bin"),
        scene.home.path().join("journal"),
    );
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\nif [ -e {journal}.gone ]; then echo 'No journal files were found.' >&2; exit 0; fi\n\
         end=$(wc -l <{journal})\nafter=$((end - 1))\n\
         for option; do case $option in --after-cursor=*) after=${{option##*i=}};; esac; done\n\
         head -n \"$end\" {journal} | tail -n +$((after + 1))\n\
         echo \"-- cursor: s=1;i=$end\"\necho \"$*\" >>{journal}.asked",
        journal = journal.display()
    );
    fs::write(bin.join("journalctl"), script).unwrap();
    fs::set_permissions(bin.join("journalctl"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let program = Program::new(&scene.home).arg("gateway").env("PATH", &path);
    (program, journal)
}

#[test]
fn what_does_not_exist_is_said_at_once_in_the_list_and_in_a_test() {
    let (scene, board, clock) = scene([]);
    let (file, odd) = (board.path("app.log"), board.path("odd.log"));
    std::os::unix::fs::symlink(&odd, &odd).unwrap();
    let gateway = scene.start();
    for (rule, said) in [
        (
            format!("file {} matches X", file.display()),
            "there is no such file",
        ),
        (
            format!("file {} matches X", odd.display()),
            "can't read the file",
        ),
        ("service ngnix".to_owned(), "there is no such service"),
        ("disk /nowhere > 90%".to_owned(), "there is no such folder"),
        ("pressure > 20".to_owned(), "this board does not report it"),
    ] {
        add(&scene, &rule, "");
        asks_until(&scene, "/watch", said);
    }
    for (number, said) in [
        (1, "no such file"),
        (2, "can't read"),
        (3, "no such service"),
    ] {
        asks_until(&scene, &format!("/watch test {number}"), said);
    }
    // It comes later, and all of it is new.
    fs::write(&file, "X one\n").unwrap();
    clock.forward(Duration::from_secs(2));
    scene.wait_for("app.log: X one");
    asks_until(&scene, "/watch", "last match X one");
    fs::remove_file(&file).unwrap();
    clock.forward(Duration::from_secs(2));
    asks_until(&scene, "/watch test 1", "no such file");
    gateway.stop().ends_with(0);
}

/// The person would look for the file in their own `/tmp`.
#[test]
fn a_command_that_names_what_the_sandbox_hides_is_confirmed_with_a_word_about_it() {
    let (scene, _board, _clock) = scene([]);
    let gateway = scene.start();
    let own = "it does not see /tmp/done of the board";
    scene
        .ana
        .says("/watch cmd 'test -e /tmp/done' succeeds every 5m");
    scene.wait_for(own);
    scene.ana.says("/watch test 1");
    wait_until("the test says it too", || count(&scene, own) == 2);
    scene
        .ana
        .says("/watch cmd 'grep -q x /var/log/syslog' every 5m");
    scene.wait_for("does not show /var/log/syslog");
    scene.ana.says("/watch cmd 'test -e done' every 5m");
    let seen = scene.wait_for("(number 3)");
    assert!(!seen.text.contains("sandbox"), "{}", seen.text);
    gateway.stop().ends_with(0);
}

#[test]
fn the_command_line_says_what_the_chat_says() {
    let (scene, board, _clock) = scene([]);
    let missing = format!("file {} matches X", board.path("app.log").display());
    for (rule, said) in [
        (missing.as_str(), "there is no such file"),
        ("service ngnix", "there is no such service"),
        ("host a..b", "its name cannot be resolved"),
    ] {
        let added = watch(&scene, &["add", rule]);
        assert!(added.contains(said), "{rule}: {added}");
    }
    let listed = watch(&scene, &["list"]);
    assert!(
        listed.contains("there is no such file") && !listed.contains('\\'),
        "{listed}"
    );
    fs::remove_dir_all(board.path("sys/fs/cgroup")).unwrap();
    Program::new(&scene.home)
        .args(["watch", "add", "service nginx"])
        .run()
        .ends_with(2)
        .complains_of(&["no services of systemd"]);
    for (rule, name) in [("disk > 101", "disk"), ("memory < 0%", "memory")] {
        Program::new(&scene.home)
            .args(["watch", "add", rule])
            .run()
            .ends_with(2)
            .complains_of(&[name, "would never be an alarm"]);
    }
    board.group("nginx", true);
    let gateway = scene.start();
    greet(&scene);
    let added = watch(&scene, &["add", "service nginx"]);
    assert_eq!(added, "Watching `service nginx` (number 4). Now: running.");
    let added = watch(&scene, &["add", "service", "nothing"]);
    assert!(added.contains("there is no such service"), "{added}");
    // The owner sees and removes them.
    scene.ana.says("/watch");
    scene.wait_for("4. service nginx: running");
    scene.ana.says("/watch remove 4");
    scene.wait_for("Removed: service nginx");
    gateway.stop().ends_with(0);
    fs::remove_dir_all(board.path("sys/class/thermal")).unwrap();
    let added = watch(&scene, &["add", "temperature > 90"]);
    assert!(added.contains("this board does not report it"), "{added}");
    let listed = watch(&scene, &["list"]);
    assert!(
        listed.contains("temperature > 90: this board does not"),
        "{listed}"
    );
}

#[test]
fn a_watch_of_the_command_line_is_no_group_s_and_no_user_s() {
    let (mut scene, _board, _clock) = scene([]);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001"]));
    scene
        .home
        .set("/channels/telegram/groupPolicy", json!("open"));
    let group = scene.telegram.group(-900, "Home");
    watch(&scene, &["add", "load > 4"]);
    watch(&scene, &["add", "load > 5", "--to", "telegram:-900"]);
    let gateway = scene.start();
    scene.ana.says("/watch");
    let listed = scene.wait_for("1. load > 4: 0.10");
    assert!(
        listed.text.contains("2. load > 5, told to telegram:-900"),
        "{}",
        listed.text
    );
    scene.ana.says_in(group, "/watch");
    let listed = scene.wait_in(group, "2. load > 5: 0.10");
    assert!(!listed.text.contains("load > 4"), "{}", listed.text);
    gateway.stop().ends_with(0);
}

#[test]
fn a_new_watch_is_confirmed_before_its_first_alarm() {
    let (scene, board, clock) = scene([]);
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    let gateway = scene.start();
    for limit in 1..=6 {
        scene.ana.says(&format!("/watch load > {limit}"));
        clock.forward(Duration::from_secs(2));
        scene.wait_for(&format!("(over {limit})."));
    }
    for status in 1..=3 {
        scene.ana.says(&format!("/watch cmd 'exit {status}' fails"));
        scene.wait_for(&format!("🔴 exit {status} fails"));
    }
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let place = |words: &str| texts.iter().position(|text| text.contains(words));
    let loads = (1..=6).map(|limit| (format!("load > {limit} "), format!("(over {limit}).")));
    let commands = (1..=3).map(|status| {
        let rule = format!("cmd 'exit {status}' fails ");
        (rule, format!("🔴 exit {status} fails"))
    });
    for (rule, alarm) in loads.chain(commands) {
        let confirmed = place(&format!("Watching {rule}"));
        assert!(
            confirmed.is_some() && confirmed < place(&alarm),
            "{rule}: {texts:?}"
        );
    }
}

#[test]
fn a_watch_of_the_command_line_that_tells_a_chat_is_not_added_there_again() {
    let (scene, _board, _clock) = scene([]);
    let gateway = scene.start();
    greet(&scene);
    let long = format!("cmd 'test -e {}' fails every 5m", "long/".repeat(30));
    let run = |arguments: &[&str]| Program::new(&scene.home).arg("watch").args(arguments).run();
    let added = run(&["add", long.as_str()]).ends_with(0).stdout;
    assert!(added.contains("(number 1)"), "{added}");
    assert_eq!(added.lines().count(), 1, "it goes into a pipe: {added}");
    scene.ana.says(&format!("/watch {long}"));
    scene.wait_for("is watched already (number 1).");
    gateway.stop().ends_with(0);
    assert_eq!(run(&["list"]).ends_with(0).stdout.lines().count(), 1);
}

#[test]
fn lines_of_the_journal_are_told() {
    let (scene, _board, clock) = scene([]);
    let (program, journal) = with_journal(&scene);
    fs::write(
        &journal,
        "Nov 23 08:00:00 pi kernel: I/O error of yesterday\n",
    )
    .unwrap();
    let gateway = Gateway::of(program);
    add(&scene, "log matches 'I/O error'", "no line has matched yet");
    add(&scene, "log nginx level err", "no line has matched yet");
    // Each has found where the journal ends.
    for asked in [
        "--after-cursor=s=1;i=1\n",
        "--after-cursor=s=1;i=1 -p 3 -u nginx\n",
    ] {
        wait_until("what is new in the journal is read", || {
            clock.forward(MINUTE);
            fs::read_to_string(journal.with_extension("asked"))
                .is_ok_and(|lines| lines.contains(asked))
        });
    }
    let mut lines = fs::OpenOptions::new().append(true).open(&journal).unwrap();
    lines
        .write_all(
            b"Nov 23 09:01:00 pi kernel: fine\nNov 23 09:01:00 pi kernel: I/O error, dev sda\n",
        )
        .unwrap();
    clock.forward(2 * MINUTE);
    scene.wait_for("I/O error, dev sda");
    asks_until(&scene, "/watch", "1. log matches 'I/O error': last match");
    // One that cannot be read is said, and not taken for one without such lines.
    fs::write(journal.with_extension("gone"), "").unwrap();
    clock.forward(2 * MINUTE);
    asks_until(
        &scene,
        "/watch",
        "can't read the journal (No journal files were found.)",
    );
    scene.ana.says("/watch log matches other");
    scene.wait_for("Now: can't read the journal");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "of yesterday"), 0, "{:?}", scene.texts());
}
