//! A person moves in with the home of another program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY};
use crate::harness::model::{Model, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::{TOKEN, Telegram};
use crate::harness::terminal::{CTRL_C, RETURN, Terminal};

/// The home of another program, and how it was before.
struct Other {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Other {
    fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(name)).unwrap();
        Self { folder, name }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        self
    }

    /// Everything in it, with the times of the last changes.
    fn state(&self) -> BTreeMap<PathBuf, (i64, i64, Vec<u8>)> {
        let mut state = BTreeMap::new();
        collect(&self.path(), &mut state);
        state
    }

    /// Imports it, and makes sure that it is as before.
    fn import(&self, home: &Home, flags: &[&str]) -> Output {
        let before = self.state();
        let program = Program::new(home).arg("import").args(flags);
        let output = program.arg(self.path()).run();
        assert!(self.state() == before, "the other home was changed");
        assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY));
        output
    }
}

fn collect(folder: &Path, state: &mut BTreeMap<PathBuf, (i64, i64, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let content = match about.is_file() && about.len() < 1 << 20 {
            true => fs::read(&path).unwrap(),
            false => Vec::new(),
        };
        state.insert(path.clone(), (about.mtime(), about.mtime_nsec(), content));
        if about.is_dir() {
            collect(&path, state);
        }
    }
}

#[track_caller]
fn assert_has(output: &Output, texts: &[&str]) {
    // However it was wrapped.
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = plain(&output.stdout);
    for text in texts {
        assert!(
            all.contains(&plain(text)),
            "{text:?} is missing in\n{}{}",
            output.stdout,
            output.stderr
        );
    }
}

