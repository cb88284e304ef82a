use super::*;
use crate::config::channels::{Bot, Channels};
use proptest::prelude::*;
use serde_json::{Value, json};

const START: Duration = Duration::from_secs(1000);

fn bot(more: Value) -> Bot {
    let mut section =
        json!({"server": "irc.example.org", "nick": "crab", "channels": ["#Garden", "#shed key"]});
    for (key, value) in more.as_object().unwrap() {
        section[key] = value.clone();
    }
    let channels: Channels = serde_json::from_value(json!({"irc": section})).unwrap();
    channels.of("irc")
}

/// A session, and the lines that it has sent at once.
fn begin(more: Value) -> (Session, Vec<String>) {
    let (session, actions) = Session::begin(Settings::new(&bot(more)), START);
    (session, lines(&actions))
}

fn lines(actions: &[Action]) -> Vec<String> {
    let lines = actions.iter().filter_map(|action| match action {
        Action::Send(line) | Action::Chore(line) => Some(line.clone()),
        _ => None,
    });
    lines.collect()
}

fn hears(session: &mut Session, line: &str) -> Vec<Action> {
    session.receive(&Line::parse(line.as_bytes()).unwrap(), START)
}

fn told(session: &mut Session, line: &str) -> Vec<String> {
    lines(&hears(session, line))
}

/// A session that was let in, and is in its channels.
pub(in crate::channels::irc) fn ready(more: Value) -> Session {
    let (mut session, _) = begin(more);
    hears(
        &mut session,
        "CAP * LS :account-tag message-tags server-time batch sasl=PLAIN",
    );
    hears(
        &mut session,
        "CAP * ACK :account-tag message-tags server-time batch",
    );
    for line in [
        ":s 001 crab :Welcome",
        ":s 005 crab CASEMAPPING=rfc1459 CHANTYPES=#& NICKLEN=9 STATUSMSG=@+ :are supported",
        ":s 376 crab :End",
        ":crab!~crab@bot.example JOIN #Garden",
    ] {
        hears(&mut session, line);
    }
    session
}

#[test]
fn capabilities_come_first_and_the_login_before_their_end() {
    let login = json!({"saslUser": "crabby", "saslPassword": "pass", "password": "server"});
    let (mut session, first) = begin(login);
    let expected = [
        "CAP LS 302",
        "PASS :server",
        "NICK crab",
        "USER crab 0 * :crab",
    ];
    assert_eq!(first, expected);
    assert!(told(&mut session, ":s CAP * LS * :multi-prefix account-tag=x").is_empty());
    let asked = told(&mut session, ":s CAP * LS :sasl=EXTERNAL,PLAIN batch");
    assert_eq!(asked, ["CAP REQ :account-tag batch sasl"]);
    let begun = told(&mut session, ":s CAP * ACK :account-tag batch sasl");
    assert_eq!(begun, ["AUTHENTICATE PLAIN"]);
    let response = told(&mut session, "AUTHENTICATE +");
    assert_eq!(response, ["AUTHENTICATE Y3JhYmJ5AGNyYWJieQBwYXNz"]);
    assert!(
        told(
            &mut session,
            ":s 900 crab crab!x@y crabby :You are now logged in"
        )
        .is_empty()
    );
    assert_eq!(told(&mut session, ":s 903 crab :success"), ["CAP END"]);
    assert!(session.has("account-tag") && !session.has("server-time"));
    assert!(told(&mut session, ":s CAP crab DEL :account-tag").is_empty());
    assert!(
        !session.has("account-tag"),
        "nobody is logged in without services"
    );
    assert_eq!(
        told(&mut session, ":s CAP crab NEW :account-tag=1 x"),
        ["CAP REQ :account-tag"]
    );
}

#[test]
fn a_response_is_cut_into_pieces_and_a_whole_last_one_is_followed_by_an_empty_one() {
    for (length, expected) in [(10, 1), (283, 1), (284, 2), (286, 2), (400, 2), (586, 3)] {
        let password = "p".repeat(length);
        let (mut session, _) = begin(json!({"saslUser": "crabby", "saslPassword": password}));
        hears(&mut session, "CAP * LS :sasl");
        hears(&mut session, "CAP * ACK :sasl");
        let pieces = told(&mut session, "AUTHENTICATE +");
        assert_eq!(pieces.len(), expected, "{length}");
        let pieces: Vec<&str> = pieces
            .iter()
            .map(|line| line.strip_prefix("AUTHENTICATE ").unwrap())
            .collect();
        assert!(pieces.iter().all(|piece| piece.len() <= 400));
        let (last, whole) = pieces.split_last().unwrap();
        assert!(
            whole.iter().all(|piece| piece.len() == 400) && last.len() < 400,
            "{length}"
        );
    }
    // 285 bytes of password make 300 bytes, which are exactly 400 in base64.
    let (mut session, _) = begin(json!({"saslUser": "crabby", "saslPassword": "p".repeat(285)}));
    hears(&mut session, "CAP * LS :sasl");
    hears(&mut session, "CAP * ACK :sasl");
    assert_eq!(
        told(&mut session, "AUTHENTICATE +").last().unwrap(),
        "AUTHENTICATE +"
    );
}

