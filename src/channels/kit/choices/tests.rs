use std::sync::atomic::{AtomicI64, Ordering};

use super::book::Book;
use super::*;
use crate::base::approval::{AlwaysOption, Answer, Cause, Question};
use crate::base::clock::BUILD_EPOCH;
use crate::base::message::UNKNOWN_MESSAGE;
use crate::channels::kit::texts::answers;

fn chat(name: &str) -> Address {
    Address::new("fake", name)
}

fn commands(names: &[&str]) -> Vec<Vec<Button>> {
    let button = |name: &&str| Button {
        label: (*name).to_owned(),
        data: format!("c:/do {name}"),
    };
    vec![names.iter().map(button).collect()]
}

fn question(number: u64, language: Language) -> Vec<Vec<Button>> {
    let question = Question {
        always: AlwaysOption::Offered,
        ..Question::default()
    };
    buttons::for_question(number, &question, language)
}

struct Scene {
    folder: tempfile::TempDir,
    choices: Choices,
    messages: usize,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let choices = Choices::new(folder.path(), "fake");
        Self {
            folder,
            choices,
            messages: 0,
        }
    }

    /// Offers something in a chat; returns the text about it and the message's id.
    fn offers(&mut self, to: &Address, rows: &[Vec<Button>]) -> (String, String) {
        let (offer, text) = self.choices.prepare(to, rows, Language::English).unwrap();
        let question = match rows.first().map(|row| buttons::read(&row[0].data)) {
            Some(Some(Press::Answer { question, .. })) => Some(question),
            _ => None,
        };
        let offer = Offer { question, ..offer };
        self.choices.add(offer.with_text("what it is about"));
        self.messages += 1;
        let message = format!("m{}", self.messages);
        self.choices.sent(to, &message);
        (text, message)
    }

    fn chosen(&self, to: &Address, text: &str) -> Option<String> {
        let reply = Reply {
            sent_at: Some(self.choices.now()),
            ..Reply::new(text, "")
        };
        self.choices.find(to, &reply).map(|chosen| chosen.data)
    }

    fn restarted(self) -> Self {
        Self {
            choices: Choices::new(self.folder.path(), "fake"),
            ..self
        }
    }
}

#[test]
fn a_number_or_a_label_is_a_press() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let (text, message) = scene.offers(&here, &commands(&["✓ Done", "Snooze *10* min"]));
    assert_eq!(
        text,
        "Reply with a number: **1** ✓ Done · **2** Snooze \\*10\\* min"
    );
    for (reply, data) in [
        ("1", "c:/do ✓ Done"),
        (" 2. ", "c:/do Snooze *10* min"),
        ("２", "c:/do Snooze *10* min"),
        ("done", "c:/do ✓ Done"),
        ("DONE!", "c:/do ✓ Done"),
    ] {
        assert_eq!(scene.chosen(&here, reply).as_deref(), Some(data), "{reply}");
    }
    for reply in [
        "",
        "0",
        "3",
        "1 2",
        "-1",
        "done?\n",
        "Snooze",
        "✓",
        "1\n2",
        "99999999999999999999",
    ] {
        assert_eq!(
            scene.chosen(&here, reply.trim_end_matches('!')),
            None,
            "{reply}"
        );
    }
    assert_eq!(scene.chosen(&chat("2"), "1"), None, "another chat");
    let chosen = scene.choices.find(&here, &Reply::new("1", "")).unwrap();
    assert_eq!(
        (chosen.message.id, chosen.message.text),
        (message, "what it is about".to_owned())
    );
}

/// The number behind which a label stands in a text about an offer.
fn number_of(text: &str, label: &str) -> String {
    let (before, _) = text.split_once(&format!("** {label}")).unwrap();
    before.rsplit("**").next().unwrap().to_owned()
}

