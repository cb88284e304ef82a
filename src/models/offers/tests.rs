//! Tests of the lists of models.

use super::*;

fn names(provider: &str, answer: &str) -> Vec<String> {
    let offers = decode(provider, answer.as_bytes()).unwrap().into_iter();
    let offered = offers.filter(|offer| offer.is_for_chat);
    offered.map(|offer| offer.name).collect()
}

#[test]
fn every_form_of_a_list_is_read() {
    for (provider, answer) in [
        (
            "openai",
            r#"{"object":"list","data":[{"id":"a","created":5,"owned_by":"x"},{"id":"b"}]}"#,
        ),
        (
            "openrouter",
            r#"{"data":[{"id":"a","name":"A: large","created":5.5},{"id":"b","created":null}]}"#,
        ),
        (
            "anthropic",
            r#"{"data":[{"type":"model","id":"a","created_at":"2026-01-01T00:00:00Z"},{"id":"b"}],"has_more":false}"#,
        ),
        (
            "gemini",
            r#"{"data":[{"id":"models/a"},{"id":"models/b"}]}"#,
        ),
        ("other", r#"{"models":[{"name":"a"},{"name":"b"}]}"#),
        ("other", r#" [{"id":"a"},{"id":"b"},{"object":"nameless"}]"#),
        (
            "openai-codex",
            r#"{"models":[{"slug":"a","display_name":"A"},{"slug":"b"},{"slug":"c","visibility":"hide"}]}"#,
        ),
    ] {
        assert_eq!(names(provider, answer), ["a", "b"], "{answer}");
    }
    // A path that begins so is a whole name elsewhere.
    assert_eq!(
        names("other", r#"[{"id":"models/7B.gguf"}]"#),
        ["models/7B.gguf"]
    );
    for answer in ["", "{}", "<html>", r#"{"data":{}}"#, r#"{"data":[1]}"#] {
        let failure = decode("other", answer.as_bytes()).unwrap_err();
        assert_eq!(failure.fault, Fault::Garbage, "{answer}");
    }
}

#[test]
fn only_names_that_can_be_shown_and_can_chat_are_listed() {
    let list = r#"[{"id":"nomic-embed-text"},{"id":"whisper-1"},{"id":"a\u001b[2J"},
        {"id":"gpt\u202e5"},{"id":"gpt\u20665"},{"id":"gpt\u200b"},{"id":"\u3164"},{"id":"gpt\udb40\udc41"},
        {"id":"two words"},{"id":""},{"id":"tts-1-hd"},{"id":"gpt-4-base"},{"id":"gpt-5-search-api"},
        {"id":"qwen3:8b"}]"#;
    assert_eq!(names("other", list), ["qwen3:8b"]);
    let many: Vec<_> = (0..2 * OFFERS_MAX)
        .map(|n| format!(r#"{{"id":"m{n}"}}"#))
        .collect();
    assert_eq!(
        names("other", &format!("[{}]", many.join(","))).len(),
        OFFERS_MAX
    );
}

/// A provider, its list, cut from the form that its package or page shows, and what is offered of it.
type List = (&'static str, &'static str, &'static [&'static str]);

const LISTS: &[List] = &[
    (
        "openai",
        r#"{"object":"list","data":[
            {"id":"gpt-6.1-sol","object":"model","created":1790000000,"owned_by":"system","shutdown_date":null},
            {"id":"gpt-5-mini","object":"model","created":1754425928,"owned_by":"system","shutdown_date":"2026-12-11"},
            {"id":"gpt-realtime-2","object":"model","created":2},{"id":"gpt-live-1","object":"model","created":2},
            {"id":"gpt-image-2","object":"model","created":2},{"id":"chatgpt-image-latest","object":"model"},
            {"id":"gpt-audio-1.5","object":"model"},{"id":"gpt-4o-mini-tts","object":"model"},
            {"id":"gpt-live-transcribe","object":"model"},{"id":"omni-moderation-latest","object":"model"},
            {"id":"text-embedding-3-large","object":"model"},{"id":"sora-2","object":"model"},
            {"id":"gpt-3.5-turbo-instruct","object":"model"},{"id":"computer-use-preview","object":"model"},
            {"id":"o4-mini-deep-research","object":"model"},{"id":"davinci-002","object":"model"},
            {"id":"gpt-6.2-astra","object":"model","created":3,"owned_by":"system"}]}"#,
        &["gpt-6.1-sol", "gpt-6.2-astra"],
    ),
    (
        "anthropic",
        r#"{"data":[
            {"type":"model","id":"claude-sonnet-5-5","display_name":"Claude Sonnet 5.5","created_at":"2026-09-01T00:00:00Z",
             "lifecycle":"active","deprecated_at":null,"retires_at":null,"max_input_tokens":1000000,"max_tokens":128000},
            {"type":"model","id":"claude-sonnet-4-5-20250929","lifecycle":"deprecated","retires_at":"2026-11-30T00:00:00Z"},
            {"type":"model","id":"claude-mythos-preview","lifecycle":"retired"},
            {"type":"model","id":"claude-old-form","display_name":"Old","created_at":"2026-01-01T00:00:00Z"}],
            "has_more":false,"first_id":"a","last_id":"b"}"#,
        &["claude-sonnet-5-5", "claude-old-form"],
    ),
    (
        "gemini",
        r#"{"object":"list","data":[
            {"id":"models/gemini-3.8-flash","object":"model","owned_by":"google","display_name":"Gemini 3.8 Flash"},
            {"id":"models/gemini-embedding-2","object":"model"},{"id":"models/gemini-3.8-live","object":"model"},
            {"id":"models/gemini-3-pro-image-preview","object":"model"},{"id":"models/nano-banana-pro-preview","object":"model"},
            {"id":"models/gemini-3.8-flash-tts","object":"model"},{"id":"models/veo-3.1-generate-preview","object":"model"},
            {"id":"models/imagen-4.0-ultra-generate-001","object":"model"},{"id":"models/aqa","object":"model"},
            {"id":"models/gemini-robotics-er-2-preview","object":"model"},{"id":"models/lyria-3.5","object":"model"},
            {"id":"models/gemini-omni-1.2-flash","object":"model"},{"id":"models/gemini-3.5-transcribe","object":"model"},
            {"id":"models/deep-research-preview-04-2026","object":"model"},{"id":"models/gemini-4-argon","object":"model"}]}"#,
        &["gemini-3.8-flash", "gemini-4-argon"],
    ),
    (
        "gemini",
        r#"{"models":[
            {"name":"models/gemini-3.5-flash","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/some-other-thing","supportedGenerationMethods":["predict"]}]}"#,
        &["gemini-3.5-flash"],
    ),
    (
        "openrouter",
        r#"{"data":[
            {"id":"google/gemma-4","name":"Google: Gemma 4","created":9,"context_length":262144,"pricing":{"prompt":"0.0000001"},
             "architecture":{"modality":"text+image->text","input_modalities":["text","image"],"output_modalities":["text"]},
             "supported_parameters":["tools"],"expiration_date":null},
            {"id":"openrouter/auto","created":8,"architecture":{"output_modalities":["text","image"]}},
            {"id":"acme/draw","created":7,"architecture":{"output_modalities":["image"]}},
            {"id":"acme/vectors","created":6,"architecture":{"output_modalities":["embeddings"]}},
            {"id":"acme/gone-soon","created":5,"architecture":{"output_modalities":["text"]},"expiration_date":"2026-12-24"}]}"#,
        &["google/gemma-4", "openrouter/auto"],
    ),
    (
        "ollama",
        r#"{"object":"list","data":[
            {"id":"qwen3:8b","object":"model","created":1790000000,"owned_by":"library"},
            {"id":"nomic-embed-text:latest","object":"model","created":1,"owned_by":"library"},
            {"id":"bge-m3:latest","object":"model"},{"id":"all-minilm:latest","object":"model"},
            {"id":"mxbai-embed-large:latest","object":"model"},{"id":"llama-guard3:8b","object":"model"},
            {"id":"gemma4:12b","object":"model"}]}"#,
        &["qwen3:8b", "gemma4:12b"],
    ),
    (
        "mistral",
        r#"{"object":"list","data":[
            {"id":"mistral-large-4","capabilities":{"completion_chat":true},"max_context_length":1048576,"deprecation":null},
            {"id":"mistral-other","capabilities":{"completion_chat":false}},
            {"id":"mistral-large-2512","capabilities":{"completion_chat":true},"deprecation":"2026-10-01T00:00:00Z"}]}"#,
        &["mistral-large-4"],
    ),
    (
        "groq",
        r#"{"data":[{"id":"openai/gpt-oss-120b","active":true,"context_window":131072},{"id":"old","active":false},
            {"id":"openai/gpt-oss-safeguard-20b","active":true},{"id":"canopylabs/orpheus-v1-english","active":true}]}"#,
        &["openai/gpt-oss-120b"],
    ),
];

