use super::*;

/// Keys set in the environment, provider wanted, model wanted; provider and model chosen.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn choose(keys: &str, provider: &str, model: &str, providers: &str) -> Result<Route> {
    let providers: BTreeMap<String, Provider> = serde_json::from_str(providers).unwrap();
    let variable = |name: &str| {
        let is_set = keys.split(' ').any(|key| name == format!("{key}_API_KEY"));
        is_set.then(|| "key-of-the-test".to_owned())
    };
    let sources = Sources {
        providers: &providers,
        variable: &variable,
        sign_ins: None,
    };
    sources.choose(provider, model)
}

/// The key variables of every provider that has one.
const ALL: &str = "ANTHROPIC OPENAI OPENROUTER DEEPSEEK GROQ GEMINI MOONSHOT MINIMAX ZHIPU DASHSCOPE SILICONFLOW VOLCENGINE AIHUBMIX MISTRAL XAI NVIDIA";

const ROWS: &[Row] = &[
    // An explicit provider wins over everything, and its own prefix is cut off.
    (ALL, "groq", "openai/gpt-oss-20b", "groq openai/gpt-oss-20b"),
    (ALL, "groq", "groq/llama-4", "groq llama-4"),
    (ALL, "openai", "claude-sonnet-5", "openai claude-sonnet-5"),
    (
        ALL,
        "openrouter",
        "anthropic/claude-opus-5",
        "openrouter anthropic/claude-opus-5",
    ),
    (ALL, "openrouter", "", "openrouter openrouter/auto"),
    (ALL, "offline", "gpt-6-sol", "offline gpt-6-sol"),
    ("", "ollama", "qwen3:8b", "ollama qwen3:8b"),
    ("", "ollama", "", "ollama "),
    // The prefix.
    (
        ALL,
        "auto",
        "anthropic/claude-opus-5",
        "anthropic claude-opus-5",
    ),
    (ALL, "auto", "openai/gpt-6-sol", "openai gpt-6-sol"),
    (
        ALL,
        "auto",
        "openrouter/google/gemma-4",
        "openrouter google/gemma-4",
    ),
    (ALL, "auto", "openrouter/auto", "openrouter openrouter/auto"),
    (ALL, "auto", "openrouter/openai/o3", "openrouter openai/o3"),
    (
        ALL,
        "auto",
        "deepseek/deepseek-v4-pro",
        "deepseek deepseek-v4-pro",
    ),
    (
        ALL,
        "auto",
        "groq/openai/gpt-oss-120b",
        "groq openai/gpt-oss-120b",
    ),
    (
        ALL,
        "auto",
        "gemini/gemini-pro-latest",
        "gemini gemini-pro-latest",
    ),
    (
        ALL,
        "auto",
        "siliconflow/Qwen/Qwen3-32B",
        "siliconflow Qwen/Qwen3-32B",
    ),
    (ALL, "auto", "volcengine/ep-2026", "volcengine ep-2026"),
    (ALL, "auto", "aihubmix/gpt-6-sol", "aihubmix gpt-6-sol"),
    (
        ALL,
        "auto",
        "nvidia/llama-nemotron",
        "nvidia nvidia/llama-nemotron",
    ),
    (ALL, "auto", "nvidia/meta/llama-4", "nvidia meta/llama-4"),
    (ALL, "auto", "zhipu/glm-5", "zhipu glm-5"),
    ("", "auto", "ollama/llama3.2", "ollama llama3.2"),
    ("", "auto", "vllm/Qwen/Qwen3-8B", "vllm Qwen/Qwen3-8B"),
    ("", "auto", "lmstudio/gemma-3-12b", "lmstudio gemma-3-12b"),
    // The keyword.
    (
        ALL,
        "auto",
        "claude-haiku-4-5",
        "anthropic claude-haiku-4-5",
    ),
    (ALL, "auto", "gpt-4.1-mini", "openai gpt-4.1-mini"),
    (ALL, "auto", "o3-mini", "openai o3-mini"),
    (ALL, "auto", "o4-mini", "openai o4-mini"),
    (ALL, "auto", "deepseek-chat", "deepseek deepseek-chat"),
    (ALL, "auto", "gemini-2.5-flash", "gemini gemini-2.5-flash"),
    (ALL, "auto", "kimi-k2.6", "moonshot kimi-k2.6"),
    (ALL, "auto", "moonshot-v1-8k", "moonshot moonshot-v1-8k"),
    (ALL, "auto", "MiniMax-M3", "minimax MiniMax-M3"),
    (ALL, "auto", "glm-4.7", "zhipu glm-4.7"),
    (ALL, "auto", "qwen-max", "dashscope qwen-max"),
    (ALL, "auto", "doubao-seed-1-8", "volcengine doubao-seed-1-8"),
    (ALL, "auto", "codestral-latest", "mistral codestral-latest"),
    (ALL, "auto", "grok-4.3", "xai grok-4.3"),
    // A model of a provider without a key goes through a gateway that has one.
    (
        "OPENROUTER",
        "auto",
        "anthropic/claude-opus-5",
        "openrouter anthropic/claude-opus-5",
    ),
    (
        "OPENROUTER",
        "auto",
        "gemini-2.5-pro",
        "openrouter google/gemini-2.5-pro",
    ),
    ("OPENROUTER", "auto", "some/model", "openrouter some/model"),
    (
        "AIHUBMIX",
        "auto",
        "claude-opus-5",
        "aihubmix claude-opus-5",
    ),
    // Nobody has its key: it says so when it is asked.
    ("OPENAI", "auto", "claude-opus-5", "anthropic claude-opus-5"),
    // The first with a key, with its own model.
    (
        "ANTHROPIC OPENAI",
        "auto",
        "",
        "anthropic claude-sonnet-5-5",
    ),
    ("OPENAI OPENROUTER", "auto", "", "openai gpt-6.1-sol"),
    ("XAI NVIDIA", "", "", "xai grok-4.3"),
    ("ZAI", "auto", "", "zhipu glm-5.2"),
    ("MISTRAL", "auto", "unheard-of", "mistral unheard-of"),
    // Nothing at all.
    ("", "auto", "", "offline "),
    ("", "auto", "unheard-of", "offline "),
    // Names as people write them.
    (ALL, "OpenAI", "", "openai gpt-6.1-sol"),
    (ALL, "Claude", "", "anthropic claude-sonnet-5-5"),
    (
        ALL,
        "AUTO",
        "Anthropic/claude-opus-5",
        "anthropic claude-opus-5",
    ),
    (ALL, "auto", "Grok/grok-4.3", "xai grok-4.3"),
    (ALL, "ChatGPT", "OpenAI/gpt-6-sol", "openai gpt-6-sol"),
    (
        "OPENROUTER",
        "auto",
        "google/gemma-4",
        "openrouter google/gemma-4",
    ),
    (
        "OPENROUTER",
        "openrouter",
        "google/gemma-4",
        "openrouter google/gemma-4",
    ),
];

