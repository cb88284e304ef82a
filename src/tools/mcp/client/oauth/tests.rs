use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::*;
use crate::base::clock::Clock;
use crate::base::sync::Mutex;
use crate::config::schema::McpServer;
use crate::net::http::Tls;
use crate::net::http::address;
use crate::net::http::oauth::form;
use crate::tools::mcp::client::http::Http;
use crate::tools::mcp::client::transport::{Incoming, Outgoing, Transport};

type Log = Arc<Mutex<Vec<String>>>;

/// A server that is its own authorization server: `change` makes something else of its documents, which it
/// gets by their paths. What it was asked is logged: method, path and body.
struct Site {
    folder: tempfile::TempDir,
    parts: HttpParts,
    now: Arc<AtomicI64>,
    log: Log,
}

impl Site {
    fn new(change: impl Fn(&str, Value) -> Value + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let log = Log::default();
        let (of_thread, here) = (log.clone(), origin.clone());
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut length) = (String::new(), 0);
                let mut line = String::new();
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
                let mut words = head.split(' ');
                let (method, path) = (words.next().unwrap(), words.next().unwrap_or_default());
                let body = String::from_utf8(body).unwrap();
                of_thread.lock().push(format!("{method} {path} {body}"));
                let sent = body;
                let (status, extra, document) = page(&here, path, (&head, &sent), &change);
                let reply = format!(
                    "HTTP/1.1 {status} x\r\nconnection: close\r\n{extra}content-length: {}\r\n\r\n{document}",
                    document.len()
                );
                let _ = stream.write_all(reply.as_bytes());
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_800_000_000_000));
        let parts = HttpParts {
            name: "lamp".to_owned(),
            server: McpServer {
                url: format!("{origin}/mcp"),
                ..McpServer::default()
            },
            tls: Tls::new(None).unwrap(),
            logins: folder.path().join("state/mcp"),
            clock: Clock::Hand(now.clone()),
        };
        Self {
            folder,
            parts,
            now,
            log,
        }
    }

    fn begin(&self) -> Result<Login> {
        Login::begin(&self.parts, None, &Cancel::new())
    }

    fn log_in(&self) {
        let mut login = self.begin().unwrap();
        let state = form::value_of(login.url(), "state").unwrap();
        let address = format!("http://127.0.0.1/callback?code=c-1&state={state}");
        login.finish(&address, &Cancel::new()).unwrap();
    }

    fn token(&self) -> Option<String> {
        let token = token(&self.parts, &Cancel::new()).unwrap();
        token.map(|token| token.expose().to_owned())
    }

    fn file(&self) -> String {
        let path = self.folder.path().join("state/mcp/lamp.login.json");
        std::fs::read_to_string(path).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock())
    }
}

fn page(
    here: &str,
    path: &str,
    (head, body): (&str, &str),
    change: &dyn Fn(&str, Value) -> Value,
) -> (u16, String, String) {
    let document = match path {
        "/mcp" if head.contains("Bearer t-") || head.contains("bearer t-") => {
            return (
                200,
                "content-type: application/json\r\n".to_owned(),
                change("/mcp answers", json!({})).to_string(),
            );
        }
        "/mcp" => {
            let value = change(path, json!(format!("{here}/meta")));
            let value = value.as_str().unwrap();
            let header = format!(
                "WWW-Authenticate: Bearer resource_metadata=\"{value}\", scope=\"on off\"\r\n"
            );
            return (401, header, String::new());
        }
        "/meta" => json!({"resource": format!("{here}/mcp"), "authorization_servers": [here]}),
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": here,
            "authorization_endpoint": format!("{here}/authorize"),
            "token_endpoint": format!("{here}/token"),
            "registration_endpoint": format!("{here}/register"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }),
        "/register" => json!({"client_id": "client-1"}),
        "/token" => json!({
            "access_token": "t-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r-1",
        }),
        _ => return (404, String::new(), String::new()),
    };
    let document = match change(path, document) {
        Value::Number(status) => {
            return (
                status.as_u64().unwrap() as u16,
                String::new(),
                match status.as_u64() {
                    Some(418) => quoting(head, body),
                    Some(429) => r#"{"error":"slow_down"}"#.to_owned(),
                    _ => r#"{"error":"invalid_grant"}"#.to_owned(),
                },
            );
        }
        Value::String(text) => text,
        document => document.to_string(),
    };
    (200, String::new(), document)
}

