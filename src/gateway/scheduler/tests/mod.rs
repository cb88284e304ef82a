mod random;

use super::refusals::{REFUSED_NAMES_ALL_MAX, REFUSED_NAMES_MAX};
use super::*;
use crate::base::access::Role;
use crate::base::limits::gateway::COMMANDS_WAITING_MAX;
use crate::base::message::Origin;
use crate::base::message::{Attachment, Media, RemoteFile, Sender};

fn key(name: &str) -> SessionKey {
    SessionKey::parse(&format!("telegram:{name}"))
}

fn message(name: &str, text: &str) -> Envelope {
    let address = Address::new("telegram", name);
    Envelope {
        id: format!("{name}/{text}"),
        reference: text.to_owned(),
        role: Role::Owner,
        ..Envelope::written(&address, Sender::default(), text)
    }
}

fn with_file(name: &str, text: &str) -> Envelope {
    let file = RemoteFile {
        media: Media::Photo,
        id: "f".to_owned(),
        size: None,
        name: "a.jpg".to_owned(),
    };
    Envelope {
        remote_files: vec![file],
        ..message(name, text)
    }
}

fn arrived(message: Envelope) -> Input {
    Input::Arrived(message.into())
}

/// Describes an action in a few words.
fn describe(action: &Action) -> String {
    let texts = |messages: &[Envelope]| {
        let texts: Vec<&str> = messages.iter().map(|message| &*message.text).collect();
        texts.join(",")
    };
    match action {
        Action::StartTurn { work, message } => format!("turn {work} {}", message.text),
        Action::ResumeTurn { work, session } => format!("resume {work} {session}"),
        Action::AbandonTurn { work, session } => format!("abandon {work} {session}"),
        Action::ApplyConsolidation { work, session } => format!("remember {work} {session}"),
        Action::StartCommand { work, message } => format!("command {work} {}", message.text),
        Action::TellWaiting {
            message,
            other,
            is_asking,
        } => {
            let what = if *is_asking { "answer of" } else { "end of" };
            format!("waiting {} for the {what} {other}", message.text)
        }
        Action::Command(message) => format!("now {}", message.text),
        Action::Interject { work, messages } => format!("interject {work} {}", texts(messages)),
        Action::Continue(work) => format!("continue {work}"),
        Action::Cancel(work) => format!("cancel {work}"),
        Action::Refuse {
            messages,
            more: 0,
            reason,
        } => format!("refuse {} {reason:?}", texts(messages)),
        Action::Refuse { more, reason, .. } => format!("refuse many, {more} more {reason:?}"),
        Action::Forget(message) => format!("forget {}", message.text),
        Action::Drop(messages) => format!("drop {}", texts(messages)),
        Action::Stopped { count, .. } => format!(
            "stopped {} {} {}{}{}",
            count.turns,
            count.commands,
            count.messages,
            match count.questions {
                0 => String::new(),
                questions => format!(", {questions} asked"),
            },
            if count.tasks > 0 {
                format!(", {} tasks", count.tasks)
            } else {
                String::new()
            }
        ),
    }
}

struct Scene(Scheduler);

impl Scene {
    fn new(slots: usize) -> Self {
        Self(Scheduler::new(slots))
    }

    fn handle(&mut self, input: Input) -> Vec<String> {
        self.0.handle(input).iter().map(describe).collect()
    }

    fn receive(&mut self, name: &str, text: &str) -> Vec<String> {
        self.handle(arrived(message(name, text)))
    }

