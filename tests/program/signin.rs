//! Sign-ins with subscriptions: ChatGPT's by a browser, and GitHub Copilot's by a code.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Format, Model, Request, Step, call, error, say};
use crate::harness::program::{Output, Program};
use crate::harness::signin::{ACCOUNT, CANARY, Device, Site};
use crate::harness::telegram::{TOKEN, Telegram};
use crate::harness::terminal::{CTRL_C, RETURN, Terminal};

const CODEX: &str = "openai-codex/gpt-5.6-sol";
const COPILOT: &str = "github-copilot/gpt-4.1";

/// A model that takes only tokens of the site.
fn model(site: &Site, answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Model {
    let site = site.clone();
    Model::answering(
        move |request| match site.takes(request.header("authorization")) {
            true => answer(request),
            false => {
                let sent = request.header("authorization").unwrap_or_default();
                error(401, &format!("{sent} is not valid"))
            }
        },
    )
}

fn home(site: &Site, model: &Model, name: &str) -> Home {
    let mut home = Home::new();
    home.set(
        "/agents",
        json!({"defaults": {"model": name, "timezone": "UTC"}}),
    );
    home.sign_in_at(site, model);
    home
}

fn run(home: &Home, arguments: &[&str]) -> Output {
    let output = Program::new(home).args(arguments).run();
    for shown in [&output.stdout, &output.stderr] {
        assert!(!shown.contains(CANARY), "a token was shown: {shown}");
    }
    output
}

fn ask(home: &Home) -> Output {
    run(home, &["-vv", "agent", "-m", "go"])
}

/// The link that a terminal shows.
fn link(terminal: &Terminal) -> String {
    let screen = terminal.shown().replace(['\r', '\n'], "");
    let from = screen.find("http://127.0.0.1").unwrap();
    let link = screen[from..].split("The browser").next().unwrap();
    link.to_owned()
}

/// Signs in at a terminal.
fn sign_in(home: &Home, site: &Site) {
    let mut terminal = Terminal::start_on(home, &["login", "openai-codex"], 2000, &[]);
    terminal.wait_for("> ");
    let address = site.approve(&link(&terminal));
    terminal.type_text(&format!("{address}{RETURN}"));
    terminal.wait_for("Signed in to openai-codex");
    assert_eq!(terminal.finish(), Some(0));
}

/// Calls a tool so many times, then says that it is done.
fn steps(count: usize) -> impl Fn(&Request) -> Step {
    move |request: &Request| {
        let text = request.raw.clone();
        let done = text.matches("call_output").count() + text.matches("\"role\":\"tool\"").count();
        match done < count {
            true => call("list_dir", json!({"path": "."})),
            false => say("Done."),
        }
    }
}

/// Two requests as the endpoint of the Codex command line takes them.
fn check_requests(model: &Model) {
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(request.format, Format::Responses);
        assert_eq!(request.header("chatgpt-account-id"), Some(ACCOUNT));
        assert_eq!(request.header("originator"), Some("peacrab"));
        assert_eq!(
            request.header("openai-beta"),
            Some("responses=experimental")
        );
        assert_eq!(request.body["store"], false);
        assert_eq!(request.body["stream"], true);
        assert!(
            request.body["instructions"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        for refused in ["max_output_tokens", "temperature"] {
            assert!(request.body.get(refused).is_none(), "{refused}");
        }
    }
}

/// No command and no journal shows a token.
fn check_what_is_shown(home: &Home) {
    for arguments in [
        &["config", "show"][..],
        &["status"],
        &["doctor"],
        &["login"],
        &["usage"],
        &["sessions", "list"],
    ] {
        run(home, arguments);
    }
    let journals = fs::read_dir(home.path().join("sessions"))
        .unwrap()
        .flatten();
    for journal in journals.filter(|entry| entry.path().is_file()) {
        assert!(!String::from_utf8_lossy(&fs::read(journal.path()).unwrap()).contains(CANARY));
    }
    assert!(
        run(home, &["doctor"])
            .stdout
            .contains("subscription: may stop working any day")
    );
}

#[test]
fn a_chatgpt_subscription_is_signed_in_to_used_and_signed_out_of() {
    let site = Site::start();
    let model = model(&site, steps(1));
    let home = home(&site, &model, CODEX);
    let before = ask(&home);
    assert!(
        before.stderr.contains("peacrab login openai-codex"),
        "{}",
        before.stderr
    );
    assert!(
        run(&home, &["status"])
            .stdout
            .contains("not signed in: peacrab login openai-codex")
    );
    assert!(model.requests().is_empty());

    let mut terminal = Terminal::start_on(&home, &["login", "openai-codex"], 2000, &[]);
    terminal.wait_for("may stop working any day, the provider decides");
    terminal.wait_for("> ");
    let address = site.approve(&link(&terminal));
    let (_, code) = address.split_once("code=").unwrap();
    let code = code.split('&').next().unwrap();
    for (typed, answer) in [
        (code.to_owned(), "not the whole address"),
        (address.replace("state=", "state=x"), "of another sign-in"),
        (format!("{address}&code=code-9"), "contains a value twice"),
    ] {
        terminal.type_text(&format!("{typed}{RETURN}"));
        terminal.wait_for(answer);
    }
    // A phone has cut it, and an app has put spaces into it.
    let (first, second) = address.split_at(address.len() - 9);
    terminal.type_text(&format!("  {} {RETURN}", first));
    terminal.wait_for("not whole");
    terminal.type_text(&format!(" {second} {RETURN}"));
    terminal.wait_for("Signed in to openai-codex");
    terminal.wait_for(CODEX);
    assert_eq!(terminal.finish(), Some(0));
    assert!(!terminal.shown().contains(CANARY));

    let folder = home.path().join("state/signin");
    let file = folder.join("openai-codex.json");
    assert!(fs::read_to_string(&file).unwrap().contains(CANARY));
    for (path, expected) in [(&folder, 0o700), (&file, 0o600)] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{}", path.display());
    }

    assert_eq!(ask(&home).ends_with(0).stdout, "Done.\n");
    check_requests(&model);
    check_what_is_shown(&home);

    let out = run(&home, &["logout", "openai-codex"]).ends_with(0);
    assert!(out.stdout.contains("Signed out of openai-codex"));
    assert_eq!(site.asked("/oauth/revoke"), 1);
    assert!(!file.exists());
    let again = run(&home, &["logout", "openai-codex"]).ends_with(0);
    assert!(again.stdout.contains("Not signed in"));
    assert!(ask(&home).stderr.contains("peacrab login openai-codex"));
}

#[test]
fn a_sign_in_that_is_declined_or_stopped_stores_nothing() {
    let site = Site::start();
    let model = model(&site, steps(0));
    let home = home(&site, &model, CODEX);
    let mut terminal = Terminal::start_on(&home, &["login", "openai-codex"], 2000, &[]);
    terminal.wait_for("> ");
    let state = site.approve(&link(&terminal));
    let (_, state) = state.split_once("&state=").unwrap();
    let address = format!("http://localhost:1455/auth/callback?error=access_denied&state={state}");
    terminal.type_text(&format!("{address}{RETURN}"));
    terminal.wait_for("access_denied");
    assert_eq!(terminal.finish(), Some(1));

    let mut terminal = Terminal::start_on(&home, &["login", "openai-codex"], 2000, &[]);
    terminal.wait_for("> ");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    assert_eq!(site.asked("/oauth/token"), 0);

    site.at_github(Device::Denied);
    let denied = run(&home, &["login", "github-copilot"]).ends_with(1);
    denied.complains_of(&["declined"]);
    let list = run(&home, &["login"]).ends_with(0).stdout;
    assert_eq!(list.matches("not signed in").count(), 2, "{list}");
}

#[test]
fn a_token_that_is_refused_in_the_middle_of_a_turn_is_renewed_once() {
    let site = Site::start();
    let (own, answer) = (site.clone(), steps(3));
    let model = model(&site, move |request| {
        // Good for one step only.
        own.expire();
        answer(request)
    });
    let home = home(&site, &model, CODEX);
    sign_in(&home, &site);
    assert_eq!(ask(&home).ends_with(0).stdout, "Done.\n");
    // Four answers, and three refusals between them.
    assert_eq!(model.requests().len(), 7);
    assert_eq!(site.asked("/oauth/token refresh_token"), 3);

    // A refusal that a new token does not help against is not asked about again and again.
    let asked = site.asked("refresh_token");
    let before = model.requests().len();
    site.end();
    let ended = ask(&home);
    ended.complains_of(&[
        "openai-codex refuses the sign-in",
        "peacrab login openai-codex",
    ]);
    assert_eq!(site.asked("refresh_token"), asked + 1);
    assert_eq!(model.requests().len(), before + 1);
    ask(&home).complains_of(&[
        "Not signed in to openai-codex",
        "peacrab login openai-codex",
    ]);
    assert_eq!(site.asked("refresh_token"), asked + 1);
}

#[test]
fn a_token_is_renewed_before_its_end_unless_the_clock_was_never_set() {
    let site = Site::start();
    let model = model(&site, steps(0));
    let mut home = home(&site, &model, CODEX);
    let clock = Turned::at("2026-11-28T12:00:00Z");
    home.turn(&clock);
    sign_in(&home, &site);
    ask(&home).ends_with(0);
    assert_eq!(site.asked("refresh_token"), 0);
    clock.forward(Duration::from_secs(3500));
    ask(&home).ends_with(0);
    assert_eq!(site.asked("refresh_token"), 1);
    // The battery of the clock is empty: only a refusal says that a token is over.
    clock.set("1970-01-01T00:00:10Z");
    ask(&home).ends_with(0);
    assert_eq!(site.asked("refresh_token"), 1);
    site.expire();
    ask(&home).ends_with(0);
    assert_eq!(site.asked("refresh_token"), 2);
    ask(&home).ends_with(0);
    assert_eq!(site.asked("refresh_token"), 2);
}

#[test]
fn processes_and_people_that_come_at_once_renew_once() {
    let site = Site::start();
    let model = model(&site, steps(0));
    let telegram = Telegram::start();
    let mut home = home(&site, &model, CODEX);
    let channel = json!({
        "enabled": true, "token": TOKEN, "apiBase": telegram.url(), "allowFrom": ["1001", "1002"],
    });
    home.set("/channels", json!({"telegram": channel}));
    let clock = Turned::at("2026-11-28T12:00:00Z");
    home.turn(&clock);
    sign_in(&home, &site);
    let people = [
        telegram.person(1001, "Ana", None),
        telegram.person(1002, "Bob", None),
    ];
    let gateway = Gateway::start(&home);
    gateway.wait_for_log("ready");
    clock.forward(Duration::from_secs(3590));
    site.expire();
    let barrier = Arc::new(Barrier::new(3));
    thread::scope(|scope| {
        for name in ["one", "two"] {
            let (home, barrier) = (&home, Arc::clone(&barrier));
            scope.spawn(move || {
                barrier.wait();
                let output = run(home, &["agent", "-s", name, "-m", "go"]).ends_with(0);
                assert_eq!(output.stdout, "Done.\n");
            });
        }
        barrier.wait();
        for person in &people {
            person.says("go");
        }
    });
    for person in &people {
        telegram.wait_for_message(person.chat(), |message| message.text.contains("Done."));
    }
    assert_eq!(site.asked("refresh_token"), 1);
    let output = gateway.stop().ends_with(0);
    assert!(!output.stderr.contains(CANARY));
}

#[test]
fn a_copilot_subscription_is_signed_in_to_by_a_code_and_used_where_github_says() {
    let site = Site::start();
    let (own, answer) = (site.clone(), steps(2));
    let model = model(&site, move |request| {
        own.expire();
        answer(request)
    });
    let home = home(&site, &model, COPILOT);
    // It is another server than the one that a name in an answer could lead to.
    site.set_api("https://evil.example/v1");
    let running = Program::new(&home).args(["login", "copilot"]).start();
    site.wait_for("/login/oauth/access_token");
    site.at_github(Device::Approved);
    let output = running.finish().ends_with(0);
    assert!(output.stdout.contains("ABCD-1234"), "{}", output.stdout);
    assert!(
        output
            .stdout
            .contains(&format!("{}/login/device", site.url()))
    );
    assert!(
        output
            .stdout
            .contains("may stop working any day, the provider decides")
    );
    assert!(!output.stdout.contains(CANARY));

    assert_eq!(ask(&home).ends_with(0).stdout, "Done.\n");
    assert_eq!(site.asked("/copilot_internal/v2/token"), 3);
    let requests = model.requests();
    assert_eq!(requests.len(), 5);
    let initiators = requests
        .iter()
        .map(|request| request.header("x-initiator").unwrap());
    let initiators: Vec<_> = initiators.collect();
    assert_eq!(initiators, ["user", "agent", "agent", "agent", "agent"]);
    for request in &requests {
        assert_eq!(request.format, Format::OpenAi);
        for (name, value) in [
            ("copilot-integration-id", "vscode-chat"),
            ("editor-version", "vscode/1.99.0"),
        ] {
            assert_eq!(request.header(name), Some(value));
        }
    }
    site.end();
    ask(&home).complains_of(&["peacrab login github-copilot"]);
    let asked = site.asked("/copilot_internal/v2/token");
    ask(&home).complains_of(&["peacrab login github-copilot"]);
    assert_eq!(site.asked("/copilot_internal/v2/token"), asked);
}

#[test]
fn only_the_two_subscriptions_are_signed_in_to_and_never_claudes() {
    let home = Home::new();
    for (name, words) in [
        ("claude", "Anthropic's terms"),
        ("anthropic", "Anthropic's terms"),
        ("claude-max", "Anthropic's terms"),
        ("groq", "takes an API key"),
        ("netflix", "No subscription named netflix"),
    ] {
        let output = run(&home, &["login", name]).ends_with(2);
        output.complains_of(&[words]);
    }
    let help = run(&home, &["--help"]).stdout + &run(&home, &["login", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.matches("may stop working any day, the provider decides")
            .count()
            >= 2,
        "{help}"
    );
}

#[test]
fn a_server_of_ones_own_with_a_subscriptions_name_gets_no_token_of_it() {
    let site = Site::start();
    let subscription = model(&site, steps(0));
    let own = Model::playing([say("From my own.")]);
    let mut home = home(&site, &subscription, CODEX);
    sign_in(&home, &site);
    home.set(
        "/providers",
        json!({"openai-codex": {"apiBase": format!("{}/v1", own.url())}}),
    );
    assert_eq!(ask(&home).ends_with(0).stdout, "From my own.\n");
    assert_eq!(own.requests()[0].header("authorization"), None);
}
