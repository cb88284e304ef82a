//! What the board says by itself, without a rule.

use super::*;

#[test]
fn the_board_speaks_up_by_itself() {
    let (scene, board, clock) = scene([]);
    let gateway = scene.start();
    greet(&scene);
    asks_until(&scene, "/watch list", "• undervoltage: ok");
    board.firmware("50005");
    clock.forward(MINUTE);
    let alarm = scene.wait_for("⚡ The voltage is too low.");
    assert_eq!(labels(&alarm), ["Mute 1 h", "Turn off"]);
    board.firmware("50000");
    clock.forward(MINUTE);
    scene.wait_for("✅ The voltage is fine again (after 1 min).");
    board.write("proc/self/mounts", "/dev/mmcblk0p2 / ext4 ro,noatime 0 0\n");
    board.write("proc/vmstat", "oom_kill 2\n");
    clock.forward(MINUTE);
    scene.wait_for("🔴 / is read-only now.");
    scene.wait_for("💥 Out of memory: the kernel ended 2 processes.");
    board.temperature(85_000);
    clock.forward(MINUTE / 2);
    asks_until(&scene, "/watch", "• temperature: 🔴 85 °C");
    clock.forward(MINUTE);
    scene.wait_for("🌡 temperature 85 °C (over 80 for 1 min");
    scene.ana.presses("Turn off");
    scene.wait_for("Turned off: temperature.");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "⚡"), 1, "{:?}", scene.texts());
}

fn session(board: &Board, id: u32, host: &str) {
    let text = format!(
        "UID=1000\nUSER=pi\nREMOTE=1\nREMOTE_HOST={host}\nSERVICE=sshd\nCLASS=user\nREALTIME=17{id}\n"
    );
    // As logind does: the file is whole when its name comes.
    board.write(&format!("run/new-{id}"), &text);
    fs::create_dir_all(board.path("run/systemd/sessions")).unwrap();
    let place = board.path(&format!("run/systemd/sessions/{id}"));
    fs::rename(board.path(&format!("run/new-{id}")), place).unwrap();
}

#[test]
fn a_login_and_a_new_address_are_told() {
    let (scene, board, clock) = scene([]);
    session(&board, 1, "192.168.1.5");
    let interface = |address: &str| {
        let line = format!("{address} 02 40 00 80     eth7\n");
        board.write("proc/net/if_inet6", &line);
        fs::create_dir_all(board.path("sys/class/net/eth7/device")).unwrap();
    };
    interface("20010db8000000000000000000000001");
    let gateway = scene.start();
    greet(&scene);
    asks_until(&scene, "/watch list", "• login: ok");
    // The folder is watched: the clock need not move.
    session(&board, 2, "203.0.113.9");
    scene.wait_for("🔑 Login over ssh: pi from 203.0.113.9.");
    interface("20010db8000000000000000000000002");
    clock.forward(MINUTE);
    scene.wait_for("🌐 New address: 2001:db8::2 (eth7).");
    // What comes after it says that it was confirmed: else it would have to be sent again.
    asks_until(&scene, "/watch list", "• address: ok");
    drop(gateway.kill());
    interface("20010db8000000000000000000000001");
    let gateway = scene.start();
    clock.forward(MINUTE);
    asks_until(&scene, "/watch list", "• address: ok");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "🔑"), 1, "{:?}", scene.texts());
    assert_eq!(count(&scene, "🌐"), 1);
}

#[test]
fn an_alarm_of_the_board_goes_to_no_group_although_nobody_has_written_elsewhere() {
    let mut scene = Scene::playing([])
        .set("roles", json!({"2002": "guest"}))
        .set("groupPolicy", json!("open"));
    let (board, clock) = (Board::new(), Turned::at(MORNING));
    scene.home.turn(&clock);
    scene.home.watch_board(board.0.path());
    let group = scene.telegram.group(-900, "Home");
    session(&board, 1, "192.168.1.5");
    let gateway = scene.start();
    let mut asked = 0;
    wait_until("the watches", || {
        let texts = scene.texts_in(group);
        if texts.len() == asked {
            scene.ana.says_in(group, "/watch list");
            asked += 1;
        }
        texts.iter().any(|text| text.contains("• login: ok"))
    });
    session(&board, 4, "203.0.113.7");
    let told = "203.0.113.7";
    // Nobody can be told before an owner has a chat of their own.
    greet(&scene);
    clock.forward(MINUTE);
    scene.wait_for(told);
    gateway.stop().ends_with(0);
    assert!(!scene.texts_in(group).join("").contains(told));
    let recent = fs::read_to_string(scene.home.path().join("state/owner.json")).unwrap_or_default();
    assert!(!recent.contains("-900"), "{recent}");
}

#[test]
fn what_the_configuration_turns_off_is_not_watched() {
    let (mut scene, board, clock) = scene([]);
    scene.home.set("/watch/builtIn/undervoltage", json!(false));
    let gateway = scene.start();
    greet(&scene);
    board.firmware("50005");
    clock.forward(MINUTE);
    scene.ana.says("/watch");
    let listed = scene.wait_for("Built in, all well: ");
    assert!(
        !listed.text.contains("undervoltage") && listed.text.contains("disk"),
        "{}",
        listed.text
    );
    // What the board does not have is in the whole list only.
    assert!(!listed.text.contains("pressure"), "{}", listed.text);
    asks_until(&scene, "/watch list", "• pressure: this board");
    scene.home.set("/watch", json!({"enabled": false}));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    scene.ana.says("/watch load > 4");
    scene.wait_for("Watches are turned off (watch.enabled).");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "⚡"), 0);
}
