//! Skills as the program finds them, in real folders.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::config::schema::Tools;
use crate::sandbox::files::Places;
use crate::sys::beneath::Resolver;

struct Bench {
    top: TempDir,
    workspace: Workspace,
    environment: Vec<(OsString, OsString)>,
}

impl Bench {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("workspace");
        std::fs::create_dir(&path).unwrap();
        let places = Places {
            workspace: &path,
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let bin = top.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let program = bin.join("here");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(
            &program,
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        std::fs::write(bin.join("text"), "").unwrap();
        let environment = vec![("PATH".into(), bin.into()), ("KEY".into(), "1".into())];
        Self {
            top,
            workspace,
            environment,
        }
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn skills(&self) -> Skills<'_> {
        Skills::new(&self.workspace, Some(&self.environment))
    }

    fn names(&self) -> Vec<String> {
        let own = |skill: &Skill| skill.place == Place::Workspace;
        let skills = self.skills().list();
        skills
            .into_iter()
            .filter(own)
            .map(|skill| skill.name)
            .collect()
    }
}

#[test]
fn every_built_in_skill_is_sound() {
    let bench = Bench::new();
    let mut bytes = 0;
    let mut before = "";
    for (name, text) in BUILT_IN {
        bytes += text.len();
        assert!(before < name, "{name} is not in order");
        before = name;
        let details = bench.skills().find(name).unwrap();
        assert_eq!(details.faults, [], "{name}");
        assert_eq!(details.manifest.name, name);
        assert_eq!(details.skill.place, Place::BuiltIn);
        assert_eq!(details.skill.path, format!("skills/{name}/SKILL.md"));
        assert!(is_proper_name(name) && !details.skill.always);
        assert!(
            details.skill.description.len() < 200,
            "{name}: {}",
            details.skill.description.len()
        );
        assert!(details.body.starts_with("# "), "{name}");
        let long = text.lines().find(|line| line.chars().count() > 400);
        assert_eq!(long, None, "{name}");
    }
    assert!(bytes <= 24 * 1024, "{bytes}");
}

#[test]
fn the_workspace_comes_before_what_is_built_in() {
    let bench = Bench::new();
    let list = bench.skills().list();
    assert_eq!(list.len(), BUILT_IN.len());
    assert_eq!(
        list.iter().filter(|skill| skill.name == "weather").count(),
        1
    );
    bench.put(
        "skills/weather/SKILL.md",
        "---\nname: weather\ndescription: Mine.\n---\nLook outside.",
    );
    bench.put(
        "skills/abc/SKILL.md",
        "---\ndescription: Letters.\nalways: true\n---\nSay a.\n",
    );
    let list = bench.skills().list();
    assert_eq!(list.len(), BUILT_IN.len() + 1);
    assert_eq!(list[0].name, "abc");
    assert!(list[0].always && list[0].missing.is_empty());
    assert!(list.is_sorted_by(|a, b| a.name < b.name));
    let weather = list.iter().find(|skill| skill.name == "weather").unwrap();
    assert_eq!(
        (weather.place, weather.description.as_str()),
        (Place::Workspace, "Mine.")
    );
    assert_eq!(bench.skills().body("weather").unwrap(), "Look outside.");
    assert!(bench.skills().text("weather").unwrap().starts_with("---\n"));
    std::fs::remove_dir_all(bench.workspace.path().join("skills/weather")).unwrap();
    assert!(bench.skills().body("weather").unwrap().contains("wttr.in"));
    assert!(bench.skills().text("weather").unwrap().contains("wttr.in"));
    let unknown = bench.skills().body("nothing").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "Unknown skill nothing. `peacrab skills list` shows them."
    );
    assert!(bench.skills().body("../weather").is_err());
}

