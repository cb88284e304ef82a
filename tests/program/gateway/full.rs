//! A disk that takes nothing for a while, in the middle of a turn: the write is tried again, and not
//! the turn. Nothing is asked or answered twice, and the person sees what is the matter.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::scene::Scene;
use crate::disk::{FILL, IN_OWN_MOUNTS, has_mounts_of_its_own};
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::irc::Irc;
use crate::harness::model::{Gate, INPUT_TOKENS, call, say};
use crate::harness::program::{PEACRAB, Program};
use crate::harness::wait_until;
use crate::http::{address_of, ask, signed};

/// Longer than two waits before a failed write is tried again.
const A_WHILE: Duration = Duration::from_secs(11);
/// What the person is told, once.
const TOLD: &str = "I can't go on for now";

/// Runs a gateway on a small disk, and does to the disk what it is told.
const SMALL_DISK: &str = r#"
    exec 3<"$HOME/orders"
    small="$HOME.small"
    mkdir "$small"
    mount -t tmpfs -o size=1m none "$small"
    if [ -n "$WHOLE" ]; then
        cp "$HOME/config.json" "$small"
        mkdir "$small/workspace"
        export PEACRAB_HOME="$small"
    else
        # Only the journals are there; all else has room.
        mkdir -p "$HOME/sessions"
        mount --bind "$small" "$HOME/sessions"
        small="$HOME/sessions"
    fi
    cd "$PEACRAB_HOME"
    "$P" gateway 3<&- &
    gateway=$!
    while read word <&3; do
        case $word in
        fill*) fill "$small" ;;
        free*) free_again "$small" ;;
        lock*) mount -o remount,bind,ro "$small" ;;
        unlock*) mount -o remount,bind,rw "$small" ;;
        crash)
            kill -9 "$gateway"
            wait "$gateway" || true
            "$P" gateway 3<&- &
            gateway=$!
            ;;
        go) : >"$PEACRAB_HOME/workspace/go" ;;
        sent) while [ -s outbox.jsonl ]; do sleep 0.05; done ;;
        usage*) cp "$PEACRAB_HOME/state/usage.json" "$HOME/usage.json" ;;
        runs) cp "$PEACRAB_HOME/cron/runs.jsonl" "$HOME/runs.jsonl" || true ;;
        end) break ;;
        esac
        echo "done: $word" >&2
    done
    kill "$gateway"
    wait "$gateway"
"#;

/// A gateway with a small disk, for all of its home or for its journals.
struct SmallDisk {
    gateway: Gateway,
    orders: File,
    scene: Scene,
}

impl SmallDisk {
    fn start(mut scene: Scene, is_whole: bool) -> Self {
        // From a user namespace of its own the program doesn't see that the fake's port is the test's.
        scene.home.set("/tls/localServerUsers", json!(["*"]));
        let path = scene.home.path().join("orders");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        // Open for both, it waits for nobody; dropped, it ends the script.
        let orders = File::options().read(true).write(true).open(path).unwrap();
        let script = Program::of("unshare", &scene.home)
            .args(IN_OWN_MOUNTS)
            .args(["sh", "-eu", "-c", &format!("{FILL}{SMALL_DISK}")])
            .env("WHOLE", if is_whole { "yes" } else { "" })
            .env("P", PEACRAB);
        let gateway = Gateway::of(script);
        gateway.wait_for_log("ready");
        Self {
            gateway,
            orders,
            scene,
        }
    }

    /// Gives an order, and waits until it has been carried out.
    fn order(&self, word: &str) {
        writeln!(&self.orders, "{word}").unwrap();
        self.gateway.wait_for_log(&format!("done: {word}"));
    }

    /// How many texts of the chat contain these words.
    fn count(&self, words: &str) -> usize {
        let texts = self.scene.texts().into_iter();
        texts.filter(|text| text.contains(words)).count()
    }

    /// How often the model was asked.
    fn requests(&self) -> usize {
        self.scene.model.requests().len()
    }

    /// Ends the gateway in order; returns what it said.
    fn end(self) -> String {
        writeln!(&self.orders, "end").unwrap();
        let output = self.gateway.finish().ends_with(0);
        let small = format!("{}.small", self.scene.home.path().display());
        let _ = fs::remove_dir(small);
        output.stderr
    }
}

/// A step that is longer than what is left of a file's last block.
fn long(text: &str) -> String {
    format!("{text} {}", "ö".repeat(3500))
}

#[test]
fn a_disk_that_fills_in_the_middle_of_a_turn_has_each_step_asked_once() {
    fill_within_a_turn(true);
}

#[test]
fn journals_without_room_in_the_middle_of_a_turn_have_each_step_asked_once() {
    fill_within_a_turn(false);
}

