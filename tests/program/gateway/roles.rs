//! Roles: what an owner, a user and a guest may do, each on Telegram.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::gate::Gate;
use crate::harness::gateway::Gateway;
use crate::harness::mcp::{Server, tool};
use crate::harness::model::{INPUT_TOKENS, OUTPUT_TOKENS, Request, Step, call, error, say};
use crate::harness::program::Program;
use crate::harness::telegram::{Fault, Person, Place};
use crate::harness::wait_until;

/// A home of Ana's with Bob as a user and Cora as a guest.
fn scene(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> (Scene, Person, Person) {
    let scene = Scene::answering(answer).set("roles", json!({"2002": "user", "@cora": "guest"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let cora = scene.telegram.person(3003, "Cora", Some("cora"));
    (scene, bob, cora)
}

/// A model that runs a command outside the sandbox.
fn going_out(request: &Request) -> Step {
    match request.messages().last().unwrap()["role"].as_str() {
        Some("tool") => say("done"),
        _ => call(
            "exec",
            json!({"command": "true", "escalate": true, "reason": "r"}),
        ),
    }
}

/// The names of the tools in a request.
fn tools(request: &Request) -> Vec<String> {
    let list = request.body["tools"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    list.iter().map(name).collect()
}

#[test]
fn each_command_is_for_the_roles_that_may_use_it_and_help_shows_no_others() {
    let (scene, bob, cora) = scene(|_| say("unused"));
    let gateway = scene.start();
    bob.says("/sh echo no");
    scene.wait_in(
        bob.chat(),
        "/sh needs the role owner, and yours is user here.",
    );
    cora.says("/status");
    scene.wait_in(
        cora.chat(),
        "/status needs the role user, and yours is guest here.",
    );
    cora.says("/context");
    scene.wait_in(cora.chat(), "/context needs the role user");
    cora.says("/sh echo no");
    scene.wait_in(cora.chat(), "/sh needs the role owner");
    bob.says("/status");
    scene.wait_in(bob.chat(), "Conversation:");
    cora.says("/id");
    scene.wait_in(cora.chat(), "Your role here is guest.");
    cora.says("/help");
    let help = scene.wait_in(cora.chat(), "/id").text;
    assert!(!help.contains("/sh") && !help.contains("/memory"), "{help}");
    bob.says("/help");
    let help = scene.wait_in(bob.chat(), "/memory").text;
    assert!(
        !help.contains("/sh") && !help.contains("/restart"),
        "{help}"
    );
    scene.ana.says("/sh echo yes");
    scene.wait_for("yes");
    gateway.stop().ends_with(0);
    assert_eq!(scene.audit().len(), 1, "{:?}", scene.audit());
    assert!(scene.model.requests().is_empty());
}

#[test]
fn a_guest_talks_with_a_model_that_has_nothing_here() {
    let (scene, bob, cora) =
        scene(
            |request| match request.messages().last().unwrap()["role"].as_str().unwrap() {
                "tool" => say("I cannot."),
                _ if tools(request).iter().any(|name| name == "exec") => say("I have commands."),
                _ => call("exec", json!({"command": "echo sneaked > sneaked"})),
            },
        );
    fs::write(
        scene.home.workspace("MEMORY.md"),
        "The safe's number is 4711.",
    )
    .unwrap();
    fs::create_dir_all(scene.home.workspace("memory")).unwrap();
    fs::write(
        scene.home.workspace("memory/MEMORY.md"),
        "The safe's number is 4711.",
    )
    .unwrap();
    let gateway = scene.start();
    bob.says("hello");
    scene.wait_in(bob.chat(), "I have commands.");
    cora.says("hello");
    scene.wait_in(cora.chat(), "I cannot.");
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    let of_guest = &requests[1];
    assert!(requests[0].body.to_string().contains("4711"));
    let only: Vec<String> = tools(of_guest);
    assert_eq!(only, ["web_search", "web_fetch"]);
    assert!(!of_guest.body.to_string().contains("4711"));
    let workspace = scene.home.workspace("").display().to_string();
    let workspace = workspace.trim_end_matches('/');
    assert!(requests[0].body.to_string().contains(workspace));
    assert!(!of_guest.body.to_string().contains(workspace));
    let refused = requests[2].messages().last().unwrap()["content"].to_string();
    assert!(refused.contains("there is no tool"), "{refused}");
    assert!(scene.audit().is_empty());
}

#[test]
fn a_failure_is_told_in_detail_to_owners_only_and_in_the_language_of_each() {
    let (scene, bob, cora) = scene(|_| error(401, "Incorrect API key: sk-1234"));
    let gateway = scene.start();
    scene.ana.says("hello");
    scene.wait_for("rejected the API key");
    scene.ana.clone().speaking("zh-hans").says("你好");
    scene.wait_for("拒绝了 API 密钥");
    bob.says("hello");
    let told = scene.wait_in(bob.chat(), "Please tell the owner.");
    assert!(!told.text.contains("key"), "{}", told.text);
    let cora = cora.speaking("zh-hans");
    cora.says("你好");
    scene.wait_in(cora.chat(), "请告诉主人");
    gateway.stop().ends_with(0);
}

#[test]
fn what_a_user_needs_an_approval_for_is_asked_of_the_owner() {
    let (scene, bob, _) = scene(going_out);
    let gateway = scene.start();
    // Without an owner's chat there is no one to ask.
    bob.says("please");
    scene.wait_in(bob.chat(), "done");
    scene.ana.says("/id");
    scene.wait_for("owner");
    bob.says("again, please");
    let asked = scene.wait_for(r#"Asked for by telegram:2002 "Bob"."#);
    // What is allowed for his chat could be seen in none of hers.
    let buttons = format!("{:?}", asked.markup);
    assert!(!buttons.contains("Always"), "{buttons}");
    scene.wait_in(bob.chat(), "I've asked an owner");
    // The number alone is of no use to him.
    bob.says(&format!("/approve {}", number(&asked.text)));
    scene.wait_in(bob.chat(), "/approve needs the role owner");
    scene.ana.presses("Run once");
    scene.model.wait_for_requests(4);
    gateway.stop().ends_with(0);
    let decisions: Vec<Value> = scene.audit();
    let decisions: Vec<&str> = decisions
        .iter()
        .filter_map(|one| one["decision"].as_str())
        .collect();
    assert_eq!(decisions, ["denied: no one to ask", "allowed once"]);
}

#[test]
fn a_user_has_owners_asked_only_so_often() {
    let (scene, bob, _) = scene(going_out);
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("owner");
    for count in 1..=5 {
        bob.says("please");
        wait_until("a question", || questions(&scene) == 1);
        bob.says("/stop");
        wait_until("its end", || questions(&scene) == 0);
        wait_until("the end of the turn", || {
            let told = scene.telegram.messages(bob.chat());
            let stopped = told.iter().filter(|one| one.text.contains("Stopped."));
            stopped.count() == count
        });
    }
    bob.says("please");
    scene.wait_in(bob.chat(), "owners have been asked too often");
    scene.wait_in(bob.chat(), "done");
    assert_eq!(questions(&scene), 0);
    gateway.stop().ends_with(0);
    let decisions = scene.audit();
    let last = decisions
        .iter()
        .filter_map(|one| one["decision"].as_str())
        .next_back();
    assert_eq!(last, Some("denied: no one to ask"));
}

/// How many questions of Bob's are open in Ana's chat.
fn questions(scene: &Scene) -> usize {
    let told = scene.telegram.messages(scene.ana.chat());
    let asked = told
        .iter()
        .filter(|one| one.text.contains(r#"telegram:2002 "Bob""#));
    asked.count()
}

#[test]
fn what_others_use_leaves_half_of_the_day_to_owners() {
    let (mut scene, bob, cora) = scene(|_| say("done"));
    let turn = INPUT_TOKENS + OUTPUT_TOKENS;
    scene.home.set("/limits/tokensPerDay", json!(4 * turn));
    let gateway = scene.start();
    for one in [&bob, &cora] {
        one.says("hello");
        scene.wait_in(one.chat(), "done");
    }
    for one in [&bob, &cora] {
        one.says("more");
        let told = scene.wait_in(one.chat(), "for people other than owners is used up");
        let of = format!("({} tokens of {} tokens)", 2 * turn, 2 * turn);
        assert!(told.text.contains(&of), "{}", told.text);
    }
    scene.ana.says("/usage");
    scene.wait_for("People other than owners have used");
    scene.ana.says("hello");
    scene.wait_for("done");
    assert_eq!(scene.model.requests().len(), 3);
    gateway.stop().ends_with(0);
}

/// The number of a question.
fn number(text: &str) -> String {
    let rest = text.split_once("/approve ").unwrap().1;
    rest.chars().take_while(char::is_ascii_digit).collect()
}

#[test]
fn in_a_group_its_entry_bounds_everyone_and_only_owners_press() {
    let (scene, bob, _) = scene(going_out);
    let group = scene.telegram.group(-900, "Home");
    let scene = scene.set("groupPolicy", json!("open"));
    let gateway = scene.start();
    scene.ana.says_in(group, "do it");
    scene.wait_in(group, "Run this");
    let pressed = bob.presses_in(group, "Run once");
    scene.telegram.wait_for_offset(pressed);
    let told = scene.telegram.wait_for_calls("answerCallbackQuery", 1);
    assert!(
        told[0]
            .to_string()
            .contains("Only an owner can answer this."),
        "{told:?}"
    );
    scene.ana.presses_in(group, "Deny");
    scene.wait_in(group, "Denied");
    gateway.stop().ends_with(0);
}

#[test]
fn a_person_is_paired_with_a_role() {
    let scene = Scene::playing([]);
    let dan = scene.telegram.person(4004, "Dan", None);
    let gateway = scene.start();
    dan.says("hello?");
    let told = scene.wait_in(dan.chat(), "/pair").text;
    let code: String = told
        .split_once("/pair ")
        .unwrap()
        .1
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    scene.ana.says(&format!("/pair {code} user"));
    scene.wait_for("Dan (4004) is now paired on Telegram, as a user.");
    dan.says("/id");
    scene.wait_in(dan.chat(), " · Your role here is user.");
    let listed = Program::new(&scene.home)
        .args(["channels", "pair"])
        .run()
        .ends_with(0);
    assert!(listed.stdout.contains("as a user"), "{}", listed.stdout);
    dan.says("/pair ABCDEFGH");
    scene.wait_in(dan.chat(), "/pair needs the role owner");
    gateway.stop().ends_with(0);
}

/// A model that makes these calls, one after the other, and then says so.
fn making(calls: Vec<(&'static str, Value)>) -> impl Fn(&Request) -> Step + Send + Sync {
    move |request| {
        let messages = request.messages().iter().rev();
        let turn = messages.take_while(|message| message["role"] != "user");
        let results = turn.filter(|message| message["role"] == "tool").count();
        match calls.get(results) {
            Some((tool, arguments)) => call(tool, arguments.clone()),
            None => say("Tried."),
        }
    }
}

#[test]
fn what_is_done_for_a_user_changes_nothing_that_stands_in_prompts() {
    let shell = "mkdir -p skills/y tools/y stickers; ln -s SOUL.md link; ln AGENTS.md hard; \
                 for file in AGENTS.md ./SOUL.md memory/../USER.md HEARTBEAT.md link hard skills/x/SKILL.md skills/y/SKILL.md \
                 tools/y/tool.json stickers/index.json memory/MEMORY.md memory/2026-01-01.md; do echo EVIL >> $file; done; \
                 mv memory gone; mv skills gone; mv AGENTS.md gone; rm -rf memory AGENTS.md; \
                 echo EVIL > new && mv new SOUL.md; echo fine > own.txt";
    let calls = vec![
        ("write_file", json!({"path": "SOUL.md", "content": "EVIL"})),
        (
            "append_file",
            json!({"path": "./AGENTS.md", "content": "EVIL"}),
        ),
        (
            "edit_file",
            json!({"path": "memory/../AGENTS.md", "old_text": "kind", "new_text": "EVIL"}),
        ),
        (
            "write_file",
            json!({"path": "skills/y/SKILL.md", "content": "EVIL"}),
        ),
        (
            "write_file",
            json!({"path": "tools/y/tool.json", "content": "EVIL"}),
        ),
        (
            "append_file",
            json!({"path": "memory/MEMORY.md", "content": "EVIL"}),
        ),
        ("memory", json!({"action": "append", "text": "EVIL"})),
        ("exec", json!({"command": shell})),
        ("exec", json!({"command": shell, "background": true})),
        ("exec_session", json!({"action": "read", "session_id": 1})),
    ];
    let count = calls.len();
    let (scene, bob, _) = scene(making(calls));
    let at = |path: &str| scene.home.workspace(path);
    for folder in ["memory", "skills/x"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    let files = ["AGENTS.md", "memory/MEMORY.md", "skills/x/SKILL.md"];
    for file in files {
        fs::write(at(file), "kind\n").unwrap();
    }
    let gateway = scene.start();
    bob.says("hello");
    scene.wait_in(bob.chat(), "Tried.");
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    let results = requests.last().unwrap().messages().iter();
    let results: Vec<String> = results
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert_eq!(results.len(), count);
    for result in &results[..7] {
        assert!(result.contains("read-only for tools"), "{results:#?}");
    }
    for file in files {
        assert_eq!(
            fs::read_to_string(at(file)).unwrap(),
            "kind\n",
            "{results:#?}"
        );
    }
    for file in ["SOUL.md", "stickers/index.json", "skills/y", "tools/y"] {
        let content = fs::read_to_string(at(file)).unwrap_or_default();
        assert!(
            !content.contains("EVIL") && !at(file).is_dir(),
            "{file}: {content}"
        );
    }
    assert!(!at("memory/2026-01-01.md").exists());
    assert_eq!(
        fs::read_to_string(at("own.txt")).unwrap(),
        "fine\n",
        "{results:#?}"
    );
}

#[test]
fn what_an_owners_turn_changes_in_the_prompt_is_told_shown_and_taken_back() {
    let (scene, _, _) = scene(making(vec![
        ("write_file", json!({"path": "SOUL.md", "content": "new\n"})),
        ("exec", json!({"command": "echo more >> AGENTS.md"})),
    ]));
    let at = |path: &str| scene.home.workspace(path);
    fs::write(at("AGENTS.md"), "kind\n").unwrap();
    let gateway = scene.start();
    scene.ana.says("hello");
    scene.wait_for("Tried.");
    scene.wait_for("Changed: AGENTS.md, SOUL.md.");
    scene.ana.says("/diff AGENTS.md");
    scene.wait_for("+ more");
    scene.ana.says("/undo AGENTS.md");
    scene.wait_for("AGENTS.md is as it was before.");
    assert_eq!(fs::read_to_string(at("AGENTS.md")).unwrap(), "kind\n");
    scene.ana.says("/undo SOUL.md");
    scene.wait_for("SOUL.md is as it was before.");
    assert!(!at("SOUL.md").exists());
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_that_an_owner_has_started_takes_no_input_of_a_users() {
    let (scene, bob, _) = scene(|request| {
        let text = request.messages().last().unwrap()["content"].to_string();
        match request.messages().last().unwrap()["role"].as_str().unwrap() {
            "tool" => say(&text),
            _ if text.contains("start") => call(
                "exec",
                json!({"command": "cat >> SOUL.md", "background": true}),
            ),
            _ => {
                let mut actions = ["read", "kill"].into_iter();
                let action = actions.find(|action| text.contains(action));
                let action = action.unwrap_or("write");
                call(
                    "exec_session",
                    json!({"action": action, "session_id": 1, "input": "EVIL\n"}),
                )
            }
        }
    });
    let group = scene.telegram.group(-900, "Home");
    let scene = scene.set("groupPolicy", json!("open"));
    let gateway = scene.start();
    scene.ana.says_in(group, "start it");
    scene.wait_in(group, "Started as session 1");
    for (count, action) in (1..).zip(["write to it", "read it", "kill it"]) {
        bob.says_in(group, action);
        wait_until("a refusal", || {
            let texts = scene.texts_in(group).into_iter();
            let refused = texts.filter(|text| text.contains("was started for an owner"));
            refused.count() == count
        });
    }
    let told = scene.texts_in(group).len();
    bob.says_in(group, "/stop");
    wait_until("what was stopped", || scene.texts_in(group).len() > told);
    scene.ana.says_in(group, "kill it");
    scene.wait_in(group, "Killed.");
    gateway.stop().ends_with(0);
    let soul = fs::read_to_string(scene.home.workspace("SOUL.md")).unwrap_or_default();
    assert_eq!(soul, "");
}

#[test]
fn an_owner_allows_each_input_of_a_user_by_itself() {
    let write = json!({"action": "write", "session_id": 1, "input": "one\n"});
    let (scene, bob, _) = scene(making(vec![
        (
            "exec",
            json!({"command": "cat", "escalate": true, "background": true, "reason": "r"}),
        ),
        ("exec_session", write),
    ]));
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("owner");
    bob.says("do it");
    scene.wait_for(r#"Asked for by telegram:2002 "Bob"."#);
    scene.ana.presses("Run once");
    let asked = scene.wait_for("Send this input to");
    let labels = format!("{:?}", asked.markup);
    assert!(!labels.contains("Allow all"), "{labels}");
    assert!(!asked.text.contains("any further input"), "{}", asked.text);
    scene.ana.presses("Deny");
    scene.wait_in(bob.chat(), "Tried.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_for_a_user_ends_when_an_owner_has_changed_the_prompt() {
    let (scene, bob, _) = scene(|request| {
        let last = request.messages().last().unwrap();
        let text = last["content"].to_string();
        match last["role"].as_str().unwrap() {
            "tool" => say(&text),
            _ if text.contains("wait") => call(
                "exec",
                json!({"command": "echo begun > begun; sleep 60; echo EVIL > AGENTS.md"}),
            ),
            _ => call(
                "write_file",
                json!({"path": "AGENTS.md", "content": "new\n"}),
            ),
        }
    });
    let at = |path: &str| scene.home.workspace(path);
    fs::write(at("AGENTS.md"), "kind\n").unwrap();
    let gateway = scene.start();
    bob.says("wait");
    wait_until("the command", || at("begun").exists());
    scene.ana.says("change it");
    scene.wait_for("Changed: AGENTS.md.");
    scene.wait_in(bob.chat(), "files of the prompt were changed meanwhile");
    gateway.stop().ends_with(0);
    assert_eq!(fs::read_to_string(at("AGENTS.md")).unwrap(), "new\n");
}

/// A model that does what the last message names: starts or reads a command, uses a server, or changes the prompt.
fn obedient(request: &Request) -> Step {
    let last = request.messages().last().unwrap();
    let text = last["content"].to_string();
    let write = |path: &str| call("write_file", json!({"path": path, "content": "new\n"}));
    match last["role"].as_str().unwrap() {
        "tool" => say(&text),
        _ if text.contains("start") => {
            let waits = "echo begun > begun; while ! test -e go; do sleep 0.1; done; echo EVIL >> AGENTS.md";
            call("exec", json!({"command": waits, "background": true}))
        }
        _ if text.contains("read") => {
            call("exec_session", json!({"action": "read", "session_id": 1}))
        }
        _ if text.contains("lamp") => call("mcp_lamp_on", json!({"room": "hall"})),
        _ if text.contains("skill") => write("skills/x/SKILL.md"),
        _ => write("AGENTS.md"),
    }
}

/// A scene in which a command of Bob's and a server run, neither of which can change `AGENTS.md`.
fn running() -> (Scene, Person, Server, Gateway) {
    let (mut scene, bob, _) = scene(obedient);
    fs::write(scene.home.workspace("AGENTS.md"), "kind\n").unwrap();
    fs::create_dir_all(scene.home.workspace("skills/x")).unwrap();
    fs::write(scene.home.workspace("skills/x/SKILL.md"), "kind\n").unwrap();
    let has = json!({"tools": [tool("on", "Turn the lamp on")]});
    let server = Server::configured(&mut scene.home, "lamp", &has);
    let gateway = scene.start();
    bob.says("start it");
    scene.wait_in(bob.chat(), "Started as session 1");
    bob.says("lamp, please");
    scene.wait_in(bob.chat(), "hall");
    wait_until("the command", || scene.home.workspace("begun").exists());
    (scene, bob, server, gateway)
}

#[test]
fn a_prompt_file_that_was_replaced_by_hand_is_not_changed_by_what_runs_already() {
    let (scene, bob, server, gateway) = running();
    let at = |path: &str| scene.home.workspace(path);
    bob.says("read it");
    scene.wait_in(bob.chat(), "running");
    let before = server.starts();
    // As an editor does.
    fs::write(at("AGENTS.md~"), "edited\n").unwrap();
    fs::rename(at("AGENTS.md~"), at("AGENTS.md")).unwrap();
    bob.says("lamp again");
    wait_until("the server to start again", || {
        server.starts() == before + 1
    });
    fs::write(at("go"), "").unwrap();
    bob.says("read again");
    scene.wait_in(bob.chat(), "no session 1");
    gateway.stop().ends_with(0);
    assert_eq!(fs::read_to_string(at("AGENTS.md")).unwrap(), "edited\n");
}

#[test]
fn a_change_in_place_ends_nothing_and_undo_ends_what_could_change_the_new_file() {
    let (scene, bob, server, gateway) = running();
    let at = |path: &str| scene.home.workspace(path);
    scene.ana.says("lamp for me");
    scene.wait_for("hall");
    let before = server.starts();
    fs::write(at("skills/x/SKILL.md"), "in place\n").unwrap();
    fs::write(at("AGENTS.md"), "in place\n").unwrap();
    scene.ana.says("lamp again");
    scene.wait_for("Changed: AGENTS.md, skills/x/SKILL.md.");
    bob.says("read it");
    scene.wait_in(bob.chat(), "running");
    assert_eq!(server.starts(), before);
    scene.ana.says("/undo AGENTS.md");
    scene.wait_for("AGENTS.md is as it was before.");
    fs::write(at("go"), "").unwrap();
    bob.says("read again");
    scene.wait_in(bob.chat(), "no session 1");
    bob.says("lamp again");
    wait_until("the server to start again", || {
        server.starts() == before + 1
    });
    gateway.stop().ends_with(0);
    assert_eq!(fs::read_to_string(at("AGENTS.md")).unwrap(), "kind\n");
}

#[test]
fn links_of_the_prompt_are_no_reason_to_refuse_what_is_done_for_a_user() {
    let shell = "for file in AGENTS.md CLAUDE.md skills/foo/SKILL.md projects/foo/SKILL.md notes/MEMORY.md; do echo EVIL >> $file; done; \
                 rm -f AGENTS.md; ln -sf own.txt AGENTS.md; mv CLAUDE.md gone; echo fine > own.txt";
    let calls = vec![
        (
            "write_file",
            json!({"path": "CLAUDE.md", "content": "EVIL"}),
        ),
        (
            "append_file",
            json!({"path": "projects/foo/SKILL.md", "content": "EVIL"}),
        ),
        (
            "append_file",
            json!({"path": "notes/MEMORY.md", "content": "EVIL"}),
        ),
        ("exec", json!({"command": shell})),
    ];
    let (scene, bob, _) = scene(making(calls));
    let at = |path: &str| scene.home.workspace(path);
    for folder in ["projects/foo", "skills", "notes"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    let files = ["CLAUDE.md", "projects/foo/SKILL.md", "notes/MEMORY.md"];
    for file in files {
        fs::write(at(file), "kind\n").unwrap();
    }
    let links = [
        ("CLAUDE.md", "AGENTS.md"),
        ("../projects/foo", "skills/foo"),
        ("notes", "memory"),
    ];
    for (target, link) in links {
        symlink(target, at(link)).unwrap();
    }
    let gateway = scene.start();
    bob.says("hello");
    scene.wait_in(bob.chat(), "Tried.");
    gateway.stop().ends_with(0);
    let results = scene.model.tool_results();
    for result in &results[..3] {
        assert!(result.contains("read-only for tools"), "{results:#?}");
    }
    for file in files {
        assert_eq!(
            fs::read_to_string(at(file)).unwrap(),
            "kind\n",
            "{results:#?}"
        );
    }
    assert!(at("AGENTS.md").is_symlink());
    assert_eq!(
        fs::read_to_string(at("own.txt")).unwrap(),
        "fine\n",
        "{results:#?}"
    );
}

#[test]
fn what_kept_the_place_of_a_prompt_file_is_gone_after_a_kill_and_a_start() {
    let (scene, bob, _) = scene(obedient);
    let at = |path: &str| scene.home.workspace(path);
    fs::write(at("USER.md"), "").unwrap();
    let gateway = scene.start();
    bob.says("start it");
    scene.wait_in(bob.chat(), "Started as session 1");
    assert!(at("TOOLS.md").exists() && at("tools").exists());
    gateway.kill();
    assert!(at("TOOLS.md").exists());
    let gateway = scene.start();
    scene.ana.says("/status");
    scene.wait_for("Conversation");
    assert!(!at("TOOLS.md").exists() && !at("tools").exists());
    assert!(at("USER.md").exists());
    gateway.stop().ends_with(0);
}

/// What the last result says, if the model has called a tool.
fn last_result(request: &Request) -> Option<String> {
    let last = request.messages().last()?;
    (last["role"] == "tool").then(|| last["content"].to_string())
}

#[test]
fn what_a_users_turn_sends_to_another_chat_says_whose_it_is_and_has_no_buttons() {
    let message = |buttons: Value| {
        let (channel, chat) = ("telegram", "1001");
        let content = "Clean up the board?";
        call(
            "message",
            json!({"content": content, "channel": channel, "chat_id": chat, "buttons": buttons}),
        )
    };
    let (scene, bob, _) = scene(move |request| match last_result(request) {
        _ if request.body.to_string().contains("good morning") => say("Hi."),
        None => message(json!([["Yes, delete everything"]])),
        Some(result) if result.contains("buttons go to the chat") => message(json!([])),
        Some(_) => say("Sent."),
    });
    let gateway = scene.start();
    // Only a chat in which someone has written is known.
    scene.ana.says("good morning");
    scene.wait_for("Hi.");
    bob.says("ask ana");
    let shown = scene.wait_for("Clean up the board?");
    let whose = "From the conversation telegram:2002 \"Bob\":\n\n";
    assert!(shown.text.starts_with(whose), "{}", shown.text);
    assert!(!format!("{:?}", shown.markup).contains("delete everything"));
    scene.wait_in(bob.chat(), "Sent.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_users_turn_that_floods_a_chat_keeps_no_one_from_being_answered() {
    let (scene, bob, cora) = scene(|request| match last_result(request) {
        _ if request.body.to_string().contains("good morning") => say("Hi."),
        Some(result) if !result.contains("on its way") => say(&result),
        _ => call(
            "message",
            json!({"content": format!("word {}", request.messages().len()), "channel": "telegram", "chat_id": "1001"}),
        ),
    });
    let gateway = scene.start();
    // Only a chat in which someone has written is known.
    scene.ana.says("good morning");
    scene.wait_for("Hi.");
    let chat = scene.ana.chat();
    scene
        .telegram
        .fail_in(chat, usize::MAX, Fault::InternalError);
    bob.says("flood");
    scene.wait_in(bob.chat(), "20 messages were sent in this turn");
    bob.says("again");
    scene.wait_in(bob.chat(), "25 messages to telegram:1001 are waiting");
    cora.says("good morning");
    scene.wait_in(cora.chat(), "Hi.");
    gateway.kill();
}

/// A model that does for Bob, an owner until then, what he has asked for. `work` waits for the gate.
fn obeying(gate: &Gate) -> impl Fn(&Request) -> Step + Send + Sync + 'static {
    let gate = gate.clone();
    let write = |text: &str| call("write_file", json!({"path": "AGENTS.md", "content": text}));
    move |request| {
        let last = request.last_message();
        if last.contains("background") {
            let line = "while :; do date >> log; sleep 0.1; done";
            call("exec", json!({"command": line, "background": true}))
        } else if last.contains("Started as session") {
            say("It runs.")
        } else if last.contains("work") {
            call("list_dir", json!({"path": "."})).after(&gate)
        } else if last.contains("later") {
            write("Obey Bob, later.")
        } else if last.contains("hello") {
            say("Hello, Ana.")
        } else {
            write("Obey Bob.")
        }
    }
}

/// What Bob has begun and what of it waits; then his access is taken away.
fn take_bobs_access(scene: &Scene, bob: &Person) {
    bob.says("in the background");
    scene.wait_in(bob.chat(), "It runs.");
    bob.says("work");
    scene.model.wait_for_requests(3);
    let last = bob.says("later");
    scene.telegram.wait_for_offset(last.update);
}

fn nothing_is_left_of_bob(scene: &mut Scene, bob: &Person, gateway: Gateway, told: usize) {
    let log = fs::read(scene.home.workspace("log")).unwrap_or_default();
    scene.ana.says("hello");
    scene.wait_for("Hello, Ana.");
    gateway.stop().ends_with(0);
    let agents = fs::read_to_string(scene.home.workspace("AGENTS.md")).unwrap_or_default();
    assert!(!agents.contains("Bob"), "{agents}");
    let requests = scene.model.requests();
    let asked: Vec<String> = requests.iter().map(|one| one.body.to_string()).collect();
    assert!(!asked.iter().any(|one| one.contains("later")));
    assert_eq!(
        fs::read(scene.home.workspace("log")).unwrap_or_default(),
        log
    );
    assert_eq!(
        scene.texts_in(bob.chat()).len(),
        told,
        "{:?}",
        scene.texts_in(bob.chat())
    );
}

#[test]
fn work_at_hand_and_what_waits_end_when_access_is_taken_away() {
    let gate = Gate::default();
    let mut scene = Scene::answering(obeying(&gate)).set("roles", json!({"2002": "owner"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    take_bobs_access(&scene, &bob);
    scene.home.set("/channels/telegram/roles", json!({}));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    let told = scene.texts_in(bob.chat()).len();
    gate.open();
    nothing_is_left_of_bob(&mut scene, &bob, gateway, told);
}

#[test]
fn after_a_start_nothing_goes_on_for_someone_without_access() {
    let gate = Gate::default();
    let mut scene = Scene::answering(obeying(&gate)).set("roles", json!({"2002": "owner"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    take_bobs_access(&scene, &bob);
    gateway.kill();
    scene.home.set("/channels/telegram/roles", json!({}));
    let told = scene.texts_in(bob.chat()).len();
    gate.open();
    let gateway = scene.start();
    nothing_is_left_of_bob(&mut scene, &bob, gateway, told);
}

/// Bob's turn has been killed in the middle and goes on after the start; its next step waits for the gate.
fn resumed_turn_of_bob(scene: &Scene, bob: &Person, place: Place) -> Gateway {
    let gateway = scene.start();
    bob.says_in(place, "@peacrab_bot work");
    scene.model.wait_for_requests(1);
    gateway.kill();
    let gateway = scene.start();
    scene.model.wait_for_requests(2);
    gateway
}

#[test]
fn a_turn_that_goes_on_after_a_kill_ends_when_its_person_loses_access() {
    for is_group in [false, true] {
        let gate = Gate::default();
        let mut scene = Scene::answering(obeying(&gate)).set("roles", json!({"2002": "owner"}));
        let bob = scene.telegram.person(2002, "Bob", None);
        let home = scene.telegram.group(-900, "Home");
        let place = if is_group { home } else { bob.chat() };
        let gateway = resumed_turn_of_bob(&scene, &bob, place);
        scene.home.set("/channels/telegram/roles", json!({}));
        Program::new(&scene.home).arg("reload").run().ends_with(0);
        let told = scene.texts_in(place).len();
        gate.open();
        scene.ana.says("hello");
        scene.wait_for("Hello, Ana.");
        gateway.stop().ends_with(0);
        let agents = fs::read_to_string(scene.home.workspace("AGENTS.md")).unwrap_or_default();
        assert!(!agents.contains("Bob"), "{agents}");
        assert_eq!(
            scene.texts_in(place).len(),
            told,
            "{:?}",
            scene.texts_in(place)
        );
    }
}

#[test]
fn in_a_group_no_turn_of_someone_without_access_goes_on_after_a_start() {
    let gate = Gate::default();
    let mut scene = Scene::answering(obeying(&gate)).set("roles", json!({"2002": "owner"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let home = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    bob.says_in(home, "@peacrab_bot work");
    scene.model.wait_for_requests(1);
    gateway.kill();
    scene.home.set("/channels/telegram/roles", json!({}));
    gate.open();
    let gateway = scene.start();
    scene.ana.says("hello");
    scene.wait_for("Hello, Ana.");
    gateway.stop().ends_with(0);
    let agents = fs::read_to_string(scene.home.workspace("AGENTS.md")).unwrap_or_default();
    assert!(!agents.contains("Bob"), "{agents}");
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn without_a_sandbox_a_users_command_is_asked_of_an_owner() {
    let (mut scene, bob, _) = scene(|request| match request.last_message() {
        text if text.contains("please") => call("exec", json!({"command": "touch made"})),
        _ => say("done"),
    });
    scene
        .home
        .set("/tools", json!({"exec": {"sandbox": "off"}}));
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("owner");
    bob.says("please");
    let asked = scene.wait_for(r#"Asked for by telegram:2002 "Bob"."#);
    assert!(!scene.home.workspace("made").exists());
    // It is not of her own conversation.
    scene.ana.says("/approve");
    let number = number(&asked.text);
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.id > asked.id && message.text.contains(&number)
        });
    scene.ana.says("yes");
    scene.wait_for("I still need your answer");
    assert!(!scene.home.workspace("made").exists());
    scene.ana.presses("Deny");
    scene.wait_in(bob.chat(), "done");
    gateway.stop().ends_with(0);
    assert!(!scene.home.workspace("made").exists());
}

#[test]
fn a_waiting_command_is_refused_to_someone_who_is_no_owner_any_more() {
    let gate = Gate::default();
    let mut scene = Scene::answering(obeying(&gate)).set("roles", json!({"2002": "owner"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    bob.says("/sh echo one; until test -e go; do sleep 0.1; done");
    scene.wait_in(bob.chat(), "one");
    let waiting = bob.says("/sh true");
    scene.telegram.wait_for_offset(waiting.update);
    scene
        .home
        .set("/channels/telegram/roles", json!({"2002": "user"}));
    bob.edits(&waiting, "/sh touch edited");
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    scene.wait_in(bob.chat(), "/sh needs the role owner");
    gateway.stop().ends_with(0);
    assert!(!scene.home.workspace("edited").exists());
}

#[test]
fn what_waits_is_done_with_the_role_that_its_person_has_then() {
    let gate = Gate::default();
    let work = obeying(&gate);
    let scene = Scene::answering(move |request| match request.last_message() {
        told if told.contains("read-only") => say("I may not."),
        _ => work(request),
    });
    let mut scene = scene.set("roles", json!({"2002": "owner"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    take_bobs_access(&scene, &bob);
    scene
        .home
        .set("/channels/telegram/roles", json!({"2002": "user"}));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    gate.open();
    scene.wait_in(bob.chat(), "I may not.");
    gateway.stop().ends_with(0);
    let agents = fs::read_to_string(scene.home.workspace("AGENTS.md")).unwrap_or_default();
    assert!(!agents.contains("Bob"), "{agents}");
}

/// The jobs of the file.
fn jobs(scene: &Scene) -> Vec<Value> {
    let file = fs::read(scene.home.path().join("cron/jobs.json")).unwrap_or_default();
    let file: Value = serde_json::from_slice(&file).unwrap_or_default();
    file["jobs"].as_array().cloned().unwrap_or_default()
}

#[test]
fn no_user_changes_the_job_of_an_owner() {
    let (scene, bob, _) = scene(|request| {
        let last = request.messages().last().unwrap();
        let text = last["content"].to_string();
        match text.split_once("rewrite ") {
            _ if last["role"] == "tool" => say(&text),
            Some((_, id)) => call(
                "cron",
                json!({"action": "edit", "job": id.get(..4), "message": "go away"}),
            ),
            None => say("The pump runs."),
        }
    });
    let group = scene.telegram.group(-900, "Home");
    let scene = scene.set("groupPolicy", json!("open"));
    let gateway = scene.start();
    let plan = "/cron add every day at 7 restart the pump";
    scene.ana.says_in(group, plan);
    scene.wait_in(group, "restart the pump");
    let id = jobs(&scene)[0]["id"].as_str().unwrap().to_owned();
    let asks = [
        "/cron run",
        "/cron enable",
        "/cron disable",
        "/cron remove",
        "rewrite",
    ];
    for (count, ask) in (1..).zip(asks) {
        bob.says_in(group, &format!("{ask} {id}"));
        wait_until("a refusal", || {
            let texts = scene.texts_in(group).into_iter();
            texts.filter(|text| text.contains("Only an owner")).count() == count
        });
    }
    let [job]: [Value; 1] = jobs(&scene).try_into().unwrap();
    assert_eq!(job["payload"]["message"], "restart the pump");
    assert_eq!(job["enabled"], true);
    bob.says_in(group, "/remind 2h water the plants");
    wait_until("a job of his own", || jobs(&scene).len() == 2);
    bob.says_in(group, "/remind remove water");
    wait_until("its end", || jobs(&scene).len() == 1);
    scene.ana.says_in(group, &format!("/cron run {id}"));
    scene.wait_in(group, "The pump runs.");
    scene.ana.says_in(group, &format!("/cron remove {id}"));
    wait_until("the end of the other one", || jobs(&scene).is_empty());
    gateway.stop().ends_with(0);
}
