//! Calls of hooks: their signatures, and the ids of their deliveries. Only `now` is not PURE.

use ring::hmac;
use serde_json::json;

use super::Place;
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::base::hex::unhex;
use crate::base::json::Members;
use crate::channels::http::hook;
use crate::channels::http::host::Host;
use crate::channels::http::wire::reply::Reply;
use crate::channels::http::wire::request::Head;
use crate::config::schema::{Hook, HookSignature};

/// Seconds that a signed time may be off: five minutes, as Stripe's own libraries have it.
const TIME_OFF_SECS: u64 = 5 * 60;
/// Bytes of the id of a delivery.
const DELIVERY_BYTES: usize = 200;

/// Whether the caller of a hook knows its secret, where it has one; else a token has let it in.
pub fn is_meant(place: &Place<'_>, head: &Head, name: &str, body: &[u8]) -> bool {
    let now = u64::try_from(Clock::System.now_ms() / 1000).unwrap_or_default();
    let hook = place.channel.config.hooks.get(name);
    hook.is_some_and(|hook| hook.secret.is_empty() || is_signed(hook, head, body, now))
}

/// Whether the signature of a call has a time, and this machine does not know the time: neither right nor wrong.
pub fn needs_time(place: &Place<'_>, name: &str) -> bool {
    let hook = place.channel.config.hooks.get(name);
    let is_timed = |hook: &Hook| !hook.secret.is_empty() && hook.signature != HookSignature::GitHub;
    hook.is_some_and(is_timed) && !Clock::System.is_set()
}

/// Takes a call of a hook: it is on the disk when this returns.
pub fn take(place: &Place<'_>, host: &dyn Host, head: &Head, (name, body): (&str, &[u8])) -> Reply {
    let Some(hook) = place.channel.config.hooks.get(name) else {
        return Reply::error(404, "unknown hook");
    };
    let Ok(text) = std::str::from_utf8(body) else {
        return Reply::error(400, "the body is not UTF-8");
    };
    let delivery = delivery_of(hook, head, text);
    match host.hook(hook::call(name, hook, text, &delivery)) {
        Ok(()) => {
            place.accepting.borrow_mut().succeeded();
            Reply::json(202, &json!({"accepted": true}))
        }
        Err(error) => {
            if let Error::Io { .. } = error {
                place.accepting.borrow_mut().failed(&error, None);
            }
            tracing::warn!(hook = name, "failed to accept a call of a hook: {error}");
            later("the call cannot be accepted now: send it again later")
        }
    }
}

/// Asks for the same call again, later.
pub fn later(why: &str) -> Reply {
    Reply::error(503, why).with("Retry-After", "60")
}

/// Whether the program that knows the secret has signed this body. The comparisons take constant time.
fn is_signed(hook: &Hook, head: &Head, body: &[u8], now: u64) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, hook.secret.expose().as_bytes());
    let is_right = |time: &str, between: &str, signature: &str| {
        let Some(signature) = unhex(signature) else {
            return false;
        };
        let message = [time.as_bytes(), between.as_bytes(), body].concat();
        hmac::verify(&key, &message, &signature).is_ok()
    };
    let is_recent = |time: &str| {
        let time = time.parse::<u64>();
        time.is_ok_and(|time| time.abs_diff(now) <= TIME_OFF_SECS)
    };
    match hook.signature {
        HookSignature::GitHub => {
            let given = head.header("x-hub-signature-256").unwrap_or_default();
            let hex = given.strip_prefix("sha256=");
            !begins_with_time(body) && hex.is_some_and(|hex| is_right("", "", hex))
        }
        HookSignature::Grafana => {
            // The second is Grafana's own default where its page has set none.
            let headers = ["x-grafana-alerting-signature", "x-grafana-alert-signature"];
            let given = headers.iter().find_map(|name| head.header(name));
            let given = given.unwrap_or_default();
            let names = [
                "x-grafana-alerting-timestamp",
                "x-grafana-alerting-signature-timestamp",
            ];
            match names.iter().find_map(|name| head.header(name)) {
                Some(time) => is_recent(time) && is_right(time, ":", given),
                None => !begins_with_time(body) && is_right("", "", given),
            }
        }
        HookSignature::Stripe => {
            let given = head.header("stripe-signature").unwrap_or_default();
            let parts = || {
                given
                    .split(',')
                    .filter_map(|part| part.trim().split_once('='))
            };
            let time = parts().find_map(|(name, time)| (name == "t").then_some(time));
            let time = time.unwrap_or_default();
            // While a secret is changed there are two.
            is_recent(time) && parts().any(|(name, hex)| name == "v1" && is_right(time, ".", hex))
        }
    }
}

/// Whether a body begins as what is signed together with a time does. Such a signature is of that time alone, and not of a body
/// that the time was moved into.
fn begins_with_time(body: &[u8]) -> bool {
    let behind = body.iter().position(|byte| !byte.is_ascii_digit());
    behind.is_some_and(|at| at > 0 && matches!(body[at], b':' | b'.'))
}

