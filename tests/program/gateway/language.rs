//! The bot speaks the language that a person has chosen in Telegram.

use super::scene::Scene;
use crate::harness::model::say;

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
        ("/usage", "今天：暂无"),
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

#[test]
fn the_menu_of_commands_comes_in_both_languages() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let menus = scene.telegram.wait_for_calls("setMyCommands", 2);
    let described = |code: &str| {
        let menu = menus.iter().find(|menu| menu["language_code"] == code);
        let commands = menu.unwrap()["commands"].as_array().unwrap();
        let help = commands.iter().find(|entry| entry["command"] == "help");
        help.unwrap()["description"].clone()
    };
    assert_eq!(
        described(""),
        "List the commands, or explain one: /help NAME"
    );
    assert_eq!(described("zh"), "列出命令，或说明一个：/help 名称");
    gateway.stop().ends_with(0);
}
