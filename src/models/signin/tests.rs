use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::json;

use super::codex::{Login, NotEnded};
use super::*;
use crate::base::sync::Mutex;
use crate::net::http::oauth::form;

type Log = Arc<Mutex<Vec<String>>>;

/// A server of tokens whose answers a function makes of what was asked: method, path and body, which are logged.
struct Site {
    _folder: tempfile::TempDir,
    sign_in: SignIn,
    now: Arc<AtomicI64>,
    log: Log,
}

const NOW: i64 = 1_900_000_000_000;

impl Site {
    fn new(
        service: Service,
        answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let log = Log::default();
        let of_thread = log.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(std::result::Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut length, mut line) = (String::new(), 0, String::new());
                while reader.read_line(&mut line).unwrap_or(0) > 2 {
                    let lower = line.to_ascii_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap();
                    }
                    head += &line;
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let first = head.lines().next().unwrap_or_default();
                let first = first.strip_suffix(" HTTP/1.1").unwrap_or_default();
                let asked = format!("{first} {}", String::from_utf8(body).unwrap());
                of_thread.lock().push(asked.clone());
                let (status, document) = answer(&asked);
                let reply = format!(
                    "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{document}",
                    document.len()
                );
                let _ = stream.write_all(reply.as_bytes());
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(NOW));
        let sign_in = SignIn {
            service,
            addresses: Addresses::at(&format!("{origin} {origin}/api")),
            ins: SignIns {
                folder: folder.path().join("state/signin"),
                tls: Tls::new(None).unwrap(),
                clock: Clock::Hand(now.clone()),
            },
            proxy: None,
        };
        Self {
            _folder: folder,
            sign_in,
            now,
            log,
        }
    }

    /// A site with a sign-in that expires in so many seconds.
    fn signed_in(
        service: Service,
        seconds: i64,
        answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let site = Self::new(service, answer);
        file_with(&site, "old", "refresh-canary-1", NOW + seconds * 1000);
        site
    }

    fn access(&self) -> std::result::Result<String, Failure> {
        let access = self.sign_in.access(&Cancel::new())?;
        Ok(access.token.expose().to_owned())
    }

    fn asked(&self) -> usize {
        self.log.lock().len()
    }
}

fn file_with(site: &Site, token: &str, refresh: &str, expires: i64) {
    let _lock = site.sign_in.lock(&Cancel::new()).unwrap();
    let stored = Stored {
        token: Secret::new(token),
        refresh: Secret::new(refresh),
        expires,
        account: "acct-1".to_owned(),
        api: String::new(),
    };
    site.sign_in.write(&stored).unwrap();
}

/// A token with an account.
fn token_of(account: &str) -> String {
    let claims = json!({"https://api.openai.com/auth": {"chatgpt_account_id": account}, "iat": 10, "exp": 610});
    format!("h.{}.s", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()))
}

fn text_of(failure: Failure) -> String {
    match failure {
        Failure::SignedOut(text) => format!("signed out: {text}"),
        Failure::Failed(error) => format!("failed: {error}"),
    }
}