#[test]
fn a_command_is_allowed_by_a_number_that_no_other_text_has() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let labels = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        buttons::for_labels(&[names], 64)
    };
    let (first, message) = scene.offers(&here, &question(7, Language::English));
    let (second, _) = scene.offers(&here, &question(8, Language::English));
    let (once, deny) = (number_of(&first, "Run once"), number_of(&second, "Deny"));
    assert!(
        once.len() >= 4 && once != number_of(&second, "Run once"),
        "{first} {second}"
    );
    assert_eq!(scene.chosen(&here, &once).as_deref(), Some("q:7:once"));
    assert_eq!(scene.chosen(&here, &deny).as_deref(), Some("q:8:deny"));
    for text in ["1", "2", "run once", "yes", "no"] {
        assert_eq!(scene.chosen(&here, text), None, "which of them? {text}");
    }
    scene.choices.close(7);
    scene.choices.moved_on(&here, true);
    assert_eq!(scene.chosen(&here, &once), None, "it is over");
    assert_eq!(scene.chosen(&here, &deny).as_deref(), Some("q:8:deny"));
    assert_eq!(scene.chosen(&here, "yes"), None, "something was said since");
    let quoted = |text: &str| {
        scene
            .choices
            .find(&here, &Reply::new(text, "m2"))
            .map(|it| it.data)
    };
    assert_eq!(
        quoted("yes").as_deref(),
        Some("q:8:once"),
        "but it can be quoted"
    );
    assert_eq!(quoted("deny").as_deref(), Some("q:8:deny"));
    assert!(
        scene
            .choices
            .find(&here, &Reply::new("yes", &message))
            .is_none_or(|it| it.data == "q:7:once")
    );
    // A list of the model's.
    let (text, _) = scene.offers(&here, &labels(&["Red", "Blue"]));
    assert!(text.contains("**1** Red"), "{text}");
    assert_eq!(scene.chosen(&here, "1").as_deref(), Some("w:Red"));
    assert_eq!(scene.chosen(&here, "yes"), None);
}

#[test]
fn a_reply_that_is_quicker_than_the_confirmation_of_the_question_answers_it() {
    let (scene, here) = (Scene::new(), chat("1"));
    let rows = question(77, Language::English);
    let (offer, text) = scene
        .choices
        .prepare(&here, &rows, Language::English)
        .unwrap();
    let question = Some(77);
    scene.choices.add(Offer { question, ..offer });
    let number = number_of(&text, "Run once");
    // A mail quotes the one that it replies to.
    let found = |text: &str| {
        scene
            .choices
            .find(&here, &Reply::new(text, "mail-2"))
            .map(|chosen| chosen.data)
    };
    assert_eq!(found(&number).as_deref(), Some("q:77:once"));
    assert_eq!(found("1"), None);
    assert_eq!(
        found("Run once"),
        None,
        "only the number is in no other text"
    );
    scene.choices.sent(&here, "mail-2");
    assert_eq!(found(&number).as_deref(), Some("q:77:once"));
    assert_eq!(
        scene.choices.find(&here, &Reply::new(&number, "mail-1")),
        None
    );
}

