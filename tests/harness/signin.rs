//! A server that people sign in to with a subscription: OpenAI's OAuth with PKCE, and GitHub's device code with the
//! exchange for Copilot's token. Tokens for renewals can be used once.

use std::collections::{HashMap, HashSet};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::harness::PATIENCE;
use crate::harness::line::{Line, Rates};
use crate::harness::wire::{self, RawRequest};

/// The account of everybody here.
pub const ACCOUNT: &str = "acct-0123";
/// How every token here begins: none may be shown anywhere.
pub const CANARY: &str = "tok-canary-";

/// The running server.
#[derive(Clone)]
pub struct Site {
    url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Codes, with the challenge that each is bound to.
    codes: HashMap<String, String>,
    /// Tokens that models take.
    good: HashSet<String>,
    /// Tokens for renewals that were not used yet.
    refresh: HashSet<String>,
    count: usize,
    device: Device,
    /// Seconds for which tokens are good.
    lasts: u64,
    /// Where Copilot's models are, as the exchange says.
    api: String,
    asked: Vec<String>,
}

/// What the person at GitHub's page has done.
#[derive(Clone, Copy, Default)]
pub enum Device {
    /// Nothing.
    #[default]
    Pending,
    /// Entered the code.
    Approved,
    /// Declined.
    Denied,
}

