//! The templates that open models are published with, as far as they write calls.

use super::written::Form;

/// How the models of some families write a call.
#[derive(Debug)]
pub struct Template {
    /// Parts of the models' names, in lower case; none for all models.
    families: &'static [&'static str],
    /// What a call begins with; nothing where its first word is the tool's name.
    pub open: &'static str,
    /// What it ends with; empty when it goes on to the end of the answer.
    pub close: &'static str,
    /// What stands between.
    pub form: Form,
    /// Whether it counts only when it is the whole answer.
    pub is_whole: bool,
}

/// A template of these families: what a call begins and ends with, and its form.
const fn of(
    families: &'static [&'static str],
    open: &'static str,
    close: &'static str,
    form: Form,
) -> Template {
    Template {
        families,
        open,
        close,
        form,
        is_whole: false,
    }
}

/// The same for one that counts only when it is the whole answer.
const fn whole(
    families: &'static [&'static str],
    open: &'static str,
    close: &'static str,
    form: Form,
) -> Template {
    Template {
        is_whole: true,
        ..of(families, open, close, form)
    }
}

const KIMI: &[&str] = &["kimi"];
const DEEPSEEK: &[&str] = &["deepseek"];
const GEMMA: &[&str] = &["gemma"];
const PHI: &[&str] = &["granite", "phi-", "phi3", "phi4"];
const COHERE: &[&str] = &["command-", "c4ai", "cohere"];

/// The families that write as Hermes, Qwen or GLM do between the same marks.
const HERMES: &[&str] = &[
    "qwen", "qwq", "hermes", "glm", "granite", "smollm", "nemotron", "ernie", "exaone", "step",
    "mimo", "ling-", "ring-", "hunyuan", "hy3", "hy-", "laguna", "spark", "trinity", "xlam",
];

const MISTRAL: &[&str] = &[
    "mistral",
    "mixtral",
    "ministral",
    "codestral",
    "devstral",
    "magistral",
    "pixtral",
];