#[test]
fn a_word_allows_only_what_its_writer_can_have_read() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let clock = Arc::new(AtomicI64::new(BUILD_EPOCH * 1000));
    scene.choices.clock = Clock::Hand(Arc::clone(&clock));
    let rows = question(7, Language::English);
    let (offer, _) = scene
        .choices
        .prepare(&here, &rows, Language::English)
        .unwrap();
    let first = offer.first.to_string();
    scene.choices.add(Offer {
        question: Some(7),
        ..offer
    });
    // It is on its way: half of it may be on the screen.
    clock.fetch_add(60_000, Ordering::SeqCst);
    for word in ["yes", "Run once", "Always this command"] {
        assert_eq!(scene.chosen(&here, word), None, "{word}");
        assert!(
            scene.choices.is_early(&here, &Reply::new(word, "")),
            "{word}"
        );
    }
    assert_eq!(
        scene.chosen(&here, "no").as_deref(),
        Some("q:7:deny"),
        "a refusal does no harm"
    );
    scene.choices.sent(&here, "m1");
    let shown = clock.fetch_add(1_000, Ordering::SeqCst) / 1000;
    assert_eq!(scene.chosen(&here, "yes"), None, "no one reads that fast");
    assert_eq!(scene.chosen(&here, &first).as_deref(), Some("q:7:once"));
    clock.fetch_add(60_000, Ordering::SeqCst);
    let sent_at = |sent_at| Reply {
        sent_at: Some(sent_at),
        ..Reply::new("yes", "")
    };
    let late = sent_at(shown - 120);
    assert!(scene.choices.find(&here, &late).is_none(), "it was older");
    assert!(scene.choices.is_early(&here, &late));
    let now = clock.load(Ordering::SeqCst) / 1000;
    for ahead in [sent_at(now + 61), sent_at(i64::MAX), Reply::new("yes", "")] {
        let found = scene.choices.find(&here, &ahead);
        assert!(found.is_none(), "its time is not known: {ahead:?}");
        assert!(scene.choices.is_early(&here, &ahead));
    }
    assert!(scene.choices.find(&here, &sent_at(now + 60)).is_some());
    let found = scene.choices.find(&here, &sent_at(shown + 3)).unwrap();
    assert_eq!(found.data, "q:7:once");
}

#[test]
fn neither_a_number_nor_a_word_begins_a_plan_that_its_writer_cannot_have_read() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let clock = Arc::new(AtomicI64::new(BUILD_EPOCH * 1000));
    scene.choices.clock = Clock::Hand(Arc::clone(&clock));
    let button = |label: &str, command: &str| Button {
        label: label.to_owned(),
        data: format!("c:{command}"),
    };
    let (start, stop) = ("/plan approve 1f93a0c2", "/plan stop 1f93a0c2");
    let (_, message) = scene.offers(&here, &[vec![button("Start", start), button("Stop", stop)]]);
    let data = |command: &str| Some(format!("c:{command}"));
    clock.fetch_add(1_000, Ordering::SeqCst);
    for early in ["1", "start"] {
        assert_eq!(scene.chosen(&here, early), None, "{early}");
        assert!(scene.choices.is_early(&here, &Reply::new(early, "")));
    }
    for stopping in ["2", "stop"] {
        assert_eq!(scene.chosen(&here, stopping), data(stop), "{stopping}");
    }
    let quoting = scene.choices.find(&here, &Reply::new("1", &message));
    assert_eq!(
        quoting.map(|it| it.data),
        data(start),
        "it was there to quote"
    );
    clock.fetch_add(1_000, Ordering::SeqCst);
    let older = Reply {
        sent_at: Some(BUILD_EPOCH - 1),
        ..Reply::new("1", "")
    };
    assert!(scene.choices.find(&here, &older).is_none(), "it was older");
    for begins in ["1", "start"] {
        assert_eq!(scene.chosen(&here, begins), data(start), "{begins}");
    }
}

#[test]
fn a_word_allows_a_command_only_while_nothing_else_is_asked_or_said() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let clock = Arc::new(AtomicI64::new(BUILD_EPOCH * 1000));
    scene.choices.clock = Clock::Hand(Arc::clone(&clock));
    scene.offers(&here, &question(7, Language::English));
    clock.fetch_add(5_000, Ordering::SeqCst);
    for (word, data) in [
        ("Yes", "q:7:once"),
        ("run once", "q:7:once"),
        ("否", "q:7:deny"),
    ] {
        let reply = Reply {
            sent_at: Some(BUILD_EPOCH + 4),
            ..Reply::new(word, "")
        };
        let chosen = scene.choices.find(&here, &reply).unwrap();
        assert_eq!(
            (&*chosen.data, chosen.is_approved_by_word),
            (data, true),
            "{word}"
        );
    }
    assert!(
        !scene
            .choices
            .find(&here, &Reply::new("yes", "m1"))
            .unwrap()
            .is_approved_by_word
    );
    scene.choices.moved_on(&here, false);
    assert_eq!(
        scene.chosen(&here, "yes"),
        None,
        "the agent has said something"
    );
}

