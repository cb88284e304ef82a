//! Who may use the bot, and what each of them may do. Pure.
//!
//! A role is decided here and nowhere else. What a role may do is decided where it is done: slash commands
//! in `agent::commands`, tools in `tools`, answers to questions in `channels::intake`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a person may do. A greater one may do all that a lesser one may.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Talk with the agent, which has neither commands nor files then.
    Guest,
    /// Also have the agent use its tools, within the sandbox.
    User,
    /// Everything: the remote terminal, approvals, files, the gateway itself.
    #[default]
    Owner,
}

impl Role {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::User => "user",
            Self::Owner => "owner",
        }
    }

    /// The role of this name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Guest, Self::User, Self::Owner];
        let is_meant = |role: &Self| role.name().eq_ignore_ascii_case(name);
        all.into_iter().find(is_meant)
    }

    /// How many of the places that all people share it may fill: a quarter, at least one, is left to owners.
    pub const fn places(self, all: usize) -> usize {
        let kept = if all < 8 { 1 } else { all / 4 };
        match self {
            Self::Owner => all,
            Self::Guest | Self::User => all.saturating_sub(kept),
        }
    }

    /// Whether someone with it may change, start and end what was made by someone with this one.
    pub fn may_change(self, maker: Self) -> bool {
        self >= maker
    }

    /// Whether it may do everything: then it is left out in files.
    pub fn is_owner(&self) -> bool {
        *self == Self::Owner
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Someone who writes, as a channel knows them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Person<'a> {
    /// The id that never changes.
    pub id: &'a str,
    /// The name by which others write to them, without its `@`; may be empty.
    pub username: &'a str,
    /// The chat's id where others read too; `None` in private.
    pub group: Option<&'a str>,
    /// Of a group that is a thread: the id of the group around it, empty when that is unknown.
    pub thread_of: Option<&'a str>,
    /// The role that they were paired with; `None`: they are not paired.
    pub paired: Option<Role>,
}

/// Who has access to a channel by its configuration, and the roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// `allowFrom`: ids, names with an `@`, or `*` for everyone.
    pub allow_from: Vec<String>,
    /// `roles`: by id, by name with an `@`, and by a group's id.
    pub roles: BTreeMap<String, Role>,
    /// `defaultRole`: of a person whom only `*` lets in.
    pub default_role: Role,
}

impl Rules {
    /// The role of a person; `None` when they have no access.
    ///
    /// An entry of their own counts first. Then come `allowFrom` and pairing, which make an owner unless the
    /// pairing says otherwise, and last `*`, which never makes one. The entry of a group bounds the role of
    /// everyone there but of those who are owners by an entry of their own.
    pub fn role(&self, person: &Person<'_>) -> Option<Role> {
        let own = self.own_role(person);
        let role = match own {
            Some(role) => role,
            None if self.names(person) => Role::Owner,
            None => match person.paired {
                Some(role) => role,
                None if self.is_open() => self.default_role.min(Role::User),
                None => return None,
            },
        };
        Some(match self.bound(person) {
            Some(bound) if own != Some(Role::Owner) => role.min(bound),
            _ => role,
        })
    }

    /// The role of a person at this moment. How they are paired is looked up only where the configuration does not decide.
    pub fn role_now(
        &self,
        person: &Person<'_>,
        paired: impl FnOnce() -> Option<Role>,
    ) -> Option<Role> {
        self.role(person).or_else(|| {
            self.role(&Person {
                paired: Some(paired()?),
                ..*person
            })
        })
    }

    /// The most that a group lets people do. A thread without an entry has that of the group around it; while that
    /// is unknown it may be any, so that the least entry counts.
    fn bound(&self, person: &Person<'_>) -> Option<Role> {
        let group = person.group?;
        let around = || match person.thread_of? {
            "" => self.roles.values().min(),
            around => self.roles.get(around),
        };
        self.roles.get(group).or_else(around).copied()
    }

    /// Whether everyone has access.
    pub fn is_open(&self) -> bool {
        self.allow_from.iter().any(|entry| entry.trim() == "*")
    }

