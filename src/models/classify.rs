//! What an API's refusal means: pure.

pub mod aside;

use std::time::Duration;

use serde_json::Value;

use super::route::Route;
use crate::base::chat::{Fault, ModelError};
use crate::base::error::RESETS;
use crate::base::json;
use crate::base::secret::Eraser;
use crate::net::http::sse::TooLong;
use crate::text::ellipsize_chars;

/// Characters kept of what the other side said about an error.
const SAID_CHARS: usize = 300;

/// A failure, before it is known whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub fault: Fault,
    /// What the other side said, or what happened.
    pub reason: String,
    /// The HTTP status of the answer, if there was one.
    pub status: Option<u16>,
    /// How long the other side asks us to wait.
    pub retry_after: Option<Duration>,
    /// Words of the model that its server took for a call and could not read; empty when it does not tell
    /// them (Groq's `tool_use_failed`, <https://console.groq.com/docs/tool-use>).
    pub failed_call: Option<String>,
    /// Whether the other side states it, rather than that its answer is none.
    pub is_stated: bool,
}

impl Failure {
    /// A failure that the other side has said nothing about.
    pub fn new(fault: Fault, reason: impl Into<String>) -> Self {
        Self {
            fault,
            reason: reason.into(),
            status: None,
            retry_after: None,
            failed_call: None,
            is_stated: false,
        }
    }

    /// The failure as the person gets to see it: with names, short, and without secrets.
    pub fn into_error(self, route: &Route, model: &str) -> ModelError {
        let headers = route.headers.iter().map(|(_, value)| value.clone());
        let eraser = Eraser::new(headers.chain([route.key.clone()]));
        // There is no key that could be checked.
        let fault = match self.fault {
            Fault::Key if route.sign_in.is_some() => Fault::SignIn,
            fault => fault,
        };
        let hint = hint(fault, &self.reason, route);
        ModelError {
            fault,
            provider: route.provider.clone(),
            model: model.to_owned(),
            reason: shorten(&eraser.clean(&self.reason)),
            status: self.status,
            retry_after: self.retry_after,
            suggestion: None,
            hint,
        }
    }
}

/// What a person can do about a failure by what is set for the provider.
fn hint(fault: Fault, reason: &str, route: &Route) -> Option<String> {
    let provider = &route.provider;
    let refused = || {
        let words = reason.split(|char: char| !(char.is_alphanumeric() || char == '_'));
        let names: Vec<&str> = words.collect();
        let mut members = route.extra_body.keys();
        members.find(|member| names.contains(&member.as_str()))
    };
    match fault {
        Fault::Request => refused().map(|member| {
            format!("Remove {member} from providers.{provider}.extraBody, or change it there")
        }),
        Fault::Unknown if route.is_set_to_responses() => Some(format!(
            "If it has no Responses API, set providers.{provider}.api to chat; else check agents.defaults.model"
        )),
        _ => None,
    }
}

impl From<TooLong> for Failure {
    fn from(_: TooLong) -> Self {
        Self::new(
            Fault::Garbage,
            "it sent a line or an event that is too long",
        )
    }
}

/// What an error body says, in all the forms that APIs and proxies use.
#[derive(Debug, Default)]
struct Statement {
    message: String,
    /// Types, codes and reasons, in lower case with spaces between.
    kinds: String,
    /// The member of the request that is at fault (OpenAI's `param`).
    parameter: String,
    /// A number that is an HTTP status (OpenRouter's `code`).
    code: Option<u16>,
    retry_after: Option<Duration>,
    /// The time until a subscription's limit is reset.
    resets: Option<Duration>,
    failed_call: Option<String>,
}

/// Decides what an HTTP error means from its status and the beginning of its body.
pub fn classify(status: u16, body: &str, retry_after: Option<Duration>) -> Failure {
    let statement = parse_statement(body);
    let fault = fault(status, &statement);
    let reason = match statement.message.as_str() {
        "" => format!("HTTP status {status}"),
        message => format!("{message} (HTTP status {status})"),
    };
    let is_too_large = reason.to_lowercase().contains("request too large");
    let never = Some(Duration::MAX).filter(|_| fault == Fault::Rate && is_too_large);
    Failure {
        fault,
        reason,
        status: Some(status),
        retry_after: never.or(retry_after).or(statement.retry_after),
        failed_call: statement.failed_call,
        is_stated: true,
    }
}

