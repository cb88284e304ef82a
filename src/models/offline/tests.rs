use super::*;
use crate::base::chat::ToolSpec;

const NAMES: [&str; 8] = [
    "list_dir",
    "read_file",
    "write_file",
    "append_file",
    "find_files",
    "grep",
    "device",
    "exec",
];

fn tools(names: &[&'static str]) -> Vec<ToolSpec> {
    let tool = |name: &&'static str| ToolSpec::fixed(name, "", schema(name));
    names.iter().map(tool).collect()
}

/// What the real tools take, as far as it matters here.
fn schema(tool: &str) -> &'static str {
    match tool {
        "write_file" | "append_file" => {
            r#"{"properties":{"path":{},"content":{}},"required":["path","content"]}"#
        }
        "find_files" => r#"{"properties":{"glob":{},"path":{}},"required":["glob"]}"#,
        "grep" => {
            r#"{"properties":{"pattern":{},"path":{},"case_insensitive":{}},"required":["pattern"]}"#
        }
        "device" => r#"{"properties":{"action":{}},"required":["action"]}"#,
        "cron" => {
            r#"{"properties":{"action":{},"when":{},"message":{},"job":{}},"required":["action"]}"#
        }
        "exec" => r#"{"properties":{"command":{},"timeout_secs":{}},"required":["command"]}"#,
        _ => r#"{"properties":{"path":{}},"required":["path"]}"#,
    }
}

