//! What `peacrab login` and `logout` say.

use crate::models::signin::{CAVEAT, Service};

/// Claude's subscriptions are for Anthropic's own programs.
pub const CLAUDE: &str = "Peacrab does not sign in with Claude subscriptions: Anthropic's terms allow them only in \
                          its own apps. Use an API key instead: peacrab onboard --provider anthropic";
/// The prompt for an address.
pub const PROMPT: &str = "  > ";
/// A service that keeps its own list of programs.
pub const REVOKE_AT_GITHUB: &str =
    "GitHub itself still lists the program: https://github.com/settings/apps/authorizations";

/// What people call a service.
fn title(service: Service) -> &'static str {
    match service {
        Service::Codex => "your ChatGPT subscription (Codex)",
        Service::Copilot => "your GitHub Copilot subscription",
    }
}

/// What is about to happen.
pub fn opening(service: Service) -> String {
    format!("Sign in with {}. It {CAVEAT}.", title(service))
}

/// A link, and what comes after it.
pub fn link(url: &str) -> String {
    format!(
        "\nOpen this address in a browser, here or on your phone, and sign in:\n\n{url}\n\nThe browser ends at an \
         address that begins with http://localhost:1455. If the page does not load, paste that address here \
         (Ctrl-C stops):\n"
    )
}

/// A code for a page.
pub fn code(url: &str, code: &str) -> String {
    format!(
        "\nOpen {url} in a browser, here or on your phone, and enter this code:\n\n    {code}\n\nWaiting for you to \
         finish there (Ctrl-C stops)."
    )
}

/// It worked. `model` is a model of the service, and `is_named` whether a provider is set in the configuration.
pub fn signed_in(service: Service, model: &str, is_named: bool) -> String {
    let name = service.name();
    let provider = if is_named {
        format!("\n  peacrab config set agents.defaults.provider {name}")
    } else {
        String::new()
    };
    format!(
        "Signed in to {name}. It {CAVEAT}. To use it:{provider}\n  peacrab config set agents.defaults.model \
         {name}/{model}\nor in a chat: /model {name}/{model}"
    )
}

/// The sign-in is not used.
pub fn unused(service: Service) -> String {
    let name = service.name();
    format!(
        "providers.{name}.apiBase is set, so {name} is a server of your own, and this sign-in is not used. To use \
         it, remove that setting."
    )
}

/// The person has refused, at the service.
pub fn refused(service: Service, why: &str) -> String {
    format!(
        "Not signed in to {}: its server says {why}.",
        service.name()
    )
}

/// The address was not pasted.
pub fn not_finished(service: Service) -> String {
    format!(
        "Not signed in to {}: the sign-in was not finished.",
        service.name()
    )
}

/// The sign-in is removed.
pub fn signed_out(service: Service) -> String {
    format!("Signed out of {}.", service.name())
}

/// There was none.
pub fn not_signed_in(service: Service) -> String {
    format!("Not signed in to {}.", service.name())
}

/// One line of the list.
pub fn state(service: Service, is_signed_in: bool) -> String {
    let name = service.name();
    if is_signed_in {
        format!("{name}: signed in")
    } else {
        format!("{name}: not signed in (peacrab login {name})")
    }
}

/// A provider with keys.
pub fn takes_key(name: &str) -> String {
    format!("{name} takes an API key, not a sign-in: peacrab onboard --provider {name}")
}

/// A name of nothing.
pub fn unknown(name: &str) -> String {
    let [codex, copilot] = Service::ALL.map(Service::name);
    format!("No subscription named {name}. There are {codex} and {copilot}.")
}