    fn finish(&mut self, work: WorkId) -> Vec<String> {
        let unread = Vec::new();
        self.handle(Input::Finished { work, unread })
    }
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_session_has_one_turn_at_a_time_and_all_share_the_slots() {
    let mut scene = Scene::new(2);
    assert_eq!(scene.receive("a", "1"), ["turn 1 1"]);
    assert_eq!(scene.receive("a", "2"), NOTHING);
    assert_eq!(scene.receive("b", "3"), ["turn 2 3"]);
    assert_eq!(scene.receive("c", "4"), NOTHING);
    assert_eq!(scene.finish(1), ["turn 3 4"], "c came before a's second");
    assert_eq!(scene.finish(2), ["turn 4 2"]);
}

/// A message of someone who is no owner.
fn by(role: Role, id: &str, name: &str, text: &str) -> Envelope {
    let mut message = message(name, text);
    message.role = role;
    message.origin = Origin::Person(Sender {
        id: id.to_owned(),
        ..Sender::default()
    });
    message
}

#[test]
fn nobody_keeps_an_owner_waiting_by_writing_in_many_chats() {
    for role in [Role::Guest, Role::User] {
        let mut scene = Scene::new(2);
        let mut write = |chat: &str| scene.handle(arrived(by(role, "3", chat, chat)));
        assert_eq!(write("g1"), ["turn 1 g1"]);
        for chat in ["g2", "g3", "g4"] {
            assert_eq!(write(chat), NOTHING, "one slot is left to others");
        }
        assert_eq!(scene.receive("o", "hello"), ["turn 2 hello"]);
        assert_eq!(scene.receive("p", "and here"), NOTHING);
        assert_eq!(scene.finish(1), ["turn 3 and here"], "an owner is first");
        assert_eq!(scene.finish(2), ["turn 4 g2"]);
        assert_eq!(scene.finish(3), NOTHING);
    }
    // Two users have a slot each, guests one together.
    let mut scene = Scene::new(2);
    let ana = by(Role::User, "1", "a", "ana");
    let bob = by(Role::User, "2", "b", "bob");
    assert_eq!(scene.handle(arrived(ana)), ["turn 1 ana"]);
    assert_eq!(scene.handle(arrived(bob)), ["turn 2 bob"]);
    let mut scene = Scene::new(2);
    let (first, second) = (
        by(Role::Guest, "1", "a", "ana"),
        by(Role::Guest, "2", "b", "bob"),
    );
    assert_eq!(scene.handle(arrived(first)), ["turn 1 ana"]);
    assert_eq!(scene.handle(arrived(second)), NOTHING);
    assert_eq!(scene.finish(1), ["turn 2 bob"]);
    // Where there is one slot, everybody has it in turn, owners first.
    let mut scene = Scene::new(1);
    let guest = by(Role::Guest, "1", "a", "ana");
    assert_eq!(scene.handle(arrived(guest)), ["turn 1 ana"]);
    let user = by(Role::User, "2", "b", "bob");
    assert_eq!(scene.handle(arrived(user)), NOTHING);
    assert_eq!(scene.receive("o", "hello"), NOTHING);
    assert_eq!(scene.finish(1), ["turn 2 hello"]);
    assert_eq!(scene.finish(2), ["turn 3 bob"]);
}

#[test]
fn what_waits_of_one_person_and_of_all_who_are_no_owners_is_bounded_over_all_chats() {
    let mut scene = Scene::new(1);
    scene.receive("o", "1");
    let mut taken = 0;
    for person in 0..100 {
        let mut of_person = 0;
        for chat in 0..10 {
            for _ in 0..WAITING_MAX {
                let name = format!("{person}-{chat}");
                let message = by(Role::User, &person.to_string(), &name, "x");
                of_person += usize::from(scene.handle(arrived(message)).is_empty());
            }
        }
        let waiting = scene
            .0
            .sessions
            .values()
            .map(|it| it.queue.len())
            .sum::<usize>();
        assert!(waiting - taken <= 3 * WAITING_MAX, "{of_person}");
        taken = waiting;
    }
    let named = scene
        .0
        .refused
        .values()
        .map(|it| it.named.len())
        .sum::<usize>();
    assert!(named <= REFUSED_NAMES_ALL_MAX, "{named}");
    assert_eq!(taken, crate::base::limits::inbox::MESSAGES / 2);
    assert_eq!(scene.receive("p", "2"), NOTHING, "an owner's waits");
    let ended = scene.finish(1);
    assert!(ended.contains(&"turn 2 2".to_owned()), "{ended:?}");
}

#[test]
fn messages_during_a_turn_join_it_and_unread_ones_come_first_afterwards() {
    let mut scene = Scene::new(2);
    scene.receive("a", "1");
    scene.receive("a", "2");
    assert_eq!(scene.handle(Input::Step(1)), ["interject 1 2"]);
    assert_eq!(scene.handle(Input::Step(1)), ["interject 1 "]);
    scene.receive("a", "3");
    let unread = vec![message("a", "2")];
    let work = 1;
    assert_eq!(scene.handle(Input::Finished { work, unread }), ["turn 2 2"]);
    assert_eq!(scene.handle(Input::Step(2)), ["interject 2 3"]);
}

#[test]
fn a_command_that_changes_the_conversation_keeps_its_place_in_the_queue() {
    let mut scene = Scene::new(2);
    assert_eq!(scene.receive("a", "1"), ["turn 1 1"]);
    assert_eq!(scene.receive("a", "/new"), NOTHING);
    assert_eq!(scene.receive("a", "2"), NOTHING);
    assert_eq!(
        scene.handle(Input::Step(1)),
        ["interject 1 "],
        "2 is for the new one"
    );
    assert_eq!(scene.receive("a", "/status"), ["now /status"]);
    assert_eq!(scene.finish(1), ["command 2 /new"]);
    assert_eq!(scene.receive("b", "3"), ["turn 3 3"]);
    assert_eq!(scene.finish(2), ["turn 4 2"]);
}

#[test]
fn a_command_needs_no_slot() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    assert_eq!(scene.receive("b", "/new"), ["command 2 /new"]);
    assert_eq!(scene.receive("b", "/sh df"), ["command 3 /sh df"]);
}