/// What the configuration file has at a JSON pointer.
fn setting(home: &Home, pointer: &str) -> Value {
    let file = fs::read_to_string(home.path().join("config.json")).unwrap_or_default();
    let config: Value = serde_json::from_str(&file).unwrap_or_default();
    config.pointer(pointer).cloned().unwrap_or_default()
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Knows the {name}.\n---\nAsk the {name}.\n")
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// The home of a nanobot that has talked with Ana, who is 1001.
fn nanobot(model: &Model, telegram: &Telegram) -> Other {
    let other = Other::new(".nanobot");
    let config = json!({
        "agents": {"defaults": {
            "workspace": "~/.nanobot/workspace", "model": "fake-model", "provider": "custom", "maxTokens": 4096,
            "botIcon": "x", "timezone": "UTC",
        }},
        "providers": {
            "custom": {"apiKey": KEY, "apiBase": format!("{}/v1", model.url())},
            "openai": {"apiKey": null, "apiBase": "http://127.0.0.1:9/v1"},
        },
        "channels": {
            "telegram": {
                "enabled": true, "token": TOKEN, "apiBase": telegram.url(), "allowFrom": ["1001", "*"],
                "streamEditInterval": 0.6, "poolTimeout": 5.0,
            },
            "discord": {"enabled": false, "token": "", "intents": 7},
        },
        "tools": {"exec": {"timeout": 90}, "restrictToWorkspace": false},
    });
    other.write("config.json", config.to_string());
    other.write(
        "pairing.json",
        json!({"approved": {"telegram": ["1002"]}, "pending": {}}).to_string(),
    );
    other.write(".env", "LUNCH=soup\n");
    other.write("workspace/SOUL.md", "You speak of boats.\n");
    other.write("workspace/memory/MEMORY.md", "Ana likes tea.\n");
    let past =
        json!({"cursor": 1, "timestamp": "2026-11-01 10:00", "content": "Ana bought a boat."});
    other.write("workspace/memory/history.jsonl", lines(&[past]));
    other.write("workspace/skills/boiler/SKILL.md", skill("boiler"));
    let conversation = [
        json!({"_type": "metadata", "key": "telegram:1001", "created_at": "2026-11-01T10:00:00", "last_consolidated": 2}),
        json!({"role": "user", "content": "My boat is called Frieda.", "timestamp": "2026-11-01T10:00:01"}),
        json!({"role": "assistant", "content": "A fine name.", "timestamp": "2026-11-01T10:00:02"}),
        json!({"role": "user", "content": "Remember that it leaks.", "timestamp": "2026-11-01T10:00:03"}),
    ];
    other.write(
        "workspace/sessions/telegram_1001.jsonl",
        lines(&conversation),
    );
    other.write("sessions/heartbeat.jsonl", lines(&conversation[1..]));
    let job = |id: &str, schedule: Value| {
        json!({
            "id": id, "name": id, "enabled": true, "schedule": schedule,
            "payload": {"kind": "agent_turn", "message": "say the weather", "deliver": true, "channel": "telegram", "to": "1001"},
            "state": {"lastRunAtMs": 1, "lastStatus": "ok"}, "createdAtMs": 1_700_000_000_000_i64, "updatedAtMs": 1,
            "deleteAfterRun": false,
        })
    };
    let every = json!({"kind": "every", "everyMs": 3_600_000});
    let past = json!({"kind": "at", "atMs": 1_700_000_000_000_i64});
    let jobs = json!({"version": 1, "jobs": [job("weather", every), job("gone", past)]});
    other.write("cron/jobs.json", jobs.to_string());
    other
}

/// Everything of that nanobot is in a home, and was said.
#[track_caller]
fn assert_nanobot_is_here(home: &Home, output: &Output) {
    assert_has(
        output,
        &[
            "From nanobot",
            "taken agents.defaults.maxTokens: 4096",
            "changed channels.telegram.streamEditInterval -> channels.telegram.streamEditIntervalMs: 600",
            "not taken channels.telegram.allowFrom: * would give everyone access",
            "not taken tools.restrictToWorkspace",
            "not taken tools.exec: what commands may do",
            "not taken providers.openai: it has no API key of its own",
            "no counterpart agents.defaults: botIcon",
            "no counterpart channels.telegram: poolTimeout",
            "no counterpart environment variables of that home (.env): LUNCH",
            "channels that are off there: discord",
            "taken SOUL.md",
            "changed memory/history.jsonl -> memory/HISTORY.md",
            "taken boiler",
            "taken weather (weather)",
            "not taken gone (gone): its time has passed",
            "taken telegram:1001: 3 entries",
            "not taken heartbeat",
            "Stop nanobot before you start this bot",
        ],
    );
    assert_eq!(
        setting(home, "/channels/telegram/allowFrom"),
        json!(["1001", "1002"])
    );
    assert_eq!(setting(home, "/providers/openai"), Value::Null);
    assert_eq!(setting(home, "/tools"), Value::Null);
    let read = |name: &str| fs::read_to_string(home.workspace(name)).unwrap();
    assert_eq!(read("SOUL.md"), "You speak of boats.\n");
    assert_eq!(
        read("memory/HISTORY.md"),
        "[2026-11-01 10:00] Ana bought a boat.\n\n"
    );
    assert!(read("skills/boiler/SKILL.md").contains("Ask the boiler."));
    assert!(read("TOOLS.md").len() > 10, "what was missing there");
}

#[test]
fn a_nanobot_moves_in_and_goes_on_where_it_was() {
    let clock = Turned::at("2026-11-29T10:00:00Z");
    let model = Model::playing([say("Frieda."), say("It rains.")]);
    let telegram = Telegram::start();
    let other = nanobot(&model, &telegram);
    let mut home = Home::new();
    home.turn(&clock);

    let looked = other.import(&home, &["--dry-run"]).ends_with(0);
    assert_has(
        &looked,
        &[
            "Nothing was written.",
            "taken agents.defaults.maxTokens: 4096",
        ],
    );
    // The folder that it is in, and its file of settings, are the same to a newcomer.
    for path in [
        other.folder.path().to_owned(),
        other.path().join("config.json"),
    ] {
        let program = Program::new(&home).args(["import", "--dry-run"]);
        let again = program.arg(path).run().ends_with(0);
        assert_has(&again, &["taken agents.defaults.maxTokens: 4096"]);
    }
    let there: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
    assert_eq!(there.len(), 1, "only the empty workspace: {there:?}");
    assert_eq!(fs::read_dir(home.workspace("")).unwrap().count(), 0);

    let output = other.import(&home, &[]).ends_with(0);
    assert_nanobot_is_here(&home, &output);

    let journal = home.path().join("sessions/telegram_1001.jsonl");
    let before = (
        fs::read(&journal).unwrap(),
        fs::read(home.path().join("config.json")).unwrap(),
    );
    let again = other.import(&home, &[]).ends_with(0);
    assert_has(
        &again,
        &[
            "Nothing new. Nothing was changed.",
            "kept boiler",
            "kept telegram:1001",
        ],
    );
    let after = (
        fs::read(&journal).unwrap(),
        fs::read(home.path().join("config.json")).unwrap(),
    );
    assert!(before == after);

    let ana = telegram.person(1001, "Ana", Some("ana"));
    let gateway = Gateway::start(&home);
    gateway.wait_for_log("ready");
    other
        .import(&home, &[])
        .ends_with(1)
        .complains_of(&["The bot is running"]);
    ana.says("What is my boat called?");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("Frieda"));
    clock.forward(std::time::Duration::from_secs(3600));
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("It rains"));
    gateway.stop().ends_with(0);
    let requests = model.requests();
    assert_eq!(requests.len(), 2, "nothing of before was answered again");
    let first = requests[0].body.to_string();
    for known in [
        "called Frieda",
        "that it leaks",
        "Ana likes tea",
        "You speak of boats",
    ] {
        assert!(first.contains(known), "{known}: {first}");
    }
}

