//! What programs that serve models at home tell about a model's window, each as its API is published.

use serde_json::{Value, json};

use crate::harness::wire::RawRequest;

/// A program with one model, which it serves with so many tokens.
#[derive(Clone, Debug)]
pub enum Local {
    /// <https://docs.ollama.com/api>. The model is loaded by the first question.
    Ollama {
        /// What the model has when it is loaded.
        tokens: u64,
        /// The lines of its Modelfile's parameters.
        parameters: &'static str,
    },
    /// <https://lmstudio.ai/docs/developer/rest/endpoints>
    LmStudio(u64),
    /// <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>
    LlamaCpp(u64),
    /// <https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html>
    Vllm(u64),
}

/// What the model was trained with.
const TRAINED: u64 = 40_960;

impl Local {
    /// The answer to a question about models: its status and its body. `None` for a question to the model itself.
    pub(super) fn answer(
        &self,
        raw: &RawRequest,
        model: &str,
        is_loaded: bool,
    ) -> Option<(u16, Value)> {
        let paths = ["/chat/completions", "/messages", "/responses"];
        if paths.iter().any(|path| raw.path.ends_with(path)) {
            return None;
        }
        let found = match (raw.method.as_str(), raw.path.as_str()) {
            ("GET", "/v1/models") => Some(self.list(model)),
            _ => self.own(raw, model, is_loaded),
        };
        Some(match (found, self) {
            (Some(answer), _) => (200, answer),
            (None, Self::LmStudio(_)) => {
                let text = format!(
                    "Unexpected endpoint or method. ({} {})",
                    raw.method, raw.path
                );
                (200, json!({"error": text}))
            }
            (None, Self::Vllm(_)) => (404, json!({"detail": "Not Found"})),
            (None, _) => (
                404,
                json!({"error": {"code": 404, "message": "File Not Found"}}),
            ),
        })
    }

    fn list(&self, model: &str) -> Value {
        let mut entry = json!({"id": model, "object": "model", "created": 1_790_000_000});
        entry["owned_by"] = match self {
            Self::Ollama { .. } => "library",
            Self::LmStudio(_) => "organization_owner",
            Self::LlamaCpp(_) => "llamacpp",
            Self::Vllm(_) => "vllm",
        }
        .into();
        match self {
            Self::LlamaCpp(_) => {
                entry["meta"] =
                    json!({"vocab_type": 2, "n_vocab": 151_936, "n_ctx_train": TRAINED});
            }
            Self::Vllm(tokens) => {
                entry["root"] = json!(model);
                entry["max_model_len"] = json!(tokens);
            }
            _ => {}
        }
        json!({"object": "list", "data": [entry]})
    }

    fn own(&self, raw: &RawRequest, model: &str, is_loaded: bool) -> Option<Value> {
        match (self, raw.method.as_str(), raw.path.as_str()) {
            (Self::Ollama { tokens, .. }, "GET", "/api/ps") => {
                let loaded = json!({
                    "name": format!("{model}:latest"), "model": format!("{model}:latest"),
                    "size": 492_523_008, "size_vram": 0, "context_length": tokens,
                    "expires_at": "2026-11-02T08:15:34.383753787Z",
                });
                let models = if is_loaded { vec![loaded] } else { Vec::new() };
                Some(json!({"models": models}))
            }
            (Self::Ollama { parameters, .. }, "POST", "/api/show") => {
                let asked: Value = serde_json::from_slice(&raw.body).ok()?;
                (asked["model"] == model).then(|| {
                    json!({
                        "modelfile": "FROM x", "parameters": parameters, "template": "{{ .Prompt }}",
                        "details": {"format": "gguf", "family": "qwen3"},
                        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": TRAINED},
                        "capabilities": ["completion", "tools"],
                    })
                })
            }
            (Self::LmStudio(tokens), "GET", "/api/v0/models") => {
                Some(json!({"object": "list", "data": [
                    {"id": "other", "type": "llm", "state": "not-loaded", "max_context_length": 8_192},
                    {"id": model, "object": "model", "type": "llm", "publisher": "x", "arch": "qwen3",
                     "compatibility_type": "gguf", "quantization": "Q4_K_M", "state": "loaded",
                     "max_context_length": TRAINED, "loaded_context_length": tokens},
                ]}))
            }
            (Self::LlamaCpp(tokens), "GET", "/props") => Some(json!({
                "default_generation_settings": {"id": 0, "n_ctx": tokens, "is_processing": false},
                "total_slots": 1, "model_path": "/models/x.gguf",
            })),
            _ => None,
        }
    }
}