/// The templates, from the models' `chat_template` and from the parsers of vLLM, SGLang and llama.cpp
/// (<https://docs.vllm.ai/en/latest/features/tool_calling.html>). gpt-oss's channels are read beside the
/// reasoning.
const TEMPLATES: &[Template] = &[
    of(HERMES, "<tool_call>", "</tool_call>", Form::Tags),
    of(&["qwen", "llama"], "<function=", "</function>", Form::Tags),
    of(&["minicpm"], "<function name=", "</function>", Form::Tags),
    of(&["llama"], "<|python_tag|>", "", Form::Loose),
    of(
        &["llama"],
        "<|python_start|>",
        "<|python_end|>",
        Form::Loose,
    ),
    // Small models of all families leave the marks out.
    whole(&[], "{", "", Form::Json),
    whole(&[], "", "", Form::Bare),
    whole(&[], "[", "", Form::Loose),
    of(MISTRAL, "[TOOL_CALLS]", "", Form::Named("[TOOL_CALLS]")),
    of(
        KIMI,
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        Form::Named("<|tool_call_begin|>"),
    ),
    of(
        KIMI,
        "<|tool_call_section_begin|>",
        "<|tool_call_section_end|>",
        Form::Named("<|tool_call_begin|>"),
    ),
    of(
        KIMI,
        "<|tool_call_begin|>",
        "<|tool_call_end|>",
        Form::Named("<|tool_call_begin|>"),
    ),
    of(
        KIMI,
        "<|open|>tools<|sep|>",
        "<|close|>tools<|sep|>",
        Form::Tags,
    ),
    of(PHI, "<|tool_call|>", "", Form::Json),
    of(PHI, "functools", "", Form::Json),
    of(HERMES, "<function_call>", "</function_call>", Form::Json),
    whole(HERMES, "<tools>", "</tools>", Form::Json),
    of(&["nemotron"], "<TOOLCALL>", "</TOOLCALL>", Form::Json),
    of(COHERE, "<|START_ACTION|>", "<|END_ACTION|>", Form::Json),
    whole(COHERE, "Action: ```json", "```", Form::Json),
    of(
        &["jamba", "hunyuan", "hy3", "hy-", "minimax", "apriel"],
        "<tool_calls>",
        "</tool_calls>",
        Form::Tags,
    ),
    of(
        &["seed-oss"],
        "<seed:tool_call>",
        "</seed:tool_call>",
        Form::Tags,
    ),
    of(
        &["lfm"],
        "<|tool_call_start|>",
        "<|tool_call_end|>",
        Form::Loose,
    ),
    of(
        &["minimax"],
        "<minimax:tool_call>",
        "</minimax:tool_call>",
        Form::Tags,
    ),
    of(
        &["minimax"],
        "]<]minimax[>[<tool_call>",
        "]<]minimax[>[</tool_call>",
        Form::Tags,
    ),
    of(
        DEEPSEEK,
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        Form::Named("<｜tool▁call▁begin｜>"),
    ),
    of(
        &["deepseek", "step3"],
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
        Form::Named("<｜tool_call_begin｜>"),
    ),
    of(
        DEEPSEEK,
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        Form::Named("<｜tool▁call▁begin｜>"),
    ),
    of(
        DEEPSEEK,
        "<｜DSML｜invoke name=",
        "</｜DSML｜invoke>",
        Form::Tags,
    ),
    of(
        &["minimax", "deepseek"],
        "<invoke name=",
        "</invoke>",
        Form::Tags,
    ),
    of(
        DEEPSEEK,
        "<｜DSML｜function_calls>",
        "</｜DSML｜function_calls>",
        Form::Tags,
    ),
    of(
        DEEPSEEK,
        "<｜DSML｜tool_calls>",
        "</｜DSML｜tool_calls>",
        Form::Tags,
    ),
    of(
        &["gigachat"],
        "<｜GCML｜tool_calls>",
        "</｜GCML｜tool_calls>",
        Form::Tags,
    ),
    of(&["gigachat"], "function call<|role_sep|>", "", Form::Json),
    of(GEMMA, "```tool_code", "```", Form::Loose),
    of(
        GEMMA,
        "<start_function_call>",
        "<end_function_call>",
        Form::Loose,
    ),
    of(GEMMA, "<|tool_call>", "<tool_call|>", Form::Loose),
    of(
        &["intern"],
        "<|action_start|><|plugin|>",
        "<|action_end|>",
        Form::Json,
    ),
    of(
        &["olmo"],
        "<function_calls>",
        "</function_calls>",
        Form::Loose,
    ),
    of(
        &["longcat"],
        "<longcat_tool_call>",
        "</longcat_tool_call>",
        Form::Tags,
    ),
    of(
        &["apertus"],
        "<|tools_prefix|>",
        "<|tools_suffix|>",
        Form::Json,
    ),
    of(
        &["solar"],
        "<|tool_calls|>",
        "<|calls|>",
        Form::Named("<|tool_call:begin|>"),
    ),
    of(
        &["inkling"],
        "<|content_invoke_tool_json|>",
        "<|end_message|>",
        Form::Json,
    ),
    of(
        &["dots"],
        "<dots_function_call>",
        "</dots_function_call>",
        Form::Tags,
    ),
    of(
        &["muse"],
        "<atem:function_calls>",
        "</atem:function_calls>",
        Form::Tags,
    ),
    of(
        &["k2-horizon", "k2-v3"],
        "<ifm|tool_call>",
        "</ifm|tool_call>",
        Form::Tags,
    ),
    whole(&[], "```json", "```", Form::Json),
];

impl Template {
    /// Whether the marks are a part of the call.
    pub fn is_part(&self) -> bool {
        matches!(self.open, "{" | "[") || self.open.ends_with('=')
    }

    /// What of a text that begins with the mark is the call.
    pub fn inside<'a>(&self, text: &'a str) -> &'a str {
        &text[if self.is_part() { 0 } else { self.open.len() }..]
    }
}

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
