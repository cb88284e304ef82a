//! How the API of a model differs from the others: known by its name, or learned when it rejects a
//! request.

pub mod window;

use super::classify::Failure;
use super::route::Route;
use super::table::{Api, Format};
use crate::base::chat::{Fault, ReasoningEffort};
use crate::config::schema::CacheTime;
use crate::models::signin::Service;

/// Smaller numbers in a complaint about `max_tokens` are not the most that a model accepts.
const LEARNED_TOKENS_MIN: u32 = 512;

/// What to do with a requested reasoning effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// It is sent when it was requested.
    Asked,
    /// With tools `none` is sent, because the API has tools only without reasoning.
    NoneWithTools,
    /// It is never sent.
    Never,
}

/// Which reasoning goes back with the assistant's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoughts {
    /// None.
    Dropped,
    /// As `reasoning_content` with the assistant's calls; the given text where there is none, because
    /// the member must be there. An empty one stands in every message of the assistant's: for
    /// DeepSeek the closing answer of a turn with calls belongs to them
    /// (<https://api-docs.deepseek.com/guides/thinking_mode>).
    Sent(&'static str),
}

/// How the API of a model differs from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// OpenAI: which of its APIs is asked.
    pub api: Api,
    /// Responses: encrypted reasoning is asked for, and goes back.
    pub sealed: bool,
    /// Responses: a key for the cache is accepted.
    pub cache_key: bool,
    /// Responses: the assistant's messages say whether it went on.
    pub phases: bool,
    /// Responses with ChatGPT's subscription: neither a bound nor a temperature is accepted, there must be
    /// instructions, and it only streams.
    pub is_codex: bool,
    /// OpenAI: the bound is called `max_completion_tokens`.
    pub completion_tokens: bool,
    /// The largest bound that the API accepts, as far as is known.
    pub max_tokens: u32,
    /// A temperature is accepted.
    pub temperature: bool,
    /// What to do with the wish for an effort.
    pub effort: Effort,
    /// The most that is sent of it.
    pub effort_max: ReasoningEffort,
    /// OpenAI: usage in a stream has to be asked for with `stream_options`.
    pub usage_option: bool,
    /// The model takes tools.
    pub tools: bool,
    /// The model understands images.
    pub sees: bool,
    /// OpenAI: which reasoning goes back.
    pub thoughts: Thoughts,
    /// OpenAI: calls carry Gemini's thought signatures.
    pub signatures: bool,
    /// OpenAI: a call's id is exactly nine letters or digits.
    pub short_ids: bool,
    /// Anthropic: thinking is `adaptive`, not a budget.
    pub adaptive: bool,
    /// Anthropic: thinking may be asked for and goes back.
    pub thinking: bool,
    /// It always thinks: the least is a little.
    pub always_thinks: bool,
    /// Anthropic: how long the cache may be asked to keep something.
    pub cache: CacheTime,
}

/// What a person can choose about a model's thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingControl {
    /// As much as they like, or none.
    Free,
    /// How much, but it always thinks.
    AlwaysThinks,
    /// Nothing: it thinks only in requests without tools.
    NotWithTools,
    /// Nothing: it does not think.
    Never,
}

impl Quirks {
    /// What is known about a model of a route, by its names and by the configuration.
    pub fn of_model(route: &Route, model: &str) -> Self {
        // Subscriptions have OpenAI's API, whichever vendor the model comes from.
        let provider = match route.sign_in {
            Some(_) => "openai",
            None => &route.provider,
        };
        let by_name = Self::of_name(provider, route.format, model);
        Self {
            api: route.api(by_name.api),
            cache: route.cache,
            is_codex: route.is_with(Service::Codex),
            sees: route.images.unwrap_or(by_name.sees),
            ..by_name
        }
    }

