//! The models whose window and price are known. `scripts/models` shows how old the rows are.
//!
//! A comment `// checked YYYY-MM-DD: SOURCE` dates the rows below it, up to the next such comment: the
//! day on which the source showed the provider's page. `// checked YYYY-MM-DD, until YYYY-MM-DD: SOURCE`
//! also names the last day of a price that is known to change. The oldest month of them all is
//! [`PRICES_DATE`](super::PRICES_DATE).

use super::{Change, Row, Tier};

/// The prices at the providers' own addresses. A name also stands for the model's dated versions, such
/// as `gpt-4.1-2025-04-14`. Left out are names that move to another model (`-latest`), providers that
/// charge in yuan, and DeepSeek, whose prices depend on the hour and on China's holidays.
#[rustfmt::skip]
pub(super) const PRICES: &[(&str, &[Row])] = &[
    ("anthropic", &[
        // The cache is written for 5 minutes.
        // checked 2026-11-10: genai-prices 0.2.3, of platform.claude.com/docs/en/about-claude/pricing; names: anthropic 2.14.0
        ("claude-fable-5-2", 1_000_000, 8.0, 0.2, 40.0, 10.0),
        ("claude-mythos-5-2", 1_000_000, 8.0, 0.2, 40.0, 10.0),
        ("claude-fable-5-1", 1_000_000, 10.0, 0.25, 50.0, 12.5),
        ("claude-mythos-5-1", 1_000_000, 10.0, 0.25, 50.0, 12.5),
        ("claude-fable-5", 1_000_000, 10.0, 1.0, 50.0, 12.5),
        ("claude-mythos-5", 1_000_000, 10.0, 1.0, 50.0, 12.5),
        ("claude-opus-5-5", 1_000_000, 4.0, 0.2, 20.0, 5.0),
        ("claude-opus-5", 1_000_000, 5.0, 0.5, 25.0, 6.25),
        ("claude-opus-4-8", 1_000_000, 5.0, 0.5, 25.0, 6.25),
        ("claude-opus-4-7", 1_000_000, 5.0, 0.5, 25.0, 6.25),
        ("claude-opus-4-6", 1_000_000, 5.0, 0.5, 25.0, 6.25),
        ("claude-opus-4-5", 200_000, 5.0, 0.5, 25.0, 6.25),
        ("claude-sonnet-5-5", 1_000_000, 2.0, 0.1, 10.0, 2.5),
        ("claude-sonnet-5", 1_000_000, 2.0, 0.2, 10.0, 2.5),
        ("claude-sonnet-4-6", 1_000_000, 3.0, 0.3, 15.0, 3.75),
        ("claude-sonnet-4-5", 200_000, 3.0, 0.3, 15.0, 3.75),
        ("claude-haiku-5-5", 1_000_000, 0.1, 0.01, 0.5, 0.125),
        ("claude-haiku-4-5", 200_000, 1.0, 0.1, 5.0, 1.25),
    ]),
    ("openai", &[
        // checked 2026-11-18: developers.openai.com/api/docs/models/gpt-6.2-sol and gpt-6.2-astra
        ("gpt-6.2-astra", 1_050_000, 8.0, 0.4, 40.0, 10.0),
        ("gpt-6.2-sol", 1_050_000, 2.0, 0.1, 10.0, 2.5),
        // checked 2026-10-14: genai-prices 0.2.3, of developers.openai.com/api/docs/pricing; names: openai 3.57.0
        ("gpt-6.1-sol", 1_050_000, 2.0, 0.1, 10.0, 2.5),
        ("gpt-6.1-terra", 1_050_000, 1.0, 0.05, 5.0, 1.25),
        ("gpt-6-astra", 1_050_000, 10.0, 1.0, 50.0, 12.5),
        ("gpt-6-sol", 1_050_000, 2.0, 0.2, 10.0, 2.5),
        ("gpt-6-luna", 1_050_000, 0.1, 0.01, 0.5, 0.125),
        ("gpt-5.6-sol", 1_050_000, 4.0, 0.4, 20.0, 5.0),
        ("gpt-5.6-terra", 1_050_000, 2.0, 0.2, 12.0, 2.5),
        ("gpt-5.6-luna", 1_050_000, 0.2, 0.02, 1.2, 0.25),
        ("gpt-5.5", 1_050_000, 5.0, 0.5, 30.0, 5.0),
        ("gpt-5.4", 1_050_000, 2.5, 0.25, 15.0, 2.5),
        ("gpt-5.4-mini", 400_000, 0.75, 0.075, 4.5, 0.75),
        ("gpt-5.4-nano", 400_000, 0.2, 0.02, 1.25, 0.2),
        ("gpt-5.2", 400_000, 1.75, 0.175, 14.0, 1.75),
        ("gpt-5.1", 400_000, 1.25, 0.125, 10.0, 1.25),
        ("gpt-5", 400_000, 1.25, 0.125, 10.0, 1.25),
        ("gpt-5-mini", 400_000, 0.25, 0.025, 2.0, 0.25),
        ("gpt-5-nano", 400_000, 0.05, 0.005, 0.4, 0.05),
        ("gpt-4.1", 1_047_576, 2.0, 0.5, 8.0, 2.0),
        ("gpt-4.1-mini", 1_047_576, 0.4, 0.1, 1.6, 0.4),
        ("gpt-4o", 128_000, 2.5, 1.25, 10.0, 2.5),
        ("gpt-4o-mini", 128_000, 0.15, 0.075, 0.6, 0.15),
        ("o3", 200_000, 2.0, 0.5, 8.0, 2.0),
    ]),
    ("gemini", &[
        // checked 2026-10-14, until 2026-11-30: genai-prices 0.2.3, of ai.google.dev/gemini-api/docs/pricing
        ("gemini-4-argon", 1_048_576, 2.0, 0.1, 10.0, 2.0),
        // checked 2026-11-10: litellm 1.110.2, of aistudio.google.com/docs/pricing
        ("gemini-4-hydrogen", 1_048_576, 1.5, 0.075, 7.5, 1.5),
        // checked 2026-10-14, until 2026-12-31: genai-prices 0.2.3, of ai.google.dev/gemini-api/docs/pricing
        ("gemini-3.8-flash", 1_048_576, 0.75, 0.075, 3.75, 0.75),
        ("gemini-3.7-flash", 1_048_576, 0.75, 0.075, 3.75, 0.75),
        ("gemini-3.6-flash", 1_048_576, 0.75, 0.075, 3.75, 0.75),
        // checked 2026-10-14: genai-prices 0.2.3, of ai.google.dev/gemini-api/docs/pricing
        ("gemini-3.5-flash", 1_048_576, 1.5, 0.15, 9.0, 1.5),
        ("gemini-3.5-flash-lite", 1_048_576, 0.3, 0.03, 2.5, 0.3),
        ("gemini-3.1-pro-preview", 1_048_576, 2.0, 0.2, 12.0, 2.0),
        ("gemini-3.1-flash-lite", 1_048_576, 0.25, 0.025, 1.5, 0.25),
        ("gemini-3-flash-preview", 1_048_576, 0.5, 0.05, 3.0, 0.5),
        ("gemini-2.5-pro", 1_048_576, 1.25, 0.125, 10.0, 1.25),
        ("gemini-2.5-flash", 1_048_576, 0.3, 0.03, 2.5, 0.3),
        ("gemini-2.5-flash-lite", 1_048_576, 0.1, 0.01, 0.4, 0.1),
    ]),
    ("moonshot", &[
        // checked 2026-10-15: genai-prices 0.2.3, of platform.kimi.ai/docs/pricing/chat
        ("kimi-k3.1-pro", 1_048_576, 2.0, 0.2, 10.0, 2.0),
        ("kimi-k3.1-pro-highspeed", 1_048_576, 4.0, 0.2, 20.0, 4.0),
        ("kimi-k3", 1_048_576, 3.0, 0.3, 15.0, 3.0),
        ("kimi-k2.7-code", 262_144, 0.95, 0.19, 4.0, 0.95),
        ("kimi-k2.6", 262_144, 0.95, 0.16, 4.0, 0.95),
    ]),
    ("groq", &[
        // checked 2026-11-10: genai-prices 0.2.3, of groq.com/pricing
        ("openai/gpt-oss-120b", 131_072, 0.15, 0.075, 0.6, 0.15),
        ("openai/gpt-oss-20b", 131_072, 0.075, 0.0375, 0.3, 0.075),
        ("qwen/qwen3.8-27b", 131_072, 0.8, 0.8, 4.0, 0.8),
    ]),
    ("xai", &[
        // checked 2026-11-10: genai-prices 0.2.3, of docs.x.ai/developers/pricing
        ("grok-4.7", 500_000, 2.0, 0.5, 6.0, 2.0),
        ("grok-4.6", 500_000, 2.0, 0.5, 6.0, 2.0),
        ("grok-4.5", 500_000, 2.0, 0.3, 6.0, 2.0),
        ("grok-4.3", 1_000_000, 1.25, 0.2, 2.5, 1.25),
        ("grok-build-0.1", 256_000, 1.0, 0.2, 2.0, 1.0),
    ]),
    ("mistral", &[
        // checked 2026-10-29: genai-prices 0.2.3, of docs.mistral.ai/inference/pricing
        ("mistral-large-4", 1_048_576, 0.7, 0.07, 2.1, 0.7),
        ("mistral-large-2512", 262_144, 0.5, 0.05, 1.5, 0.5),
        ("mistral-medium-3-5", 262_144, 1.5, 0.15, 7.5, 1.5),
        ("mistral-small-2603", 262_144, 0.15, 0.015, 0.6, 0.15),
        ("codestral-2508", 256_000, 0.3, 0.03, 0.9, 0.3),
    ]),
    ("minimax", &[
        // checked 2026-11-10: litellm 1.110.2, of platform.minimax.io/docs/guides/pricing
        ("MiniMax-M3", 1_000_000, 0.3, 0.06, 1.2, 0.3),
    ]),
];

