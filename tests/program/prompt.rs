//! What goes to the model: the system prompt in its parts, the same bytes from turn to turn, and the
//! account of it for people.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::scene::Scene;
use crate::harness::home::{Home, MODEL};
use crate::harness::model::{Format, Model, Request, call, say};
use crate::harness::program::Program;

/// Bytes of the whole request for "hi", with all tools and the index of the skills.
const HI_BYTES_MAX: usize = 12_000;

/// What Anthropic's requests have beside the content; it is not a part of what is cached.
const MARKS: [&str; 2] = [
    r#","cache_control":{"type":"ephemeral"}"#,
    r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
];

/// A request as it was sent, in the order in which a server reads and caches it.
struct Sent {
    tools: String,
    system: String,
    messages: Vec<String>,
    /// The message with the runtime's facts: with it, the running turn begins.
    turn: usize,
}

impl Sent {
    fn of(request: &Request) -> Self {
        #[derive(Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            tools: &'a RawValue,
            system: Option<&'a RawValue>,
            messages: Vec<&'a RawValue>,
        }
        let raw = MARKS
            .iter()
            .fold(request.raw.clone(), |raw, mark| raw.replace(mark, ""));
        let body: Body<'_> = serde_json::from_str(&raw).unwrap();
        let mut messages: Vec<String> = body.messages.iter().map(ToString::to_string).collect();
        let system = match body.system {
            Some(system) => system.to_string(),
            None => messages.remove(0),
        };
        let has_facts = |message: &String| message.contains("[Runtime facts");
        Self {
            turn: messages.iter().position(has_facts).unwrap(),
            tools: body.tools.to_string(),
            system,
            messages,
        }
    }

    fn bytes(&self) -> usize {
        let messages: usize = self.messages.iter().map(String::len).sum();
        self.tools.len() + self.system.len() + messages
    }
}

/// The bytes at the beginning of a request that are those of the one before it.
fn shared_bytes(before: &Sent, now: &Sent) -> usize {
    let mut same = before.tools.len() + before.system.len();
    assert_eq!(before.tools, now.tools);
    assert_eq!(before.system, now.system);
    let pairs = before.messages.iter().zip(&now.messages);
    for (old, new) in pairs {
        if old != new {
            let bytes = old.bytes().zip(new.bytes());
            return same + bytes.take_while(|(old, new)| old == new).count();
        }
        same += old.len();
    }
    same
}

/// Seven turns, some with tools. Each is a run of the program of its own.
fn talk_for_seven_turns(format: Format) {
    let listing = || call("list_dir", json!({"path": "."}));
    let model = Model::playing([
        say("Hello Ada."),
        listing(),
        say("Two files."),
        listing().and_call("read_file", json!({"path": "a.txt"})),
        call("write_file", json!({"path": "b.txt", "content": "b"})),
        say("Written."),
        say("You are welcome."),
        listing(),
        say("Three files."),
        say("Fine."),
        call("read_file", json!({"path": "b.txt"})),
        say("b"),
    ]);
    let home = match format {
        Format::OpenAi | Format::Responses => Home::with_model(&model),
        Format::Anthropic => Home::with_anthropic_model(&model),
    };
    fs::write(home.workspace("a.txt"), "first\nsecond\n").unwrap();
    fs::write(home.workspace("USER.md"), "Ada likes \"short\" answers.\n").unwrap();
    for turn in 1..=7 {
        let text = format!("request {turn}");
        let arguments = ["agent", "-s", "work", "-m", &text];
        Program::new(&home).args(arguments).run().ends_with(0);
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 12);
    let sent: Vec<Sent> = requests.iter().map(Sent::of).collect();
    let mut turns = 1;
    for (number, pair) in sent.windows(2).enumerate() {
        let [before, now] = pair else { unreachable!() };
        let shared = shared_bytes(before, now);
        let percent = 100 * shared / now.bytes();
        eprintln!(
            "{format:?} request {}: {shared} of {} bytes as before ({percent} %)",
            number + 2,
            now.bytes()
        );
        // The history before the running turn, and in the same turn also what has been done in it.
        let stable = match before.turn == now.turn {
            true => before.messages.len(),
            false => before.turn,
        };
        assert!(now.messages.len() > stable);
        assert_eq!(before.messages[..stable], now.messages[..stable]);
        turns += usize::from(before.turn != now.turn);
        // Of the last turn only the facts are gone.
        assert_eq!(
            before.messages[before.turn + 1..],
            now.messages[before.turn + 1..before.messages.len()]
        );
        assert!(percent >= 80, "request {}: {percent} %", number + 2);
    }
    assert_eq!(turns, 7);
    if format == Format::Anthropic {
        for request in &requests {
            let marks = request.raw.matches("cache_control").count();
            assert!((3..=4).contains(&marks), "{marks} marks");
        }
    }
}

#[test]
fn from_turn_to_turn_the_beginning_of_a_request_stays_the_same_for_openai() {
    talk_for_seven_turns(Format::OpenAi);
}

#[test]
fn from_turn_to_turn_the_beginning_of_a_request_stays_the_same_for_anthropic() {
    talk_for_seven_turns(Format::Anthropic);
}

