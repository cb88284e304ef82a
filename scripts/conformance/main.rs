//! The client that `make conformance` tests: it connects to the server at the last argument, logs in where
//! that is wanted, reads all lists and calls what is in them, as the program does.
//!
//! `MCP_CONFORMANCE_CONTEXT` has what a person would have configured, as JSON.

#![expect(clippy::print_stderr, reason = "a tool for a script")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use peacrab::base::cancel::Cancel;
use peacrab::base::chat::InputAnswer;
use peacrab::base::clock::Clock;
use peacrab::base::error::{Error, Result};
use peacrab::base::json;
use peacrab::base::secret::Secret;
use peacrab::config::schema::McpServer;
use peacrab::net::http::{Client, Found, Settings, Tls};
use peacrab::tools::mcp::client::http::{Http, HttpParts};
use peacrab::tools::mcp::client::oauth::Login;
use peacrab::tools::mcp::client::protocol::Abilities;
use peacrab::tools::mcp::client::tool::{self, Tool};
use peacrab::tools::mcp::client::{Call, Link, Options, Step};
use serde_json::{Map, Value};

/// The address of the document about this client, which the suite knows.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// Where the "browser" returns to. Nothing listens there: the address is read from the redirect.
const REDIRECT: &str = "http://localhost:3000/callback";
/// More logins than any scenario takes.
const LOGINS: usize = 5;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let url = std::env::args().next_back().unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = json::from_str(&context).unwrap_or_default();
    let text = |name: &str| context[name].as_str().unwrap_or_default();
    let folder = std::env::temp_dir().join(format!("peacrab-conformance-{}", std::process::id()));
    let key = match text("private_key_pem") {
        "" => text("client_secret"),
        key => key,
    };
    let mut parts = HttpParts {
        name: "suite".to_owned(),
        server: McpServer {
            url,
            client_id: match text("client_id") {
                "" => DOCUMENT.to_owned(),
                id => id.to_owned(),
            },
            client_secret: Secret::new(key),
            ..McpServer::default()
        },
        tls: Tls::new(None)?,
        logins: folder.clone(),
        clock: Clock::System,
    };
    let outcome = with_logins(&mut parts, &context);
    let _ = std::fs::remove_dir_all(folder);
    outcome
}

fn with_logins(parts: &mut HttpParts, context: &Value) -> Result<()> {
    let cancel = Cancel::new();
    for _ in 0..LOGINS {
        match talk(parts, context) {
            Err(Error::Status {
                status: 401 | 403, ..
            }) => {
                let mut login = Login::begin(parts, Some(REDIRECT), &cancel)?;
                let address = browse(parts, login.url())?;
                login.finish(&address, &cancel)?;
            }
            Err(Error::Failed(said)) if parts.server.issuer.is_empty() => {
                parts.server.issuer = agree(&said).ok_or(Error::Failed(said))?;
            }
            outcome => return outcome,
        }
    }
    Err(Error::Failed("too many logins".to_owned()))
}

/// The owner, who lets the configured secret go to the authorization server that an error names.
fn agree(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("its authorization server is ")?;
    let (issuer, advice) = rest.split_once(": ")?;
    advice.contains("issuer").then(|| issuer.to_owned())
}

/// The browser and the person: says yes, and gives the address at which the browser ended.
fn browse(parts: &HttpParts, url: &str) -> Result<String> {
    let time = Duration::from_secs(10);
    let client = Client::new(&parts.tls, Settings::new(time, time), &Cancel::new())?;
    match client.find(url, &[])? {
        Found::Moved(address) => Ok(address),
        Found::Here(_) => Err(Error::Failed("the page leads nowhere".to_owned())),
    }
}

/// Uses all that the server has.
fn talk(parts: &HttpParts, context: &Value) -> Result<()> {
    let cancel = Cancel::new();
    let abilities = Abilities {
        elicitation: true,
        sampling: true,
    };
    let options = Options::new("suite", abilities, "file:///home/pi/workspace".to_owned());
    let transport = Http::new(parts.clone())?;
    let link = Link::open(Box::new(transport), options, &cancel)?;
    let tools = list(&link, "tools/list", |page| tool::read_tools(page, true))?;
    for (name, arguments) in calls(&tools, context) {
        let tool = tools.iter().find(|tool| tool.name == name);
        let parameters = tool.map(|tool| tool::header_values(tool, &arguments));
        let params = object([("name", name.into()), ("arguments", arguments.into())]);
        call(&link, "tools/call", params, parameters.unwrap_or_default())?;
    }
    if link.hello().resources {
        for resource in list(&link, "resources/list", tool::read_resources)? {
            let params = object([("uri", resource.uri.into())]);
            call(&link, "resources/read", params, Vec::new())?;
        }
    }
    if link.hello().prompts {
        for prompt in list(&link, "prompts/list", tool::read_prompts)? {
            let params = object([("name", prompt.name.into())]);
            call(&link, "prompts/get", params, Vec::new())?;
        }
    }
    Ok(())
}

fn list<T>(
    link: &Arc<Link>,
    method: &'static str,
    read: impl Fn(&str) -> Option<tool::Page<T>>,
) -> Result<Vec<T>> {
    let result = call(link, method, Map::new(), Vec::new())?;
    let page = read(&result).ok_or_else(|| Error::Failed(format!("{method} cannot be read")))?;
    page.refused.iter().for_each(|why| eprintln!("{why}"));
    Ok(page.items)
}

/// The calls to make: those of the scenario, else each tool once.
fn calls(tools: &[Tool], context: &Value) -> Vec<(String, Map<String, Value>)> {
    if let Some(calls) = context["toolCalls"].as_array() {
        let named = |call: &Value| {
            let arguments = call["arguments"].as_object().cloned();
            (
                call["name"].as_str().unwrap_or_default().to_owned(),
                arguments.unwrap_or_default(),
            )
        };
        return calls.iter().map(named).collect();
    }
    let once = |tool: &Tool| (tool.name.clone(), arguments(tool, tools));
    tools.iter().map(once).collect()
}

/// Arguments that fit a tool.
fn arguments(tool: &Tool, tools: &[Tool]) -> Map<String, Value> {
    let schema: Value = json::from_str(&tool.schema).unwrap_or_default();
    let value = |(name, schema): (&String, &Value)| {
        let value = match schema["type"].as_str() {
            Some("integer" | "number") => 2.into(),
            Some("boolean") => true.into(),
            // Of a tool that shows what has become of another one's schema.
            Some("object") if name == "schema" => {
                let other = tools.iter().find(|other| other.name != tool.name);
                json::from_str(&other?.schema).ok()?
            }
            Some("object") => Map::new().into(),
            _ => "text".into(),
        };
        Some((name.clone(), value))
    };
    let properties = schema["properties"].as_object();
    properties.into_iter().flatten().filter_map(value).collect()
}

fn call(
    link: &Arc<Link>,
    method: &'static str,
    params: Map<String, Value>,
    parameters: Vec<(String, String)>,
) -> Result<String> {
    let cancel = Cancel::new();
    let call = Call {
        method,
        params,
        parameters,
        patience: Duration::from_secs(20),
    };
    let mut step = link.call(call, &cancel, &mut |_| ())?;
    loop {
        match step {
            Step::Done(result) => return Ok(result),
            Step::Asked(paused) => {
                // The person agrees to every proposal.
                let answer = InputAnswer::Given(Map::new());
                step = paused.answer(&answer, &cancel, &mut |_| ())?;
            }
        }
    }
}

fn object<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Map<String, Value> {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
