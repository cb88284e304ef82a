//! A failure of a model or of its provider.

mod texts;

use std::fmt;
use std::time::Duration;

use crate::base::access::Role;
use crate::base::language::Language;

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
    pub fn summary(&self, language: Language) -> String {
        let Self {
            provider, model, ..
        } = self;
        let of_provider = match self.fault {
            Fault::Key if self.reason.is_empty() => texts::no_key,
            Fault::Key => texts::key_rejected,
            Fault::SignIn if self.reason.is_empty() => texts::not_signed_in,
            Fault::SignIn => texts::sign_in_refused,
            Fault::Quota => texts::no_quota,
            Fault::Rate => texts::rate_limit,
            Fault::Busy => match self.status {
                Some(status) => return texts::busy_with(language, provider, &status),
                None => texts::busy,
            },
            Fault::Unknown if model.is_empty() => texts::offers_nothing,
            Fault::Unknown => return texts::no_such_model(language, provider, model),
            Fault::Request => return texts::request_rejected(language, provider, model),
            Fault::Filter => texts::filtered,
            Fault::Overflow => return texts::too_long(language, model),
            Fault::Network => texts::unreachable,
            Fault::Timeout => texts::timed_out,
            Fault::Cut => texts::cut,
            Fault::Garbage => texts::garbage,
        };
        of_provider(language, provider)
    }

    /// What the person can do about it.
    fn advice(&self, language: Language) -> String {
        let provider = &self.provider;
        if let Some(hint) = &self.hint {
            return hint.clone();
        }
        let advice = match self.fault {
            Fault::Key => {
                let variable = provider.to_uppercase().replace('-', "_") + "_API_KEY";
                let set_or_check = if self.reason.is_empty() {
                    texts::set_key
                } else {
                    texts::check_key
                };
                return set_or_check(language, &variable, provider);
            }
            Fault::SignIn if self.reason.is_empty() => return texts::sign_in(language, provider),
            Fault::SignIn => return texts::sign_in_again(language, provider),
            Fault::Quota if self.reason.contains(RESETS) => texts::wait_for_quota,
            Fault::Quota => texts::top_up,
            Fault::Rate if self.reason.to_lowercase().contains("request too large") => {
                return texts::too_large_for_rate(language, provider);
            }
            Fault::Rate => texts::wait_or_fall_back,
            Fault::Busy => texts::later_or_fall_back,
            Fault::Unknown if self.model.is_empty() => texts::install_one,
            Fault::Unknown => return texts::check_model(language, provider),
            Fault::Request => return refusal_advice(provider, &self.reason, language),
            Fault::Filter => texts::rephrase,
            Fault::Overflow if names(&self.reason, REPLY_BOUND) => texts::lower_bound_or_new,
            Fault::Overflow => texts::begin_new,
            Fault::Network => return texts::check_address(language, provider),
            Fault::Timeout => return texts::raise_time(language, provider),
            Fault::Cut => texts::try_again,
            Fault::Garbage => return texts::check_base(language, provider),
        };
        advice(language).to_owned()
    }

    /// What happened, what the other side said, and what an owner can do about it. What the other side said comes in its
    /// own words.
    pub fn describe(&self, language: Language) -> String {
        let summary = self.summary(language);
        let colon = texts::colon(language);
        let stop = [language.full_stop(), language.sentence_space()].concat();
        if let Some(suggestion) = &self.suggestion {
            return format!("{summary}{stop}{suggestion}");
        }
        let advice = self.advice(language);
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
            "" => format!("{summary}{stop}{advice}"),
            reason if reason.ends_with(['!', '?', '…', '。', '！', '？']) => {
                format!("{summary}{colon}{reason} {advice}")
            }
            reason => format!("{summary}{colon}{reason}{stop}{advice}"),
        }
    }

    /// The failure for a person of this role. People who cannot change the settings hear what to do, without details.
    pub fn describe_for(&self, role: Role, language: Language) -> String {
        if role == Role::Owner {
            return self.describe(language);
        }
        let text = match self.fault {
            Fault::Rate | Fault::Busy | Fault::Network | Fault::Timeout | Fault::Cut => {
                texts::later
            }
            Fault::Filter => texts::rephrase_it,
            Fault::Overflow => texts::begin_new_one,
            Fault::Key
            | Fault::SignIn
            | Fault::Quota
            | Fault::Unknown
            | Fault::Request
            | Fault::Garbage => texts::set_up_wrong,
        };
        text(language).to_owned()
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
fn refusal_advice(provider: &str, reason: &str, language: Language) -> String {
    let reason = reason.to_lowercase();
    let names = |words: &[&str]| names(&reason, words);
    let is_unknown = names(UNKNOWN_PARAMETER) || names(&["unsupported parameter", "unrecognized"]);
    let of_provider = match () {
        () if names(&["unrecognized request url", "with the responses api"])
            || is_unknown && names(RESPONSES_PARAMETERS) =>
        {
            texts::use_chat
        }
        () if names(&["v1/responses"]) => texts::use_responses,
        () if names(&["does not have access to model", "no access to model"]) => {
            return texts::allow_model(language).to_owned();
        }
        () if names(COUNTRY) => texts::not_in_country,
        () if names(&["temperature"]) => return texts::check_temperature(language).to_owned(),
        () if names(&["effort"]) => return texts::other_effort(language).to_owned(),
        () if names(&["image"]) => texts::no_images,
        () if names(&["schema for function", "schema for tool"]) => {
            return schema_advice(&reason, language);
        }
        () if names(&["tools"]) && names(TOO_MANY) => {
            return texts::fewer_tools(language).to_owned();
        }
        () if names(&["invalid value: 'tool'"]) => texts::no_tool_results,
        () if names(&["tool", "function"]) => return texts::no_tools(language).to_owned(),
        () if names(REPLY_BOUND) => return texts::lower_bound(language).to_owned(),
        () if names(UNKNOWN_PARAMETER) => texts::check_extra,
        () => return texts::other_model(language).to_owned(),
    };
    of_provider(language, &provider)
}

/// What to do about a tool whose parameters a server refuses; the reason, in lower case, has its name in quotes.
fn schema_advice(reason: &str, language: Language) -> String {
    let after = ["function '", "tool '"]
        .iter()
        .find_map(|words| reason.split_once(words));
    let tool = after
        .and_then(|(_, rest)| rest.split('\'').next())
        .unwrap_or_default();
    let (name, own) = match tool.strip_prefix("mcp_") {
        Some(own) => (texts::of_mcp(language, &tool), own),
        None => (tool.to_owned(), tool),
    };
    texts::schema_refused(language, &name, &own)
}

/// Parameters that only the Responses API has.
const RESPONSES_PARAMETERS: &[&str] =
    &["max_output_tokens", "tools[0]", "'input'", "'instructions'"];

/// How servers say that a list is too long.
const TOO_MANY: &[&str] = &[
    "array too long",
    "maximum length",
    "too many",
    "at most",
    "maximum of",
];

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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(Language::English))
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
        assert_eq!(
            busy.summary(Language::English),
            "my-proxy is not responding properly (502)"
        );
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

    #[test]
    fn a_failure_is_told_in_the_language_and_by_the_role_of_the_person() {
        let refused = error(Fault::Key, "Incorrect API key provided.");
        assert_eq!(
            refused.describe(Language::Chinese),
            "my-proxy 拒绝了 API 密钥：Incorrect API key provided。请检查 MY_PROXY_API_KEY 或 providers.my-proxy.apiKey"
        );
        let owner = |language| refused.describe_for(Role::Owner, language);
        assert_eq!(
            owner(Language::Chinese),
            refused.describe(Language::Chinese)
        );
        for (fault, words) in [
            (Fault::Key, "tell the owner"),
            (Fault::Quota, "tell the owner"),
            (Fault::Request, "tell the owner"),
            (Fault::Busy, "try again in a few minutes"),
            (Fault::Network, "try again in a few minutes"),
            (Fault::Filter, "rephrase"),
            (Fault::Overflow, "/new"),
        ] {
            for role in [Role::User, Role::Guest] {
                let told = error(fault, "secret details").describe_for(role, Language::English);
                assert!(told.contains(words), "{fault:?} {told}");
                for detail in ["secret", "my-proxy", "providers", "apiKey"] {
                    assert!(!told.contains(detail), "{fault:?} {told}");
                }
            }
        }
    }
}
