//! A failure of a model or of its provider.

use std::fmt;
use std::time::Duration;

/// What went wrong with a model, by what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The key is missing, wrong or lacks the right (401, 403).
    Key,
    /// There is no sign-in with the subscription, or it is refused.
    SignIn,
    /// The account has no money or quota left; waiting seconds does not help.
    Quota,
    /// Too many requests for the moment (429).
    Rate,
    /// The service is overloaded or broken (408, 409, 5xx, 529).
    Busy,
    /// No such model, or no such path (404).
    Unknown,
    /// The request was not understood (other 4xx).
    Request,
    /// The content filter refused.
    Filter,
    /// The conversation is longer than the model's window.
    Overflow,
    /// The connection could not be made, or broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The stream ended before the answer did.
    Cut,
    /// What came is not what the API says (HTML of a proxy, broken JSON).
    Garbage,
}

/// A model's failure, worded for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// What kind.
    pub fault: Fault,
    /// The provider's name.
    pub provider: String,
    /// The model's name, as it was sent; empty where the server was asked for its models.
    pub model: String,
    /// What the other side said, or what happened, without secrets. Empty with [`Fault::Key`] or
    /// [`Fault::SignIn`]: there is no key or sign-in, so nothing was sent.
    pub reason: String,
    /// The HTTP status of the answer, if there was one.
    pub status: Option<u16>,
    /// How long the other side asks us to wait.
    pub retry_after: Option<Duration>,
    /// With [`Fault::Unknown`]: a sentence that names models which the server has.
    pub suggestion: Option<String>,
    /// What the person can do about it, where more is known than the reason says.
    pub hint: Option<String>,
}

impl ModelError {
    /// What happened in a few words, such as `Rate limit reached at openai`.
    pub fn summary(&self) -> String {
        let Self {
            provider, model, ..
        } = self;
        match self.fault {
            Fault::Key if self.reason.is_empty() => format!("{provider} has no API key"),
            Fault::Key => format!("{provider} rejected the API key"),
            Fault::SignIn if self.reason.is_empty() => format!("Not signed in to {provider}"),
            Fault::SignIn => format!("{provider} refuses the sign-in"),
            Fault::Quota => format!("The account at {provider} has no credit or quota left"),
            Fault::Rate => format!("Rate limit reached at {provider}"),
            Fault::Busy => match self.status {
                Some(status) => format!("{provider} is not responding properly ({status})"),
                None => format!("{provider} is not responding properly"),
            },
            Fault::Unknown if model.is_empty() => format!("{provider} offers no model"),
            Fault::Unknown => format!("{provider} has no model named {model}"),
            Fault::Request => format!("{provider} rejected the request for {model}"),
            Fault::Filter => format!("The content filter of {provider} refused this"),
            Fault::Overflow => format!("The conversation is too long for {model}"),
            Fault::Network => format!("Cannot reach {provider}"),
            Fault::Timeout => format!("{provider} did not answer in time"),
            Fault::Cut => format!("The connection to {provider} was lost mid-answer"),
            Fault::Garbage => format!("{provider} sent an unexpected response"),
        }
    }

    /// What the person can do about it.
    fn advice(&self) -> String {
        let provider = &self.provider;
        if let Some(hint) = &self.hint {
            return hint.clone();
        }
        match self.fault {
            Fault::Key => {
                let variable = provider.to_uppercase().replace('-', "_") + "_API_KEY";
                let verb = if self.reason.is_empty() {
                    "Set"
                } else {
                    "Check"
                };
                format!("{verb} {variable} or providers.{provider}.apiKey")
            }
            Fault::SignIn if self.reason.is_empty() => {
                format!("Sign in on the board: peacrab login {provider}")
            }
            Fault::SignIn => format!("Sign in again on the board: peacrab login {provider}"),
            Fault::Quota if self.reason.contains(RESETS) => {
                "Wait until then, or choose another model (agents.defaults.model)".to_owned()
            }
            Fault::Quota => "Top it up, or choose another model (agents.defaults.model)".to_owned(),
            Fault::Rate if self.reason.to_lowercase().contains("request too large") => format!(
                "Your account's rate limit allows no request of this size: raise it at {provider}, lower \
                 agents.defaults.contextWindowTokens, or use another model (agents.defaults.model)"
            ),
            Fault::Rate => {
                "Wait a moment, or add other models to agents.defaults.fallbackModels".to_owned()
            }
            Fault::Busy => {
                "Try again later, or add other models to agents.defaults.fallbackModels".to_owned()
            }
            Fault::Unknown if self.model.is_empty() => "Install or load one there".to_owned(),
            Fault::Unknown => format!(
                "Check agents.defaults.model, and providers.{provider}.apiBase if you set it"
            ),
            Fault::Request => refusal_advice(provider, &self.reason),
            Fault::Filter => "Rephrase it, or use another model".to_owned(),
            Fault::Overflow if names(&self.reason, REPLY_BOUND) => {
                "Lower agents.defaults.maxTokens, start a new one (/new), or use a model with a larger context window"
                    .to_owned()
            }
            Fault::Overflow => {
                "Start a new one (/new), or use a model with a larger context window".to_owned()
            }
            Fault::Network => {
                format!("If you set providers.{provider}.apiBase or proxy, check them too")
            }
            Fault::Timeout => format!(
                "Try again, or raise providers.{provider}.timeoutSecs or streamIdleTimeoutSecs"
            ),
            Fault::Cut => "Please try again".to_owned(),
            Fault::Garbage => {
                format!("Check providers.{provider}.apiBase, and whether a proxy is in the way")
            }
        }
    }
}