#[test]
fn an_older_picoclaw_moves_in() {
    let old = Other::new(".picoclaw");
    let config = json!({
        "agents": {"defaults": {"restrict_to_workspace": false, "model": "glm-4.7", "provider": "zhipu", "max_tokens": 2048}},
        "channels": {"telegram": {"enabled": true, "token": TOKEN, "allow_from": [1001]}},
        "providers": {"zhipu": {"api_key": KEY, "api_base": ""}, "groq": {"api_key": "gsk_xxx", "api_base": ""}},
        "heartbeat": {"enabled": true, "interval": 45},
    });
    let messages =
        json!([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]);
    let session = json!({"key": "telegram:1001", "messages": messages, "summary": "They greeted."});
    old.write("config.json", config.to_string());
    old.write("workspace/sessions/telegram_1001.json", session.to_string());
    old.write("workspace/memory/202611/20261101.md", "A day.\n");
    let home = Home::new();
    let output = old.import(&home, &[]).ends_with(0);
    assert_has(
        &output,
        &[
            "From PicoClaw",
            "not taken agents.defaults.restrict_to_workspace",
            "not taken providers.groq.api_key: an example",
            "taken heartbeat.interval: 45",
            "memory/202611/20261101.md -> memory/2026-11-01.md",
            "taken telegram:1001: 2 entries",
        ],
    );
    assert_eq!(setting(&home, "/providers/zhipu/apiKey"), KEY);
    assert_eq!(setting(&home, "/agents/defaults/model"), "glm-4.7");
    assert_eq!(
        setting(&home, "/channels/telegram/allowFrom"),
        json!(["1001"])
    );
    let journal = fs::read_to_string(home.path().join("sessions/telegram_1001.jsonl")).unwrap();
    assert!(journal.contains("They greeted."), "{journal}");
}

#[test]
fn a_model_is_kept_with_its_provider() {
    let (model, telegram) = (Model::playing([say("here")]), Telegram::start());
    let home = Home::new();
    nanobot(&model, &telegram).import(&home, &[]).ends_with(0);
    let before = setting(&home, "/agents/defaults");
    let second = Other::new(".picoclaw");
    let config = json!({
        "agents": {"defaults": {"model": "gpt-x", "provider": "openai"}},
        "providers": {"openai": {"api_key": KEY}},
    });
    second.write("config.json", config.to_string());
    let tried = second.import(&Home::new(), &["--dry-run"]).ends_with(0);
    assert!(!tried.stderr.contains("Looked in"), "{tried:?}");
    let output = second.import(&home, &[]).ends_with(0);
    assert_has(&output, &["From PicoClaw", "kept agents.defaults.model"]);
    assert!(!output.stdout.contains("agents.defaults.provider"));
    assert_eq!(setting(&home, "/agents/defaults"), before);
    let said = Program::new(&home).args(["agent", "-m", "hello"]).run();
    assert_has(&said.ends_with(0), &["here"]);
}

#[test]
fn a_newer_picoclaw_moves_in() {
    let messages =
        json!([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]);
    let new = Other::new(".picoclaw");
    let config = json!({
        "version": 3,
        "agents": {"defaults": {"model_name": "clever", "context_window": 64000}},
        "model_list": [
            {"model_name": "other", "model": "groq/llama", "api_keys": ["${GROQ}"]},
            {"model_name": "clever", "model": "openai/gpt-x", "api_base": "https://api.example.org/v1"},
        ],
        "channel_list": {"telegram": {
            "enabled": true, "type": "telegram", "allow_from": ["telegram:1001", "YOUR_USER_ID"],
            "group_trigger": {"mention_only": true}, "settings": {"streaming": {"enabled": false}},
        }},
        "tools": {"web": {"brave": {"enabled": true, "api_keys": ["BSA-one"]}}},
    });
    let secrets = format!(
        "model_list:\n  clever:\n    api_keys:\n      - \"{KEY}\" # mine\nchannel_list:\n  telegram:\n    settings:\n      token: {TOKEN}\n"
    );
    new.write("config.json", config.to_string())
        .write(".security.yml", secrets);
    let meta = json!({"key": "sk_v1_abc", "aliases": ["agent:main:telegram:direct:1001"], "skip": 1, "summary": "Before."});
    new.write("workspace/sessions/sk_v1_abc.meta.json", meta.to_string());
    new.write(
        "workspace/sessions/sk_v1_abc.jsonl",
        lines(messages.as_array().unwrap()),
    );
    let job = json!({
        "id": "c1", "name": "disk", "enabled": true, "schedule": {"kind": "cron", "expr": "0 7 * * *"},
        "payload": {"kind": "agent_turn", "message": "x", "command": "df -h"},
        "state": {}, "createdAtMs": 1, "updatedAtMs": 1, "deleteAfterRun": false,
    });
    new.write(
        "workspace/cron/jobs.json",
        json!({"version": 1, "jobs": [job]}).to_string(),
    );
    let home = Home::new();
    let output = new.import(&home, &[]).ends_with(0);
    assert_has(
        &output,
        &[
            "not taken model_list.groq.api_key: it refers to a variable or file",
            "not taken channel_list.telegram.allow_from: an example",
            "changed disk (c1): it runs a command, so it is disabled",
            "agent:main:telegram:direct:1001 -> telegram:1001: 2 entries",
        ],
    );
    let defaults = json!({"provider": "openai", "model": "gpt-x", "contextWindowTokens": 64000});
    assert_eq!(setting(&home, "/agents/defaults"), defaults);
    let openai = json!({"apiKey": KEY, "apiBase": "https://api.example.org/v1"});
    assert_eq!(setting(&home, "/providers"), json!({"openai": openai}));
    let telegram =
        json!({"enabled": true, "token": TOKEN, "allowFrom": ["1001"], "streaming": false});
    assert_eq!(setting(&home, "/channels/telegram"), telegram);
    assert_eq!(
        setting(&home, "/tools/web/search"),
        json!({"provider": "brave", "apiKey": "BSA-one"})
    );
    let journal = fs::read_to_string(home.path().join("sessions/telegram_1001.jsonl")).unwrap();
    assert!(
        journal.contains("Before.") && journal.contains("window_from"),
        "{journal}"
    );
    let listed = Program::new(&home)
        .args(["cron", "list"])
        .run()
        .ends_with(0);
    assert!(listed.stdout.contains("disk"), "{listed:?}");
}