    /// The ids of the people who are named, in any order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let allowed = self.allow_from.iter().map(|entry| entry.trim());
        let with_role = self.roles.keys().map(|entry| entry.trim());
        let is_id = |entry: &&str| *entry != "*" && !entry.starts_with(['@', '-']);
        allowed.chain(with_role).filter(is_id)
    }

    /// The people who are named, as they are named.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let allowed = self.allow_from.iter().map(String::as_str);
        let is_new = |entry: &&str| {
            !entry.starts_with('-') && !self.allow_from.iter().any(|other| other == entry)
        };
        allowed.chain(self.roles.keys().map(String::as_str).filter(is_new))
    }

    /// Whether the role of the person with this id may depend on their name: a name in the list gives nothing to someone
    /// whose id is there too, but the role of a name may be a smaller one.
    pub fn needs_name(&self, id: &str) -> bool {
        let is_name = |entry: &String| entry.trim().starts_with('@');
        let is_listed = self.allow_from.iter().any(|entry| entry.trim() == id);
        let by_list = !is_listed && self.allow_from.iter().any(is_name);
        !self.roles.contains_key(id) && (by_list || self.roles.keys().any(is_name))
    }

    fn own_role(&self, person: &Person<'_>) -> Option<Role> {
        // No person has the id of a group.
        let by_id = self.roles.get(person.id).filter(|_| !person.id.is_empty());
        let by_name = || {
            let mut entries = self.roles.iter();
            entries.find_map(|(entry, role)| is_name(entry, person.username).then_some(role))
        };
        by_id.or_else(by_name).copied()
    }

    fn names(&self, person: &Person<'_>) -> bool {
        self.allow_from.iter().any(|entry| {
            let entry = entry.trim();
            // The entry for everyone makes no owner of someone whose id is written like it.
            let is_id = !person.id.is_empty() && entry != "*" && entry == person.id;
            is_name(entry, person.username) || is_id
        })
    }
}