fn fill_within_a_turn(is_whole: bool) {
    if !has_mounts_of_its_own() {
        return;
    }
    let gates = [Gate::default(), Gate::default()];
    let scene = Scene::playing([
        call("list_dir", json!({"path": long("nowhere")})).after(&gates[0]),
        say(&long("It is done.")).after(&gates[1]),
        say("Later."),
    ]);
    let scene = scene.set("streaming", json!(false));
    let disk = SmallDisk::start(scene, is_whole);
    disk.scene.ana.says("work");
    disk.scene.model.wait_for_requests(1);
    // A step cannot be written, and then the end.
    for (gate, number) in gates.iter().zip(1..) {
        disk.order(&format!("fill {number}"));
        gate.open();
        if number == 1 {
            disk.scene.wait_for(TOLD);
            disk.gateway.wait_for_log("failed to store a step");
        }
        thread::sleep(A_WHILE);
        assert_eq!(disk.requests(), number);
        assert_eq!(disk.count("It is done."), 0, "{:#?}", disk.scene.texts());
        disk.order(&format!("free {number}"));
        if number == 1 {
            disk.scene.model.wait_for_requests(2);
        }
    }
    disk.scene.wait_for("It is done.");
    disk.scene.ana.says("and later?");
    disk.scene.wait_for("Later.");
    disk.order("usage");
    let usage = fs::read_to_string(disk.scene.home.path().join("usage.json")).unwrap();
    assert!(usage.contains(&(3 * INPUT_TOKENS).to_string()), "{usage}");
    assert_eq!((disk.requests(), disk.count(TOLD)), (3, 1));
    assert_eq!(disk.scene.texts().len(), 3, "{:#?}", disk.scene.texts());
    disk.end();
}

#[test]
fn journals_that_are_read_only_for_a_while_have_nothing_asked_again() {
    if !has_mounts_of_its_own() {
        return;
    }
    let scene = Scene::playing([say("One."), say("Two.")]);
    let disk = SmallDisk::start(scene, false);
    disk.scene.ana.says("one");
    disk.scene.wait_for("One.");
    wait_until("the end of the turn", || {
        disk.gateway.log().contains("turn answered")
    });
    disk.order("lock");
    disk.scene.ana.says("two");
    let told = disk.scene.wait_for(TOLD);
    assert!(told.text.contains("read-only"), "{}", told.text);
    thread::sleep(A_WHILE);
    assert_eq!(disk.requests(), 1);
    disk.order("unlock");
    disk.scene.wait_for("Two.");
    assert_eq!((disk.requests(), disk.count(TOLD)), (2, 1));
    disk.end();
}

#[test]
fn an_answer_is_held_until_the_journal_has_the_end_of_its_turn() {
    if !has_mounts_of_its_own() {
        return;
    }
    let gate = Gate::default();
    let scene = Scene::playing([say(&long("The answer.")).after(&gate), say("Next.")]);
    let scene = scene.set("streaming", json!(false));
    let disk = SmallDisk::start(scene, false);
    disk.scene.ana.says("work");
    disk.scene.model.wait_for_requests(1);
    disk.order("fill");
    gate.open();
    disk.scene.wait_for(TOLD);
    // The outbox has it, and the journal not.
    let outbox = disk.scene.home.path().join("outbox.jsonl");
    let kept = fs::read_to_string(&outbox).unwrap();
    assert!(kept.contains("The answer."), "{kept}");
    // Others are answered meanwhile, in the same chat too.
    disk.scene.ana.says("/id");
    thread::sleep(A_WHILE);
    assert_eq!((disk.requests(), disk.count("The answer.")), (1, 0));
    disk.order("free");
    disk.scene.wait_for("The answer.");
    disk.scene.wait_for("This chat:");
    disk.scene.ana.says("and then?");
    disk.scene.wait_for("Next.");
    assert_eq!((disk.requests(), disk.count("The answer.")), (2, 1));
    disk.end();
}

#[test]
fn a_held_answer_is_sent_once_although_the_gateway_is_killed_before_there_is_room() {
    if !has_mounts_of_its_own() {
        return;
    }
    let gate = Gate::default();
    let scene = Scene::playing([say(&long("The answer.")).after(&gate), say("Next.")]);
    let scene = scene.set("streaming", json!(false));
    let disk = SmallDisk::start(scene, false);
    disk.scene.ana.says("work");
    disk.scene.model.wait_for_requests(1);
    disk.order("fill");
    gate.open();
    disk.scene.wait_for(TOLD);
    disk.order("crash");
    // It is told again, by the new process.
    wait_until("the second try", || disk.count(TOLD) == 2);
    assert_eq!((disk.requests(), disk.count("The answer.")), (1, 0));
    disk.order("free");
    disk.scene.wait_for("The answer.");
    disk.scene.ana.says("and then?");
    disk.scene.wait_for("Next.");
    assert_eq!((disk.requests(), disk.count("The answer.")), (2, 1));
    assert!(disk.scene.asked(1).contains("and then?"));
    disk.end();
}