    /// What is known about a model by its names.
    pub(super) fn of_name(provider: &str, format: Format, model: &str) -> Self {
        let model = model.to_lowercase();
        let bare = model.rsplit('/').next().unwrap_or_default();
        let reasons = is_openai_reasoning(bare);
        let is_kimi = bare.starts_with("kimi");
        let claude = bare.starts_with("claude").then(|| claude_version(bare));
        let needs_responses = provider == "openai" && has_tools_without_reasoning(bare);
        Self {
            api: if needs_responses {
                Api::Responses
            } else {
                Api::Chat
            },
            sealed: !is_older_gpt(bare),
            cache_key: true,
            phases: needs_responses,
            is_codex: false,
            completion_tokens: reasons,
            max_tokens: u32::MAX,
            // https://platform.claude.com/docs/en/models/sonnet-5/migration-guide; Kimi's is fixed.
            // Google wants its newer models left at 1 (<https://ai.google.dev/gemini-api/docs/gemini-3>).
            temperature: !reasons
                && !is_kimi
                && !is_newer_gemini(bare)
                && claude.is_none_or(|version| version < (4, 7)),
            effort_max: if bare.starts_with("gemini") {
                ReasoningEffort::High
            } else {
                ReasoningEffort::Max
            },
            effort: match provider {
                "openai" if bare.contains("astra") => Effort::Asked,
                "openai" if reasons && has_tools_without_reasoning(bare) => Effort::NoneWithTools,
                "openai" if is_older_gpt(bare) => Effort::Never,
                _ => Effort::Asked,
            },
            usage_option: provider != "mistral",
            tools: true,
            sees: sees(&model),
            thoughts: thoughts(provider, bare),
            signatures: is_newer_gemini(&model),
            short_ids: provider == "mistral",
            adaptive: claude.is_some_and(|version| version >= (4, 6)),
            thinking: format == Format::Anthropic && claude.is_none_or(|version| version >= (3, 7)),
            always_thinks: reasons
                && (gpt_version(bare).is_none_or(|version| version < (5, 1))
                    || bare.contains("astra"))
                || claude.is_some_and(|version| always_thinks(bare, version)),
            cache: CacheTime::Auto,
        }
    }

    /// What a person can choose about the model's thinking.
    pub fn thinking_control(&self, format: Format) -> ThinkingControl {
        let is_anthropic = format == Format::Anthropic;
        match self.effort {
            _ if is_anthropic && !self.thinking => ThinkingControl::Never,
            Effort::Never if !is_anthropic => ThinkingControl::Never,
            Effort::NoneWithTools if !is_anthropic && self.api != Api::Responses => {
                ThinkingControl::NotWithTools
            }
            _ if self.always_thinks => ThinkingControl::AlwaysThinks,
            _ => ThinkingControl::Free,
        }
    }

    /// Learns from a failure, before the same request is sent again. False when there is nothing to change.
    ///
    /// A server that has no Responses API says 404, and so may one that has not the model, or not yet: then chat
    /// completions say so, too. Where the configuration wants that API, the next turn begins with it again.
    pub fn learn_from(&mut self, failure: &Failure, route: &Route, max_tokens: u32) -> bool {
        let is_missing = failure.fault == Fault::Unknown;
        if self.api == Api::Responses && is_missing && !route.is_official() {
            self.api = Api::Chat;
            return true;
        }
        if failure.fault == Fault::Overflow {
            let most = share_of_window(&failure.reason.to_lowercase(), max_tokens);
            let most = most.filter(|most| *most < self.max_tokens);
            self.max_tokens = most.unwrap_or(self.max_tokens);
            return most.is_some();
        }
        // Some say 404 of what a model cannot do.
        let reason = failure.reason.to_lowercase();
        let is_able = !reason.contains("v1/responses") && !refuses_tools(&reason);
        (failure.fault == Fault::Request || is_missing && !is_able)
            && self.learn(&failure.reason, max_tokens)
    }

    /// Learns from the reason that an API gave for rejecting a request of at most `max_tokens`: changes
    /// or gives up the parameter it names. False when there is nothing to change.
    pub fn learn(&mut self, reason: &str, max_tokens: u32) -> bool {
        let before = *self;
        let reason = reason.to_lowercase();
        // The second is Copilot's.
        let needs_responses = ["v1/responses", "via the /chat/completions"];
        if needs_responses.iter().any(|words| reason.contains(words)) && self.api == Api::Chat {
            (self.api, self.effort) = (Api::Responses, Effort::Asked);
        } else if let Some(most) = named_bound(&reason, max_tokens.min(self.max_tokens)) {
            self.max_tokens = most;
        } else if reason.contains("max_completion_tokens") {
            self.completion_tokens = !self.completion_tokens;
        } else if let Some(refused) = refused_effort(&reason, self.effort_max) {
            let below = ReasoningEffort::ALL
                .into_iter()
                .rfind(|effort| *effort < refused);
            match below {
                Some(below) if below > ReasoningEffort::Off => self.effort_max = below,
                // `none` is refused, or even the least.
                None if !self.always_thinks => {
                    (self.always_thinks, self.effort) = (true, Effort::Asked);
                }
                _ => self.effort = Effort::Never,
            }
        } else if ["reasoning_effort", "reasoning effort", "reasoning.effort"]
            .iter()
            .any(|name| reason.contains(name))
        {
            self.effort = match self.effort {
                Effort::Asked if reason.contains("none") => Effort::NoneWithTools,
                _ => Effort::Never,
            };
        } else if reason.contains("encrypted") {
            self.sealed = false;
        } else if reason.contains("prompt_cache_key") {
            self.cache_key = false;
        } else if reason.contains("cache_control") || reason.contains("cache-ttl") {
            // Other vendors' servers often know no `ttl`, some no cache.
            self.cache = match self.cache {
                CacheTime::Auto | CacheTime::Hour => CacheTime::FiveMinutes,
                CacheTime::FiveMinutes | CacheTime::Off => CacheTime::Off,
            };
        } else if reason.contains("temperature") {
            self.temperature = false;
        } else if reason.contains("stream_options") {
            self.usage_option = false;
        } else if reason.contains("adaptive") && reason.contains("thinking") && !self.adaptive {
            self.adaptive = true;
        } else if reason.contains("thinking") {
            self.thinking = false;
        } else if refuses_tools(&reason) {
            self.tools = false;
        } else if reason.contains("image_url")
            || reason.contains("image") && reason.contains("support")
        {
            self.sees = false;
        }
        *self != before
    }
}

