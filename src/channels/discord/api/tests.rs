use super::*;
use crate::channels::kit::buttons;

fn refused(status: u16, code: u64, message: &str) -> Failure {
    let body = json!({"code": code, "message": message}).to_string();
    classify(status, &body)
}

#[test]
fn each_refusal_is_known_by_its_code() {
    for (status, code, message, expected) in [
        (401, 0, "401: Unauthorized", "Down("),
        (401, 50027, "Invalid Webhook Token", "MessageGone"),
        (404, 10003, "Unknown Channel", "Gone {"),
        (404, 10008, "Unknown Message", "MessageGone"),
        (404, 10062, "Unknown interaction", "MessageGone"),
        (
            400,
            40060,
            "Interaction has already been acknowledged.",
            "MessageGone",
        ),
        (403, 50001, "Missing Access", "Gone {"),
        (403, 50007, "Cannot send messages to this user", "Gone {"),
        (403, 50013, "Missing Permissions", "Refused("),
        (400, 50006, "Cannot send an empty message", "Refused("),
        (413, 40005, "Request entity too large", "Refused("),
        (
            403,
            50005,
            "Cannot edit a message authored by another user",
            "MessageGone",
        ),
        (500, 0, "500: Internal Server Error", "Trouble("),
    ] {
        let failure = format!("{:?}", refused(status, code, message));
        assert!(failure.starts_with(expected), "{message}: {failure}");
    }
}

#[test]
fn a_text_that_is_too_long_is_told_from_another_wrong_form() {
    let body = r#"{"message":"Invalid Form Body","code":50035,"errors":{"content":{"_errors":[
        {"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 2000 or fewer in length."}]}}}"#;
    let failure = classify(400, body);
    assert!(matches!(failure, Failure::TooLong), "{failure:?}");
    assert!(matches!(
        refused(400, 50035, "Invalid Form Body"),
        Failure::Refused(_)
    ));
}

#[test]
fn what_is_not_discords_api_is_trouble_whatever_its_status() {
    for (status, body) in [
        (502, "<html>Bad Gateway"),
        (403, "<!doctype html>"),
        (404, "[]"),
        (404, "{}"),
    ] {
        let failure = classify(status, body);
        assert!(
            matches!(failure, Failure::Trouble(_)),
            "{status}: {failure:?}"
        );
    }
}

#[test]
fn waits_are_read_with_care() {
    assert_eq!(seconds_of(1.5), Some(Duration::from_millis(1550)));
    for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(seconds_of(wrong), None, "{wrong}");
    }
}

#[test]
fn buttons_stay_within_discords_bounds() {
    let rows_of = |labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        rows(&buttons::for_labels(&[labels], 100))
    };
    let shown = rows_of(&["a", "b", "a", "c", "d", "e", "f"]);
    let counts: Vec<usize> = shown
        .iter()
        .map(|row| row["components"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [5, 1], "no two carry the same");
    let long = rows_of(&["ü".repeat(200).as_str()]);
    assert_eq!(
        long[0]["components"][0]["label"]
            .as_str()
            .unwrap()
            .chars()
            .count(),
        80
    );
    let many: Vec<Vec<Button>> = (0..9)
        .map(|number| {
            vec![Button {
                label: "x".to_owned(),
                data: number.to_string(),
            }]
        })
        .collect();
    assert_eq!(rows(&many).len(), 5);
    assert!(rows(&[]).is_empty());
}

#[test]
fn nobody_is_notified_but_whoever_is_answered() {
    let body = content(&Post {
        text: "@everyone",
        ..Post::default()
    });
    assert_eq!(
        body["allowed_mentions"],
        json!({"parse": [], "replied_user": true})
    );
    assert_eq!(body["flags"], SUPPRESS_EMBEDS, "no address is fetched");
    assert_eq!(
        body["components"],
        json!([]),
        "an edit takes the buttons away"
    );
}

#[test]
fn what_goes_into_a_path_is_encoded() {
    assert_eq!(percent_encode("👀"), "%F0%9F%91%80");
    assert_eq!(percent_encode("a-b/../c?d"), "a-b%2F..%2Fc%3Fd");
}

#[test]
fn files_come_from_discord_only() {
    let config = crate::config::channels::Bot::of("discord");
    let limits = Arc::default();
    let tls = Tls::new(None).unwrap();
    let api = Api::new(&tls, &config, &limits, IDLE, &Cancel::new()).unwrap();
    for (url, expected) in [
        (
            "https://cdn.discordapp.com/attachments/1/2/a.png?ex=1",
            true,
        ),
        ("https://media.discordapp.net/attachments/1/2/a.png", true),
        ("https://discord.com/x", true),
        ("http://cdn.discordapp.com/attachments/1/2/a.png", false),
        ("https://cdn.discordapp.com.evil.example/a", false),
        ("https://evildiscordapp.com/a", false),
        ("https://cdn.discordapp.com@192.168.1.1/", false),
        ("https://192.168.1.1/#.discordapp.com", false),
        ("file:///etc/passwd", false),
        ("", false),
    ] {
        assert_eq!(api.has_files(url), expected, "{url}");
    }
}