#[test]
fn a_held_answer_that_the_person_gives_up_is_not_sent_and_holds_up_nothing() {
    if !has_mounts_of_its_own() {
        return;
    }
    let gate = Gate::default();
    let scene = Scene::playing([say(&long("The answer.")).after(&gate), say("Next.")]);
    let scene = scene.set("streaming", json!(false));
    let disk = SmallDisk::start(scene, false);
    disk.scene.ana.says("work");
    disk.scene.model.wait_for_requests(1);
    disk.order("fill");
    gate.open();
    disk.scene.wait_for(TOLD);
    disk.scene.ana.says("/stop");
    disk.scene.wait_for("Stopped. 1 reply cancelled.");
    disk.order("free");
    disk.scene.ana.says("and then?");
    disk.scene.wait_for("Next.");
    assert_eq!((disk.requests(), disk.count("The answer.")), (2, 0));
    disk.end();
}

#[test]
fn what_cannot_be_stored_for_delivery_is_seen_all_the_same() {
    if !has_mounts_of_its_own() {
        return;
    }
    let disk = SmallDisk::start(Scene::playing([]), true);
    let wait = "echo started; until [ -e go ]; do sleep 0.05; done";
    let output = "yes ö | head -n 3000 | tr -d '\\n'; echo that is all";
    disk.scene.ana.says(&format!("/sh {wait}; {output}"));
    disk.scene.wait_for("\nstarted");
    disk.order("fill");
    disk.order("go");
    let told = disk.scene.wait_for("ööthat is all");
    assert!(told.text.contains("ööö"), "{}", told.text);
    disk.order("free");
    disk.scene.ana.says("/id");
    disk.scene.wait_for("This chat:");
    let log = disk.end();
    assert!(log.contains("failed to store"), "{log}");
}

/// What was accepted before the disk was full is noted as done all the same, and answers name what they are about.
#[test]
fn what_is_answered_on_a_full_disk_is_not_answered_or_done_again_after_a_kill() {
    if !has_mounts_of_its_own() {
        return;
    }
    let disk = SmallDisk::start(Scene::playing([]), true);
    disk.scene.ana.says("/id");
    disk.scene.wait_for("This chat:");
    disk.order("sent");
    disk.order("fill");
    let commands = ["/sh echo on1e", "/sh echo tw2o", "/id", "/stop"];
    for command in commands {
        disk.scene.ana.says(command);
        disk.scene.wait_for(&format!("{command}\n"));
    }
    let before = disk.scene.texts().len();
    disk.order("crash");
    // The new one polls, and has said all that the old one has left.
    disk.order("free");
    disk.scene.ana.says("/help");
    disk.scene.wait_for("/id");
    wait_until("an answer", || {
        let texts = disk.scene.texts();
        texts.iter().any(|text| text.contains("/approve"))
    });
    let texts = disk.scene.texts();
    assert_eq!(texts.len(), before + 1, "{texts:?}");
    disk.end();
}

/// IRC tells everything once: what arrives meanwhile is nowhere else.
#[test]
fn what_irc_tells_while_the_disk_is_full_is_answered_when_there_is_room() {
    if !has_mounts_of_its_own() {
        return;
    }
    let irc = Irc::start();
    let mut scene = Scene::answering(|request| {
        let last = request.last_message();
        say(if last.contains(LINE) {
            "Read."
        } else {
            "Hello, Ana."
        })
    });
    scene.home.set("/channels/irc", irc.section());
    scene.home.set("/tls/caFile", json!(irc.authority()));
    let ana = irc.person("ana", Some("ana"));
    let disk = SmallDisk::start(scene, true);
    irc.wait_for_clients(1);
    ana.says("hello");
    irc.wait_for("ana", "Hello, Ana.");
    disk.order("fill");
    // More than what the file of accepted messages has room for.
    let lines = || (10..60).map(|number| format!("{LINE} {number}"));
    for line in lines() {
        ana.says(&format!("{line} {}", "ö".repeat(130)));
    }
    disk.gateway
        .wait_for_log("failed to accept messages from IRC");
    disk.order("free");
    let wanted: Vec<String> = lines().collect();
    wait_until("all lines in a request", || {
        let requests = disk.scene.model.requests();
        let asked = requests
            .last()
            .map(|request| json!(request.messages()).to_string());
        let asked = asked.unwrap_or_default();
        wanted.iter().all(|line| asked.contains(line))
    });
    irc.wait_for("ana", "Read.");
    disk.end();
}

/// What begins each line of a long text.
const LINE: &str = "line number";

/// What a reminder says that the disk has held up.
const LATE: &str = "⏰ tea (planned for 07:20, late because the disk was full)";

