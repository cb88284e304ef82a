use super::*;
use crate::channels::irc::session::tests::ready;
use serde_json::json;

const NOW: Duration = Duration::from_secs(2000);

/// Messages, over a session that is in #Garden.
struct Scene {
    outgoing: Outgoing,
    session: Session,
    people: People,
    now: Duration,
}

impl Scene {
    fn new() -> Self {
        Self {
            outgoing: Outgoing::default(),
            session: ready(json!({})),
            people: People::default(),
            now: NOW,
        }
    }

    fn push(&mut self, ticket: u64, to: Place, text: &str) {
        self.outgoing.push(Request {
            ticket,
            to,
            text: text.to_owned(),
            key: Some(ticket),
        });
    }

    /// The lines that go out until something has to come.
    fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self
            .outgoing
            .next_line(&self.session, &mut self.people, self.now)
        {
            lines.push(line);
        }
        assert!(!self.outgoing.has_line());
        lines
    }

    fn hears(&mut self, line: &str) {
        let line = Line::parse(line.as_bytes()).unwrap();
        self.outgoing
            .receive(&line, &self.session, &mut self.people, self.now);
    }

    /// What has become of the messages, in words.
    fn outcomes(&mut self) -> Vec<(u64, String)> {
        let finished = self.outgoing.take_finished().into_iter();
        let shown = finished.map(|(ticket, outcome)| match outcome {
            Ok(_) => (ticket, "sent".to_owned()),
            Err(failure) => (ticket, format!("{failure:?}")),
        });
        shown.collect()
    }

    fn outcome(&mut self) -> String {
        let mut outcomes = self.outcomes();
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes.remove(0).1
    }
}

fn garden() -> Place {
    Place::Channel("#Garden".to_owned())
}

fn person(id: &str) -> Place {
    Place::Person(id.to_owned())
}

#[test]
fn a_message_is_sent_when_the_ping_behind_it_is_answered() {
    let mut scene = Scene::new();
    scene.push(1, garden(), "hello\nthere");
    scene.push(2, garden(), "again");
    assert_eq!(
        scene.lines(),
        [
            "PRIVMSG #Garden :hello",
            "PRIVMSG #Garden :there",
            "PING :sent-1"
        ]
    );
    scene.hears(":s PONG s :other");
    assert!(scene.outcomes().is_empty() && !scene.outgoing.is_idle());
    scene.hears(":s PONG s :sent-1");
    assert_eq!(scene.outcome(), "sent");
    assert_eq!(scene.lines(), ["PRIVMSG #Garden :again", "PING :sent-2"]);
    scene.hears(":s PONG s :sent-2");
    assert_eq!(scene.outcomes(), [(2, "sent".to_owned())]);
    assert!(scene.outgoing.is_idle());
}

#[test]
fn what_the_server_says_before_the_pong_decides() {
    for (line, expected) in [
        (":s 404 crab #Garden :Cannot send to channel", "Trouble"),
        (":s 477 crab #Garden :You need a registered nick", "Refused"),
        (
            ":s 439 crab #Garden :Please wait 12 seconds.",
            "RetryAfter(12s)",
        ),
        (":s 439 crab #garden :Too fast", "RetryAfter(5s)"),
        (":s 263 crab PRIVMSG :Try again", "RetryAfter(5s)"),
        (
            "FAIL PRIVMSG RATE_LIMITED #Garden :slow down",
            "RetryAfter(5s)",
        ),
        ("FAIL PRIVMSG CANNOT_SEND #Garden :no", "Refused"),
        (":s 412 crab :No text to send", "Refused"),
        (":s 404 crab #other :Cannot send to channel", "sent"),
        (":s 372 crab :#Garden is nice", "sent"),
    ] {
        let mut scene = Scene::new();
        scene.push(1, garden(), "hello");
        scene.lines();
        scene.hears(line);
        scene.hears(":s PONG s :sent-1");
        let outcome = scene.outcome();
        assert!(outcome.starts_with(expected), "{line}: {outcome}");
    }
}