#[test]
fn only_the_whole_address_of_this_login_ends_it() {
    let site = Site::new(Service::Codex, |_| (500, String::new()));
    let login = Login::begin(&site.sign_in).unwrap();
    let state = login.state();
    let code = |pasted: &str| login.code(pasted).map(|code| code.expose().to_owned());
    let good = format!("http://localhost:1455/auth/callback?code=ac_1.x&scope=a+b&state={state}");
    let (first, second) = good.split_at(30);
    for pasted in [
        good.clone(),
        format!("\n  {good}\r\n"),
        format!("{first} \n {second}"),
        format!("{good}#_=_"),
    ] {
        assert_eq!(code(&pasted).as_deref(), Ok("ac_1.x"), "{pasted}");
    }
    for pasted in [
        String::new(),
        "ac_1.x".to_owned(),
        format!("code=ac_1.x&state={state}"),
        good.replace(state, "other"),
        good.split('&').next().unwrap().to_owned(),
        format!("{good}&state={state}"),
        format!("{good}&code=ac_2"),
        format!("http://localhost:1455/auth/callback?state={state}"),
        format!("http://localhost:1455/auth/callback?code=&state={state}"),
        format!("http://localhost:1455/auth/callback?code=%0A%20&state={state}"),
        format!(
            "http://localhost:1455/auth/callback?code={}&state={state}",
            "x".repeat(10_000)
        ),
        // Of another login, which cannot refuse this one.
        "http://localhost:1455/auth/callback?error=access_denied&state=other".to_owned(),
    ] {
        assert!(matches!(code(&pasted), Err(NotEnded::Again(_))), "{pasted}");
    }
    let refused =
        "http://localhost:1455/auth/callback?error=access_denied&error_description=No%0Away";
    let refused = code(&format!("{refused}&state={state}"));
    assert_eq!(
        refused,
        Err(NotEnded::Refused("access_denied No way".to_owned()))
    );
    assert_eq!(site.asked(), 0);
}

#[test]
fn a_login_stores_what_came_for_its_owner_only() {
    let token = token_of("acct-7");
    let body = json!({"access_token": token, "refresh_token": "r-1", "token_type": "Bearer"});
    let site = Site::new(Service::Codex, move |_| (200, body.to_string()));
    assert!(!site.sign_in.is_there());
    let login = Login::begin(&site.sign_in).unwrap();
    assert_eq!(
        form::value_of(login.url(), "code_challenge_method").unwrap(),
        "S256"
    );
    login.finish(&Secret::new("c-1"), &Cancel::new()).unwrap();
    assert!(site.log.lock()[0].contains("code=c-1&code_verifier="));
    let stored = site.sign_in.read();
    assert_eq!(
        (stored.account.as_str(), stored.refresh.expose()),
        ("acct-7", "r-1")
    );
    // The token itself says for how long it is good.
    assert_eq!(stored.expires, NOW + 600_000);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    let folder = &site.sign_in.ins.folder;
    assert_eq!(mode(folder) & 0o777, 0o700);
    assert_eq!(mode(&folder.join("openai-codex.json")) & 0o777, 0o600);
    let access = site.sign_in.access(&Cancel::new()).unwrap();
    assert!(
        access
            .headers
            .contains(&("chatgpt-account-id", "acct-7".to_owned()))
    );
    assert!(!format!("{:?} {stored:?}", site.sign_in).contains("r-1"));
}

#[test]
fn a_token_is_renewed_shortly_before_its_end_by_one_alone() {
    let spent = Mutex::new(false);
    let site = Site::signed_in(Service::Codex, 3600, move |asked| {
        let is_first = !std::mem::replace(&mut *spent.lock(), true);
        match is_first && asked.contains("refresh_token=refresh-canary-1") {
            true => {
                let body =
                    json!({"access_token": "new", "refresh_token": "r-2", "expires_in": 3600});
                (200, body.to_string())
            }
            false => (400, json!({"error": "invalid_grant"}).to_string()),
        }
    });
    assert_eq!(site.access().unwrap(), "old");
    site.now.fetch_add(3_500_000, Ordering::Relaxed);
    thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| site.access().unwrap()))
            .collect();
        for one in all {
            assert_eq!(one.join().unwrap(), "new");
        }
    });
    assert_eq!(site.asked(), 1);
    assert_eq!(site.sign_in.read().account, "acct-1");
    // Who was refused with the old one finds the new one.
    site.sign_in
        .renew(&Secret::new("old"), &Cancel::new())
        .unwrap();
    assert_eq!((site.access().unwrap().as_str(), site.asked()), ("new", 1));
}