#[test]
fn a_number_never_means_what_its_writer_has_not_seen() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    scene.offers(&here, &commands(&["a", "b"]));
    let (text, _) = scene.offers(&here, &commands(&["large", "small"]));
    assert!(text.contains("**3** large"), "{text}");
    assert_eq!(scene.chosen(&here, "1").as_deref(), Some("c:/do a"));
    scene.choices.moved_on(&here, false);
    assert_eq!(
        scene.chosen(&here, "3"),
        None,
        "it may answer what was said since"
    );
}

#[test]
fn a_question_is_open_until_it_is_answered_replaced_or_expired() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let clock = Arc::new(AtomicI64::new(BUILD_EPOCH * 1000));
    scene.choices.clock = Clock::Hand(Arc::clone(&clock));
    let labels = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        buttons::for_labels(&[names], 64)
    };
    let (_, colour) = scene.offers(&here, &labels(&["Red", "Blue"]));
    scene.offers(&here, &commands(&["done"]));
    let (_, other) = scene.offers(&chat("2"), &labels(&["Yes", "No"]));
    // The closing words of the turn.
    scene.choices.moved_on(&here, false);
    assert_eq!(scene.chosen(&here, "2").as_deref(), Some("w:Blue"));
    assert_eq!(scene.chosen(&here, "blue").as_deref(), Some("w:Blue"));
    assert_eq!(
        scene.chosen(&here, "3"),
        None,
        "a command may not be what was meant"
    );
    // What people say meanwhile may be followed by a question in plain words.
    scene.choices.moved_on(&here, true);
    assert_eq!(
        scene.chosen(&here, "2").as_deref(),
        Some("w:Blue (typed: 2)")
    );
    let replies = |text: &str| {
        scene
            .choices
            .find(&here, &Reply::new(text, "closing words"))
    };
    assert_eq!(
        replies("2").map(|it| it.data).as_deref(),
        Some("w:Blue (typed: 2)")
    );
    assert_eq!(replies("3"), None, "no command");
    // Another question has numbers of its own. Until it has come, the first one is open.
    let (offer, text) = scene
        .choices
        .prepare(&here, &labels(&["Large", "Small"]), Language::English)
        .unwrap();
    assert!(text.contains("**3** Large"), "{text}");
    scene.choices.add(offer);
    assert!(scene.chosen(&here, "2").is_some());
    scene.choices.sent(&here, "size");
    assert_eq!(scene.chosen(&here, "2"), None, "replaced");
    assert!(
        scene
            .choices
            .find(&here, &Reply::new("2", &colour))
            .is_some(),
        "but it can be quoted"
    );
    assert_eq!(scene.chosen(&here, "4").as_deref(), Some("w:Small"));
    let mut scene = scene.restarted();
    scene.choices.clock = Clock::Hand(Arc::clone(&clock));
    assert_eq!(scene.chosen(&here, "4").as_deref(), Some("w:Small"));
    scene.choices.answered(&here, "size");
    assert_eq!(scene.chosen(&here, "4"), None, "answered");
    assert_eq!(
        scene.chosen(&chat("2"), "1").as_deref(),
        Some("w:Yes"),
        "another chat"
    );
    let time = i64::try_from(CHOICES_TIME.as_millis()).unwrap();
    clock.fetch_add(time, Ordering::Relaxed);
    assert_eq!(scene.chosen(&chat("2"), "1"), None, "expired");
    assert!(
        scene
            .choices
            .find(&chat("2"), &Reply::new("1", &other))
            .is_some()
    );
    let (text, _) = scene.offers(&here, &labels(&["a"]));
    assert!(text.contains("**1** a"), "{text}");
}