#[test]
fn a_message_waits_for_its_files_and_later_text_waits_too() {
    let mut scene = Scene::new(2);
    assert_eq!(scene.handle(arrived(with_file("a", "album"))), NOTHING);
    assert_eq!(scene.receive("a", "what is this?"), NOTHING);
    assert_eq!(scene.receive("b", "1"), ["turn 1 1"]);
    let fetched = Envelope {
        attachments: vec![Attachment {
            media: Media::Photo,
            path: "inbox/a.jpg".to_owned(),
        }],
        ..message("a", "album")
    };
    let actions = scene.0.handle(Input::Fetched(fetched));
    let [Action::StartTurn { work: 2, message }] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    assert_eq!(message.attachments.len(), 1);
    assert_eq!(scene.handle(Input::Step(2)), ["interject 2 what is this?"]);
}

#[test]
fn a_turn_that_waits_for_an_approval_frees_its_slot() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    scene.receive("b", "2");
    assert_eq!(scene.handle(Input::Waits(1)), ["turn 2 2"]);
    scene.receive("c", "3");
    assert_eq!(
        scene.handle(Input::Answered(1)),
        NOTHING,
        "the slot is taken"
    );
    assert_eq!(scene.finish(2), ["continue 1"], "before a new turn");
    assert_eq!(scene.finish(1), ["turn 3 3"]);
    scene.handle(Input::Waits(3));
    assert_eq!(scene.handle(Input::Answered(3)), ["continue 3"]);
}

#[test]
fn stop_cancels_running_work_and_drops_waiting_messages() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    scene.receive("a", "/sh sleep 60");
    scene.receive("a", "2");
    scene.receive("b", "3");
    assert_eq!(
        scene.receive("a", "/stop"),
        ["cancel 1", "cancel 2", "drop 2", "stopped 1 1 1"]
    );
    assert_eq!(
        scene.receive("a", "/stop"),
        ["stopped 0 0 0"],
        "nothing new"
    );
    scene.receive("a", "4");
    let unread = vec![message("a", "0")];
    let ended = Input::Finished { work: 1, unread };
    assert_eq!(scene.handle(ended), ["drop 0", "turn 3 3"]);
    assert_eq!(scene.finish(3), ["turn 4 4"]);
}

/// A task that Ana's or another conversation has given away.
fn task(parent: &str, name: &str) -> Envelope {
    Envelope {
        origin: Origin::Subagent {
            parent: key(parent),
            agent: "main".to_owned(),
            parent_agent: "main".to_owned(),
            label: name.to_owned(),
            author: None,
        },
        ..Envelope::typed(&SessionKey::parse(&format!("subagent:{name}")), name)
    }
}

#[test]
fn the_stop_of_a_user_leaves_the_plan_of_an_owner() {
    let mut scene = Scene::new(2);
    for (name, role) in [("0123abcd-1w1", Role::Owner), ("0123abce-1w1", Role::User)] {
        let message = Envelope {
            role,
            ..task("home", name)
        };
        scene.handle(arrived(message));
    }
    let stop = Envelope {
        role: Role::User,
        ..message("home", "/stop")
    };
    assert_eq!(
        scene.handle(arrived(stop)),
        ["cancel 2", "stopped 0 0 0, 1 tasks"]
    );
}

