//! `/update`: a chat asks, the gateway fetches, `peacrab update --staged` installs, and the chat hears of it.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::scene::Scene;
use crate::harness::executable;
use crate::harness::gateway::Gateway;
use crate::harness::program::{Output, Program};
use crate::harness::release::{KEY_VARIABLE, Release, architecture};
use crate::harness::wait_until;
use crate::update::Installed;

/// A board: a gateway that was installed, and a `systemctl` that starts and restarts it.
struct Board {
    scene: Scene,
    installed: Installed,
    release: Release,
    tools: tempfile::TempDir,
}

/// Notes the gateway's process in `pid`, and calls a service failed when that is gone.
const SYSTEMCTL: &str = r#"
[ "$1" != --user ] || shift
runs() { grep -q '^State:.[^Z]' "/proc/$(cat "$TOOLS/pid")/status"; } 2>/dev/null
case $1 in
show)
    if runs; then echo ActiveState=active; else echo ActiveState=failed; echo Result=exit-code; fi ;;
restart)
    if [ "$3" = peacrab.service ]; then
        [ ! -e "$TOOLS/pid" ] || kill "$(cat "$TOOLS/pid")"
        while runs; do sleep 0.05; done
        "$PROGRAM" gateway >>"$TOOLS/log" 2>&1 </dev/null &
        echo $! >"$TOOLS/pid"
    fi ;;
esac
"#;

impl Board {
    fn new(release: Release) -> Self {
        let tools = tempfile::tempdir().unwrap();
        let systemctl = tools.path().join("systemctl");
        executable::script(&systemctl, SYSTEMCTL);
        let mut scene = Scene::playing([]);
        scene.home.set("/update", json!({"url": release.serve()}));
        Self {
            scene,
            installed: Installed::new(),
            release,
            tools,
        }
    }

    fn program(&self, program: &str) -> Program {
        let path = std::env::var("PATH").unwrap();
        let tools = self.tools.path().to_str().unwrap();
        Program::of(program, &self.scene.home)
            .env("PATH", &format!("{tools}:{path}"))
            .env("TOOLS", tools)
            .env("PROGRAM", self.installed.path().to_str().unwrap())
            .env("USER", "nobody-here")
            .env(KEY_VARIABLE, &self.release.public_key())
    }

    fn peacrab(&self, arguments: &[&str]) -> Output {
        let program = self.program(self.installed.path().to_str().unwrap());
        program.args(arguments).run()
    }

    /// A gateway of the test, without systemd.
    fn start(&self) -> Gateway {
        let program = self.program(self.installed.path().to_str().unwrap());
        Gateway::of(program.arg("gateway"))
    }

    /// Installs the service, and starts it.
    fn install_service(&self) {
        self.peacrab(&["service", "install", "--user"]).ends_with(0);
        self.program("systemctl")
            .args(["restart", "--no-block", "peacrab.service"])
            .start();
        wait_until("a log", || self.log().contains("ready"));
    }

    fn request(&self) -> PathBuf {
        self.scene.home.path().join("update/request")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.tools.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(self.tools.path().join("pid")) {
            let _ = std::process::Command::new("kill").arg(pid.trim()).status();
        }
        if std::thread::panicking() {
            eprintln!("the service said:\n{}", self.log());
        }
    }
}

#[test]
fn a_tap_updates_the_service_and_the_chat_hears_of_it() {
    let board = Board::new(Release::of_program("9.9.9"));
    board.install_service();
    let scene = &board.scene;
    scene.ana.says("/update");
    let own = env!("CARGO_PKG_VERSION");
    scene.wait_for(&format!("9.9.9 is available (you have {own}). Install?"));
    scene.ana.presses("Not now");
    scene.wait_for("OK, not now.");
    assert!(!board.request().exists());
    scene.ana.presses("Install");
    scene.wait_for("Installing 9.9.9…");
    wait_until("a request", || board.request().exists());
    // What the path unit starts when it sees the request.
    let output = board.peacrab(&["update", "--staged"]).ends_with(0);
    assert!(
        output.stdout.contains("the gateway runs 9.9.9"),
        "{output:#?}"
    );
    scene.wait_for("Updated to 9.9.9.");
    assert_eq!(board.installed.version(), "peacrab 9.9.9");
    scene.ana.says("/update");
    scene.wait_for("9.9.9 is the newest version.");
    let home = scene.home.path();
    assert_eq!(fs::read_dir(home.join("update")).unwrap().count(), 0);
    let texts = scene.texts();
    assert_eq!(
        texts.iter().filter(|text| text.contains("Updated")).count(),
        1,
        "{texts:#?}"
    );
}

