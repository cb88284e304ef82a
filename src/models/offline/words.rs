//! Questions about the board in other words than the phrases have: every word is known, and one says what is asked.

use super::phrases::{Found, Kind};

/// Words of a question; a longer sentence is about something else.
const WORDS: usize = 14;

/// The words that say what is asked. The first row counts: a processor can be hot.
const TOPICS: [(Kind, &str); 15] = [
    (
        Kind::Running,
        "who logged users anyone processes process programs services uses eats eating",
    ),
    (Kind::Reminders, "reminders jobs"),
    (
        Kind::Temperature,
        "temperature temperatures temp temps hot warm cold cool heat hotter warmer overheating overheated \
         degrees celsius",
    ),
    (
        Kind::Throttling,
        "throttling throttled voltage undervoltage under-voltage undervolted",
    ),
    (Kind::Disk, "disk disks card storage space ssd drive"),
    (Kind::Memory, "memory ram mem swap swapping"),
    (Kind::Load, "load cpu processor busy"),
    (
        Kind::Address,
        "address addresses ip ips network wifi wi-fi wlan lan ethernet internet online offline connected connection",
    ),
    (
        Kind::Uptime,
        "uptime long since when last booted reboots restarts",
    ),
    (
        Kind::Update,
        "update updates upgrade upgrades upgradable outdated",
    ),
    (Kind::Running, "running"),
    (Kind::Time, "time date day clock"),
    (Kind::Power, "reboot restart shut shutdown off"),
    (Kind::Throttling, "power"),
    (Kind::Status, "status state health everything things"),
];

/// The words around them, which say nothing about what is asked.
const OTHERS: &str = "a the this that it its is are am be being been was were do does did have has had got i you your my me we \
    what which how big large size much many there here s still left free used use using usage full nearly almost enough most remains remaining installed thing available any all \
    some total show tell give list get check see display print current currently now right today of on in at for to with \
    and or from like board pi raspberry device machine system computer server box sd cpu bot peacrab too very so low high \
    up down under ok okay fine good new software whats hows u ur r working going turn switch power supply \
    start started boot reboot rebooted restart restarted running run";

/// How a wish to be told begins.
const TELL: [&str; 12] = [
    "tell me when ",
    "tell me if ",
    "let me know when ",
    "let me know if ",
    "warn me when ",
    "warn me if ",
    "alert me when ",
    "alert me if ",
    "notify me when ",
    "notify me if ",
    "message me when ",
    "message me if ",
];

/// A rule for each kind that can be watched, as `/watch` takes it. The first one is an example for anything else.
const RULES: [(Kind, &str); 5] = [
    (Kind::Disk, "/watch disk / > 90"),
    (Kind::Temperature, "/watch temperature > 75 for 5m"),
    (Kind::Throttling, "/watch temperature > 75 for 5m"),
    (Kind::Memory, "/watch memory > 90 for 5m"),
    (Kind::Load, "/watch load > 4 for 10m"),
];

/// What a question about the board asks for, without politeness around it.
pub fn find(sentence: &str) -> Option<(Kind, Found<'_>)> {
    let lower = sentence.to_lowercase();
    if let Some(rest) = TELL.iter().find_map(|begin| lower.strip_prefix(begin)) {
        return Some((Kind::Watch, rule(topic(rest))));
    }
    let is_wish = lower.ends_with("告诉我") || lower.ends_with("通知我");
    if is_wish && (lower.contains('时') || lower.contains("如果")) {
        return Some((Kind::Watch, rule(chinese_topic(&lower))));
    }
    let is_known = |word: &str| has(OTHERS, word) || topic(word).is_some();
    let is_short = words(&lower).count() <= WORDS;
    let kind = topic(&lower).filter(|_| is_short && words(&lower).all(is_known))?;
    Some((kind, Found::default()))
}

/// The rule that watches a kind.
fn rule(kind: Option<Kind>) -> Found<'static> {
    let found = RULES.iter().find(|(ruled, _)| Some(*ruled) == kind);
    let (_, text) = found.unwrap_or(&RULES[0]);
    Found { path: "", text }
}

/// A rule with the limit that a sentence names, such as `hotter than 70`.
pub fn with_limit(rule: &str, sentence: &str) -> String {
    const BEFORE: [&str; 7] = [
        "than", "over", "above", "reaches", "exceeds", "超过", "高于",
    ];
    const LESS: [&str; 6] = ["less", "lower", "colder", "cooler", "fahrenheit", "free"];
    let lower = sentence.to_lowercase();
    let behind = BEFORE.iter().find_map(|word| lower.split_once(*word));
    let digits = behind.map(|(_, behind)| {
        let behind = behind.trim_start();
        let is_end = |char: char| !char.is_ascii_digit();
        behind.split(is_end).next().unwrap_or_default()
    });
    let limit = digits.and_then(|digits| digits.parse::<u32>().ok());
    let limit = limit.filter(|limit| (1..=100).contains(limit));
    let is_less = words(&lower).any(|word| LESS.contains(&word));
    match (limit, rule.split_once("> ")) {
        (Some(limit), Some((start, rest))) if !is_less => {
            let rest = rest.trim_start_matches(|char: char| char.is_ascii_digit());
            format!("{start}> {limit}{rest}")
        }
        _ => rule.to_owned(),
    }
}

/// What the words of a sentence are about.
fn topic(sentence: &str) -> Option<Kind> {
    let about = |(_, names): &&(Kind, &str)| words(sentence).any(|word| has(names, word));
    TOPICS.iter().find(about).map(|(kind, _)| *kind)
}

fn chinese_topic(sentence: &str) -> Option<Kind> {
    let topics = [
        (Kind::Temperature, "温度"),
        (Kind::Memory, "内存"),
        (Kind::Load, "负载"),
    ];
    let found = topics.iter().find(|(_, word)| sentence.contains(word));
    found.map(|(kind, _)| *kind)
}

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    let is_between = |char: char| !char.is_alphanumeric() && char != '-';
    sentence.split(is_between).filter(|word| !word.is_empty())
}

/// Whether a word is one of a list.
pub fn has(names: &str, word: &str) -> bool {
    names.split_whitespace().any(|name| name == word)
}