#[test]
fn only_the_skills_that_are_allowed_are_there() {
    let bench = Bench::new();
    bench.put(
        "skills/abc/SKILL.md",
        "---\ndescription: Letters.\n---\nSay a.\n",
    );
    bench.put(
        "skills/xyz/SKILL.md",
        "---\ndescription: Letters.\n---\nSay x.\n",
    );
    let allowed = ["abc", "weather", "gone"].map(str::to_owned);
    let skills = bench.skills().only(Some(&allowed));
    let names: Vec<String> = skills.list().into_iter().map(|skill| skill.name).collect();
    assert_eq!(names, ["abc", "weather"]);
    assert!(skills.find("abc").is_ok() && skills.find("weather").is_ok());
    for name in ["xyz", "board", "gone"] {
        assert!(skills.find(name).is_err(), "{name}");
    }
    assert_eq!(bench.skills().only(Some(&[])).list().len(), 0);
}

#[test]
fn what_a_skill_needs_is_looked_for_as_commands_see_it() {
    let bench = Bench::new();
    let metadata = r#"{"openclaw": {"os": ["darwin"], "requires": {"bins": ["here", "text", "gone"],
        "anyBins": ["x", "y"], "env": ["KEY", "TOKEN"]}}}"#;
    bench.put(
        "skills/a/SKILL.md",
        format!("---\ndescription: A.\nmetadata: {metadata}\n---\nx"),
    );
    bench.put(
        "skills/b/SKILL.md",
        "---\ndescription: B.\nos: [Linux, darwin]\nrequires:\n  bins: [here]\n  anyBins: [gone, here]\n  env: KEY\n---\nx",
    );
    let reasons = |skills: Skills<'_>| -> Vec<String> {
        let own = skills
            .list()
            .into_iter()
            .filter(|skill| skill.place == Place::Workspace);
        own.map(|skill| skill.reasons()).collect()
    };
    let expected = "is for darwin only, needs the program text, needs the program gone, needs one of the \
        programs x, y, needs the environment variable TOKEN (set it, and name it in tools.exec.allowedEnvKeys)";
    assert_eq!(reasons(bench.skills()), [expected, ""]);
    let none = "needs commands, which are turned off (tools.exec.enabled)";
    let without = Skills::new(&bench.workspace, None);
    assert_eq!(
        reasons(without),
        [format!("is for darwin only, {none}"), none.to_owned()]
    );
}

#[test]
fn a_skill_that_cannot_be_read_is_listed_with_the_reason() {
    let bench = Bench::new();
    bench.put("elsewhere", "x");
    std::fs::write(
        bench.top.path().join("secret"),
        "---\ndescription: secret\n---\n",
    )
    .unwrap();
    let folder = bench.workspace.path().join("skills");
    for name in [
        "fifo",
        "link",
        "folder/SKILL.md",
        "empty",
        "two words",
        ".hidden",
    ] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.join("fifo/SKILL.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    symlink(
        bench.top.path().join("secret"),
        folder.join("link/SKILL.md"),
    )
    .unwrap();
    symlink("/etc", folder.join("out")).unwrap();
    bench.put("skills/plain.md", "x");
    bench.put(
        "skills/latin/SKILL.md",
        b"---\ndescription: caf\xe9 au lait\n---\nx",
    );
    bench.put("skills/nothing/SKILL.md", "");
    assert_eq!(
        bench.names(),
        ["fifo", "folder", "latin", "link", "nothing", "out"]
    );
    for name in ["fifo", "folder", "link", "out"] {
        let details = bench.skills().find(name).unwrap();
        let missing = &details.skill.missing[..];
        assert!(
            matches!(missing, [Missing::Unreadable(_)]),
            "{name}: {missing:?}"
        );
        assert!(!details.skill.description.contains("secret"));
    }
    let latin = bench.skills().find("latin").unwrap();
    assert_eq!(latin.skill.description, "caf\u{fffd} au lait");
    assert_eq!(latin.faults[0].text, "SKILL.md is not UTF-8");
    assert!(latin.skill.missing.is_empty());
}