/// The system prompt of a request.
fn system(request: &Request) -> String {
    request.messages()[0]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A home whose workspace has every file that goes into the prompt, and the names of the last four days' notes.
fn full_home(model: &Model) -> (Home, Vec<String>) {
    let home = Home::with_model(model);
    for (name, text) in [
        ("TOOLS.md", "The pump is on GPIO 17."),
        ("USER.md", "Ada."),
        ("AGENT.md", "Of another agent."),
        ("SOUL.md", "Calm."),
        ("IDENTITY.md", "A crab."),
    ] {
        fs::write(home.workspace(name), text).unwrap();
    }
    // A file that is too long; its end is left out, and said to be.
    let line = "Water the tomatoes.\n";
    fs::write(home.workspace("AGENTS.md"), line.repeat(1_000)).unwrap();
    let today = chrono::Utc::now().date_naive();
    let days = (0..4).map(|days| today - chrono::Days::new(days));
    let notes: Vec<String> = days.map(|day| format!("memory/{day}.md")).collect();
    for folder in ["memory", "skills/garden", "skills/attic"] {
        fs::create_dir_all(home.workspace(folder)).unwrap();
    }
    for note in &notes {
        fs::write(home.workspace(note), format!("- 09:00 rain, {note}\n")).unwrap();
    }
    fs::write(home.workspace("memory/MEMORY.md"), "Ada's cat is Miu.\n").unwrap();
    let skill = "---\nname: garden\ndescription: Watering.\nalways: true\n---\nWater at six.\n";
    fs::write(home.workspace("skills/garden/SKILL.md"), skill).unwrap();
    let skill = "---\nname: attic\ndescription: The attic's fan.\nmetadata: {requires: {bins: [no-such-fan]}}\n---\n";
    fs::write(home.workspace("skills/attic/SKILL.md"), skill).unwrap();
    (home, notes)
}

#[test]
fn the_prompt_has_its_parts_in_order_and_names_what_was_cut() {
    let model = Model::playing([say("hi")]);
    let (home, notes) = full_home(&model);
    Program::new(&home)
        .args(["agent", "-m", "hi"])
        .run()
        .ends_with(0);
    let prompt = system(&model.requests()[0]);
    let parts: Vec<&str> = prompt.split("\n\n---\n\n").collect();
    assert!(parts[0].starts_with("# Peacrab\n"), "{prompt}");
    for fact in [
        "## Rules",
        "## Runtime",
        "## Workspace",
        "Linux",
        "exec runs in",
    ] {
        assert!(parts[0].contains(fact), "{fact} is missing in {}", parts[0]);
    }
    let names: Vec<&str> = parts[1..]
        .iter()
        .map(|part| part.lines().next().unwrap())
        .collect();
    let files = [
        "IDENTITY.md",
        "AGENTS.md",
        "AGENT.md",
        "SOUL.md",
        "USER.md",
        "TOOLS.md",
    ];
    assert_eq!(names[..6], files.map(|name| format!("## {name}")));
    let memory = ["memory/MEMORY.md", &notes[0], &notes[1], &notes[2]];
    assert_eq!(names[6..10], memory.map(|name| format!("## {name}")));
    assert_eq!(names[10..], ["## skills/garden/SKILL.md", "## Skills"]);
    assert!(parts[7].ends_with("\nAda's cat is Miu."), "{}", parts[7]);
    assert!(parts[11].ends_with("\nWater at six."), "{}", parts[11]);
    let index = parts[12];
    assert!(
        index.contains("\n- attic: The attic's fan. (unavailable: "),
        "{index}"
    );
    assert!(
        index.contains("no-such-fan") && index.contains("\n- network: "),
        "{index}"
    );
    assert!(!index.contains("garden"), "{index}");
    let cut = parts[2].lines().last().unwrap();
    assert!(cut.starts_with("[cut: 13,"), "{cut}");
    assert!(cut.ends_with(" bytes of AGENTS.md are left out; read_file shows all]"));
    assert!(parts[2].len() < 6 * 1024 + 200);

    let context = |arguments: &[&str]| {
        let program = Program::new(&home).arg("context").args(arguments);
        program.run().ends_with(0).stdout
    };
    let table = context(&[]);
    assert!(
        table.contains(" bytes of AGENTS.md do not fit and are left out."),
        "{table}"
    );
    assert_eq!(context(&["--full"]), format!("{prompt}\n"));
}

#[test]
fn a_prompt_without_files_has_the_identity_only_and_nothing_broken_gets_in() {
    let model = Model::playing([say("hi"), say("hi")]);
    let home = Home::with_model(&model);
    let ask = || {
        let program = Program::new(&home).args(["agent", "-m", "hi"]);
        program.run().ends_with(0);
    };
    ask();
    fs::write(home.workspace("SOUL.md"), " \n\n").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", home.workspace("USER.md")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", home.workspace("TOOLS.md")).unwrap();
    fs::create_dir(home.workspace("AGENTS.md")).unwrap();
    ask();
    let requests = model.requests();
    assert!(system(&requests[0]).starts_with("# Peacrab\n"));
    assert_eq!(system(&requests[0]), system(&requests[1]));
}