#[test]
fn a_reply_to_a_message_means_that_message() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let (_, first) = scene.offers(&here, &commands(&["a", "b"]));
    scene.offers(&here, &commands(&["a", "c"]));
    let find = |text: &str, quoted: &str| {
        let chosen = scene.choices.find(&here, &Reply::new(text, quoted));
        chosen.map(|chosen| chosen.message.id)
    };
    assert_eq!(find("a", &first).as_ref(), Some(&first));
    assert_eq!(find("a", "").as_deref(), Some("m2"), "the newest");
    assert_eq!(find("3", &first), None);
    assert_eq!(find("1", "another message"), None);
    scene.choices.moved_on(&here, false);
    let find = |text: &str, quoted: &str| {
        scene
            .choices
            .find(&here, &Reply::new(text, quoted))
            .is_some()
    };
    assert!(find("1", &first) && !find("1", ""));
    scene.choices.replaced(&here, &first);
    assert!(
        scene
            .choices
            .find(&here, &Reply::new("1", &first))
            .is_none()
    );
}

#[test]
fn a_reply_to_an_unknown_message_is_an_answer_by_its_approvals_number_only() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let labels = buttons::for_labels(&[vec!["Red".to_owned(), "Blue".to_owned()]], 64);
    scene.offers(&here, &labels);
    scene.offers(&here, &commands(&["done"]));
    let (text, _) = scene.offers(&here, &question(7, Language::English));
    let find = |text: &str| {
        let now = Some(scene.choices.now());
        let reply = Reply {
            sent_at: now,
            ..Reply::new(text, UNKNOWN_MESSAGE)
        };
        let chosen = scene.choices.find(&here, &reply);
        chosen.map(|chosen| chosen.data)
    };
    for word in ["yes", "no", "Run once", "1", "3", "red", "done"] {
        assert_eq!(find(word), None, "{word}");
    }
    let number = number_of(&text, "Run once");
    assert_eq!(find(&number).as_deref(), Some("q:7:once"));
    scene.choices.close(7);
    scene.choices.moved_on(&here, true);
    let late = Reply::new(&number, UNKNOWN_MESSAGE);
    assert_eq!(scene.choices.find(&here, &late), None, "it is over");
}

#[test]
fn a_label_counts_in_the_other_languages_too() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let clock = Arc::new(AtomicI64::new(BUILD_EPOCH * 1000));
    scene.choices.clock = Clock::Hand(Arc::clone(&clock));
    scene.offers(&here, &question(7, Language::Chinese));
    clock.fetch_add(5_000, Ordering::SeqCst);
    assert_eq!(scene.chosen(&here, "拒绝").as_deref(), Some("q:7:deny"));
    assert_eq!(scene.chosen(&here, "deny").as_deref(), Some("q:7:deny"));
    assert_eq!(
        scene.chosen(&here, "always this command").as_deref(),
        Some("q:7:always")
    );
    for (word, data) in [
        ("Ja", "q:7:once"),
        ("いいえ。", "q:7:deny"),
        ("Sim!", "q:7:once"),
    ] {
        assert_eq!(scene.chosen(&here, word).as_deref(), Some(data), "{word}");
    }
    for language in Language::ALL {
        let cause = Cause::Unsandboxed;
        let label = answers::label(language, Answer::Always, &cause);
        assert_eq!(scene.chosen(&here, label).as_deref(), Some("q:7:always"));
    }
}

#[test]
fn where_a_number_is_an_answer_only_words_choose() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    let button = |label: &str, word: &str| Button {
        label: label.to_owned(),
        data: format!("c:/answer 4711 {word}"),
    };
    let (text, _) = scene.offers(
        &here,
        &[vec![button("Skip", "skip"), button("Decline", "decline")]],
    );
    assert_eq!(text, "Or reply with: **Skip** · **Decline**");
    assert_eq!(scene.chosen(&here, "1"), None);
    assert_eq!(
        scene.chosen(&here, "skip").as_deref(),
        Some("c:/answer 4711 skip")
    );
    let (text, _) = scene.offers(
        &here,
        &[vec![button("red", "0"), button("Decline", "decline")]],
    );
    assert!(text.contains("**1** red"), "{text}");
}

