//! Links on the way to what the configuration protects: whatever a command does, the path leads where it led, and
//! nothing is changed there. Each in every mode that the machine supports.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use peacrab::config::resolve::Folders;
use peacrab::config::schema::Tools;
use peacrab::sandbox::confine::{Exec, Settings};
use peacrab::sandbox::files::PromptPlaces;
use proptest::prelude::*;

use super::paths::{check, modes, output};
use super::world::{World, seconds};

const KEPT: &str = "kept";

/// How the configuration names what is not to be changed.
const KEYS: [&str; 2] = ["readOnlyPaths", "protectedPaths"];

/// Gives the paths of the configuration to commands as the program does.
fn configure(world: &World, settings: &mut Settings, key: &str, path: &Path) {
    let text = |path: &Path| vec![path.display().to_string()];
    let mut tools = Tools {
        allowed_paths: text(&world.at("allowed")),
        ..Tools::default()
    };
    match key {
        "readOnlyPaths" => tools.read_only_paths = text(path),
        _ => tools.protected_paths = text(path),
    }
    let folders = Folders::of(&tools, &world.workspace(), None).unwrap();
    settings.links = folders.links();
    settings.write = folders.write.into_iter().filter_map(|it| it.real).collect();
    settings.read = folders.read.into_iter().filter_map(|it| it.real).collect();
    settings.protect = folders.protect;
}

/// A place of links: the path of the configuration below the world, the links with what is written in them (`@` is the
/// world), and the file that is not to be changed.
type Place = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const PLACES: [Place; 11] = [
    ("allowed/p", &[("allowed/p", "real")], "allowed/real/data"),
    (
        "allowed/p",
        &[("allowed/p", "@/allowed/real")],
        "allowed/real/data",
    ),
    (
        "allowed/p",
        &[("allowed/p", "real/data")],
        "allowed/real/data",
    ),
    (
        "allowed/p/data",
        &[("allowed/p", "real")],
        "allowed/real/data",
    ),
    (
        "allowed/p/deep/data",
        &[("allowed/p", "./real/")],
        "allowed/real/deep/data",
    ),
    (
        "allowed/a/p",
        &[("allowed/a/p", "../real")],
        "allowed/real/data",
    ),
    (
        "allowed/a/../p",
        &[("allowed/p", "a/../real")],
        "allowed/real/data",
    ),
    (
        "allowed/p",
        &[
            ("allowed/p", "q"),
            ("allowed/q", "@/allowed/r"),
            ("allowed/r", "a/../real"),
        ],
        "allowed/real/data",
    ),
    (
        "links/p",
        &[("links/p", "../allowed/real")],
        "allowed/real/data",
    ),
    (
        "home/.peacrab/workspace/p",
        &[("home/.peacrab/workspace/p", "@/allowed/real/deep")],
        "allowed/real/deep/data",
    ),
    (
        "allowed/p",
        &[("allowed/p", "@/home/.peacrab/workspace/real")],
        "home/.peacrab/workspace/real/data",
    ),
];

/// What commands do to `{p}`, the path of the configuration, and to `{f}`, the file.
const ATTACKS: [&str; 14] = [
    "echo x > {f} && echo GOT-OUT",
    "echo x >> {p} && echo GOT-OUT",
    "echo x > {p}/data && echo GOT-OUT",
    "echo x > {p}/new && echo GOT-OUT",
    "rm -rf {p} {f}; ls {p} > /dev/null || echo GOT-OUT",
    "mv {p} {allowed}/away && echo GOT-OUT",
    "rm -f {p} && mkdir {p} && echo GOT-OUT",
    "ln -sfn {allowed}/other {p} && echo GOT-OUT",
    "mv $(dirname {f}) {allowed}/away && echo GOT-OUT",
    "mv -T {allowed}/other {p} && echo GOT-OUT",
    "ln {f} hard && echo x > hard && echo GOT-OUT",
    "ln -L {p} hard && echo x > hard && echo GOT-OUT",
    "perl -e 'syscall(316, -100, q({allowed}/other), -100, q({p}), 2) == 0 and print q(GOT-OUT)'",
    "cd $(dirname {p}) && cd .. && mv $(basename $(dirname {p})) away && echo GOT-OUT",
];

fn build(world: &World, links: &[(&str, &str)]) {
    for folder in ["allowed/real/deep", "allowed/a", "allowed/other", "links"] {
        fs::create_dir_all(world.at(folder)).unwrap();
    }
    fs::create_dir_all(world.workspace().join("real/deep")).unwrap();
    for top in [world.at("allowed/real"), world.workspace().join("real")] {
        fs::write(top.join("data"), KEPT).unwrap();
        fs::write(top.join("deep/data"), KEPT).unwrap();
    }
    let top = world.at("").display().to_string();
    for (link, target) in links {
        let target = target.replace("@/", &format!("{}/", top.trim_end_matches('/')));
        symlink(target, world.at(link)).unwrap();
    }
}