#[test]
fn what_cannot_chat_or_ends_soon_is_not_offered() {
    for (provider, list, expected) in LISTS {
        assert_eq!(names(provider, list), *expected, "{provider}");
    }
}

#[test]
fn a_server_may_tell_the_windows() {
    for (list, window) in [
        (r#"[{"id":"a","context_length":262144}]"#, 262_144),
        (r#"[{"id":"a","max_model_len":"8192"}]"#, 8_192),
        (r#"[{"id":"a","max_input_tokens":1000000}]"#, 1_000_000),
        (r#"[{"id":"a","context_window":null}]"#, 0),
        (r#"[{"id":"a","context_length":18446744073709551615}]"#, 0),
        (
            r#"[{"id":"a","context_length":100000001,"max_model_len":8192}]"#,
            8_192,
        ),
    ] {
        assert_eq!(decode("other", list.as_bytes()).unwrap()[0].window, window);
    }
}

#[test]
fn a_name_is_known_by_its_beginning_too() {
    let offers = Offers {
        names: ["claude-sonnet-5-20260101", "qwen3:8b", "google/gemma-3"]
            .map(str::to_owned)
            .into(),
        others: vec!["gpt-5".to_owned()],
        ..Offers::default()
    };
    for model in [
        "claude-sonnet-5",
        "Qwen3:8B",
        "qwen3",
        "mistral-large-latest",
        "gpt-5",
    ] {
        assert!(is_offered(model, &offers), "{model}");
    }
    for model in [
        "claude-sonnet-55",
        "claude-sonnet",
        "claude",
        "laude",
        "qwen3:32b",
        "gemma-3",
    ] {
        assert!(!is_offered(model, &offers), "{model}");
    }
}

#[test]
fn a_name_is_spelt_as_the_server_has_it() {
    let offers = Offers {
        names: ["Fake-A-2", "fake-a", "B", "b", "claude-5-2026"]
            .map(str::to_owned)
            .into(),
        ..Offers::default()
    };
    for (model, expected) in [
        ("FAKE-A", Some("fake-a")),
        ("b", Some("b")),
        ("B", Some("B")),
        ("Claude-5", Some("claude-5")),
        ("other", None),
    ] {
        assert_eq!(find_spelling(model, &offers), expected, "{model}");
    }
    let told = suggestion("fake", &["fake-a", "fake-b", "fake-c"].map(str::to_owned));
    assert_eq!(told, "Did you mean fake-a, fake-b or fake-c?");
}

#[test]
fn a_name_that_goes_on_in_other_words_may_be_taken_by_its_beginning() {
    let offers = Offers {
        names: vec!["grok-4-fast-reasoning".to_owned()],
        ..Offers::default()
    };
    for (model, expected) in [
        ("Grok-4", Some("grok-4-fast-reasoning")),
        ("grok-4-fast", Some("grok-4-fast-reasoning")),
        ("grok-4-fa", None),
        ("gork-4", None),
    ] {
        assert_eq!(longer(model, &offers), expected, "{model}");
        assert!(!is_offered(model, &offers), "{model}");
    }
}

#[test]
fn words_stand_for_the_only_name_that_has_them() {
    let offers = [
        "fake-model",
        "eye-small",
        "Eye-large",
        "gpt-4.1",
        "gpt-5-mini",
        "claude-opus-4-20260101",
        "openai/oss-20b:free",
    ]
    .map(str::to_owned);
    for (words, expected) in [
        ("fake", Some("fake-model")),
        ("LARGE", Some("Eye-large")),
        ("eye", None),
        ("mall", None),
        ("gpt-4", None),
        ("4.1", Some("gpt-4.1")),
        ("gpt-5", None),
        ("mini", Some("gpt-5-mini")),
        ("opus-4", Some("claude-opus-4-20260101")),
        ("opus", Some("claude-opus-4-20260101")),
        ("oss-20b", Some("openai/oss-20b:free")),
        ("", None),
    ] {
        assert_eq!(only_match(words, &offers), expected, "{words}");
    }
}

#[test]
fn a_slip_leads_to_the_name_that_was_meant() {
    let offers = [
        "gpt-6-sol",
        "gpt-6-luna",
        "claude-sonnet-5",
        "google/gemma-3",
    ];
    let offers = offers.map(str::to_owned);
    for (model, expected) in [
        ("gtp-6-sol", &["gpt-6-sol"][..]),
        ("sonnet", &["claude-sonnet-5"]),
        ("gemma3", &["google/gemma-3"]),
        ("gpt-6", &["gpt-6-luna", "gpt-6-sol"]),
        ("llama", &[]),
        ("", &[]),
    ] {
        assert_eq!(nearest(model, &offers), expected, "{model}");
    }
}
