//! The providers that are known by name.

/// What is spoken on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Nothing: the helper in the program answers.
    Offline,
}

/// What becomes of the provider's own name at the beginning of a model's, as in `groq/…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// It is cut off.
    Cut,
    /// It is cut off where a vendor follows: `openrouter/google/gemma` becomes `google/gemma`,
    /// while `openrouter/auto` is a model's whole name.
    CutBeforeVendor,
}

/// One provider of the table.
#[derive(Debug)]
pub struct Known {
    /// The name in the configuration and before a model's.
    pub name: &'static str,
    /// The endpoint, without a slash at its end.
    pub base: &'static str,
    /// What it speaks.
    pub format: Format,
    /// The environment variables that may hold its key; none: it runs on this machine.
    pub variables: &'static [&'static str],
    /// How its models' names begin, in lower case.
    pub keywords: &'static [&'static str],
    /// The model when none is named; empty: the first that the server lists.
    pub model: &'static str,
    /// What becomes of its name before a model's.
    pub prefix: Prefix,
    /// Its name as a vendor at a gateway; empty: its models are not there under its name.
    pub vendor: &'static str,
    /// Whether it passes requests on to other vendors' models.
    pub gateway: bool,
}

/// A cloud provider with nothing special; the rows below change what differs.
const CLOUD: Known = Known {
    name: "",
    base: "",
    format: Format::OpenAi,
    variables: &[],
    keywords: &[],
    model: "",
    prefix: Prefix::Cut,
    vendor: "",
    gateway: false,
};

/// The providers in the order in which a key decides when nothing else does.
pub const PROVIDERS: &[Known] = &[
    Known {
        name: "anthropic",
        base: "https://api.anthropic.com",
        format: Format::Anthropic,
        variables: &["ANTHROPIC_API_KEY"],
        keywords: &["claude"],
        model: "claude-sonnet-5",
        vendor: "anthropic",
        ..CLOUD
    },
    Known {
        name: "openai",
        base: "https://api.openai.com/v1",
        variables: &["OPENAI_API_KEY"],
        keywords: &["gpt-", "chatgpt", "o1", "o3", "o4"],
        model: "gpt-6-sol",
        vendor: "openai",
        ..CLOUD
    },
    Known {
        name: "openrouter",
        base: "https://openrouter.ai/api/v1",
        variables: &["OPENROUTER_API_KEY"],
        model: "openrouter/auto",
        prefix: Prefix::CutBeforeVendor,
        gateway: true,
        ..CLOUD
    },
    Known {
        name: "deepseek",
        base: "https://api.deepseek.com/v1",
        variables: &["DEEPSEEK_API_KEY"],
        keywords: &["deepseek"],
        model: "deepseek-flash",
        vendor: "deepseek",
        ..CLOUD
    },
    Known {
        name: "groq",
        base: "https://api.groq.com/openai/v1",
        variables: &["GROQ_API_KEY"],
        model: "openai/gpt-oss-120b",
        ..CLOUD
    },
    Known {
        name: "gemini",
        base: "https://generativelanguage.googleapis.com/v1beta/openai",
        variables: &["GEMINI_API_KEY"],
        keywords: &["gemini"],
        model: "gemini-flash-latest",
        vendor: "google",
        ..CLOUD
    },
    Known {
        name: "moonshot",
        base: "https://api.moonshot.ai/v1",
        variables: &["MOONSHOT_API_KEY"],
        keywords: &["moonshot", "kimi"],
        model: "kimi-k3",
        vendor: "moonshotai",
        ..CLOUD
    },
    Known {
        name: "minimax",
        base: "https://api.minimax.io/v1",
        variables: &["MINIMAX_API_KEY"],
        keywords: &["minimax"],
        model: "MiniMax-M3",
        vendor: "minimax",
        ..CLOUD
    },
    Known {
        name: "zhipu",
        base: "https://open.bigmodel.cn/api/paas/v4",
        variables: &["ZHIPU_API_KEY", "ZAI_API_KEY"],
        keywords: &["zhipu", "glm"],
        model: "glm-5.2",
        vendor: "z-ai",
        ..CLOUD
    },
    Known {
        name: "dashscope",
        base: "https://dashscope.aliyuncs.com/compatible-mode/v1",
        variables: &["DASHSCOPE_API_KEY"],
        keywords: &["qwen"],
        model: "qwen-plus",
        vendor: "qwen",
        ..CLOUD
    },
    Known {
        name: "siliconflow",
        base: "https://api.siliconflow.cn/v1",
        variables: &["SILICONFLOW_API_KEY"],
        model: "deepseek-ai/DeepSeek-V4-Flash",
        ..CLOUD
    },
    Known {
        name: "volcengine",
        base: "https://ark.cn-beijing.volces.com/api/v3",
        variables: &["VOLCENGINE_API_KEY"],
        keywords: &["doubao"],
        model: "doubao-seed-2-0-pro-260215",
        vendor: "bytedance-seed",
        ..CLOUD
    },
    Known {
        name: "aihubmix",
        base: "https://aihubmix.com/v1",
        variables: &["AIHUBMIX_API_KEY"],
        model: "gpt-5.4-mini",
        gateway: true,
        ..CLOUD
    },
    Known {
        name: "mistral",
        base: "https://api.mistral.ai/v1",
        variables: &["MISTRAL_API_KEY"],
        keywords: &["mistral", "codestral"],
        model: "mistral-medium-latest",
        vendor: "mistralai",
        ..CLOUD
    },
    Known {
        name: "xai",
        base: "https://api.x.ai/v1",
        variables: &["XAI_API_KEY"],
        keywords: &["grok"],
        model: "grok-4.3",
        vendor: "x-ai",
        ..CLOUD
    },
    Known {
        name: "nvidia",
        base: "https://integrate.api.nvidia.com/v1",
        variables: &["NVIDIA_API_KEY"],
        model: "openai/gpt-oss-120b",
        prefix: Prefix::CutBeforeVendor,
        ..CLOUD
    },
    Known {
        name: "ollama",
        base: "http://127.0.0.1:11434/v1",
        ..CLOUD
    },
    Known {
        name: "vllm",
        base: "http://127.0.0.1:8000/v1",
        ..CLOUD
    },
    Known {
        name: "lmstudio",
        base: "http://127.0.0.1:1234/v1",
        ..CLOUD
    },
    Known {
        name: OFFLINE,
        format: Format::Offline,
        ..CLOUD
    },
];

/// The name of the helper in the program.
pub const OFFLINE: &str = "offline";

/// Looks a provider up by its name.
pub fn known(name: &str) -> Option<&'static Known> {
    PROVIDERS.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_has_no_name_twice() {
        assert_eq!(PROVIDERS.len(), 20);
        for (index, row) in PROVIDERS.iter().enumerate() {
            assert!(
                PROVIDERS[..index]
                    .iter()
                    .all(|other| other.name != row.name)
            );
            assert!(!row.base.ends_with('/'), "{}", row.name);
            assert_eq!(row.base.is_empty(), row.name == OFFLINE);
            assert_eq!(
                row.model.is_empty(),
                row.variables.is_empty(),
                "{}",
                row.name
            );
        }
    }

    /// The error for a missing key names the variable by this rule.
    #[test]
    fn every_key_variable_is_the_name_in_upper_case() {
        for row in PROVIDERS.iter().filter(|row| !row.variables.is_empty()) {
            assert_eq!(row.variables[0], row.name.to_uppercase() + "_API_KEY");
        }
    }
}