/// Removes what [`build`] made and what commands made of it.
fn clear(world: &World) {
    world.clean();
    for folder in ["allowed", "links"] {
        for entry in fs::read_dir(world.at(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
}

#[test]
fn what_is_protected_by_a_link_is_not_changed_and_the_link_is_not_replaced() {
    let world = World::new();
    let mut failures = Vec::new();
    for (path, links, file) in PLACES {
        for key in KEYS {
            build(&world, links);
            let (path, file) = (world.at(path), world.at(file));
            let was = path.canonicalize().unwrap();
            for (mode, exec) in modes(&world, |settings| configure(&world, settings, key, &path)) {
                // All in one command: each by itself takes minutes.
                let attacks = ATTACKS.iter().enumerate();
                let attacks =
                    attacks.map(|(number, attack)| format!("echo {number}; ( {attack} ); "));
                let line = attacks
                    .collect::<String>()
                    .replace("{p}", &path.display().to_string())
                    .replace("{f}", &file.display().to_string());
                let said = world.run_for(&exec, &line, seconds(20)).output.text();
                let is = path.canonicalize();
                let content = fs::read_to_string(&file);
                // What is not in a folder of the policy, a command has for itself alone.
                let is_own = path.starts_with(world.at("links"));
                let holds = is.is_ok_and(|is| is == was)
                    && content.is_ok_and(|content| content == KEPT)
                    && said.contains("\n13\n")
                    && (is_own || !said.contains("GOT-OUT"));
                if !holds {
                    failures.push(format!("{mode}, {key} {}: {said}", path.display()));
                    clear(&world);
                    build(&world, links);
                }
                // Beside it there is work to do.
                let line =
                    "cat {allowed}/real/data; echo y > {allowed}/other/y && cat {allowed}/other/y";
                let said = world.run(&exec, line).output.text();
                assert!(
                    said.contains('y'),
                    "{mode}, {key} {}: {said}",
                    path.display()
                );
            }
            clear(&world);
        }
    }
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Links of the prompt and of what was received, and the files that are read through them.
const PROMPT: [(&str, &str, &str); 10] = [
    ("AGENTS.md", "CLAUDE.md", "CLAUDE.md"),
    ("SOUL.md", "docs/../docs/soul.md", "docs/soul.md"),
    ("USER.md", "second.md", "docs/user.md"),
    ("second.md", "@/docs/user.md", "docs/user.md"),
    ("memory", "my/notes", "my/notes/MEMORY.md"),
    ("skills/foo", "../my/foo", "my/foo/SKILL.md"),
    ("my/foo/notes", "../../docs/notes", "docs/notes/n.md"),
    (
        "tools/x",
        "../../../../allowed/x",
        "../../../allowed/x/tool.json",
    ),
    ("skills/own/SKILL.md", "../../my/skill.md", "my/skill.md"),
    ("inbox", "my/in", "my/in/voice.ogg"),
];

const PROMPT_ATTACKS: [&str; 8] = [
    "echo x > {f} && echo GOT-OUT",
    "echo x >> {l} && echo GOT-OUT",
    "rm -f {f}; test -e {f} || echo GOT-OUT",
    "rm -f {l}; test -L {l} || echo GOT-OUT",
    "echo x > other && mv -f other {f} && echo GOT-OUT",
    "ln -sfn own.txt {l} && echo GOT-OUT",
    "mv $(dirname {f}) away && echo GOT-OUT",
    "mkdir -p new/foo && echo x > new/foo/SKILL.md && echo GOT-OUT",
];

#[test]
fn links_of_the_prompt_and_what_they_lead_to_are_not_changed() {
    let world = World::new();
    let at = |path: &str| world.workspace().join(path);
    let build = || {
        for folder in [
            "docs/notes",
            "my/notes",
            "my/foo",
            "my/in",
            "skills/own",
            "tools",
            "own",
            "../../../allowed/x",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (_, _, file) in PROMPT {
            fs::write(at(file), KEPT).unwrap();
        }
        let links = PROMPT.iter().map(|(link, target, _)| (*link, *target));
        // The second leads to what does not exist yet.
        for (link, target) in links.chain([("skills/later", "../new/foo")]) {
            let target = target.replace("@/", &format!("{}/", world.workspace().display()));
            let _ = fs::remove_file(at(link));
            symlink(target, at(link)).unwrap();
        }
    };
    build();
    let mut failures = Vec::new();
    for (mode, exec) in modes(&world, |_| ()) {
        let kept = PromptPlaces::hold(
            &world.workspace(),
            &|path| exec.is_writable(path),
            std::sync::Arc::new(|| true),
        )
        .unwrap();
        let exec = exec.protecting(&kept.paths()).unwrap();
        for (link, _, file) in PROMPT {
            let was = at(link).canonicalize().unwrap();
            let attacks = PROMPT_ATTACKS
                .iter()
                .map(|attack| format!("( {attack} ); "));
            let line = format!(
                "cd {}; {} echo done",
                world.workspace().display(),
                attacks.collect::<String>()
            );
            let line = line.replace("{l}", link).replace("{f}", file);
            let said = world.run_for(&exec, &line, seconds(20)).output.text();
            let holds = at(link).canonicalize().is_ok_and(|is| is == was)
                && fs::read_to_string(at(file)).is_ok_and(|content| content == KEPT)
                && said.contains("done")
                && !said.contains("GOT-OUT");
            if !holds {
                failures.push(format!("{mode}, {link}: {said}"));
                build();
            }
        }
        let said = world.run(&exec, "cat AGENTS.md && echo y > own/y && cat own/y");
        assert_eq!(said.output.text(), format!("{KEPT}y\n"), "{mode}");
        drop(kept);
        assert!(!at("new").exists(), "{mode}");
    }
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// What the link leads to is made by the first command, and protected from the next one on, as without a link.
#[test]
fn what_a_dangling_link_leads_to_is_protected_once_it_exists() {
    let world = World::new();
    for key in KEYS {
        for folder in [false, true] {
            fs::create_dir_all(world.at("allowed/other")).unwrap();
            let (link, target) = (world.at("allowed/p"), world.at("allowed/later"));
            symlink("later", &link).unwrap();
            for (mode, exec) in modes(&world, |settings| configure(&world, settings, key, &link)) {
                let command = "rm {allowed}/p && echo GOT-OUT; mv {allowed}/other {allowed}/p && echo GOT-OUT";
                check(mode, command, &world.run(&exec, command).output.text());
                // Landlock alone gives a folder with a protected name no new ones: a person makes it then.
                match folder {
                    true => fs::create_dir(&target).unwrap(),
                    false => fs::write(&target, KEPT).unwrap(),
                }
                for command in [
                    "echo x > {allowed}/p && echo GOT-OUT",
                    "echo x > {allowed}/p/new && echo GOT-OUT",
                    "echo x > {allowed}/later && echo GOT-OUT",
                    "rm -rf {allowed}/later {allowed}/p; ls {allowed}/p > /dev/null || echo GOT-OUT",
                    "mv {allowed}/later {allowed}/away && echo GOT-OUT",
                ] {
                    check(mode, command, &world.run(&exec, command).output.text());
                }
                let _ = fs::remove_file(&target).or_else(|_| fs::remove_dir(&target));
            }
            clear(&world);
        }
    }
}

/// The home, the workspace and a file with a key by links in a folder to write: at the next start they would lead to what
/// a command has made.
#[test]
fn links_to_the_home_the_workspace_and_keys_are_not_replaced() {
    let world = World::new();
    let links = [
        ("home-link", "home/.peacrab"),
        ("workspace-link", "home/.peacrab/workspace"),
        ("key-link", "outside/secret"),
    ];
    for (link, target) in links {
        symlink(world.at(target), world.at("allowed").join(link)).unwrap();
    }
    let link = |name: &str| world.at("allowed").join(name);
    let change = |settings: &mut Settings| {
        settings.home = Some(link("home-link"));
        settings.named = vec![link("workspace-link")];
        settings.hide = vec![link("key-link")];
    };
    for (mode, exec) in modes(&world, change) {
        for (name, target) in links {
            for command in [
                "rm {l} && echo GOT-OUT",
                "mv {l} {l}2 && echo GOT-OUT",
                "cat {l} {l}/config.json",
            ] {
                let line = command.replace("{l}", &link(name).display().to_string());
                check(mode, &line, &world.run(&exec, &line).output.text());
            }
            let leads_to = link(name).canonicalize().unwrap();
            assert_eq!(leads_to, world.at(target).canonicalize().unwrap(), "{mode}");
        }
    }
}

/// A link, and then the folder itself, change places with others again and again while commands start.
#[test]
fn what_changes_places_while_commands_start_is_not_written() {
    let world = World::new();
    for (path, first, second) in [
        ("p", "p", "q"),
        ("real", "real", "other"),
        ("p", "real", "other"),
    ] {
        build(&world, &[("allowed/p", "real"), ("allowed/q", "other")]);
        let path = world.at("allowed").join(path);
        let mut file = File::open(world.at("allowed/real/data")).unwrap();
        let swap = |place: &str, other: &str| {
            let (place, other) = (
                world.at("allowed").join(place),
                world.at("allowed").join(other),
            );
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(rustix::fs::CWD, place, rustix::fs::CWD, other, flags)
                .unwrap();
        };
        for (mode, exec) in modes(&world, |settings| {
            configure(&world, settings, KEYS[1], &path)
        }) {
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        swap(first, second);
                        std::thread::yield_now();
                    }
                });
                let line =
                    world.fill("for f in p q real other; do echo x > {allowed}/$f/data; done");
                for _ in 0..12 {
                    output(&exec, &world.workspace(), &line);
                }
                done.store(true, Ordering::Relaxed);
            });
            let mut content = String::new();
            std::io::Seek::rewind(&mut file).unwrap();
            file.read_to_string(&mut content).unwrap();
            assert_eq!(content, KEPT, "{mode}: {first} and {second}");
        }
        clear(&world);
    }
}

/// A step of a path: a folder, or a link to a folder that is elsewhere.
#[derive(Clone, Copy, Debug)]
enum Step {
    Folder,
    Absolute(usize),
    Beside,
    Above,
    Twice(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Folder),
        2 => (0..3usize).prop_map(Step::Absolute),
        2 => Just(Step::Beside),
        1 => Just(Step::Above),
        1 => (0..3usize).prop_map(Step::Twice),
    ];
    proptest::collection::vec(step, 1..5)
}