#[test]
fn without_the_login_that_is_asked_for_nothing_begins() {
    let login = json!({"saslUser": "crabby", "saslPassword": "canary"});
    for told in [
        &["CAP * LS :account-tag"][..],
        &["CAP * LS :sasl=EXTERNAL"],
        &[
            "CAP * LS :sasl",
            "CAP * ACK :sasl",
            ":s 904 crab :SASL authentication failed",
        ],
        &[
            "CAP * LS :sasl",
            "CAP * ACK :sasl",
            ":s 908 crab EXTERNAL :are available",
        ],
        &[":s 421 crab CAP :Unknown command", ":s 001 crab :Welcome"],
    ] {
        let (mut session, _) = begin(login.clone());
        let actions: Vec<Action> = told
            .iter()
            .flat_map(|line| hears(&mut session, line))
            .collect();
        let ending = actions.iter().find_map(|action| match action {
            Action::End(Ending::Fatal(why)) => Some(why),
            _ => None,
        });
        assert!(
            ending.is_some_and(|why| why.contains("sasl") && !why.contains("canary")),
            "{told:?}: {actions:?}"
        );
        assert!(!lines(&actions).contains(&"CAP END".to_owned()));
    }
}

#[test]
fn a_nick_in_use_is_replaced_and_asked_for_again() {
    let (mut session, _) = begin(json!({"nick": "crabcrab9"}));
    hears(&mut session, "CAP * LS :");
    let in_use = |nick: &str| format!(":s 433 * {nick} :Nickname is already in use");
    assert_eq!(told(&mut session, &in_use("crabcrab9")), ["NICK crabcrab_"]);
    assert_eq!(told(&mut session, &in_use("crabcrab_")), ["NICK crabcra_2"]);
    hears(&mut session, ":s 001 crabcra_2 :Welcome");
    let actions = hears(&mut session, ":s 422 crabcra_2 :No MOTD");
    assert!(actions.contains(&Action::Ready));
    assert_eq!(session.nick(), "crabcra_2");
    let now = START + REGAIN_INTERVAL;
    assert!(session.next() <= now);
    assert!(lines(&session.tick(now)).contains(&"NICK crabcrab9".to_owned()));
    assert!(
        session
            .receive(
                &Line::parse(b":s 433 crabcra_2 crabcrab9 :in use").unwrap(),
                now
            )
            .is_empty()
    );
    hears(&mut session, ":crabcra_2!~c@h NICK :crabcrab9");
    assert_eq!(session.nick(), "crabcrab9");
    assert!(
        !lines(&session.tick(now + 2 * REGAIN_INTERVAL))
            .iter()
            .any(|line| line.starts_with("NICK"))
    );
}

#[test]
fn the_password_for_nickserv_is_sent_for_the_wanted_nick_and_again_with_it() {
    let (mut session, _) = begin(json!({"nickservPassword": "pass"}));
    hears(&mut session, "CAP * LS :");
    hears(&mut session, ":s 433 * crab :in use");
    hears(&mut session, ":s 001 crab_ :Welcome");
    let identify = "PRIVMSG NickServ :IDENTIFY crab pass";
    assert_eq!(told(&mut session, ":s 376 crab_ :End")[0], identify);
    for line in [":crab_!c@h NICK", ":crab_!c@h NICK :"] {
        assert!(told(&mut session, line).is_empty());
        assert_eq!(session.nick(), "crab_");
    }
    assert_eq!(told(&mut session, ":crab_!c@h NICK crab"), [identify]);
    assert!(told(&mut session, ":crab!c@h NICK Crab").is_empty());
}

#[test]
fn there_is_an_end_to_the_nicks_and_a_wrong_one_is_said_to_be_wrong() {
    let (mut session, _) = begin(json!({}));
    let ended = (0..20).find_map(|_| {
        let actions = hears(&mut session, ":s 433 * x :in use");
        actions
            .into_iter()
            .find(|action| matches!(action, Action::End(_)))
    });
    assert!(matches!(ended, Some(Action::End(Ending::Failed(_)))));
    let (mut session, _) = begin(json!({}));
    let refused = hears(&mut session, ":s 432 * crab :Erroneous nickname");
    assert!(matches!(&refused[..], [Action::End(Ending::Fatal(why))] if why.contains("Erroneous")));
    let (mut session, _) = begin(json!({}));
    let throttled = hears(&mut session, "ERROR :Closing Link: (Throttled)");
    assert!(
        matches!(&throttled[..], [Action::End(Ending::Failed(why))] if why.contains("Throttled"))
    );
}

