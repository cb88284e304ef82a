//! The templates that open models are published with, as far as they write calls.

use super::written::Form;

/// How the models of some families write a call.
#[derive(Debug)]
pub struct Template {
    /// Parts of the models' names, in lower case; none for all models.
    families: &'static [&'static str],
    /// What a call begins with.
    pub open: &'static str,
    /// What it ends with; empty when it goes on to the end of the answer.
    pub close: &'static str,
    /// What stands between.
    pub form: Form,
    /// Whether it counts only when it is the whole answer.
    pub is_whole: bool,
}

const MARKED: Template = Template {
    families: &[],
    open: "",
    close: "",
    form: Form::Json,
    is_whole: false,
};

const MISTRAL: &[&str] = &[
    "mistral",
    "mixtral",
    "ministral",
    "codestral",
    "devstral",
    "magistral",
    "pixtral",
];

/// The templates, from the models' `chat_template` and from the parsers of vLLM and llama.cpp
/// (<https://docs.vllm.ai/en/latest/features/tool_calling.html>). gpt-oss's channels are read beside the
/// reasoning.
const TEMPLATES: &[Template] = &[
    Template {
        families: &[
            "qwen", "qwq", "hermes", "glm", "granite", "smollm", "nemotron",
        ],
        open: "<tool_call>",
        close: "</tool_call>",
        form: Form::Tags,
        ..MARKED
    },
    Template {
        families: &["qwen", "llama"],
        open: "<function=",
        close: "</function>",
        form: Form::Tags,
        ..MARKED
    },
    Template {
        families: &["llama"],
        open: "<|python_tag|>",
        form: Form::Loose,
        ..MARKED
    },
    // Small models of all families leave the marks out.
    Template {
        open: "{",
        is_whole: true,
        ..MARKED
    },
    Template {
        families: &["llama", "gemma"],
        open: "[",
        form: Form::Loose,
        is_whole: true,
        ..MARKED
    },
    Template {
        families: MISTRAL,
        open: "[TOOL_CALLS]",
        form: Form::Named("[TOOL_CALLS]"),
        ..MARKED
    },
    Template {
        families: &["kimi"],
        open: "<|tool_calls_section_begin|>",
        close: "<|tool_calls_section_end|>",
        form: Form::Named("<|tool_call_begin|>"),
        ..MARKED
    },
    Template {
        families: &["kimi"],
        open: "<|tool_call_begin|>",
        close: "<|tool_call_end|>",
        form: Form::Named("<|tool_call_begin|>"),
        ..MARKED
    },
    Template {
        families: &["granite", "phi-", "phi3", "phi4"],
        open: "<|tool_call|>",
        ..MARKED
    },
    Template {
        families: &["phi-", "phi3", "phi4"],
        open: "functools",
        ..MARKED
    },
    Template {
        families: &["nemotron"],
        open: "<TOOLCALL>",
        close: "</TOOLCALL>",
        ..MARKED
    },
    Template {
        families: &["command-", "c4ai", "cohere"],
        open: "<|START_ACTION|>",
        close: "<|END_ACTION|>",
        ..MARKED
    },
    Template {
        families: &["jamba", "hunyuan", "minimax"],
        open: "<tool_calls>",
        close: "</tool_calls>",
        ..MARKED
    },
    Template {
        families: &["seed-oss"],
        open: "<seed:tool_call>",
        close: "</seed:tool_call>",
        form: Form::Tags,
        ..MARKED
    },
    Template {
        families: &["lfm"],
        open: "<|tool_call_start|>",
        close: "<|tool_call_end|>",
        form: Form::Loose,
        ..MARKED
    },
    Template {
        families: &["minimax"],
        open: "<minimax:tool_call>",
        close: "</minimax:tool_call>",
        form: Form::Tags,
        ..MARKED
    },
    Template {
        families: &["deepseek"],
        open: "<｜tool▁calls▁begin｜>",
        close: "<｜tool▁calls▁end｜>",
        form: Form::Named("<｜tool▁call▁begin｜>"),
        ..MARKED
    },
    Template {
        families: &["deepseek"],
        open: "<｜DSML｜function_calls>",
        close: "</｜DSML｜function_calls>",
        form: Form::Tags,
        ..MARKED
    },
    Template {
        families: &["deepseek"],
        open: "<｜DSML｜tool_calls>",
        close: "</｜DSML｜tool_calls>",
        form: Form::Tags,
        ..MARKED
    },
    Template {
        families: &["gemma"],
        open: "```tool_code",
        close: "```",
        form: Form::Loose,
        is_whole: true,
    },
    Template {
        families: &["gemma"],
        open: "<start_function_call>",
        close: "<end_function_call>",
        form: Form::Loose,
        ..MARKED
    },
    Template {
        families: &["gemma"],
        open: "<|tool_call>",
        close: "<tool_call|>",
        form: Form::Loose,
        ..MARKED
    },
    Template {
        open: "```json",
        close: "```",
        is_whole: true,
        ..MARKED
    },
];

/// Whether a model is of the family of gpt-oss, whose channels carry the calls.
pub fn is_harmony(model: &str) -> bool {
    model.to_lowercase().contains("gpt-oss")
}

/// The templates of a model; all of them for one of no known family, which is somebody's own.
pub fn of_model(model: &str) -> Vec<&'static Template> {
    let model = model.to_lowercase();
    let is_of = |template: &&Template| template.families.iter().any(|one| model.contains(one));
    let is_known = TEMPLATES.iter().any(|template| is_of(&template)) || is_harmony(&model);
    let templates = TEMPLATES.iter();
    templates
        .filter(|template| !is_known || template.families.is_empty() || is_of(template))
        .collect()
}

/// Whether a model's template begins its answer within the reasoning, so that only the closing tag comes.
pub fn opens_reasoning(model: &str) -> bool {
    const NAMES: [&str; 11] = [
        "deepseek-r1",
        "qwq",
        "thinking",
        "reason",
        "glm-z1",
        "glm-4.7",
        "glm-5",
        "minimax-m2",
        "qwen3.5",
        "qwen3.6",
        "exaone-deep",
    ];
    let model = model.to_lowercase();
    NAMES.iter().any(|name| model.contains(name))
}
