//! A person sets Peacrab up.

use std::fs;

use serde_json::{Value, json};

use crate::harness::home::{Home, KEY};
use crate::harness::model::{Model, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::{TOKEN, Telegram};
use crate::harness::terminal::{CTRL_C, CTRL_D, RETURN, Terminal};

/// A home in which OpenAI and Telegram have the addresses of fakes.
fn home_with(model: &Model, telegram: &Telegram) -> Home {
    let home = Home::new();
    let config = json!({
        "providers": {"openai": {"apiBase": format!("{}/v1", model.url())}},
        "channels": {"telegram": {"apiBase": telegram.url()}},
    });
    home.write_config(&config.to_string());
    home
}

/// Types an answer when the question, or what there is of it so far, is on the screen.
fn answer(terminal: &mut Terminal, question: &str, text: &str) {
    terminal.wait_for(question);
    terminal.wait_for("]: ");
    terminal.type_text(text);
    terminal.type_text(RETURN);
}

/// What the configuration file has at a JSON pointer.
fn setting(home: &Home, pointer: &str) -> Value {
    let file = fs::read_to_string(home.path().join("config.json")).unwrap();
    let config: Value = serde_json::from_str(&file).unwrap();
    config.pointer(pointer).cloned().unwrap_or_default()
}

fn onboard(home: &Home, flags: &[&str]) -> Output {
    Program::new(home).arg("onboard").args(flags).run()
}

#[test]
fn a_person_who_mistypes_each_answer_once_gets_there() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    model.set_offers(&["gpt-6-sol", "gpt-6-luna", "o9"], KEY);
    let home = home_with(&model, &telegram);
    let mut terminal = Terminal::start(&home, &["onboard"]);
    answer(&mut terminal, "Which model provider", "help");
    answer(&mut terminal, "A provider runs the language model", "y");
    answer(
        &mut terminal,
        "Press Enter to go on without a model",
        "OpneAI",
    );
    answer(&mut terminal, "Did you mean openai?", "");
    answer(&mut terminal, "openai API key?", "sk-canary-wrong");
    answer(&mut terminal, "openai refused the API key: Incorrect", KEY);
    answer(&mut terminal, "Connected: openai offers 3 models.", "7");
    answer(&mut terminal, "The list has the numbers 1 to 3.", "gpt-6");
    answer(&mut terminal, "2  gpt-6-luna\r\nEnter", "2");
    answer(&mut terminal, "Which folder", "workspace");
    answer(&mut terminal, "Enter a full path", "");
    answer(&mut terminal, "@BotFather", "hello");
    answer(&mut terminal, "not a bot token", TOKEN);
    terminal.wait_for("It is @");
    let telegram_question = terminal.shown().matches("@BotFather").count();
    assert_eq!(telegram_question, 1, "an explanation is repeated");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    terminal.wait_for("Model: openai/gpt-6-luna");
    terminal.wait_for("service install");
    let shown = terminal.shown();
    assert!(!shown.contains("canary"), "a key is shown: {shown}");
    assert_eq!(setting(&home, "/agents/defaults/provider"), "openai");
    assert_eq!(setting(&home, "/agents/defaults/model"), "gpt-6-luna");
    assert_eq!(setting(&home, "/providers/openai/apiKey"), KEY);
    assert_eq!(setting(&home, "/channels/telegram/token"), TOKEN);
    assert_eq!(setting(&home, "/channels/telegram/enabled"), true);
    assert!(home.workspace("AGENTS.md").is_file());
}

#[test]
fn the_questions_fit_the_screen() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    let names: Vec<String> = (1..=20).map(|number| format!("model-{number}")).collect();
    model.set_offers(&names.iter().map(String::as_str).collect::<Vec<_>>(), KEY);
    let home = home_with(&model, &telegram);
    let path = home.path().display().to_string();
    let mut terminal = Terminal::start(&home, &["onboard"]);
    terminal.wait_for("[skip]: ");
    assert_eq!(
        terminal.screen(),
        format!(
            "Setting up Peacrab in {path}.\n\
             Press Enter to take what is in [brackets], type back to go back, Ctrl-C to stop.\n\n\
             Model providers: anthropic, openai, openrouter, deepseek, groq, gemini,\n\
             moonshot, minimax, zhipu, dashscope, siliconflow, volcengine, aihubmix, mistral,\n\
             xai, nvidia, openai-codex, github-copilot, ollama, vllm, lmstudio, offline, or\n\
             any name for your own OpenAI-compatible server.\n\
             Which model provider do you use? [skip]:"
        )
    );
    terminal.type_text("chatgpt");
    terminal.type_text(RETURN);
    answer(&mut terminal, "openai API key?", KEY);
    terminal.wait_for("[gpt-6.1-sol]: ");
    terminal.wait_for_screen("Which model? [gpt-6.1-sol]:");
    let screen = terminal.screen();
    let (_, screen) = screen.split_once("openai API key?").unwrap();
    let rows: String = (1..=15)
        .map(|number| format!("{number:>4}  model-{number}\n"))
        .collect();
    assert_eq!(
        screen,
        format!(
            " (hidden) [none]: {}\n\
             Connecting to openai…\n\
             Connected: openai offers 20 models.\n\
             {rows}      … and 5 more\n\
             Enter a number, a name, or a part of a name to search for.\n\n\
             Which model? [gpt-6.1-sol]:",
            "*".repeat(KEY.len())
        )
    );
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
}

