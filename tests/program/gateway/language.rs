//! The bot speaks the language that a person has chosen in Telegram, or with `/lang`.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::model::{call, say};
use crate::harness::telegram::{BOT_NAME, Person};

#[test]
fn a_person_whose_telegram_is_chinese_reads_chinese() {
    let scene = Scene::playing([]);
    let lin = scene.telegram.person(1001, "Lin", None).speaking("zh-hans");
    let gateway = scene.start();
    for (typed, expected) in [
        ("/start", "我是 Peacrab"),
        ("/help status", "/status: 显示模型、对话和开发板的状态"),
        ("/HELP all", "/stop 停止此聊天中正在运行的一切"),
        ("/status", "温度"),
        ("/tools", "read_file: 读取文件"),
        ("/usage", "近 30 天没有对模型的请求。"),
        ("/skills", "systemd: Services"),
        ("/skills lamp", "没有名为 lamp 的技能"),
        ("/id", "此聊天：telegram:1001"),
        ("/sh exit 3", "退出状态 3"),
        ("/sh reboot", "关机或重启。若仍要运行"),
        ("/pair", "例如 /pair ABCD2345（所有者）"),
        ("/status", "网关：已运行"),
        ("/stop", "这里没有正在运行的任务。"),
        ("/approve", "这里没有等待批准的命令。"),
        ("/pair", "请加上对方收到的配对码"),
        ("/sh", "请加上命令"),
        ("/sh true", "完成，没有输出。"),
        ("/stats", "未知命令 /stats。你是想用 /status 吗？"),
        ("/new", "已开始新对话。旧对话仍然保留。"),
    ] {
        lin.says(typed);
        scene.wait_in(lin.chat(), expected);
    }
    let status = scene.wait_in(lin.chat(), "网关").text;
    for part in [
        "智能体",
        "模型：",
        "工作区：",
        "今日 token：",
        "已运行 0 分钟",
        "磁盘：",
    ] {
        assert!(status.contains(part), "{part} is missing in {status}");
    }
    gateway.stop().ends_with(0);
}

#[test]
fn everybody_is_answered_in_a_language_of_their_own() {
    let scene = Scene::playing([say("你好，林。")]);
    let lin = scene.telegram.person(2002, "Lin", None).speaking("zh-hans");
    let gateway = scene.start();
    lin.says("你好");
    let told = scene.wait_in(lin.chat(), "我们还不认识").text;
    let code = told.split_once("/pair ").unwrap().1;
    let code: String = code
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    scene.ana.says(&format!("/pair {code}"));
    scene.wait_for("is now paired on Telegram.");
    scene.wait_in(lin.chat(), "已配对。");
    lin.says("你好");
    scene.wait_in(lin.chat(), "你好，林。");
    gateway.stop().ends_with(0);
}

/// Sends each message and waits for its answer.
fn converse(scene: &Scene, person: &Person, talk: &[(&str, &str)]) {
    for (typed, expected) in talk {
        person.says(typed);
        scene.wait_in(person.chat(), expected);
    }
}

#[test]
fn a_person_whose_telegram_is_german_reads_german_also_after_a_restart() {
    let outside = tempfile::tempdir().unwrap();
    let log = outside.path().join("log");
    let line = format!("echo x >> {}", log.display());
    let wish = json!({"command": line, "escalate": true, "reason": "für das Protokoll"});
    let script = [
        call("exec", wish.clone()),
        say("Notiert."),
        call("exec", wish),
        say("Noch einmal."),
    ];
    let mut scene = Scene::playing(script);
    let clock = Turned::at("2026-11-23T07:00:00Z");
    scene.home.turn(&clock);
    let eva = scene.telegram.person(1001, "Eva", None).speaking("de-CH");
    let gateway = scene.start();
    converse(
        &scene,
        &eva,
        &[
            ("/start", "Ich bin Peacrab"),
            ("/help", "Unterhaltung\n"),
            (
                "/help status",
                "/status: Modell, Unterhaltung und Board anzeigen",
            ),
            (
                "/sh reboot",
                "Nicht ausgeführt: der Befehl würde das Board herunterfahren",
            ),
            ("/sh exit 3", "Exit-Status 3"),
            ("/stats", "Unbekannter Befehl /stats."),
            (
                "/remind 20m Brot holen",
                "⏰ Brot holen: heute 07:20, in 20 min",
            ),
            ("/remind Brot", "20m"),
        ],
    );

    // Approvals: a button, and a word.
    eva.says("schreib es auf");
    let question = scene.wait_for_question("außerhalb der Sandbox");
    assert!(
        question.text.contains("/approve"),
        "what is typed stays: {}",
        question.text
    );
    eva.presses("Einmal ausführen");
    scene.wait_for("✓ Einmal erlaubt");
    scene.wait_for("Notiert.");
    eva.says("und noch einmal");
    let second = scene.telegram.wait_for_message(eva.chat(), |message| {
        message.id > question.id && message.markup.is_some() && message.text.contains("echo x")
    });
    eva.replies(eva.chat(), second.id, "Nein");
    scene.wait_for("✗ Abgelehnt");
    scene.wait_for("Noch einmal.");
    assert_eq!(fs::read_to_string(&log).unwrap(), "x\n");
    gateway.stop().ends_with(0);

    clock.forward(Duration::from_secs(50 * 60));
    let gateway = scene.start();
    let reminder = scene.telegram.wait_for_message(eva.chat(), |message| {
        message.text.ends_with("30 min verspätet)") && message.markup.is_some()
    });
    assert!(
        reminder.text.starts_with("⏰ Brot holen (geplant für "),
        "{}",
        reminder.text
    );
    eva.presses("✓ Erledigt");
    scene.wait_for("✓ Erledigt 07:50");
    gateway.stop().ends_with(0);
}