/// A refusal that quotes what is secret of a request.
fn quoting(head: &str, body: &str) -> String {
    let mut lines = head.lines();
    let login = lines.find(|line| line.to_ascii_lowercase().starts_with("authorization"));
    let said = format!("got {} {body}", login.unwrap_or_default());
    json!({"error": "invalid_request", "error_description": said}).to_string()
}

fn as_it_is(_: &str, document: Value) -> Value {
    document
}

#[test]
fn a_login_ends_with_a_token_that_only_its_owner_can_read() {
    let site = Site::new(as_it_is);
    assert_eq!(site.token(), None);
    let login = site.begin().unwrap();
    let url = login.url().to_owned();
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "client-1"),
        ("code_challenge_method", "S256"),
        ("scope", "on off"),
        ("resource", &site.parts.server.url),
    ] {
        assert_eq!(form::value_of(&url, name).as_deref(), Some(value), "{url}");
    }
    let asked = site.asked();
    assert!(
        asked[3].contains(r#""application_type":"native""#),
        "{asked:?}"
    );
    site.log_in();
    let asked = site.asked();
    let sent = asked.last().unwrap();
    assert!(
        sent.starts_with("POST /token grant_type=authorization_code&code=c-1&"),
        "{sent}"
    );
    assert!(
        sent.contains("&code_verifier=") && sent.contains("&resource=http"),
        "{sent}"
    );
    assert_eq!(site.token().as_deref(), Some("t-1"));
    let path = site.folder.path().join("state/mcp/lamp.login.json");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The same client, when one logs in once more.
    site.begin().unwrap();
    assert!(
        !site
            .asked()
            .iter()
            .any(|one| one.starts_with("POST /register"))
    );
    assert!(forget(&site.parts.logins, "lamp").unwrap());
    assert!(!forget(&site.parts.logins, "lamp").unwrap());
    assert_eq!(site.token(), None);
}

#[test]
fn a_token_goes_only_to_the_address_that_it_is_for() {
    let mut site = Site::new(as_it_is);
    site.log_in();
    site.parts.server.url.push_str("/other");
    assert_eq!(site.token(), None);
}

#[test]
fn an_expired_token_is_renewed_once_where_that_is_possible() {
    let site = Site::new(|path, document| match path {
        "/token" => json!({"access_token": "t-2", "token_type": "bearer", "expires_in": "60"}),
        _ => document,
    });
    site.log_in();
    store::update(&site.parts, |stored| {
        stored.refresh = "r-0".to_owned();
        stored.token = "t-0".to_owned();
    })
    .unwrap();
    assert_eq!(site.token().as_deref(), Some("t-0"), "it is still good");
    site.now.fetch_add(61_000, Ordering::Relaxed);
    site.asked();
    for _ in 0..2 {
        assert_eq!(site.token().as_deref(), Some("t-2"));
    }
    let asked = site.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(
        asked[0].starts_with("POST /token grant_type=refresh_token&refresh_token=r-0&"),
        "{asked:?}"
    );
    assert!(
        site.file().contains("r-0"),
        "servers that do not replace it leave it out"
    );
    store::update(&site.parts, |stored| stored.refresh.clear()).unwrap();
    site.now.fetch_add(61_000, Ordering::Relaxed);
    assert_eq!(
        site.token().as_deref(),
        Some("t-2"),
        "the server says whether it is over"
    );
    assert_eq!(site.asked(), Vec::<String>::new());
}

