//! What the gateway says when a person starts it at a terminal: which bot listens, who has access and what
//! to do next. Elsewhere the log has it.

use std::io::IsTerminal;
use std::sync::Arc;

use crate::base::cancel::Cancel;
use crate::base::limits::channels::STACK_BYTES;
use crate::channels::http;
use crate::channels::kit::adapter::Adapter;
use crate::channels::table::title;
use crate::cli::Context;
use crate::cli::channels::texts;
use crate::cli::terminal::print;
use crate::gateway::Channel;
use crate::store::state::Pairing;

/// Whether a person sees it.
pub fn is_wanted(context: &Context) -> bool {
    let variable = |name: &str| context.environment().contains_key(name);
    std::io::stdout().is_terminal()
        && std::io::stderr().is_terminal()
        && !variable("JOURNAL_STREAM")
        && !variable("NOTIFY_SOCKET")
}

/// What asks the channels who the bots are, and prints the greeting.
pub fn prepare(
    channels: &[Channel],
    pairing: &Arc<Pairing>,
    lacks_model: bool,
) -> Box<dyn FnOnce() + Send> {
    let adapters: Vec<Arc<dyn Adapter>> = channels
        .iter()
        .map(|channel| Arc::clone(&channel.adapter))
        .collect();
    let allowed: Vec<String> = channels
        .iter()
        .flat_map(|channel| {
            let rules = channel.access.rules();
            rules.named().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let pairing = Arc::clone(pairing);
    Box::new(move || {
        let bots: Vec<_> = adapters.iter().map(|adapter| name(&**adapter)).collect();
        let people = people(&allowed, &pairing);
        // A terminal that is gone is no reason to stop.
        let _ = print::line(&texts::greeting(&bots, &people, lacks_model));
    })
}

/// Prints the greeting on a thread that ends then.
pub fn print_later(greet: Box<dyn FnOnce() + Send>) {
    let thread = std::thread::Builder::new().name("greeting".to_owned());
    if let Err(error) = thread.stack_size(STACK_BYTES).spawn(greet) {
        tracing::debug!("failed to start a thread: {error}");
    }
}

/// A bot's name with its channel, or why it could not be asked for.
fn name(adapter: &dyn Adapter) -> Result<String, String> {
    let channel = title(adapter.name());
    match adapter.identify(&Cancel::new()) {
        // It has no account of its own.
        Ok(_) if adapter.name() == http::PAGE => Ok("Serving the web page.".to_owned()),
        Ok(name) => Ok(format!("Listening as {name} on {channel}.")),
        Err(failure) => Err(format!("{channel}: {failure}")),
    }
}

/// Everyone who has access.
fn people(allowed: &[String], pairing: &Pairing) -> Vec<String> {
    if allowed.iter().any(|entry| entry.trim() == "*") {
        return vec!["everyone (allowFrom is *)".to_owned()];
    }
    let paired = pairing.list().map(|list| list.paired).unwrap_or_default();
    let paired = paired
        .iter()
        .map(|one| texts::person(&one.sender.name, &one.sender.id));
    paired.chain(allowed.iter().cloned()).collect()
}