#[test]
fn an_openclaw_moves_in() {
    let other = Other::new(".openclaw");
    let config = format!(
        "{{\n  // mine\n  env: {{vars: {{ANTHROPIC_API_KEY: \"{KEY}\"}}}},\n  agents: {{defaults: {{model: {{primary: \"anthropic/claude-x\"}}, \
         userTimezone: \"UTC\"}}}},\n  channels: {{telegram: {{botToken: \"${{TG}}\", allowFrom: [\"tg:1001\"], \
         groups: {{\"*\": {{requireMention: true}}}}}}}},\n  tools: {{exec: {{security: \"full\"}}, elevated: {{enabled: true}}}},\n}}\n"
    );
    other
        .write("openclaw.json", config)
        .write(".env", format!("TG={TOKEN}\n"));
    other
        .write("workspace/AGENTS.md", "Be brief.\n")
        .write("workspace/MEMORY.md", "Facts.\n");
    other.write("workspace/memory/2026-11-01.md", "A day.\n");
    other.write("state/openclaw.sqlite", "SQLite");
    let entry = json!({"sessionId": "a-1", "lastChannel": "telegram", "lastTo": "telegram:1001"});
    other.write(
        "agents/main/sessions/sessions.json",
        json!({"agent:main:main": entry}).to_string(),
    );
    let said = |role: &str, text: &str| json!({"type": "message", "timestamp": "2026-11-01T10:00:00Z", "message": {"role": role, "content": [{"type": "text", "text": text}]}});
    let events = [
        json!({"type": "session", "id": "a-1"}),
        said("user", "hello"),
        said("assistant", "hi"),
    ];
    other.write("agents/main/sessions/a-1.jsonl", lines(&events));
    let jobs = json!({"version": 1, "jobs": [{
        "id": "b-2", "name": "brief", "enabled": true, "schedule": {"kind": "cron", "expr": "0 7 * * *", "tz": "Europe/Zurich"},
        "payload": {"kind": "agentTurn", "message": "brief me"}, "delivery": {"mode": "announce", "channel": "telegram", "to": "1001"},
    }]});
    other.write("cron/jobs.json", jobs.to_string());
    let home = Home::new();
    let output = other.import(&home, &[]).ends_with(0);
    assert_has(
        &output,
        &[
            "From OpenClaw",
            "changed env.vars.ANTHROPIC_API_KEY -> providers.anthropic.apiKey",
            "changed channels.telegram.botToken -> channels.telegram.token",
            "not taken tools.exec:",
            "not taken tools.elevated:",
            "taken AGENTS.md",
            "changed MEMORY.md -> memory/MEMORY.md",
            "taken memory/2026-11-01.md",
            "taken brief (b-2)",
            "taken telegram:1001: 2 entries",
            "not taken state/openclaw.sqlite: a database",
        ],
    );
    assert_eq!(
        setting(&home, "/agents/defaults/model"),
        "anthropic/claude-x"
    );
    let telegram = json!({"enabled": true, "token": TOKEN, "allowFrom": ["1001"]});
    assert_eq!(setting(&home, "/channels/telegram"), telegram);
    assert_has(&other.import(&home, &[]).ends_with(0), &["Nothing new."]);
}

