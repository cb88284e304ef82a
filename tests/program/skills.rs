//! Skills: listed, read by the model, loaded by a word, written, installed, checked and removed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::harness::home::{Home, KEY};
use crate::harness::model::{Model, call, error, say};
use crate::harness::program::{Output, Program};
use crate::harness::release::Release;
use crate::harness::terminal::{RETURN, Terminal};

const LAMP: &str = "---\nname: lamp\ndescription: Switch the lamp. Use when it is dark.\n\
    metadata: {\"openclaw\":{\"requires\":{\"bins\":[\"sh\"]}}}\n---\n# Lamp\n\nRun `sh {baseDir}/scripts/lamp.sh on`.\n";
/// The number of built-in skills.
const BUILT_IN: usize = 10;
const SCRIPT: &str = "#!/bin/sh\necho \"lamp is $1\"\n";

fn skills(home: &Home, arguments: &[&str]) -> Output {
    Program::new(home).arg("skills").args(arguments).run()
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A folder with the skill `lamp`, which brings a script.
fn lamp(folder: &Path) -> PathBuf {
    let lamp = folder.join("lamp");
    put(&lamp.join("SKILL.md"), LAMP);
    let script = lamp.join("scripts/lamp.sh");
    put(&script, SCRIPT);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    lamp
}

/// The skill as an archive that Python has made, below a folder as GitHub does it.
fn lamp_zip(folder: &Path) -> PathBuf {
    lamp(&folder.join("repo-main/skills"));
    python(
        folder,
        "import shutil; shutil.make_archive('lamp-1.0', 'zip', '.', 'repo-main')",
    );
    folder.join("lamp-1.0.zip")
}

fn python(folder: &Path, program: &str) {
    let mut command = Command::new("python3");
    let ended = command.args(["-c", program]).current_dir(folder).status();
    assert!(ended.unwrap().success(), "{program}");
}

/// What the model was given last.
fn told(model: &Model) -> String {
    model.requests().last().unwrap().last_message()
}

#[test]
fn the_list_has_built_in_ones_own_ones_and_the_reasons_of_those_that_cannot_be_used() {
    let home = Home::new();
    put(&home.workspace("skills/lamp/SKILL.md"), LAMP);
    put(
        &home.workspace("skills/weather/SKILL.md"),
        "---\ndescription: Look outside.\nrequires: {bins: [window-opener], env: [WINDOW_KEY]}\n---\nOpen the window.",
    );
    let list = skills(&home, &["list"]).ends_with(0).stdout;
    for part in [
        "cron",
        "systemd",
        "built in",
        "lamp",
        "yours",
        "Switch the lamp.",
        "Look outside.",
        "needs the program window-opener, needs the environment variable WINDOW_KEY",
    ] {
        assert!(list.contains(part), "{part} is missing in {list}");
    }
    assert!(!list.contains("wttr"), "{list}");
    let lines = skills(&home, &["list", "--json"]).ends_with(0).stdout;
    let listed: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let weather = listed
        .iter()
        .find(|skill| skill["name"] == "weather")
        .unwrap();
    assert_eq!(weather["builtIn"], false);
    assert_eq!(weather["missing"].as_array().unwrap().len(), 2);
    let shown = skills(&home, &["show", "systemd"]).ends_with(0).stdout;
    assert!(
        shown.starts_with("---\nname: systemd\n") && shown.contains("journalctl"),
        "{shown}"
    );
    let shown = skills(&home, &["show", "weather"]).ends_with(0).stdout;
    assert!(shown.ends_with("Open the window.\n"), "{shown}");
    skills(&home, &["show", "wether"])
        .ends_with(2)
        .complains_of(&["Did you mean weather?"]);
    let words = ["__complete", "bash", "--", "skills", "show", "lam"];
    assert_eq!(
        Program::new(&home).args(words).run().ends_with(0).stdout,
        "lamp\n"
    );
}

#[test]
fn on_a_terminal_each_skill_has_one_line() {
    let home = Home::new();
    let wide = format!(
        "---\nname: board\ndescription: {}.\n---\nx",
        "看门".repeat(60)
    );
    put(&home.workspace("skills/board/SKILL.md"), &wide);
    let mut terminal = Terminal::start(&home, &["skills"]);
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    assert_eq!(screen.lines().count(), BUILT_IN, "{screen}");
    let is_whole = |line: &str| line.len() > 20 && line.ends_with(['…', '.']);
    assert!(screen.lines().all(is_whole), "{screen}");
}

#[test]
fn folders_beyond_the_limit_are_named_and_no_skill_hides_the_others_from_the_model() {
    let home = Home::new();
    let programs: Vec<String> = (0..30)
        .map(|number| format!("p{number}{}", "x".repeat(190)))
        .collect();
    let greedy = format!(
        "---\nname: a\ndescription: Much.\nrequires: {{bins: [{}]}}\n---\nx",
        programs.join(", ")
    );
    put(&home.workspace("skills/a/SKILL.md"), &greedy);
    let prompt = Program::new(&home)
        .args(["context", "--full"])
        .run()
        .ends_with(0)
        .stdout;
    for line in [
        "- a: Much. (unavailable: needs the program p0",
        "- weather: ",
    ] {
        assert!(prompt.contains(line), "{line} is missing in {prompt}");
    }
    for number in 0..102 {
        let name = format!("s{number:03}");
        let text = format!("---\nname: {name}\ndescription: x\n---\nx");
        put(&home.workspace(&format!("skills/{name}/SKILL.md")), &text);
    }
    for command in ["list", "check"] {
        skills(&home, &[command])
            .complains_of(&["first 100 skills", "3 more folders in skills/ are left out"]);
    }
}

#[test]
fn the_model_reads_a_built_in_skill_until_the_workspace_has_its_own() {
    let read = || call("read_file", json!({"path": "skills/weather/SKILL.md"}));
    let model = Model::playing([read(), say("Sunny."), read(), say("Rain.")]);
    let home = Home::with_model(&model);
    Program::new(&home)
        .args(["agent", "-m", "weather?"])
        .run()
        .ends_with(0);
    assert!(told(&model).contains("wttr.in"), "{}", told(&model));
    put(&home.workspace("skills/weather/SKILL.md"), "Look outside.");
    Program::new(&home)
        .args(["agent", "-m", "and now?"])
        .run()
        .ends_with(0);
    assert!(told(&model).contains("Look outside.") && !told(&model).contains("wttr.in"));
}

#[test]
fn a_word_with_a_dollar_loads_a_skill_for_that_message() {
    let model = Model::playing([say("On."), say("Off.")]);
    let home = Home::with_model(&model);
    let secret = LAMP.replace("# Lamp", &format!("# Lamp {KEY}"));
    put(&home.workspace("skills/lamp/SKILL.md"), &secret);
    let ask = |text: &str| {
        let program = Program::new(&home).args(["agent", "-s", "home", "-m", text]);
        program.run().ends_with(0);
    };
    ask("It costs $5 or $6, not $7, and $nothing. $lamp on, please.");
    let first = model.requests()[0].messages().to_vec();
    let given = serde_json::to_string(&first).unwrap();
    for part in [
        "[Skill lamp: instructions from skills/lamp/SKILL.md, loaded because the message says $lamp]",
        "sh skills/lamp/scripts/lamp.sh on",
        "$nothing. $lamp on, please.",
    ] {
        assert!(given.contains(part), "{part} is missing in {given}");
    }
    assert_eq!(given.matches("[Skill ").count(), 1);
    assert!(!given.contains(KEY), "{given}");
    assert!(home.journal("home").contains("[Skill lamp: "));
    // Only for the message that asked for it.
    ask("off, it is not worth $9 or $8 or $7 or $6");
    let given = serde_json::to_string(model.requests()[1].messages()).unwrap();
    assert!(
        !given.contains("[Skill lamp") && given.contains("$lamp on"),
        "{given}"
    );
}

#[test]
fn a_skill_that_a_message_loaded_is_there_once_when_the_turn_is_resumed() {
    let model = Model::playing([error(401, "no"), say("On.")]);
    let home = Home::with_model(&model);
    put(&home.workspace("skills/lamp/SKILL.md"), LAMP);
    // A turn that was killed right after its message was written.
    let agent = |arguments: &[&str]| {
        Program::new(&home)
            .args(["agent", "-s", "home"])
            .args(arguments)
            .run()
    };
    agent(&["-m", "$lamp on"]);
    let journal = home.path().join("sessions/cli_home.jsonl");
    let lines = fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = lines
        .lines()
        .take_while(|line| !line.contains("[Skill lamp"))
        .collect();
    assert!(kept.last().unwrap().contains("$lamp on"), "{lines}");
    fs::write(&journal, kept.join("\n") + "\n").unwrap();
    agent(&["--resume"]).ends_with(0);
    let given = serde_json::to_string(model.requests().last().unwrap().messages()).unwrap();
    assert_eq!(given.matches("[Skill lamp: ").count(), 1, "{given}");
}

#[test]
fn a_new_skill_is_ready_to_be_filled_in_and_a_check_finds_what_is_wrong() {
    let home = Home::new();
    let made = skills(&home, &["new", "backup"]).ends_with(0).stdout;
    assert!(made.contains("skills/backup/SKILL.md"), "{made}");
    skills(&home, &["check"]).ends_with(0);
    skills(&home, &["new", "backup"])
        .ends_with(2)
        // `--force` is an option of `install`.
        .complains_of(&["There is a skill backup already. Choose another name"]);
    let made = skills(&home, &["new", "board"]).ends_with(0).stdout;
    assert!(
        made.contains("It replaces the built-in skill board."),
        "{made}"
    );
    skills(&home, &["remove", "board", "--yes"]).ends_with(0);
    skills(&home, &["new", "Back Up"])
        .ends_with(2)
        .complains_of(&["lower-case letters"]);
    let file = home.workspace("skills/backup/SKILL.md");
    put(
        &file,
        "---\nname: back-up\ndescription: Back up: now\nrequires:\n\tbins: [rsync\nalways: no\n---\nx",
    );
    let output = skills(&home, &["check", "backup"]).ends_with(1).stdout;
    for part in [
        "skills/backup/SKILL.md:3: put the value in quotes",
        "skills/backup/SKILL.md:5: indent with spaces",
        "skills/backup/SKILL.md:5: a closing bracket or quote is missing",
        "skills/backup/SKILL.md: the name back-up differs from the folder's",
        "Found 4 problems.",
    ] {
        assert!(output.contains(part), "{part} is missing in {output}");
    }
    let folder = tempfile::tempdir().unwrap();
    let lamp = lamp(folder.path());
    let elsewhere = folder.path().to_str().unwrap();
    for action in ["check", "install"] {
        skills(&home, &[action, elsewhere])
            .ends_with(1)
            .complains_of(&["There is no SKILL.md in"]);
    }
    let checked = skills(&home, &["check", lamp.to_str().unwrap()])
        .ends_with(0)
        .stdout;
    assert_eq!(checked, "No problems found.\n");
    for (name, _) in [("weather", 0), ("memory", 0)] {
        skills(&home, &["check", name]).ends_with(0);
    }
}

#[test]
fn a_skill_is_installed_from_a_folder_and_the_model_runs_its_script() {
    let model = Model::playing([
        call("exec", json!({"command": "skills/lamp/scripts/lamp.sh on"})),
        say("It is on."),
    ]);
    let home = Home::with_model(&model);
    let folder = tempfile::tempdir().unwrap();
    let lamp = lamp(folder.path());
    put(&lamp.join(".git/config"), "x");
    let lamp = lamp.to_str().unwrap();
    skills(&home, &["install", lamp])
        .ends_with(2)
        .complains_of(&["--yes"]);
    assert!(!home.workspace("skills/lamp").exists());
    let shown = skills(&home, &["install", "--yes", lamp])
        .ends_with(0)
        .stdout;
    for part in [
        "lamp: Switch the lamp.",
        "Programs: sh",
        "2 files",
        "scripts/lamp.sh",
        "Scripts that the model can run",
        "Installed skills/lamp/SKILL.md.",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
    assert!(!home.workspace("skills/lamp/.git").exists());
    skills(&home, &["install", "--yes", lamp])
        .ends_with(2)
        .complains_of(&["--force"]);
    skills(&home, &["install", "--yes", "--force", lamp]).ends_with(0);
    Program::new(&home)
        .args(["agent", "-m", "light!"])
        .run()
        .ends_with(0);
    assert!(told(&model).contains("lamp is on"), "{}", told(&model));
    skills(&home, &["remove", "lamp"])
        .ends_with(2)
        .complains_of(&["--yes"]);
    skills(&home, &["remove", "lamp", "--yes"]).ends_with(0);
    assert!(!home.workspace("skills/lamp").exists());
    skills(&home, &["remove", "weather", "--yes"])
        .ends_with(2)
        .complains_of(&["built-in"]);
}

#[test]
fn a_person_at_the_terminal_is_asked_before_a_skill_is_installed_and_removed() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let lamp = lamp(folder.path());
    for (answer, is_installed) in [("n", false), ("", false), ("y", true)] {
        let mut terminal = Terminal::start(&home, &["skills", "install", lamp.to_str().unwrap()]);
        terminal.wait_for("Install only what you trust");
        terminal.wait_for("Install it as lamp? [y/N]");
        terminal.type_text(answer);
        terminal.type_text(RETURN);
        assert_eq!(terminal.finish(), Some(0));
        assert_eq!(
            home.workspace("skills/lamp/SKILL.md").exists(),
            is_installed,
            "{answer}"
        );
    }
    let mut terminal = Terminal::start(&home, &["skills", "remove", "lamp"]);
    terminal.wait_for("Remove the skill lamp and all its files?");
    terminal.type_text("y");
    terminal.type_text(RETURN);
    assert_eq!(terminal.finish(), Some(0));
    assert!(!home.workspace("skills/lamp").exists());
}

#[test]
fn a_skill_is_installed_from_an_archive_a_file_or_an_address() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let zip = lamp_zip(folder.path());
    skills(&home, &["install", "-y", zip.to_str().unwrap()]).ends_with(0);
    let script = home.workspace("skills/lamp/scripts/lamp.sh");
    assert_eq!(fs::read_to_string(&script).unwrap(), SCRIPT);
    assert_eq!(
        fs::metadata(script).unwrap().permissions().mode() & 0o100,
        0o100
    );
    let file = folder.path().join("SKILL.md");
    fs::write(&file, LAMP).unwrap();
    skills(
        &home,
        &[
            "install",
            "-y",
            "--name",
            "lamp-two",
            file.to_str().unwrap(),
        ],
    )
    .ends_with(0);
    assert!(home.workspace("skills/lamp-two/SKILL.md").exists());
    let server = Release::new();
    fs::copy(zip, server.path("lamp-1.0.zip")).unwrap();
    fs::write(server.path("page"), "<!DOCTYPE html><html>").unwrap();
    let url = server.serve();
    let moved = url.replace("/peacrab", "/moved");
    let install = |url: &str, options: &[&str]| {
        let name = ["install", "-y", "--force", "--name", "far", url];
        skills(&home, &[&name, options].concat())
    };
    install(&format!("{url}/lamp-1.0.zip"), &[])
        .ends_with(2)
        .complains_of(&["https://"]);
    let secure = url.replace("http://", "https://");
    install(&format!("{secure}/x.zip"), &[])
        .ends_with(1)
        .complains_of(&["private address"]);
    install("https://localhost/x.zip", &[])
        .ends_with(1)
        .complains_of(&["private address"]);
    for address in [&url, &moved] {
        install(&format!("{address}/lamp-1.0.zip"), &["--allow-private"]).ends_with(0);
        assert!(home.workspace("skills/far/scripts/lamp.sh").exists());
    }
    install(&format!("{url}/page"), &["--allow-private"])
        .ends_with(1)
        .complains_of(&["web page"]);
    install(&format!("{url}/none"), &["--allow-private"])
        .ends_with(1)
        .complains_of(&["404"]);
}

