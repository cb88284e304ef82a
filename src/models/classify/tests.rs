use super::Fault::*;
use super::*;

/// Status, body; what it means, and a part of what is told.
const BODIES: &[(u16, &str, Fault, &str)] = &[
    (
        401,
        r#"{"error":{"message":"Incorrect API key provided: sk-x. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        Key,
        "Incorrect API key",
    ),
    (
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}"#,
        Key,
        "invalid x-api-key",
    ),
    (
        403,
        r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}"#,
        Request,
        "not supported",
    ),
    (
        403,
        r#"{"error":{"message":"Project `proj_x` does not have access to model `gpt-6.1-sol`","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        Request,
        "access to model",
    ),
    (
        404,
        r#"{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions.","type":"invalid_request_error","param":"model","code":null}}"#,
        Request,
        "v1/responses",
    ),
    (
        429,
        r#"{"error":{"message":"Request too large for gpt-6.1-sol in organization org-1 on tokens per min (TPM): Limit 3000, Requested 9000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
        Rate,
        "Limit 3000",
    ),
    (
        413,
        r#"{"error":{"message":"Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}"#,
        Rate,
        "Limit 6000",
    ),
    (
        429,
        r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":12301}}"#,
        Quota,
        "The usage limit has been reached; it resets in 3 h 26 min",
    ),
    (
        400,
        r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]"#,
        Key,
        "not valid",
    ),
    (
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        Quota,
        "quota",
    ),
    (
        402,
        r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
        Quota,
        "Balance",
    ),
    (
        402,
        r#"{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}"#,
        Quota,
        "credits",
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#,
        Quota,
        "credit balance",
    ),
    (
        400,
        r#"{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"},"request_id":"x"}"#,
        Quota,
        "good standing",
    ),
    (
        429,
        r#"{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试。"}}"#,
        Quota,
        "欠费",
    ),
    (
        429,
        r#"{"error":{"message":"Your account x<ak> is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}"#,
        Quota,
        "suspended",
    ),
    (
        429,
        r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM)","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
        Rate,
        "Rate limit",
    ),
    (
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}"#,
        Rate,
        "organization",
    ),
    (
        429,
        r#"{"message":"Requests rate limit exceeded"}"#,
        Rate,
        "exceeded",
    ),
    (429, "", Rate, "HTTP status 429"),
    (
        404,
        r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        Unknown,
        "gpt-9",
    ),
    (
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
        Unknown,
        "claude-9",
    ),
    (
        400,
        r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
        Unknown,
        "Not Exist",
    ),
    (
        400,
        r#"{"error":{"message":"foo/bar is not a valid model ID","code":400},"user_id":"u"}"#,
        Unknown,
        "foo/bar",
    ),
    (404, "404 page not found", Unknown, "page not found"),
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        Overflow,
        "128000",
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        Overflow,
        "210000",
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}"#,
        Overflow,
        "190000",
    ),
    (
        413,
        r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        Overflow,
        "maximum size",
    ),
    (
        400,
        r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        Overflow,
        "1200000",
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}"#,
        Overflow,
        "context size",
    ),
    (
        400,
        r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}"#,
        Overflow,
        "8192",
    ),
    (
        400,
        r#"{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 30720]","type":"invalid_request_error"}}"#,
        Overflow,
        "30720",
    ),
    (
        400,
        r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400}}"#,
        Filter,
        "triggering",
    ),
    (
        400,
        r#"{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content."}}"#,
        Filter,
        "inappropriate",
    ),
    (
        400,
        r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}"#,
        Filter,
        "Risk",
    ),
    (
        403,
        r#"{"error":{"message":"Your chosen model requires moderation and your input was flagged","code":403}}"#,
        Filter,
        "flagged",
    ),
    (
        400,
        r#"{"contentFilter":[{"level":1}],"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容"}}"#,
        Filter,
        "敏感",
    ),
    (
        422,
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]}"#,
        Request,
        "not permitted",
    ),
    (
        400,
        r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}"#,
        Request,
        "--tool-call-parser",
    ),
    (
        400,
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
        Request,
        "max_completion_tokens",
    ),
    (
        400,
        r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#,
        Request,
        "does not support tools",
    ),
    (
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        Busy,
        "Overloaded",
    ),
    (
        503,
        r#"[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]"#,
        Busy,
        "overloaded",
    ),
    (500, "Internal Server Error", Busy, "Internal"),
    (
        502,
        "<html>\n<head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
        Busy,
        "a web page, \"502 Bad Gateway\"",
    ),
    (408, "", Busy, "HTTP status 408"),
    (409, r#"{"error":{"message":"conflict"}}"#, Busy, "conflict"),
    (
        301,
        "<html><body>moved</body></html>",
        Garbage,
        "a web page",
    ),
];

#[test]
fn real_error_bodies_are_told_apart() {
    assert!(BODIES.len() >= 25);
    for (status, body, expected, part) in BODIES {
        let failure = classify(*status, body, None);
        assert_eq!(failure.fault, *expected, "{status} {body}");
        assert!(failure.reason.contains(part), "{} / {part}", failure.reason);
    }
}

