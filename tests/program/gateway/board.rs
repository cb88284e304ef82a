//! The board from a chat: plots, logs, services, processes, addresses, restarts, and commands of one's own.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::program::Program;
use crate::harness::telegram::{Media, Message};
use crate::harness::{PATIENCE, wait_until};

/// A scene on a made-up board, with programs of its own.
struct Board {
    scene: Scene,
    clock: Turned,
    root: TempDir,
    bin: PathBuf,
}

impl Board {
    fn at(time: &str) -> Self {
        let mut scene = Scene::playing([]);
        let clock = Turned::at(time);
        scene.home.turn(&clock);
        let bin = scene.home.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let board = Self {
            scene,
            clock,
            root: tempfile::tempdir().unwrap(),
            bin,
        };
        board.put("proc/sys/kernel/random/boot_id", "boot-1\n");
        board.put("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
        board.put("proc/loadavg", "0.42 0.50 0.28 1/140 2093\n");
        board.put("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
        board
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn is_hot(&self, degrees: u32) {
        let millidegrees = format!("{degrees}000\n");
        self.put("sys/class/thermal/thermal_zone0/temp", &millidegrees);
    }

    /// A program that commands find first.
    fn program(&self, name: &str, script: &str) {
        let path = self.bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn peacrab(&self) -> Program {
        let path = std::env::var("PATH").unwrap();
        Program::new(&self.scene.home)
            .env("PEACRAB_TEST_ROOT", self.root.path().to_str().unwrap())
            .env("PATH", &format!("{}:{path}", self.bin.display()))
    }

    fn start(&self) -> Gateway {
        Gateway::of(self.peacrab().arg("gateway"))
    }

    /// Says something, and waits for an answer that is newer than all others.
    fn asks(&self, text: &str, expected: &str) -> Message {
        let last = self.newest();
        self.scene.ana.says(text);
        self.waits_after(last, expected)
    }

    fn newest(&self) -> i64 {
        let messages = self.scene.telegram.messages(self.scene.ana.chat());
        messages.iter().map(|message| message.id).max().unwrap_or(0)
    }

    fn waits_after(&self, last: i64, expected: &str) -> Message {
        let chat = self.scene.ana.chat();
        let is_answer = |message: &Message| message.id > last && message.text.contains(expected);
        self.scene.telegram.wait_for_message(chat, is_answer)
    }

    /// Waits for a picture, and checks that it is a plot.
    fn waits_for_plot(&self, last: i64) {
        let chat = self.scene.ana.chat();
        let message = self.scene.telegram.wait_for_message(chat, |message| {
            message.id > last
                && message
                    .file
                    .as_ref()
                    .is_some_and(|file| file.media == Media::Photo)
        });
        let file = message.file.unwrap();
        assert_eq!(file.name, "plot.png");
        assert_eq!(size_of(&file.bytes), (720, 400));
        assert!(file.bytes.len() < 10_000, "{}", file.bytes.len());
    }

    fn pictures(&self) -> usize {
        let folder = self.scene.home.path().join("outgoing");
        fs::read_dir(folder).map_or(0, Iterator::count)
    }
}

/// Width and height of a PNG file.
fn size_of(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (side(16), side(20))
}

#[test]
fn the_history_survives_restarts_and_comes_as_a_picture() {
    let board = Board::at("2027-03-01T07:00:00Z");
    for degrees in [45, 52, 61] {
        board.is_hot(degrees);
        let gateway = board.start();
        gateway.wait_for_log("ready");
        gateway.stop().ends_with(0);
        board.clock.forward(Duration::from_secs(300));
    }
    let gateway = board.start();
    let list = board.asks("/plot", "In the last 24 h:");
    assert!(
        list.text
            .contains("temperature: 45.0 °C to 61.0 °C, now 61.0 °C"),
        "{}",
        list.text
    );
    assert!(list.text.contains("load: 0.50\n"), "{}", list.text);
    let last = board.newest();
    board.scene.ana.presses("temperature");
    let answer = board.waits_after(last, "temperature: 45.0 °C to 61.0 °C");
    board.waits_for_plot(last);
    assert!(answer.file.is_some(), "it comes in two messages");
    assert!(answer.button("7d").is_some() && answer.button("24h").is_none());
    wait_until("the picture was sent and is still there", || {
        board.pictures() == 0
    });
    let last = board.newest();
    board.scene.ana.presses("7d");
    board.waits_for_plot(last);
    let last = board.newest();
    board.asks("/plot memory load 6h", "load: ");
    board.waits_for_plot(last);
    let status = board.asks("/status", "Workspace: ");
    assert!(status.button("Plot").is_some());
    assert!(
        status.text.contains("\n• Gateway: running for "),
        "in one block with the lines above: {}",
        status.text
    );
    board.asks(
        "/plot humidity",
        "I have no values of humidity. /plot shows what there is; for example",
    );
    board.asks("/plot laod", "Did you mean load?");
    board.asks(
        "/plot load 8d",
        "A plot shows 1 h to 7 d, not 8d. For example",
    );

    // At the terminal, with the gateway and without it.
    let file = board.scene.home.path().join("out.png");
    for is_running in [true, false] {
        let _ = fs::remove_file(&file);
        let plot = ["plot", "temperature", "24h", "-o", file.to_str().unwrap()];
        board.peacrab().args(plot).run().ends_with(0);
        assert_eq!(size_of(&fs::read(&file).unwrap()), (720, 400));
        if is_running {
            let wrong = board.peacrab().args(["plot", "laod"]).run();
            wrong.complains_of(&["Did you mean load?"]);
            gateway.terminate();
            wait_until("the gateway ends", || {
                !board.scene.home.path().join("control.sock").exists()
            });
        }
    }
    let list = board.peacrab().arg("plot").run().ends_with(0);
    assert!(
        list.stdout
            .contains("temperature: 45.0 to 61.0, now 61.0 °C (24 h)"),
        "{}",
        list.stdout
    );
    gateway.finish().ends_with(0);
}

#[test]
fn of_a_sensor_that_is_missing_is_said_so_and_what_there_is() {
    let board = Board::at("2027-03-01T07:00:00Z");
    let gateway = board.start();
    gateway.wait_for_log("ready");
    let missing = board.asks(
        "/plot temperature",
        "This board does not report temperature.",
    );
    assert!(
        missing.text.contains("There are values of load, memory"),
        "{}",
        missing.text
    );
    board.asks(
        "/plot temperature load",
        "temperature: this board does not report it",
    );
    let list = board.asks("/plot", "In the last 24 h:");
    assert!(list.button("load").is_some() && list.button("temperature").is_none());
    let wrong = board.peacrab().args(["plot", "temperature"]).run();
    wrong.complains_of(&["This board does not report temperature, but load, memory"]);
    gateway.stop().ends_with(0);
}

#[test]
fn a_table_of_the_workspace_is_drawn() {
    let board = Board::at("2027-03-01T07:00:00Z");
    let gateway = board.start();
    gateway.wait_for_log("ready");
    let table = "time,inside,outside\n2027-03-01T06:00,20.5,3\n2027-03-01T06:30,21,4\n";
    fs::write(board.scene.home.workspace("my data.csv"), table).unwrap();
    fs::write(board.scene.home.workspace("notes.txt"), "nothing here\n").unwrap();
    let last = board.newest();
    board.asks("/plot csv my data.csv", "inside: 20.5 to 21.0, last 21.0");
    board.waits_for_plot(last);
    board.asks("/plot csv notes.txt", "notes.txt has no numbers to plot.");
    board.asks("/plot csv none.csv", "none.csv");
    board.asks("/plot csv ../config.json", "config.json");
    gateway.stop().ends_with(0);
}

#[test]
fn a_service_is_looked_at_and_restarted_with_a_button() {
    let board = Board::at("2027-03-01T07:00:00Z");
    let log = board.scene.home.path().join("systemctl.log");
    board.program(
        "systemctl",
        &format!(
            "echo \"$*\" >>{}\ncase \"$*\" in\n\
             *--failed*) echo '● nginx.service loaded failed failed Web server';;\n\
             *status*) echo 'nginx.service - Web server'; echo '   Active: failed'; exit 3;;\n\
             is-active*) echo active;;\nesac",
            log.display()
        ),
    );
    board.program("sudo", "exit 1");
    board.program("journalctl", "echo \"asked for $*\"");
    let gateway = board.start();
    let list = board.asks("/svc", "Failed:");
    assert!(list.text.contains("nginx.service"), "{}", list.text);
    board.scene.ana.presses("nginx.service");
    let status = board.scene.wait_for("Active: failed");
    assert!(!status.text.contains("exit status"), "{}", status.text);
    board.scene.ana.presses("Logs");
    board
        .scene
        .wait_for("asked for -q --no-pager -o short -n 30 -u nginx.service");
    board.asks("/logs ssh 5", "-n 5 -u ssh");
    board.scene.ana.presses("Restart");
    board.scene.wait_for("Restart nginx.service?");
    assert!(
        !fs::read_to_string(&log).unwrap().contains("restart"),
        "it was not confirmed"
    );
    let last = board.newest();
    board.scene.ana.presses("Restart");
    board.waits_after(last, "nginx.service is now:");
    let settled = board.scene.wait_for("Restart nginx.service?\n✓ Restart");
    assert!(settled.markup.is_none(), "its button is still there");
    let asked = fs::read_to_string(&log).unwrap();
    assert!(
        asked.contains("--no-ask-password restart nginx.service"),
        "{asked}"
    );
    let audit = board.scene.audit();
    let decisions = audit
        .iter()
        .map(|record| record["decision"].as_str().unwrap().to_owned());
    let decisions: Vec<String> = decisions.collect();
    assert!(
        decisions.contains(&"confirmed by the person".to_owned()),
        "{decisions:?}"
    );
    assert!(
        decisions.contains(&"allowed: built in, it only reads".to_owned()),
        "{decisions:?}"
    );
    for (wrong, usage) in [
        ("/logs", "asked for"),
        ("/logs nginx five", "For example /logs nginx 50"),
        ("/logs -f", "For example /logs nginx 50"),
        ("/svc nginx explode", "For example /svc nginx or"),
        ("/svc nginx;reboot restart", "For example /svc nginx or"),
    ] {
        board.asks(wrong, usage);
    }
    // A button of yesterday.
    board.asks("/svc nginx restart", "Restart nginx?");
    board.clock.forward(Duration::from_secs(24 * 3600));
    let last = board.newest();
    board.scene.ana.presses("Restart");
    board.waits_after(last, "That button is too old.");
    gateway.stop().ends_with(0);
}

#[test]
fn missing_rights_are_explained_with_the_lines_that_give_them() {
    let board = Board::at("2027-03-01T07:00:00Z");
    board.program(
        "systemctl",
        "echo 'Failed to restart nginx.service: Interactive authentication required.' >&2; exit 1",
    );
    board.program("sudo", "exit 1");
    let gateway = board.start();
    board.asks("/svc nginx stop", "Stop nginx?");
    let last = board.newest();
    board.scene.ana.presses("Stop");
    let answer = board.waits_after(last, "may not do that");
    assert!(
        answer
            .text
            .contains("/etc/polkit-1/rules.d/50-peacrab.rules"),
        "{}",
        answer.text
    );
    assert!(
        answer.text.contains("NOPASSWD: /usr/bin/systemctl"),
        "{}",
        answer.text
    );
    board.asks("/reboot", "Restart the board?");
    let last = board.newest();
    board.scene.ana.presses("No");
    board.waits_after(last, "Nothing was done.");
    board.scene.wait_for("✗ No");
    board.asks("/reboot", "Restart the board?");
    let last = board.newest();
    board.scene.ana.presses("Restart the board");
    board.waits_after(last, "The board stays on.");
    gateway.stop().ends_with(0);
}

#[test]
fn nothing_changes_on_the_board_while_the_configuration_says_never() {
    let mut board = Board::at("2027-03-01T07:00:00Z");
    board.scene.home.set("/tools/exec/approval", json!("never"));
    board.program("systemctl", "echo 'it was asked'; exit 0");
    let gateway = board.start();
    board.asks("/svc nginx", "it was asked");
    board.asks("/svc nginx restart now", "exec.approval is \"never\"");
    gateway.stop().ends_with(0);
}

#[test]
fn why_a_service_could_not_be_changed_is_said_once() {
    let board = Board::at("2027-03-01T07:00:00Z");
    board.program("systemctl", "echo 'Unit not found' >&2; exit 1");
    board.program("sudo", "exit 1");
    let gateway = board.start();
    let told = board.asks("/svc nosuch restart now", "Unit not found");
    let count = told.text.matches("Unit not found").count();
    assert_eq!(count, 1, "{}", told.text);
    // As it is where it is installed and something else has been booted.
    let offline =
        "[ $1 = is-system-running ] && echo offline; echo 'System has not been booted' >&2; exit 1";
    board.program("systemctl", offline);
    for asked in ["/svc nosuch", "/svc nosuch restart", "/svc nosuch stop now"] {
        let told = board.asks(asked, "There is no such service here");
        assert!(told.markup.is_none(), "{}", told.text);
    }
    gateway.stop().ends_with(0);
}

#[test]
fn a_journal_that_cannot_be_read_is_not_one_without_warnings() {
    let board = Board::at("2027-03-01T07:00:00Z");
    // As journalctl does for an account without the rights: with -q it says nothing.
    let silent = "case \" $* \" in *' -q '*) exit 0;; esac\n";
    let says = |line: &str| board.program("journalctl", &format!("{silent}{line}"));
    says(
        "echo 'Hint: You are currently not seeing messages from other users and the system.' >&2\necho '-- No entries --'",
    );
    let gateway = board.start();
    for command in ["/logs", "/logs nginx"] {
        let answer = board.asks(command, "I can't read the journal");
        // To root, which has all rights, no right is the advice.
        let advises = answer.text.contains("usermod -aG");
        assert!(
            answer.text.contains("not seeing messages")
                && advises != rustix::process::geteuid().is_root(),
            "{}",
            answer.text
        );
        assert!(
            !answer.text.ends_with("\n."),
            "a lone full stop: {}",
            answer.text
        );
    }
    says("echo 'No journal files were found.' >&2");
    board.asks(
        "/logs",
        "I can't read the journal: No journal files were found.",
    );
    board.program(
        "journalctl",
        "echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1",
    );
    board.asks(
        "/logs",
        "I can't read the journal: No journal files were opened",
    );
    says("echo 'Mar 01 07:00:00 pi systemd[1]: Started.'");
    board.asks("/logs", "No warnings since the board was started.");
    board.asks("/logs nginx", "No lines of nginx.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_log_is_followed_until_it_is_stopped() {
    let board = Board::at("2027-03-01T07:00:00Z");
    let follows = "case \" $* \" in *' -f '*) echo 'first line'; exec sleep 1000;; esac\n";
    let says = |line: &str| board.program("journalctl", &format!("{follows}{line}"));
    says("echo 'No journal files were found.' >&2");
    let gateway = board.start();
    board.asks("/logs nginx follow", "I can't read the journal");
    let line = "echo 'Mar 01 07:00:00 pi systemd[1]: Started.'";
    board.program("systemctl", "echo \"No files found for $3.\" >&2; exit 1");
    says(&format!("case \" $* \" in *ngnix*) ;; *) {line};; esac"));
    board.asks("/logs ngnix follow", "There is no service ngnix, and");
    // What the journal knows may have been removed.
    board.asks("/logs nginx follow", "first line");
    // It is listed, and keeps nothing waiting.
    board.asks("/bg", "1: /logs nginx follow, for");
    board.asks("/sh echo $((6 * 7))", "42");
    board.asks("/in x", "No command is waiting for input here.");
    board.scene.ana.says("/stop");
    board.scene.wait_for("1 command ended");
    gateway.stop().ends_with(0);
}

#[test]
fn processes_addresses_and_a_packet_that_wakes() {
    let board = Board::at("2027-03-01T07:00:00Z");
    board.put("proc/stat", "cpu  10 20 30 40 5 0 0 0 0 0\n");
    board.put(
        "proc/7/stat",
        "7 (a `hog`) R 1 7 7 0 -1 0 1 2 3 4 90 5 0 0 20 0 1 0 100 1000 5000 99",
    );
    board.put("sys/class/net/test-w/operstate", "up\n");
    board.put("sys/class/net/test-w/device/uevent", "");
    board.put(
        "proc/net/if_inet6",
        "20010db8000000000000000000000002 03 40 00 00 test-w\n20010db8000000000000000000000003 03 40 00 00 test-w\n",
    );
    board.put("etc/resolv.conf", "nameserver 192.168.1.1\n");
    let gateway = board.start();
    let top = board.asks("/top", "PID");
    assert!(
        top.text.contains("a hog") && top.text.contains("Load: 0.42"),
        "{}",
        top.text
    );
    let ip = board.asks("/ip", "test-w");
    assert!(
        ip.text.contains("2001:db8::2") && ip.text.contains("2001:db8::3"),
        "{}",
        ip.text
    );
    assert!(ip.text.contains("DNS: 192.168.1.1"), "{}", ip.text);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let to = socket.local_addr().unwrap();
    board.asks(
        &format!("/wol AA-bb-cc-00-11-22 {to}"),
        "Sent the wake-up packet for aa:bb:cc:00:11:22",
    );
    let mut packet = [0; 200];
    assert_eq!(socket.recv(&mut packet).unwrap(), 102);
    assert_eq!(packet[6..12], [0xAA, 0xBB, 0xCC, 0, 0x11, 0x22]);
    board.asks("/wol nas", "for example /wol aa:bb:cc:dd:ee:ff");
    gateway.stop().ends_with(0);
}

#[test]
fn the_board_restarts_with_a_button_and_says_when_it_is_back() {
    let board = Board::at("2027-03-01T07:00:00Z");
    let log = board.scene.home.path().join("systemctl.log");
    board.program("systemctl", &format!("echo \"$*\" >>{}", log.display()));
    board.program("sudo", "exit 1");
    let gateway = board.start();
    board.asks(
        "/reboot now please",
        "Send /reboot; I'll ask before I do it.",
    );
    board.asks("/reboot", "Restart the board?");
    board.scene.ana.presses("Restart the board");
    board
        .scene
        .wait_for("Restarting the board. I'll tell you when I'm back.");
    wait_until("systemctl reboot", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("reboot"))
    });
    gateway.stop().ends_with(0);
    board.clock.reboot();
    board.clock.forward(Duration::from_secs(38));
    board.put("proc/sys/kernel/random/boot_id", "boot-2\n");
    let gateway = board.start();
    board.scene.wait_for("Back after 38 s.");
    gateway.stop().ends_with(0);
    // Neither the program nor an ordinary restart of the machine is worth a word.
    let count = board.scene.texts().len();
    for boot in ["boot-2\n", "boot-3\n"] {
        board.put("proc/sys/kernel/random/boot_id", boot);
        let gateway = board.start();
        board.asks("/id", "telegram:1001");
        gateway.stop().ends_with(0);
    }
    assert_eq!(
        board.scene.texts().len(),
        count + 2,
        "{:?}",
        board.scene.texts()
    );
}

#[test]
fn a_power_cut_is_told_once_when_the_time_is_known() {
    let board = Board::at("2027-03-01T03:12:00Z");
    board.program("journalctl", "exit 1");
    let gateway = board.start();
    board.asks("/id", "telegram:1001");
    gateway.stop().ends_with(0);
    let gateway = board.start();
    gateway.wait_for_log("ready");
    gateway.kill();
    // The machine has no clock of its own.
    board.clock.reboot();
    board.clock.synchronize(false);
    board.clock.set("1970-01-01T00:00:30Z");
    board.put("proc/sys/kernel/random/boot_id", "boot-2\n");
    let gateway = board.start();
    gateway.wait_for_log("the clock has not been set");
    gateway.kill();
    let gateway = board.start();
    gateway.wait_for_log("the clock has not been set");
    assert!(
        !board
            .scene
            .texts()
            .iter()
            .any(|text| text.contains("Back after"))
    );
    board.clock.synchronize(true);
    board.clock.set("2027-03-01T03:40:30Z");
    board
        .scene
        .wait_for("Back after a power cut or crash: 03:12 to 03:40.");
    board.asks("/id", "telegram:1001");
    gateway.kill();
    let gateway = board.start();
    board.asks("/id", "telegram:1001");
    let told = board.scene.texts();
    let told = told.iter().filter(|text| text.contains("Back after"));
    assert_eq!(told.count(), 1);
    gateway.stop().ends_with(0);

    // The system's journal was written later than our own files.
    let gateway = board.start();
    gateway.wait_for_log("ready");
    gateway.kill();
    board.program(
        "journalctl",
        "echo '1803908005.123456 board systemd[1]: Started.'",
    );
    board.put("proc/sys/kernel/random/boot_id", "boot-3\n");
    board.clock.set("2027-03-01T14:00:30Z");
    let gateway = board.start();
    board
        .scene
        .wait_for("Back after a power cut or crash: 13:33 to 14:00.");
    gateway.stop().ends_with(0);
}

#[test]
fn commands_of_the_configuration_are_in_the_menu_and_run() {
    let mut board = Board::at("2027-03-01T07:00:00Z");
    board.scene.home.set(
        "/commands",
        json!({
            "backup": {"run": "printf 'saved <%s>\\n' \"$@\"", "help": "Back up the notes"},
            "lights": {"run": "echo \"lights $1, in $(pwd)\"", "where": "host", "confirm": true},
            "nas": {"run": "python3 -c 'import ftplib; print(\"own\" * 2)'", "where": "host"},
        }),
    );
    // Programs look for such files where they start.
    let theirs = board.scene.home.workspace("ftplib.py");
    std::fs::write(theirs, "print('of the model')\n").unwrap();
    let gateway = board.start();
    let help = board.asks("/help", "/backup Back up the notes");
    assert!(help.text.contains("/lights echo"), "{}", help.text);
    let menu = board.scene.telegram.wait_for_calls("setMyCommands", 7);
    assert!(
        menu[0].to_string().contains("Back up the notes"),
        "{menu:?}"
    );
    let answer = board.asks("/backup a 'b' $(id)", "saved <a>");
    assert!(
        answer.text.contains("saved <'b'>\nsaved <$(id)>"),
        "{}",
        answer.text
    );
    board.asks("/Lights on", "Run /lights on?");
    board.scene.ana.presses("Run");
    let told = board.scene.wait_for("lights on, in ").text;
    assert!(!told.contains("/workspace"), "{told}");
    let told = board.asks("/nas", "ownown").text;
    assert!(!told.contains("of the model"), "{told}");
    let long = "x".repeat(80);
    let asked = board.asks(&format!("/lights {long}"), "If so, send this:");
    assert!(
        asked.text.contains(&format!("/own now lights {long}")),
        "{}",
        asked.text
    );
    board.asks(&format!("/own now lights {long}"), "lights xxx");

    // A reload changes the menu; a name of ours is left out.
    board
        .scene
        .home
        .set("/commands", json!({"status": {"run": "x"}}));
    let told = board.peacrab().arg("reload").run().ends_with(0).stdout;
    assert!(told.contains("/status is built in"), "{told}");
    board
        .scene
        .home
        .set("/commands", json!({"water": {"run": "echo wet"}}));
    board.peacrab().arg("reload").run().ends_with(0);
    let menu = board.scene.telegram.wait_for_calls("setMyCommands", 21);
    assert!(menu[14].to_string().contains("echo wet"), "{menu:?}");
    board.asks("/water", "wet");
    board.asks("/backup", "Unknown command /backup.");
    gateway.stop().ends_with(0);
}

/// What a command of the configuration runs in the sandbox sees no more than others do.
#[test]
fn a_command_of_the_configuration_stays_in_the_sandbox() {
    let mut board = Board::at("2027-03-01T07:00:00Z");
    let config = board.scene.home.path().join("config.json");
    let look = format!("cat {} || echo hidden", config.display());
    board
        .scene
        .home
        .set("/commands", json!({"peek": {"run": look}}));
    assert!(Path::new(&config).exists());
    let gateway = board.start();
    board.asks("/peek", "hidden");
    gateway.stop().ends_with(0);
}