#[test]
fn stop_ends_the_tasks_of_its_conversation_begun_or_not() {
    let mut scene = Scene::new(2);
    // They take no slots from the conversations.
    for (work, (parent, name)) in [("ana", "one"), ("bob", "two"), ("ana", "three")]
        .iter()
        .enumerate()
    {
        let begun = scene.handle(arrived(task(parent, name)));
        assert_eq!(begun, [format!("turn {} {name}", work + 1)]);
    }
    assert_eq!(scene.receive("ana", "hello"), ["turn 4 hello"]);
    let waiting = Envelope {
        session: SessionKey::parse("subagent:two"),
        ..task("ana", "four")
    };
    assert!(scene.handle(arrived(waiting)).is_empty());
    assert_eq!(
        scene.receive("ana", "/stop"),
        [
            "cancel 1",
            "cancel 3",
            "cancel 4",
            "drop four",
            "stopped 1 0 0, 3 tasks"
        ]
    );
}

#[test]
fn an_interrupted_turn_continues_first_and_can_be_stopped_before_it_has_a_slot() {
    let mut scene = Scene::new(1);
    assert_eq!(
        scene.handle(Input::Interrupted(key("a"))),
        ["resume 1 telegram:a"]
    );
    assert_eq!(scene.handle(Input::Interrupted(key("b"))), NOTHING);
    scene.receive("b", "1");
    assert_eq!(
        scene.receive("b", "/stop"),
        ["drop 1", "abandon 2 telegram:b", "stopped 1 0 1"]
    );
    assert_eq!(scene.receive("b", "2"), NOTHING);
    assert_eq!(scene.finish(1), NOTHING, "b's journal is being closed");
    assert_eq!(scene.finish(2), ["turn 3 2"]);
}

#[test]
fn refusals_are_reported_to_each_chat_together() {
    let mut scene = Scene::new(1);
    scene.receive("a", "0");
    for number in 1..=WAITING_MAX {
        assert_eq!(scene.receive("a", &number.to_string()), NOTHING);
    }
    assert_eq!(scene.receive("a", "x"), ["refuse x QueueFull"]);
    assert_eq!(scene.receive("a", "y"), NOTHING);
    assert_eq!(scene.receive("a", "z"), NOTHING);
    assert_eq!(
        scene.receive("b", "/new"),
        ["command 2 /new"],
        "others are served"
    );
    assert_eq!(scene.finish(2), ["refuse y,z QueueFull"]);
    assert_eq!(scene.finish(1), ["turn 3 1"]);
    assert_eq!(scene.receive("a", "fits"), NOTHING);
    assert_eq!(scene.receive("a", "w"), ["refuse w QueueFull"]);
}

#[test]
fn a_flood_is_counted_and_not_stored() {
    let mut scene = Scene::new(1);
    scene.receive("a", "work");
    for _ in 0..=WAITING_MAX + REFUSED_NAMES_MAX {
        scene.receive("a", "flood");
    }
    for _ in 0..3 {
        assert_eq!(scene.receive("a", "flood"), ["forget flood"]);
    }
    let ended = scene.finish(1);
    assert!(
        ended.contains(&"refuse many, 3 more QueueFull".to_owned()),
        "{ended:?}"
    );
}

#[test]
fn commands_of_a_chat_run_in_order_beside_its_turns() {
    let mut scene = Scene::new(1);
    assert_eq!(scene.receive("a", "/sh cd /etc"), ["command 1 /sh cd /etc"]);
    assert_eq!(scene.receive("a", "hello"), ["turn 2 hello"]);
    assert_eq!(scene.receive("a", "/sh ls"), NOTHING);
    assert_eq!(scene.receive("a", "/get a"), NOTHING);
    assert_eq!(scene.receive("a", "/bg"), ["command 3 /bg"]);
    assert_eq!(scene.receive("a", "/id"), ["now /id"]);
    assert_eq!(scene.receive("b", "/sh df"), ["command 4 /sh df"]);
    assert_eq!(scene.finish(3), NOTHING);
    assert_eq!(scene.finish(1), ["command 5 /sh ls"]);
    assert_eq!(
        scene.receive("a", "/stop"),
        ["cancel 2", "cancel 5", "drop /get a", "stopped 1 1 1"]
    );
    assert_eq!(scene.receive("a", "/sh pwd"), NOTHING, "5 has not ended");
    assert_eq!(scene.finish(5), ["command 6 /sh pwd"]);
}