#[test]
fn channels_are_joined_and_again_after_a_kick_but_not_for_ever_at_once() {
    let (mut session, _) = begin(json!({}));
    hears(&mut session, "CAP * LS :");
    hears(&mut session, ":s 001 crab :Welcome");
    let joins = told(&mut session, ":s 376 crab :End");
    assert_eq!(joins, ["JOIN #Garden", "JOIN #shed key"]);
    hears(&mut session, ":crab!c@h JOIN :#garden");
    assert!(session.is_in("#GARDEN") && !session.is_in("#shed"));
    assert_eq!(session.channel_name("#garden"), "#Garden");
    let mut now = START;
    let mut waits = Vec::new();
    for _ in 0..12 {
        let kicked = Line::parse(b":op!o@h KICK #garden crab :out").unwrap();
        session.receive(&kicked, now);
        assert!(!session.is_in("#garden"));
        let before = now;
        while !lines(&session.tick(now)).contains(&"JOIN #Garden".to_owned()) {
            now += Duration::from_secs(1);
            // The server is there.
            session.receive(&Line::parse(b":s PONG s :alive").unwrap(), now);
        }
        waits.push((now - before).as_secs());
        session.receive(&Line::parse(b":crab!c@h JOIN #garden").unwrap(), now);
    }
    assert_eq!(waits[0], REJOIN_WAIT.as_secs());
    assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]), "{waits:?}");
    assert_eq!(waits[11], 600);
    // Someone else was removed.
    session.receive(&Line::parse(b":op!o@h KICK #garden ana :out").unwrap(), now);
    assert!(session.is_in("#garden"));
}

#[test]
fn a_dead_connection_is_noticed() {
    let mut session = ready(json!({}));
    let asked = START + PING_INTERVAL;
    assert!(session.next() <= asked);
    assert!(lines(&session.tick(asked)).contains(&"PING :alive".to_owned()));
    let answer = Line::parse(b":s PONG s :alive").unwrap();
    session.receive(&answer, asked + Duration::from_secs(1));
    assert!(
        !session
            .tick(asked + PONG_TIME)
            .iter()
            .any(|it| matches!(it, Action::End(_)))
    );
    let asked = asked + Duration::from_secs(1) + PING_INTERVAL;
    session.tick(asked);
    assert!(matches!(
        &session.tick(asked + PONG_TIME)[..],
        [Action::End(Ending::Failed(_))]
    ));
    let (mut session, _) = begin(json!({}));
    assert_eq!(session.next(), START + REGISTER_TIME);
    assert!(matches!(
        &session.tick(START + REGISTER_TIME)[..],
        [Action::End(Ending::Failed(_))]
    ));
}

#[test]
fn pings_are_answered() {
    let mut session = ready(json!({}));
    assert_eq!(told(&mut session, "PING :a b\u{3}"), ["PONG :a b\u{3}"]);
}

#[test]
fn a_line_is_as_long_as_others_get_it_whole() {
    let (session, _) = begin(json!({}));
    let unknown = session.text_bytes("#garden");
    let session = ready(json!({}));
    let known = session.text_bytes("#garden");
    assert!(unknown <= known, "{unknown} {known}");
    let long = "x".repeat(120);
    let text = session.text_bytes(&long);
    let line = format!(
        ":crab!~crab@bot.example PRIVMSG {long} :{}\r\n",
        "x".repeat(text)
    );
    assert!(line.len() <= WIRE_BYTES && line.len() > WIRE_BYTES - 2);
    assert_eq!(session.text_bytes(&"x".repeat(600)), TEXT_BYTES_MIN);
}

proptest! {
    #[test]
    fn no_line_of_a_server_makes_it_panic_or_say_two_lines(
        lines_of_server in prop::collection::vec("(@[a-z=;]{0,9} )?(:[a-z!@.]{0,9} )?(CAP|NICK|JOIN|KICK|[0-9]{3}|AUTHENTICATE|PING|ERROR) [ -~]{0,40}", 0..30),
    ) {
        let (mut session, _) = begin(json!({"saslUser": "a", "saslPassword": "b"}));
        let mut now = START;
        for line in &lines_of_server {
            now += Duration::from_secs(3);
            if let Some(line) = Line::parse(line.as_bytes()) {
                let actions = session.receive(&line, now);
                prop_assert!(lines(&actions).iter().all(|line| !line.contains(['\r', '\n', '\0'])));
            }
            session.tick(now);
            let _ = session.next();
        }
    }
}