/// Decides what an error within an answer means: the JSON of a stream's event, or of an answer that
/// claims to be good.
pub fn classify_stated(json: &str) -> Failure {
    let statement = parse_statement(json);
    let status = statement.code.unwrap_or(0);
    let reason = match statement.message.as_str() {
        "" => "it reports an error without a reason".to_owned(),
        message => message.to_owned(),
    };
    Failure {
        fault: fault(status, &statement),
        reason,
        status: statement.code,
        retry_after: statement.retry_after,
        failed_call: statement.failed_call,
        is_stated: true,
    }
}

/// Whether JSON has a message for a person.
pub fn states(json: &str) -> bool {
    json::from_str::<Value>(json).is_ok() && !parse_statement(json).message.is_empty()
}

fn fault(status: u16, statement: &Statement) -> Fault {
    let text = format!("{} {}", statement.kinds, statement.message.to_lowercase());
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // The account's limit for a minute, above which no request passes.
    if says(&["tokens per min", "(tpm)"]) {
        return Fault::Rate;
    }
    if says(&["usage_limit_reached"]) {
        return Fault::Quota;
    }
    // What the key may do has nothing to do with whether it is valid, and the path not with the model.
    if (400..500).contains(&status) && says(NO_ACCESS)
        || status == 404 && says(&["only supported in v1/responses"])
        || says(&["unrecognized request url"])
    {
        return Fault::Request;
    }
    // What the words say is more exact than the status, unless the service is broken.
    let is_broken = status >= 500 || status == 408 || status == 409 || status == 425;
    if status == 413 || (!is_broken || status == 500) && says(OVERFLOW) {
        return Fault::Overflow;
    }
    if status == 402 || !is_broken && says(QUOTA) && !passes(statement, &text) {
        return Fault::Quota;
    }
    if status == 429 || !is_broken && says(RATE) {
        return Fault::Rate;
    }
    if !is_broken && says(FILTER) {
        return Fault::Filter;
    }
    match status {
        401 | 403 => Fault::Key,
        404 | 405 | 410 => Fault::Unknown,
        _ if is_broken || says(BUSY) => Fault::Busy,
        _ if says(KEY) => Fault::Key,
        _ if says(UNKNOWN) => Fault::Unknown,
        0 if !says(REQUEST) => Fault::Busy,
        300..=399 => Fault::Garbage,
        _ => Fault::Request,
    }
}

/// Gemini says the same of a minute's quota, which comes back by itself, and of a day's.
fn passes(statement: &Statement, text: &str) -> bool {
    statement.retry_after.is_some() && !text.contains("perday") && !text.contains("per day")
}

const NO_ACCESS: &[&str] = &[
    "does not have access to model",
    "unsupported_country_region_territory",
    "country, region, or territory not supported",
    "user location is not supported",
];
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "context length",
    "maximum context",
    "context window",
    "context limit",
    "context size",
    "exceed_context_size",
    "prompt is too long",
    "input is too long",
    "maximum prompt length",
    "exceeds the maximum number of tokens",
    "exceeded model token limit",
    "range of input length",
    "reduce the length of the messages",
    "request too large",
    "request_too_large",
    "prompt 超长",
    "prompt超长",
];
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient_user_quota",
    "exceeded your current quota",
    "exceeded_current_quota",
    "insufficient balance",
    "insufficient credits",
    "insufficient_balance",
    "credit balance is too low",
    "billing_error",
    "billing hard limit",
    "arrearage",
    "account balance",
    "余额不足",
    "欠费",
];
const RATE: &[&str] = &["rate_limit", "rate limit", "too many requests", "速率限制"];
const FILTER: &[&str] = &[
    "content_filter",
    "content filter",
    "content_policy",
    "content policy",
    "content management policy",
    "data_inspection_failed",
    "content exists risk",
    "considered high risk",
    "requires moderation",
    "sensitive content",
    "prohibited_content",
    "blocked by safety",
    "invalid_prompt",
    "bio_policy",
    "policy_violation",
    "敏感",
];
const KEY: &[&str] = &[
    "api key",
    "api_key",
    "authentication",
    "unauthorized",
    "permission_error",
    "permission denied",
    "login fail",
];
const UNKNOWN: &[&str] = &[
    "model_not_found",
    "model not found",
    "model not exist",
    "not a valid model",
    "unknown model",
    "not_found_error",
    "does not exist",
    "模型不存在",
];
const BUSY: &[&str] = &[
    "overloaded",
    "unavailable",
    "try again later",
    "timeout_error",
];
const REQUEST: &[&str] = &[
    "invalid_request",
    "invalid request",
    "bad_request",
    "invalid_argument",
    "invalid_image",
    "invalid_base64_image",
    "image_",
];