/// Makes the steps from one of three folders on. Returns the path that goes through the links, every name on the way
/// that was made for it, and the folder at its end.
fn walk(tops: &[PathBuf; 3], start: usize, steps: &[Step]) -> (PathBuf, Vec<PathBuf>, PathBuf) {
    let (mut named, mut real) = (tops[start].clone(), tops[start].clone());
    let mut names = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let (name, other) = (format!("n{number}"), format!("o{number}"));
        let link = real.join(&name);
        let make = |target: PathBuf, text: PathBuf| {
            fs::create_dir_all(&target).unwrap();
            symlink(text, &link).unwrap();
            target
        };
        let target = match step {
            Step::Folder => {
                fs::create_dir(&link).unwrap();
                link.clone()
            }
            Step::Absolute(top) => make(tops[*top].join(&other), tops[*top].join(&other)),
            Step::Beside => make(real.join(&other), other.into()),
            Step::Above => {
                let own = real.file_name().unwrap();
                make(real.join(&other), Path::new("..").join(own).join(&other))
            }
            Step::Twice(top) => {
                let between = tops[*top].join(format!("between{number}"));
                symlink(real.join(&other), &between).unwrap();
                names.push(between.clone());
                make(real.join(&other), between)
            }
        };
        names.extend([link, target.clone()]);
        named.push(&name);
        real = target;
    }
    names.dedup();
    (named, names, real)
}

