//! The table of providers that are known by name.

use crate::models::signin::Service;

/// Characters of a provider's name that are compared with those that are known.
const NAME_CHARS: usize = 40;
/// How many characters a provider's name must have for each one that may be mistyped.
const SLIP_CHARS: usize = 4;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// None: the built-in offline helper answers.
    Offline,
}

/// Which of OpenAI's two APIs a server is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Chat completions, until the server says that a model needs the other one.
    Chat,
    /// Chat completions: the configuration says so, or the server has nothing else.
    OnlyChat,
    /// Responses.
    Responses,
}

/// What happens to the provider's own name at the beginning of a model's, as in `groq/…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// It is cut off.
    Cut,
    /// It is cut off only where a vendor follows: `openrouter/google/gemma` becomes `google/gemma`,
    /// while `openrouter/auto` is the full name of a model.
    CutBeforeVendor,
}

/// One provider of the table.
#[derive(Debug)]
pub struct Known {
    /// The name in the configuration and before a model's.
    pub name: &'static str,
    /// What else people call it, in the form of `simplify`.
    pub aliases: &'static [&'static str],
    /// The endpoint, without a slash at its end.
    pub base: &'static str,
    /// Its wire format.
    pub format: Format,
    /// The environment variables that may hold its key; empty when it runs on this machine or takes a sign-in.
    pub variables: &'static [&'static str],
    /// The subscription that it is used with, in place of a key.
    pub sign_in: Option<Service>,
    /// How its models' names begin, in lower case.
    pub keywords: &'static [&'static str],
    /// The default model; empty for the first one that the server lists.
    pub model: &'static str,
    /// What happens to its name before a model's.
    pub prefix: Prefix,
    /// Its name as a vendor at a gateway; empty when gateways do not offer its models by that name.
    pub vendor: &'static str,
    /// Whether it forwards requests to other vendors' models.
    pub gateway: bool,
}

/// A cloud provider with the usual properties; the rows below say what differs.
const CLOUD: Known = Known {
    name: "",
    aliases: &[],
    base: "",
    format: Format::OpenAi,
    variables: &[],
    sign_in: None,
    keywords: &[],
    model: "",
    prefix: Prefix::Cut,
    vendor: "",
    gateway: false,
};

impl Known {
    /// Whether it is a program that runs at home rather than a service.
    pub fn is_at_home(&self) -> bool {
        self.variables.is_empty() && self.sign_in.is_none()
    }
}

/// The providers. When only keys decide which one answers, the first one here that has a key does.
pub const PROVIDERS: &[Known] = &[
    Known {
        name: "anthropic",
        aliases: &["claude", "claudeai"],
        base: "https://api.anthropic.com",
        format: Format::Anthropic,
        variables: &["ANTHROPIC_API_KEY"],
        keywords: &["claude"],
        model: "claude-sonnet-5-5",
        vendor: "anthropic",
        ..CLOUD
    },
    Known {
        name: "openai",
        aliases: &["chatgpt", "gpt"],
        base: "https://api.openai.com/v1",
        variables: &["OPENAI_API_KEY"],
        keywords: &["gpt-", "chatgpt", "o1", "o3", "o4"],
        model: "gpt-6.1-sol",
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
        aliases: &[
            "google",
            "googlegemini",
            "googleai",
            "aistudio",
            "googleaistudio",
        ],
        base: "https://generativelanguage.googleapis.com/v1beta/openai",
        variables: &["GEMINI_API_KEY"],
        keywords: &["gemini"],
        model: "gemini-3.8-flash",
        vendor: "google",
        ..CLOUD
    },
    Known {
        name: "moonshot",
        aliases: &["kimi", "moonshotai", "月之暗面"],
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
        aliases: &["glm", "zhipuai", "zai", "bigmodel", "智谱"],
        base: "https://open.bigmodel.cn/api/paas/v4",
        variables: &["ZHIPU_API_KEY", "ZAI_API_KEY"],
        keywords: &["zhipu", "glm"],
        model: "glm-5.2",
        vendor: "z-ai",
        ..CLOUD
    },
    Known {
        name: "dashscope",
        aliases: &[
            "qwen",
            "alibaba",
            "alibabacloud",
            "aliyun",
            "bailian",
            "tongyi",
            "通义",
            "通义千问",
            "百炼",
        ],
        base: "https://dashscope.aliyuncs.com/compatible-mode/v1",
        variables: &["DASHSCOPE_API_KEY"],
        keywords: &["qwen"],
        model: "qwen-plus",
        vendor: "qwen",
        ..CLOUD
    },
    Known {
        name: "siliconflow",
        aliases: &["硅基流动"],
        base: "https://api.siliconflow.cn/v1",
        variables: &["SILICONFLOW_API_KEY"],
        model: "deepseek-ai/DeepSeek-V4-Flash",
        ..CLOUD
    },
    Known {
        name: "volcengine",
        aliases: &["doubao", "ark", "bytedance", "豆包", "火山引擎"],
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
        aliases: &["mistralai", "codestral"],
        base: "https://api.mistral.ai/v1",
        variables: &["MISTRAL_API_KEY"],
        keywords: &["mistral", "codestral"],
        model: "mistral-medium-latest",
        vendor: "mistralai",
        ..CLOUD
    },
    Known {
        name: "xai",
        aliases: &["grok"],
        base: "https://api.x.ai/v1",
        variables: &["XAI_API_KEY"],
        keywords: &["grok"],
        model: "grok-4.3",
        vendor: "x-ai",
        ..CLOUD
    },
    Known {
        name: "nvidia",
        aliases: &["nim", "nvidianim"],
        base: "https://integrate.api.nvidia.com/v1",
        variables: &["NVIDIA_API_KEY"],
        model: "openai/gpt-oss-120b",
        prefix: Prefix::CutBeforeVendor,
        ..CLOUD
    },
    Known {
        name: "openai-codex",
        aliases: &["openaicodex", "codex"],
        base: "https://chatgpt.com/backend-api/codex",
        sign_in: Some(Service::Codex),
        model: "gpt-5.6-sol",
        ..CLOUD
    },
    Known {
        name: "github-copilot",
        aliases: &["githubcopilot", "copilot"],
        base: "https://api.githubcopilot.com",
        sign_in: Some(Service::Copilot),
        model: "gpt-4.1",
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

/// The name of the built-in offline helper.
pub const OFFLINE: &str = "offline";

/// The provider with exactly this name. [`find`] understands what people write.
pub fn known(name: &str) -> Option<&'static Known> {
    PROVIDERS.iter().find(|known| known.name == name)
}

/// Finds the provider that a person means by a name: case, spaces and punctuation make no difference,
/// and the usual names of companies and of their models are understood. `Open AI` and `ChatGPT` are
/// both `openai`.
///
/// A server of the person's own may have any of these names, so look among those first.
pub fn find(name: &str) -> Option<&'static Known> {
    let simple = simplify(name);
    let is_meant = |known: &&Known| known.name == simple || known.aliases.contains(&&*simple);
    PROVIDERS.iter().find(is_meant)
}