#[test]
fn a_stop_in_the_middle_says_what_was_saved() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    let home = home_with(&model, &telegram);
    let before = fs::read_to_string(home.path().join("config.json")).unwrap();
    let mut terminal = Terminal::start(&home, &["onboard"]);
    answer(&mut terminal, "Which model provider", "openai");
    terminal.wait_for("API key?");
    terminal.type_text(CTRL_C);
    terminal.wait_for("Stopped. Nothing was changed.");
    assert_eq!(terminal.finish(), Some(130), "{}", terminal.shown());
    let after = fs::read_to_string(home.path().join("config.json")).unwrap();
    assert_eq!(before, after);

    let mut terminal = Terminal::start(&home, &["onboard"]);
    answer(&mut terminal, "Which model provider", "openai");
    answer(&mut terminal, "API key?", KEY);
    answer(&mut terminal, "Which model?", "");
    terminal.wait_for("Which folder");
    terminal.type_text(CTRL_D);
    terminal.wait_for("agents.defaults.provider,");
    terminal.wait_for("providers.openai.apiKey.");
    assert_eq!(terminal.finish(), Some(130), "{}", terminal.shown());
    assert_eq!(setting(&home, "/providers/openai/apiKey"), KEY);
    assert!(!home.workspace("AGENTS.md").exists());
}

#[test]
fn a_token_that_is_kept_although_it_is_wrong_is_named_at_the_end() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home, &["onboard", "--channel", "discord"]);
    answer(&mut terminal, "Token (hidden)", "wrongtoken");
    answer(&mut terminal, "keep it anyway", "");
    terminal.wait_for("Discord does not work yet");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let shown = terminal.shown();
    assert!(!shown.contains("start the bot"), "{shown}");
    assert_eq!(setting(&home, "/channels/discord/token"), "wrongtoken");
}

#[test]
fn ctrl_c_stops_a_server_that_does_not_answer() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = Home::new();
    let mut terminal = Terminal::start(&home, &["onboard"]);
    answer(&mut terminal, "Which model provider", "mine");
    let address = silent.local_addr().unwrap().to_string();
    answer(&mut terminal, "Address of mine?", &address);
    terminal.wait_for("Connecting to mine");
    let _connected = silent.accept().unwrap();
    terminal.type_text(CTRL_C);
    terminal.wait_for("Stopped. Nothing was changed.");
    assert_eq!(terminal.finish(), Some(130), "{}", terminal.shown());
}

#[test]
fn without_a_network_everything_is_accepted_with_a_warning() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    drop(port);
    let home = Home::new();
    let config = json!({
        "providers": {"openai": {"apiBase": format!("http://{address}/v1")}},
        "channels": {"telegram": {"apiBase": format!("http://{address}")}},
    });
    home.write_config(&config.to_string());
    let mut terminal = Terminal::start(&home, &["onboard"]);
    answer(&mut terminal, "Which model provider", "openai");
    answer(&mut terminal, "API key?", KEY);
    terminal.wait_for("Warning: the connection to openai is not tested");
    answer(&mut terminal, "Which model?", "");
    answer(&mut terminal, "Which folder", "");
    answer(&mut terminal, "@BotFather", TOKEN);
    terminal.wait_for("Warning: the bot token is not tested");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert_eq!(setting(&home, "/channels/telegram/token"), TOKEN);
}

#[test]
fn a_terminal_without_line_editing_hides_a_key_too() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    let home = home_with(&model, &telegram);
    let mut terminal = Terminal::start_on(&home, &["onboard"], 80, &[("TERM", "dumb")]);
    answer(&mut terminal, "Which model provider", "openai");
    answer(&mut terminal, "API key?", KEY);
    answer(&mut terminal, "Which model?", "");
    terminal.wait_for("Which folder");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(130), "{}", terminal.shown());
    assert!(!terminal.shown().contains("canary"), "{}", terminal.shown());
    assert_eq!(setting(&home, "/providers/openai/apiKey"), KEY);
}

