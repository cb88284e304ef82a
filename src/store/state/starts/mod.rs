//! What is known about starts of the machine: whether the program had ended in order before, and who asked for
//! the restart.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::file::{Damaged, Policy, StateFile};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::Address;

/// Bytes of the file about starts of the machine.
const STARTS_BYTES: usize = 4 * 1024;

/// `state/starts.json`.
#[derive(Clone, Debug)]
pub struct Starts(StateFile<Known>);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Known {
    /// The id that the kernel gave to the start of the machine that the program has seen last.
    boot: String,
    /// Whether the program has ended in order.
    is_ended: bool,
    /// Who asked for a restart of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
    /// What is still to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    back: Option<Back>,
}

/// A restart of the machine that a person asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The chat.
    pub chat: Address,
    /// The person's language.
    pub language: Language,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// What the machine is back from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Back {
    /// A restart that was asked for.
    Asked(Asked),
    /// The program did not end before the machine did: a power cut, or a crash.
    Unexpected {
        /// The last time at which it is known to have run, in seconds since 1970.
        last: Option<i64>,
    },
}

impl Starts {
    /// The file below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: STARTS_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        Self(StateFile::new(state.join("starts.json"), policy))
    }

    /// Notes that the program has started, and says what the machine is back from, until [`Starts::told`].
    /// `boot` identifies this start of the machine; `last` is when the program is known to have run.
    pub fn begin(&self, boot: &str, last: Option<i64>) -> Result<Option<Back>> {
        self.0.update(|known| {
            let is_new = !known.boot.is_empty() && known.boot != boot;
            let asked = known.asked.take();
            if is_new {
                let unexpected = (!known.is_ended).then_some(Back::Unexpected { last });
                known.back = asked.map(Back::Asked).or(unexpected).or(known.back.take());
            }
            boot.clone_into(&mut known.boot);
            known.is_ended = false;
            Ok(known.back.clone())
        })
    }

    /// Forgets what the machine is back from: people have been told.
    pub fn told(&self) -> Result<()> {
        self.0.update(|known| {
            known.back = None;
            Ok(())
        })
    }

    /// Notes who asks for a restart of the machine; `None` when it did not come to that.
    pub fn ask(&self, asked: Option<Asked>) -> Result<()> {
        self.0.update(|known| {
            known.asked = asked;
            Ok(())
        })
    }

    /// Notes that the program ends in order.
    pub fn end(&self) -> Result<()> {
        self.0.update(|known| {
            known.is_ended = true;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked {
            chat: Address::new("telegram", "5"),
            language: Language::Chinese,
            at_ms: 7000,
        }
    }

    #[test]
    fn a_power_cut_is_told_once_and_a_restart_of_the_program_never() {
        let folder = tempfile::tempdir().unwrap();
        let starts = || Starts::new(folder.path());
        assert_eq!(
            starts().begin("a", Some(1)).unwrap(),
            None,
            "the first start of all"
        );
        assert_eq!(
            starts().begin("a", Some(2)).unwrap(),
            None,
            "the program crashed"
        );
        let cut = Some(Back::Unexpected { last: Some(3) });
        assert_eq!(starts().begin("b", Some(3)).unwrap(), cut);
        assert_eq!(
            starts().begin("b", Some(4)).unwrap(),
            cut,
            "it could not be told yet"
        );
        starts().told().unwrap();
        assert_eq!(starts().begin("b", Some(5)).unwrap(), None);
        starts().end().unwrap();
        assert_eq!(
            starts().begin("c", Some(6)).unwrap(),
            None,
            "it was shut down in order"
        );
    }

    #[test]
    fn a_restart_is_reported_to_the_chat_that_asked_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let starts = Starts::new(folder.path());
        starts.begin("a", None).unwrap();
        starts.ask(Some(asked())).unwrap();
        assert_eq!(
            starts.begin("b", Some(9)).unwrap(),
            Some(Back::Asked(asked()))
        );
        starts.told().unwrap();
        starts.ask(Some(asked())).unwrap();
        assert_eq!(
            starts.begin("b", None).unwrap(),
            None,
            "only the program was restarted"
        );
        starts.end().unwrap();
        assert_eq!(
            starts.begin("c", None).unwrap(),
            None,
            "that was another restart"
        );
        starts.ask(Some(asked())).unwrap();
        starts.ask(None).unwrap();
        assert_eq!(
            starts.begin("d", None).unwrap(),
            Some(Back::Unexpected { last: None })
        );
    }
}
