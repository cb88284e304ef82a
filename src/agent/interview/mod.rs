//! A form is asked value by value, and each answer is read as what it can be. Pure.

use serde_json::{Map, Value};

use crate::base::chat::{Choice, Field, FieldKind, InputAnswer, InputKind, InputRequest, TextForm};
use crate::base::language::{NO, YES};
use crate::tools::mcp::client::fits;

/// The way through what a server wants to know.
pub struct Interview<'a> {
    request: &'a InputRequest,
    at: usize,
    values: Map<String, Value>,
}

/// What is to be asked now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked<'a> {
    /// A value of a form.
    Field(&'a Field),
    /// Whether the call may go on.
    Consent,
    /// That the person opens this page, and says when they have.
    Page(&'a str),
    /// That the person opens this page, and sends the address at which the browser ends.
    Login(&'a str),
}

/// What a person replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Words of their own.
    Text(String),
    /// The choice at this place.
    Pick(usize),
    /// Nothing: the default, or no value.
    Skip,
    /// They agree, or have done it.
    Accept,
    /// They do not want to answer.
    Decline,
}

/// What an answer should have been.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// One of the choices.
    Choice,
    /// So many of the choices, at least and at most.
    Choices(usize, usize),
    /// Yes or no.
    Flag,
    /// A number: whole or not, from, to.
    Number(bool, Option<f64>, Option<f64>),
    /// A text of so many characters, at least and at most, that looks like this.
    Text(usize, usize, TextForm),
    /// Any answer: it cannot be left out.
    Something,
    /// The address at which the browser ended.
    Address,
    /// A button.
    Button,
}

/// More words of people for yes and for no.
const MORE_YES: [&str; 4] = ["y", "true", "1", "好"];
const MORE_NO: [&str; 4] = ["n", "false", "0", "不"];

impl<'a> Interview<'a> {
    /// Nothing has been asked yet.
    pub fn new(request: &'a InputRequest) -> Self {
        Self {
            request,
            at: 0,
            values: Map::new(),
        }
    }

    /// What is to be asked now; `None` when no person can answer it.
    pub fn asked(&self) -> Option<Asked<'a>> {
        Some(match &self.request.kind {
            InputKind::Form(fields) if fields.is_empty() => Asked::Consent,
            InputKind::Form(fields) => Asked::Field(fields.get(self.at)?),
            InputKind::Link { url, returns: true } => Asked::Login(url),
            InputKind::Link { url, .. } => Asked::Page(url),
            InputKind::Sample(_) => return None,
        })
    }

    /// Takes a reply. `Some` is the answer to all of it; the error says what the reply should have been.
    pub fn take(&mut self, reply: &Reply) -> Result<Option<InputAnswer>, Wanted> {
        let Some(asked) = self.asked() else {
            return Ok(Some(InputAnswer::Cancelled));
        };
        if *reply == Reply::Decline {
            return Ok(Some(InputAnswer::Declined));
        }
        let field = match asked {
            Asked::Field(field) => field,
            Asked::Login(_) => return returned(reply).map(Some),
            Asked::Consent | Asked::Page(_) => return agreed(reply).map(Some),
        };
        if let Some(value) = value_of(field, reply)? {
            self.values.insert(field.name.clone(), value);
        }
        self.at += 1;
        let is_over = self.asked().is_none();
        Ok(is_over.then(|| InputAnswer::Given(std::mem::take(&mut self.values))))
    }
}

fn returned(reply: &Reply) -> Result<InputAnswer, Wanted> {
    match reply {
        Reply::Text(text) if text.trim().starts_with("http") => {
            Ok(InputAnswer::Returned(text.trim().to_owned()))
        }
        _ => Err(Wanted::Address),
    }
}

fn agreed(reply: &Reply) -> Result<InputAnswer, Wanted> {
    match reply {
        Reply::Accept => Ok(InputAnswer::Given(Map::new())),
        Reply::Text(text) => match flag(text) {
            Some(true) => Ok(InputAnswer::Given(Map::new())),
            Some(false) => Ok(InputAnswer::Declined),
            None => Err(Wanted::Button),
        },
        _ => Err(Wanted::Button),
    }
}

