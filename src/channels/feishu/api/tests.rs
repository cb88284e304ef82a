use super::*;

fn failure(status: u16, code: i64) -> Failure {
    classify(status, Some(code), "why", None).failure()
}

#[test]
fn codes_mean_what_can_be_done_about_them() {
    for (code, expected) in [
        (230_020, "RetryAfter"),
        (99_991_400, "RetryAfter"),
        (10_014, "Down"),
        (1_000_040_345, "Down"),
        (230_002, "Gone"),
        (230_013, "Gone"),
        (230_011, "MessageGone"),
        (230_110, "MessageGone"),
        (230_031, "MessageGone"),
        (230_025, "TooLong"),
        (230_099, "Markup"),
        (230_049, "Trouble"),
        (99_991_672, "Refused"),
        (230_001, "Refused"),
    ] {
        let failure = format!("{:?}", failure(400, code));
        assert!(failure.starts_with(expected), "{code}: {failure}");
    }
    assert!(matches!(failure(500, 7), Failure::Trouble(_)));
    assert!(matches!(
        classify(400, Some(99_991_663), "", None),
        Fault::Token(_)
    ));
    assert!(matches!(classify(429, Some(7), "", None), Fault::Held(_)));
    assert!(matches!(
        classify(502, None, "", None).failure(),
        Failure::Trouble(_)
    ));
}

#[test]
fn the_wait_that_is_asked_for_counts_and_is_bounded() {
    let wait = |reset| match classify(429, Some(99_991_400), "", reset) {
        Fault::Held(wait) => wait,
        fault => panic!("{fault:?}"),
    };
    assert_eq!(wait(Some(Duration::from_secs(52))), Duration::from_secs(52));
    assert_eq!(wait(Some(Duration::MAX)), LONGEST_WAIT);
}

#[test]
fn a_token_is_used_until_shortly_before_its_end() {
    let shared = Shared::default();
    let (one, two) = (Secret::new("t-one"), Secret::new("t-two"));
    assert_eq!(shared.token(), None);
    shared.keep(&one, TOKEN_MARGIN + Duration::from_secs(100));
    assert_eq!(shared.token(), Some(one.clone()));
    shared.forget(&two);
    assert_eq!(shared.token(), Some(one.clone()), "another one was refused");
    shared.forget(&one);
    assert_eq!(shared.token(), None);
    shared.keep(&two, TOKEN_MARGIN);
    assert_eq!(shared.token(), None, "it ends too soon");
}

#[test]
fn all_calls_wait_together() {
    let shared = Shared::default();
    assert_eq!(shared.wait(), Duration::ZERO);
    shared.hold(Duration::from_secs(100));
    shared.hold(Duration::from_secs(1));
    assert!(shared.wait() > Duration::from_secs(90));
    shared.hold(Duration::MAX);
    assert!(shared.wait() <= LONGEST_WAIT);
}

#[test]
fn the_service_is_read_from_the_address() {
    let url = "wss://msg.feishu.cn/ws/v2?fpid=493&device_id=7&service_id=33554678&ticket=x";
    assert_eq!(query_value(url, "service_id"), "33554678");
    assert_eq!(query_value(url, "missing"), "");
    assert_eq!(query_value("wss://x", "service_id"), "");
}
