use super::*;
use crate::channels::irc::session::tests::ready;
use proptest::prelude::*;
use serde_json::json;

fn read_all(lines: &[&str], policy: GroupPolicy) -> Vec<Message> {
    let session = ready(json!({}));
    let mut reader = Reader::default();
    let parsed = lines
        .iter()
        .map(|line| Line::parse(line.as_bytes()).unwrap());
    parsed
        .filter_map(|line| reader.read(&line, &session, policy))
        .collect()
}

fn read(line: &str) -> Option<Message> {
    read_all(&[line], GroupPolicy::Mention).pop()
}

#[test]
fn a_private_message_and_one_in_a_channel_are_read() {
    let message = read("@time=2026-11-24T10:00:00.500Z;msgid=a~1;account=ana :ana!~a@h PRIVMSG crab :good \u{2}morning\u{2} ").unwrap();
    assert_eq!(message.text, "good morning");
    assert_eq!(message.id.as_deref(), Some("a~1"));
    assert_eq!(
        (message.account.as_deref(), message.time),
        (Some("ana"), Some(1_795_514_400))
    );
    assert!(message.is_for_us && message.channel.is_none() && !message.is_replay);
    assert!(!message.is_id_made_up && !message.is_reply);
    for tag in ["+draft/reply=a~1", "+reply=a~1"] {
        let message = read(&format!("@{tag} :ana!~a@h PRIVMSG crab :yes")).unwrap();
        assert!(message.is_reply, "{tag}");
    }
    let message = read(":ana!~a@h PRIVMSG #garden :CRAB: what is it").unwrap();
    assert_eq!(
        (message.channel.as_deref(), message.text.as_str()),
        (Some("#Garden"), "what is it")
    );
    assert_eq!((message.account, message.id), (None, None));
}

#[test]
fn only_what_names_us_is_for_us_in_a_channel() {
    for (text, expected, is_for_us) in [
        ("crab: hi", "hi", true),
        ("crab, hi", "hi", true),
        ("@crab hi", "hi", true),
        ("Crab:hi", "hi", true),
        ("ask @crab, please", "ask @crab, please", true),
        (
            "what do you think, @crab?",
            "what do you think, @crab?",
            true,
        ),
        ("crab:", "crab:", true),
        ("crab hi", "crab hi", false),
        ("crabby: hi", "crabby: hi", false),
        ("@crabby hi", "@crabby hi", false),
        ("scrab: hi", "scrab: hi", false),
        ("nobody", "nobody", false),
        ("crab: !sh df", "/sh df", true),
        ("crab: /sh df", "/sh df", true),
        ("ünï: crab", "ünï: crab", false),
    ] {
        let message = read(&format!(":ana!~a@h PRIVMSG #garden :{text}")).unwrap();
        assert_eq!(
            (message.text.as_str(), message.is_for_us),
            (expected, is_for_us),
            "{text}"
        );
    }
    let line = ":ana!~a@h PRIVMSG #garden :nobody";
    assert!(read_all(&[line], GroupPolicy::Open)[0].is_for_us);
    assert!(read_all(&[line], GroupPolicy::Off).is_empty());
    let message = read(":ana!~a@h PRIVMSG crab :!help").unwrap();
    assert_eq!(
        (message.text.as_str(), message.written.as_str()),
        ("/help", "!help")
    );
}

#[test]
fn what_is_no_message_of_a_person_is_not_read() {
    for line in [
        ":ana!~a@h NOTICE crab :/sh id",
        ":irc.example.org PRIVMSG crab :hi",
        ":crab!~crab@h PRIVMSG crab :my own",
        ":CRAB!~crab@h PRIVMSG #garden :crab: my own",
        ":ana!~a@h PRIVMSG bob :hi",
        ":ana!~a@h PRIVMSG $$* :to all",
        ":ana!~a@h PRIVMSG @#garden :crab: for operators only",
        ":ana!~a@h PRIVMSG crab :\u{1}VERSION\u{1}",
        ":ana!~a@h PRIVMSG crab :\u{1}DCC SEND x 1 2 3\u{1}",
        ":ana!~a@h PRIVMSG crab :\u{3} \u{2}",
        ":ana!~a@h PRIVMSG crab",
        ":ana!~a@h TAGMSG crab",
    ] {
        assert_eq!(read(line), None, "{line}");
    }
    let action = read(":ana!~a@h PRIVMSG crab :\u{1}ACTION waves\u{1}").unwrap();
    assert_eq!(action.text, "* ana waves");
}

#[test]
fn what_the_server_did_not_agree_to_tell_is_not_believed() {
    let mut session = ready(json!({}));
    let line =
        Line::parse(b"@account=ana;msgid=1;time=2026-11-24T10:00:00Z :ana!~a@h PRIVMSG crab :hi")
            .unwrap();
    session.receive(
        &Line::parse(b"CAP crab DEL :account-tag message-tags server-time").unwrap(),
        std::time::Duration::ZERO,
    );
    let message = Reader::default()
        .read(&line, &session, GroupPolicy::Mention)
        .unwrap();
    assert_eq!(
        (message.account, message.id, message.time),
        (None, None, None)
    );
}

#[test]
fn what_is_told_again_has_the_same_id_and_is_known_as_such() {
    let live = "@time=2026-11-24T10:00:00.500Z :ana!~a@h PRIVMSG crab :hi";
    let replayed = "@batch=7;time=2026-11-24T10:00:00.500Z :ana!~a@h PRIVMSG crab :hi";
    let other = "@batch=7;time=2026-11-24T10:00:01.500Z :ana!~a@h PRIVMSG crab :hi";
    let all = [
        live,
        ":s BATCH +7 znc.in/playback crab",
        replayed,
        other,
        "@batch=7 :s BATCH +8 netjoin",
        "@batch=8 :ana!~a@h PRIVMSG crab :inner",
        ":s BATCH -7",
        replayed,
        ":s BATCH +9 netsplit a b",
        "@batch=9 :ana!~a@h PRIVMSG crab :hi",
    ];
    let messages = read_all(&all, GroupPolicy::Mention);
    let replays: Vec<bool> = messages.iter().map(|message| message.is_replay).collect();
    assert_eq!(replays, [false, true, true, true, false, false]);
    assert!(messages[0].id.is_some() && messages[0].id == messages[1].id);
    assert!(messages[0].is_id_made_up);
    assert_ne!(messages[1].id, messages[2].id);
    let mut seen = Seen::default();
    let new: Vec<bool> = messages
        .iter()
        .take(3)
        .map(|message| seen.note(message.id.as_ref().unwrap()))
        .collect();
    assert_eq!(new, [true, false, true]);
    for number in 0..2 * SEEN {
        seen.note(&number.to_string());
    }
    assert_eq!(seen.0.len(), SEEN);
}

proptest! {
    #[test]
    fn whatever_people_write_is_read_without_a_panic(text in any::<String>(), tags in "[ -~]{0,30}") {
        for target in ["crab", "#garden", "@#garden"] {
            let line = format!("@{} :ana!~a@h PRIVMSG {target} :{text}", tags.replace(' ', ""));
            if let Some(message) = Line::parse(line.as_bytes()).and_then(|line| {
                Reader::default().read(&line, &ready(json!({})), GroupPolicy::Mention)
            }) {
                prop_assert!(!message.text.trim().is_empty());
                prop_assert!(!message.text.contains(|char: char| char.is_control() && !"\n\t".contains(char)));
            }
        }
    }
}