#[test]
fn a_refused_renewal_is_said_once_and_never_asked_for_again() {
    for answer in [
        (
            400,
            json!({"error": "invalid_grant", "error_description": "refresh-canary-1 is gone"}),
        ),
        (
            401,
            json!({"error": {"code": "refresh_token_reused", "message": "refresh-canary-1"}}),
        ),
        (401, json!({"detail": "no"})),
    ] {
        let body = (answer.0, answer.1.to_string());
        let site = Site::signed_in(Service::Codex, 60, move |_| body.clone());
        // It is good for another minute.
        assert_eq!(site.access().unwrap(), "old");
        assert_eq!(site.access().unwrap(), "old");
        assert_eq!(site.asked(), 1);
        let refused = site
            .sign_in
            .renew(&Secret::new("old"), &Cancel::new())
            .unwrap_err();
        let text = text_of(refused);
        assert!(text.starts_with("signed out: it has expired"), "{text}");
        assert!(!site.sign_in.is_there());
        assert_eq!(text_of(site.access().unwrap_err()), "signed out: ");
        assert_eq!(site.asked(), 1);

        let site = Site::signed_in(Service::Codex, 3600, move |_| {
            (answer.0, answer.1.to_string())
        });
        let text = text_of(
            site.sign_in
                .renew(&Secret::new("old"), &Cancel::new())
                .unwrap_err(),
        );
        assert!(text.starts_with("signed out: its server"), "{text}");
        assert!(!text.contains("canary"), "{text}");
        assert!(!site.sign_in.is_there());
    }
}

#[test]
fn a_server_in_trouble_costs_no_sign_in() {
    for (status, body) in [
        (500, "oops".to_owned()),
        (503, json!({"error": "invalid_grant"}).to_string()),
        (429, json!({"error": "slow"}).to_string()),
        (403, "<html>a portal refresh-canary-1</html>".to_owned()),
        (401, "<html>a proxy</html>".to_owned()),
        (302, String::new()),
        (200, "<html>a portal</html>".to_owned()),
        (200, "{}".to_owned()),
        (200, json!({"access_token": "a b"}).to_string()),
        (200, json!({"access_token": "x".repeat(9000)}).to_string()),
        (200, "x".repeat(ANSWER_BYTES * 160)),
        (400, "x".repeat(ANSWER_BYTES * 160)),
    ] {
        let about = format!("{status} {:.40}", body);
        let site = Site::signed_in(Service::Codex, 60, move |_| (status, body.clone()));
        assert_eq!(site.access().unwrap(), "old", "{about}");
        let text = text_of(
            site.sign_in
                .renew(&Secret::new("old"), &Cancel::new())
                .unwrap_err(),
        );
        assert!(
            text.starts_with("failed: ") && !text.contains("canary"),
            "{about}: {text}"
        );
        assert!(text.len() < 600, "{about}: {text}");
        assert_eq!(
            site.sign_in.read().refresh.expose(),
            "refresh-canary-1",
            "{about}"
        );
    }
}

#[test]
fn a_clock_that_was_never_set_expires_nothing() {
    let site = Site::signed_in(Service::Codex, -50, |_| {
        let body = json!({"access_token": "new", "refresh_token": "r-2", "expires_in": 3600});
        (200, body.to_string())
    });
    site.now.store(5_000, Ordering::Relaxed);
    assert_eq!((site.access().unwrap().as_str(), site.asked()), ("old", 0));
    site.sign_in
        .renew(&Secret::new("old"), &Cancel::new())
        .unwrap();
    assert_eq!(site.sign_in.read().expires, 0);
    site.now.store(NOW, Ordering::Relaxed);
    assert_eq!((site.access().unwrap().as_str(), site.asked()), ("new", 1));
}