/// Whether a complaint, in lower case, is that a model takes no tools.
fn refuses_tools(reason: &str) -> bool {
    [
        "support tools",
        "support tool use",
        "support tool call",
        "support function call",
        "tools are not supported",
        "tools is not supported",
        "`tools` is not supported",
        "'tools' is not supported",
        "tool use is not supported",
        "tool calling is not supported",
        "function calling is not supported",
        // vLLM, where tools are not turned on.
        "enable-auto-tool-choice",
    ]
    .iter()
    .any(|words| reason.contains(words))
}

/// The effort that a complaint refuses, such as `unsupported value: 'xhigh' is not supported`. Where it only
/// lists those that there are, it is the first one above the usual three.
fn refused_effort(reason: &str, most: ReasoningEffort) -> Option<ReasoningEffort> {
    let value = reason.split_once("value: '").map(|(_, rest)| rest);
    let value = value.and_then(|rest| rest.split('\'').next());
    let named = |effort: &ReasoningEffort| match value {
        Some("none") => *effort == ReasoningEffort::Off,
        Some(word) => effort.as_str() == word,
        None => false,
    };
    let above = || {
        let is_listed = reason.contains("effort") && reason.contains("input should be");
        (is_listed && most > ReasoningEffort::High).then_some(ReasoningEffort::XHigh)
    };
    ReasoningEffort::ALL.into_iter().find(named).or_else(above)
}

