use proptest::prelude::*;

use super::*;
use crate::base::approval::{Risk, Script};
use crate::channels::kit::markdown::discord::Markdown;
use crate::channels::kit::markdown::html::Html;
use crate::text::markup::Plain;
use crate::text::markup::split::{Limit, Unit};

fn question(command: &str, unsandboxed: bool) -> Question {
    Question {
        command: command.to_owned(),
        folder: "/w".to_owned(),
        account: "pi".to_owned(),
        reason: "to *tidy* up".to_owned(),
        unsandboxed,
        ..Question::default()
    }
}

fn asked(question: &Question, language: Language) -> ChatQuestion {
    ChatQuestion {
        number: 554_137,
        question: question.clone(),
        language,
        only_for: String::new(),
    }
}

fn plain(markdown: &str) -> Vec<Piece> {
    let limit = Limit {
        units: 4096,
        unit: Unit::Utf16,
    };
    markup::render(markdown, &Plain(limit))
}

fn telegram(markdown: &str) -> Vec<Piece> {
    markup::render(markdown, &Html)
}

fn discord(markdown: &str) -> Vec<Piece> {
    markup::render(markdown, &Markdown)
}

const CHANNELS: [fn(&str) -> Vec<Piece>; 3] = [plain, telegram, discord];

/// A line of code where each has a mark, without it.
fn unmarked(line: &str) -> Option<&str> {
    line.strip_prefix("| ")
        .or_else(|| line.strip_prefix("|… "))
        .or_else(|| (line == "|").then_some(""))
}

/// The Markdown itself as the only piece.
fn raw(markdown: &str) -> Vec<Piece> {
    vec![Piece {
        written: markdown.to_owned(),
        plain: markdown.to_owned(),
    }]
}

fn by(name: &str, answer: Answer) -> Settled {
    let by = name.to_owned();
    Settled { answer, by }
}

fn text(question: &Question, answer: Option<Answer>) -> String {
    let answer = answer.map(|answer| by("", answer));
    let answer = answer.as_ref();
    let asked = asked(question, Language::English);
    render_question(&asked, answer, "", &raw)
        .piece
        .unwrap()
        .plain
}

#[test]
fn a_question_that_is_over_no_longer_says_how_to_answer() {
    let question = Question {
        cause: Cause::Risk(Risk::Power),
        ..question("reboot", true)
    };
    let open = text(&question, None);
    let body = "Run this **outside the sandbox**, as pi?\n```sh\nreboot\n```\n\nFolder: `/w`\n\
                ⚠ Careful: it would shut the board down or restart it.\n\
                The agent's reason: `to *tidy* up`\n\n";
    let expires = "Expires in 10 minutes. You can also type /approve 554137 or /deny 554137.";
    assert_eq!(open, format!("{body}{expires}"));
    let settled = text(&question, Some(Answer::Once));
    assert_eq!(settled, "**✓ Allowed once**: `reboot`");
    let asked = asked(
        &self::question("echo `a`\n**✗ Denied**", true),
        Language::English,
    );
    let hostile = by("Ana*\n**✗ Denied**", Answer::Once).describe(&asked);
    let command = "`` echo `a` **✗ Denied** ``";
    assert_eq!(
        hostile,
        format!(r"**✓ Allowed once** by Ana\* \*\*✗ Denied\*\*: {command}")
    );
}

#[test]
fn a_question_comes_in_the_language_of_the_person_who_is_asked() {
    let input = Question {
        cause: Cause::Input {
            session: 1,
            command: "sh".to_owned(),
        },
        ..question("ls\n", true)
    };
    let chinese = asked(&input, Language::Chinese);
    let open = render_question(&chinese, None, "", &raw)
        .piece
        .unwrap()
        .plain;
    assert_eq!(
        open,
        "要把以下输入发送给 `sh`（会话 1）吗？它以 pi 身份在**沙箱外**运行。\n```sh\nls\n```\n\n文件夹：`/w`\n\
         “允许全部后续输入”在命令结束前有效。\n智能体给出的理由：`to *tidy* up`\n\n\
         10 分钟后失效。也可以输入 /approve 554137 或 /deny 554137。"
    );
    let settled = render_question(&chinese, Some(&by("", Answer::Deny)), "", &raw);
    assert_eq!(settled.piece.unwrap().plain, "**✗ 已拒绝**: `ls`");
}

#[test]
fn what_is_invisible_is_spelt_out_and_counted() {
    let hidden = "rm \u{202e}-rf\u{200b} \u{e0041}/\u{a0}x";
    let question = Question {
        folder: "/w\u{202d}".to_owned(),
        reason: "tidy\u{2066}".to_owned(),
        ..question(hidden, true)
    };
    let asked = text(&question, None);
    for part in [
        "rm \\u{202e}-rf\\u{200b} \\u{e0041}/\\u{a0}x",
        "Folder: `/w = /w\\u{202d}`",
        "`tidy\\u{2066}`",
        "⚠ Invisible characters: 6, shown as `\\u{…}`.",
    ] {
        assert!(asked.contains(part), "{part} in {asked}");
    }
    assert!(!asked.contains(crate::text::is_invisible), "{asked}");
    let asked = text(&question_of("p\u{430}ypal"), None);
    assert!(
        asked.contains("only look like Latin ones: `p\u{430}ypal = p\\u{430}ypal`."),
        "{asked}"
    );
    assert!(!text(&question_of("echo ok; ls Zürich"), None).contains('⚠'));
}

fn question_of(command: &str) -> Question {
    question(command, false)
}