#[test]
fn a_renewal_that_is_refused_ends_the_login() {
    let site = Site::new(|path, document| match path {
        "/token" => json!(400),
        _ => document,
    });
    store::update(&site.parts, |stored| {
        stored.token_endpoint = site.parts.server.url.replace("/mcp", "/token");
        stored.refresh = "r-0".to_owned();
        stored.token = "t-0".to_owned();
    })
    .unwrap();
    let old = Secret::new("t-0");
    let refused = Refused {
        status: 401,
        challenge: Challenge {
            scope: "on".to_owned(),
            ..Challenge::default()
        },
        token: Some(&old),
        is_second: false,
    };
    assert!(!renew(&site.parts, &refused, &Cancel::new()).unwrap());
    assert_eq!(site.token(), None);
    assert!(!site.file().contains("r-0"));
    assert_eq!(store::read(&site.parts).challenge.scope, "on");
}

#[test]
fn rights_that_are_refused_again_and_again_end_the_tries() {
    let site = Site::new(as_it_is);
    site.log_in();
    let token = Secret::new("t-1");
    let refuse = |scope: &str| {
        let challenge = Challenge {
            scope: scope.to_owned(),
            is_insufficient: true,
            ..Challenge::default()
        };
        let refused = Refused {
            status: 403,
            challenge,
            token: Some(&token),
            is_second: false,
        };
        renew(&site.parts, &refused, &Cancel::new())
    };
    assert!(!refuse("dim").unwrap(), "a new right");
    let url = site.begin().unwrap().url().to_owned();
    assert_eq!(form::value_of(&url, "scope").unwrap(), "on off dim");
    assert!(
        !refuse("on").unwrap(),
        "it was asked for, and may come with the next login"
    );
    let error = refuse("on").unwrap_err().to_string();
    assert!(error.contains("again and again"), "{error}");
    site.now.fetch_add(3_600_000, Ordering::Relaxed);
    assert!(!refuse("on").unwrap(), "an hour later");
}

/// What `begin` says about a server that is changed in this way.
fn refusal_of(change: impl Fn(&str, Value) -> Value + Send + 'static) -> String {
    let site = Site::new(change);
    let error = site.begin().err().expect("it is refused").to_string();
    let asked = site.asked();
    assert!(
        !asked.iter().any(|one| one.contains("/register")),
        "{asked:?}"
    );
    error
}

#[test]
fn addresses_that_a_server_names_are_checked_before_they_are_used() {
    let not_used = "which is not used: only https is";
    let issuer = "/.well-known/oauth-authorization-server";
    for (page, member, value, expected) in [
        ("/mcp", "", json!("http://169.254.169.254/latest"), not_used),
        (
            "/mcp",
            "",
            json!("https://169.254.169.254/latest"),
            "is not allowed",
        ),
        ("/mcp", "", json!("file:///etc/passwd"), not_used),
        (
            "/meta",
            "authorization_servers",
            json!(["http://auth.example"]),
            not_used,
        ),
        (
            "/meta",
            "authorization_servers",
            json!([]),
            "names no authorization server",
        ),
        (
            "/meta",
            "resource",
            json!("https://evil.example/mcp"),
            "about another server",
        ),
        (
            issuer,
            "issuer",
            json!("https://evil.example"),
            "are of another one",
        ),
        (
            issuer,
            "token_endpoint",
            json!("http://evil.example/token"),
            not_used,
        ),
        (
            issuer,
            "authorization_endpoint",
            json!("javascript:alert(1)"),
            not_used,
        ),
        (
            issuer,
            "code_challenge_methods_supported",
            json!(["plain"]),
            "PKCE",
        ),
        (
            issuer,
            "code_challenge_methods_supported",
            json!(null),
            "PKCE",
        ),
    ] {
        let changed = value.clone();
        let error = refusal_of(move |path, mut document| {
            match (path == page, member) {
                (true, "") => document = changed.clone(),
                (true, member) => document[member] = changed.clone(),
                _ => {}
            }
            document
        });
        assert!(error.contains(expected), "{value}: {error}");
    }
}

