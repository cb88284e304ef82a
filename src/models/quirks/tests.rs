use super::*;

fn of(provider: &str, model: &str) -> Quirks {
    let format = if provider == "anthropic" {
        Format::Anthropic
    } else {
        Format::OpenAi
    };
    Quirks::of_name(provider, format, model)
}

#[test]
fn the_o_series_and_gpt_5_take_completion_tokens_and_no_temperature() {
    for (model, expected) in [
        ("gpt-5", true),
        ("gpt-5.2-pro", true),
        ("gpt-6-sol", true),
        ("o1", true),
        ("o3-mini", true),
        ("o4-mini-2025-04-16", true),
        ("gpt-4o", false),
        ("gpt-4.1-mini", false),
        ("gpt-3.5-turbo", false),
        ("gpt-oss-120b", false),
        ("gpt-5-chat-latest", false),
        ("olmo-3", false),
    ] {
        let quirks = of("openai", model);
        assert_eq!(quirks.completion_tokens, expected, "{model}");
        assert_eq!(quirks.temperature, !expected, "{model}");
    }
    assert!(of("openrouter", "openai/gpt-5").completion_tokens);
}

#[test]
fn newer_gpt_models_have_tools_only_without_reasoning() {
    let effort = |provider, model| of(provider, model).effort;
    assert_eq!(effort("openai", "gpt-5.6-terra"), Effort::NoneWithTools);
    assert_eq!(effort("openai", "gpt-6-sol"), Effort::NoneWithTools);
    assert_eq!(effort("openai", "gpt-5.2"), Effort::Asked);
    assert_eq!(effort("openai", "gpt-6.2-astra"), Effort::Asked);
    assert_eq!(effort("openrouter", "openai/gpt-6-sol"), Effort::Asked);
}