fn attack_everything(world: &World, exec: &Exec, names: &[PathBuf], file: &Path) {
    let mut line = format!("echo x > {0}; echo x >> {0}; rm -f {0}; ", file.display());
    for name in names {
        let name = name.display();
        line += &format!(
            "echo x > {name}/data; mv {name} {name}-away; rm -f {name}; ln -sfn /tmp {name}; mkdir {name}; \
             mv -T {{allowed}}/other {name}; mkdir -p {{allowed}}/other; rm -rf {name}/data; "
        );
    }
    world.run(exec, &format!("( {line} ) 2> /dev/null"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn wherever_links_are_on_the_way_the_path_leads_to_the_same_file(
        steps in steps(), start in 0..3usize, whole_folder: bool, key in 0..2usize,
    ) {
        let world = World::new();
        for folder in ["allowed/other", "allowed/top", "links"] {
            fs::create_dir_all(world.at(folder)).unwrap();
        }
        let tops = [world.at("allowed/top"), world.workspace(), world.at("links")];
        let (named, names, real) = walk(&tops, start, &steps);
        let file = named.join("data");
        fs::write(real.join("data"), KEPT).unwrap();
        let was = fs::metadata(&file).unwrap();
        let path = if whole_folder { named.clone() } else { file.clone() };
        for (mode, exec) in modes(&world, |settings| configure(&world, settings, KEYS[key], &path)) {
            for _ in 0..2 {
                attack_everything(&world, &exec, &names, &file);
                let is = fs::metadata(&file);
                prop_assert!(is.is_ok(), "{}: {}", mode, file.display());
                let is = is.unwrap();
                prop_assert_eq!((is.dev(), is.ino()), (was.dev(), was.ino()), "{}", mode);
                prop_assert_eq!(fs::read_to_string(&file).unwrap(), KEPT, "{}", mode);
            }
        }
    }
}