/// How a reason says when something is possible again.
pub const RESETS: &str = "resets in";

/// The names that APIs have for the bound of a reply.
const REPLY_BOUND: &[&str] = &[
    "max_tokens",
    "max_completion",
    "max_output",
    "max_new_tokens",
    "output tokens",
];

fn names(reason: &str, words: &[&str]) -> bool {
    words.iter().any(|word| reason.contains(word))
}

/// What to do about a request that a provider refused, by the words of the refusal.
fn refusal_advice(provider: &str, reason: &str) -> String {
    let reason = reason.to_lowercase();
    let names = |words: &[&str]| names(&reason, words);
    let is_unknown = names(UNKNOWN_PARAMETER) || names(&["unsupported parameter", "unrecognized"]);
    match () {
        () if names(&["unrecognized request url", "with the responses api"])
            || is_unknown && names(&["max_output_tokens", "tools[0]", "'input'", "'instructions'"]) =>
        {
            format!("It lacks parts of OpenAI's Responses API: set providers.{provider}.api to chat")
        }
        () if names(&["v1/responses"]) => {
            format!("It needs OpenAI's other API: set providers.{provider}.api to responses")
        }
        () if names(&["does not have access to model", "no access to model"]) => {
            "Allow the model in the settings of your project there, or use another one (agents.defaults.model)".to_owned()
        }
        () if names(COUNTRY) => format!(
            "It does not serve your country: use another provider, or a proxy (providers.{provider}.proxy)"
        ),
        () if names(&["temperature"]) => "Check agents.defaults.temperature".to_owned(),
        () if names(&["effort"]) => {
            "Use another level of agents.defaults.reasoningEffort or /think".to_owned()
        }
        () if names(&["image"]) => format!(
            "Use a model that understands images, or set providers.{provider}.images to false"
        ),
        () if names(&["schema for function", "schema for tool"]) => schema_advice(&reason),
        () if names(&["tools"]) && names(&["array too long", "maximum length", "too many", "at most", "maximum of"]) => {
            "Use fewer tools: list those you need in tools.mcpServers.NAME.enabledTools, or turn a server off \
             (tools.mcpServers.NAME.enabled)"
                .to_owned()
        }
        () if names(&["invalid value: 'tool'"]) => format!(
            "The server does not accept results of tools: set providers.{provider}.api to another API, or use another model"
        ),
        () if names(&["tool", "function"]) => {
            "Use a model that can call tools (agents.defaults.model)".to_owned()
        }
        () if names(REPLY_BOUND) => "Lower agents.defaults.maxTokens".to_owned(),
        () if names(UNKNOWN_PARAMETER) => {
            format!("Check providers.{provider}.extraBody if you set it, or use another model")
        }
        () => "Use another model (agents.defaults.model)".to_owned(),
    }
}

/// What to do about a tool whose parameters a server refuses; the reason, in lower case, has its name in quotes.
fn schema_advice(reason: &str) -> String {
    let after = ["function '", "tool '"]
        .iter()
        .find_map(|words| reason.split_once(words));
    let tool = after
        .and_then(|(_, rest)| rest.split('\'').next())
        .unwrap_or_default();
    let (name, rest) = match tool.strip_prefix("mcp_") {
        Some(rest) => (format!("{tool} of an MCP server"), rest),
        None => (tool.to_owned(), tool),
    };
    format!(
        "The server refuses the parameters of {name}: leave {rest} out of tools.mcpServers.NAME.enabledTools, or \
         turn that MCP server off (tools.mcpServers.NAME.enabled)"
    )
}

/// How servers say that they do not serve a country.
const COUNTRY: &[&str] = &[
    "country, region",
    "unsupported_country",
    "location is not supported",
];

/// How servers say that they do not know a member of a request.
const UNKNOWN_PARAMETER: &[&str] = &[
    "parameter",
    "argument",
    "extra inputs",
    "unknown field",
    "unknown name",
    "unexpected",
    "not permitted",
];