#[test]
fn an_error_within_an_answer_is_told_apart_by_its_words() {
    for (json, expected) in [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Busy,
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
            Rate,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: bad"}}"#,
            Request,
        ),
        (
            r#"{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"busy"}}}"#,
            Rate,
        ),
        (r#"{"error":{"code":502,"message":"Upstream died"}}"#, Busy),
        (
            r#"{"error":{"message":"The server had an error while processing your request","type":"server_error"}}"#,
            Busy,
        ),
        (
            r#"{"base_resp":{"status_code":1004,"status_msg":"login fail: Please carry the API secret key"}}"#,
            Key,
        ),
        (
            r#"{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#,
            Quota,
        ),
        (
            r#"{"error":{"message":"maximum context length is 10","code":400}}"#,
            Overflow,
        ),
    ] {
        assert_eq!(classify_stated(json).fault, expected, "{json}");
    }
}

#[test]
fn geminis_minute_passes_and_its_day_does_not() {
    let body = |quota: &str| {
        format!(
            r#"[{{"error":{{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{{"violations":[{{"quotaId":"{quota}"}}]}},{{"@type":"RetryInfo","retryDelay":"34.5s"}}]}}}}]"#
        )
    };
    let minute = classify(429, &body("GenerateRequestsPerMinute"), None);
    assert_eq!(minute.fault, Fault::Rate);
    assert_eq!(minute.retry_after, Some(Duration::from_secs_f64(34.5)));
    assert_eq!(
        classify(429, &body("GenerateRequestsPerDay"), None).fault,
        Fault::Quota
    );
}

#[test]
fn what_is_said_is_one_short_line_without_secrets() {
    let providers = std::collections::BTreeMap::new();
    let sources = super::super::route::Sources {
        providers: &providers,
        variable: &|_| Some("sk-secret-123456".to_owned()),
        sign_ins: None,
    };
    let route = sources.choose("openai", "gpt-6-sol").unwrap();
    let reason = format!("bad\nkey sk-secret-123456 {}", "x".repeat(1000));
    let error = Failure::new(Fault::Key, reason).into_error(&route, "gpt-6-sol");
    assert!(error.reason.starts_with("bad key [secret] xxx"));
    assert_eq!(error.reason.chars().count(), SAID_CHARS + 1);
    assert!(error.to_string().contains("OPENAI_API_KEY"));
}

#[test]
fn words_that_were_taken_for_a_call_are_kept() {
    let body = |generation: &str| {
        format!(
            r#"{{"error":{{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed"{generation}}}}}"#
        )
    };
    for (body, expected) in [
        (
            body(r#","failed_generation":"<function=ls>""#),
            Some("<function=ls>"),
        ),
        (
            body(r#","failed_generation":{"name":"ls"}"#),
            Some(r#"{"name":"ls"}"#),
        ),
        (body(""), Some("")),
        (
            body(r#","failed_generation":"cut off"#).replace("}}", ""),
            Some(""),
        ),
        (r#"{"error":{"message":"no","code":"x"}}"#.to_owned(), None),
    ] {
        let failure = classify(400, &body, None);
        assert_eq!(
            (failure.fault, failure.failed_call.as_deref()),
            (Request, expected)
        );
        if body.ends_with('}') {
            assert_eq!(classify_stated(&body).failed_call.as_deref(), expected);
        }
    }
}

#[test]
fn a_request_above_the_limit_of_a_minute_is_not_repeated() {
    let body = r#"{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 3000, Requested 9000.","code":"rate_limit_exceeded"}}"#;
    let failure = classify(429, body, Some(Duration::from_secs(1)));
    assert_eq!(failure.retry_after, Some(Duration::MAX));
    let body = body.replace("Request too large", "Rate limit reached");
    let failure = classify(429, &body, Some(Duration::from_secs(1)));
    assert_eq!(failure.retry_after, Some(Duration::from_secs(1)));
}

#[test]
fn what_is_set_for_the_provider_is_named() {
    let route = |settings: &str| {
        let settings: crate::config::schema::Provider = serde_json::from_str(settings).unwrap();
        Route::unsaved("house", settings, &|_| None)
    };
    let told = |settings: &str, status, message: &str| {
        let body = serde_json::json!({"error": {"message": message}}).to_string();
        let failure = classify(status, &body, None);
        failure.into_error(&route(settings), "m").to_string()
    };
    let extra = r#"{"apiBase":"http://h/v1","extraBody":{"top_k":1,"temperature":3}}"#;
    let plain = r#"{"apiBase":"http://h/v1"}"#;
    for (refused, member) in [
        ("Unknown parameter: 'top_k'", "top_k"),
        ("temperature: must be at most 2", "temperature"),
    ] {
        let advice = format!("Remove {member} from providers.house.extraBody, or change it there");
        assert!(told(extra, 400, refused).ends_with(&advice), "{refused}");
        assert!(!told(plain, 400, refused).contains("Remove"), "{refused}");
    }
    let responses = r#"{"apiBase":"http://h/v1","api":"responses"}"#;
    for (settings, expected) in [(responses, true), (plain, false)] {
        let told = told(settings, 404, "Not Found");
        assert_eq!(
            told.contains("set providers.house.api to chat"),
            expected,
            "{told}"
        );
    }
}