/// Fills the workspace as `peacrab onboard` does.
fn fill_workspace(home: &Home) {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    for file in fs::read_dir(templates).unwrap() {
        let file = file.unwrap();
        fs::copy(
            file.path(),
            home.workspace(file.file_name().to_str().unwrap()),
        )
        .unwrap();
    }
}

#[test]
fn a_request_that_says_hi_has_at_most_12_kilobytes() {
    let scene = Scene::playing([say("Hello!")]);
    fill_workspace(&scene.home);
    let gateway = scene.start();
    scene.ana.says("hi");
    scene.wait_for("Hello!");
    gateway.stop().ends_with(0);
    let request = &scene.model.requests()[0];
    let bytes = request.raw.len();
    let tools = request.body["tools"].as_array().unwrap();
    let weight = |text: &str| (text.len(), peacrab::base::tokens::estimate(text));
    println!("\"hi\" is sent in {bytes} bytes, at most {HI_BYTES_MAX}:");
    let system = system(request);
    for part in system.split("\n\n---\n\n") {
        let name = part.lines().next().unwrap();
        let (bytes, tokens) = weight(part);
        println!("  {name:20} {bytes:6} bytes {tokens:5} tokens");
    }
    for tool in tools {
        let name = tool["function"]["name"].as_str().unwrap();
        let (bytes, tokens) = weight(&tool.to_string());
        println!("  tool {name:15} {bytes:6} bytes {tokens:5} tokens");
    }
    println!(
        "  {:20} {bytes:6} bytes {:5} tokens",
        "all",
        weight(&request.raw).1
    );
    for name in ["exec", "read_file", "device", "message"] {
        let has_name = |tool: &Value| tool["function"]["name"] == name;
        assert!(tools.iter().any(has_name), "without {name}");
    }
    assert!(bytes <= HI_BYTES_MAX, "{bytes} bytes");
}

#[test]
fn the_account_of_a_conversation_is_that_of_its_next_request() {
    let model = Model::playing([
        call("list_dir", json!({"path": "."})),
        say("One file."),
        say("You are welcome."),
    ]);
    let home = Home::with_model(&model);
    fs::write(home.workspace("USER.md"), "Ada.").unwrap();
    let run = |arguments: &[&str]| {
        let output = Program::new(&home).args(arguments).run().ends_with(0);
        output.stdout
    };
    run(&["agent", "-s", "work", "-m", "which files are there?"]);
    let account: Value = serde_json::from_str(&run(&["context", "-s", "work", "--json"])).unwrap();
    assert_eq!(account["model"], format!("fake/{MODEL}"));
    assert_eq!(account["conversation"]["turns"], 1);
    assert_eq!(account["conversation"]["entries"], 4);
    assert_eq!(account["windowTokens"], 128_000);
    let tokens = |section: &str| account[section]["tokens"].as_u64().unwrap();
    let parts = account["parts"].as_array().unwrap().iter();
    let parts: u64 = parts.map(|part| part["tokens"].as_u64().unwrap()).sum();
    let total = parts + tokens("tools") + tokens("conversation") + tokens("facts");
    assert_eq!(account["total"]["tokens"], total);
    let left = 128_000 - total - account["answerTokens"].as_u64().unwrap();
    assert_eq!(account["leftTokens"], left);

    // The next request has this prompt and this history.
    run(&["agent", "-s", "work", "-m", "thanks"]);
    let request = &model.requests()[2];
    let prompt = system(request);
    let bytes = account["parts"].as_array().unwrap().iter();
    let bytes: u64 = bytes.map(|part| part["bytes"].as_u64().unwrap()).sum();
    let separators = prompt.matches("\n\n---\n\n").count() * "\n\n---\n\n".len();
    assert_eq!(prompt.len() as u64, bytes + separators as u64);
    assert_eq!(request.messages().len(), 1 + 4 + 1);

    let table = run(&["context", "-s", "work"]);
    for row in [
        "USER.md",
        "conversation (2 turns)",
        "total",
        "window",
        "128,000",
    ] {
        assert!(table.contains(row), "{row} is missing in {table}");
    }
    let empty = run(&["context"]);
    assert!(empty.contains("conversation (0 turns)"), "{empty}");
    let mistyped = Program::new(&home).args(["context", "-s", "wrok"]).run();
    mistyped.ends_with(2).complains_of(&["No session cli:wrok"]);
}

#[test]
fn a_chat_can_ask_for_the_account() {
    let scene = Scene::playing([say("Hello!")]);
    let gateway = scene.start();
    scene.ana.says("hi");
    scene.wait_for("Hello!");
    scene.ana.says("/context");
    let answer = scene.wait_for("of 128,000 tokens");
    for part in [
        "identity: ",
        "tools: ",
        "conversation, 1 turn: ",
        "are left",
    ] {
        assert!(
            answer.text.contains(part),
            "{part} is missing in {}",
            answer.text
        );
    }
    gateway.stop().ends_with(0);
}