/// Whether an entry is this name with its `@`.
fn is_name(entry: &str, username: &str) -> bool {
    let name = entry.trim().strip_prefix('@');
    name.is_some_and(|name| !name.is_empty() && name.eq_ignore_ascii_case(username))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(allow_from: &[&str], roles: &[(&str, Role)]) -> Rules {
        let named = roles.iter().map(|(who, role)| ((*who).to_owned(), *role));
        Rules {
            allow_from: allow_from.iter().map(|entry| (*entry).to_owned()).collect(),
            roles: named.collect(),
            default_role: Role::User,
        }
    }

    fn person<'a>(id: &'a str, username: &'a str) -> Person<'a> {
        Person {
            id,
            username,
            ..Person::default()
        }
    }

    #[test]
    fn an_id_or_a_name_or_everyone() {
        let role = |list: &[&str], id: &str, name: &str| rules(list, &[]).role(&person(id, name));
        assert_eq!(role(&[], "1", "ana"), None);
        assert_eq!(role(&["7", "1"], "1", ""), Some(Role::Owner));
        assert_eq!(role(&["@Ana"], "1", "ana"), Some(Role::Owner));
        assert_eq!(role(&["@ana"], "1", ""), None);
        assert_eq!(role(&["ana"], "1", "ana"), None, "a name needs its @");
        assert_eq!(role(&["1"], "11", "1"), None);
        assert_eq!(role(&["@"], "1", ""), None, "an empty name is of no one");
        assert_eq!(role(&["*"], "1", ""), Some(Role::User), "let in by * alone");
        assert_eq!(role(&["*", "1"], "1", ""), Some(Role::Owner));
        assert_eq!(role(&["*"], "*", "*"), Some(Role::User), "an id like *");
    }

    #[test]
    fn an_entry_of_their_own_counts_first_and_lets_in() {
        let entries = [("7", Role::User), ("@bob", Role::Guest), ("9", Role::Owner)];
        let rules = rules(&["7", "8"], &entries);
        assert_eq!(rules.role(&person("7", "")), Some(Role::User));
        assert_eq!(rules.role(&person("8", "BOB")), Some(Role::Guest));
        assert_eq!(rules.role(&person("8", "")), Some(Role::Owner));
        assert_eq!(rules.role(&person("9", "")), Some(Role::Owner));
        assert_eq!(rules.role(&person("", "")), None);
    }

    #[test]
    fn a_name_is_needed_where_one_is_named_and_the_id_does_not_decide() {
        assert!(!rules(&["*", "7"], &[("9", Role::User)]).needs_name("8"));
        assert!(rules(&["*", "@ana"], &[]).needs_name("8"));
        assert!(!rules(&["8", "@ana"], &[]).needs_name("8"));
        let named = rules(&["7"], &[("@bob", Role::Guest), ("9", Role::Owner)]);
        assert!(named.needs_name("7") && !named.needs_name("9"));
    }

    #[test]
    fn who_is_paired_has_the_role_of_the_pairing() {
        let paired = |rules: &Rules, role| {
            let person = Person {
                paired: Some(role),
                ..person("5", "")
            };
            rules.role(&person)
        };
        for role in [Role::Guest, Role::User, Role::Owner] {
            assert_eq!(paired(&rules(&[], &[]), role), Some(role));
            assert_eq!(paired(&rules(&["*"], &[]), role), Some(role));
        }
        let named = rules(&["5"], &[]);
        assert_eq!(paired(&named, Role::Guest), Some(Role::Owner));
        let bound = rules(&[], &[("5", Role::Guest)]);
        assert_eq!(paired(&bound, Role::Owner), Some(Role::Guest));
    }

    #[test]
    fn a_thread_has_the_role_of_its_channel() {
        let rules = rules(
            &["8"],
            &[
                ("100", Role::Guest),
                ("9", Role::Owner),
                ("101", Role::User),
            ],
        );
        let role = |id, group, thread_of| {
            rules.role(&Person {
                group: Some(group),
                thread_of,
                ..person(id, "")
            })
        };
        assert_eq!(role("8", "200", Some("100")), Some(Role::Guest));
        assert_eq!(role("8", "200", Some("101")), Some(Role::User));
        assert_eq!(role("8", "200", Some("102")), Some(Role::Owner));
        assert_eq!(role("8", "200", Some("")), Some(Role::Guest), "unknown");
        assert_eq!(
            role("8", "101", Some("")),
            Some(Role::User),
            "its own entry"
        );
        assert_eq!(role("9", "200", Some("")), Some(Role::Owner));
        assert_eq!(role("8", "200", None), Some(Role::Owner), "no thread");
    }

    #[test]
    fn a_group_bounds_everyone_but_owners_by_an_entry() {
        let entries = [("-100", Role::Guest), ("9", Role::Owner), ("7", Role::User)];
        let rules = rules(&["8"], &entries);
        let role = |id, group| {
            rules.role(&Person {
                group: Some(group),
                ..person(id, "")
            })
        };
        assert_eq!(role("8", "-100"), Some(Role::Guest));
        assert_eq!(role("7", "-100"), Some(Role::Guest));
        assert_eq!(role("9", "-100"), Some(Role::Owner));
        assert_eq!(role("8", "-200"), Some(Role::Owner));
        assert_eq!(role("6", "-100"), None, "a group lets in no one");
    }

    #[test]
    fn the_people_are_those_who_are_named() {
        let entries = [
            ("-100", Role::Guest),
            ("@bob", Role::User),
            ("7", Role::User),
        ];
        let rules = rules(&["7", "*", "@ana"], &entries);
        let mut ids: Vec<&str> = rules.ids().collect();
        ids.dedup();
        assert_eq!(ids, ["7"]);
        let named: Vec<&str> = rules.named().collect();
        assert_eq!(named, ["7", "*", "@ana", "@bob"]);
    }

    proptest! {
        #[test]
        fn whatever_the_default_is_a_wildcard_makes_no_owner(
            id in "[0-9]{1,3}", name in "[a-z]{0,3}", role in 0..3usize, group: bool,
        ) {
            let default_role = [Role::Guest, Role::User, Role::Owner][role];
            let rules = Rules { default_role, ..rules(&["*"], &[("-1", Role::Owner)]) };
            let person = Person { group: group.then_some("-1"), ..person(&id, &name) };
            prop_assert_eq!(rules.role(&person), Some(default_role.min(Role::User)));
        }
    }
}
