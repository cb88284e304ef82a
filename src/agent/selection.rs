//! Which models answer in which conversation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::limits::agent::MODELS_HELD;
use crate::provider::Models;
use crate::provider::table::OFFLINE;

/// Chooses the models for the name of one, or as the configuration says.
pub type ModelsFor = Box<dyn Fn(Option<&str>) -> Result<Models> + Send + Sync>;

/// The models of every conversation: those of the configuration, unless it chose another.
pub struct Selection {
    models_for: ModelsFor,
    /// Named on the command line: it holds for every conversation that has not chosen since.
    named: Option<String>,
    chosen: Mutex<BTreeMap<String, String>>,
    /// Those that were asked last, the newest at the end: what a model has taught about itself
    /// (that it fails, that it refuses a parameter) is worth keeping.
    held: Mutex<Vec<(Option<String>, Arc<Models>)>>,
}

impl Selection {
    /// Makes the choice of the configuration. Fails when its models do not exist.
    pub fn new(models_for: ModelsFor, named: Option<String>) -> Result<Self> {
        let selection = Self {
            models_for,
            named,
            chosen: Mutex::default(),
            held: Mutex::default(),
        };
        selection.models(selection.named.clone())?;
        Ok(selection)
    }

    /// The models that answer in a session.
    pub fn of(&self, session: &str) -> Result<Arc<Models>> {
        let chosen = lock(&self.chosen).get(session).cloned();
        self.models(chosen.or_else(|| self.named.clone()))
    }

    /// Takes another model for a session from the next turn on; none: as the configuration says.
    pub fn choose(&self, session: &str, name: Option<&str>) -> Result<()> {
        self.models(name.map(str::to_owned))?;
        let mut chosen = lock(&self.chosen);
        match name {
            Some(name) => drop(chosen.insert(session.to_owned(), name.to_owned())),
            None => drop(chosen.remove(session)),
        }
        Ok(())
    }

    fn models(&self, name: Option<String>) -> Result<Arc<Models>> {
        let mut held = lock(&self.held);
        let known = held.iter().position(|(held, _)| *held == name);
        let models = match known {
            Some(index) => held.remove(index).1,
            None => Arc::new((self.models_for)(name.as_deref())?),
        };
        // Without a model that is held, one may have been connected when it is looked for again.
        if models.names() != [OFFLINE] {
            held.push((name, Arc::clone(&models)));
        }
        let over = held.len().saturating_sub(MODELS_HELD);
        held.drain(..over);
        Ok(models)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