/// The models that charge more for long requests.
#[rustfmt::skip]
pub(super) const TIERS: &[Tier] = &[
    Tier { models: &["claude-haiku-5-5"], above: 100_000, input: 5.0, output: 5.0 },
    Tier {
        models: &[
            "gpt-6.2-astra", "gpt-6.2-sol", "gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna",
            "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5", "gpt-5.4",
        ],
        above: 272_000,
        input: 2.0,
        output: 1.5,
    },
    Tier { models: &["gemini-3.1-pro-preview", "gemini-2.5-pro"], above: 200_000, input: 2.0, output: 1.5 },
    Tier {
        models: &["grok-4.7", "grok-4.6", "grok-4.5", "grok-4.3", "grok-build-0.1"],
        above: 199_999,
        input: 2.0,
        output: 2.0,
    },
    Tier { models: &["MiniMax-M3"], above: 512_000, input: 2.0, output: 2.0 },
];

/// The prices that change on a day that is known.
#[rustfmt::skip]
pub(super) const CHANGES: &[Change] = &[
    // 2026-12-01 and 2027-01-01.
    Change { models: &["gemini-4-argon"], from: 1_796_083_200, factor: 2.0 },
    Change { models: &["gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.6-flash"], from: 1_798_761_600, factor: 2.0 },
];