/// The value that a reply gives a field; `None`: none, which is fine for it.
fn value_of(field: &Field, reply: &Reply) -> Result<Option<Value>, Wanted> {
    let value = match (reply, &field.kind) {
        (Reply::Skip, _) => {
            let is_fine = field.default.is_some() || !field.is_required;
            return is_fine
                .then(|| field.default.clone())
                .ok_or(Wanted::Something);
        }
        (Reply::Text(text), kind) => read(kind, text.trim()),
        (Reply::Pick(at), FieldKind::Choice(of)) => of.get(*at).map(|one| one.value.clone().into()),
        (Reply::Pick(at), FieldKind::Flag) => Some(Value::Bool(*at == 0)),
        _ => None,
    };
    let value = value.filter(|value| fits(&field.kind, value));
    value.map(Some).ok_or_else(|| wanted(&field.kind))
}

/// The edge of a range as people read it.
pub fn shown_edge(edge: Option<f64>) -> String {
    match edge {
        None => "…".to_owned(),
        Some(edge) if edge.abs() < 1e15 => edge.to_string(),
        Some(edge) => format!("{edge:e}"),
    }
}

/// The default of a field as people read it.
pub fn shown_default(field: &Field) -> Option<String> {
    let value = field.default.as_ref()?;
    let title = |value: &Value| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let (FieldKind::Choice(of) | FieldKind::Choices { of, .. }) = &field.kind else {
            return text;
        };
        let named = of.iter().find(|one| one.value == text);
        named.map_or(text, |one| one.title.clone())
    };
    Some(match value {
        Value::Array(values) => values.iter().map(title).collect::<Vec<_>>().join(", "),
        value => title(value),
    })
}

fn wanted(kind: &FieldKind) -> Wanted {
    match kind {
        FieldKind::Text { least, most, form } => Wanted::Text(*least, *most, *form),
        FieldKind::Number {
            is_whole,
            least,
            most,
        } => Wanted::Number(*is_whole, *least, *most),
        FieldKind::Flag => Wanted::Flag,
        FieldKind::Choice(_) => Wanted::Choice,
        FieldKind::Choices { of, least, most } => Wanted::Choices(*least, (*most).min(of.len())),
    }
}

fn read(kind: &FieldKind, text: &str) -> Option<Value> {
    match kind {
        FieldKind::Text { .. } => Some(text.into()),
        FieldKind::Number { is_whole, .. } => match text.parse::<i64>() {
            Ok(whole) => Some(whole.into()),
            Err(_) if *is_whole => None,
            Err(_) => text
                .replace(',', ".")
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
                .map(Value::from),
        },
        FieldKind::Flag => flag(text).map(Value::Bool),
        FieldKind::Choice(of) => choice(of, text).map(Value::from),
        FieldKind::Choices { of, .. } => {
            let words = text.split([',', ';', '\n', '，', '、']).map(str::trim);
            let mut chosen: Vec<Value> = Vec::new();
            for word in words.filter(|word| !word.is_empty()) {
                let value = Value::from(choice(of, word)?);
                if !chosen.contains(&value) {
                    chosen.push(value);
                }
            }
            Some(chosen.into())
        }
    }
}

/// What a word chooses: a value or a title as it is written, or else a place, counted from 1.
fn choice<'c>(of: &'c [Choice], word: &str) -> Option<&'c str> {
    let same = |one: &str| one.to_lowercase() == word.to_lowercase();
    let named = of.iter().find(|one| same(&one.value) || same(&one.title));
    let place = || of.get(word.parse::<usize>().ok()?.checked_sub(1)?);
    named.or_else(place).map(|one| one.value.as_str())
}