#[test]
fn flags_are_checked_like_answers() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    model.set_offers(&["gpt-6-sol", "gpt-6-luna"], KEY);
    let home = home_with(&model, &telegram);
    let before = fs::read_to_string(home.path().join("config.json")).unwrap();
    for (flags, code, text) in [
        (&["--provider", "opnai"][..], 2, "Did you mean openai?"),
        (&["--channel", "discrod"], 2, "Did you mean discord?"),
        (&["--api-key", KEY], 2, "--provider NAME"),
        (
            &["--provider", "ChatGPT", "--api-key", "sk-canary-wrong"],
            78,
            "openai refused the API key: Incorrect API key provided.",
        ),
        (&["--telegram-token", "hello"], 2, "not a bot token"),
        (&["--workspace", "/etc"], 2, "/etc belongs to the system"),
        (&["--workspace", "/usr/lib/x"], 2, "belongs to the system"),
        (&["--workspace", "/tmp"], 2, "/tmp belongs to the system"),
    ] {
        let output = onboard(&home, flags).ends_with(code);
        output.complains_of(&[text]);
        assert!(!output.stderr.contains("canary"), "{output:?}");
    }
    let after = fs::read_to_string(home.path().join("config.json")).unwrap();
    assert_eq!(before, after, "a wrong flag changes nothing");
    let right = [
        "--provider",
        "ChatGPT",
        "--api-key",
        KEY,
        "--model",
        "gpt-7",
    ];
    let output = onboard(&home, &right).ends_with(0);
    output.complains_of(&["openai does not list a model named gpt-7"]);
    // A folder that is not there yet.
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("crab");
    let path = folder.display().to_string();
    onboard(&home, &["--workspace", &path]).ends_with(0);
    assert!(folder.join("AGENTS.md").is_file());
}

#[test]
fn an_address_gets_what_it_lacks() {
    let model = Model::playing([]);
    let home = Home::new();
    let address = model.url().replace("http://", "");
    let flags = ["--provider", "mine", "--api-base", &address];
    let output = onboard(&home, &flags).ends_with(0);
    assert!(output.stdout.contains("\nModel: mine"), "{output:?}");
    assert_eq!(
        setting(&home, "/providers/mine/apiBase"),
        format!("http://{address}")
    );
}

#[test]
fn the_end_says_what_was_made_and_what_to_do_next() {
    let home = Home::new();
    let path = home.path().join("new");
    let flags = ["--home", path.to_str().unwrap(), "--non-interactive"];
    let output = onboard(&home, &flags).ends_with(0);
    let (path, own) = (path.display(), crate::harness::program::PEACRAB);
    let peacrab = format!("{own} --home {path}");
    assert_eq!(
        output.stdout,
        format!(
            "\nCreated {path}\n\
             Created the agent's files in {path}/workspace:\n  \
             AGENTS.md, SOUL.md, USER.md, TOOLS.md, IDENTITY.md, HEARTBEAT.md, BOOTSTRAP.md\n\
             In your first conversation with a model, the agent asks who you are and what the\n\
             board is for, one question at a time. Say \"skip\" to leave that out.\n\n\
             Model: none. The built-in offline helper answers simple requests.\n\
             To connect a model, run `{peacrab} onboard`.\n\n\
             Next:\n  \
             chat with the agent:\n    {peacrab} agent\n  \
             connect Telegram, Discord or another service:\n    {peacrab} onboard --channel NAME\n  \
             check the setup:\n    {peacrab} doctor\n  \
             list all settings:\n    {peacrab} config explain\n"
        )
    );
    let again = onboard(&home, &flags).ends_with(0);
    assert!(
        again
            .stdout
            .starts_with("Already set up; nothing changed.\n"),
        "{again:?}"
    );
    // What does not work is not promised.
    let files = fs::read_dir(home.path().join("new/workspace")).unwrap();
    assert_eq!(files.count(), 7);
}

#[test]
fn a_daily_cost_limit_and_a_model_without_a_price_are_pointed_out() {
    let model = Model::playing([]);
    model.set_offers(&["house-model", "priced"], KEY);
    let home = Home::new();
    let config = json!({
        "limits": {"usdPerDay": 1},
        "providers": {"house": {
            "apiBase": format!("{}/v1", model.url()), "apiKey": KEY,
            "prices": {"priced": {"input": 1, "output": 1}},
        }},
    });
    home.write_config(&config.to_string());
    for (name, is_unpriced) in [("house-model", true), ("priced", false)] {
        let flags = ["--non-interactive", "--provider", "house", "--model", name];
        let output = onboard(&home, &flags).ends_with(0);
        let says = output
            .stderr
            .contains("limits.usdPerDay: the price of house/house-model is not known");
        assert_eq!(says, is_unpriced, "{output:?}");
    }
}

#[test]
fn the_files_of_a_new_workspace_are_no_ones_change() {
    let model = Model::playing([say("One."), say("Two."), say("Three.")]);
    let home = Home::with_model(&model);
    let ask = || {
        let asked = Program::new(&home).args(["agent", "-m", "hi"]).run();
        asked.ends_with(0)
    };
    ask();
    onboard(&home, &["--non-interactive"]).ends_with(0);
    assert!(home.workspace("SOUL.md").exists());
    let second = ask();
    assert!(second.stdout.contains("Two."), "{second:?}");
    let all = second.stdout + &second.stderr;
    assert!(!all.contains("Changed"), "{all}");
    // What a person writes is theirs.
    fs::write(home.workspace("SOUL.md"), "be brief\n").unwrap();
    ask().complains_of(&["Changed: `SOUL.md`"]);
}