#[test]
fn a_hermes_moves_in() {
    let other = Other::new(".hermes");
    other.write("config.yaml", "model:\n  default: anthropic/claude-x\n  provider: openrouter\nagent:\n  max_turns: 25\nterminal:\n  backend: local\n");
    other.write(".env", format!("# keys\nOPENROUTER_API_KEY='{KEY}'\nTELEGRAM_BOT_TOKEN={TOKEN}\nTELEGRAM_ALLOWED_USERS=1001, 1002\nGATEWAY_ALLOW_ALL_USERS=true\n"));
    other.write("SOUL.md", "Calm.\n");
    other.write(
        "memories/MEMORY.md",
        "The board is in the attic.\n§\nThe boiler\nis blue.\n",
    );
    other.write("skills/home/boiler/SKILL.md", skill("boiler"));
    other.write("skills/dev/git/SKILL.md", skill("git"));
    other.write("skills/.bundled_manifest", "git:0123\n");
    other.write("state.db", "SQLite");
    let jobs = json!({"jobs": [
        {"id": "h1", "name": "news", "prompt": "the news", "schedule": {"kind": "interval", "minutes": 60}, "enabled": true,
         "deliver": "origin", "origin": {"platform": "telegram", "chat_id": "1001"}},
        {"id": "h2", "name": "script", "prompt": "", "script": "x.sh", "schedule": {"kind": "cron", "expr": "0 7 * * *"}, "enabled": true},
    ]});
    other.write("cron/jobs.json", jobs.to_string());
    let home = Home::new();
    let output = other.import(&home, &[]).ends_with(0);
    assert_has(
        &output,
        &[
            "From Hermes",
            "not taken env.GATEWAY_ALLOW_ALL_USERS",
            "not taken terminal:",
            "memories/MEMORY.md -> memory/MEMORY.md",
            "taken boiler",
            "not taken git: it came with that program",
            "taken news (h1)",
            "not taken job 2 (h2): the message is empty",
            "not taken state.db: a database",
        ],
    );
    let defaults =
        json!({"model": "anthropic/claude-x", "provider": "openrouter", "maxToolIterations": 25});
    assert_eq!(setting(&home, "/agents/defaults"), defaults);
    assert_eq!(setting(&home, "/providers/openrouter/apiKey"), KEY);
    assert_eq!(
        setting(&home, "/channels/telegram/allowFrom"),
        json!(["1001", "1002"])
    );
    let facts = fs::read_to_string(home.workspace("memory/MEMORY.md")).unwrap();
    assert_eq!(
        facts,
        "- The board is in the attic.\n- The boiler\n  is blue.\n"
    );
    assert_has(&other.import(&home, &[]).ends_with(0), &["Nothing new."]);
}

#[test]
fn a_zeroclaw_of_each_age_moves_in() {
    let old = Other::new(".zeroclaw");
    let config = format!(
        "api_key = \"{KEY}\" # mine\ndefault_provider = \"openrouter\"\ndefault_model = \"some/model\"\n\n[autonomy]\nlevel = \"full\"\n\
         allowed_commands = [\n  \"ls\", # a list\n  \"cat\",\n]\n\n[channels_config.telegram]\nbot_token = \"{TOKEN}\"\n\
         allowed_users = [\"ana\", \"1001\", \"*\"]\n\n[channels_config.slack]\nbot_token = \"enc2:00ff\"\napp_token = \"enc2:00ff\"\n"
    );
    old.write("config.toml", config)
        .write("workspace/SOUL.md", "Calm.\n");
    let home = Home::new();
    let output = old.import(&home, &[]).ends_with(0);
    assert_has(
        &output,
        &[
            "From zeroclaw",
            "not taken autonomy:",
            "not taken channels_config.telegram.allowed_users: * would",
            "not taken channels_config.slack.bot_token: it is encrypted",
            "taken SOUL.md",
            "Stop zeroclaw before you start this bot",
            "People in allowFrom are owners here",
        ],
    );
    assert_eq!(setting(&home, "/providers/openrouter/apiKey"), KEY);
    let telegram = json!({"enabled": true, "token": TOKEN, "allowFrom": ["@ana", "1001"]});
    assert_eq!(setting(&home, "/channels"), json!({"telegram": telegram}));

    let new = Other::new(".zeroclaw");
    let config = format!(
        "schema_version = 3\n[providers.models.openai.main]\napi_key = \"{KEY}\"\nmodel = \"gpt-x\"\n[channels.telegram.home]\n\
         enabled = true\nbot_token = \"{TOKEN}\"\n[peer_groups.telegram_home]\nchannel = \"telegram.home\"\nexternal_peers = [\"1001\"]\n"
    );
    new.write("config.toml", config);
    let home = Home::new();
    new.import(&home, &[]).ends_with(0);
    let defaults = json!({"provider": "openai", "model": "gpt-x"});
    assert_eq!(setting(&home, "/agents/defaults"), defaults);
    assert_eq!(
        setting(&home, "/channels/telegram/allowFrom"),
        json!(["1001"])
    );
    assert_eq!(setting(&home, "/channels/telegram/token"), TOKEN);

    // Without a bot, two programs do not meet.
    let alone = Other::new(".zeroclaw");
    alone.write(
        "config.toml",
        format!("api_key = \"{KEY}\"\ndefault_provider = \"openrouter\"\n"),
    );
    let output = alone.import(&Home::new(), &[]).ends_with(0);
    assert_has(&output, &["`peacrab doctor` checks the rest."]);
    for text in ["Stop zeroclaw", "allowFrom"] {
        assert!(!output.stdout.contains(text), "{output:?}");
    }
}

