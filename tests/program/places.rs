//! Where the home and the folders of the configuration lie: by links, with `~` and odd slashes, and not
//! there yet. File tools and commands mean the same by a path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::home::Home;
use crate::harness::model::{Model, call, say};
use crate::harness::program::Program;

/// Has the model make calls, one after the other; what it was told of each.
fn results(home: &Home, model: &Model, variables: [(&str, &Path); 2]) -> Vec<String> {
    let mut program = Program::new(home).args(["agent", "-m", "do it"]);
    for (name, path) in variables {
        program = program.env(name, path.to_str().unwrap());
    }
    program.run().ends_with(0);
    let told = |last: String| {
        let last: Value = serde_json::from_str(&last).unwrap();
        last["content"].as_str().unwrap_or_default().to_owned()
    };
    let requests = model.requests();
    let results = requests.iter().skip(1);
    results
        .map(|request| told(request.last_message()))
        .collect()
}

#[test]
fn a_home_that_is_a_link_works_and_stays_closed() {
    let command = "echo made > made.txt; pwd; ls -a ..; cat ../config.json ../other/config.json";
    let model = Model::playing([
        call("exec", json!({"command": command})),
        call("read_file", json!({"path": "made.txt"})),
        call("read_file", json!({"path": "../config.json"})),
        say("done"),
    ]);
    let mut home = Home::with_model(&model);
    home.set("/tools", json!({"restrictToWorkspace": false}));
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    symlink(home.path(), &link).unwrap();
    let told = results(
        &home,
        &model,
        [("PEACRAB_HOME", &link), ("HOME", elsewhere.path())],
    );
    assert!(told[0].contains("/workspace"), "{}", told[0]);
    assert!(!told[0].contains("apiKey"), "{}", told[0]);
    assert!(told[1].contains("made"), "{}", told[1]);
    assert!(told[2].contains("it belongs to Peacrab"), "{}", told[2]);
    home.set("/tools", json!({}));
    let sandbox = Program::new(&home)
        .args(["doctor", "sandbox"])
        .env("PEACRAB_HOME", link.to_str().unwrap())
        .run()
        .ends_with(0);
    assert!(
        sandbox.stdout.contains("read a secret"),
        "{}",
        sandbox.stdout
    );
}

#[test]
fn tools_and_commands_find_the_same_folders() {
    let person = tempfile::tempdir().unwrap();
    let at = |path: &str| person.path().canonicalize().unwrap().join(path);
    for folder in ["data", "docs", "outside"] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("file"), format!("this is {folder}\n")).unwrap();
    }
    symlink(at("data"), at("near")).unwrap();
    let command = format!(
        "cat {0}/near/file {0}/data/file {0}/docs/file; echo x >> {0}/data/new; echo x >> {0}/docs/new; \
         cat {0}/outside/file; ls docs/file",
        at("").display().to_string().trim_end_matches('/')
    );
    let read = |path: &str| call("read_file", json!({"path": at(path)}));
    let write = |path: &str| call("write_file", json!({"path": at(path), "content": "y"}));
    let model = Model::playing([
        call("exec", json!({"command": command})),
        read("near/file"),
        read("data/file"),
        read("docs/file"),
        write("docs/written"),
        read("outside/file"),
        read("outside/link/file"),
        say("done"),
    ]);
    let mut home = Home::with_model(&model);
    // As a command could have left it: a folder of the configuration that leads out.
    symlink(at("outside"), home.workspace("docs")).unwrap();
    home.set(
        "/tools",
        json!({
            "allowedPaths": ["~//near/", at("later")],
            "readOnlyPaths": ["~/./data/..//docs", home.workspace("docs")],
        }),
    );
    let told = results(
        &home,
        &model,
        [("HOME", person.path()), ("TERM", Path::new("dumb"))],
    );
    assert!(
        told[0].contains("this is data\nthis is data\nthis is docs"),
        "{}",
        told[0]
    );
    assert!(!told[0].contains("this is outside"), "{}", told[0]);
    assert!(
        at("data/new").exists() && !at("docs/new").exists(),
        "{}",
        told[0]
    );
    for (index, text) in [(1, "data"), (2, "data"), (3, "docs")] {
        assert!(
            told[index].contains(&format!("this is {text}")),
            "{}",
            told[index]
        );
    }
    assert!(told[4].contains("read-only for tools"), "{}", told[4]);
    for refused in &told[5..7] {
        assert!(refused.contains("outside the workspace"), "{refused}");
    }
}

#[test]
fn what_the_home_has_on_another_disk_is_as_closed() {
    let disk = tempfile::tempdir().unwrap();
    let at = |name: &str| disk.path().join(name);
    let state = at("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("chats.json"), "{\"canary\": 1}").unwrap();
    let forged = format!("cat {0}/*; echo '[]' > {0}/approvals.json", state.display());
    let model = Model::playing([
        call("exec", json!({"command": forged})),
        call("read_file", json!({"path": state.join("chats.json")})),
        call(
            "write_file",
            json!({"path": state.join("approvals.json"), "content": "[]"}),
        ),
        say("done"),
    ]);
    let mut home = Home::with_model(&model);
    fs::remove_dir_all(home.path().join("state")).ok();
    symlink(&state, home.path().join("state")).unwrap();
    home.set("/tools", json!({"allowedPaths": [disk.path()]}));
    let told = results(
        &home,
        &model,
        [("HOME", disk.path()), ("LANG", disk.path())],
    );
    assert!(!told[0].contains("canary"), "{}", told[0]);
    for told in &told[1..3] {
        assert!(told.contains("it belongs to Peacrab"), "{told}");
    }
    assert!(!state.join("approvals.json").exists());
}
