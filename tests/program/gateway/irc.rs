//! People on IRC: what they are promised there, where anyone can take a nick and a server tells everything once.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::irc::{CHANNEL, Fault, Irc, PASSWORD, Person};
use crate::harness::model::{Gate, Model, Step, call, error, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

/// A scripted model, a network, and Ana, who may speak.
struct Chat {
    model: Model,
    irc: Irc,
    home: Home,
    ana: Person,
}

impl Chat {
    fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        Self::on(Irc::start(), script)
    }

    fn on(irc: Irc, script: impl IntoIterator<Item = Step>) -> Self {
        let model = Model::playing(script);
        let mut home = Home::with_model(&model);
        home.set("/channels", json!({"irc": irc.section()}));
        if let Some(authority) = irc.authority() {
            home.set("/tls/caFile", json!(authority));
        }
        let ana = irc.person("ana", Some("ana"));
        Self {
            model,
            irc,
            home,
            ana,
        }
    }

    fn set(mut self, key: &str, value: Value) -> Self {
        self.home.set(&format!("/channels/irc/{key}"), value);
        self
    }

    /// A gateway that is connected.
    fn start(&self) -> Gateway {
        let clients = self.irc.clients();
        let gateway = Gateway::start(&self.home);
        self.irc.wait_for_clients(clients + 1);
        gateway
    }

    /// Waits until everything that was to be sent is confirmed.
    fn wait_until_sent(&self) {
        let outbox = self.home.path().join("outbox.jsonl");
        wait_until("the confirmation", || {
            fs::read_to_string(&outbox).is_ok_and(|text| text.is_empty())
        });
    }
}

#[test]
fn a_model_without_tools_is_named_where_there_are_no_drafts() {
    let model = Model::answering(|request| match request.body.get("tools") {
        Some(_) => error(400, "gemma3:1b does not support tools"),
        None => say("I can talk."),
    });
    let base = format!("{}/v1", model.url());
    let chat = Chat::playing([]);
    let mut home = chat.home;
    home.set("/providers/fake/apiBase", json!(base));
    let chat = Chat { home, ..chat };
    let gateway = chat.start();
    chat.ana.says("hello");
    chat.irc.wait_for("ana", "cannot use tools");
    chat.irc.wait_for("ana", "I can talk.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_login_whose_response_is_a_multiple_of_400_bytes_succeeds() {
    // crabby, crabby and 286 characters are 300 bytes with two zeros.
    let password = "p".repeat(286);
    let chat = Chat::playing([say("Hello, Ana.")]).set("saslPassword", json!(password));
    chat.irc.wants_password(&password);
    let gateway = chat.start();
    chat.ana.says("hello");
    chat.irc.wait_for("ana", "Hello, Ana.");
    gateway.stop().ends_with(0);
    let lines = chat.irc.lines();
    let pieces: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("AUTHENTICATE"))
        .collect();
    assert_eq!(pieces.len(), 3, "{pieces:?}");
    assert_eq!(pieces[2], "AUTHENTICATE +");
}

#[test]
fn a_wrong_password_is_said_and_not_shown() {
    let chat = Chat::playing([]).set("saslPassword", json!("wrong-canary-7"));
    let tested = Program::new(&chat.home)
        .args(["channels", "test", "irc"])
        .run();
    assert_ne!(tested.code, Some(0));
    let said = tested.stderr;
    assert!(
        said.contains("saslPassword") && !said.contains("canary"),
        "{said}"
    );
    assert!(!chat.irc.lines().contains(&"CAP END".to_owned()));
}

#[test]
fn a_test_of_the_channel_sends_a_message_beside_a_gateway() {
    let chat = Chat::playing([]);
    let gateway = chat.start();
    let tested = Program::new(&chat.home)
        .args(["channels", "test", "irc", "--chat", "ana"])
        .run()
        .ends_with(0);
    assert!(
        tested.stdout.contains("crab on Garden"),
        "{}",
        tested.stdout
    );
    let piece = &chat.irc.pieces("ana")[0];
    assert!(piece.from.starts_with("crab_"), "{piece:?}");
    let tested = Program::new(&chat.home)
        .args(["channels", "test", "irc", "--chat", CHANNEL])
        .run();
    tested.ends_with(0);
    assert_eq!(chat.irc.pieces(CHANNEL).len(), 1);
    let output = gateway.stop().ends_with(0);
    assert!(!output.stderr.contains(PASSWORD), "{}", output.stderr);
}

