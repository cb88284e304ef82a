//! Rules as people type them, and as they are written.

use proptest::prelude::*;

use crate::base::language::Language;
use crate::board::watch::parse::{on_command_line, parse, parse_spelled, seconds};
use crate::board::watch::rule::{Quantity, Rule, Sound, Then, Told, What, format_seconds};

fn written(text: &str) -> String {
    parse(text, Language::English)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .to_string()
}

#[test]
fn a_rule_is_read_in_the_ways_that_people_type_it() {
    for (typed, read) in [
        ("temperature > 75 for 5m", "temperature > 75 for 5m"),
        ("Temp>75 for 5 min", "temperature > 75 for 5m"),
        ("temp over 75°C for 300s", "temperature > 75 for 5m"),
        ("温度 > 75 for 5分钟", "temperature > 75 for 5m"),
        (
            "temperature ≥ 75,5 back 70 °C",
            "temperature > 75.5 back 70",
        ),
        ("disk / > 90%", "disk / > 90%"),
        (
            "disk '/mnt/my stick' above 90 %",
            "disk '/mnt/my stick' > 90%",
        ),
        ("disk > 90", "disk > 90%"),
        ("inodes /var < 10 quiet", "inodes /var < 10% quiet"),
        ("load > 4 for 10m repeat 1h", "load > 4 for 10m repeat 1h"),
        ("memory > 90% every 1m", "memory > 90% every 1m"),
        ("traffic > 5000 kB/s", "traffic > 5000"),
        ("service nginx", "service nginx"),
        ("service nginx.service for 30s", "service nginx for 30s"),
        ("service getty@tty1", "service getty@tty1"),
        ("host 192.168.1.1", "host 192.168.1.1"),
        (
            "host nas.local port 22 every 5m",
            "host nas.local port 22 every 5m",
        ),
        ("ping fd00::1", "host fd00::1"),
        ("port 443", "port 443"),
        ("port 443 on nas", "host nas port 443"),
        ("pid 1234", "pid 1234"),
        (
            "file /var/log/app.log matches ERROR",
            "file /var/log/app.log matches ERROR",
        ),
        ("log matches 'I/O error'", "log matches 'I/O error'"),
        ("log nginx level error", "log nginx level err"),
        (
            "log level 4 every 5m quiet",
            "log level warning every 5m quiet",
        ),
        (
            "Log nginx.service matches “timed out” level err",
            "log nginx level err matches 'timed out'",
        ),
        ("log kernel has oom loud", "log kernel matches oom loud"),
        (
            "log /a matches \"it's \\\"bad\\\"\"",
            "file /a matches \"it's \\\"bad\\\"\"",
        ),
        (
            "file /a matches '\\d+ errors'",
            "file /a matches '\\d+ errors'",
        ),
        ("cmd 'test -e /x' every 5m", "cmd 'test -e /x' every 5m"),
        ("cmd ‘test -e /x’ succeeds", "cmd 'test -e /x' succeeds"),
        ("cmd “ls /x” fails", "cmd 'ls /x' fails"),
        ("cmd true", "cmd true"),
        (
            "service nginx then run systemctl status 'nginx'",
            "service nginx then run systemctl status 'nginx'",
        ),
        (
            "service nginx loud then ask what's wrong?",
            "service nginx loud then ask what's wrong?",
        ),
        (
            "cmd 'a then run b' then ask why then",
            "cmd 'a then run b' then ask why then",
        ),
        ("service nginx then tell", "service nginx"),
    ] {
        assert_eq!(written(typed), read, "{typed}");
        assert_eq!(written(read), read, "{typed}");
    }
}

#[test]
fn a_wrong_rule_says_what_is_wrong_and_shows_the_nearest_form() {
    for (typed, said) in [
        ("", "For example"),
        (
            "temprature hot",
            "Did you mean `/watch temperature > 75 for 5m`?",
        ),
        (
            "cpu > 90",
            "I can't watch `cpu`. Did you mean `/watch load > 4 for 10m`?",
        ),
        ("servce nginx", "Did you mean `/watch service nginx`?"),
        (
            "weather",
            "I can't watch `weather`. For example:\n- `/watch temperature",
        ),
        (
            "temperature",
            "incomplete. For example: `/watch temperature > 75 for 5m`",
        ),
        ("temperature > hot", "I don't understand `hot` here"),
        ("temperature = 75", "I don't understand `=` here"),
        ("temperature > 75 back 80", "normal side"),
        ("temperature > 75 fro 5m", "Did you mean `for`?"),
        ("temperature > 75 for 5", "`5` must be a time such as"),
        ("temperature > 75 for", "incomplete"),
        ("temperature > 75 for 99999d", "must be a time"),
        ("temperature > 1e9", "I don't understand"),
        ("temperature > nan", "I don't understand"),
        (
            "disk stick > 90",
            "I don't understand `stick` here. For example: `/watch disk / > 90%`",
        ),
        ("service", "For example: `/watch service nginx`"),
        ("service apt-daily.timer", "Only services"),
        ("service ../x", "I don't understand"),
        ("host -f", "I don't understand"),
        (
            "host nas port abc",
            "For example: `/watch host 192.168.1.1 port 22`",
        ),
        ("port 0", "I don't understand `0` here"),
        ("port 99999", "I don't understand"),
        ("pid 0", "I don't understand"),
        ("file syslog matches x", "must begin with `/`"),
        ("file /a", "incomplete"),
        ("log", "For example: `/watch log matches 'I/O error'`"),
        ("log nginx", "incomplete"),
        (
            "log nginx level bad",
            "not a level of the journal. Levels: emerg",
        ),
        ("log nginx level", "incomplete"),
        ("log matches out of memory", "in quotes"),
        ("log matches 'a('", "not a regular expression"),
        ("log -f level err", "I don't understand"),
        ("log matches x every 10s", "at least 30 s"),
        ("file /a matches 'a('", "not a regular expression"),
        ("file /a matches out of memory", "in quotes"),
        ("cmd test -e /x", "Put the command in quotes"),
        ("cmd 'x", "quote is not closed"),
        ("cmd ''", "incomplete"),
        ("cmd 'x' every 1s", "at least 30 s"),
        ("host nas every 5s", "at least 10 s"),
        ("load > 4 repeat 1s", "at least 60 s"),
        ("service nginx then", "then run COMMAND"),
        ("service nginx then dance", "then run COMMAND"),
        ("service nginx\nport 1", "one line"),
    ] {
        let error = parse(typed, Language::English).unwrap_err();
        assert!(error.contains(said), "{typed}: {error}");
        let chinese = parse(typed, Language::Chinese).unwrap_err();
        assert_ne!(error, chinese, "{typed}");
    }
    let long = format!("cmd '{}'", "x".repeat(5000));
    assert!(parse(&long, Language::English).is_err());
}