/// What a reply may have of a window that a complaint names, in lower case: a fourth. `None` where the conversation itself is
/// too long for that, so that a shorter reply does not help, or where the complaint does not tell.
fn share_of_window(reason: &str, asked: u32) -> Option<u32> {
    const SHARE: u32 = 4;
    const WINDOWS: [&str; 4] = [">", "context length", "context window", "must be <="];
    let reason = reason.split(" (http status").next().unwrap_or_default();
    let numbers = |text: &str| -> Vec<u32> {
        let words = text.split(|char: char| !(char.is_alphanumeric() || matches!(char, '-' | '_')));
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let after = |mark: &&str| {
        reason
            .split_once(*mark)
            .and_then(|(_, rest)| numbers(rest).first().copied())
    };
    let window = WINDOWS.iter().find_map(after)?;
    let all = numbers(reason);
    let mut input: Vec<u32> = all
        .iter()
        .copied()
        .filter(|number| *number < window && *number != asked)
        .collect();
    input.sort_unstable();
    input.dedup();
    let input = input
        .iter()
        .fold(0_u32, |sum, tokens| sum.saturating_add(*tokens));
    let share = window / SHARE;
    let has_room = input > 0 && input <= window - share;
    (all.contains(&asked) && has_room && share < asked).then_some(share)
}

/// The bound that a complaint about `max_tokens` names, below the one that was asked for.
fn named_bound(reason: &str, asked: u32) -> Option<u32> {
    let is_about_it = [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "output tokens",
        "completion tokens",
    ]
    .iter()
    .any(|name| reason.contains(name));
    // `gpt-4-0613` is one word, and no model is limited to fewer tokens.
    let numbers = reason
        .split(|char: char| !(char.is_alphanumeric() || matches!(char, '-' | '_')))
        .filter_map(|word| word.parse().ok())
        .filter(|number| (LEARNED_TOKENS_MIN..asked).contains(number));
    numbers.min().filter(|_| is_about_it)
}

/// Whether the name is of OpenAI's reasoning models: the o-series, GPT-5 and later.
fn is_openai_reasoning(bare: &str) -> bool {
    let is_o = ["o1", "o3", "o4"]
        .iter()
        .any(|family| bare.starts_with(family));
    is_o || gpt_version(bare).is_some_and(|version| version >= (5, 0) && !bare.contains("chat"))
}

/// Whether the name is of an OpenAI model before reasoning: GPT-3 and GPT-4.
fn is_older_gpt(bare: &str) -> bool {
    bare.starts_with("chatgpt-") || gpt_version(bare).is_some_and(|version| version < (5, 0))
}

/// Whether the name is of a Gemini from 3 on, names without a number among them.
fn is_newer_gemini(name: &str) -> bool {
    let is_old = |old| name.starts_with(old);
    name.starts_with("gemini") && !["gemini-1", "gemini-2"].into_iter().any(is_old)
}

/// Whether a Claude's thinking cannot be turned off
/// (<https://platform.claude.com/docs/en/about-claude/models/overview>).
fn always_thinks(bare: &str, version: (u32, u32)) -> bool {
    bare.starts_with("claude-fable")
        || bare.starts_with("claude-mythos")
        || bare.starts_with("claude-opus") && version >= (5, 5)
}

/// From GPT-5.4 on, chat completions have tools only with the effort `none`, and later models think
/// by default (<https://github.com/openai/openai-openapi/issues/541>).
fn has_tools_without_reasoning(bare: &str) -> bool {
    gpt_version(bare).is_some_and(|version| version >= (5, 4))
}

/// The version in `gpt-5.4-mini`; none for other names, `gpt-oss` among them.
fn gpt_version(bare: &str) -> Option<(u32, u32)> {
    let rest = bare.strip_prefix("gpt-")?;
    let number = rest.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    // `4o` is version 4.
    let major = major.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    Some((major.parse().ok()?, minor.parse().unwrap_or(0)))
}

/// The version in `claude-opus-4-7`, `claude-3-5-haiku-20241022` or `claude-sonnet-4.5`; a name
/// without a number is of a model newer than this list.
fn claude_version(bare: &str) -> (u32, u32) {
    // A date has more than two digits.
    let mut numbers = bare
        .split(['-', '.', '@', ':'])
        .filter(|part| part.len() <= 2)
        .filter_map(|part| part.parse().ok());
    match numbers.next() {
        Some(major) => (major, numbers.next().unwrap_or(0)),
        None => (u32::MAX, 0),
    }
}

/// Which models need their reasoning back, at least as an empty text. Groq and Mistral reject the
/// member, gateways accept it.
fn thoughts(provider: &str, bare: &str) -> Thoughts {
    if matches!(provider, "openai" | "groq" | "mistral") {
        Thoughts::Dropped
    } else if bare.starts_with("deepseek") {
        Thoughts::Sent("")
    } else if bare.starts_with("kimi") {
        // It must not be empty.
        Thoughts::Sent("tool call")
    } else if bare.starts_with("glm") || bare.starts_with("mimo") {
        Thoughts::Sent("")
    } else {
        Thoughts::Dropped
    }
}

/// Whether a model of this name (in lower case) understands images.
fn sees(model: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "claude",
        "gemini",
        "gpt-4o",
        "gpt-4.1",
        "gpt-4-turbo",
        "gpt-4.5",
        "gpt-5",
        "gpt-6",
        "chatgpt-4o",
        "o1",
        "o3",
        "o4",
        "grok-4",
        "kimi-k2.5",
        "kimi-k2.6",
        "kimi-k2.7",
        "kimi-k3",
        "kimi-latest",
        "mistral-medium",
        "mistral-small",
        "mistral-large-latest",
        "doubao-seed",
        "deepseek-flash",
        "deepseek-v4.1",
        "minimax-m3",
        "llama-4",
        "gemma-3",
        "gemma3",
        "gemma-4",
        "gemma4",
        "qwen3.5",
        "qwen3.6",
        "qwen3.7",
        "auto",
    ];
    const PARTS: &[&str] = &[
        "vision",
        "-vl",
        "2.5vl",
        "3vl",
        "llava",
        "pixtral",
        "moondream",
        "minicpm-v",
        "omni",
        "multimodal",
    ];
    const BLIND: &[&str] = &[
        "o1-mini",
        "o1-preview",
        "o3-mini",
        "claude-2",
        "claude-instant",
        "gemma-3-1b",
        "gemma3:1b",
    ];
    let bare = model.rsplit('/').next().unwrap_or_default();
    let begins = |names: &[&str]| names.iter().any(|name| bare.starts_with(name));
    let is_glm_v = bare.starts_with("glm-")
        && bare
            .split('-')
            .nth(1)
            .is_some_and(|version| version.ends_with('v'));
    !begins(BLIND)
        && (begins(BEGINNINGS) || is_glm_v || PARTS.iter().any(|part| bare.contains(part)))
}

#[cfg(test)]
mod tests;
