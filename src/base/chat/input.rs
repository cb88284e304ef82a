//! What a server of tools wants to know from a person, or from a model, before it can finish a call.

use serde_json::{Map, Value};

/// A question that a server asks in the middle of a call. All its texts come from the server.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRequest {
    /// The server's name in the configuration.
    pub server: String,
    /// What it says to the person; may be empty.
    pub message: String,
    /// What it asks for.
    pub kind: InputKind,
}

/// What a server wants.
#[derive(Clone, Debug, PartialEq)]
pub enum InputKind {
    /// Values, in the order in which they are to be asked for.
    Form(Vec<Field>),
    /// A page that the person opens.
    Link {
        /// Its address: http or https.
        url: String,
        /// Whether the answer is the address at which the browser ended: the end of a login.
        returns: bool,
    },
    /// An answer of a model to this prompt.
    Sample(Box<Sample>),
}

/// One value of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// Its name for people; the same where the server gives none.
    pub title: String,
    /// More about it; may be empty.
    pub description: String,
    /// What it can be.
    pub kind: FieldKind,
    /// Whether the answer must have it.
    pub is_required: bool,
    /// Its value when the person gives none.
    pub default: Option<Value>,
}

/// What a value can be.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// A text of so many characters.
    Text {
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
        /// What it has to look like.
        form: TextForm,
    },
    /// A number.
    Number {
        /// Whether it is whole.
        is_whole: bool,
        /// The least, where there is one.
        least: Option<f64>,
        /// The greatest, where there is one.
        most: Option<f64>,
    },
    /// Yes or no.
    Flag,
    /// One of several values.
    Choice(Vec<Choice>),
    /// Any of several values.
    Choices {
        /// The values.
        of: Vec<Choice>,
        /// The fewest that have to be chosen.
        least: usize,
        /// The most that can be.
        most: usize,
    },
}

/// What a text has to look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextForm {
    /// Anything.
    #[default]
    Free,
    /// The address of a mailbox.
    Email,
    /// An address with its scheme.
    Uri,
    /// A day, such as 2026-11-30.
    Date,
    /// A time, such as 2026-11-30T17:30:00+01:00.
    DateTime,
}

/// A value to choose, and its name for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value.
    pub value: String,
    /// Its name; the same where the server gives none.
    pub title: String,
}

/// A prompt for a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The system prompt; may be empty.
    pub system: String,
    /// What was said, and whether the model said it.
    pub messages: Vec<(bool, String)>,
    /// Maximum tokens of the answer; 0: as usual.
    pub max_tokens: u32,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum InputAnswer {
    /// The values of a form by their names; nothing for a link that was opened.
    Given(Map<String, Value>),
    /// The address at which the browser ended.
    Returned(String),
    /// What a model answered, and its name.
    Sampled {
        /// The text.
        text: String,
        /// The model.
        model: String,
    },
    /// The person does not want to.
    Declined,
    /// There is no one to ask, no answer came in time, or all was stopped.
    Cancelled,
}
