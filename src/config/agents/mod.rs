//! Several agents: `agents.list`, `agents.bindings`, and which agent serves a message. Pure.
//!
//! `main` is always there, with the places of an installation without a list. The default agent serves
//! what no binding claims: it is `main`, unless another entry of the list says `"default": true`.

pub mod table;

use serde_json::Value;

pub use super::schema::MAIN;
use super::schema::{AgentDefaults, AgentEntry, Agents, Config};
use crate::base::message::{Address, Envelope};
use table::INHERITED;

/// An agent, with everything that the configuration says of it.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its id.
    pub id: String,
    /// Its name for people; empty: it has only the id.
    pub name: String,
    /// `agents.defaults` with what its entry says otherwise. The workspace is absolute, or relative to the
    /// home, and empty for the usual one of `main`.
    pub settings: AgentDefaults,
}

impl Profile {
    /// The id, and the name where there is one: `work (Office helper)`.
    pub fn label(&self) -> String {
        if self.name.is_empty() {
            self.id.clone()
        } else {
            format!("{} ({})", self.id, self.name)
        }
    }
}

impl Agents {
    /// All agents: `main` first, unless the list has it elsewhere.
    pub fn profiles(&self) -> Vec<Profile> {
        let is_listed = self.list.iter().any(|entry| entry.id() == MAIN);
        let main = (!is_listed).then(|| Profile {
            id: MAIN.to_owned(),
            name: String::new(),
            settings: self.defaults.clone(),
        });
        let listed = self.list.iter().map(|entry| self.profile_of(entry));
        main.into_iter().chain(listed).collect()
    }

    /// The agent with this id; the default one for `None`.
    pub fn profile(&self, id: Option<&str>) -> Option<Profile> {
        let id = id.unwrap_or_else(|| self.default_id());
        self.profiles().into_iter().find(|profile| profile.id == id)
    }

    /// The id of the agent that serves what no binding claims.
    pub fn default_id(&self) -> &str {
        let default = self.list.iter().find(|entry| entry.is_default());
        default.map_or(MAIN, AgentEntry::id)
    }

