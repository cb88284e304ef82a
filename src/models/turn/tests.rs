use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::super::route::{Route, Sources};
use super::*;
use crate::base::chat::{Entry, EntryKind};
use crate::config::schema::{AgentDefaults, Provider};
use crate::models::turn::models::first_answering;
use crate::net::http::{Pool, Tls};

/// A server on a port of its own that gives the scripted answers, one a request, over as many
/// connections as come, and tells what it was asked. The number is the connection's.
struct Server {
    base: String,
    asked: Receiver<(usize, String)>,
}

impl Server {
    fn new(answers: &[String]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (sender, asked) = channel();
        let mut answers: VecDeque<String> = answers.iter().cloned().collect();
        thread::spawn(move || {
            for (number, connection) in listener.incoming().enumerate() {
                if serve(connection.unwrap(), number, &mut answers, &sender).is_none() {
                    return;
                }
            }
        });
        Self { base, asked }
    }

    fn requests(&self) -> Vec<String> {
        self.asked.try_iter().map(|(_, request)| request).collect()
    }
}

/// Answers until the connection is closed; none when there are no answers left.
fn serve(
    connection: TcpStream,
    number: usize,
    answers: &mut VecDeque<String>,
    asked: &Sender<(usize, String)>,
) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut writer = connection;
    loop {
        let mut request = String::new();
        while !request.ends_with("\r\n\r\n") {
            if reader.read_line(&mut request).ok()? == 0 {
                return Some(());
            }
        }
        let lower = request.to_lowercase();
        let length = lower.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        let _ = asked.send((number, request + &String::from_utf8(body).unwrap()));
        let answer = answers.pop_front()?;
        writer.write_all(answer.as_bytes()).ok()?;
        if answer.contains("connection: close") {
            return Some(());
        }
    }
}