#[test]
fn a_misspelt_rule_is_proposed_with_what_was_typed_behind_its_name() {
    for (typed, said) in [
        ("temprature > 70", "`/watch temperature > 70`?"),
        ("temprature>70 for 1m", "`/watch temperature >70 for 1m`?"),
        ("servce sshd", "`/watch service sshd`?"),
        ("cpus > 90", "`/watch load > 4 for 10m`?"),
    ] {
        let error = parse(typed, Language::English).unwrap_err();
        assert!(error.contains(said), "{typed}: {error}");
    }
}

#[test]
fn at_the_command_line_a_wrong_rule_is_answered_with_what_is_typed_there() {
    for (typed, said) in [
        (
            "temprature > 75",
            "Did you mean `peacrab watch add 'temperature > 75'`?",
        ),
        (
            "file /a",
            "`peacrab watch add \"file /home/pi/app.log matches 'timed out'\"`",
        ),
        (
            "service nginx then",
            "`peacrab watch add 'service nginx then run systemctl status nginx'`",
        ),
        ("nothing of the kind", "- `peacrab watch add 'port 443'`"),
    ] {
        let error = parse_spelled(typed, on_command_line, Language::English).unwrap_err();
        assert!(
            error.contains(said) && !error.contains("/watch "),
            "{typed}: {error}"
        );
    }
}

#[test]
fn a_time_needs_its_unit() {
    assert_eq!(seconds("90s"), Some(90));
    assert_eq!(seconds("1h30m"), Some(5400));
    assert_eq!(seconds("2d"), Some(172_800));
    for text in ["", "5", "m", "5x", "5 m 3", "-5m", "99999999999999999999d"] {
        assert_eq!(seconds(text), None, "{text}");
    }
    assert_eq!(
        [0, 59, 60, 5400, 7200, 86_400].map(format_seconds),
        ["0s", "59s", "1m", "90m", "2h", "1d"]
    );
}

fn some_text() -> impl Strategy<Value = String> {
    "[a-z /'\"\\\\.é%>]{1,12}"
}

fn some_what() -> impl Strategy<Value = What> {
    let path = prop::option::of(some_text().prop_map(|text| format!("/{text}")));
    let value = (
        0..8_usize,
        path,
        any::<bool>(),
        -1000..1000_i32,
        prop::option::of(0..100_u8),
    );
    prop_oneof![
        value.prop_map(|(row, path, is_over, tenths, back)| {
            let threshold = f64::from(tenths) / 10.0;
            let back = back.map(f64::from).map(|back| {
                if is_over {
                    threshold - back
                } else {
                    threshold + back
                }
            });
            let quantity = Quantity::of_row(row, path).unwrap();
            What::Value {
                quantity,
                is_over,
                threshold,
                back,
            }
        }),
        "[a-z][a-z0-9@_-]{0,8}".prop_map(What::Service),
        ("[a-z0-9][a-z0-9.:-]{0,8}", prop::option::of(1..=u16::MAX))
            .prop_map(|(host, port)| What::Host { host, port }),
        (1..=u16::MAX).prop_map(What::Port),
        (1..=i32::MAX as u32).prop_map(What::Pid),
        some_text().prop_map(|path| What::File {
            path: format!("/{path}"),
            pattern: "a b'c\"".to_owned()
        }),
        (
            some_text(),
            prop_oneof![Just(Told::Both), Just(Told::Changes), Just(Told::Success)]
        )
            .prop_map(|(line, told)| What::Command {
                line: format!("x{line}x"),
                told
            }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_as_the_same(
        what in some_what(),
        hold in prop::option::of(1..100_000_u64),
        every in prop::option::of(60..100_000_u64),
        repeat in prop::option::of(60..100_000_u64),
        sound in prop_oneof![Just(Sound::Usual), Just(Sound::Quiet), Just(Sound::Loud)],
        then in prop_oneof![
            Just(Then::Tell),
            "[a-z][a-z '\"]{0,9}[a-z]".prop_map(Then::Run),
            "[a-z][a-z '\"]{0,9}[a-z]".prop_map(Then::Ask),
        ],
    ) {
        let rule = Rule { what, hold, every, repeat, sound, then };
        let text = rule.to_string();
        prop_assert_eq!(parse(&text, Language::English), Ok(rule), "{}", text);
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9 '\"‘’“”\\\\<>=≥%/.é]{0,60}|(temperature|disk|cmd|file|host|then|run| |'|>|for|5m){0,12}") {
        let _ = parse(&text, Language::English);
        let _ = parse(&format!("file /x matches {text}"), Language::English);
    }
}