#[test]
fn sizes_and_numbers_are_bounded() {
    let bench = Bench::new();
    for number in 0..SKILLS_MAX + 5 {
        bench.put(
            &format!("skills/s{number:03}/SKILL.md"),
            "---\ndescription: x\n---\nx",
        );
    }
    assert_eq!(bench.names().len(), SKILLS_MAX);
    let bins: Vec<String> = (0..100).map(|number| format!("p{number}")).collect();
    let front = format!(
        "---\nname: big\ndescription: {}\nrequires: {{bins: {bins:?}}}\n---\n",
        "d ".repeat(900)
    );
    bench.put("skills/big/SKILL.md", front + &"é".repeat(FILE_BYTES));
    let big = bench.skills().find("big").unwrap();
    assert_eq!(big.skill.missing.len(), REQUIREMENTS);
    assert!(big.skill.description.chars().count() <= 1025);
    assert!(big.body.len() <= FILE_BYTES && big.body.ends_with('é'));
    assert!(
        big.faults
            .iter()
            .any(|fault| fault.text.contains("larger than 256 kB"))
    );
}

#[test]
fn a_large_skill_is_installed_and_a_larger_one_too() {
    for bytes in [70_000, 2 * FILE_BYTES] {
        let text = format!(
            "---\nname: claude-api\ndescription: x\n---\n{}",
            "a".repeat(bytes)
        );
        let package = package::Package::from_bytes(text.clone().into(), "SKILL.md", None).unwrap();
        assert_eq!(
            (package.name.as_str(), package.bytes()),
            ("claude-api", text.len())
        );
        let bench = Bench::new();
        bench.put("skills/claude-api/SKILL.md", &text);
        let found = bench.skills().find("claude-api").unwrap();
        assert_eq!(found.faults.len(), usize::from(bytes > FILE_BYTES));
        assert_eq!(found.skill.missing, []);
        assert!(found.body.len() >= bytes.min(FILE_BYTES - 100), "{bytes}");
    }
}

#[test]
fn the_place_of_a_skill_is_put_into_its_instructions() {
    let bench = Bench::new();
    bench.put(
        "skills/a/SKILL.md",
        "---\ndescription: x\n---\nRun `python3 {baseDir}/x.py`.",
    );
    assert_eq!(
        bench.skills().body("a").unwrap(),
        "Run `python3 skills/a/x.py`."
    );
}

#[test]
fn a_skill_is_installed_all_at_once_and_removed() {
    use crate::tools::skills::package::{File, Package};
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let skills = bench.skills();
    let file = |path: &str, content: &str, is_executable| File {
        path: path.to_owned(),
        content: content.as_bytes().to_vec(),
        is_executable,
    };
    let package = |text: &str| Package {
        name: "lamp".to_owned(),
        manifest: Manifest::default(),
        files: vec![
            file("SKILL.md", text, false),
            file("scripts/on.sh", "#!/bin/sh\n", true),
        ],
    };
    // Half of one that was killed.
    bench.put("skills/.lamp.new/SKILL.md", "half");
    skills.install(&package("first"), false).unwrap();
    let folder = bench.workspace.path().join("skills");
    let script = std::fs::metadata(folder.join("lamp/scripts/on.sh")).unwrap();
    assert_eq!(script.permissions().mode() & 0o111, 0o111);
    assert_eq!(skills.body("lamp").unwrap(), "first");
    assert!(skills.install(&package("second"), false).is_err());
    std::fs::write(folder.join("lamp/old"), "").unwrap();
    skills.install(&package("second"), true).unwrap();
    assert_eq!(skills.body("lamp").unwrap(), "second");
    assert!(!folder.join("lamp/old").exists() && !folder.join(".lamp.new").exists());
    let mut broken = package("third");
    broken.files.push(file("SKILL.md/x", "", false));
    assert!(skills.install(&broken, true).is_err());
    assert_eq!(skills.body("lamp").unwrap(), "second");
    assert!(!folder.join(".lamp.new").exists());
    skills.remove("lamp").unwrap();
    assert!(!folder.join("lamp").exists());
    assert!(
        skills
            .remove("lamp")
            .unwrap_err()
            .to_string()
            .starts_with("Unknown skill")
    );
    assert!(
        skills
            .remove("weather")
            .unwrap_err()
            .to_string()
            .contains("built-in")
    );
    assert!(skills.remove("..").is_err());
}