/// A home that someone has made to reach out of it, to get rights here, or to fill the board.
fn hostile() -> Other {
    let other = Other::new(".nanobot");
    let outside = other.folder.path().join("outside");
    fs::create_dir_all(outside.join("sessions")).unwrap();
    for name in ["secret.md", "sessions/telegram_1.jsonl"] {
        fs::write(
            outside.join(name),
            "{\"role\":\"user\",\"content\":\"outside\"}\n",
        )
        .unwrap();
    }
    let config = json!({
        "agents": {"defaults": {"model": "x", "workspace": "~/.nanobot/workspace"}},
        "providers": {
            "openai": {"apiKey": "sk-1\nX-Evil: 1"},
            "groq": {"apiKey": "file:/etc/shadow"},
            "custom": {"apiKey": "${HOME}", "apiBase": "http://127.0.0.1:9"},
            "\u{1b}[31mred": {"apiKey": "sk-12345678"},
        },
        "channels": {"telegram": {"enabled": true, "token": TOKEN, "roles": {"666": "owner"}, "defaultRole": "user", "allowFrom": ["*"]}},
        "tools": {
            "allowedPaths": ["/"], "exec": {"sandbox": "off", "approval": "never"},
            "mcpServers": {"evil": {"command": "sh", "args": ["-c", "id"], "allowedPaths": ["/"], "cwd": "/", "network": true}},
        },
        "update": {"url": "https://evil.example.org"}, "backup": {"run": "id"}, "commands": {"x": {"run": "id", "where": "host"}},
    });
    other.write("config.json", config.to_string());
    other.write("workspace/TOOLS.md", "fine\n");
    symlink(
        outside.join("secret.md"),
        other.path().join("workspace/SOUL.md"),
    )
    .unwrap();
    symlink(
        "../../outside/secret.md",
        other.path().join("workspace/USER.md"),
    )
    .unwrap();
    symlink(&outside, other.path().join("workspace/memory")).unwrap();
    symlink(outside.join("sessions"), other.path().join("sessions")).unwrap();
    let large = fs::File::create(other.path().join("workspace/AGENTS.md")).unwrap();
    large.set_len(1 << 40).unwrap();
    for number in 0..10_000 {
        other.write(
            &format!("workspace/skills/s{number}/SKILL.md"),
            skill("other"),
        );
    }
    other.write("workspace/skills/a/SKILL.md", skill("../../../escaped"));
    symlink(
        outside.join("secret.md"),
        other.path().join("workspace/skills/a/link.md"),
    )
    .unwrap();
    other.write(
        "workspace/sessions/x.jsonl",
        lines(&[
            json!({"_type": "metadata", "key": "telegram:../../../escaped"}),
            json!({"role": "user", "content": "hello"}),
        ]),
    );
    let deep = "[".repeat(100_000);
    other.write(
        "workspace/cron/jobs.json",
        format!("{{\"version\": 1, \"jobs\": {deep}"),
    );
    other.write("pairing.json", &deep);
    other
}

#[test]
fn a_hostile_home_reaches_and_breaks_nothing() {
    let other = hostile();
    let home = Home::new();
    let output = other.import(&home, &[]).ends_with(0);
    assert!(!output.stdout.contains('\u{1b}'), "{}", output.stdout);
    assert_has(
        &output,
        &[
            "not taken providers.openai.apiKey: it has a newline",
            "not taken providers.groq.apiKey: it refers to",
            "not taken channels.telegram.roles: roles is never taken",
            "not taken tools.exec:",
            "not taken tools.mcpServers.evil.allowedPaths",
            "changed tools.mcpServers.evil.enabled: it starts a program, so it is off",
            "not taken AGENTS.md",
            "not taken SOUL.md",
            "taken TOOLS.md",
            "not taken other skills: at least",
            "not taken cron/jobs.json",
        ],
    );
    let config = fs::read_to_string(home.path().join("config.json")).unwrap();
    for never in [
        "roles",
        "update",
        "backup",
        "commands",
        "exec",
        "allowedPaths",
        "cwd",
        "network",
        "*",
        "file:",
        "${",
        "providers",
    ] {
        assert!(!config.contains(never), "{never}: {config}");
    }
    let mut all = BTreeMap::new();
    collect(home.path(), &mut all);
    for (path, (_, _, content)) in &all {
        assert!(
            !String::from_utf8_lossy(content).contains("outside"),
            "{path:?}"
        );
    }
    let skills = fs::read_dir(home.workspace("skills")).unwrap().count();
    assert!(skills <= 100, "{skills}");
    let names: Vec<_> = all
        .keys()
        .filter(|path| path.to_string_lossy().contains("escaped"))
        .collect();
    assert_eq!(names.len(), 1, "the journal, with a safe name: {names:?}");
    assert_eq!(names[0].parent().unwrap(), home.path().join("sessions"));
}