fn http(status: &str, media: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn json(body: &str) -> String {
    http("200 OK", "application/json", body)
}

fn refusal(status: &str, message: &str) -> String {
    http(
        status,
        "application/json",
        &format!(r#"{{"error":{{"message":"{message}"}}}}"#),
    )
}

fn said(text: &str) -> String {
    json(&format!(
        r#"{{"choices":[{{"message":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
    ))
}

fn stream(events: &[&str]) -> String {
    let body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    http("200 OK", "text/event-stream", &body)
}

const HI: &str = r#"{"choices":[{"delta":{"content":"Hi."}}]}"#;
const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

fn pool() -> Pool {
    Pool::new(Tls::new(None).unwrap())
}

fn sources(providers: &BTreeMap<String, Provider>) -> Sources<'_> {
    Sources {
        providers,
        variable: &|_| None,
        sign_ins: None,
    }
}

/// Models at these servers: `one/m` is the primary one, the others are fallbacks.
fn models(servers: &[(&str, &Server)]) -> Models {
    let providers = servers.iter().map(|(name, server)| {
        let base = &server.base;
        format!(r#""{name}":{{"apiBase":"{base}/v1","apiKey":"sk-canary-{name}"}}"#)
    });
    let providers = format!("{{{}}}", providers.collect::<Vec<_>>().join(","));
    let mut names = servers.iter().map(|(name, _)| format!("{name}/m"));
    let agent = AgentDefaults {
        model: names.next().unwrap(),
        fallback_models: names.collect(),
        ..AgentDefaults::default()
    };
    let providers = serde_json::from_str(&providers).unwrap();
    Models::new(&agent, None, &sources(&providers), pool()).unwrap()
}

fn question(entries: &[Entry]) -> Request<'_> {
    Request {
        system: "",
        entries: entries.iter().collect::<Vec<_>>().leak(),
        stable: 0,
        tools: &[],
        max_tokens: 10,
        thoughts_max: u32::MAX,
        temperature: Some(0.5),
        reasoning_effort: None,
        stream: true,
        cache_key: None,
    }
}

/// The provider that answers, with what was heard meanwhile, for each of `count` questions of one turn.
fn ask_in_one_turn(models: &Models, count: usize) -> Vec<(String, Vec<String>)> {
    let mut turn = models.for_turn(&Cancel::new());
    let entries = [Entry::new(EntryKind::Person, "hello")];
    let mut ask = || {
        let mut notices = Vec::new();
        let answer = turn.ask(&question(&entries), &mut |progress| {
            if let Progress::Notice(text) = progress {
                notices.push(text.to_owned());
            }
        });
        (answer.unwrap().provider, notices)
    };
    (0..count).map(|_| ask()).collect()
}

#[test]
fn every_text_is_there_in_each_language() {
    crate::base::language::check_table(super::TABLE);
}

/// Asks once in a turn of its own; the answer, and what was heard meanwhile.
fn ask(models: &Models) -> (Result<Answer>, Vec<String>) {
    let cancel = Cancel::new();
    let mut heard = Vec::new();
    let entries = [Entry::new(EntryKind::Person, "hello")];
    let answer = models
        .for_turn(&cancel)
        .ask(&question(&entries), &mut |progress| {
            heard.push(match progress {
                Progress::Delta(text) => text.to_owned(),
                Progress::Again => "[again]".to_owned(),
                Progress::Notice(text) | Progress::WithoutTools(text) | Progress::Blind(text) => {
                    format!("[{text}]")
                }
            });
        });
    (answer, heard)
}

/// An event has many more bytes than what it says.
#[test]
fn a_long_answer_in_small_pieces_is_whole() {
    let padded = format!("{}{}", HI, " ".repeat(900));
    let mut events = vec![padded.as_str(); 10_000];
    events.extend([STOP, "[DONE]"]);
    let server = Server::new(&[stream(&events)]);
    let (answer, heard) = ask(&models(&[("one", &server)]));
    assert_eq!(answer.unwrap().reply.text.len(), 30_000);
    assert_eq!(heard.len(), 10_000);
}

#[test]
fn a_stream_is_heard_as_it_comes() {
    let server = Server::new(&[stream(&[HI, HI, STOP, "[DONE]"])]);
    let (answer, heard) = ask(&models(&[("one", &server)]));
    let answer = answer.unwrap();
    assert_eq!(answer.reply.text, "Hi.Hi.");
    assert_eq!(
        (answer.provider.as_str(), answer.model.as_str()),
        ("one", "m")
    );
    assert_eq!(answer.failure, None);
    assert_eq!(heard, ["Hi.", "Hi."]);
    let request = &server.requests()[0];
    assert!(
        request.starts_with("POST /v1/chat/completions "),
        "{request}"
    );
    assert!(request.contains("Bearer sk-canary-one"));
    assert!(request.contains(r#""messages":[{"role":"user","content":"hello"}]"#));
}

#[test]
fn json_in_place_of_a_stream_is_an_answer_too() {
    let server = Server::new(&[said("Hi.")]);
    let (answer, heard) = ask(&models(&[("one", &server)]));
    assert_eq!(answer.unwrap().reply.text, "Hi.");
    assert_eq!(heard, [""; 0]);
}

#[test]
fn turns_share_a_connection_too() {
    let server = Server::new(&[said("Hi."), stream(&[HI, STOP, "[DONE]"]), said("Hi.")]);
    let models = models(&[("one", &server)]);
    for _ in 0..3 {
        ask(&models).0.unwrap();
    }
    let connections: Vec<_> = server.asked.try_iter().map(|(number, _)| number).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[test]
fn questions_of_a_turn_share_a_connection() {
    let server = Server::new(&[stream(&[HI, STOP, "[DONE]"]), said("Hi.")]);
    let models = models(&[("one", &server)]);
    let cancel = Cancel::new();
    let mut turn = models.for_turn(&cancel);
    let entries = [Entry::new(EntryKind::Person, "hello")];
    for _ in 0..2 {
        turn.ask(&question(&entries), &mut |_| {}).unwrap();
    }
    let connections: Vec<_> = server.asked.try_iter().map(|(number, _)| number).collect();
    assert_eq!(connections, [0, 0]);
}

#[test]
fn anthropics_format_is_spoken_where_it_is_set() {
    let server = Server::new(&[json(
        r#"{"type":"message","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn"}"#,
    )]);
    let providers = format!(
        r#"{{"one":{{"apiBase":"{}","apiType":"anthropic","apiKey":"k","extraHeaders":{{"X-Api-Key":"other"}}}}}}"#,
        server.base
    );
    let agent = AgentDefaults {
        model: "one/claude-sonnet-5".to_owned(),
        ..AgentDefaults::default()
    };
    let providers = serde_json::from_str(&providers).unwrap();
    let models = Models::new(&agent, None, &sources(&providers), pool()).unwrap();
    assert_eq!(ask(&models).0.unwrap().reply.text, "Hi.");
    let request = server.requests()[0].to_lowercase();
    assert!(request.starts_with("post /v1/messages "));
    assert!(request.contains("anthropic-version: 2023-06-01"));
    assert_eq!(request.matches("x-api-key").count(), 1);
}

#[test]
fn a_limit_that_passes_is_waited_for() {
    let limited = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";
    let server = Server::new(&[limited.to_owned(), said("Hi.")]);
    let (answer, heard) = ask(&models(&[("one", &server)]));
    assert_eq!(answer.unwrap().reply.text, "Hi.");
    assert_eq!(heard, ["[Rate limit reached at one; retrying in 0 s]"]);
}

#[test]
fn a_wait_ends_when_the_person_stops_it() {
    let limited = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 30\r\ncontent-length: 0\r\n\r\n";
    let server = Server::new(&[limited.to_owned()]);
    let models = models(&[("one", &server)]);
    let cancel = Cancel::new();
    let entries = [Entry::new(EntryKind::Person, "hello")];
    let answer = models
        .for_turn(&cancel)
        .ask(&question(&entries), &mut |_| cancel.cancel());
    assert!(matches!(answer, Err(Error::Stopped)));
}

#[test]
fn a_refused_parameter_is_given_up_and_that_is_remembered() {
    let server = Server::new(&[
        refusal(
            "400 Bad Request",
            "`temperature` is deprecated for this model.",
        ),
        said("Hi."),
        said("Hi."),
    ]);
    let models = models(&[("one", &server)]);
    assert_eq!(ask(&models).0.unwrap().reply.text, "Hi.");
    assert_eq!(ask(&models).0.unwrap().reply.text, "Hi.");
    let requests = server.requests();
    let has = requests
        .iter()
        .map(|request| request.contains("temperature"));
    assert_eq!(has.collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn the_next_model_answers_when_the_first_cannot() {
    let first = Server::new(&[refusal("401 Unauthorized", "bad key sk-canary-one")]);
    let second = Server::new(&[said("Hi.")]);
    let (answer, heard) = ask(&models(&[("one", &first), ("two", &second)]));
    let answer = answer.unwrap();
    assert_eq!(
        (answer.provider.as_str(), answer.reply.text.as_str()),
        ("two", "Hi.")
    );
    assert_eq!(heard, ["[one rejected the API key; using two/m instead]"]);
}

#[test]
fn a_turn_goes_on_with_the_model_that_answered_last() {
    let first = Server::new(&[refusal("401 Unauthorized", "bad key")]);
    let second = Server::new(&vec![said("Hi."); 20]);
    let third = Server::new(&[]);
    let models = models(&[("one", &first), ("two", &second), ("three", &third)]);
    let answers = ask_in_one_turn(&models, 20);
    assert!(answers.iter().all(|(provider, _)| provider == "two"));
    let notices: Vec<_> = answers
        .into_iter()
        .flat_map(|(_, notices)| notices)
        .collect();
    assert_eq!(notices, ["one rejected the API key; using two/m instead"]);
    assert_eq!((first.requests().len(), third.requests().len()), (1, 0));
}

#[test]
fn each_model_may_fail_and_come_back_within_a_turn() {
    let down = || refusal("401 Unauthorized", "bad key");
    let first = Server::new(&[said("Hi."), down(), said("Hi."), down()]);
    let second = Server::new(&[said("Hi."), down(), down()]);
    let third = Server::new(&[said("Hi."), said("Hi.")]);
    let models = models(&[("one", &first), ("two", &second), ("three", &third)]);
    let answers = ask_in_one_turn(&models, 5);
    let providers: Vec<_> = answers.iter().map(|(provider, _)| &**provider).collect();
    assert_eq!(providers, ["one", "two", "one", "three", "three"]);
    assert_eq!(
        answers[3].1,
        [
            "one rejected the API key; using two/m instead",
            "two rejected the API key; using three/m instead"
        ]
    );
}

#[test]
fn a_resting_model_is_tried_before_the_turn_fails() {
    let down = || refusal("401 Unauthorized", "bad key");
    let first = Server::new(&[down(), down(), down(), said("Hi.")]);
    let second = Server::new(&[said("Hi."), said("Hi."), said("Hi."), down()]);
    let models = models(&[("one", &first), ("two", &second)]);
    for expected in ["two", "two", "two", "one"] {
        assert_eq!(ask(&models).0.unwrap().provider, expected);
    }
}

#[test]
fn a_fallback_for_which_the_conversation_was_too_long_is_asked_again_first() {
    let first = Server::new(&[refusal("401 Unauthorized", "bad key")]);
    let second = Server::new(&[
        refusal("400 Bad Request", "prompt is too long: 9 tokens > 8"),
        said("Hi."),
    ]);
    let models = models(&[("one", &first), ("two", &second)]);
    let cancel = Cancel::new();
    let mut turn = models.for_turn(&cancel);
    assert_eq!(turn.model_name(), "one/m");
    let entries = [Entry::new(EntryKind::Person, "hello")];
    let Err(Error::Model(error)) = turn.ask(&question(&entries), &mut |_| {}) else {
        panic!("the conversation was too long");
    };
    assert_eq!(
        (error.fault, error.provider.as_str()),
        (Fault::Overflow, "two")
    );
    assert_eq!(turn.model_name(), "two/m");
    let answer = turn.ask(&question(&entries), &mut |_| {}).unwrap();
    assert_eq!(answer.provider, "two");
    assert_eq!(first.requests().len(), 1);
}

#[test]
fn a_model_that_fails_three_times_rests() {
    let first = Server::new(&vec![refusal("401 Unauthorized", "bad key"); 4]);
    let second = Server::new(&vec![said("Hi."); 4]);
    let models = models(&[("one", &first), ("two", &second)]);
    for _ in 0..4 {
        assert_eq!(ask(&models).0.unwrap().provider, "two");
    }
    assert_eq!(first.requests().len(), 3);
}

#[test]
fn the_helper_answers_when_no_model_does_and_the_error_is_told_beside_it() {
    let first = Server::new(&[refusal("401 Unauthorized", "bad key sk-canary-one")]);
    let page = http("200 OK", "text/html", "<html><title>Login</title></html>");
    let second = Server::new(&[page]);
    let answer = ask(&models(&[("one", &first), ("two", &second)]))
        .0
        .unwrap();
    assert_eq!(answer.provider, "offline");
    assert!(answer.reply.text.contains("offline helper"));
    let failure = answer.failure.unwrap();
    assert_eq!(failure.fault, Fault::Key);
    let text = failure.to_string();
    assert!(
        text.starts_with("one rejected the API key: bad key [secret]"),
        "{text}"
    );
    assert!(text.contains("providers.one.apiKey"), "{text}");
}

#[test]
fn a_web_page_is_no_answer() {
    let page = http("200 OK", "text/html", "\n<html><title>Login</title></html>");
    let server = Server::new(&[page]);
    let answer = ask(&models(&[("one", &server)])).0.unwrap();
    let failure = answer.failure.unwrap();
    assert_eq!(failure.fault, Fault::Garbage);
    assert_eq!(failure.reason, "it sent a web page, \"Login\"");
}

#[test]
fn events_in_any_envelope_are_an_answer() {
    for body in [
        format!("{HI}\n{STOP}\n[DONE]\n"),
        format!("\u{feff}{HI}\n\n{STOP}"),
        format!("data: {HI}\ndata: {STOP}\ndata: [DONE]\n"),
        format!("data: data: {HI}\n\ndata: data: {STOP}\n\n"),
        format!("data: ping\n\ndata: {HI},\n\n{STOP}\n\n"),
        format!("data: {HI}\n\ndata: {STOP}\n\nevent: error\ndata: no usage\n\n"),
    ] {
        let server = Server::new(&[http("200 OK", "text/plain", &body)]);
        let (answer, heard) = ask(&models(&[("one", &server)]));
        assert_eq!(answer.unwrap().reply.text, "Hi.", "{body}");
        assert_eq!(heard, ["Hi."], "{body}");
    }
}

#[test]
fn a_refusal_with_a_good_status_is_told() {
    for body in [
        r#"{"detail": "The disk is full"}"#,
        "The disk is full",
        "event: error\ndata: The disk is full\n\n",
        "event: error\ndata: {\"reason_code\": 7, \"message\": \"The disk is full\"}\n\n",
    ] {
        let server = Server::new(&vec![http("200 OK", "text/plain", body); 4]);
        let answer = ask(&models(&[("one", &server)])).0.unwrap();
        let failure = answer.failure.unwrap();
        assert_eq!(failure.reason, "The disk is full", "{body}");
    }
}

#[test]
fn a_conversation_that_is_too_long_is_the_callers_to_shorten() {
    let first = Server::new(&[refusal(
        "400 Bad Request",
        "prompt is too long: 9 tokens > 8",
    )]);
    let second = Server::new(&[]);
    let answer = ask(&models(&[("one", &first), ("two", &second)])).0;
    let Err(Error::Model(error)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(error.fault, Fault::Overflow);
    assert!(second.requests().is_empty());
}

#[test]
fn nothing_is_tried_again_once_text_was_shown() {
    let broken = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 500\r\n\r\ndata: {HI}\n\n"
    );
    let ended = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: {HI}\n\ndata: {{\"cho");
    for answer in [broken, ended] {
        let first = Server::new(&[answer, said("Hi.")]);
        let second = Server::new(&[said("Hi.")]);
        let (answer, heard) = ask(&models(&[("one", &first), ("two", &second)]));
        let Err(Error::Model(error)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(error.fault, Fault::Cut);
        assert_eq!(heard, ["Hi."]);
        assert_eq!(first.requests().len(), 1);
        assert!(second.requests().is_empty());
    }
}

#[test]
fn an_answer_is_whole_without_the_mark_at_its_end() {
    let body =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: {HI}\n\ndata: {STOP}\n\n");
    let server = Server::new(&[body]);
    assert_eq!(
        ask(&models(&[("one", &server)])).0.unwrap().reply.text,
        "Hi."
    );
}

#[test]
fn a_missing_key_is_reported_without_a_connection() {
    let agent = AgentDefaults {
        model: "claude-sonnet-5".to_owned(),
        ..AgentDefaults::default()
    };
    let providers = std::collections::BTreeMap::new();
    let models = Models::new(&agent, None, &sources(&providers), pool()).unwrap();
    assert_eq!(models.names(), ["anthropic/claude-sonnet-5"]);
    let (answer, heard) = ask(&models);
    let answer = answer.unwrap();
    let failure = answer.failure.unwrap().to_string();
    assert!(
        failure.contains("anthropic has no API key. Set ANTHROPIC_API_KEY"),
        "{failure}"
    );
    assert_eq!(heard, [""; 0]);
}

#[test]
fn with_nothing_configured_the_helper_answers_without_an_error() {
    let providers = std::collections::BTreeMap::new();
    let agent = AgentDefaults::default();
    let models = Models::new(&agent, None, &sources(&providers), pool()).unwrap();
    let answer = ask(&models).0.unwrap();
    assert_eq!(
        (answer.provider.as_str(), answer.failure),
        ("offline", None)
    );
    assert!(answer.reply.text.contains("I'm Peacrab's offline helper"));
}

fn local(server: &Server) -> Route {
    let providers = format!(r#"{{"ollama":{{"apiBase":"{}/v1"}}}}"#, server.base);
    let sources = Sources {
        providers: &serde_json::from_str(&providers).unwrap(),
        variable: &|_| None,
        sign_ins: None,
    };
    sources.choose("ollama", "").unwrap()
}

#[test]
fn a_server_is_asked_for_its_first_model_when_none_is_named() {
    let list = json(r#"{"data":[{"id":"nomic-embed-text"},{"id":"qwen3:8b"}]}"#);
    let server = Server::new(&[list, said("Hi."), said("Hi.")]);
    let agent = AgentDefaults {
        provider: "ollama".to_owned(),
        ..AgentDefaults::default()
    };
    let providers = format!(r#"{{"ollama":{{"apiBase":"{}/v1"}}}}"#, server.base);
    let providers = serde_json::from_str(&providers).unwrap();
    let models = Models::new(&agent, None, &sources(&providers), pool()).unwrap();
    for _ in 0..2 {
        assert_eq!(ask(&models).0.unwrap().model, "qwen3:8b");
    }
    assert_eq!(models.names(), ["ollama/qwen3:8b"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[0].starts_with("GET /v1/models "));
}

#[test]
fn the_models_of_a_provider_that_is_not_configured_yet_are_listed_the_newest_first() {
    let list = r#"{"data":[{"id":"old","created":1},{"id":"new","created":2}]}"#;
    let keyless = refusal("401 Unauthorized", "no sk-canary-1234");
    let none = http("404 Not Found", "text/plain", "no such path");
    let server = Server::new(&[json(list), keyless, none]);
    let settings = crate::config::schema::Provider {
        api_base: server.base.clone(),
        api_key: crate::base::secret::Secret::new("sk-canary-1234"),
        ..Default::default()
    };
    let route = Route::unsaved("anthropic", settings, &|_| None);
    let list = || offers::list(pool().tls(), &route, &Cancel::new());
    assert_eq!(list().unwrap().names, ["new", "old"]);
    let refused = list().unwrap_err();
    assert!(refused.is_key_refused() && !refused.to_string().contains("canary"));
    let not_offered = list().unwrap_err().to_string();
    assert!(
        not_offered.contains("cannot list its models: no such path"),
        "{not_offered}"
    );
    let request = server.requests().swap_remove(0);
    assert!(
        request.starts_with("GET /v1/models?limit=1000 "),
        "{request}"
    );
    assert!(request.contains("x-api-key: sk-canary-1234"), "{request}");
}

#[test]
fn the_first_local_server_that_lists_a_model_is_found() {
    let none = Server::new(&[json(r#"{"data":[]}"#)]);
    let other = Server::new(&[http("404 Not Found", "text/plain", "no")]);
    let right = Server::new(&[json(r#"{"data":[{"id":"gemma"}]}"#)]);
    let pool = pool();
    let routes = vec![local(&none), local(&other), local(&right)];
    let found = first_answering(&pool, routes, &Cancel::new())
        .unwrap()
        .unwrap();
    assert_eq!(
        (found.model.as_str(), found.first_byte.as_secs()),
        ("gemma", 120)
    );
    let silent = Server::new(&[]);
    assert!(
        first_answering(&pool, vec![local(&silent)], &Cancel::new())
            .unwrap()
            .is_none()
    );
}

#[test]
fn half_an_answer_that_can_be_taken_back_is_asked_for_again() {
    let half = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: {HI}\n\n");
    let page = stream(&[HI, "<html>"]);
    let first = Server::new(&[half, page]);
    let second = Server::new(&[said("Hello.")]);
    let models = models(&[("one", &first), ("two", &second)]);
    let mut heard = Vec::new();
    let entries = [Entry::new(EntryKind::Person, "hello")];
    let mut turn = models.for_turn(&Cancel::new()).taking_back(true);
    let answer = turn.ask(&question(&entries), &mut |progress| {
        heard.push(match progress {
            Progress::Delta(text) => text.to_owned(),
            Progress::Again => "again".to_owned(),
            Progress::Notice(_) | Progress::WithoutTools(_) | Progress::Blind(_) => {
                "notice".to_owned()
            }
        });
    });
    let answer = answer.unwrap();
    assert_eq!(
        (answer.provider.as_str(), answer.reply.text.as_str()),
        ("two", "Hello.")
    );
    assert_eq!(heard, ["Hi.", "again", "notice", "Hi.", "again", "notice"]);
}

fn failed_call(words: &str) -> String {
    let error = serde_json::json!({"error": {
        "message": "Failed to call a function. Please adjust your prompt.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": words,
    }});
    http("400 Bad Request", "application/json", &error.to_string())
}

#[test]
fn a_call_that_its_server_could_not_read_is_read_here() {
    for words in [
        r#"<function=list_dir{"path": "."}</function>"#,
        r#"<tool_call>{"name": "list_dir", "arguments": {"path": "."}}</tool_call>"#,
        r#"[{"name": "list_dir", "parameters": {"path": "."}}]"#,
        r#"<|channel|>commentary to=functions.list_dir<|message|>{"path": "."}<|call|>"#,
    ] {
        let in_stream = failed_call(words);
        let in_stream = in_stream.rsplit("\r\n").next().unwrap();
        let server = Server::new(&[failed_call(words), stream(&[in_stream])]);
        let models = models(&[("one", &server)]);
        let entries = [Entry::new(EntryKind::Person, "hello")];
        let request = Request {
            tools: &super::super::wire::example::TOOLS,
            ..question(&entries)
        };
        for _ in 0..2 {
            let answer = models.for_turn(&Cancel::new()).ask(&request, &mut |_| {});
            let calls = answer.unwrap().reply.tool_calls;
            assert_eq!(
                (calls.len(), calls[0].name.as_str()),
                (1, "list_dir"),
                "{words}"
            );
            assert!(calls[0].arguments.contains(r#""path""#));
        }
    }
}

#[test]
fn a_call_that_nobody_can_read_is_asked_for_once_more_and_then_of_another_model() {
    let bad = || failed_call("<function=launch>");
    let first = Server::new(&[bad(), said("Hi."), bad(), bad()]);
    let second = Server::new(&[said("Hello.")]);
    let models = models(&[("one", &first), ("two", &second)]);
    let answers = [ask(&models).0.unwrap(), ask(&models).0.unwrap()];
    let providers: Vec<_> = answers.iter().map(|answer| &*answer.provider).collect();
    assert_eq!(providers, ["one", "two"]);
    assert_eq!(first.requests().len(), 4);
}

#[test]
fn a_model_of_no_use_is_left_for_the_rest_of_the_turn() {
    let first = Server::new(&[said("")]);
    let second = Server::new(&[said("Hi."), said("Hi.")]);
    let models = models(&[("one", &first), ("two", &second)]);
    let mut turn = models.for_turn(&Cancel::new());
    let entries = [Entry::new(EntryKind::Person, "hello")];
    assert!(!turn.leave(), "none was asked");
    let ask = |turn: &mut Turn<'_>| turn.ask(&question(&entries), &mut |_| {}).unwrap().provider;
    assert_eq!(ask(&mut turn), "one");
    assert!(turn.leave());
    assert_eq!([ask(&mut turn), ask(&mut turn)], ["two", "two"]);
    assert!(!turn.leave());
}

/// Every format, whole and as a stream, of a server that reports `usage`, and what a request to it takes.
fn spent_by(format: &str, answer: &str, text: &str) -> Vec<Usage> {
    let server = Server::new(&[answer.to_owned()]);
    let providers = format!(
        r#"{{"one":{{"apiBase":"{}","apiType":"{}","api":"{}","apiKey":"k"}}}}"#,
        server.base,
        if format == "anthropic" {
            format
        } else {
            "openai"
        },
        if format == "responses" {
            format
        } else {
            "chat"
        },
    );
    let agent = AgentDefaults {
        model: "one/m".to_owned(),
        ..AgentDefaults::default()
    };
    let providers = serde_json::from_str(&providers).unwrap();
    let models = Models::new(&agent, None, &sources(&providers), pool()).unwrap();
    let entries = [Entry::new(EntryKind::Person, "A word ".repeat(500))];
    let cancel = Cancel::new();
    let mut turn = models.for_turn(&cancel);
    let asked = turn.ask(&question(&entries), &mut |_| ());
    if !text.is_empty() {
        let answer = asked.unwrap();
        assert_eq!(answer.reply.text, text, "{format}");
        assert_eq!(answer.counted, 0, "{format}: an estimate teaches nothing");
        let spent = turn.spent[0].1;
        assert_eq!(answer.reply.usage, spent, "{format}");
    }
    turn.take_spent()
        .into_iter()
        .map(|(model, usage)| {
            assert_eq!(model, "m");
            usage
        })
        .collect()
}

#[test]
fn what_a_server_does_not_report_is_estimated() {
    let text = "The tide comes in twice a day.";
    let delta = |text: &str| format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
    let zeros = r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#;
    let block =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let begun =
        r#"{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":1}}}"#;
    let piece = |text: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        )
    };
    let ended = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let output = |text: &str| {
        format!(r#"[{{"type":"message","content":[{{"type":"output_text","text":"{text}"}}]}}]"#)
    };
    let said_by_response =
        format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{text}"}}"#);
    let completed = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    for (format, answer) in [
        ("openai", said(text)),
        ("openai", stream(&[&delta(text), STOP, "[DONE]"])),
        ("openai", stream(&[&delta(text), STOP, zeros, "[DONE]"])),
        (
            "anthropic",
            json(&format!(
                r#"{{"type":"message","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn"}}"#
            )),
        ),
        (
            "anthropic",
            stream(&[
                begun,
                block,
                &piece(text),
                ended,
                r#"{"type":"message_stop"}"#,
            ]),
        ),
        (
            "responses",
            json(&format!(
                r#"{{"status":"completed","output":{}}}"#,
                output(text)
            )),
        ),
        ("responses", stream(&[&said_by_response, completed])),
    ] {
        let spent = spent_by(format, &answer, text);
        let [usage] = spent[..] else {
            panic!("{format}: {spent:?}");
        };
        assert!((900..1_100).contains(&usage.input), "{format}: {usage:?}");
        assert!((5..12).contains(&usage.output), "{format}: {usage:?}");
        assert_eq!((usage.requests, usage.assumed > 0), (1, true), "{format}");
    }
}

#[test]
fn what_was_produced_before_a_failure_was_spent() {
    let long = "word ".repeat(300);
    let delta = format!(r#"{{"choices":[{{"delta":{{"content":"{long}"}}}}]}}"#);
    let begun =
        r#"{"type":"message_start","message":{"usage":{"input_tokens":950,"output_tokens":1}}}"#;
    let piece = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{long}"}}}}"#
    );
    let said_by_response =
        format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{long}"}}"#);
    let failed =
        r#"{"type":"response.failed","response":{"status":"failed","error":{"message":"broken"}}}"#;
    let overloaded = r#"{"error":{"message":"broken in the middle"}}"#;
    for (format, answer) in [
        ("openai", stream(&[&delta])),
        ("openai", stream(&[&delta, overloaded])),
        (
            "openai",
            json(said(&long)[..1_500].split_once("\r\n\r\n").unwrap().1),
        ),
        ("anthropic", stream(&[begun, &piece])),
        (
            "anthropic",
            stream(&[
                begun,
                &piece,
                r#"{"type":"error","error":{"message":"broken"}}"#,
            ]),
        ),
        ("responses", stream(&[&said_by_response])),
        ("responses", stream(&[&said_by_response, failed])),
    ] {
        let spent = spent_by(format, &answer, "");
        let usage = spent
            .first()
            .unwrap_or_else(|| panic!("{format}: {answer}"));
        assert!((900..1_100).contains(&usage.input), "{format}: {usage:?}");
        assert!((250..700).contains(&usage.output), "{format}: {usage:?}");
    }
    for answer in [
        refusal("400 Bad Request", "no"),
        json(r#"{"error":{"message":"no"}}"#),
        stream(&[overloaded]),
        http(
            "200 OK",
            "text/html",
            "<title>Sign in to the network</title>",
        ),
        json(r#"{"error":{"message":"no"},"usage":{"prompt_tokens":0}}"#),
    ] {
        let spent = spent_by("openai", &answer, "");
        assert_eq!(spent, [], "{answer}: nothing was produced");
    }
    let told =
        json(r#"{"error":{"message":"no"},"usage":{"prompt_tokens":77,"completion_tokens":3}}"#);
    let spent = spent_by("openai", &told, "");
    assert_eq!((spent[0].input, spent[0].output), (77, 3));
}

#[test]
fn the_input_of_an_answer_that_says_nothing_was_spent() {
    let nothing = r#"{"choices":[]}"#;
    for (format, answer) in [
        ("openai", json(nothing)),
        ("openai", json("{}")),
        (
            "openai",
            json(r#"{"object":"chat.completion","error":null}"#),
        ),
        ("openai", stream(&[nothing, "[DONE]"])),
        ("anthropic", json(r#"{"type":"message","content":[]}"#)),
        ("responses", json(r#"{"object":"response"}"#)),
    ] {
        let spent = spent_by(format, &answer, "");
        let input = spent.first().map(|usage| usage.input);
        assert!(
            input.is_some_and(|input| input >= 900),
            "{format}: {answer}"
        );
    }
}

#[test]
fn the_input_of_a_request_that_is_stopped_before_its_answer_was_spent() {
    let silent = String::new;
    let begun = || "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
    let waiting = || begun() + ": the model is thinking\n\n";
    let closed = || "connection: close".to_owned();
    for (what, answers, stopped_at, counted) in [
        ("no head", vec![silent()], 1, 1),
        ("a head", vec![begun()], 1, 1),
        ("a comment", vec![waiting()], 1, 1),
        (
            "no head in time, and then a stop",
            vec![silent(), silent()],
            2,
            2,
        ),
        (
            "an overloaded server",
            vec![refusal("503 Service Unavailable", "no"), silent()],
            2,
            1,
        ),
        ("a connection that is cut", vec![closed(), silent()], 2, 1),
        (
            "an answer without content",
            vec![
                begun().replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n"),
                silent(),
            ],
            2,
            2,
        ),
    ] {
        let Server { base, asked } = Server::new(&answers);
        let providers = format!(r#"{{"one":{{"apiBase":"{base}","apiKey":"k","timeoutSecs":1}}}}"#);
        let agent = AgentDefaults {
            model: "one/m".to_owned(),
            ..AgentDefaults::default()
        };
        let providers = serde_json::from_str(&providers).unwrap();
        let models = Models::new(&agent, None, &sources(&providers), pool()).unwrap();
        let entries = [Entry::new(EntryKind::Person, "A word ".repeat(500))];
        let cancel = Cancel::new();
        let mut turn = models.for_turn(&cancel);
        thread::scope(|scope| {
            let cancel = &cancel;
            scope.spawn(move || {
                let seen = asked.iter().take(stopped_at).count();
                assert_eq!(seen, stopped_at, "{what}");
                cancel.cancel();
            });
            let _ = turn.ask(&question(&entries), &mut |_| ());
        });
        let spent = turn.take_spent();
        assert_eq!(spent.len(), counted, "{what}: {spent:?}");
        for (_, usage) in spent {
            assert!((900..1_100).contains(&usage.input), "{what}: {usage:?}");
            assert_eq!((usage.output, usage.requests), (0, 1), "{what}");
        }
    }
    let unreachable = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", unreachable.local_addr().unwrap());
    drop(unreachable);
    let server = Server {
        base,
        asked: channel().1,
    };
    let models = models(&[("one", &server)]);
    let cancel = Cancel::new();
    let mut turn = models.for_turn(&cancel);
    let entries = [Entry::new(EntryKind::Person, "hello")];
    let notice = &mut |progress: Progress<'_>| {
        if matches!(progress, Progress::Notice(_)) {
            cancel.cancel();
        }
    };
    let _ = turn.ask(&question(&entries), notice);
    assert_eq!(turn.take_spent(), [], "no request went out");
}