#[test]
fn a_server_for_programs_only_opens_no_browser() {
    let programs_only = |path: &str, mut document: Value| {
        if path == "/.well-known/oauth-authorization-server" {
            document["grant_types_supported"] = json!(["client_credentials"]);
            document["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
            document
                .as_object_mut()
                .unwrap()
                .remove("authorization_endpoint");
        }
        document
    };
    let said = refusal_of(programs_only);
    assert!(
        said.contains("client_credentials") && said.contains("tools.mcpServers.lamp.clientSecret"),
        "{said}"
    );
    let mut site = Site::new(programs_only);
    assert!(
        !log_in_alone(&site.parts, &Cancel::new()).unwrap(),
        "no client is set"
    );
    site.parts.server.client_id = "board".to_owned();
    site.parts.server.client_secret = Secret::new("s-1");
    // Another server could name any place to send the secret to.
    let issuer = site.parts.server.url.replace("/mcp", "");
    for (configured, expected) in [
        ("", "set tools.mcpServers.lamp.issuer"),
        ("https://other.test", "is another one"),
    ] {
        site.parts.server.issuer = configured.to_owned();
        let refused = log_in_alone(&site.parts, &Cancel::new())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains(expected) && refused.contains(&issuer),
            "{refused}"
        );
    }
    assert!(!site.asked().iter().any(|one| one.contains("s-1")));
    site.parts.server.issuer = issuer;
    assert!(log_in_alone(&site.parts, &Cancel::new()).unwrap());
    assert_eq!(site.token().as_deref(), Some("t-1"));
    let asked = site.asked();
    assert!(
        asked
            .iter()
            .any(|one| one.contains("grant_type=client_credentials")),
        "{asked:?}"
    );
    let mut site = Site::new(as_it_is);
    site.parts.server.client_id = "board".to_owned();
    site.parts.server.client_secret = Secret::new("s-1");
    assert!(
        !log_in_alone(&site.parts, &Cancel::new()).unwrap(),
        "it has a page for people"
    );
}