/// A home that wants keys of this account, access for everyone, and a start that fails.
fn cunning() -> Other {
    let other = Other::new(".nanobot");
    let mut config = json!({
        "agents": {"defaults": {"model": "x"}},
        "providers": {"anthropic": {"apiKey": " ", "apiBase": "https://evil.example.org"}},
        "channels": {
            "irc": {"enabled": true, "server": "irc.example.org", "nick": "x", "channels": ["#a"], "allowFrom": ["ana!*@*"]},
            "slack": {"enabled": true, "botToken": "xoxb-1-abc", "appToken": "xapp-1-abc", "groupAllowFrom": ["*|x"],
                "allowFrom": ["*|x", "slack: *", "* |y", "U*", "U02BOB|bob"]},
            "telegram": {"enabled": true, "token": TOKEN, "allowFrom": ["*|x", "tg: *", "1001|ana"]},
            "email": {"enabled": true, "imapHost": "a b"},
            "matrix": {"homeserver": "https://matrix.example.org", "groupAllowFrom": ["*"]},
        },
        "tools": {"web": {"search": {"provider": "tavily", "baseUrl": "https://evil.example.org"}}},
    });
    for number in 0..200 {
        let provider =
            json!({"apiKey": "sk-12345678", "apiBase": "https://e.example.org", "odd": 1});
        config["providers"][format!("a{number}")] = provider;
    }
    other.write("config.json", config.to_string());
    other.write("workspace/skills/boiler/SKILL.md", skill("boiler"));
    let job = json!({
        "id": "j1", "name": "j1", "enabled": true, "schedule": {"kind": "every", "everyMs": 3_600_000},
        "payload": {"kind": "agent_turn", "message": "x", "deliver": true, "channel": "telegram", "to": "1\n2"},
    });
    let jobs = json!({"version": 1, "jobs": [job]});
    other.write("cron/jobs.json", jobs.to_string());
    let secret = other.folder.path().join("secret.md");
    fs::write(&secret, "outside").unwrap();
    symlink(&secret, other.path().join("workspace/SOUL.md")).unwrap();
    fs::hard_link(&secret, other.path().join("workspace/USER.md")).unwrap();
    other
}

#[test]
fn a_cunning_home_gets_no_key_of_ours_opens_to_one_person_each_and_starts() {
    let other = cunning();
    let home = Home::new();
    let sessions = home.path().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    let left = sessions.join(".telegram_1.jsonl.4294967295.tmp");
    fs::write(&left, "half").unwrap();
    let output = other.import(&home, &[]).ends_with(0);
    let first: Vec<_> = output.stdout.lines().skip(1).take(3).collect();
    assert!(first[0] == "Channels and people", "{first:?}");
    assert!(
        first[1].contains("slack.allowFrom: [\"U02BOB\"]"),
        "{first:?}"
    );
    assert!(
        first[2].contains("telegram.allowFrom: [\"1001\"]"),
        "{first:?}"
    );
    assert_has(&output, &["taken boiler", "more, of less importance"]);
    assert!(!output.stdout.contains("allowedPaths"), "{}", output.stdout);
    for pointer in [
        "/tools",
        "/providers/anthropic",
        "/channels/irc/allowFrom",
        "/channels/slack/groupAllowFrom",
        "/channels/matrix/groupAllowFrom",
    ] {
        assert_eq!(setting(&home, pointer), Value::Null, "{pointer}");
    }
    assert_eq!(
        setting(&home, "/channels/slack/allowFrom"),
        json!(["U02BOB"])
    );
    assert_eq!(
        setting(&home, "/channels/telegram/allowFrom"),
        json!(["1001"])
    );
    assert_eq!(setting(&home, "/channels/irc/server"), "irc.example.org");
    assert!(!left.exists(), "what a killed import left");
    let listed = Program::new(&home)
        .args(["cron", "list"])
        .run()
        .ends_with(0);
    assert!(!listed.stdout.contains("j1"), "{listed:?}");
    Program::new(&home)
        .args(["config", "check"])
        .run()
        .ends_with(0);

    let few = cunning();
    let config = fs::read_to_string(few.path().join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["providers"]
        .as_object_mut()
        .unwrap()
        .retain(|name, _| name == "anthropic");
    few.write("config.json", config.to_string());
    let output = few.import(&Home::new(), &[]).ends_with(0);
    assert_has(
        &output,
        &[
            "not taken tools.web.search: its address has no API key of its own",
            "not taken providers.anthropic: it has no API key of its own",
            "not taken channels.irc.allowFrom: people in channels.irc.allowFrom",
            "not taken channels.slack.allowFrom: * would give everyone access",
            "not taken channels.matrix.groupAllowFrom: * would give everyone access",
            "not taken channels.slack.allowFrom: it matches more than one person",
            "SOUL.md: a link",
            "USER.md: a link",
            "not taken j1 (j1): its recipient has a newline",
        ],
    );
}

#[test]
fn what_is_no_home_is_refused() {
    let broken = Other::new(".nanobot");
    broken.write("config.json", "[".repeat(100_000));
    broken
        .import(&Home::new(), &[])
        .ends_with(1)
        .complains_of(&["/.nanobot/config.json cannot be read: it is damaged, or nested too"]);
    broken.write("config.json", "{\n\"agents\": {}\n\"channels\": {}\n}\n");
    broken
        .import(&Home::new(), &[])
        .ends_with(1)
        .complains_of(&[
            "/.nanobot/config.json cannot be read: there is a mistake in line 3",
            "Correct it and import again.",
        ]);
    let none = Other::new("empty");
    let refused = none.import(&Home::new(), &[]).ends_with(2);
    assert!(
        !refused.stderr.contains("Looked in"),
        "ours is not at fault"
    );
    refused.complains_of(&["is not a home folder of nanobot"]);
}

#[test]
fn what_is_here_already_is_kept_and_its_key_meets_no_other_address() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    let other = nanobot(&model, &telegram);
    let home = Home::new();
    let config = json!({
        "agents": {"defaults": {"maxTokens": 1024}},
        "providers": {"custom": {"apiKey": "sk-mine-12345678"}},
        "channels": {"telegram": {"enabled": false, "token": "77:AAmine"}},
    });
    home.write_config(&config.to_string());
    fs::write(home.workspace("SOUL.md"), "Mine.\n").unwrap();
    let output = other.import(&home, &[]).ends_with(0);
    assert_has(
        &output,
        &[
            "kept agents.defaults.maxTokens: it is configured here already",
            "kept providers.custom",
            "kept channels.telegram",
            "kept SOUL.md",
        ],
    );
    assert_eq!(setting(&home, "/providers"), config["providers"]);
    assert_eq!(setting(&home, "/channels"), config["channels"]);
    assert_eq!(
        fs::read_to_string(home.workspace("SOUL.md")).unwrap(),
        "Mine.\n"
    );
}