#[test]
fn the_name_then_the_prefix_then_the_keyword_then_the_first_key_decide() {
    assert!(ROWS.len() >= 40);
    for (keys, provider, model, expected) in ROWS {
        let route = choose(keys, provider, model, "{}").unwrap();
        let chosen = format!("{} {}", route.provider, route.model);
        assert_eq!(chosen, *expected, "{keys} / {provider} / {model}");
    }
}

#[test]
fn an_unknown_name_with_a_base_is_openai_compatible() {
    let providers = r#"{
        "house": {"apiBase": "http://10.0.0.2:8080/v1/", "timeoutSecs": 7},
        "desk": {"apiBase": "http://10.0.0.3", "apiType": "anthropic", "apiKey": "k"},
        "mute": {"apiType": "offline", "apiBase": "x"}
    }"#;
    for (provider, model, expected) in [
        (
            "auto",
            "house/llama",
            "house llama http://10.0.0.2:8080/v1/chat/completions",
        ),
        ("auto", "", "desk  http://10.0.0.3/v1/messages"),
        (
            "house",
            "claude-opus-5",
            "house claude-opus-5 http://10.0.0.2:8080/v1/chat/completions",
        ),
    ] {
        let route = choose("", provider, model, providers).unwrap();
        let chosen = format!(
            "{} {} {}",
            route.provider,
            route.model,
            route.url(Api::Chat)
        );
        assert_eq!(chosen, expected);
        assert!(!route.needs_key);
    }
    assert!(choose("", "mute", "", providers).unwrap().is_offline());
    let house = choose("HOUSE", "house", "", providers).unwrap();
    assert_eq!(house.key.expose(), "key-of-the-test");
    assert_eq!(house.first_byte, Duration::from_secs(7));
    let error = choose("", "attic", "", providers).unwrap_err().to_string();
    assert!(error.contains("providers.attic.apiBase"), "{error}");
}