/// The provider whose name is a slip of the finger away from this one, which is none of them.
pub fn nearest(name: &str) -> Option<&'static Known> {
    let simple = simplify(name);
    let distance = |known: &&'static Known| {
        let names = [known.name]
            .into_iter()
            .chain(known.aliases.iter().copied());
        let near = names.filter_map(|name| {
            let distance = strsim::osa_distance(&simple, name);
            (distance * SLIP_CHARS <= name.chars().count()).then_some(distance)
        });
        near.min()
    };
    let near = PROVIDERS
        .iter()
        .filter_map(|known| Some((distance(&known)?, known)));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// A name in lower case, with letters and digits only.
fn simplify(name: &str) -> String {
    let chars = name
        .chars()
        .take(NAME_CHARS)
        .filter(|char| char.is_alphanumeric());
    chars.flat_map(char::to_lowercase).collect()
}

/// The names of all providers, for people to choose from.
pub fn list_names() -> String {
    let names: Vec<_> = PROVIDERS.iter().map(|known| known.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_found_by_any_of_its_usual_names() {
        for (name, expected) in [
            ("openai", "openai"),
            ("OpenAI", "openai"),
            (" Open AI ", "openai"),
            ("ChatGPT", "openai"),
            ("GPT", "openai"),
            ("Claude", "anthropic"),
            ("Google Gemini", "gemini"),
            ("google", "gemini"),
            ("Grok", "xai"),
            ("x.AI", "xai"),
            ("Groq", "groq"),
            ("Kimi", "moonshot"),
            ("Qwen", "dashscope"),
            ("LM Studio", "lmstudio"),
            ("Z.ai", "zhipu"),
            ("通义千问", "dashscope"),
            ("OFFLINE", "offline"),
            ("OpenAI Codex", "openai-codex"),
            ("openai_codex", "openai-codex"),
            ("GitHub-Copilot", "github-copilot"),
        ] {
            assert_eq!(find(name).map(|row| row.name), Some(expected), "{name}");
        }
        for name in ["", "-", "mine", "opnai"] {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn no_alias_is_another_name_too() {
        let all: Vec<&str> = PROVIDERS
            .iter()
            .flat_map(|row| [row.name].into_iter().chain(row.aliases.iter().copied()))
            .collect();
        for (index, name) in all.iter().enumerate() {
            assert_eq!(simplify(name), name.replace('-', ""));
            assert!(!all[..index].contains(name), "{name}");
        }
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_name_that_was_meant() {
        for (name, expected) in [
            ("opnai", Some("openai")),
            ("antrhopic", Some("anthropic")),
            ("Cluade", Some("anthropic")),
            ("gemni", Some("gemini")),
            ("mine", None),
            ("house", None),
            ("a", None),
        ] {
            assert_eq!(nearest(name).map(|row| row.name), expected, "{name}");
        }
    }

    #[test]
    fn the_table_is_whole_and_has_no_name_twice() {
        assert_eq!(PROVIDERS.len(), 22);
        for (index, row) in PROVIDERS.iter().enumerate() {
            assert!(
                PROVIDERS[..index]
                    .iter()
                    .all(|other| other.name != row.name)
            );
            assert!(!row.base.ends_with('/'), "{}", row.name);
            assert_eq!(row.base.is_empty(), row.name == OFFLINE);
            assert!(row.sign_in.is_none_or(|service| service.name() == row.name));
            assert_eq!(row.model.is_empty(), row.is_at_home(), "{}", row.name);
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