#[test]
fn a_chosen_language_stays_until_the_app_is_followed_again() {
    let scene = Scene::playing([]);
    let eva = scene.telegram.person(1001, "Eva", None).speaking("de");
    let gateway = scene.start();
    converse(
        &scene,
        &eva,
        &[
            ("/id", "Dieser Chat: telegram:1001"),
            (
                "/lang klingon",
                "Ich spreche klingon nicht. /lang zeigt die Sprachen.",
            ),
            ("/lang", "Ich spreche hier Deutsch, wie deine App."),
        ],
    );
    eva.presses("日本語");
    scene.wait_for("これからここでは日本語を使います。");
    let japanese = [
        ("/id", "このチャット: telegram:1001"),
        ("/new", "新しい会話を始めました。"),
        ("/stats", "不明なコマンドです: /stats"),
        ("/help", "会話\n"),
        ("/lang", "ここでは日本語を使っています。"),
    ];
    converse(&scene, &eva, &japanese);
    gateway.stop().ends_with(0);

    let gateway = scene.start();
    converse(
        &scene,
        &eva,
        &[
            ("/stop", "ここでは何も実行されていません。"),
            ("/lang Français", "Français"),
            ("/lang AUTO", "Im Moment ist das Deutsch."),
            ("/stop", "Hier läuft nichts."),
        ],
    );
    gateway.stop().ends_with(0);
}

#[test]
fn the_language_of_a_group_is_an_owners_to_choose() {
    let scene = Scene::playing([]).set("roles", json!({"2002": "user"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let group = scene.telegram.group(-100, "Family");
    let gateway = scene.start();
    bob.says_in(group, &format!("/lang@{BOT_NAME} ja"));
    scene.wait_in(group, "needs the role owner");
    bob.says_in(group, &format!("/lang@{BOT_NAME}"));
    scene.wait_in(group, "I speak English here");
    scene.ana.says_in(group, &format!("/lang@{BOT_NAME} ja"));
    scene.wait_in(group, "これからここでは日本語を使います。");
    bob.says_in(group, &format!("/id@{BOT_NAME}"));
    scene.wait_in(group, "このチャット: ");
    bob.says("/id");
    scene.wait_in(bob.chat(), "This chat: telegram:2002");
    gateway.stop().ends_with(0);
}

#[test]
fn the_menu_of_commands_comes_in_every_language() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let menus = scene.telegram.wait_for_calls("setMyCommands", 7);
    let described = |code: &str| {
        let menu = menus.iter().find(|menu| menu["language_code"] == code);
        let commands = menu.unwrap()["commands"].as_array().unwrap();
        let help = commands.iter().find(|entry| entry["command"] == "help");
        help.unwrap()["description"].clone()
    };
    for (code, description) in [
        ("", "List the commands, or explain one: /help NAME"),
        ("zh", "列出命令，或说明一个：/help 名称"),
        ("de", "Befehle auflisten oder einen erklären: /help NAME"),
        ("ja", "コマンドの一覧、または1つの説明: /help NAME"),
    ] {
        assert_eq!(described(code), description);
    }
    gateway.stop().ends_with(0);
}