#[test]
fn documents_that_are_too_large_or_no_documents_are_refused() {
    let error = refusal_of(|path, document| match path {
        "/meta" => json!("x".repeat(300 * 1024)),
        _ => document,
    });
    assert!(error.contains("larger than the limit"), "{error}");
    let error = refusal_of(|path, document| match path {
        "/meta" => json!("[[[["),
        _ => document,
    });
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn only_the_end_of_this_login_ends_it() {
    let site = Site::new(|path, mut document| {
        if path.contains("well-known") {
            document["authorization_response_iss_parameter_supported"] = json!(true);
        }
        document
    });
    let origin = metadata::origin(&site.parts.server.url);
    for (query, expected) in [
        (
            "code=c&state=other",
            "not the address at which this login ended",
        ),
        ("code=c", "not the address at which this login ended"),
        ("code=c&state=STATE", "another authorization server"),
        (
            "code=c&state=STATE&iss=https%3A%2F%2Fevil.example",
            "another authorization server",
        ),
        // What another server says is not shown.
        (
            "error=evil&state=STATE&iss=https%3A%2F%2Fevil.example",
            "another authorization server",
        ),
        (
            "error=access_denied&error_description=No%07&state=STATE&iss=ISS",
            "access_denied: No",
        ),
        ("state=STATE&iss=ISS", "contains no code"),
        ("code=c&state=STATE&iss=ISS&state=STATE", "a value twice"),
        ("state=other&code=c&state=STATE&iss=ISS", "a value twice"),
        ("code=c&code=evil&state=STATE&iss=ISS", "a value twice"),
        (
            "code=c&state=STATE&iss=https%3A%2F%2Fevil.example&iss=ISS",
            "a value twice",
        ),
        ("code=c&state=STATE&%69ss=evil&iss=ISS", "a value twice"),
    ] {
        let mut login = site.begin().unwrap();
        let state = form::value_of(login.url(), "state").unwrap();
        site.asked();
        let query = query
            .replace("STATE", &state)
            .replace("ISS", &address::percent_encode(&origin));
        let address = format!("http://127.0.0.1:38389/callback?{query}");
        let error = login
            .finish(&address, &Cancel::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(expected) && !error.contains('\u{7}'),
            "{query}: {error}"
        );
        assert!(!login.is_used(), "another address may be the right one");
        assert_eq!(site.asked(), Vec::<String>::new(), "nothing was sent");
    }
}

/// An issuer that gives out tokens elsewhere than before gets neither the secret nor the client that it had.
#[test]
fn a_secret_goes_to_no_other_place_than_before() {
    let is_moved = Arc::new(AtomicI64::new(0));
    let moved = is_moved.clone();
    let mut site = Site::new(move |path, mut document| {
        if path.contains("well-known") && moved.load(Ordering::Relaxed) > 0 {
            document["token_endpoint"] = json!("http://127.0.0.2:9/token");
        }
        document
    });
    let registered = |site: &Site| {
        let asked = site.asked();
        asked.iter().any(|one| one.starts_with("POST /register"))
    };
    site.log_in();
    assert!(registered(&site));
    site.begin().unwrap();
    assert!(!registered(&site), "it is known there");
    is_moved.store(1, Ordering::Relaxed);
    site.begin().unwrap();
    assert!(registered(&site), "it is not known at the other place");

    is_moved.store(0, Ordering::Relaxed);
    site.parts.server.client_id = "own".to_owned();
    site.parts.server.client_secret = Secret::new("canary");
    site.log_in();
    is_moved.store(1, Ordering::Relaxed);
    let error = site.begin().map(drop).unwrap_err().to_string();
    assert!(error.contains("where that gives out tokens"), "{error}");
}

const ISSUER: &str = "/.well-known/oauth-authorization-server";

/// The page may be a genuine one of somebody else's, and who sees it logs in.
#[test]
fn a_configured_client_is_used_only_where_the_page_is_too() {
    let mut site = Site::new(|path, mut document| {
        if path == ISSUER {
            document["authorization_endpoint"] = json!("http://127.0.0.2:9/authorize");
            document["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
            document["client_id_metadata_document_supported"] = json!(true);
        }
        document
    });
    site.begin().unwrap();
    let issuer = site.parts.server.url.replace("/mcp", "");
    for (id, secret) in [
        ("own", "canary"),
        ("own", ""),
        ("https://own.example/client.json", "canary"),
    ] {
        site.parts.server.client_id = id.to_owned();
        site.parts.server.client_secret = Secret::new(secret);
        site.parts.server.issuer.clear();
        let refused = site.begin().map(drop).unwrap_err().to_string();
        let advice = format!("set tools.mcpServers.lamp.issuer to {issuer}");
        assert!(refused.contains(&advice), "{refused}");
        assert!(refused.contains("http://127.0.0.2:9"), "{refused}");
        site.parts.server.issuer.clone_from(&issuer);
        site.begin().unwrap();
    }
    let asked = site.asked();
    assert!(!asked.iter().any(|one| one.contains("canary")), "{asked:?}");
}

/// What was let go to an issuer for one client says nothing about the secret of another.
#[test]
fn the_login_of_another_client_vouches_for_no_issuer() {
    let stage = Arc::new(AtomicI64::new(0));
    let other = Site::new(as_it_is);
    let (there, of_site) = (other.parts.server.url.replace("/mcp", ""), stage.clone());
    let mut site = Site::new(move |path, mut document| {
        let stage = of_site.load(Ordering::Relaxed);
        if path == "/meta" && stage == 1 {
            document["authorization_servers"] = json!([there]);
        }
        if path == ISSUER {
            document["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
        }
        if path == ISSUER && stage == 2 {
            document["grant_types_supported"] = json!(["client_credentials"]);
        }
        document
    });
    let uses = |site: &mut Site, id: &str| {
        site.parts.server.client_id = id.to_owned();
        site.parts.server.client_secret = Secret::new(&format!("secret-of-{id}"));
    };
    uses(&mut site, "first");
    site.log_in();
    uses(&mut site, "second");
    for now in 1..=2 {
        stage.store(now, Ordering::Relaxed);
        let refused = match now {
            1 => site.begin().map(drop),
            _ => log_in_alone(&site.parts, &Cancel::new()).map(drop),
        };
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("set tools.mcpServers.lamp.issuer"),
            "{refused}"
        );
    }
    let asked = [site.asked(), other.asked()].concat();
    assert!(
        !asked.iter().any(|one| one.contains("secret-of-second")),
        "{asked:?}"
    );
}

/// A server that registers clients makes up their ids.
#[test]
fn a_registered_client_with_the_configured_id_does_not_get_the_secret() {
    let id = "https://own.example/client.json";
    let mut site = Site::new(move |path, mut document| {
        if path == ISSUER {
            document["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
        }
        match path {
            "/register" => json!({"client_id": id, "client_secret": "made-up"}),
            _ => document,
        }
    });
    site.parts.server.client_id = id.to_owned();
    site.parts.server.client_secret = Secret::new("canary");
    site.log_in();
    site.now.fetch_add(7_200_000, Ordering::Relaxed);
    site.token();
    let asked = site.asked();
    let sent: Vec<_> = asked
        .iter()
        .filter(|one| one.starts_with("POST /token"))
        .collect();
    assert_eq!(sent.len(), 2, "the login and its renewal: {asked:?}");
    assert!(sent.iter().all(|one| one.contains("made-up")), "{sent:?}");
    assert!(!asked.iter().any(|one| one.contains("canary")), "{asked:?}");
}

#[test]
fn a_token_that_cannot_be_used_is_not_stored() {
    for reply in [
        json!("garbage \u{7}"),
        json!({"access_token": "a\r\nx: y"}),
        json!({"access_token": "a", "token_type": "mac"}),
        json!({"access_token": "x".repeat(9000)}),
        json!(["a"]),
        json!(400),
    ] {
        let site = Site::new(move |path, document| match path {
            "/token" => reply.clone(),
            _ => document,
        });
        let mut login = site.begin().unwrap();
        let state = form::value_of(login.url(), "state").unwrap();
        let address = format!("code=c&state={state}");
        login.finish(&address, &Cancel::new()).unwrap_err();
        assert_eq!(site.token(), None);
    }
}

#[test]
fn a_renewal_that_fails_for_a_while_does_not_end_the_login() {
    let site = Site::new(|path, document| match path {
        "/token" => json!(429),
        _ => document,
    });
    store::update(&site.parts, |stored| {
        stored.token_endpoint = site.parts.server.url.replace("/mcp", "/token");
        stored.refresh = "r-0".to_owned();
        stored.token = "t-0".to_owned();
        stored.expires = 1;
    })
    .unwrap();
    let error = token(&site.parts, &Cancel::new())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("slow_down"), "{error}");
    assert!(site.file().contains("r-0"));
}

#[test]
fn a_login_that_is_forgotten_during_its_renewal_stays_forgotten() {
    let logins = Arc::new(Mutex::new(std::path::PathBuf::new()));
    let of_server = Arc::clone(&logins);
    let site = Site::new(move |path, document| {
        if path == "/token" {
            assert!(forget(&of_server.lock(), "lamp").unwrap());
        }
        document
    });
    logins.lock().clone_from(&site.parts.logins);
    store::update(&site.parts, |stored| {
        stored.token_endpoint = site.parts.server.url.replace("/mcp", "/token");
        stored.refresh = "r-0".to_owned();
        stored.token = "t-0".to_owned();
        stored.expires = 1;
    })
    .unwrap();
    assert_eq!(site.token(), None);
    assert!(!has_token(&site.parts));
}

#[test]
fn two_processes_do_not_renew_a_login_at_once() {
    let site = Site::new(as_it_is);
    let first = store::begin_renewing(&site.parts, &Cancel::new()).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(store::begin_renewing(&site.parts, &cancel).is_err());
    let mut other = site.parts.clone();
    other.name = "door".to_owned();
    store::begin_renewing(&other, &cancel).unwrap();
    drop(first);
    store::begin_renewing(&site.parts, &cancel).unwrap();
}

#[test]
fn a_login_asks_for_rights_within_a_bound_and_stores_only_what_can_be_read() {
    let site = Site::new(|path, mut document| {
        if path == "/mcp" {
            return document;
        }
        if path == "/meta" {
            let all: Vec<String> = (0..9999).map(|one| format!("right-{one}")).collect();
            document["scopes_supported"] = json!(all);
        }
        document
    });
    store::update(&site.parts, |stored| {
        stored.challenge.metadata = site.parts.server.url.replace("/mcp", "/meta");
    })
    .unwrap();
    let url = site.begin().unwrap().url().to_owned();
    let scope = form::value_of(&url, "scope").unwrap();
    assert!(scope.len() <= SCOPE_BYTES, "{}", scope.len());
    assert!(scope.contains("right-1 "));
    let before = site.file();
    let outcome = store::update(&site.parts, |stored| stored.scope = "x".repeat(70_000));
    assert!(
        matches!(outcome, Err(Error::TooLarge { .. })),
        "{outcome:?}"
    );
    assert_eq!(site.file(), before);
}

#[test]
fn what_an_authorization_server_quotes_is_not_shown() {
    let is_bad = Arc::new(AtomicI64::new(0));
    let of_site = is_bad.clone();
    let site = |method: &'static str| {
        let is_bad = of_site.clone();
        Site::new(move |path, mut document| {
            match path {
                "/token" if is_bad.load(Ordering::Relaxed) > 0 => return json!(418),
                "/token" => {
                    document["access_token"] = json!("t-canary/access+1");
                    document["refresh_token"] = json!("r-canary/refresh+1");
                }
                "/register" => document["client_secret"] = json!("s-canary/secret+1"),
                "/.well-known/oauth-authorization-server" => {
                    document["token_endpoint_auth_methods_supported"] = json!([method]);
                }
                _ => {}
            }
            document
        })
    };
    for method in ["client_secret_basic", "client_secret_post"] {
        let site = site(method);
        is_bad.store(1, Ordering::Relaxed);
        let mut login = site.begin().unwrap();
        let state = form::value_of(login.url(), "state").unwrap();
        let address = format!("http://127.0.0.1/callback?code=c-canary%2F1&state={state}");
        let error = login
            .finish(&address, &Cancel::new())
            .unwrap_err()
            .to_string();
        let sent = site.asked().pop().unwrap();
        let (_, form) = sent.rsplit_once(' ').unwrap();
        let verifier = form::value_of(&format!("http://a/?{form}"), "code_verifier").unwrap();
        assert!(error.contains("invalid_request: got"), "{error}");
        for secret in ["canary", &verifier, "Y2xpZW50", "Y2FuYXJ5"] {
            assert!(!error.contains(secret), "{method} {secret}: {error}");
        }
        is_bad.store(0, Ordering::Relaxed);
        site.log_in();
        is_bad.store(1, Ordering::Relaxed);
        site.now.fetch_add(4_000_000, Ordering::Relaxed);
        let error = token(&site.parts, &Cancel::new())
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("invalid_request: got"), "{error}");
        assert!(
            !error.contains("canary") && !error.contains("Y2FuYXJ5"),
            "{error}"
        );
    }
}

#[test]
fn what_a_server_quotes_of_its_login_reaches_no_one() {
    let site = Site::new(|path, mut document| {
        match path {
            "/token" => document["access_token"] = json!("t-canary-1234"),
            "/mcp answers" => {
                let text = "you are t-canary-1234, dC1jYW5hcnktMTIzNA==";
                document = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}});
            }
            _ => {}
        }
        document
    });
    site.log_in();
    let http = Http::new(site.parts.clone()).unwrap();
    let message = Outgoing {
        json: r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        method: "tools/call",
        name: Some("whoami"),
        parameters: &[],
        version: "2026-07-28",
    };
    let mut replies = http.request(1, &message, &Cancel::new()).unwrap();
    let came = replies.next(std::time::Duration::from_secs(30), &Cancel::new());
    let Incoming::Message(text) = came.unwrap() else {
        panic!("nothing came");
    };
    assert!(text.contains("you are [secret], [secret]"), "{text}");
}