#[test]
fn a_version_that_does_not_start_is_taken_back_and_the_chat_hears_of_it() {
    // It says its version, and fails as a gateway.
    let script =
        "#!/bin/sh\n[ \"$1\" = --version ] && exec echo peacrab 9.9.9\necho no >&2\nexit 1\n";
    let board = Board::new(Release::of_script("9.9.9", script));
    board.install_service();
    let scene = &board.scene;
    scene.ana.says("/update install 9.9.9");
    wait_until("a request", || board.request().exists());
    let output = board.peacrab(&["update", "--staged"]).ends_with(1);
    output.complains_of(&[
        "9.9.9 did not become ready: systemd gave up",
        "is back and running.",
    ]);
    let own = env!("CARGO_PKG_VERSION");
    scene.wait_for(&format!("9.9.9 did not start within 60 s; {own} is back."));
    assert_eq!(board.installed.version(), format!("peacrab {own}"));
    // It is not tried again by itself.
    assert!(!board.request().exists());
}

#[test]
fn a_release_that_root_refuses_is_told_in_the_chat() {
    let board = Board::new(Release::of_program("9.9.9"));
    board.install_service();
    let scene = &board.scene;
    scene.ana.says("/update install 9.9.9");
    wait_until("a request", || board.request().exists());
    let folder = board
        .request()
        .with_file_name(format!("peacrab-9.9.9-{}", architecture()));
    fs::write(folder, "changed").unwrap();
    board.peacrab(&["update", "--staged"]).ends_with(1);
    scene.wait_for("Not updated: peacrab-9.9.9-");
    assert_eq!(
        board.installed.version(),
        format!("peacrab {}", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn without_units_the_chat_learns_what_to_run_on_the_board() {
    let board = Board::new(Release::of_program("9.9.9"));
    let mut gateway = board.start();
    let scene = &board.scene;
    scene.ana.says("/update");
    let message = scene.wait_for("9.9.9 is available");
    assert!(message.text.contains("run this on the board") && message.text.contains(" update"));
    scene.ana.says("/update install 9.9.9");
    wait_until("an answer", || scene.texts().len() == 2);
    assert!(!board.request().exists());
    assert!(gateway.is_running());

    // The command that was named: without systemd the gateway restarts itself.
    let output = board.peacrab(&["update"]).ends_with(0);
    assert!(
        output.stdout.contains("the gateway runs 9.9.9"),
        "{output:#?}"
    );
    scene.ana.says("/update");
    scene.wait_for("9.9.9 is the newest version.");
    assert!(gateway.is_running());
    gateway.stop().ends_with(0);
}

#[test]
fn without_a_source_or_a_genuine_release_the_chat_learns_why() {
    let mut board = Board::new(Release::of_program("9.9.9"));
    fs::write(board.release.path("SHA256SUMS.sig"), [0; 64]).unwrap();
    let gateway = board.start();
    let ana = &board.scene.ana;
    ana.says("/update");
    board.scene.wait_for("The signature of SHA256SUMS is wrong");
    gateway.stop().ends_with(0);
    board.scene.home.set("/update", json!({}));
    let gateway = board.start();
    let ana = &board.scene.ana;
    ana.says("/update");
    board.scene.wait_for("peacrab config set update.url URL");
    gateway.stop().ends_with(0);
}