fn flag(text: &str) -> Option<bool> {
    let word = text.trim().to_lowercase();
    let is_in = |list: &[&str]| list.contains(&word.as_str());
    match (
        is_in(&YES) || is_in(&MORE_YES),
        is_in(&NO) || is_in(&MORE_NO),
    ) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn choices() -> Vec<Choice> {
        let one = |value: &str, title: &str| Choice {
            value: value.into(),
            title: title.into(),
        };
        vec![one("r", "Red"), one("g", "Green"), one("1", "One")]
    }

    fn field(name: &str, kind: FieldKind, is_required: bool, default: Option<Value>) -> Field {
        Field {
            name: name.into(),
            title: name.into(),
            description: String::new(),
            kind,
            is_required,
            default,
        }
    }

    fn request(kind: InputKind) -> InputRequest {
        InputRequest {
            server: "lamp".into(),
            message: String::new(),
            kind,
        }
    }

    fn text(text: &str) -> Reply {
        Reply::Text(text.to_owned())
    }

    #[test]
    fn a_form_is_asked_value_by_value_until_each_is_one_that_it_can_have() {
        let number = FieldKind::Number {
            is_whole: true,
            least: Some(1.0),
            most: Some(10.0),
        };
        let many = FieldKind::Choices {
            of: choices(),
            least: 1,
            most: 2,
        };
        let request = request(InputKind::Form(vec![
            field(
                "room",
                FieldKind::Text {
                    least: 2,
                    most: 5,
                    form: TextForm::Free,
                },
                true,
                None,
            ),
            field("level", number, true, Some(3.into())),
            field("color", FieldKind::Choice(choices()), true, None),
            field("many", many, true, None),
            field("now", FieldKind::Flag, false, None),
            field(
                "note",
                FieldKind::Text {
                    least: 0,
                    most: 9,
                    form: TextForm::Free,
                },
                false,
                None,
            ),
        ]));
        let mut interview = Interview::new(&request);
        assert_eq!(
            interview.take(&text("a")),
            Err(Wanted::Text(2, 5, TextForm::Free))
        );
        assert_eq!(
            interview.take(&Reply::Skip),
            Err(Wanted::Something),
            "it is required"
        );
        assert_eq!(interview.take(&text(" hall ")), Ok(None));
        for wrong in ["11", "2.5", "x"] {
            assert!(interview.take(&text(wrong)).is_err(), "{wrong}");
        }
        assert_eq!(interview.take(&Reply::Skip), Ok(None), "the default");
        assert_eq!(interview.take(&Reply::Pick(7)), Err(Wanted::Choice));
        assert_eq!(interview.take(&text("green")), Ok(None));
        assert_eq!(
            interview.take(&text("red, green, 3")),
            Err(Wanted::Choices(1, 2))
        );
        assert_eq!(interview.take(&text("2, RED")), Ok(None));
        assert_eq!(interview.take(&Reply::Pick(1)), Ok(None));
        let answer = interview.take(&Reply::Skip).unwrap();
        let expected =
            json!({"room": "hall", "level": 3, "color": "g", "many": ["g", "r"], "now": false});
        assert_eq!(
            answer,
            Some(InputAnswer::Given(expected.as_object().unwrap().clone()))
        );
    }

    #[test]
    fn a_value_counts_before_a_place() {
        assert_eq!(choice(&choices(), "1"), Some("1"));
        assert_eq!(choice(&choices(), "2"), Some("g"));
        assert_eq!(choice(&choices(), "9"), None);
    }

    #[test]
    fn pages_and_logins_end_as_the_person_says() {
        let page = request(InputKind::Link {
            url: "https://x".into(),
            returns: false,
        });
        assert_eq!(
            Interview::new(&page).take(&text("maybe")),
            Err(Wanted::Button)
        );
        assert_eq!(
            Interview::new(&page).take(&Reply::Accept),
            Ok(Some(InputAnswer::Given(Map::new())))
        );
        let login = request(InputKind::Link {
            url: "https://x".into(),
            returns: true,
        });
        assert_eq!(
            Interview::new(&login).take(&text("done")),
            Err(Wanted::Address)
        );
        let address = "http://127.0.0.1:1/callback?code=1";
        let answer = Interview::new(&login).take(&text(&format!(" {address}\n")));
        assert_eq!(answer, Ok(Some(InputAnswer::Returned(address.into()))));
        assert_eq!(
            Interview::new(&login).take(&Reply::Decline),
            Ok(Some(InputAnswer::Declined))
        );
        let empty = request(InputKind::Form(Vec::new()));
        assert_eq!(
            Interview::new(&empty).take(&text("no")),
            Ok(Some(InputAnswer::Declined))
        );
    }
}