#[test]
fn a_token_never_goes_to_a_server_that_an_answer_or_a_file_names() {
    for (named, is_taken) in [
        ("HERE/copilot", true),
        ("https://evil.example", false),
        ("https://api.githubcopilot.com.evil.example", false),
        ("https://evilgithubcopilot.com", false),
        ("https://evil.example/?x=.githubcopilot.com", false),
        ("https://a@evil.example#.githubcopilot.com", false),
        ("http://api.githubcopilot.com", false),
        ("https://api.business.githubcopilot.com/", true),
    ] {
        let site = Site::signed_in(Service::Copilot, 60, move |asked| {
            assert!(
                asked.starts_with("GET /copilot_internal/v2/token"),
                "{asked}"
            );
            let body = json!({"token": "short", "refresh_in": 1500, "endpoints": {"api": named}});
            (200, body.to_string())
        });
        let here = site.sign_in.addresses.issuer.clone();
        let taken = named.replace("HERE", &here);
        assert_eq!(
            site.sign_in
                .addresses
                .may_be_api(taken.trim_end_matches('/')),
            is_taken,
            "{named}"
        );
        let access = site.sign_in.access(&Cancel::new()).unwrap();
        assert_eq!(access.token.expose(), "short");
        let expected = match is_taken && !named.contains("HERE") {
            true => "https://api.business.githubcopilot.com".to_owned(),
            false => format!("{here}/api"),
        };
        assert_eq!(access.base, expected, "{named}");
    }
    // Nor is a sign-in of one server used at another.
    let site = Site::signed_in(Service::Codex, 3600, |_| (500, String::new()));
    let elsewhere = SignIn {
        addresses: Addresses::at("http://127.0.0.1:9"),
        ..site.sign_in.clone()
    };
    assert!(!elsewhere.is_there());
    std::fs::write(
        site.sign_in.ins.folder.join("openai-codex.json"),
        "{\"token\": \"",
    )
    .unwrap();
    assert!(!site.sign_in.is_there());
}

#[test]
fn a_sign_in_is_forgotten_whatever_its_server_says() {
    for status in [200, 500] {
        let site = Site::signed_in(Service::Codex, 3600, move |_| (status, "{}".to_owned()));
        assert!(site.sign_in.forget(&Cancel::new()).unwrap());
        assert!(site.log.lock()[0].contains("refresh-canary-1"));
        assert!(!site.sign_in.is_there());
        assert!(!site.sign_in.forget(&Cancel::new()).unwrap());
        assert_eq!(site.asked(), 1);
    }
}

#[test]
fn an_account_without_copilot_is_named_as_such_and_not_stored() {
    let site = Site::new(Service::Copilot, |asked| {
        match asked {
        _ if asked.contains("/login/device/code") => (
            200,
            // Only a page of the same site is shown.
            json!({"device_code": "d", "user_code": "A-1", "verification_uri": "https://evil.example/"})
                .to_string(),
        ),
        _ => (403, json!({"error_details": {"message": "No access"}}).to_string()),
    }
    });
    assert!(copilot::Device::begin(&site.sign_in, &Cancel::new()).is_err());
    let web = Web::new(&site.sign_in, &Cancel::new()).unwrap();
    let failure = copilot::exchange(&site.sign_in, &web, &Secret::new("gh")).unwrap_err();
    let text = text_of(failure);
    assert!(text.contains("no access to Copilot (No access)"), "{text}");
    assert!(!site.sign_in.is_there());
}

#[test]
fn what_a_sign_in_server_quotes_of_a_token_is_not_shown() {
    let lasting = "gho_lasting-canary-1";
    for status in [400, 401, 403, 404, 500] {
        let site = Site::new(Service::Copilot, move |_| {
            let said = format!("{}\nyou sent {lasting}", "x".repeat(240));
            (
                status,
                json!({"message": said, "error_details": {"message": said}}).to_string(),
            )
        });
        let secret = Secret::new(lasting);
        let web = Web::new(&site.sign_in, &Cancel::new()).unwrap();
        let web = web.hiding([&secret]);
        let failure = copilot::exchange(&site.sign_in, &web, &secret).unwrap_err();
        let text = text_of(failure);
        assert!(!text.contains("gho_") && !text.contains('\n'), "{text}");
        assert!(text.contains("you sent"), "{text}");
        let fault = web.fault(&format!("a\nb {lasting}")).to_string();
        assert!(fault.ends_with(": a b [secret]"), "{fault}");
    }
}