/// A small disk on which a reminder of 07:20 is planned, and its clock.
fn disk_with_reminder() -> (SmallDisk, Turned) {
    let clock = Turned::at("2026-11-23T07:00:00Z");
    let mut scene = Scene::playing([]);
    scene.home.turn(&clock);
    let disk = SmallDisk::start(scene, true);
    disk.scene.ana.says("/remind 20m tea");
    disk.scene.wait_for("⏰ tea: today 07:20");
    // What is sent leaves the outbox, and its space would be enough to note that the job begins.
    disk.order("sent");
    disk.order("fill");
    clock.forward(Duration::from_secs(20 * 60));
    disk.gateway.wait_for_log("failed to begin the job");
    (disk, clock)
}

/// Waits for something that is tried again every ten seconds, also by the turned clock.
fn wait_while_time_passes(clock: &Turned, what: &str, holds: impl Fn() -> bool) {
    wait_until(what, || {
        clock.forward(Duration::from_secs(1));
        thread::sleep(Duration::from_millis(100));
        holds()
    });
}

#[test]
fn a_reminder_that_a_full_disk_holds_up_comes_when_there_is_room_and_says_why() {
    if !has_mounts_of_its_own() {
        return;
    }
    let (disk, clock) = disk_with_reminder();
    disk.order("free");
    wait_while_time_passes(&clock, "it comes", || disk.count(LATE) > 0);
    let late = disk.scene.wait_for(LATE);
    assert!(late.button("✓ Done").is_some(), "it was stored");
    disk.end();
}

#[test]
fn a_reminder_is_said_once_although_the_disk_stays_full() {
    if !has_mounts_of_its_own() {
        return;
    }
    let (disk, clock) = disk_with_reminder();
    wait_while_time_passes(&clock, "it comes", || disk.count(LATE) > 0);
    let late = disk.scene.wait_for(LATE);
    assert!(late.button("✓ Done").is_none(), "nothing is stored");
    disk.order("free");
    // Its run is noted then, and nothing more is said.
    let log = Path::new(disk.scene.home.path()).join("runs.jsonl");
    wait_while_time_passes(&clock, "its run is noted", || {
        disk.order("runs");
        let runs = fs::read_to_string(&log).unwrap_or_default();
        runs.contains("sent without being stored")
    });
    assert_eq!(disk.count(LATE), 1);
    let log = disk.end();
    assert!(
        log.contains("sent a reminder that could not be stored"),
        "{log}"
    );
}

#[test]
fn the_health_of_a_gateway_on_a_full_disk_says_so_until_there_is_room() {
    if !has_mounts_of_its_own() {
        return;
    }
    let mut scene = Scene::playing([]);
    let hooks =
        json!({"note": {"to": "telegram:1001", "text": "{{body}}", "secret": "s3cret-s3cret"}});
    scene.home.set(
        "/http",
        json!({"enabled": true, "listen": "127.0.0.1:0", "hooks": hooks}),
    );
    let disk = SmallDisk::start(scene, true);
    let address = address_of(&disk.gateway);
    let body = json!("x".repeat(8000)).to_string();
    let call = || ask(address, "POST", "/hooks/note", &signed(&body), &body).0;
    let health = || ask(address, "GET", "/health", "", "");
    assert_eq!(health(), (200, "ok\n".to_owned()));
    disk.order("fill");
    wait_until("a call that finds no room", || call() == 503);
    assert_eq!(health(), (503, "not well\n".to_owned()));
    disk.order("free");
    wait_until("a call that is taken", || call() == 202);
    assert_eq!(health(), (200, "ok\n".to_owned()));
    disk.end();
}

#[test]
fn a_plan_that_cannot_be_stopped_yet_is_stopped_once_there_is_room() {
    if !has_mounts_of_its_own() {
        return;
    }
    let gate = Gate::default();
    let waits = gate.clone();
    let mut scene = Scene::answering(move |request| {
        let is_planner = request.body["messages"]
            .to_string()
            .contains("Write a plan");
        let has_called = request.last_message().contains("has 1 steps");
        match (is_planner, has_called) {
            (true, false) => call(
                "plan_steps",
                json!({"steps": [{"task": "look", "proof": "seen"}]}),
            ),
            (true, true) => say("Written."),
            _ => say("Looked.").after(&waits),
        }
    });
    scene
        .home
        .set("/agents/defaults/plan/approval", json!(false));
    let disk = SmallDisk::start(scene, true);
    disk.scene.ana.says("/plan look around");
    disk.scene.model.wait_for_requests(3);
    disk.order("fill");
    disk.scene.ana.says("/stop");
    disk.scene.wait_for("The plan could not be stopped yet");
    disk.order("free");
    disk.scene.wait_for("Stopped. /plan approve goes on.");
    gate.open();
    assert_eq!(disk.requests(), 3);
    disk.end();
}