impl fmt::Display for ModelError {
    /// What happened, what the other side said, and what the person can do about it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = self.summary();
        if let Some(suggestion) = &self.suggestion {
            return write!(f, "{summary}. {suggestion}");
        }
        let advice = self.advice();
        let mut reason = self.reason.trim_end();
        if let (Fault::Busy, Some(status)) = (self.fault, self.status) {
            // The summary has it.
            let same = format!("HTTP status {status}");
            reason = match reason.strip_suffix(&format!(" ({same})")) {
                Some(before) => before,
                None if reason == same => "",
                None => reason,
            };
        }
        match reason.trim_end_matches('.') {
            "" => write!(f, "{summary}. {advice}"),
            reason if reason.ends_with(['!', '?', '…']) => {
                write!(f, "{summary}: {reason} {advice}")
            }
            reason => write!(f, "{summary}: {reason}. {advice}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(fault: Fault, reason: &str) -> ModelError {
        ModelError {
            fault,
            provider: "my-proxy".to_owned(),
            model: "m".to_owned(),
            reason: reason.to_owned(),
            status: None,
            retry_after: None,
            suggestion: None,
            hint: None,
        }
    }

    #[test]
    fn a_failure_says_what_happened_and_what_to_do() {
        for (error, expected) in [
            (
                error(Fault::Key, "Incorrect API key provided."),
                "my-proxy rejected the API key: Incorrect API key provided. Check MY_PROXY_API_KEY or providers.my-proxy.apiKey",
            ),
            (
                error(Fault::Key, ""),
                "my-proxy has no API key. Set MY_PROXY_API_KEY or providers.my-proxy.apiKey",
            ),
            (
                error(Fault::Cut, "what?"),
                "The connection to my-proxy was lost mid-answer: what? Please try again",
            ),
            (
                ModelError {
                    suggestion: Some("Did you mean n?".to_owned()),
                    ..error(Fault::Unknown, "404")
                },
                "my-proxy has no model named m. Did you mean n?",
            ),
        ] {
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn the_advice_about_a_refused_request_names_what_was_refused() {
        for (reason, advice) in [
            (
                "the moon is wrong",
                "Use another model (agents.defaults.model)",
            ),
            (
                "Please use /v1/responses instead",
                "It needs OpenAI's other API: set providers.my-proxy.api to responses",
            ),
            (
                "`temperature` is deprecated",
                "Check agents.defaults.temperature",
            ),
            (
                "tools[0]: schema is invalid",
                "Use a model that can call tools (agents.defaults.model)",
            ),
            (
                "image exceeds 5 MB maximum",
                "Use a model that understands images, or set providers.my-proxy.images to false",
            ),
            (
                "body.top_k: Extra inputs are not permitted",
                "Check providers.my-proxy.extraBody if you set it, or use another model",
            ),
            (
                "max_tokens must be positive",
                "Lower agents.defaults.maxTokens",
            ),
            (
                "Invalid schema for function 'mcp_home_look': In context=(), 'additionalProperties' is required",
                "The server refuses the parameters of mcp_home_look of an MCP server: leave home_look out of \
                 tools.mcpServers.NAME.enabledTools, or turn that MCP server off (tools.mcpServers.NAME.enabled)",
            ),
            (
                "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one of 140",
                "Use fewer tools: list those you need in tools.mcpServers.NAME.enabledTools, or turn a server off \
                 (tools.mcpServers.NAME.enabled)",
            ),
            (
                "Invalid value: 'tool'. Supported values are: 'assistant' and 'user'",
                "The server does not accept results of tools: set providers.my-proxy.api to another API, or use another model",
            ),
            (
                "Unknown parameter: 'tools[0].strict'",
                "It lacks parts of OpenAI's Responses API: set providers.my-proxy.api to chat",
            ),
            (
                "Unsupported parameter: max_output_tokens",
                "It lacks parts of OpenAI's Responses API: set providers.my-proxy.api to chat",
            ),
            (
                "Unrecognized request URL (POST: /v1/responses)",
                "It lacks parts of OpenAI's Responses API: set providers.my-proxy.api to chat",
            ),
            (
                "Project `p` does not have access to model `m`",
                "Allow the model in the settings of your project there, or use another one (agents.defaults.model)",
            ),
            (
                "Country, region, or territory not supported",
                "It does not serve your country: use another provider, or a proxy (providers.my-proxy.proxy)",
            ),
            (
                "reasoning.effort is wrong",
                "Use another level of agents.defaults.reasoningEffort or /think",
            ),
        ] {
            assert_eq!(
                error(Fault::Request, reason).to_string(),
                format!("my-proxy rejected the request for m: {reason}. {advice}")
            );
        }
    }

    #[test]
    fn a_busy_server_is_named_with_its_status() {
        let busy = ModelError {
            status: Some(502),
            ..error(Fault::Busy, "oops")
        };
        assert_eq!(busy.summary(), "my-proxy is not responding properly (502)");
        for (reason, begins) in [
            (
                "oops (HTTP status 502)",
                "my-proxy is not responding properly (502): oops. Try",
            ),
            (
                "HTTP status 502",
                "my-proxy is not responding properly (502). Try",
            ),
        ] {
            let busy = ModelError {
                status: Some(502),
                ..error(Fault::Busy, reason)
            };
            assert!(busy.to_string().starts_with(begins), "{busy}");
        }
    }
}