#[test]
fn a_command_waits_for_the_files_of_the_one_before_it() {
    let mut scene = Scene::new(1);
    let put = arrived(with_file("a", "/put"));
    assert_eq!(scene.handle(put), NOTHING);
    assert_eq!(scene.receive("a", "/sh cat a.jpg"), NOTHING);
    assert_eq!(scene.receive("a", "1"), ["turn 1 1"]);
    let fetched = Input::Fetched(message("a", "/put"));
    assert_eq!(scene.handle(fetched), ["command 2 /put"]);
    assert_eq!(scene.finish(2), ["command 3 /sh cat a.jpg"]);
}

#[test]
fn a_long_command_keeps_what_waited_for_it_and_not_what_is_sent_later() {
    let mut scene = Scene::new(1);
    scene.receive("a", "/sh make");
    scene.receive("a", "/sh make test");
    assert_eq!(
        scene.handle(Input::Long(1)),
        ["waiting /sh make test for the end of 1"]
    );
    assert_eq!(scene.receive("a", "/sh ls"), NOTHING);
    assert_eq!(
        scene.handle(Input::Long(1)),
        ["waiting /sh make test for the end of 1"]
    );
    assert_eq!(scene.finish(1), ["command 2 /sh make test"]);
    assert_eq!(scene.finish(2), ["command 3 /sh ls"]);
    assert_eq!(scene.handle(Input::Long(2)), NOTHING, "it has ended");
    // One that is looked at while it runs.
    for work in 3..3 + COMMANDS_IN_CHAT_MAX as WorkId - 1 {
        assert_eq!(scene.handle(Input::Long(work)), NOTHING);
        let started = format!("command {} /sh top", work + 1);
        assert_eq!(scene.receive("a", "/sh top"), [started]);
    }
    scene.handle(Input::Long(6));
    assert_eq!(scene.receive("a", "/sh last"), NOTHING, "enough of them");
    assert_eq!(scene.receive("b", "/sh df"), ["command 7 /sh df"]);
    assert_eq!(scene.finish(4), ["command 8 /sh last"]);
}

#[test]
fn a_stop_withdraws_the_question_of_a_command_that_has_not_begun() {
    let mut scene = Scene::new(1);
    scene.receive("a", "/sh !touch /x");
    scene.handle(Input::Waits(1));
    let stopped = ["cancel 1", "stopped 0 0 0, 1 asked"];
    assert_eq!(scene.receive("a", "/stop"), stopped);
    scene.finish(1);
    scene.receive("a", "/sh !touch /x");
    scene.handle(Input::Waits(2));
    scene.handle(Input::Answered(2));
    assert_eq!(
        scene.receive("a", "/stop"),
        ["cancel 2", "stopped 0 1 0"],
        "it runs"
    );
}

#[test]
fn a_question_about_a_command_holds_up_only_its_shell() {
    let mut scene = Scene::new(1);
    scene.receive("a", "/sh !touch /x");
    assert_eq!(scene.receive("a", "/sh ls"), NOTHING);
    assert_eq!(scene.receive("a", "/top"), NOTHING);
    let told = ["waiting /sh ls for the answer of 1", "command 2 /top"];
    assert_eq!(scene.handle(Input::Waits(1)), told);
    let told = ["waiting /term for the answer of 1"];
    assert_eq!(scene.receive("a", "/term"), told);
    assert_eq!(scene.receive("a", "/get a"), NOTHING, "in order");
    assert_eq!(scene.finish(2), ["command 3 /get a"]);
    assert_eq!(scene.finish(3), NOTHING);
    // It has the answer, and runs for long.
    let told = ["waiting /sh ls for the end of 1"];
    assert_eq!(scene.handle(Input::Long(1)), told);
    assert_eq!(scene.finish(1), ["command 4 /sh ls"]);
    assert_eq!(scene.finish(4), ["command 5 /term"]);
    assert_eq!(scene.finish(5), NOTHING);
    // One of no shell holds up nothing.
    assert_eq!(scene.receive("a", "/get! /x"), ["command 6 /get! /x"]);
    assert_eq!(scene.handle(Input::Waits(6)), NOTHING);
    assert_eq!(scene.receive("a", "/sh ls"), ["command 7 /sh ls"]);
    assert_eq!(scene.finish(7), NOTHING);
    assert_eq!(scene.finish(6), NOTHING);
    assert!(scene.0.sessions.is_empty());
}

