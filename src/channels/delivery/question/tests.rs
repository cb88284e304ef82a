use proptest::prelude::*;

use super::*;
use crate::approval::Script;
use crate::channels::discord::markdown::Markdown;
use crate::channels::telegram::html::Html;
use crate::markup::Plain;
use crate::markup::split::{Limit, Unit};

fn question(command: &str, unsandboxed: bool) -> Question {
    Question {
        command: command.to_owned(),
        folder: "/w".to_owned(),
        reason: "to *tidy* up".to_owned(),
        rule: "it runs outside the sandbox".to_owned(),
        unsandboxed,
        ..Question::default()
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

/// The Markdown itself as the only piece.
fn raw(markdown: &str) -> Vec<Piece> {
    vec![Piece {
        written: markdown.to_owned(),
        plain: markdown.to_owned(),
    }]
}

fn text(question: &Question, outcome: Option<&str>) -> String {
    ask(554_137, question, outcome, &raw).piece.unwrap().plain
}

#[test]
fn a_question_that_is_over_no_longer_says_how_to_answer() {
    let question = question("reboot", true);
    let asked = text(&question, None);
    assert!(
        asked.ends_with(
            "\nWhy I'm asking: it runs outside the sandbox.\nReason: `to *tidy* up`\n\n\
             Expires in 10 minutes. You can also type /approve 554137 or /deny 554137."
        ),
        "{asked}"
    );
    let settled = text(&question, Some(render_outcome(Answer::Once)));
    assert!(
        settled.ends_with("`to *tidy* up`\n\n**✓ Allowed once**"),
        "{settled}"
    );
    assert!(
        asked.starts_with("Run this **outside the sandbox**, "),
        "{asked}"
    );
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
        "Folder: `/w\\u{202d}`",
        "`tidy\\u{2066}`",
        "⚠ It contains 6 invisible characters, shown as `\\u{…}`.",
    ] {
        assert!(asked.contains(part), "{part} in {asked}");
    }
    assert!(!asked.contains(crate::text::is_invisible), "{asked}");
    let asked = text(&question_of("p\u{430}ypal"), None);
    assert!(
        asked.contains("only look like Latin ones: `p\u{430}ypal`."),
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
        };
        20
    ];
    let with = |command: &String| {
        [
            Question {
                reason: format!("r{ours}").repeat(600),
                folder: "/`very`long".repeat(400),
                rule: format!("*it* [runs](https://x.y) {ours}").repeat(50),
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
            let asked = ask(554_137, &question, None, &counting);
            let start = crate::text::truncate_chars(&question.command, 20);
            assert_eq!(pieces.get(), 1, "{channel} {start}");
            let is_long = question.command.chars().count() > 400;
            assert!(asked.is_cut || !is_long, "{channel} {start}");
            let shown = asked.piece.unwrap().plain;
            let left_out = ["characters left out …", "the file above has all"];
            let left_out = left_out.into_iter().filter(|_| asked.is_cut);
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
            let settled = ask(554_137, &question, Some("✗ Denied"), &counting);
            assert_eq!(pieces.get(), 1);
            assert!(settled.piece.unwrap().plain.ends_with("✗ Denied"));
        }
    }
}

#[test]
fn numbers_have_their_thousands_apart() {
    for (number, text) in [
        (0, "0"),
        (812, "812"),
        (15_204, "15,204"),
        (1_000_000, "1,000,000"),
    ] {
        assert_eq!(grouped(number), text);
    }
}

proptest! {
    #[test]
    fn a_command_is_shown_whole_and_cannot_pose_as_a_text_of_ours(
        command in "[a-z`\\n*<&>~]{1,200}",
    ) {
        let asked = ask(1, &question(&command, true), None, &plain);
        let shown = asked.piece.unwrap().plain;
        let visible = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert!(asked.is_cut || visible(&shown).contains(&visible(&command)), "{shown}");
    }
}
