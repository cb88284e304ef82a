use super::*;

const SECOND: Duration = Duration::from_secs(1);
const HELLO: &str = r#"{"op":10,"s":null,"t":null,"d":{"heartbeat_interval":40000}}"#;
const ACK: &str = r#"{"op":11}"#;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn ready(sequence: u64) -> String {
    format!(
        r#"{{"op":0,"t":"READY","s":{sequence},"d":{{"v":10,"user":{{"id":"7","username":"pea","bot":true}},
        "session_id":"abc","resume_gateway_url":"wss://resume.example","guilds":[{{"id":"1"}}]}}}}"#
    )
}

fn event(sequence: u64) -> String {
    format!(r#"{{"op":0,"t":"MESSAGE_CREATE","s":{sequence},"d":{{"id":"1"}}}}"#)
}

fn identify(scope: Scope) -> Action {
    Action::Send(Outgoing::Identify { scope })
}

fn heartbeat(sequence: Option<u64>) -> Action {
    Action::Send(Outgoing::Heartbeat { sequence })
}

fn resume(sequence: u64) -> Action {
    Action::Send(Outgoing::Resume {
        id: "abc".to_owned(),
        sequence,
    })
}

/// A session that has begun at 0 s, with its first heartbeat due after 20 s.
fn begun() -> Session {
    let mut session = Session::new(Scope::All);
    session.opened(Duration::ZERO);
    assert_eq!(
        session.receive(HELLO, Duration::ZERO, 0.5),
        [identify(Scope::All)]
    );
    let actions = session.receive(&ready(1), Duration::ZERO, 0.5);
    assert!(
        matches!(&actions[..], [Action::Begun(ready)] if ready.user.id == "7"),
        "{actions:?}"
    );
    session
}

/// A new connection of a session that exists; returns what is done about HELLO.
fn reconnected(session: &mut Session, now: Duration) -> Vec<Action> {
    session.opened(now);
    session.receive(HELLO, now, 0.5)
}

#[test]
fn heartbeats_begin_with_jitter_and_carry_what_was_confirmed() {
    let mut session = begun();
    assert_eq!(session.idle(Duration::ZERO), seconds(20));
    assert_eq!(session.tick(seconds(19), true), []);
    assert_eq!(session.tick(seconds(20), true), [heartbeat(Some(1))]);
    assert_eq!(session.receive(ACK, seconds(21), 0.5), []);
    let actions = session.receive(&event(2), seconds(22), 0.5);
    assert!(matches!(
        &actions[..],
        [Action::Event { sequence: 2, kind, data }] if kind == "MESSAGE_CREATE" && data == r#"{"id":"1"}"#
    ));
    assert_eq!(session.tick(seconds(60), true), [heartbeat(Some(1))]);
    session.receive(ACK, seconds(61), 0.5);
    session.confirm(2);
    assert_eq!(session.tick(seconds(100), true), [heartbeat(Some(2))]);
}

#[test]
fn a_request_for_a_heartbeat_is_answered_at_once() {
    let mut session = begun();
    let asked = session.receive(r#"{"op":1,"d":null}"#, seconds(3), 0.5);
    assert_eq!(asked, [heartbeat(Some(1))]);
    assert_eq!(session.idle(seconds(3)), seconds(40));
}

#[test]
fn a_connection_that_stops_answering_is_closed_and_resumed() {
    let mut session = begun();
    session.tick(seconds(20), true);
    assert_eq!(
        session.tick(seconds(60), false),
        [],
        "the acknowledgement may be there and unread"
    );
    let actions = session.tick(seconds(60), true);
    let [Action::Reconnect { code, .. }] = actions[..] else {
        panic!("{actions:?}");
    };
    assert!(code != 1000 && code != 1001);
    assert_eq!(session.tick(seconds(61), true), [], "it is over");
    assert_eq!(session.resume_url(), Some("wss://resume.example"));
    assert_eq!(reconnected(&mut session, seconds(62)), [resume(1)]);
}

#[test]
fn discord_may_ask_for_another_connection() {
    let mut session = begun();
    let actions = session.receive(r#"{"op":7,"d":null}"#, SECOND, 0.5);
    assert!(matches!(
        actions[..],
        [Action::Reconnect {
            code: 4000,
            is_planned: true,
            ..
        }]
    ));
    assert_eq!(reconnected(&mut session, SECOND), [resume(1)]);
    let resumed = r#"{"op":0,"t":"RESUMED","s":5,"d":{}}"#;
    assert_eq!(session.receive(resumed, SECOND, 0.5), [Action::Resumed]);
}

#[test]
fn an_invalid_session_is_resumed_or_begun_anew_and_never_too_soon() {
    let mut session = begun();
    let actions = session.receive(r#"{"op":9,"d":true}"#, SECOND, 0.5);
    assert!(matches!(
        actions[..],
        [Action::Reconnect { code: 4000, .. }]
    ));
    assert_eq!(reconnected(&mut session, SECOND), [resume(1)]);
    let actions = session.receive(r#"{"op":9,"d":false}"#, SECOND, 0.5);
    assert!(matches!(
        actions[..],
        [Action::Reconnect { code: 1000, .. }]
    ));
    assert_eq!(session.resume_url(), None);
    assert_eq!(
        reconnected(&mut session, 2 * SECOND),
        [],
        "the last IDENTIFY was 2 s ago"
    );
    assert_eq!(session.idle(2 * SECOND), seconds(4));
    assert_eq!(session.tick(seconds(6), true), [identify(Scope::All)]);
    assert_eq!(session.tick(seconds(7), true), [], "once");
}

#[test]
fn what_a_close_code_means() {
    let again = [1000, 1001, 1006, 4000, 4001, 4002, 4005, 4008, 4200];
    for code in again {
        let mut session = begun();
        assert!(
            matches!(session.closed(code, ""), Closed::Again(_)),
            "{code}"
        );
        assert_eq!(reconnected(&mut session, seconds(9)), [resume(1)], "{code}");
    }
    for code in [4003, 4007, 4009] {
        let mut session = begun();
        assert!(
            matches!(session.closed(code, ""), Closed::Again(_)),
            "{code}"
        );
        assert_eq!(
            reconnected(&mut session, seconds(9)),
            [identify(Scope::All)],
            "{code}"
        );
    }
    assert_eq!(begun().closed(4004, ""), Closed::Token);
    assert_eq!(begun().closed(4014, ""), Closed::Intent);
    for code in 4010..=4013 {
        assert!(matches!(begun().closed(code, "why"), Closed::Fatal(said) if said.contains("why")));
    }
}

#[test]
fn without_the_intent_the_session_asks_for_less() {
    let mut session = Session::new(Scope::All);
    reconnected(&mut session, Duration::ZERO);
    assert_eq!(
        session.closed(4014, "Disallowed intent(s)."),
        Closed::Intent
    );
    *session.scope() = Scope::Mentions;
    assert_eq!(
        reconnected(&mut session, seconds(6)),
        [identify(Scope::Mentions)]
    );
    assert!(matches!(session.closed(4014, ""), Closed::Fatal(_)));
}

#[test]
fn a_server_that_says_nothing_is_left() {
    let mut session = Session::new(Scope::Private);
    session.opened(SECOND);
    assert_eq!(session.idle(SECOND), DISCORD_HELLO_TIME);
    assert_eq!(session.tick(SECOND, true), []);
    let actions = session.tick(SECOND + DISCORD_HELLO_TIME, true);
    assert!(matches!(actions[..], [Action::Reconnect { .. }]));
}

#[test]
fn a_session_that_does_not_begin_is_given_up() {
    let mut session = Session::new(Scope::All);
    reconnected(&mut session, Duration::ZERO);
    session.tick(seconds(20), true);
    session.receive(ACK, seconds(21), 0.5);
    let actions = session.tick(DISCORD_BEGIN_TIME, true);
    assert!(
        matches!(actions[..], [Action::Reconnect { .. }]),
        "{actions:?}"
    );
    let mut session = begun();
    session.receive(ACK, SECOND, 0.5);
    assert_eq!(session.tick(seconds(100), true), [heartbeat(Some(1))]);
}

#[test]
fn an_absurd_interval_is_bounded() {
    for (given, expected) in [
        ("0", DISCORD_HEARTBEATS.0),
        ("9e18", DISCORD_LOOK),
        ("{}", DISCORD_HEARTBEATS.0),
    ] {
        let mut session = Session::new(Scope::All);
        session.opened(Duration::ZERO);
        let hello = format!(r#"{{"op":10,"d":{{"heartbeat_interval":{given}}}}}"#);
        session.receive(&hello, Duration::ZERO, 1.0);
        assert_eq!(session.idle(Duration::ZERO), expected);
    }
}

#[test]
fn only_what_needs_the_token_has_it() {
    let token = Secret::new("canary-token");
    let scope = Scope::All;
    let of = |message: Outgoing| message.to_json(&token);
    let identify: Value = serde_json::from_str(&of(Outgoing::Identify { scope })).unwrap();
    assert_eq!(identify["d"]["token"], "canary-token");
    assert_eq!(identify["d"]["intents"], 1 << 9 | 1 << 12 | 1 << 15);
    let beat = of(Outgoing::Heartbeat { sequence: Some(3) });
    assert_eq!(beat, r#"{"d":3,"op":1}"#);
}

proptest::proptest! {
    #[test]
    fn any_frame_is_taken(
        frames in proptest::collection::vec((".{0,30}", 0_u8..12, ".{0,20}", proptest::option::of(0_u64..5)), 0..20)
    ) {
        let mut session = begun();
        for (number, (garbage, op, data, sequence)) in frames.into_iter().enumerate() {
            let now = Duration::from_secs(number as u64);
            session.receive(&garbage, now, 0.5);
            let frame = json!({"op": op, "s": sequence, "t": "READY", "d": data}).to_string();
            session.receive(&frame, now, 0.5);
            session.tick(now, number % 2 == 0);
            assert!(session.idle(now) <= DISCORD_LOOK);
        }
    }
}