#[test]
fn commands_that_wait_for_answers_leave_room_for_others_up_to_a_limit_that_is_told() {
    let mut scene = Scene::new(1);
    for work in 1..ASKING_IN_CHAT_MAX as WorkId {
        let started = format!("command {work} /get! /x");
        assert_eq!(scene.receive("a", "/get! /x"), [started]);
        assert_eq!(scene.handle(Input::Waits(work)), NOTHING);
    }
    assert_eq!(scene.receive("a", "/get a"), ["command 6 /get a"]);
    assert_eq!(scene.finish(6), NOTHING);
    assert_eq!(scene.receive("a", "/get! /y"), ["command 7 /get! /y"]);
    assert_eq!(scene.handle(Input::Waits(7)), NOTHING);
    let told = ["waiting /get b for the answer of 1"];
    assert_eq!(scene.receive("a", "/get b"), told);
    assert_eq!(scene.finish(1), ["command 8 /get b"]);
    // It has its answer, and runs for long.
    assert_eq!(scene.handle(Input::Long(2)), NOTHING);
    for work in 9..9 + COMMANDS_IN_CHAT_MAX as WorkId - 2 {
        scene.handle(Input::Long(work - 1));
        let started = format!("command {work} /sh top");
        assert_eq!(scene.receive("a", "/sh top"), [started]);
    }
    scene.handle(Input::Long(10));
    assert_eq!(scene.receive("a", "/sh last"), NOTHING, "enough of them");
}

#[test]
fn too_many_commands_are_refused_in_their_chat_only() {
    let mut scene = Scene::new(1);
    for _ in 0..=COMMANDS_WAITING_MAX {
        scene.receive("a", "/sh sleep 60");
    }
    let refused = ["refuse /sh ls TooManyCommands"];
    assert_eq!(scene.receive("a", "/sh ls"), refused);
    assert_eq!(scene.receive("a", "/sh df"), NOTHING);
    assert_eq!(scene.receive("b", "/sh ls"), ["command 2 /sh ls"]);
    assert_eq!(
        scene.finish(1),
        ["refuse /sh df TooManyCommands", "command 3 /sh sleep 60"]
    );
}

#[test]
fn chats_take_turns_when_many_have_commands() {
    let mut scene = Scene::new(1);
    for chat in 0..COMMANDS_MAX {
        scene.receive(&chat.to_string(), "/sh sleep 60");
    }
    scene.receive("0", "/sh next");
    for text in ["/sh one", "/sh two"] {
        assert_eq!(scene.receive("last", text), NOTHING);
    }
    assert_eq!(scene.finish(2), ["command 17 /sh one"]);
    assert_eq!(scene.finish(1), ["command 18 /sh next"]);
    assert_eq!(scene.finish(3), NOTHING, "it has a command");
    assert_eq!(scene.finish(17), ["command 19 /sh two"]);
}

#[test]
fn a_waiting_command_that_is_edited_is_what_it_is_then() {
    let mut scene = Scene::new(1);
    for text in ["/sh sleep 60", "/sh one", "/sh two", "/sh three"] {
        scene.receive("a", text);
    }
    for (reference, text) in [
        ("/sh one", "/sh ls"),
        ("/sh two", "hello"),
        ("/sh three", "/approve always"),
    ] {
        scene.handle(Input::Edited {
            session: key("a"),
            reference: reference.to_owned(),
            text: text.to_owned(),
        });
    }
    assert_eq!(scene.finish(1), ["command 2 /sh ls"]);
    assert_eq!(
        scene.finish(2),
        ["refuse /approve always Edited", "turn 3 hello"]
    );
    assert_eq!(scene.finish(3), NOTHING);
    assert_eq!(scene.0.load(), Load::default());
}

#[test]
fn an_edit_applies_only_while_the_message_waits() {
    let mut scene = Scene::new(1);
    let edit = |text: &str| Input::Edited {
        session: key("a"),
        reference: "2".to_owned(),
        text: text.to_owned(),
    };
    scene.receive("a", "1");
    scene.receive("a", "2");
    scene.handle(edit("two"));
    assert_eq!(scene.finish(1), ["turn 2 two"]);
    scene.handle(edit("zwei"));
    assert_eq!(scene.finish(2), NOTHING);
    assert_eq!(scene.0.load(), Load::default());
}