impl Site {
    /// Starts it. Tokens are good for an hour.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let site = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            shared: Arc::default(),
        };
        site.state().lasts = 3600;
        let own = site.clone();
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let own = own.clone();
                thread::spawn(move || own.serve(socket));
            }
        });
        site
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }

    /// What it was asked for, oldest first: `POST /oauth/token refresh_token`.
    pub fn asked(&self, what: &str) -> usize {
        let state = self.state();
        state.asked.iter().filter(|one| one.contains(what)).count()
    }

    /// Waits until it was asked for something.
    pub fn wait_for(&self, what: &str) {
        let missing = |state: &mut State| !state.asked.iter().any(|one| one.contains(what));
        let waited = self
            .shared
            .changed
            .wait_timeout_while(self.state(), PATIENCE, missing);
        assert!(
            !waited.unwrap().1.timed_out(),
            "it was never asked for {what}"
        );
    }

    /// The person signs in at the page of a link. Returns the address at which the browser ends.
    pub fn approve(&self, link: &str) -> String {
        let query = link
            .strip_prefix(&format!("{}/oauth/authorize?", self.url))
            .unwrap();
        let query = pairs(query);
        for (name, value) in [
            ("client_id", "app_EMoamEEZ73f0CkXaXp7hrann"),
            ("code_challenge_method", "S256"),
            ("response_type", "code"),
            ("redirect_uri", "http://localhost:1455/auth/callback"),
            ("scope", "openid profile email offline_access"),
        ] {
            assert_eq!(query[name], value, "{name}");
        }
        let mut state = self.state();
        state.count += 1;
        let code = format!("code-{}", state.count);
        state
            .codes
            .insert(code.clone(), query["code_challenge"].clone());
        format!(
            "{}?code={code}&scope=openid&state={}",
            query["redirect_uri"], query["state"]
        )
    }

    /// What the person does at GitHub's page.
    pub fn at_github(&self, device: Device) {
        self.state().device = device;
    }

    /// Says where Copilot's models are.
    pub fn set_api(&self, api: &str) {
        self.state().api = api.to_owned();
    }

    /// No token that models took is good any more.
    pub fn expire(&self) {
        self.state().good.clear();
    }

    /// No token for renewals is good any more.
    pub fn end(&self) {
        let mut state = self.state();
        state.good.clear();
        state.refresh.clear();
    }

    /// Whether a model takes a header `Authorization`.
    pub fn takes(&self, authorization: Option<&str>) -> bool {
        let token = authorization.and_then(|value| value.strip_prefix("Bearer "));
        token.is_some_and(|token| self.state().good.contains(token))
    }

    /// Answers one request. A client that goes away has asked for nothing.
    fn serve(&self, socket: TcpStream) {
        let line = Line::new(&Arc::<Rates>::default());
        let Ok(mut connection) = wire::open(socket, &line, None) else {
            return;
        };
        while let Ok(Some(request)) = wire::read(&mut connection) {
            let (status, answer) = self.answer(&request);
            let kind = ("content-type", "application/json".to_owned());
            let sent = wire::respond(&mut connection, status, &[kind], &answer.to_string());
            if sent.is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &RawRequest) -> (u16, Value) {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let form = pairs(&body);
        let text = |name: &str| form.get(name).map_or("", String::as_str);
        let mut state = self.state();
        let asked = format!("{} {} {}", request.method, request.path, text("grant_type"));
        state.asked.push(asked);
        self.shared.changed.notify_all();
        match (request.path.as_str(), text("grant_type")) {
            ("/oauth/token", "authorization_code") => {
                let challenge = state.codes.remove(text("code"));
                let hash = digest(&SHA256, text("code_verifier").as_bytes());
                let ours = BASE64_URL_SAFE_NO_PAD.encode(hash);
                match challenge == Some(ours) {
                    true => (200, state.openai()),
                    false => (400, json!({"error": "invalid_grant"})),
                }
            }
            ("/oauth/token", "refresh_token") => {
                match state.refresh.remove(text("refresh_token")) {
                    true => (200, state.openai()),
                    false => {
                        let said = format!("{} was used before", text("refresh_token"));
                        let error = json!({"code": "refresh_token_reused", "message": said});
                        (401, json!({"error": error}))
                    }
                }
            }
            ("/oauth/revoke", _) => {
                let said: Value = serde_json::from_str(&body).unwrap();
                let was_there = state.refresh.remove(said["token"].as_str().unwrap());
                (if was_there { 200 } else { 400 }, json!({}))
            }
            ("/login/device/code", _) => {
                assert_eq!(text("client_id"), "Iv1.b507a08c87ecfe98");
                let page = format!("{}/login/device", self.url);
                let answer = json!({"device_code": "device-1", "user_code": "ABCD-1234", "verification_uri": page,
                    "expires_in": 900, "interval": 1});
                (200, answer)
            }
            ("/login/oauth/access_token", _) => {
                assert_eq!(text("device_code"), "device-1");
                match state.device {
                    Device::Pending => (200, json!({"error": "authorization_pending"})),
                    Device::Denied => (200, json!({"error": "access_denied"})),
                    Device::Approved => {
                        let token = state.token("github");
                        state.refresh.insert(token.clone());
                        (
                            200,
                            json!({"access_token": token, "token_type": "bearer", "scope": "read:user"}),
                        )
                    }
                }
            }
            ("/copilot_internal/v2/token", _) => {
                let header = wire::header(&request.headers, "authorization").unwrap_or_default();
                let token = header.strip_prefix("token ").unwrap_or_default();
                if !state.refresh.contains(token) {
                    return (401, json!({"message": "Bad credentials"}));
                }
                let token = state.token("copilot");
                state.good.insert(token.clone());
                let answer = json!({"token": token, "refresh_in": state.lasts, "expires_at": 4_102_444_800_u64,
                    "endpoints": {"api": state.api}});
                (200, answer)
            }
            _ => (404, json!({})),
        }
    }
}

impl State {
    fn token(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{CANARY}{kind}-{}", self.count)
    }

    /// Tokens with the account in them.
    fn openai(&mut self) -> Value {
        let claims = json!({"https://api.openai.com/auth": {"chatgpt_account_id": ACCOUNT}});
        let claims = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        let access = format!("{}.{claims}.sig", self.token("access"));
        let refresh = self.token("refresh");
        self.good.insert(access.clone());
        self.refresh.insert(refresh.clone());
        json!({"access_token": access, "refresh_token": refresh, "expires_in": self.lasts, "token_type": "Bearer"})
    }
}

/// The pairs of a form or a query.
fn pairs(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), unescape(value)))
        .collect()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        bytes.push(match (first, after) {
            (b'%', [high, low, more @ ..]) => {
                rest = more;
                let digits = String::from_utf8(vec![*high, *low]).unwrap();
                u8::from_str_radix(&digits, 16).unwrap()
            }
            (b'+', _) => b' ',
            (byte, _) => *byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}
