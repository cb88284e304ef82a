//! `http.hooks`

use serde::Deserialize;

use crate::base::secret::Secret;

/// `http.hooks.<name>`: what happens when a program calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Hook {
    /// The chat; empty: the private one in which an owner wrote last.
    pub to: String,
    /// A text for the chat.
    pub text: String,
    /// What the agent is asked.
    pub ask: String,
    /// A shell command.
    pub run: String,
    /// Signs what the program sends; empty: a token opens the hook.
    pub secret: Secret,
    /// The form of the signature.
    pub signature: HookSignature,
}

/// How a program signs what it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookSignature {
    /// `X-Hub-Signature-256: sha256=HEX`, over the body.
    #[default]
    GitHub,
    /// `X-Grafana-Alerting-Signature: HEX`, over the body, or a time and the body.
    Grafana,
    /// `Stripe-Signature: t=TIME,v1=HEX`, over a time and the body.
    Stripe,
}