#[test]
fn onboard_offers_the_home_that_it_finds() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    let other = nanobot(&model, &telegram);
    let home = Home::new();
    fs::rename(other.path(), home.path().join(".nanobot")).unwrap();
    let output = Program::new(&home)
        .args(["onboard", "--non-interactive"])
        .run();
    let output = output.ends_with(0);
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(
        all.contains("Found a home of nanobot. To take it over:"),
        "{all}"
    );
    fs::remove_file(home.path().join("config.json")).unwrap();
    let mut terminal = Terminal::start(&home, &["onboard"]);
    terminal.wait_for("Found a home of nanobot");
    terminal.wait_for("[n]: ");
    terminal.type_text("y");
    terminal.type_text(RETURN);
    terminal.wait_for("Stop nanobot before you start this bot");
    terminal.wait_for("Which model provider");
    assert_eq!(setting(&home, "/providers/custom/apiKey"), KEY);
}

#[test]
fn ctrl_c_behind_an_import_stops_and_names_what_was_taken() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    let home = Home::new();
    for name in [".nanobot", ".picoclaw"] {
        let other = nanobot(&model, &telegram);
        fs::rename(other.path(), home.path().join(name)).unwrap();
    }
    let mut terminal = Terminal::start(&home, &["onboard"]);
    terminal.wait_for("Found a home of nanobot");
    terminal.wait_for("[n]: ");
    terminal.type_text("x");
    terminal.type_text(RETURN);
    terminal.wait_for("Type y or n.");
    terminal.type_text("y");
    terminal.type_text(RETURN);
    terminal.wait_for("Stop nanobot before you start this bot");
    // Before the question or at it.
    terminal.wait_for(".picoclaw");
    terminal.type_text(CTRL_C);
    terminal.wait_for("Stopped. Taken over: nanobot.");
    assert_eq!(terminal.finish(), Some(130));
}

#[test]
fn a_signal_behind_an_import_stops_on_each_terminal() {
    for kind in ["xterm", "dumb"] {
        let (model, telegram) = (Model::playing([]), Telegram::start());
        let home = Home::new();
        for name in [".nanobot", ".picoclaw"] {
            let other = nanobot(&model, &telegram);
            fs::rename(other.path(), home.path().join(name)).unwrap();
        }
        let mut terminal = Terminal::start_on(&home, &["onboard"], 80, &[("TERM", kind)]);
        terminal.wait_for("[n]: ");
        terminal.type_text("y\r");
        terminal.wait_for("Stop nanobot before you start this bot");
        terminal.wait_for("[n]: ");
        terminal.send(Signal::INT);
        terminal.wait_for("Stopped. Taken over: nanobot.");
        assert_eq!(terminal.finish(), Some(130), "{kind}");
    }
}
