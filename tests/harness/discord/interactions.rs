//! Buttons and slash commands, and how a bot answers them.
//! <https://discord.com/developers/docs/interactions/receiving-and-responding>

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fault::Refusal;
use super::request::Call;
use super::rest::Outcome;
use super::server::State;
use super::store::{APPLICATION_ID, Message, Place};

/// The time limit for a bot's first answer.
const FIRST: Duration = Duration::from_secs(3);
/// How long an interaction's token is valid.
const VALID: Duration = Duration::from_secs(15 * 60);
/// Maximum number of slash commands.
const COMMANDS: usize = 100;

const NOTHING: (u16, Value) = (204, Value::Null);

/// The interactions, and the commands that people can choose.
#[derive(Default)]
pub(super) struct Interactions {
    /// By their tokens.
    pub open: BTreeMap<String, Interaction>,
    pub commands: Vec<Value>,
}

/// A press of a button or a use of a command.
pub(super) struct Interaction {
    pub id: u64,
    pub at: Instant,
    pub place: Place,
    /// The message whose button was pressed; `None` for a command.
    pub message: Option<u64>,
    /// The type of the bot's first answer.
    pub answer: Option<u64>,
    /// The message that is the answer.
    pub original: Option<u64>,
}

impl State {
    /// Carries out a call about interactions or commands.
    pub(super) fn act_on_interaction(&mut self, call: &Call) -> Outcome {
        match call.route {
            "callback" => self.callback(call),
            "followUp" => self.follow_up(call),
            "getOriginal" => {
                let message = self.original(call)?;
                Ok((200, self.store.json(&message)))
            }
            "editOriginal" => {
                let message = self.original(call)?;
                self.change_message(call, message)
            }
            "editFollowUp" => {
                let message = self.follow_up_message(call)?;
                self.change_message(call, message)
            }
            "deleteOriginal" => {
                let message = self.original(call)?;
                self.take_away(&message)
            }
            "deleteFollowUp" => {
                let message = self.follow_up_message(call)?;
                self.take_away(&message)
            }
            "getCommands" | "getGuildCommands" => {
                check_application(call)?;
                Ok((200, json!(self.interactions.commands)))
            }
            "putCommands" | "putGuildCommands" => self.put_commands(call),
            other => unreachable!("{other} is done elsewhere"),
        }
    }

    fn callback(&mut self, call: &Call) -> Outcome {
        let unknown = || Refusal::new(404, 10062, "Unknown interaction");
        let token = &call.arguments[1];
        let open = self
            .interactions
            .open
            .get(token)
            .filter(|open| open.id == call.id(0));
        let open = open.ok_or_else(unknown)?;
        if open.answer.is_some() {
            // The answer to the first one may be lost.
            let words = "Interaction has already been acknowledged.";
            return Err(Refusal::new(400, 40060, words).innocent());
        }
        if call.at - open.at > FIRST {
            return Err(unknown());
        }
        let (id, place, pressed) = (open.id, open.place, open.message);
        let kind = call.parameters["type"].as_u64().unwrap_or(0);
        let mut inner = call.clone();
        inner.parameters = call.parameters["data"].clone();
        let original = match (kind, pressed) {
            (4, _) => {
                let message = self.draft(&inner, place)?;
                let id = message.id;
                self.post(message);
                Some(id)
            }
            (5, _) => {
                let mut message = self.store.new_message(place, None);
                message.is_thinking = true;
                message.is_ephemeral = inner.parameters["flags"].as_u64().unwrap_or(0) & 64 != 0;
                let id = message.id;
                self.post(message);
                Some(id)
            }
            (6, Some(pressed)) => Some(pressed),
            (7, Some(pressed)) => {
                let message = self.store.message(place, pressed).clone();
                self.change_message(&inner, message)?;
                Some(pressed)
            }
            _ => {
                let words = format!("{kind} is no answer to this interaction");
                return Err(Refusal::form("type", "BASE_TYPE_CHOICES", words));
            }
        };
        if let Some(open) = self.interactions.open.get_mut(token) {
            open.answer = Some(kind);
            open.original = original;
        }
        if !matches!(call.asked("with_response"), Some("true" | "1")) {
            return Ok(NOTHING);
        }
        let message = original.map(|id| self.store.message(place, id).clone());
        let message = message.map(|message| self.store.json(&message));
        Ok((
            200,
            json!({
                "interaction": {
                    "id": id.to_string(), "type": if pressed.is_some() { 3 } else { 2 },
                    "response_message_id": original.map(|id| id.to_string()),
                    "response_message_loading": kind == 5,
                    "response_message_ephemeral": message.as_ref().is_some_and(|message| message["flags"].as_u64().unwrap_or(0) & 64 != 0),
                },
                "resource": {"type": kind, "message": message},
            }),
        ))
    }

    fn follow_up(&mut self, call: &Call) -> Outcome {
        let open = self.valid(call)?;
        let (place, original) = (open.place, open.original);
        let thinking = original.map(|id| self.store.message(place, id).clone());
        // The first one after a deferred answer replaces it.
        if let Some(message) = thinking.filter(|message| message.is_thinking) {
            self.draft(call, place)?;
            return self.change_message(call, message);
        }
        let message = self.draft(call, place)?;
        Ok((200, self.post(message)))
    }