#[test]
fn the_api_is_that_of_the_configuration_or_the_one_that_a_model_needs() {
    use crate::config::schema::Provider;
    let quirks = |name: &str, model: &str, settings: &str| {
        let settings: Provider = serde_json::from_str(settings).unwrap();
        let route = Route::unsaved(name, settings, &|_| None);
        (Quirks::of_model(&route, model), route)
    };
    for (name, model, settings, expected) in [
        ("openai", "gpt-6.1-sol", "{}", Api::Responses),
        ("openai", "gpt-5.4", "{}", Api::Responses),
        ("openai", "gpt-5.2", "{}", Api::Chat),
        ("openai", "gpt-6-sol", r#"{"api":"chat"}"#, Api::OnlyChat),
        (
            "openai",
            "gpt-6-sol",
            r#"{"apiBase":"http://127.0.0.1:1/v1"}"#,
            Api::Chat,
        ),
        ("openrouter", "openai/gpt-6-sol", "{}", Api::Chat),
        (
            "house",
            "qwen3",
            r#"{"apiBase":"http://h/v1","api":"responses"}"#,
            Api::Responses,
        ),
        (
            "house",
            "qwen3",
            r#"{"apiBase":"http://h/v1/responses"}"#,
            Api::Responses,
        ),
    ] {
        assert_eq!(
            quirks(name, model, settings).0.api,
            expected,
            "{name} {model}"
        );
    }
    // A 404 of OpenAI's own means the model.
    let missing = Failure::new(Fault::Unknown, "The model does not exist");
    let (mut official, route) = quirks("openai", "gpt-6.1-sol", "{}");
    assert!(!official.learn_from(&missing, &route, 100));
    let own = r#"{"apiBase":"http://h/v1","api":"responses"}"#;
    let (mut learned, route) = quirks("house", "qwen3", own);
    assert!(learned.learn_from(&missing, &route, 100));
    assert!(!learned.learn_from(&missing, &route, 100));
    // As OpenAI says it of its oldest models with this need, with 404.
    let needed = Failure::new(
        Fault::Unknown,
        "This model is only supported in v1/responses and not in v1/chat/completions.",
    );
    let (mut learned, route) = quirks("house", "o9", r#"{"apiBase":"http://h/v1"}"#);
    assert!(learned.learn_from(&needed, &route, 100));
    assert_eq!(learned.api, Api::Responses);
}

#[test]
fn claude_takes_a_temperature_until_4_6_and_thinks_adaptively_from_then_on() {
    for (model, temperature, adaptive) in [
        ("claude-3-5-haiku-20241022", true, false),
        ("claude-sonnet-4-20250514", true, false),
        ("claude-opus-4-5", true, false),
        ("claude-sonnet-4-6", true, true),
        ("claude-opus-4-7", false, true),
        ("claude-haiku-5-5", false, true),
        ("claude-sonnet-5", false, true),
        ("claude-mythos-preview", false, true),
    ] {
        let quirks = of("anthropic", model);
        assert_eq!(quirks.temperature, temperature, "{model}");
        assert_eq!(quirks.adaptive, adaptive, "{model}");
    }
    assert!(!of("openrouter", "anthropic/claude-opus-4.7").temperature);
    assert!(!of("anthropic", "deepseek-v4-pro").adaptive);
}

#[test]
fn gemini_takes_no_temperature_from_3_on() {
    for (provider, model, expected) in [
        ("gemini", "gemini-2.5-flash", true),
        ("gemini", "gemini-3.8-flash", false),
        ("gemini", "gemini-4-argon", false),
        ("gemini", "gemini-flash-latest", false),
        ("openrouter", "google/gemini-3.5-flash", false),
        ("house", "gemma-4", true),
    ] {
        assert_eq!(of(provider, model).temperature, expected, "{model}");
    }
}

#[test]
fn an_effort_that_is_refused_becomes_the_next_lower_one() {
    use ReasoningEffort::{High, Low, Max, XHigh};
    let refused = |value: &str| {
        format!(
            "Unsupported value: '{value}' is not supported with the 'o9' model. Supported values are: \
             'none', 'low', 'medium', and 'high'.; parameter reasoning_effort"
        )
    };
    let mut quirks = of("house", "o9");
    assert_eq!(quirks.effort_max, Max);
    for (value, expected) in [("max", XHigh), ("xhigh", High)] {
        assert!(quirks.learn(&refused(value), 8192));
        assert_eq!(
            (quirks.effort_max, quirks.effort),
            (expected, Effort::Asked)
        );
    }
    assert!(quirks.learn(&refused("none"), 8192));
    assert_eq!((quirks.always_thinks, quirks.effort), (true, Effort::Asked));
    quirks.effort_max = Low;
    assert!(quirks.learn(&refused("low"), 8192));
    assert_eq!(quirks.effort, Effort::Never);
    // As others say it.
    let mut quirks = of("anthropic", "claude-opus-4-6");
    let said = "output_config.effort: Input should be 'low', 'medium' or 'high'";
    assert!(quirks.learn(said, 8192));
    assert_eq!(quirks.effort_max, High);
    assert_eq!(of("gemini", "gemini-3.8-flash").effort_max, High);
}

#[test]
fn a_model_without_tools_is_known_by_what_its_server_says() {
    let own = r#"{"apiBase":"http://h/v1"}"#;
    let route = Route::unsaved("house", serde_json::from_str(own).unwrap(), &|_| None);
    for (fault, said, expected) in [
        (
            Fault::Request,
            "registry.ollama.ai/library/gemma3:1b does not support tools",
            false,
        ),
        (
            Fault::Unknown,
            "No endpoints found that support tool use.",
            false,
        ),
        (
            Fault::Request,
            "`tool calling` is not supported; tool calling is not supported",
            false,
        ),
        (
            Fault::Request,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            false,
        ),
        (
            Fault::Request,
            "Invalid schema for function 'x': 'oneOf' is not supported",
            true,
        ),
        (Fault::Unknown, "model not found", true),
        (Fault::Busy, "it does not support tools today", true),
    ] {
        let mut quirks = of("house", "gemma3:1b");
        let learned = quirks.learn_from(&Failure::new(fault, said), &route, 8192);
        assert_eq!((learned, quirks.tools), (!expected, expected), "{said}");
    }
}

#[test]
fn it_is_known_which_models_think() {
    use ThinkingControl::{AlwaysThinks, Free, Never, NotWithTools};
    let chat = Quirks {
        api: Api::OnlyChat,
        ..of("openai", "gpt-6-sol")
    };
    assert_eq!(chat.thinking_control(Format::OpenAi), NotWithTools);
    for (provider, model, expected) in [
        ("openai", "gpt-4o", Never),
        ("openai", "gpt-5", AlwaysThinks),
        ("openai", "o3", AlwaysThinks),
        ("openai", "gpt-5.1", Free),
        ("openai", "gpt-6-sol", Free),
        ("openai", "gpt-6.2-astra", AlwaysThinks),
        ("anthropic", "claude-3-5-haiku-20241022", Never),
        ("anthropic", "claude-sonnet-4-5", Free),
        ("anthropic", "claude-opus-5-5", AlwaysThinks),
        ("anthropic", "claude-opus-5", Free),
        ("house", "qwen3", Free),
    ] {
        let format = match provider {
            "anthropic" => Format::Anthropic,
            _ => Format::OpenAi,
        };
        let control = of(provider, model).thinking_control(format);
        assert_eq!(control, expected, "{model}");
    }
}

#[test]
fn images_go_only_to_models_that_see() {
    let seeing = [
        "gpt-4o-mini",
        "gpt-6-sol",
        "o3",
        "claude-sonnet-5",
        "anthropic/claude-3-haiku",
        "gemini-flash-latest",
        "qwen2.5vl:7b",
        "Qwen/Qwen3-VL-8B",
        "llama3.2-vision",
        "glm-4.5v",
        "kimi-k3",
        "openrouter/auto",
        "pixtral-12b",
    ];
    let blind = [
        "gpt-3.5-turbo",
        "o3-mini",
        "o1-mini",
        "deepseek-chat",
        "deepseek-v4-pro",
        "llama-3.3-70b-versatile",
        "qwen3:8b",
        "glm-4.7",
        "openai/gpt-oss-120b",
        "codestral-latest",
        "",
    ];
    assert!(seeing.iter().all(|model| of("x", model).sees), "{seeing:?}");
    assert!(!blind.iter().any(|model| of("x", model).sees), "{blind:?}");
}

#[test]
fn reasoning_goes_back_only_where_it_is_wanted() {
    let thoughts = |provider, model| of(provider, model).thoughts;
    assert_eq!(thoughts("deepseek", "deepseek-flash"), Thoughts::Sent(""));
    assert_eq!(
        thoughts("siliconflow", "deepseek-ai/DeepSeek-V3.2"),
        Thoughts::Sent("")
    );
    assert_eq!(thoughts("moonshot", "kimi-k3"), Thoughts::Sent("tool call"));
    assert_eq!(thoughts("groq", "deepseek-r1"), Thoughts::Dropped);
    assert_eq!(thoughts("openai", "gpt-6-sol"), Thoughts::Dropped);
    assert!(of("gemini", "gemini-flash-latest").signatures);
    assert!(!of("gemini", "gemini-2.5-pro").signatures);
    assert!(!of("openrouter", "google/gemini-3-pro").signatures);
    assert!(of("mistral", "mistral-medium-latest").short_ids);
}

#[test]
fn a_refused_cache_is_asked_for_a_shorter_time_and_then_given_up() {
    let ttl = "tools.20.custom.cache_control.ephemeral.ttl: Extra inputs are not permitted";
    for (said, kept) in [
        (ttl, CacheTime::FiveMinutes),
        (
            "cache_control.ttl: 1h is not supported",
            CacheTime::FiveMinutes,
        ),
        (
            "The 1h cache needs the beta header extended-cache-ttl-2025-04-11",
            CacheTime::FiveMinutes,
        ),
    ] {
        for wanted in [CacheTime::Auto, CacheTime::Hour] {
            let mut quirks = Quirks {
                cache: wanted,
                ..Quirks::of_name("house", Format::Anthropic, "m")
            };
            let before = quirks;
            assert!(quirks.learn(said, 8192), "{said}");
            assert_eq!(
                quirks,
                Quirks {
                    cache: kept,
                    ..before
                },
                "{said}"
            );
            assert!(quirks.learn(
                "system.0.cache_control: Extra inputs are not permitted",
                8192
            ));
            assert_eq!(quirks.cache, CacheTime::Off);
            assert!(!quirks.learn(ttl, 8192), "there is nothing more to give up");
        }
    }
}

#[test]
fn a_refused_parameter_is_given_up_once() {
    let mut quirks = of("house", "some-model");
    for said in [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "`temperature` is deprecated for this model.",
        "body.stream_options: Extra inputs are not permitted",
        "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        "Unrecognized request argument supplied: reasoning_effort",
        "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\".",
    ] {
        assert!(quirks.learn(said, 8192), "{said}");
    }
    assert!(quirks.completion_tokens && !quirks.temperature && !quirks.usage_option);
    assert!(quirks.adaptive);
    assert_eq!(quirks.api, Api::Responses);
    assert_eq!(quirks.effort, Effort::Never);
    assert!(!quirks.learn("`temperature` is deprecated for this model.", 8192));
    assert!(!quirks.learn("the moon is in the wrong quarter", 8192));
    let mut seeing = of("house", "gpt-4o");
    assert!(!seeing.learn("image exceeds 5 MB maximum", 8192));
    assert!(seeing.learn("unknown variant `image_url`, expected `text`", 8192));
    assert!(!seeing.sees);
}

#[test]
fn a_smaller_bound_is_learned_from_the_number_that_is_named() {
    for (said, most) in [
        (
            "max_tokens is too large: 8192. This model supports at most 4096 completion tokens",
            4096,
        ),
        (
            "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307",
            4096,
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8000]",
            8000,
        ),
        ("gpt-4-0613 supports at most 4096 completion tokens", 4096),
    ] {
        let mut quirks = of("house", "some-model");
        assert!(quirks.learn(said, 8192), "{said}");
        assert_eq!(quirks.max_tokens, most, "{said}");
        assert!(!quirks.completion_tokens);
        assert!(!quirks.learn(said, 8192), "{said}");
    }
    assert!(!of("house", "m").learn("max_tokens must be positive (HTTP status 400)", 300));
}

#[test]
fn a_reply_that_is_too_long_for_a_window_gets_a_part_of_it() {
    let route = Route::unsaved("house", Default::default(), &|_| None);
    let vllm = "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 \
                tokens and your request has 2000 input tokens (8192 > 4096 - 2000). (HTTP status 400)";
    let openai = "This model's maximum context length is 4096 tokens. However, you requested 8250 tokens (58 in the \
                  messages, 8192 in the completion).";
    let anthropic = "input length and `max_tokens` exceed context limit: 18240 + 8192 > 24000";
    let learn = |said: &str, quirks: &mut Quirks, asked| {
        quirks.learn_from(&Failure::new(Fault::Overflow, said), &route, asked)
    };
    for (said, most) in [
        (vllm, Some(1024)),
        (openai, Some(1024)),
        // The conversation itself is too long.
        (anthropic, None),
        ("Your input exceeds the context window of this model.", None),
        (
            "maximum context length is 4096 tokens, you requested 9000",
            None,
        ),
    ] {
        let mut quirks = of("house", "m");
        assert_eq!(learn(said, &mut quirks, 8192), most.is_some(), "{said}");
        assert_eq!(quirks.max_tokens, most.unwrap_or(u32::MAX), "{said}");
    }
    let same = vllm.replace("4096", "8192");
    let mut quirks = of("house", "m");
    assert!(learn(&same, &mut quirks, 8192));
    assert_eq!(quirks.max_tokens, 2048);
    assert!(!learn(&same, &mut quirks, 2048));
}

#[test]
fn an_api_that_was_missing_once_comes_back() {
    use crate::config::schema::Provider;
    let missing = Failure::new(Fault::Unknown, "model is loading (HTTP status 404)");
    let needed = Failure::new(
        Fault::Request,
        "only supported in v1/responses (HTTP status 404)",
    );
    for (settings, is_set) in [
        (r#"{"apiBase":"http://h/v1","api":"responses"}"#, true),
        (r#"{"apiBase":"http://h/v1/responses"}"#, true),
        (r#"{"apiBase":"http://h/v1"}"#, false),
    ] {
        let settings: Provider = serde_json::from_str(settings).unwrap();
        let route = Route::unsaved("house", settings, &|_| None);
        let mut quirks = Quirks {
            api: Api::Responses,
            ..of("house", "m")
        };
        assert!(quirks.learn_from(&missing, &route, 8192));
        assert_eq!(quirks.api, Api::Chat);
        assert!(quirks.learn_from(&needed, &route, 8192));
        assert_eq!(quirks.api, Api::Responses);
        assert_eq!(route.is_set_to_responses(), is_set);
    }
}