fn answer_to(entries: &[Entry], names: &[&'static str]) -> Reply {
    answer_in(Language::English, entries, names)
}

fn answer_in(language: Language, entries: &[Entry], names: &[&'static str]) -> Reply {
    let request = Request {
        system: "",
        entries: &entries.iter().collect::<Vec<_>>(),
        stable: 0,
        tools: &tools(names),
        max_tokens: 1,
        thoughts_max: u32::MAX,
        temperature: None,
        reasoning_effort: None,
        stream: false,
        cache_key: None,
    };
    reply(&request, 7, language)
}

fn say(text: &str) -> Reply {
    answer_to(&[Entry::new(EntryKind::Person, text)], &NAMES)
}

/// What the person says, and the call it becomes.
const REQUESTS: &[(&str, &str)] = &[
    ("list files", r#"list_dir {"path":"."}"#),
    (
        "Please list the files in the docs folder.",
        r#"list_dir {"path":"docs"}"#,
    ),
    ("ls src/models", r#"list_dir {"path":"src/models"}"#),
    ("ls .", r#"list_dir {"path":"."}"#),
    ("what files are in here?", r#"list_dir {"path":"."}"#),
    ("Read notes.txt", r#"read_file {"path":"notes.txt"}"#),
    (
        "show me \"my notes.txt\"",
        r#"read_file {"path":"my notes.txt"}"#,
    ),
    (
        "can you open README.md?",
        r#"read_file {"path":"README.md"}"#,
    ),
    ("what's in todo.md?", r#"read_file {"path":"todo.md"}"#),
    (
        "write milk and eggs to shopping.txt",
        r#"write_file {"content":"milk and eggs\n","path":"shopping.txt"}"#,
    ),
    (
        "write to a.txt:\none\ntwo",
        r#"write_file {"content":"one\ntwo\n","path":"a.txt"}"#,
    ),
    (
        "create a file b.md with hello",
        r#"write_file {"content":"hello\n","path":"b.md"}"#,
    ),
    (
        "append bread to shopping.txt",
        r#"append_file {"content":"bread\n","path":"shopping.txt"}"#,
    ),
    (
        "add to log.txt: it rains",
        r#"append_file {"content":"it rains\n","path":"log.txt"}"#,
    ),
    (
        "find files named *.log",
        r#"find_files {"glob":"**/*.log"}"#,
    ),
    ("where is config", r#"find_files {"glob":"**/*config*"}"#),
    (
        "search for a.b (x) in logs",
        r#"grep {"case_insensitive":true,"path":"logs","pattern":"a\\.b \\(x\\)"}"#,
    ),
    (
        "grep TODO",
        r#"grep {"case_insensitive":true,"path":".","pattern":"TODO"}"#,
    ),
    ("status", r#"device {"action":"status"}"#),
    ("run df -h", r#"exec {"command":"df -h"}"#),
    ("$ ls -l", r#"exec {"command":"ls -l"}"#),
    ("列出文件", r#"list_dir {"path":"."}"#),
    ("请列出 docs 目录里的文件", r#"list_dir {"path":"docs"}"#),
    ("docs里有什么？", r#"list_dir {"path":"docs"}"#),
    ("帮我读取 笔记.txt", r#"read_file {"path":"笔记.txt"}"#),
    ("看看 a.txt 的内容", r#"read_file {"path":"a.txt"}"#),
    (
        "把“买牛奶”写入 待办.txt",
        r#"write_file {"content":"买牛奶\n","path":"待办.txt"}"#,
    ),
    (
        "把鸡蛋追加到待办.txt",
        r#"append_file {"content":"鸡蛋\n","path":"待办.txt"}"#,
    ),
    ("查找文件 *.py", r#"find_files {"glob":"**/*.py"}"#),
    (
        "在 logs 中搜索 错误",
        r#"grep {"case_insensitive":true,"path":"logs","pattern":"错误"}"#,
    ),
    ("设备状态", r#"device {"action":"status"}"#),
    ("运行 uname -a", r#"exec {"command":"uname -a"}"#),
];

#[test]
fn plain_requests_become_the_calls_that_a_model_would_make() {
    assert!(REQUESTS.len() >= 25);
    for (spoken, expected) in REQUESTS {
        let reply = say(spoken);
        let call = reply.tool_calls.first();
        let made = call.map(|call| format!("{} {}", call.name, call.arguments));
        assert_eq!(made.as_deref(), Some(*expected), "{spoken}: {}", reply.text);
        assert_eq!(reply.text, "");
    }
}

#[test]
fn the_phrases_of_the_first_day_are_understood() {
    for (spoken, expected) in [
        ("What can you do?", "offline helper. No language model"),
        ("how much space is left", "device"),
        ("how big is the disk?", "device"),
        ("how big is my sd card", "device"),
        ("How much space is left on the SD card?", "device"),
        ("Is the internet up?", "device"),
        ("reboot", "/reboot restarts"),
        ("turn the pi off", "/reboot restarts"),
        ("what is running?", "/top shows"),
        ("who is logged in?", "/top shows"),
        ("which processes are running", "/top shows"),
        ("is ssh running?", "/svc shows the services"),
        ("is anyone logged in", "/top shows"),
        ("what uses the most memory?", "/top shows"),
        ("谁登录了？", "/top 显示"),
        (
            "Tell me when the disk is nearly full",
            "`/watch disk / > 90`",
        ),
        (
            "let me know if it gets too hot",
            "`/watch temperature > 75 for 5m`",
        ),
        (
            "tell me when it is hotter than 70",
            "`/watch temperature > 70 for 5m`",
        ),
        (
            "warn me if the disk is over 80% full",
            "`/watch disk / > 80`",
        ),
        (
            "warn me when the NAS is down",
            "for example `/watch disk / > 90`",
        ),
        ("内存快满时告诉我", "`/watch memory > 90 for 5m`"),
        ("tell me the current time", "I don't know the time."),
        ("please restart the pi", "/reboot restarts"),
        ("who are you?", "offline helper. No language model"),
        ("list my files", "list_dir"),
        ("show me notes.txt", "read_file"),
        ("what’s my IP?", "device"),
        ("write it’s late to a.txt", "write_file"),
        ("what time is it?", "I don't know the time."),
        ("thanks!", "You're welcome."),
        ("whats running", "/top shows"),
        ("any updates", "`peacrab update --check`"),
        ("is it up to date?", "`peacrab update --check`"),
        ("有没有更新？", "`peacrab update --check`"),
        ("power down the pi", "/reboot restarts"),
        ("yes", "I can't tell what this answers."),
        (
            "[file: files/1-a.pdf]\n[PDF document, 2 pages]",
            "Stored as `files/1-a.pdf`.",
        ),
        (
            "what is it?\n[file: files/1-a.pdf]",
            "Stored as `files/1-a.pdf`.",
        ),
    ] {
        let Reply {
            text, tool_calls, ..
        } = say(spoken);
        let called = tool_calls.first().map_or("", |call| &call.name);
        let is_met = called == expected || !text.is_empty() && text.contains(expected);
        assert!(is_met, "{spoken}: {text}{called}");
    }
    let written = say("write it’s late to a.txt").tool_calls.remove(0);
    assert!(written.arguments.contains("it’s late"), "as it was typed");
}

#[test]
fn what_it_does_not_understand_it_says_with_what_it_does() {
    for spoken in [
        "",
        "Why is the sky blue?",
        "read",
        "write",
        "open the pod bay doors",
        "is the disk of the neighbour full",
        "how do I free memory in Python",
    ] {
        let reply = say(spoken);
        assert!(reply.tool_calls.is_empty(), "{spoken}");
        assert!(
            reply.text.starts_with("I don't understand that."),
            "{}",
            reply.text
        );
        assert!(reply.text.contains("offline helper"));
        assert!(reply.text.contains("peacrab onboard"));
        assert!(reply.text.contains("ANTHROPIC_API_KEY"));
    }
    assert!(say("天空为什么是蓝的？").text.contains("离线助手"));
}

#[test]
fn a_greeting_and_a_question_about_it_are_answered_with_what_it_can_do() {
    for spoken in [
        "hi",
        "Hello there!",
        "what can you do?",
        "Who are you?",
        "help",
        "?",
        "Hi, what can you do?",
        "How can you help me?",
        "can you help me?",
    ] {
        let text = say(spoken).text;
        assert!(
            text.contains("I'm Peacrab's offline helper"),
            "{spoken}: {text}"
        );
        assert!(text.contains("`read notes.txt`"), "{spoken}: {text}");
        assert!(!text.contains("understand that"), "{spoken}: {text}");
    }
    assert!(say("hi").text.starts_with("Hello! I'm"));
    for spoken in [
        "你好",
        "你好，你能做什么？",
        "你是谁",
        "帮助",
        "你可以做什么？",
        "介绍一下你自己",
    ] {
        let text = say(spoken).text;
        assert!(text.contains("我是 Peacrab 的离线助手"), "{spoken}: {text}");
        assert!(text.contains("`读取 notes.txt`"), "{spoken}: {text}");
        assert!(!text.contains("没有听懂"), "{spoken}: {text}");
    }
    assert_eq!(say("Thank you!").text, "You're welcome.");
    assert_eq!(say("谢谢").text, "不客气。");
}

#[test]
fn help_names_only_what_there_is_a_tool_for() {
    let help = |names| answer_to(&[Entry::new(EntryKind::Person, "help")], names).text;
    assert!(help(&NAMES).contains("run uname -a"));
    let few = help(&["read_file"]);
    assert!(few.contains("read notes.txt") && !few.contains("list files"));
}

#[test]
fn a_tool_that_is_missing_is_named() {
    let reply = answer_to(
        &[Entry::new(EntryKind::Person, "run reboot")],
        &["read_file"],
    );
    assert!(reply.tool_calls.is_empty());
    assert_eq!(
        reply.text,
        "I can't run commands: the tool `exec` is turned off."
    );
    let reply = answer_to(&[Entry::new(EntryKind::Person, "设备状态")], &[]);
    assert!(reply.text.starts_with("我不能查看设备状态"));
}

#[test]
fn a_tool_with_another_schema_is_not_called() {
    for parameters in [
        "",
        "{}",
        r#"{"properties":{"cmd":{}}}"#,
        r#"{"properties":{"command":{},"host":{}},"required":["command","host"]}"#,
    ] {
        let spec = ToolSpec::fixed("exec", "", parameters);
        assert!(!accepts(&spec, &json!({"command": "ls"})), "{parameters}");
    }
}

/// Questions about a board, what the answer has, and what it has not.
const BOARD_QUESTIONS: [(&[&str], &str, &str); 17] = [
    (
        &["How hot is it?", "what's the temperature?", "cpu temp"],
        "- Temperature: 48.2 °C (`cpu`)  \n  `▁▂` 40 to 50 °C\n- Throttling: none\n\n(offline",
        "Disk",
    ),
    (
        &["how much disk space is left?", "df -h", "Is the disk full?"],
        "- Disk: 10.0 GB free of 30.0 GB (66 % used)\n\n(offline",
        "Memory",
    ),
    (
        &["how much RAM is free?", "free memory"],
        "- Memory: 484.0 MB free of 968.0 MB (50 % used)\n\n(offline",
        "Disk",
    ),
    (
        &["what is your IP address?", "ip", "my ip", "what's my ip"],
        "- Network `eth0`: up, 192.168.1.7,",
        "Disk",
    ),
    (
        &[
            "which address do you have",
            "which wifi are you on?",
            "is wifi connected",
            "what's the address of this pi?",
        ],
        "- Network `eth0`: up, 192.168.1.7,",
        "Disk",
    ),
    (
        &[
            "is swap used",
            "how is the memory?",
            "how much memory are you using",
            "how much RAM is installed?",
            "is there enough RAM left",
        ],
        "- Memory: 484.0 MB free",
        "Disk",
    ),
    (
        &[
            "is the card nearly full?",
            "what is the disk usage",
            "show me the free space",
            "is the SSD full",
        ],
        "- Disk: 10.0 GB free",
        "Memory",
    ),
    (
        &[
            "what's your temperature",
            "is the cpu too hot?",
            "what is the board's temperature?",
            "how warm are you right now",
            "how hot r u",
        ],
        "- Temperature: 48.2 °C",
        "Disk",
    ),
    (
        &[
            "is the voltage ok",
            "undervoltage?",
            "is the power ok",
            "throttled",
            "is it throttled?",
            "电压正常吗？",
        ],
        "none\n\n",
        "48.2",
    ),
    (
        &[
            "when did you last reboot?",
            "reboots?",
            "since when is it on",
            "how long is the board up",
        ],
        "**Raspberry Pi 4**, up 2 d 3 h\n\n(offline",
        "Disk",
    ),
    (&["what's the load like"], "- Load: 0.10", "Disk"),
    (
        &["uptime", "how long have you been running?"],
        "**Raspberry Pi 4**, up 2 d 3 h\n\n(offline",
        "Disk",
    ),
    (&["温度多少？", "现在多少度"], "- 温度：48.2 °C", "磁盘"),
    (
        &["还剩多少磁盘空间？", "磁盘空间"],
        "- 磁盘：10.0 GB 可用，共 30.0 GB",
        "内存",
    ),
    (&["还有多少内存？", "内存"], "- 内存：484.0 MB 可用", "磁盘"),
    (
        &["你的IP地址是什么？", "IP地址", "ip"],
        "192.168.1.7",
        "Disk",
    ),
    (&["运行多久了？"], "已运行 2 d 3 h", "磁盘"),
];

#[test]
fn what_the_owner_of_a_board_tries_first_is_answered() {
    const STATUS: &str = "**Raspberry Pi 4**, up 2 d 3 h\n- Temperature: 48.2 °C (`cpu`)  \n  `▁▂` 40 to 50 °C\n\
        - Throttling: none\n- Load: 0.10, 0.20, 0.30 over 1, 5, 15 minutes, 4 processors\n\
        - Memory: 484.0 MB free of 968.0 MB (50 % used)\n- Disk: 10.0 GB free of 30.0 GB (66 % used)\n\
        - Network `eth0`: up, 192.168.1.7, 1.5 GB in, 2.4 MB out\n\nThe small lines show the last 24 h.";
    let asked = |spoken: &str| {
        let call = say(spoken).tool_calls.into_iter().next();
        let call = call.unwrap_or_else(|| panic!("{spoken}: {}", say(spoken).text));
        assert_eq!(call.name, "device", "{spoken}");
        let mut entries = after(spoken, &[STATUS]);
        entries[2].name = Some(call.name);
        answer_to(&entries, &NAMES).text
    };
    for (questions, wanted, others) in BOARD_QUESTIONS {
        for question in questions {
            let text = asked(question);
            assert!(
                text.starts_with(wanted) || text.contains(wanted),
                "{question}: {text}"
            );
            assert!(!text.contains(others), "{question}: {text}");
        }
    }
    // All of it is Markdown, and not code.
    assert!(asked("status").starts_with("**Raspberry Pi 4**, up"));
}

#[test]
fn reminders_are_planned_and_listed_where_there_is_a_tool() {
    let with_cron = |spoken: &str| {
        let entries = [Entry::new(EntryKind::Person, spoken)];
        let call = answer_to(&entries, &["cron"]).tool_calls.into_iter().next();
        call.map(|call| made(&call))
    };
    for (spoken, expected) in [
        (
            "Please remind me in 5 minutes to call mum.",
            r#"cron {"action":"add","message":"call mum","when":"in 5 minutes"}"#,
        ),
        (
            "in 5 minutes tea",
            r#"cron {"action":"add","message":"tea","when":"in 5 minutes"}"#,
        ),
        (
            "Please set a timer for 3 minutes",
            r#"cron {"action":"add","message":"time is up","when":"3 minutes"}"#,
        ),
        (
            "wake me at 7",
            r#"cron {"action":"add","message":"wake up","when":"at 7"}"#,
        ),
        (
            "10分钟后提醒我喝水",
            r#"cron {"action":"add","message":"喝水","when":"10分钟后"}"#,
        ),
        (
            "cancel the reminder to call mum",
            r#"cron {"action":"list"}"#,
        ),
        ("delete reminder 1", r#"cron {"action":"list"}"#),
        ("stop reminding me", r#"cron {"action":"list"}"#),
        ("删除提醒", r#"cron {"action":"list"}"#),
        ("what reminders do I have?", r#"cron {"action":"list"}"#),
        ("有哪些提醒？", r#"cron {"action":"list"}"#),
    ] {
        assert_eq!(with_cron(spoken).as_deref(), Some(expected), "{spoken}");
    }
    assert_eq!(with_cron("can you set a reminder?"), None);
    let wrong = [Entry::new(
        EntryKind::Person,
        "remind me every day at 26:00 to take pills",
    )];
    let told = answer_to(&wrong, &["cron"]);
    assert!(told.tool_calls.is_empty());
    assert!(told.text.contains("\"at 26:00\" is not a time of day"));
    let answered = |spoken: &str, result: &str| {
        let mut entries = after(spoken, &[result]);
        entries[2].name = Some("cron".to_owned());
        answer_to(&entries, &["cron"]).text
    };
    let planned = answered("remind me tomorrow 7 call mum", "Planned j7 (7 call mum)");
    let meant = "If you meant 7:00: `/remind tomorrow 7:00 call mum`";
    assert!(planned.contains(meant), "{planned}");
    let planned = answered("remind me at 7:00 to call mum", "Planned j7 (call mum)");
    assert_eq!(planned, "Planned: j7 (call mum)", "one short message");
    let cancel = "cancel the reminder call mum";
    assert!(answered(cancel, "Removed j7 (call mum).").starts_with("Removed: j7"));
    let unknown = answered(cancel, "Error: There is no job \"call mum\".");
    assert!(unknown.starts_with("That didn't work"), "{unknown}");
    let shown = |result: &str| answered("list my reminders", result);
    assert!(shown("No jobs are planned.").starts_with("No reminders are planned."));
    assert!(shown("- j7 (call mum): reminder").starts_with("- j7 (call mum)"));
    assert!(shown("Planned j7 (call mum)").starts_with("Planned: j7 (call mum)"));
}

/// A call without the language, which is that of the person.
fn made(call: &ToolCall) -> String {
    let mut arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let language = arguments.as_object_mut().unwrap().remove("language");
    assert!(language.is_some(), "{}", call.arguments);
    format!("{} {arguments}", call.name)
}

/// The call that follows the list of jobs, or what is said about it.
fn after_list(spoken: &str, list: &str) -> String {
    let mut entries = after(spoken, &[list]);
    entries[2].name = Some("cron".to_owned());
    let reply = answer_to(&entries, &["cron"]);
    reply.tool_calls.first().map_or(reply.text.clone(), made)
}

#[test]
fn a_reminder_is_cancelled_by_the_words_that_only_one_has() {
    const LIST: &str = "- `a2b3` take the bread out: today 18:00, in 20 min\n\
        - `c4d5` call mum\\, please: every day at 08:00; next tomorrow 08:00, in 9 h\n\
        - `e6f7` buy 2 eggs: tomorrow 09:00, in 10 h\n\
        - `g8h9` time is up: today 18:05, in 25 min\n\
        - `j2k3` 给妈妈打电话，时间：明天 20:30，22 小时后\n\
        - `m4n5` call bob: tomorrow 10:00, in 11 h";
    for (spoken, job) in [
        ("cancel the bread reminder", "a2b3"),
        ("remove the reminder about bread", "a2b3"),
        ("Delete the reminder to take the bread out, please.", "a2b3"),
        ("delete my 8 o'clock reminder", "c4d5"),
        ("delete my 8 o’clock reminder", "c4d5"),
        ("cancel the 8am reminder", "c4d5"),
        ("cancel my 6 pm reminder", "a2b3"),
        ("cancel the reminder at 18:05", "g8h9"),
        ("stop reminding me to call mum", "c4d5"),
        ("cancel reminder m4n5", "m4n5"),
        ("stop the timer", "g8h9"),
        ("cancel the 2 eggs reminder", "e6f7"),
        ("取消给妈妈打电话的提醒", "j2k3"),
    ] {
        let expected = format!(r#"cron {{"action":"remove","job":"{job}"}}"#);
        assert_eq!(after_list(spoken, LIST), expected, "{spoken}");
    }
    for spoken in [
        "delete reminder 2",
        "cancel the call reminder",
        "cancel my reminders",
        "stop reminding me",
        "cancel the milk reminder",
        "cancel the 8pm reminder",
        "delete the brea reminder",
    ] {
        let told = after_list(spoken, LIST);
        let which =
            "Which one? Type /cron remove and its name or id, for example `/cron remove a2b3`.";
        assert!(
            told.starts_with(LIST) && told.contains(which),
            "{spoken}: {told}"
        );
    }
    let told = after_list("取消提醒", LIST);
    assert!(told.contains("要删除哪一个？"), "{told}");
    let none = after_list("cancel the bread reminder", "No jobs are planned.");
    assert!(none.starts_with("No reminders are planned."), "{none}");
}

#[test]
fn a_reminder_without_a_time_is_asked_for_one() {
    let ask = |spoken: &str| {
        let entries = [Entry::new(EntryKind::Person, spoken)];
        answer_to(&entries, &["cron"]).text
    };
    for (spoken, example) in [
        (
            "remind me to call mum",
            "`remind me tomorrow at 8 to call mum`",
        ),
        (
            "Please remind me about the bins.",
            "`remind me tomorrow at 8 about the bins`",
        ),
        ("don't forget milk", "`remind me tomorrow at 8 milk`"),
        ("提醒我喝水", "`明天8点提醒我喝水`"),
    ] {
        let asked = ask(spoken);
        assert!(asked.contains(example), "{spoken}: {asked}");
        let example = example.trim_matches('`');
        let entries = [Entry::new(EntryKind::Person, example)];
        let planned = answer_to(&entries, &["cron"]).tool_calls;
        assert_eq!(planned.len(), 1, "{example} can be typed");
    }
    for spoken in ["remind me", "remind me at 7", "timer", "set an alarm"] {
        let asked = ask(spoken);
        assert!(asked.starts_with("I miss the time"), "{spoken}: {asked}");
    }
}

/// How ordinary people ask for a reminder, the time that is understood and the text; without them where it is asked for
/// more, or not a reminder.
const WORDINGS: &[(&str, &str, &str)] = &[
    (
        "remind me to check oven in 20 min",
        "in 20 min",
        "check oven",
    ),
    (
        "remind me in 5 minutes that the shop closes",
        "in 5 minutes",
        "the shop closes",
    ),
    (
        "remind me that the shop closes in 5 minutes",
        "in 5 minutes",
        "the shop closes",
    ),
    ("tomorow gym", "tomorow", "gym"),
    (
        "remind me tommorow at 8 to go to the gym",
        "tommorow at 8",
        "go to the gym",
    ),
    ("remind me on wensday to call bob", "on wensday", "call bob"),
    (
        "remind me tomorrow at 8 please to take pills",
        "tomorrow at 8",
        "take pills",
    ),
    ("pls remind me 18:00 tea", "18:00", "tea"),
    ("remind me 18:00 tea pls", "18:00", "tea"),
    ("in 10 min tea", "in 10 min", "tea"),
    ("In 10 Minutes Tea!", "In 10 Minutes", "Tea"),
    ("18:00 tea", "18:00", "tea"),
    ("8am pills", "8am", "pills"),
    ("5 min tea", "5 min", "tea"),
    ("at 5 call mum", "at 5", "call mum"),
    ("tonight lock the door", "tonight", "lock the door"),
    ("friday 6pm bins", "friday 6pm", "bins"),
    ("mon 9am bins", "mon 9am", "bins"),
    (
        "every day at 9 take vitamins",
        "every day at 9",
        "take vitamins",
    ),
    (
        "remind me call mum in 10 minutes",
        "in 10 minutes",
        "call mum",
    ),
    (
        "remind me of the meeting tomorrow at 10",
        "tomorrow at 10",
        "the meeting",
    ),
    (
        "remind me about the meeting tomorrow at 10",
        "tomorrow at 10",
        "the meeting",
    ),
    ("remind me at 5 about the meeting", "at 5", "the meeting"),
    ("remind me about that thing at 5", "at 5", "that thing"),
    (
        "in 20 minutes remind me to check the oven",
        "in 20 minutes",
        "check the oven",
    ),
    (
        "Tomorrow at 8, remind me to take pills",
        "Tomorrow at 8",
        "take pills",
    ),
    (
        "remind me in 5 minutes, to stretch",
        "in 5 minutes",
        "stretch",
    ),
    ("remind me at 5: leave", "at 5", "leave"),
    ("can u remind me at 5 to leave?", "at 5", "leave"),
    ("i need you to remind me at 5 to leave", "at 5", "leave"),
    (
        "hey, could you remind me in an hour to eat, thanks",
        "in an hour",
        "eat",
    ),
    (
        "remind me in half an hour to leave",
        "in half an hour",
        "leave",
    ),
    (
        "remind me in an hour and a half to leave",
        "in an hour and a half",
        "leave",
    ),
    ("remind me at noon to eat", "at noon", "eat"),
    (
        "remind me daily at 9 take vitamins",
        "daily at 9",
        "take vitamins",
    ),
    (
        "remind me to water the plants every monday",
        "every monday",
        "water the plants",
    ),
    (
        "remind me to call mum, tomorrow at 9",
        "tomorrow at 9",
        "call mum",
    ),
    (
        "reminder: tomorrow 8:00 dentist",
        "tomorrow 8:00",
        "dentist",
    ),
    ("reminder tomorrow 8 am dentist", "tomorrow 8 am", "dentist"),
    ("set a reminder to call mum at 5", "at 5", "call mum"),
    ("set a reminder for 5pm to leave", "5pm", "leave"),
    ("add a reminder for 5pm to stretch", "5pm", "stretch"),
    ("new reminder at 6 dinner", "at 6", "dinner"),
    ("don't let me forget to call mum at 5", "at 5", "call mum"),
    ("dont forget milk tomorrow", "tomorrow", "milk"),
    ("don’t forget the bread in 20 min", "in 20 min", "the bread"),
    ("timer 5m", "5m", "time is up"),
    ("timer 10 minutes tea", "10 minutes", "tea"),
    ("timer 10 minutes for tea", "10 minutes", "tea"),
    ("set timer 90s", "90s", "time is up"),
    ("set a 5 minute timer", "5 minute", "time is up"),
    ("5 minute timer for eggs", "5 minute", "eggs"),
    ("start a timer for 1h30m", "1h30m", "time is up"),
    ("set an alarm for 7", "at 7", "alarm"),
    ("set alarm 7:30", "7:30", "alarm"),
    ("alarm at 6 tomorrow", "at 6 tomorrow", "alarm"),
    ("wake me at 7", "at 7", "wake up"),
    ("wake me tomorrow 7", "tomorrow at 7", "wake up"),
    ("wake me up in 20 minutes", "in 20 minutes", "wake up"),
    ("10分钟后喝水", "10分钟后", "喝水"),
    // Too little is said, or it is about something else.
    ("remind me next week to call bob", "", ""),
    ("remind me later", "", ""),
    ("tomorrow is my birthday", "", ""),
    ("tomorrow what should i wear", "", ""),
    ("24 hours is a day", "", ""),
    ("the day after the party", "", ""),
    ("morning run", "", ""),
    ("tea in 5 min", "", ""),
    ("at least try", "", ""),
];

#[test]
fn reminders_are_understood_as_ordinary_people_say_them() {
    assert!(WORDINGS.len() >= 60);
    for (spoken, when, message) in WORDINGS {
        let entries = [Entry::new(EntryKind::Person, *spoken)];
        let reply = answer_to(&entries, &["cron"]);
        let planned = reply.tool_calls.first().map(made);
        let call = json!({ "action": "add", "when": when, "message": message });
        let expected = (!when.is_empty()).then(|| format!("cron {call}"));
        assert_eq!(planned, expected, "{spoken}: {}", reply.text);
        let zone = crate::base::zone::Zone::utc();
        let is_read = crate::schedule::when::parse(when, 0, &zone).is_ok();
        assert!(when.is_empty() || is_read, "{spoken}: {when}");
    }
}

#[test]
fn it_says_how_to_set_a_reminder() {
    for spoken in [
        "remind me in 5 minutes to call mum",
        "Please remind me every day at 7:00 to stretch.",
        "list my reminders",
        "show reminders",
        "cancel reminder a1",
        "can you set a reminder?",
    ] {
        let reply = say(spoken);
        assert!(reply.tool_calls.is_empty(), "{spoken}");
        assert!(
            reply.text.starts_with("To set a reminder, type /remind"),
            "{}",
            reply.text
        );
    }
    for spoken in ["10分钟后提醒我喝水", "有哪些提醒？"] {
        let text = say(spoken).text;
        assert!(text.starts_with("设置提醒请输入 /remind"), "{text}");
    }
    assert_eq!(say("read reminders.txt").tool_calls.len(), 1);
    let without_text = [Entry::new(EntryKind::Person, "remind me at seven")];
    let told = answer_to(&without_text, &["cron"]).text;
    assert!(
        told.starts_with("I miss the time or what it is about"),
        "{told}"
    );
}

#[test]
fn the_time_is_what_the_runtime_told() {
    let entries = [
        Entry::new(
            EntryKind::Note,
            "[Runtime facts]\nTime: Saturday 2026-11-21 09:05 (UTC)\nChannel: cli",
        ),
        Entry::new(EntryKind::Person, "What time is it?"),
    ];
    assert_eq!(
        answer_to(&entries, &NAMES).text,
        "It is Saturday 2026-11-21 09:05 (UTC)"
    );
    assert_eq!(say("现在几点？").text, "我不知道现在的时间。");
}

fn after(spoken: &str, results: &[&str]) -> Vec<Entry> {
    let mut entries = vec![
        Entry::new(EntryKind::Person, spoken),
        Entry::of_reply(&say(spoken)),
    ];
    entries.extend(results.iter().map(|result| Entry {
        name: Some("read_file".to_owned()),
        ..Entry::new(EntryKind::Tool, *result)
    }));
    entries
}

#[test]
fn results_are_shown_readably() {
    let shown = |results: &[&str]| answer_to(&after("read a", results), &NAMES).text;
    assert!(shown(&["one\ntwo"]).starts_with("```\none\ntwo\n```\n\n(offline helper"));
    assert!(shown(&["a\n```\nb"]).starts_with("~~~~\na\n```"));
    assert!(shown(&["wrote 5 bytes"]).starts_with("wrote 5 bytes\n"));
    assert!(shown(&[""]).starts_with("Done"));
    assert!(
        shown(&["Error: no such file\n[Look at it]"])
            .starts_with("That didn't work: no such file\n\n(")
    );
    let long = "é\n".repeat(10_000);
    assert!(shown(&[&long]).contains("\n…\n```"));
    assert!(shown(&["x", "y"]).starts_with("**read_file**\n\nx\n\n**read_file**\n\ny"));
    let chinese = answer_to(&after("读取 a", &["内容"]), &NAMES).text;
    assert!(chinese.ends_with("）"), "{chinese}");
}

#[test]
fn the_helper_names_itself_once_in_a_conversation() {
    let followed = |first: &[Entry], spoken: &str, result: &str| {
        let entries = [first, &after(spoken, &[result])].concat();
        answer_to(&entries, &NAMES).text
    };
    let named = followed(&[], "read a", "one");
    assert!(named.starts_with("one\n\n(offline helper"), "{named}");
    for said in [named, say("hi").text] {
        let said = Entry::new(EntryKind::Assistant, said);
        assert_eq!(followed(&[said], "read b", "two"), "two");
    }
    let other = Entry::new(EntryKind::Assistant, "Of a model.");
    assert!(followed(&[other], "read b", "two").contains("(offline helper"));
}

#[test]
fn a_temperature_that_cannot_be_read_is_said_once() {
    let shown = |throttling: &str| {
        let board = format!(
            "**Board**, up 1 h\n- Temperature: not available\n- Throttling: {throttling}\n- Load: 0.31"
        );
        let mut entries = after("how hot is it?", &[&board]);
        entries[2].name = Some("device".to_owned());
        answer_to(&entries, &NAMES).text
    };
    let unknown = shown("not available");
    assert!(
        unknown.starts_with("- Temperature: not available\n\n("),
        "{unknown}"
    );
    assert!(shown("none").starts_with("- Temperature: not available\n- Throttling: none\n\n("));
}

#[test]
fn a_person_reads_their_own_language_and_types_english() {
    let person = Entry::new(EntryKind::Person, "was kannst du?");
    let text = answer_in(Language::German, &[person], &NAMES).text;
    assert!(text.starts_with("Das verstehe ich nicht."), "{text}");
    assert!(text.contains("- `how hot is it?`"), "{text}");
    let chinese = Entry::new(EntryKind::Person, "你好");
    let text = answer_in(Language::German, &[chinese], &NAMES).text;
    assert!(text.starts_with("你好"), "{text}");
}