    /// The interaction of a call by its token, if it was answered and is not too old.
    fn valid(&self, call: &Call) -> Result<&Interaction, Refusal> {
        if call.id(0) != APPLICATION_ID {
            return Err(Refusal::new(404, 10015, "Unknown Webhook"));
        }
        let open = self.interactions.open.get(&call.arguments[1]);
        let open = open.filter(|open| open.answer.is_some());
        let open = open.ok_or_else(|| Refusal::new(404, 10015, "Unknown Webhook"))?;
        match call.at - open.at > VALID {
            true => Err(Refusal::new(401, 50027, "Invalid Webhook Token")),
            false => Ok(open),
        }
    }

    fn original(&mut self, call: &Call) -> Result<Message, Refusal> {
        let open = self.valid(call)?;
        let unknown = Refusal::new(404, 10008, "Unknown Message");
        let (place, original) = (open.place, open.original.ok_or(unknown.clone())?);
        let message = self.store.message(place, original).clone();
        if message.is_gone {
            Err(unknown.innocent())
        } else {
            Ok(message)
        }
    }

    fn follow_up_message(&mut self, call: &Call) -> Result<Message, Refusal> {
        let place = self.valid(call)?.place;
        let message = self.store.channel(place).messages.get(&call.id(2));
        let ours = message.filter(|message| message.from.is_none() && !message.is_gone);
        ours.cloned()
            .ok_or_else(|| Refusal::new(404, 10008, "Unknown Message"))
    }

    fn take_away(&mut self, message: &Message) -> Outcome {
        self.store.message(message.place, message.id).is_gone = true;
        let event =
            json!({"id": message.id.to_string(), "channel_id": message.place.0.to_string()});
        self.dispatch("MESSAGE_DELETE", message.place.0, &event);
        Ok(NOTHING)
    }

    fn put_commands(&mut self, call: &Call) -> Outcome {
        check_application(call)?;
        let commands = call.parameters.as_array();
        let wrong = |words: &str| Refusal::form("name", "APPLICATION_COMMAND_INVALID_NAME", words);
        let commands = commands.ok_or_else(|| wrong("a list of commands"))?;
        if commands.len() > COMMANDS {
            return Err(Refusal::new(
                400,
                30032,
                "Maximum number of application commands reached",
            ));
        }
        let mut kept: Vec<Value> = Vec::new();
        for command in commands {
            check_command(command, true)?;
            if kept.iter().any(|other| other["name"] == command["name"]) {
                return Err(wrong("Application command names must be unique"));
            }
            let mut command = command.clone();
            let id = self.store.next_id().to_string();
            command["id"] = json!(id);
            command["version"] = json!(id);
            command["application_id"] = json!(APPLICATION_ID.to_string());
            for (name, usual) in [
                ("type", json!(1)),
                ("default_member_permissions", Value::Null),
                ("options", json!([])),
                ("nsfw", json!(false)),
                ("dm_permission", json!(true)),
            ] {
                if command[name].is_null() {
                    command[name] = usual;
                }
            }
            kept.push(command);
        }
        self.interactions.commands = kept;
        Ok((200, json!(self.interactions.commands)))
    }
}

fn check_application(call: &Call) -> Result<(), Refusal> {
    match call.id(0) == APPLICATION_ID {
        true => Ok(()),
        false => Err(Refusal::new(
            403,
            20012,
            "You are not authorized to perform this action on this application",
        )),
    }
}

/// A command or one of its options.
fn check_command(command: &Value, is_command: bool) -> Result<(), Refusal> {
    let name = command["name"].as_str().unwrap_or_default();
    let fits = |letter: char| {
        letter == '-'
            || letter == '_'
            || letter == '\''
            || (letter.is_alphanumeric() && !letter.is_uppercase())
    };
    if !(1..=32).contains(&name.chars().count()) || !name.chars().all(fits) {
        let words = format!("{name:?} is no name of a command");
        return Err(Refusal::form(
            "name",
            "APPLICATION_COMMAND_INVALID_NAME",
            words,
        ));
    }
    let described = command["description"]
        .as_str()
        .map_or(0, |text| text.chars().count());
    if !(1..=100).contains(&described) {
        let words = "Must be between 1 and 100 in length.";
        return Err(Refusal::form("description", "BASE_TYPE_BAD_LENGTH", words));
    }
    if !is_command
        && !command["type"]
            .as_u64()
            .is_some_and(|kind| (1..=11).contains(&kind))
    {
        return Err(Refusal::form(
            "type",
            "BASE_TYPE_REQUIRED",
            "This field is required",
        ));
    }
    let options = command["options"].as_array().map_or(&[][..], Vec::as_slice);
    if options.len() > 25 {
        return Err(Refusal::form(
            "options",
            "BASE_TYPE_MAX_LENGTH",
            "Must be 25 or fewer in length.",
        ));
    }
    options
        .iter()
        .try_for_each(|option| check_command(option, false))
}