#[test]
fn it_is_asked_who_has_a_nick_before_something_is_sent_there() {
    for (answers, expected) in [
        (
            &[
                "311 crab ana ~a home.example * :x",
                "330 crab ana Ana :is logged in as",
            ][..],
            "PRIVMSG ana :hello",
        ),
        (&["311 crab ana ~a home.example * :x"], "is not ana"),
        (
            &[
                "311 crab ana ~a home.example * :x",
                "330 crab ana mallory :is logged in as",
            ],
            "is not ana",
        ),
        (&["401 crab ana :No such nick"], "not on IRC now"),
        // About someone else.
        (&["330 crab bob ana :is logged in as"], "not on IRC now"),
    ] {
        let mut scene = Scene::new();
        scene.push(1, person("ana"), "hello");
        assert_eq!(scene.lines(), ["WHOIS ana"]);
        for answer in answers {
            scene.hears(&format!(":s {answer}"));
        }
        scene.hears(":s 318 crab ana :End of WHOIS");
        let all = format!("{:?}{:?}", scene.lines(), scene.outcomes());
        assert!(all.contains(expected), "{answers:?}: {all}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for_for_ever() {
    let mut scene = Scene::new();
    assert_eq!(scene.outgoing.deadline(), None);
    scene.push(1, garden(), "hello");
    assert_eq!(scene.outgoing.deadline(), None);
    scene.lines();
    assert_eq!(scene.outgoing.deadline(), Some(NOW + ANSWER_TIME));
    scene.now += ANSWER_TIME / 2;
    scene.hears(":s PONG s :sent-1");
    assert_eq!(scene.outgoing.deadline(), None);
    scene.push(2, person("ana"), "hello");
    scene.lines();
    assert_eq!(scene.outgoing.deadline(), Some(scene.now + ANSWER_TIME));
}

#[test]
fn not_every_server_says_the_end_of_an_answer() {
    for (answer, is_end) in [
        ("401 crab ANA :No such nick", true),
        ("402 crab ana :No such server", true),
        ("406 crab ana :There was no such nick", true),
        ("421 crab WHOIS :Unknown command", true),
        ("401 crab bob :No such nick", false),
        ("421 crab CAP :Unknown command", false),
    ] {
        let mut scene = Scene::new();
        scene.push(1, person("ana"), "hello");
        scene.lines();
        scene.hears(&format!(":s {answer}"));
        let outcomes = scene.outcomes();
        assert_eq!(outcomes.len(), usize::from(is_end), "{answer}");
        assert!(
            outcomes
                .iter()
                .all(|(_, outcome)| outcome.contains("not on IRC")),
            "{answer}: {outcomes:?}"
        );
    }
}

#[test]
fn a_mask_has_to_fit_too() {
    let mut scene = Scene::new();
    scene.push(1, person("bob!*@*.home.example"), "hello");
    assert_eq!(scene.lines(), ["WHOIS bob"]);
    scene.hears(":s 311 crab bob ~b evil.example * :x");
    scene.hears(":s 330 crab bob bob!*@*.home.example :is logged in as");
    scene.hears(":s 318 crab bob :End");
    assert!(scene.outcome().contains("Trouble"));
    scene.push(2, person("bob!*@*.home.example"), "hello");
    scene.lines();
    scene.hears(":s 311 crab bob ~b pc.home.example * :x");
    scene.hears(":s 318 crab bob :End");
    assert_eq!(scene.lines(), ["PRIVMSG bob :hello", "PING :sent-1"]);
    scene.push(3, person("*!*@1.2.3.4"), "hello");
    scene.hears(":s PONG s :sent-1");
    assert!(scene.lines().is_empty());
    assert!(scene.outcomes()[1].1.contains("is not known"));
}

#[test]
fn a_nick_that_was_just_seen_is_not_asked_about_and_one_that_was_left_is() {
    let mut scene = Scene::new();
    scene.people.verified("ana", "ana_phone", NOW);
    scene.push(1, person("ana"), "hello");
    assert_eq!(scene.lines(), ["PRIVMSG ana_phone :hello", "PING :sent-1"]);
    scene.hears(":s 401 crab ana_phone :No such nick");
    scene.hears(":s PONG s :sent-1");
    assert!(scene.outcome().contains("Trouble"));
    // Then she is looked for: there, and where she usually is.
    scene.push(2, person("ana"), "hello");
    assert_eq!(scene.lines(), ["WHOIS ana_phone"]);
    scene.hears(":s 318 crab ana_phone :End");
    assert_eq!(scene.lines(), ["WHOIS ana"]);
    scene.hears(":s 311 crab ana ~a h * :x");
    scene.hears(":s 330 crab ana ana :is logged in as");
    scene.hears(":s 318 crab ana :End");
    assert_eq!(scene.lines(), ["PRIVMSG ana :hello", "PING :sent-2"]);
}

#[test]
fn of_a_long_message_only_what_was_not_read_is_sent_again() {
    let text: Vec<String> = (1..=12).map(|number| format!("line {number}")).collect();
    let text = text.join("\n");
    let mut scene = Scene::new();
    scene.push(7, garden(), &text);
    let first = scene.lines();
    assert_eq!(first.len(), CONFIRM_LINES + 1);
    assert_eq!(first.last().unwrap(), "PING :part-1");
    scene.hears(":s PONG s :part-1");
    assert_eq!(scene.lines().first().unwrap(), "PRIVMSG #Garden :line 6");
    scene.outgoing.fail_all("lost");
    assert!(scene.outcome().contains("Down"));
    let begun = std::mem::take(&mut scene.outgoing.begun);
    let mut scene = Scene::new();
    scene.outgoing.begun = begun;
    scene.push(7, garden(), &text);
    assert_eq!(scene.lines().first().unwrap(), "PRIVMSG #Garden :line 6");
    scene.hears(":s PONG s :part-1");
    assert_eq!(
        scene.lines(),
        [
            "PRIVMSG #Garden :line 11",
            "PRIVMSG #Garden :line 12",
            "PING :sent-2"
        ]
    );
    scene.hears(":s PONG s :sent-2");
    assert_eq!(scene.outcome(), "sent");
}

#[test]
fn what_is_sent_after_its_time_is_not_sent_again() {
    let text: Vec<String> = (1..=7).map(|number| format!("line {number}")).collect();
    let text = text.join("\n");
    let again = |scene: &mut Scene| {
        scene.outgoing.push(Request {
            ticket: 9,
            to: garden(),
            text: text.clone(),
            key: Some(7),
        });
    };
    for is_late in [false, true] {
        let mut scene = Scene::new();
        scene.push(7, garden(), &text);
        scene.lines();
        if !is_late {
            scene.outgoing.withdraw(7);
            // It waits behind the first attempt.
            again(&mut scene);
        }
        scene.hears(":s PONG s :part-1");
        scene.lines();
        scene.hears(":s PONG s :sent-2");
        if is_late {
            scene.outgoing.withdraw(7);
            again(&mut scene);
        }
        assert_eq!(scene.outcome(), "sent");
        assert_eq!(scene.lines(), ["PING :sent-3"]);
        scene.hears(":s PONG s :sent-3");
        assert_eq!(scene.outcomes(), [(9, "sent".to_owned())]);
    }
}

#[test]
fn an_attempt_that_sends_nothing_does_not_forget_what_was_sent() {
    let text: Vec<String> = (1..=7).map(|number| format!("line {number}")).collect();
    let text = text.join("\n");
    let mut scene = Scene::new();
    scene.people.verified("ana", "ana", NOW);
    scene.push(7, person("ana"), &text);
    scene.lines();
    scene.hears(":s PONG s :part-1");
    scene.people.doubt("ana");
    assert_eq!(scene.lines(), ["WHOIS ana"]);
    scene.hears(":s 318 crab ana :End");
    assert!(scene.outcome().contains("Trouble"));
    scene.push(7, person("ana"), &text);
    scene.lines();
    scene.hears(":s 318 crab ana :End");
    assert!(scene.outcome().contains("Trouble"));
    scene.people.verified("ana", "ana", NOW);
    scene.push(7, person("ana"), &text);
    assert_eq!(
        scene.lines(),
        ["PRIVMSG ana :line 6", "PRIVMSG ana :line 7", "PING :sent-2"]
    );
}

#[test]
fn the_rest_of_a_message_is_not_for_who_takes_the_nick() {
    let mut scene = Scene::new();
    let case = scene.session.support().case;
    scene.people.verified("ana", "ana", NOW);
    scene.push(1, person("ana"), "one\ntwo\nthree");
    let next = |scene: &mut Scene| {
        let (session, people) = (&scene.session, &mut scene.people);
        scene.outgoing.next_line(session, people, scene.now)
    };
    assert_eq!(next(&mut scene).unwrap(), "PRIVMSG ana :one");
    assert_eq!(next(&mut scene).unwrap(), "PRIVMSG ana :two");
    scene.people.nick_left("ana", case);
    assert_eq!(scene.lines(), ["WHOIS ana"]);
    scene.hears(":s 311 crab ana ~a h * :x");
    scene.hears(":s 330 crab ana ana :is logged in as");
    scene.hears(":s 318 crab ana :End");
    let all = [
        "PRIVMSG ana :one",
        "PRIVMSG ana :two",
        "PRIVMSG ana :three",
        "PING :sent-1",
    ];
    assert_eq!(scene.lines(), all);
    // She leaves before the lines are confirmed, and is back under another nick.
    scene.people.nick_left("ana", case);
    scene.people.verified("ana", "ana_", NOW);
    scene.hears(":s PONG s :sent-1");
    assert!(scene.outcomes().is_empty());
    assert_eq!(scene.lines().first().unwrap(), "PRIVMSG ana_ :one");
    scene.hears(":s PONG s :sent-2");
    assert_eq!(scene.outcome(), "sent");
}

#[test]
fn only_channels_that_are_joined_are_written_to_and_the_queue_has_a_bound() {
    let mut scene = Scene::new();
    scene.push(1, Place::Channel("#elsewhere".to_owned()), "hello");
    assert!(scene.lines().is_empty());
    assert!(scene.outcome().contains("Refused"));
    for ticket in 0..=QUEUE as u64 {
        scene.push(ticket, garden(), "hello");
    }
    assert!(scene.outcome().contains("too many"));
    scene.outgoing.withdraw(1);
    scene.outgoing.fail_all("lost");
    assert_eq!(scene.outcomes().len(), QUEUE - 1);
}

#[test]
fn no_text_is_a_command() {
    let mut scene = Scene::new();
    scene.push(1, garden(), "hi\r\nQUIT :bye\rJOIN #x\0\nPRIVMSG ana :psst");
    assert_eq!(
        scene.lines(),
        [
            "PRIVMSG #Garden :hi",
            "PRIVMSG #Garden :QUIT :bye",
            "PRIVMSG #Garden :JOIN #x",
            "PRIVMSG #Garden :PRIVMSG ana :psst",
            "PING :sent-1"
        ]
    );
}
