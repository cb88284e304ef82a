//! `peacrab context`: what goes to the model with the next message, and how much of its window that is.

use std::fmt::Write as _;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::compose::{self, RunOptions};
use super::terminal::print;
use crate::agent::context::account::{Account, Weight};
use crate::base::error::{Exit, Result};
use crate::base::message::SessionKey;
use crate::board::Board;
use crate::net::http::Pool;
use crate::store::session::store;
use crate::text::grouped;

/// The conversation of `peacrab agent` without a name.
const DEFAULT: &str = "default";

/// `peacrab context …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// The conversation, as `sessions list` shows it [default: default]
    #[arg(short, long, value_name = "SESSION")]
    session: Option<String>,
    /// The agent of agents.list [default: the default agent]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Print the system prompt itself
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows the next request of a conversation, built by the code that sends it. No model is asked.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let key = SessionKey::parse(arguments.session.as_deref().unwrap_or(DEFAULT));
    let home = context.home()?;
    let all = context.start()?;
    compose::check_agents(&home, &all)?;
    let loaded = all.of_agent(arguments.agent.as_deref())?;
    let sessions = home.sessions_of(loaded.agent_id());
    if arguments.session.is_some() {
        store::existing(&sessions, &key)?;
    }
    let options = RunOptions {
        model: None,
        stream: false,
        chats: key.parts().0 != "cli",
        board: Arc::new(Board::here(home.path())),
        connections: Pool::new(compose::tls(&loaded.config.tls)?),
        before: None,
    };
    let agent = compose::agent(context, &home, loaded, options)?;
    let account = agent.account(&sessions, &key)?;
    match (arguments.full, arguments.json) {
        (true, _) => print::out(&format!("{}\n", account.prompt.text())),
        (_, true) => print::json(&to_json(&account).to_string()),
        _ => print::out(&format(&account)),
    }?;
    Ok(Exit::Done)
}

/// A row of the table: what it is, and its bytes and tokens.
type Row = (String, Weight);

fn rows(account: &Account) -> Vec<Row> {
    let parts = account.prompt.parts.iter();
    let mut rows: Vec<Row> = parts
        .map(|part| (part.name.clone(), Weight::of(&part.text)))
        .collect();
    let turns = match account.turns {
        1 => "conversation (1 turn)".to_owned(),
        turns => format!("conversation ({turns} turns)"),
    };
    rows.extend([
        (format!("tools ({})", account.tools), account.tools_weight),
        (turns, account.history),
        ("time and chat".to_owned(), account.facts),
        ("total".to_owned(), account.used()),
    ]);
    rows
}

fn format(account: &Account) -> String {
    let rows = rows(account);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut text = format!("Model: {}\n\n", account.model);
    let head = format!("{:<width$}  {:>9}  {:>9}", "part", "bytes", "tokens");
    let _ = writeln!(text, "{}", print::bold(&head));
    for (name, Weight { bytes, tokens }) in &rows {
        let (bytes, tokens) = (grouped(*bytes), grouped(*tokens));
        let _ = writeln!(text, "{name:<width$}  {bytes:>9}  {tokens:>9}");
    }
    for (name, tokens) in [
        ("kept for the answer", account.answer),
        ("left", account.left()),
        ("window", account.window),
    ] {
        let _ = writeln!(text, "{name:<width$}  {:>9}  {:>9}", "", grouped(tokens));
    }
    for (name, bytes) in account.prompt.cuts() {
        let bytes = grouped(bytes);
        let _ = write!(
            text,
            "\n{bytes} bytes of {name} do not fit and are left out."
        );
    }
    if account.prompt.cuts().next().is_some() {
        text.push('\n');
    }
    text
}

fn to_json(account: &Account) -> Value {
    let weight = |Weight { bytes, tokens }| json!({"bytes": bytes, "tokens": tokens});
    let parts = account.prompt.parts.iter().map(|part| {
        let Weight { bytes, tokens } = Weight::of(&part.text);
        json!({
            "name": part.name,
            "bytes": bytes,
            "tokens": tokens,
            "budget": part.budget,
            "cutBytes": part.is_cut.unwrap_or(0),
        })
    });
    let mut tools = weight(account.tools_weight);
    tools["count"] = json!(account.tools);
    let mut conversation = weight(account.history);
    conversation["turns"] = json!(account.turns);
    conversation["entries"] = json!(account.entries);
    json!({
        "model": account.model,
        "parts": parts.collect::<Vec<_>>(),
        "tools": tools,
        "conversation": conversation,
        "facts": weight(account.facts),
        "total": weight(account.used()),
        "answerTokens": account.answer,
        "leftTokens": account.left(),
        "windowTokens": account.window,
    })
}