#[test]
fn a_base_of_ones_own_needs_no_key_and_may_be_the_whole_address() {
    let route = |base: &str, name: &str| {
        let providers = format!(r#"{{"{name}": {{"apiBase": "{base}"}}}}"#);
        choose("", name, "m", &providers).unwrap()
    };
    for (name, base, expected) in [
        (
            "openai",
            "https://x.y/v1/chat/completions",
            "https://x.y/v1/chat/completions",
        ),
        (
            "openai",
            "https://x.y/api/v3",
            "https://x.y/api/v3/chat/completions",
        ),
        (
            "anthropic",
            "https://x.y/anthropic/",
            "https://x.y/anthropic/v1/messages",
        ),
        ("anthropic", "https://x.y/v1", "https://x.y/v1/messages"),
        (
            "anthropic",
            "https://x.y/v1/messages",
            "https://x.y/v1/messages",
        ),
    ] {
        let route = route(base, name);
        assert_eq!(route.url(Api::Chat), expected);
        assert!(!route.needs_key);
    }
    assert!(choose("", "openai", "m", "{}").unwrap().needs_key);
}

#[test]
fn a_local_server_counts_as_configured_only_where_it_is_mentioned() {
    assert!(choose("", "auto", "", "{}").unwrap().is_offline());
    let route = choose("", "auto", "", r#"{"ollama": {}}"#).unwrap();
    assert_eq!(route.provider, "ollama");
    assert_eq!(
        route.url(Api::Chat),
        "http://127.0.0.1:11434/v1/chat/completions"
    );
}

#[test]
fn a_fallback_model_goes_where_its_own_name_says() {
    let providers = BTreeMap::new();
    let sources = Sources {
        providers: &providers,
        variable: &|_| Some("key-of-the-test".to_owned()),
        sign_ins: None,
    };
    let chosen = |model| sources.choose_fallback("groq", model).unwrap().provider;
    assert_eq!(chosen("openai/gpt-6-sol"), "openai");
    assert_eq!(chosen("claude-opus-5"), "anthropic");
    assert_eq!(chosen("llama-4"), "groq");
    assert_eq!(chosen("OpenAI/gpt-6-sol"), "openai");
    assert_eq!(chosen("Kimi/kimi-k3"), "moonshot");
}

#[test]
fn a_section_may_have_any_of_its_providers_names() {
    let route = choose("", "openai", "", r#"{"ChatGPT": {"apiKey": "k-1"}}"#).unwrap();
    assert_eq!((&*route.provider, route.key.expose()), ("openai", "k-1"));
    let route = choose("", "auto", "", r#"{"Claude": {"apiKey": "k-1"}}"#).unwrap();
    assert_eq!(route.provider, "anthropic");
    let own = r#"{"Claude": {"apiBase": "http://10.0.0.2/v1"}}"#;
    let route = choose("ANTHROPIC", "Claude", "", own).unwrap();
    assert_eq!(
        (&*route.provider, &*route.base),
        ("Claude", "http://10.0.0.2/v1"),
        "a server of the person's own comes first"
    );
}

#[test]
fn an_unknown_provider_is_an_error_that_names_the_nearest() {
    let error = choose("", "opnai", "", "{}").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "Unknown provider \"opnai\" in agents.defaults or agents.list. Did you mean openai?"
        ),
        "{error}"
    );
}

#[test]
fn the_keys_in_a_route_are_not_printed() {
    let route = choose("OPENAI", "openai", "", "{}").unwrap();
    assert!(!format!("{route:?}").contains("key-of-the-test"));
}

#[test]
fn only_servers_near_by_are_asked_for_the_windows_of_their_models() {
    let is_local = |name: &str, base: &str, key: &str| {
        let settings = Provider {
            api_base: base.to_owned(),
            api_key: Secret::new(key),
            ..Provider::default()
        };
        Route::unsaved(name, settings, &|_| None).is_local()
    };
    for (name, base, key) in [
        ("ollama", "", ""),
        ("lmstudio", "http://desk.example.org:1234/v1", ""),
        ("house", "http://127.0.0.1:8080/v1", "k"),
        ("house", "http://[fd00::1]:8080", ""),
        ("openai", "http://nas.local/v1", "k"),
        ("vllm", "https://gpu.example.org/v1", "k"),
        ("llamacpp", "https://gpu.example.org/v1", "k"),
        ("house", "http://gpu:8000/v1", "k"),
        ("house", "http://gpu.lan/v1", ""),
        ("house", "http://gpu.home.arpa:1/v1", ""),
        ("house", "http://vllm.svc.internal/v1", ""),
        ("house", "http://NAS.home./v1", ""),
        ("house", "http://100.64.0.1:8000/v1", ""),
        ("house", "http://100.127.255.254/v1", ""),
    ] {
        assert!(is_local(name, base, key), "{name} {base}");
    }
    for (name, base, key) in [
        ("openai", "", "k"),
        ("anthropic", "", "k"),
        ("ollama", "https://ollama.com/v1", "k"),
        ("house", "https://models.example.org/v1", ""),
        ("house", "https://lan.example.org/v1", ""),
        ("house", "http://100.128.0.1/v1", ""),
        ("house", "http://100.63.0.1/v1", ""),
        ("offline", "", ""),
    ] {
        assert!(!is_local(name, base, key), "{name} {base}");
    }
}

#[test]
fn a_named_model_goes_to_the_connected_provider_before_its_name_whatever_is_configured() {
    let providers = serde_json::from_str(r#"{"nas": {"apiBase": "http://10.0.0.3/v1"}}"#).unwrap();
    let sources = Sources {
        providers: &providers,
        variable: &|name| (name == "OPENAI_API_KEY").then(|| "k".to_owned()),
        sign_ins: None,
    };
    for (provider, model, expected) in [
        ("openai", "nas/qwen3", "nas qwen3"),
        ("nas", "openai/gpt-6-sol", "openai gpt-6-sol"),
        ("nas", "OpenAI/gpt-6-sol", "openai gpt-6-sol"),
        // A name alone, and one of a provider that is not connected, are the configured provider's.
        ("nas", "gpt-oss", "nas gpt-oss"),
        ("nas", "mistral/small", "nas mistral/small"),
    ] {
        let route = sources.choose_named(provider, model).unwrap();
        let chosen = format!("{} {}", route.provider, route.model);
        assert_eq!(chosen, expected, "{provider} {model}");
    }
    let names = |provider: &str| {
        let routes = sources.connected_beside(provider).into_iter();
        routes.map(|route| route.provider).collect::<Vec<_>>()
    };
    assert_eq!(names("openai"), ["nas"]);
    assert_eq!(names("offline"), ["openai", "nas"]);
}