    /// The workspaces that the list names.
    pub fn workspaces(&self) -> Vec<String> {
        let named = self.list.iter().map(|entry| entry.text("workspace"));
        named
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Whether there is an agent besides `main`.
    pub fn are_several(&self) -> bool {
        self.list.iter().any(|entry| entry.id() != MAIN)
    }

    /// The id of the agent that serves a message: the first binding that fits decides.
    pub fn serving(&self, message: &Envelope) -> &str {
        let sender = message.sender().filter(|_| !message.is_group);
        self.serving_at(&message.address(), sender.map(|sender| sender.id.as_str()))
    }

    /// The same for a chat; `person` is the one in a private chat, where that is known.
    pub fn serving_at(&self, chat: &Address, person: Option<&str>) -> &str {
        let mut bindings = self.bindings.iter();
        let found = bindings.find(|binding| binding.fits(chat, person));
        found.map_or_else(|| self.default_id(), |binding| &binding.agent)
    }

    fn profile_of(&self, entry: &AgentEntry) -> Profile {
        let id = entry.id();
        let mut settings = self.defaults.clone();
        if let Ok(Value::Object(mut values)) = serde_json::to_value(&self.defaults) {
            let own = entry.members().iter();
            let own = own.filter(|(name, _)| INHERITED.contains(&name.as_str()));
            values.extend(own.map(|(name, value)| (name.clone(), value.clone())));
            if let Ok(changed) = serde_json::from_value(Value::Object(values)) {
                settings = changed;
            }
        }
        match entry.text("workspace") {
            "" if id == MAIN => {}
            "" => settings.workspace = format!("agents/{id}/workspace"),
            own => own.clone_into(&mut settings.workspace),
        }
        Profile {
            id: id.to_owned(),
            name: entry.text("name").to_owned(),
            settings,
        }
    }
}

impl Config {
    /// The configuration as an agent sees it: its settings are in `agents.defaults`.
    #[must_use]
    pub fn of_agent(&self, profile: &Profile) -> Self {
        let mut config = self.clone();
        config.agents.defaults = profile.settings.clone();
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::Sender;
    use proptest::prelude::*;
    use serde_json::json;

    fn agents(value: Value) -> Agents {
        serde_json::from_value(value).unwrap()
    }

    fn message(address: &str, sender: &str, is_group: bool) -> Envelope {
        let sender = Sender {
            id: sender.to_owned(),
            ..Sender::default()
        };
        Envelope {
            is_group,
            ..Envelope::written(&Address::parse(address), sender, "hi")
        }
    }

    #[test]
    fn without_a_list_there_is_main() {
        let agents = agents(json!({"defaults": {"model": "m", "workspace": "/w"}}));
        let profiles = agents.profiles();
        assert_eq!(profiles.len(), 1);
        assert_eq!(profiles[0].id, MAIN);
        assert_eq!(profiles[0].settings.workspace, "/w");
        assert!(!agents.are_several());
        assert_eq!(agents.serving(&message("telegram:1", "1", false)), MAIN);
    }

    #[test]
    fn an_agent_has_the_defaults_and_what_its_entry_says_otherwise() {
        let agents = agents(json!({
            "defaults": {"model": "m", "workspace": "/w", "maxTokens": 7, "temperature": 1.0},
            "list": [
                {"id": "work", "name": "Office", "model": "n", "temperature": null, "fallbackModels": ["o"]},
                {"id": "main", "maxTokens": 9},
                {"id": "elsewhere", "workspace": "/srv/e"},
            ],
        }));
        let profile = |id: &str| agents.profile(Some(id)).unwrap();
        let work = profile("work");
        assert_eq!(work.label(), "work (Office)");
        assert_eq!(work.settings.workspace, "agents/work/workspace");
        assert_eq!((&*work.settings.model, work.settings.max_tokens), ("n", 7));
        assert_eq!(work.settings.temperature, None);
        assert_eq!(work.settings.fallback_models, ["o"]);
        let main = profile("main");
        assert_eq!(
            (&*main.settings.workspace, main.settings.max_tokens),
            ("/w", 9)
        );
        assert_eq!(main.settings.temperature, Some(1.0));
        assert_eq!(profile("elsewhere").settings.workspace, "/srv/e");
        assert!(agents.profile(Some("nobody")).is_none());
        assert_eq!(agents.profile(None).unwrap().id, MAIN);
    }

    #[test]
    fn the_first_binding_that_fits_decides_and_the_default_serves_the_rest() {
        let agents = agents(json!({
            "list": [{"id": "a"}, {"id": "b"}, {"id": "c", "default": true}],
            "bindings": [
                {"agent": "a", "channel": "telegram", "chat": "-5:7"},
                {"agent": "b", "channel": "telegram", "chat": "-5"},
                {"agent": "a", "sender": "1001"},
                {"agent": "main", "channel": "discord"},
                {"agent": "a", "channel": "discord", "chat": "9"},
            ],
        }));
        let serving = |address, sender, is_group| {
            agents
                .serving(&message(address, sender, is_group))
                .to_owned()
        };
        assert_eq!(serving("telegram:-5:7", "1", true), "a");
        assert_eq!(serving("telegram:-5:8", "1", true), "b");
        assert_eq!(serving("telegram:-5", "1001", true), "b");
        assert_eq!(serving("telegram:1001", "1001", false), "a");
        assert_eq!(serving("discord:77", "1001", false), "a");
        assert_eq!(serving("discord:9", "1", false), "main");
        assert_eq!(serving("telegram:2", "2", false), "c");
    }

    proptest! {
        /// A conversation never has two agents: nothing but the chat decides in a group.
        #[test]
        fn a_group_has_one_agent_for_everyone(
            bindings in proptest::collection::vec(("[abc]", "[12]?", "[12]?"), 0..6),
            one in "[12]", other in "[12]", chat in "[12]",
        ) {
            let bindings: Vec<Value> = bindings.into_iter().map(|(agent, chat, sender)| {
                json!({"agent": agent, "chat": chat, "sender": sender})
            }).collect();
            let agents = agents(json!({
                "list": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "bindings": bindings,
            }));
            let address = format!("telegram:{chat}");
            prop_assert_eq!(
                agents.serving(&message(&address, &one, true)),
                agents.serving(&message(&address, &other, true))
            );
        }
    }
}