#[test]
fn while_the_nick_is_in_use_the_bot_has_another_one() {
    let chat = Chat::playing([say("Here.")]);
    chat.irc.person("crab", None);
    let gateway = chat.start();
    assert_eq!(chat.irc.nicks(), ["crab_"]);
    chat.ana.says_in_channel("crab: not you");
    chat.ana.says_in_channel("crab_: are you there?");
    chat.irc.wait_for(CHANNEL, "Here.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.model.requests().len(), 1);
}

#[test]
fn no_text_becomes_a_command_of_the_protocol() {
    let evil = "hello\r\nQUIT :bye\rJOIN #evil\n\u{1}DCC SEND x\u{1}\u{0}NICK evil";
    let chat = Chat::playing([say(evil), say("still here")]);
    let gateway = chat.start();
    chat.ana.says("hello");
    let piece = chat.irc.wait_for("ana", "hello");
    assert!(piece.text().contains("QUIT :bye"), "{piece:?}");
    chat.ana.says("and now?");
    chat.irc.wait_for("ana", "still here");
    assert_eq!(chat.irc.nicks(), ["crab"]);
    let lines = chat.irc.lines();
    let begins = |word: &str| lines.iter().filter(|line| line.starts_with(word)).count();
    assert_eq!(
        (begins("QUIT"), begins("JOIN"), begins("NICK")),
        (0, 1, 1),
        "{lines:?}"
    );
    gateway.stop().ends_with(0);
}

#[test]
fn a_bot_that_is_kicked_comes_back() {
    let chat = Chat::playing([say("I am back.")]);
    let gateway = chat.start();
    chat.irc.kicks();
    // Not at once.
    chat.irc.wait_for_clients(1);
    chat.ana.says_in_channel("crab: where were you?");
    chat.irc.wait_for(CHANNEL, "I am back.");
    let joins = chat
        .irc
        .lines()
        .iter()
        .filter(|line| line.starts_with("JOIN"))
        .count();
    assert_eq!(joins, 2);
    let output = gateway.stop().ends_with(0);
    output.complains_of(&["was removed from a channel"]);
}

#[test]
fn who_takes_the_nick_of_an_owner_is_a_stranger() {
    let gate = Gate::default();
    let chat = Chat::playing([
        say("The door code is 4711.").after(&gate),
        say("Welcome back."),
    ]);
    let gateway = chat.start();
    chat.ana.says("what is the door code?");
    chat.model.wait_for_requests(1);
    chat.ana.quits("bye");
    // Without an account.
    let thief = chat.irc.takes("ana", None);
    thief.says("/sh id");
    thief.says_in_channel("crab: /sh id");
    let told = chat.irc.wait_for("ana", "services account");
    assert!(told.is_notice, "{told:?}");
    // The answer is for Ana, and not for whoever has her nick.
    gate.open();
    chat.irc
        .wait_for_line("a question who that is", |line| line == "WHOIS ana");
    // With one of their own.
    let thief = chat.irc.takes("ana", Some("mallory"));
    thief.says("/sh id");
    let told = chat.irc.wait_for("ana", "/pair");
    assert!(!told.text().contains("4711"), "{told:?}");
    assert!(
        chat.irc
            .texts("ana")
            .iter()
            .all(|text| !text.contains("uid=") && !text.contains("4711"))
    );
    assert!(chat.irc.texts(CHANNEL).is_empty());
    let back = chat.irc.person("ana_home", Some("Ana"));
    back.says("I am here");
    chat.irc.wait_for("ana_home", "4711");
    chat.irc.wait_for("ana_home", "Welcome back.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.model.requests().len(), 2);
}

#[test]
fn a_mask_in_allow_from_names_whoever_the_server_shows_so() {
    let masks = json!(["carl!~carl@carl.people.example"]);
    let chat = Chat::playing([say("Hello, Carl.")]).set("allowFrom", masks);
    let carl = chat.irc.person("carl", None);
    let gateway = chat.start();
    chat.ana.says("hello");
    chat.irc.wait_for("ana", "/pair");
    carl.says("hello");
    chat.irc.wait_for("carl", "Hello, Carl.");
    chat.wait_until_sent();
    let thief = chat.irc.takes("carl", Some("mallory"));
    thief.says("and me?");
    chat.irc.wait_for("carl", "/pair");
    gateway.stop().ends_with(0);
    assert_eq!(chat.model.requests().len(), 1);
}

#[test]
fn a_yes_that_may_have_been_kept_by_a_bouncer_allows_nothing() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let wish = json!({"command": format!("echo one >> {}", file.display()), "escalate": true, "reason": "to log"});
    let chat = Chat::playing([call("exec", wish), say("Logged.")]);
    chat.irc.offers("account-tag message-tags sasl");
    let gateway = chat.start();
    chat.ana.says("log it");
    chat.irc.wait_for("ana", "Reply with a number:");
    let shown = Instant::now();
    wait_until("the question can have been read", || {
        shown.elapsed() > Duration::from_secs(3)
    });
    // The bot was connected a moment ago, and lines have no times.
    chat.ana.says("yes");
    chat.irc.wait_for("ana", "Waiting for approval:");
    let mut number = String::new();
    wait_until("the number", || {
        let texts = chat.irc.texts("ana").join("\n");
        let words = texts.split_whitespace();
        let mut behind = words.skip_while(|word| !word.ends_with("/approve")).skip(1);
        number = behind.next().unwrap_or_default().to_owned();
        !number.is_empty()
    });
    assert!(!file.exists());
    chat.ana.says(&format!("!approve {number}"));
    chat.irc.wait_for("ana", "Logged.");
    gateway.stop().ends_with(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
}

#[test]
fn a_server_without_accounts_makes_nobody_known_by_their_nick() {
    let chat = Chat::playing([]);
    chat.irc.offers("message-tags sasl server-time");
    let gateway = chat.start();
    chat.ana.says("/sh id");
    let told = chat.irc.wait_for("ana", "allowFrom");
    assert!(
        told.is_notice && told.text().contains("ana!~ana@ana.people.example"),
        "{told:?}"
    );
    gateway.stop().ends_with(0);
}

#[test]
fn a_long_answer_is_sent_at_the_pace_that_the_server_takes() {
    // At twice the pace, so many come earlier than a busy machine can be late.
    const LINES: usize = 200;
    let mut long = String::new();
    for number in 0..LINES {
        long += &format!("- line {number} of many\n");
    }
    let chat = Chat::playing([say(&long)]).set("sendIntervalMs", json!(50));
    chat.irc.allows_line_each(45);
    let gateway = chat.start();
    chat.ana.says("tell me everything");
    chat.irc.wait_for("ana", &format!("line {} of", LINES - 1));
    gateway.stop().ends_with(0);
    let all = chat.irc.texts("ana").join("\n");
    for number in 0..LINES {
        assert_eq!(
            all.matches(&format!("line {number} of")).count(),
            1,
            "{all}"
        );
    }
    assert_eq!(chat.irc.clients(), 1);
}

#[test]
fn after_a_netsplit_people_are_answered_where_they_are() {
    let gate = Gate::default();
    let mut chat = Chat::playing([say("one").after(&gate), say("two")]);
    let gateway = chat.start();
    chat.ana.says("hello");
    chat.model.wait_for_requests(1);
    chat.ana.quits("a.garden.example b.garden.example");
    gate.open();
    chat.irc
        .wait_for_line("a question where she is", |line| line == "WHOIS ana");
    chat.ana = chat.irc.person("ana", Some("ana"));
    chat.ana.renames("ana_");
    chat.ana.says("I am back");
    chat.irc.wait_for("ana_", "one");
    chat.irc.wait_for("ana_", "two");
    gateway.stop().ends_with(0);
}

#[test]
fn a_lost_confirmation_repeats_a_message_and_a_refused_one_goes_in_another_form() {
    let chat = Chat::playing([say("one"), say("two"), say("three")]);
    let gateway = chat.start();
    chat.irc.fail_next(Fault::LostPong);
    chat.ana.says("first");
    wait_until("the second attempt", || {
        chat.irc.texts("ana") == ["one", "one"]
    });
    chat.wait_until_sent();
    chat.irc.fail_next(Fault::Refused(531));
    chat.ana.says("second");
    chat.irc.wait_for("ana", "two");
    chat.ana.says("third");
    chat.irc.wait_for("ana", "three");
    gateway.stop().ends_with(0);
    assert_eq!(chat.irc.texts("ana"), ["one", "one", "two", "three"]);
}

#[test]
fn what_is_told_again_is_not_answered_again() {
    let chat = Chat::playing([say("one"), say("two")]);
    chat.irc.keeps(true);
    let gateway = chat.start();
    chat.ana.says("first,");
    chat.ana.says("in two lines");
    chat.irc.wait_for("ana", "one");
    chat.irc.replays();
    gateway.stop().ends_with(0);
    let gateway = chat.start();
    chat.irc.replays();
    chat.ana.says("second");
    chat.irc.wait_for("ana", "two");
    gateway.stop().ends_with(0);
    assert_eq!(chat.irc.texts("ana"), ["one", "two"]);
    assert_eq!(chat.model.requests().len(), 2);
}

#[test]
fn programs_are_not_answered_and_a_paste_is_one_message() {
    let chat = Chat::playing([say("Understood.")]);
    let gateway = chat.start();
    chat.ana.notifies("/sh id");
    chat.ana.says("\u{1}VERSION\u{1}");
    chat.ana.says("\u{1}PING 1\u{1}");
    chat.ana.says("look at this:");
    chat.ana.says("\u{3}04fn main() {\u{3}");
    chat.ana.says("}");
    chat.irc.wait_for("ana", "Understood.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.model.requests().len(), 1);
    let asked = chat.model.requests()[0].last_message();
    assert!(asked.contains(r"look at this:\nfn main() {\n}"), "{asked}");
    assert_eq!(chat.irc.texts("ana"), ["Understood."]);
}

#[test]
fn a_long_text_in_a_channel_is_one_message_though_only_its_first_line_names_the_bot() {
    let chat = Chat::playing([say("Understood.")]);
    let gateway = chat.start();
    chat.ana.says_in_channel("nobody is meant");
    chat.ana.says_in_channel("crab: the first part,");
    chat.ana.says_in_channel("the second part,");
    chat.ana.says_in_channel("!important third part");
    chat.irc.wait_for(CHANNEL, "Understood.");
    gateway.stop().ends_with(0);
    assert_eq!(chat.model.requests().len(), 1);
    let asked = chat.model.requests()[0].last_message();
    assert!(
        asked.contains(r"the first part,\n  the second part,\n  !important third part"),
        "{asked}"
    );
    assert!(!asked.contains("nobody is meant"), "{asked}");
}

#[test]
fn what_comes_right_before_the_end_of_a_connection_is_heard() {
    let chat = Chat::playing([say("I know.")]);
    let gateway = chat.start();
    chat.irc.tells(
        "@account=ana :ana!~ana@ana.people.example PRIVMSG crab :very important\r\nERROR :Closing Link",
    );
    chat.irc.wait_for("ana", "I know.");
    let output = gateway.stop().ends_with(0);
    assert!(output.stderr.contains("Closing Link"), "{}", output.stderr);
}

#[test]
fn an_answer_of_the_last_moment_is_sent_while_the_gateway_stops() {
    let gate = Gate::default();
    let chat = Chat::on(Irc::plain(), [say("Just in time.").after(&gate)]);
    let gateway = chat.start();
    chat.ana.says("hello");
    chat.model.wait_for_requests(1);
    gateway.terminate();
    gateway.wait_for_log("stopping");
    gate.open();
    chat.irc.wait_for("ana", "Just in time.");
    gateway.finish().ends_with(0);
    let pending = fs::read_to_string(chat.home.path().join("outbox.jsonl")).unwrap();
    assert_eq!(pending, "");
}

#[test]
fn commands_begin_with_an_exclamation_mark_too() {
    let chat = Chat::playing([]);
    let gateway = chat.start();
    chat.ana.says("!sh echo $((6 * 7)).");
    chat.irc.wait_for("ana", "42.");
    chat.ana.says_in_channel("crab: !id");
    chat.irc.wait_for(CHANNEL, "ana");
    gateway.stop().ends_with(0);
}

#[test]
fn lines_right_before_a_kill_are_answered_after_it() {
    // More than one where the first line is asked about before the kill, and again after it.
    let chat = Chat::playing(std::iter::repeat_n(say("I have them."), 4));
    let gateway = chat.start();
    chat.ana.says("first line");
    chat.ana.says("second line");
    let state = chat.home.path().join("state");
    // Not the file that is about to become the one of the lines.
    let files = [
        state.join("irc-held.json"),
        chat.home.path().join("inbox.jsonl"),
    ];
    let has = |words: &str| {
        let mut all = files
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok());
        all.any(|content| content.contains(words))
    };
    wait_until("the lines on the disk", || has("second line"));
    gateway.kill();
    let gateway = chat.start();
    chat.irc.wait_for("ana", "I have them.");
    // On a busy machine the first line may have been asked about before the second one came.
    wait_until("both lines were asked about", || {
        let requests = chat.model.requests();
        let asked = requests.iter().flat_map(|request| request.messages());
        let asked: String = asked.map(|message| message.to_string()).collect();
        asked.contains("first line") && asked.contains("second line")
    });
    gateway.stop().ends_with(0);
    assert!(!state.join("irc-held.json").exists());
}

#[test]
fn where_no_picture_can_be_shown_a_sticker_is_its_name() {
    let sticker = call("message", json!({"content": "", "sticker": "wave"}));
    let chat = Chat::playing([sticker, say("That was a wave.")]);
    let folder = chat.home.workspace("stickers");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("wave.webp"), "RIFF....WEBPVP8 wave").unwrap();
    let index = json!({"wave": "stickers/wave.webp"});
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    let gateway = chat.start();
    chat.ana.says("wave!");
    chat.irc.wait_for("ana", "That was a wave.");
    gateway.stop().ends_with(0);
    let said = chat.irc.texts("ana").join("\n");
    assert_eq!(said, "(wave)\nThat was a wave.");
}