fn parse_statement(body: &str) -> Statement {
    let mut statement = Statement::default();
    match json::from_str::<Value>(body) {
        Ok(json) => collect(&json, &mut statement, 0),
        // Only the beginning of a body is kept, so it may be JSON that is cut off.
        Err(_) => {
            statement.message = plain_text(body);
            statement.failed_call = body.contains(FAILED_CALL).then(String::new);
        }
    }
    if let Some(wait) = statement.resets {
        let minutes = wait.as_secs().div_ceil(60);
        let (hours, minutes) = (minutes / 60, minutes % 60);
        add_message(
            &format!("it {RESETS} {hours} h {minutes} min"),
            &mut statement,
        );
    }
    let parameter = std::mem::take(&mut statement.parameter);
    if !statement.message.contains(&parameter) {
        add_message(&format!("parameter {parameter}"), &mut statement);
    }
    statement
}

/// Groq's code for a call that it could not read.
const FAILED_CALL: &str = "tool_use_failed";

/// Collects what is in the usual members, a few levels deep at most.
fn collect(json: &Value, statement: &mut Statement, depth: usize) {
    const DEPTH: usize = 6;
    match json {
        Value::Array(items) if depth < DEPTH => {
            items
                .iter()
                .for_each(|item| collect(item, statement, depth + 1));
        }
        Value::Object(members) => {
            for (name, value) in members {
                take_member(name, value, statement, depth);
            }
        }
        Value::String(text) if depth > 0 => add_message(text, statement),
        _ => {}
    }
}

fn take_member(name: &str, value: &Value, statement: &mut Statement, depth: usize) {
    match (name, value) {
        (
            "message" | "msg" | "detail" | "status_msg" | "error_msg" | "raw",
            Value::String(text),
        ) => {
            add_message(text, statement);
        }
        // FastAPI names the member that it refuses in a path beside the message.
        ("loc", Value::Array(path)) => {
            let names: Vec<_> = path.iter().filter_map(Value::as_str).collect();
            add_message(&names.join("."), statement);
        }
        ("code", Value::String(code)) if code == FAILED_CALL => {
            statement.failed_call.get_or_insert_default();
        }
        ("failed_generation", generation) => {
            let text = json::to_text(generation).unwrap_or_else(|| generation.to_string());
            statement.failed_call = Some(text);
        }
        ("param", Value::String(text)) => text.clone_into(&mut statement.parameter),
        ("type" | "code" | "status" | "reason" | "quotaId", Value::String(text)) => {
            statement.kinds.push(' ');
            statement.kinds.push_str(&text.to_lowercase());
        }
        ("code" | "status_code", Value::Number(number)) => {
            let code = number.as_u64().and_then(|code| u16::try_from(code).ok());
            statement.code = code.filter(|code| (400..600).contains(code));
        }
        // ChatGPT's subscription.
        ("resets_in_seconds", Value::Number(number)) => {
            let wait = number.as_u64().map(Duration::from_secs);
            statement.retry_after = wait;
            statement.resets = wait;
        }
        ("retryDelay", Value::String(text)) => {
            let seconds = text.trim_end_matches('s').parse().ok();
            let delay = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            statement.retry_after = delay;
        }
        (
            "error" | "errors" | "detail" | "details" | "message" | "metadata" | "base_resp"
            | "violations",
            _,
        ) => {
            collect(value, statement, depth + 1);
        }
        _ => {}
    }
}

fn add_message(text: &str, statement: &mut Statement) {
    let text = text.trim();
    if text.is_empty() || statement.message.contains(text) {
        return;
    }
    if !statement.message.is_empty() {
        statement.message.push_str("; ");
    }
    statement.message.push_str(text);
}

/// A body that is not JSON: the title of a web page, or the text itself.
fn plain_text(body: &str) -> String {
    let body = body.trim();
    if body.starts_with('<') {
        page_title(body)
    } else {
        body.to_owned()
    }
}

/// A web page, by its title if it has one.
pub fn page_title(body: &str) -> String {
    let after = |mark: &str| body.find(mark).map(|start| &body[start + mark.len()..]);
    let title = after("<title>").or_else(|| after("<TITLE>"));
    match title.and_then(|rest| rest.split('<').next()) {
        Some(title) => format!("a web page, \"{}\"", title.trim()),
        None => "a web page".to_owned(),
    }
}

/// One line of at most [`SAID_CHARS`] characters.
fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches('.');
    ellipsize_chars(line, SAID_CHARS).into_owned()
}

#[cfg(test)]
mod tests;