#[test]
fn a_message_edited_into_a_command_runs_as_one() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    for reference in ["2", "3", "4"] {
        scene.receive("a", reference);
    }
    for (reference, text) in [("2", "/id"), ("3", "/sh ls")] {
        scene.handle(Input::Edited {
            session: key("a"),
            reference: reference.to_owned(),
            text: text.to_owned(),
        });
    }
    assert_eq!(scene.finish(1), ["now /id", "command 2 /sh ls", "turn 3 4"]);
    scene.receive("a", "5");
    scene.handle(Input::Edited {
        session: key("a"),
        reference: "5".to_owned(),
        text: "/stop".to_owned(),
    });
    assert_eq!(scene.finish(3), ["cancel 2", "stopped 0 1 0"]);
}

#[test]
fn a_form_gets_the_words_after_an_edit() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    scene.handle(arrived(Envelope {
        text: "the *attic*".to_owned(),
        unmarked: "the attic".to_owned(),
        ..message("a", "2")
    }));
    scene.handle(Input::Edited {
        session: key("a"),
        reference: "2".to_owned(),
        text: "the cellar".to_owned(),
    });
    let session = key("a");
    let mut waiting = scene.0.waiting_in(&session);
    assert_eq!(waiting.next().unwrap().typed_text(), "the cellar");
}

#[test]
fn an_edit_makes_no_command_that_the_person_may_not_use() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    scene.handle(arrived(Envelope {
        role: Role::User,
        ..message("a", "2")
    }));
    scene.handle(Input::Edited {
        session: key("a"),
        reference: "2".to_owned(),
        text: "/sh ls".to_owned(),
    });
    assert_eq!(scene.finish(1), ["turn 2 /sh ls"]);
}

#[test]
fn a_turn_is_not_joined_by_someone_who_may_do_less() {
    let mut scene = Scene::new(1);
    let says = |scene: &mut Scene, text: &str, role| {
        let message = message("a", text);
        scene.handle(arrived(Envelope { role, ..message }))
    };
    assert_eq!(says(&mut scene, "1", Role::Owner), ["turn 1 1"]);
    says(&mut scene, "2", Role::Guest);
    assert_eq!(scene.handle(Input::Step(1)), ["interject 1 "]);
    assert_eq!(scene.finish(1), ["turn 2 2"]);
    says(&mut scene, "3", Role::Owner);
    assert_eq!(scene.handle(Input::Step(2)), ["interject 2 3"]);
}

#[test]
fn an_edit_cannot_answer_a_question() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    for (reference, text) in [("2", "/approve always"), ("3", "/deny 123456")] {
        scene.receive("a", reference);
        scene.handle(Input::Edited {
            session: key("a"),
            reference: reference.to_owned(),
            text: text.to_owned(),
        });
    }
    let refused = [
        "refuse /approve always Edited",
        "refuse /deny 123456 Edited",
    ];
    assert_eq!(scene.finish(1), refused);
}

#[test]
fn what_was_relayed_is_no_command() {
    let mut scene = Scene::new(1);
    for (number, text) in ["/stop", "/sh ls", "/approve always", "/new"]
        .iter()
        .enumerate()
    {
        let relayed = Envelope {
            is_relayed: true,
            ..message("a", text)
        };
        let work = number as WorkId + 1;
        assert_eq!(
            scene.handle(arrived(relayed)),
            [format!("turn {work} {text}")]
        );
        scene.finish(work);
    }
}

#[test]
fn nothing_starts_while_the_gateway_stops() {
    let mut scene = Scene::new(1);
    scene.receive("a", "1");
    scene.handle(Input::Waits(1));
    scene.handle(Input::Stopping);
    assert_eq!(scene.receive("b", "2"), NOTHING);
    assert_eq!(
        scene.handle(Input::Answered(1)),
        ["continue 1"],
        "what runs ends in order"
    );
    assert_eq!(scene.finish(1), NOTHING);
    assert_eq!(
        scene.0.load(),
        Load {
            running: 0,
            waiting: 1
        }
    );
}