#[test]
fn what_the_agent_can_change_is_named_and_what_runs_is_shown() {
    let question = Question {
        influences: vec![".git".to_owned(), "Make`file".to_owned()],
        scripts: vec![Script {
            path: "deploy.sh".to_owned(),
            bytes: 1812,
            head: "#!/bin/sh\n```\necho \u{202e}hi".to_owned(),
            lines: 3,
            is_missing: false,
        }],
        ..question("make && sh deploy.sh", true)
    };
    let asked = text(&question, None);
    for part in [
        "⚠ The agent can change files here that this command may run: `.git`, `` Make`file ``.",
        "\n`deploy.sh` (1,812 bytes):\n````\n#!/bin/sh\n```\necho \\u{202e}hi\n````\n",
    ] {
        assert!(asked.contains(part), "{part} in {asked}");
    }
}

/// Commands and reasons that want to push something away or to look like ours.
fn hostile() -> Vec<Question> {
    let ours = "\n\nExpires in 10 minutes. You can also type /approve 1 or /deny 1.\n";
    let commands = [
        format!("first{} last", " x".repeat(9_000)),
        format!("first\n{}last", "\n".repeat(5_000)),
        format!("first{}last", " ".repeat(18_000)),
        format!("firste{}last", "\u{301}".repeat(40_000)),
        format!("first{}last", "\u{2800}".repeat(40_000)),
        format!("first{}last", "`".repeat(3_000)),
        format!("first\n{}\n```{ours}last", ">".repeat(200)),
        format!("first{}last", "<&*_~".repeat(4_000)),
        format!("first{}last", "🦀".repeat(4_000)),
        format!("first\n{}last", "- > ".repeat(2_000)),
    ];
    let scripts = vec![
        Script {
            path: "p\u{301}".repeat(3_000),
            bytes: u64::MAX,
            head: ours.repeat(100),
            lines: 3,
            is_missing: false,
        };
        20
    ];
    let with = |command: &String| {
        [
            Question {
                reason: format!("r{ours}").repeat(600),
                folder: "/`very`long".repeat(400),
                account: format!("*it* [runs](https://x.y) {ours}"),
                influences: vec!["`n`".repeat(2_000); 500],
                scripts: scripts.clone(),
                ..question(command, true)
            },
            question(command, false),
        ]
    };
    commands.iter().flat_map(with).collect()
}

#[test]
fn the_ends_of_a_long_command_stand_with_its_length_in_one_message() {
    for question in hostile() {
        for (channel, render) in CHANNELS.iter().enumerate() {
            let pieces = std::cell::Cell::new(0);
            let counting = |text: &str| {
                let rendered = render(text);
                pieces.set(rendered.len());
                rendered
            };
            let open = asked(&question, Language::English);
            let rendered = render_question(&open, None, "", &counting);
            let start = crate::text::truncate_chars(&question.command, 20);
            assert_eq!(pieces.get(), 1, "{channel} {start}");
            let is_long = question.command.chars().count() > 400;
            assert!(rendered.is_cut || !is_long, "{channel} {start}");
            let shown = rendered.piece.unwrap().plain;
            let left_out = ["characters left out …", "all of them are above"];
            let left_out = left_out.into_iter().filter(|_| rendered.is_cut);
            for part in ["first", "last"].into_iter().chain(left_out) {
                assert!(shown.contains(part), "{part}: {channel} {shown}");
            }
            assert!(shown.starts_with("Run this"), "{shown}");
            assert!(
                shown.ends_with("/approve 554137 or /deny 554137."),
                "{shown}"
            );
            assert!(!shown.contains("```sh"), "the fences are shown: {shown}");
            assert!(shown.lines().count() < 120, "{shown}");
            let settled = render_question(&open, Some(&by("", Answer::Deny)), "", &counting);
            assert_eq!(pieces.get(), 1);
            assert!(settled.piece.unwrap().plain.starts_with("✗ Denied: "));
        }
    }
}

proptest! {
    #[test]
    fn a_command_is_shown_whole_and_cannot_pose_as_a_text_of_ours(
        command in "[a-z`\\n*<&>~]{1,200}",
    ) {
        let open = asked(&question(&command, true), Language::English);
        let rendered = render_question(&open, None, "", &plain);
        let shown = rendered.piece.unwrap().plain;
        let visible = |text: &str| text.split_whitespace().collect::<String>();
        let bare: String = shown.lines().map(|line| unmarked(line).unwrap_or(line)).collect();
        prop_assert!(rendered.is_cut || visible(&bare).contains(&visible(&command)), "{shown}");
    }

    #[test]
    fn where_code_looks_like_all_else_each_line_of_it_has_a_mark(
        before in "[a-z ]{0,500}",
        after in "[a-z\\n]{0,50}",
    ) {
        let command = format!("{before}Folder: /home\nExpires in 10 minutes.\n{after}");
        let script = Script { path: "/w/x".to_owned(), head: command.clone(), bytes: 900, ..Script::default() };
        let asked_about = Question { scripts: vec![script], ..question(&command, true) };
        let open = asked(&asked_about, Language::English);
        let shown = render_question(&open, None, "", &plain).piece.unwrap().plain;
        let of_ours = |line: &&str| unmarked(line).is_none();
        for word in ["Folder:", "Expires in"] {
            let count = shown.lines().filter(of_ours).filter(|line| line.contains(word)).count();
            prop_assert_eq!(count, 1, "{}", shown);
        }
        let whole = whole(&command, &plain);
        let mut lines = whole.iter().flat_map(|piece| piece.plain.lines());
        prop_assert!(lines.all(|line| unmarked(line).is_some() && line.chars().count() <= 83));
    }
}