#[test]
fn an_archive_that_is_meant_to_do_harm_changes_nothing() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, body: &str| {
        let head = "import zipfile, stat\nz = zipfile.ZipFile('x.zip', 'w', zipfile.ZIP_DEFLATED)\n\
            z.writestr('evil/SKILL.md', '---\\nname: evil\\ndescription: x\\n---\\nx')\n";
        python(folder.path(), &format!("{head}{body}\nz.close()"));
        let path = folder.path().join(format!("{name}.zip"));
        fs::rename(folder.path().join("x.zip"), &path).unwrap();
        path
    };
    let link = "i = zipfile.ZipInfo('evil/link'); i.create_system = 3; i.external_attr = (stat.S_IFLNK | 0o777) << 16\n\
        z.writestr(i, '/etc')";
    let many = "for n in range(600): z.writestr('evil/%d' % n, 'x')";
    for (name, body, words) in [
        (
            "slip",
            "z.writestr('evil/../../../AGENTS.md', 'x')",
            "cannot be installed",
        ),
        ("top", "z.writestr('/etc/x', 'x')", "cannot be installed"),
        ("link", link, "a link or a device"),
        (
            "bomb",
            "z.writestr('evil/zeros', b'\\0' * 100_000_000)",
            "more than",
        ),
        ("many", many, "more than"),
        (
            "two",
            "z.writestr('other/SKILL.md', 'x')",
            "several skills: evil, other",
        ),
    ] {
        let path = make(name, body);
        skills(&home, &["install", "-y", path.to_str().unwrap()])
            .ends_with(1)
            .complains_of(&[words]);
    }
    // A link in the workspace that leads out is not followed, and neither is one in a folder.
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let lamp = lamp(folder.path());
    symlink("/etc/passwd", lamp.join("more.md")).unwrap();
    skills(&home, &["install", "-y", lamp.to_str().unwrap()])
        .ends_with(1)
        .complains_of(&["a link or a device"]);
    fs::remove_file(lamp.join("more.md")).unwrap();
    symlink(&outside, home.workspace("skills")).unwrap();
    skills(&home, &["install", "-y", lamp.to_str().unwrap()]).ends_with(1);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!home.workspace("AGENTS.md").exists());
}

#[test]
fn an_agent_may_be_given_some_skills_only() {
    let model = Model::playing([say("hello")]);
    let mut home = Home::with_model(&model);
    lamp(&home.workspace("skills"));
    home.set("/agents/defaults/skills", json!(["lamp", "weather"]));
    let asked = Program::new(&home).args(["agent", "-m", "$network $lamp"]);
    asked.run().ends_with(0);
    let request = model.requests().remove(0);
    let prompt = request.messages()[0].to_string();
    assert!(prompt.contains("- lamp: "), "{prompt}");
    assert!(prompt.contains("- weather: "), "{prompt}");
    assert!(!prompt.contains("- network: "), "{prompt}");
    let told = json!(request.messages()).to_string();
    assert!(
        told.contains("[Skill lamp: ") && !told.contains("[Skill network: "),
        "{told}"
    );
}