/// The program's id for a delivery; empty where it has none, and each call is another one.
fn delivery_of(hook: &Hook, head: &Head, body: &str) -> String {
    // What is signed counts more than a header, which is not.
    let signed = (hook.signature == HookSignature::Stripe && !hook.secret.is_empty())
        .then(|| Members::read(body).map_or_else(String::new, |body| body.text_or_empty("id")));
    let names = [
        "x-github-delivery",
        "x-gitlab-event-uuid",
        "webhook-id",
        "idempotency-key",
    ];
    let given = || names.iter().find_map(|name| head.header(name));
    let id = signed
        .filter(|id| !id.is_empty())
        .or_else(|| given().map(str::to_owned))
        .unwrap_or_default();
    if id.len() <= DELIVERY_BYTES {
        id
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::http::wire::request::{Reader, Step};

    const NOW: u64 = 1_800_000_000;
    const BODY: &str = r#"{"id":"evt_1"}"#;

    fn head(headers: &str) -> Head {
        let mut reader = Reader::default();
        reader.push(format!("POST /hooks/a HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n").as_bytes());
        match reader.step() {
            Ok(Step::Head(head)) => head,
            other => panic!("{other:?}"),
        }
    }

    fn hook(signature: HookSignature) -> Hook {
        let config = json!({"secret": "It's a Secret to Everybody"});
        Hook {
            signature,
            ..serde_json::from_value(config).unwrap()
        }
    }

    fn sign(message: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"It's a Secret to Everybody");
        let tag = hmac::sign(&key, message.as_bytes());
        tag.as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    #[test]
    fn the_example_of_github_is_accepted() {
        // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
        let signed = head(
            "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        );
        assert!(is_signed(
            &hook(HookSignature::GitHub),
            &signed,
            b"Hello, World!",
            NOW
        ));
        assert!(!is_signed(
            &hook(HookSignature::GitHub),
            &signed,
            b"Hello, World?",
            NOW
        ));
    }

    #[test]
    fn each_form_is_accepted_and_nothing_that_is_nearly_one() {
        use HookSignature::{GitHub, Grafana, Stripe};
        let plain = sign(BODY);
        let (dot, colon) = (
            sign(&format!("{NOW}.{BODY}")),
            sign(&format!("{NOW}:{BODY}")),
        );
        let old = NOW - TIME_OFF_SECS - 1;
        let old_dot = sign(&format!("{old}.{BODY}"));
        let cases = [
            (GitHub, format!("X-Hub-Signature-256: sha256={plain}"), true),
            (GitHub, format!("X-Hub-Signature-256: {plain}"), false),
            (
                GitHub,
                format!("X-Hub-Signature-256: sha256={}", &plain[..62]),
                false,
            ),
            (GitHub, "X-Hub-Signature-256: sha256=".to_owned(), false),
            (GitHub, "X: y".to_owned(), false),
            (
                Grafana,
                format!("X-Grafana-Alerting-Signature: {plain}"),
                true,
            ),
            (
                Grafana,
                format!(
                    "X-Grafana-Alerting-Signature: {colon}\r\nX-Grafana-Alerting-Timestamp: {NOW}"
                ),
                true,
            ),
            (
                Grafana,
                format!(
                    "X-Grafana-Alerting-Signature: {plain}\r\nX-Grafana-Alerting-Timestamp: {NOW}"
                ),
                false,
            ),
            (Grafana, format!("X-Grafana-Alert-Signature: {plain}"), true),
            (
                Grafana,
                format!("X-Hub-Signature-256: sha256={plain}"),
                false,
            ),
            (Stripe, format!("Stripe-Signature: t={NOW},v1={dot}"), true),
            (
                Stripe,
                format!("Stripe-Signature: t={NOW},v1={plain},v1={dot},v0=x"),
                true,
            ),
            (
                Stripe,
                format!("Stripe-Signature: t={old},v1={old_dot}"),
                false,
            ),
            (
                Stripe,
                format!("Stripe-Signature: t={NOW},v1={plain}"),
                false,
            ),
            (Stripe, format!("Stripe-Signature: v1={plain}"), false),
        ];
        for (signature, headers, is_right) in cases {
            let signed = is_signed(&hook(signature), &head(&headers), BODY.as_bytes(), NOW);
            assert_eq!(signed, is_right, "{headers}");
        }
    }

    #[test]
    fn a_signature_of_a_time_is_none_of_a_body_that_the_time_was_moved_into() {
        use HookSignature::{GitHub, Grafana};
        for between in [":", "."] {
            let moved = format!("{NOW}{between}{BODY}");
            let signature = sign(&moved);
            let grafana = format!("X-Grafana-Alerting-Signature: {signature}");
            let github = format!("X-Hub-Signature-256: sha256={signature}");
            for (form, headers) in [(Grafana, grafana), (GitHub, github)] {
                let signed = is_signed(&hook(form), &head(&headers), moved.as_bytes(), NOW);
                assert!(!signed, "{headers}");
            }
        }
    }

    #[test]
    fn a_delivery_has_the_id_that_its_program_gives() {
        let of = |signature, headers: &str| delivery_of(&hook(signature), &head(headers), BODY);
        assert_eq!(of(HookSignature::GitHub, "X-GitHub-Delivery: 7-8"), "7-8");
        assert_eq!(of(HookSignature::Stripe, "X: y"), "evt_1");
        assert_eq!(of(HookSignature::GitHub, "X: y"), "");
        // What is signed says which event it is: a header would let one who has seen a call repeat it as another one.
        for header in [
            "Idempotency-Key: 9",
            "webhook-id: 9",
            "X-GitHub-Delivery: 9",
        ] {
            assert_eq!(of(HookSignature::Stripe, header), "evt_1", "{header}");
            assert_eq!(of(HookSignature::Grafana, header), "9", "{header}");
        }
        assert_eq!(
            of(
                HookSignature::GitHub,
                &format!("Idempotency-Key: {}", "x".repeat(201))
            ),
            ""
        );
    }
}