#[test]
fn offers_outlive_a_restart_and_questions_do_not() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    scene.offers(&here, &question(7, Language::English));
    scene.choices.moved_on(&here, false);
    scene.offers(&here, &commands(&["done"]));
    scene.choices.note_used("fake:9");
    let (offer, _) = scene
        .choices
        .prepare(&here, &commands(&["lost"]), Language::English)
        .unwrap();
    scene.choices.add(offer);
    scene.choices.note_used("fake:10");
    let scene = scene.restarted();
    assert_eq!(scene.chosen(&here, "done").as_deref(), Some("c:/do done"));
    assert_eq!(scene.chosen(&here, "deny"), None);
    assert_eq!(scene.chosen(&here, "lost"), None, "it never came");
    assert!(scene.choices.was_used("fake:9") && !scene.choices.was_used("fake:11"));
    assert!(!scene.choices.was_used(""));
}

#[test]
fn what_never_came_is_not_offered() {
    let (mut scene, here) = (Scene::new(), chat("1"));
    scene.offers(&here, &commands(&["a"]));
    let (offer, _) = scene
        .choices
        .prepare(&here, &commands(&["b"]), Language::English)
        .unwrap();
    scene.choices.add(offer);
    assert_eq!(scene.chosen(&here, "2").as_deref(), Some("c:/do b"));
    scene.choices.take_back(&here);
    assert_eq!(scene.chosen(&here, "2"), None);
    assert_eq!(scene.chosen(&here, "1").as_deref(), Some("c:/do a"));
}

#[test]
fn there_is_a_bound_for_everything() {
    let mut book = Book::default();
    for number in 0..10 * OFFERS {
        let to = chat(&(number % 40).to_string());
        for part in 0..2 {
            let choice = Choice {
                label: format!("{number}.{part}"),
                data: format!("c:/do {number}.{part}"),
            };
            book.add(
                Offer::new(&to, book.next_number(&to, 0), vec![choice])
                    .with_text(&"ü".repeat(9000)),
            );
            book.sent(&to, &format!("{number}.{part}"), 0);
        }
        book.note_used(&number.to_string());
    }
    let bytes = serde_json::to_vec(&book).unwrap().len();
    assert!(bytes < CHOICES_FILE_BYTES, "{bytes}");
    assert!(book.was_used("319") && !book.was_used(&(319 - CHOICES_USED).to_string()));
    let mut book = Book::default();
    for number in 0..2 * OFFERS_IN_CHAT {
        let (offer, _) = Scene::new()
            .choices
            .prepare(
                &chat("1"),
                &commands(&[&format!("x{number}")]),
                Language::English,
            )
            .unwrap();
        book.add(offer);
    }
    let known = (0..2 * OFFERS_IN_CHAT).filter(|number| {
        book.find(&chat("1"), &Reply::new(&format!("x{number}"), ""), 0)
            .is_some()
    });
    assert_eq!(
        known.collect::<Vec<_>>(),
        (OFFERS_IN_CHAT..2 * OFFERS_IN_CHAT).collect::<Vec<_>>()
    );
}

#[test]
fn a_live_view_names_the_commands_of_its_keys() {
    let button = |label: &str, command: &str| CommandButton {
        label: label.to_owned(),
        command: command.to_owned(),
    };
    let rows = [vec![
        button("Enter", "/key enter"),
        button("Ctrl-C", "/key ctrl-c"),
        button("Close", "/term close"),
    ]];
    let text = describe_commands(&rows, Language::English);
    assert_eq!(
        text,
        "Press a key with `/key`: enter, ctrl-c. Also `/term close`"
    );
}
