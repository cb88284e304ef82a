use proptest::prelude::*;

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn part(id: &str, sum: usize, seq: usize, payload: &[u8]) -> Vec<u8> {
    let headers = [
        ("type", "event".to_owned()),
        ("message_id", id.to_owned()),
        ("sum", sum.to_string()),
        ("seq", seq.to_string()),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value));
    Frame {
        sequence: 7,
        method: DATA,
        headers: headers.to_vec(),
        payload: payload.to_vec(),
        ..Frame::default()
    }
    .encode()
}

fn pong(payload: &str) -> Vec<u8> {
    Frame {
        headers: vec![("type".to_owned(), "pong".to_owned())],
        payload: payload.as_bytes().to_vec(),
        ..Frame::default()
    }
    .encode()
}

fn payload(action: Option<Action>) -> Option<Vec<u8>> {
    match action {
        Some(Action::Event { payload, .. }) => Some(payload),
        _ => None,
    }
}

#[test]
fn pings_are_sent_at_once_and_then_as_often_as_the_server_says() {
    let mut session = Session::new(7, seconds(10));
    assert!(matches!(
        session.tick(seconds(10), false),
        Some(Action::Send(_))
    ));
    assert_eq!(session.tick(seconds(11), true), None);
    assert_eq!(
        session.receive(&pong(r#"{"PingInterval":40}"#), seconds(11)),
        Some(Action::Works)
    );
    assert_eq!(session.idle(seconds(11)), seconds(40));
    let Some(Action::Send(ping)) = session.tick(seconds(51), true) else {
        panic!("no ping");
    };
    let ping = Frame::decode(&ping).unwrap();
    assert_eq!((ping.method, ping.service), (CONTROL, 7));
    assert_eq!(ping.header("type"), "ping");
    for (asked, expected) in [(0, PING_INTERVALS.0), (86_400, PING_INTERVALS.1)] {
        session.configure(&json!({"PingInterval": asked}));
        assert_eq!(session.ping_interval, expected);
    }
}

#[test]
fn a_connection_without_replies_is_given_up() {
    let mut session = Session::new(7, Duration::ZERO);
    session.tick(Duration::ZERO, false);
    assert_eq!(session.idle(Duration::ZERO), PONG_TIME);
    assert_eq!(session.tick(PONG_TIME, false), None, "something has come");
    let lost = Some(Action::Reconnect("it stopped answering"));
    assert_eq!(session.tick(PONG_TIME, true), lost);
    // An event shows as well that it lives.
    session.receive(&part("a", 1, 0, b"{}"), PONG_TIME);
    assert_eq!(session.tick(PONG_TIME, true), None);
}

#[test]
fn the_parts_of_an_event_are_joined_in_their_order() {
    let mut session = Session::new(7, Duration::ZERO);
    let mut receive = |bytes: &[u8]| session.receive(bytes, seconds(1));
    assert_eq!(receive(&part("a", 3, 2, b"c")), None);
    assert_eq!(receive(&part("b", 2, 1, b"2")), None);
    assert_eq!(receive(&part("a", 3, 0, b"a")), None);
    assert_eq!(receive(&part("a", 3, 0, b"a")), None, "it came twice");
    assert_eq!(payload(receive(&part("b", 2, 0, b"1"))).unwrap(), b"12");
    assert_eq!(payload(receive(&part("a", 3, 1, b"b"))).unwrap(), b"abc");
    assert_eq!(payload(receive(&part("c", 1, 0, b"x"))).unwrap(), b"x");
    assert_eq!(payload(receive(&part("c", 0, 9, b"x"))).unwrap(), b"x");
}

#[test]
fn parts_wait_neither_for_ever_nor_without_bound() {
    let mut session = Session::new(7, Duration::ZERO);
    session.receive(&part("a", 2, 0, b"a"), Duration::ZERO);
    let late = session.receive(&part("a", 2, 1, b"b"), PARTS_TIME);
    assert_eq!(late, None, "its first part is forgotten");
    for number in 0..3 * PARTED_EVENTS {
        session.receive(&part(&number.to_string(), 2, 0, b"a"), PARTS_TIME);
    }
    assert_eq!(session.parted.len(), PARTED_EVENTS);
    let half = vec![b'a'; EVENT_BYTES / 2 + 1];
    session.receive(&part("x", 3, 0, &half), PARTS_TIME);
    session.receive(&part("y", 3, 0, &half), PARTS_TIME);
    assert!(session.parted.iter().map(Parted::bytes).sum::<usize>() <= EVENT_BYTES);
    for odd in [
        part("y", 3, 1, &half),
        part("z", EVENT_PARTS + 1, 0, b""),
        part("z", 2, 2, b""),
        part("z", 1, 0, &vec![b'a'; EVENT_BYTES + 1]),
    ] {
        let ignored = session.receive(&odd, PARTS_TIME);
        assert!(matches!(ignored, Some(Action::Ignore(_))), "{ignored:?}");
    }
}

#[test]
fn an_event_is_acknowledged_with_its_own_frame() {
    let mut session = Session::new(7, Duration::ZERO);
    let event = session.receive(&part("a", 1, 0, b"{}"), Duration::ZERO);
    let Some(Action::Event { frame, .. }) = event else {
        panic!("{event:?}");
    };
    let reply = json!({"toast": {"content": "no"}});
    let bytes = acknowledge(frame, Duration::from_millis(12), Some(&reply));
    let answer = Frame::decode(&bytes).unwrap();
    assert_eq!((answer.sequence, answer.method), (7, DATA));
    assert_eq!(answer.header("message_id"), "a");
    assert_eq!(answer.header("biz_rt"), "12");
    let payload: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(payload["code"], 200);
    assert_eq!(payload["data"], "eyJ0b2FzdCI6eyJjb250ZW50Ijoibm8ifX0=");
}

proptest! {
    #[test]
    fn nothing_that_comes_is_too_odd(
        frames in proptest::collection::vec(
            (0_usize..4, 0_usize..5, 0_usize..5, proptest::collection::vec(any::<u8>(), 0..9)),
            0..40,
        )
    ) {
        let mut session = Session::new(7, Duration::ZERO);
        for (at, (id, sum, seq, payload)) in frames.into_iter().enumerate() {
            let now = seconds(at as u64);
            session.receive(&part(&id.to_string(), sum, seq, &payload), now);
            session.receive(&payload, now);
            session.tick(now, true);
            prop_assert!(session.parted.len() <= PARTED_EVENTS);
            prop_assert!(session.idle(now) <= LOOK);
        }
    }
}
