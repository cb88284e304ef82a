//! What requests have taught about models: `state/learned.json`.
//!
//! The estimate of tokens is right on average; each vocabulary differs from it by a factor. And a server
//! may take less than the configuration says.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::sync::Mutex;

use super::file::{Damaged, Policy, StateFile};

/// Models of which is known how they count tokens and how much they take.
const LEARNED_MODELS: usize = 16;
/// Bytes of the file of them that are read; a model has about 100.
const LEARNED_FILE_BYTES: usize = 16 * 1024;
/// Estimated tokens of a request below which its report says little about the estimate.
const LEARNED_TOKENS_MIN: usize = 500;
/// Change of a factor, in hundredths, that is worth a write.
const LEARNED_CHANGE: f32 = 5.0;

/// A factor is within these bounds. A report that is beyond counts something else than we do, such as only
/// what was not cached, and is not used.
const FACTORS: (f32, f32) = (0.5, 2.0);

/// What is known of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    name: String,
    /// Reported tokens for each estimated one, in hundredths.
    #[serde(default = "one")]
    factor: f32,
    /// Tokens that it takes, prompt and reply together, when that is less than configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<u32>,
    /// Whether it makes calls as its API has them, so that what it writes is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    calls: bool,
}

fn one() -> f32 {
    100.0
}

/// The content of the file: the model that was asked last at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Models {
    models: Vec<Model>,
}

impl Models {
    fn find(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// The model's record, at the end of the list. The one that was asked least recently leaves.
    fn record(&mut self, name: &str) -> &mut Model {
        let known = self.models.iter().position(|model| model.name == name);
        let model = match known {
            Some(index) => self.models.remove(index),
            None => Model {
                name: name.to_owned(),
                factor: one(),
                window: None,
                calls: false,
            },
        };
        let over = (self.models.len() + 1).saturating_sub(LEARNED_MODELS);
        self.models.drain(..over);
        self.models.push_mut(model)
    }
}

/// A damaged file counts as empty: all of it is learned again.
const POLICY: Policy = Policy {
    bytes_max: LEARNED_FILE_BYTES,
    damaged: Damaged::StartFresh,
    synced: false,
};

/// What has been learned about models. It is read once, and written only when it has changed much.
#[derive(Debug)]
pub struct Learned {
    file: StateFile<Models>,
    models: Mutex<Models>,
    /// The content of the file, as this process knows it.
    saved: Mutex<Models>,
    /// Tokens that servers of one's own said that models have. They are asked again after a start.
    told: Mutex<BTreeMap<String, u32>>,
}

impl Learned {
    /// What was learned below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let file = StateFile::<Models>::new(state.join("learned.json"), POLICY);
        let mut models = file.read().unwrap_or_default();
        for model in &mut models.models {
            // A file that was edited by hand may have anything, or a number that is none.
            model.factor = clamp(model.factor);
        }
        Self {
            file,
            saved: Mutex::new(models.clone()),
            models: Mutex::new(models),
            told: Mutex::default(),
        }
    }

    /// Tokens that a model counts for each one that was estimated, from 0.5 to 2.
    pub fn factor(&self, model: &str) -> f32 {
        let models = self.models.lock();
        models.find(model).map_or(1.0, |known| known.factor / 100.0)
    }

    /// The tokens that a model takes, prompt and reply together, where an overflow has shown that they are
    /// fewer than configured.
    pub fn window(&self, model: &str) -> Option<u32> {
        self.models.lock().find(model)?.window
    }

    /// Takes the tokens that a model has on a server of one's own.
    pub fn note_told_window(&self, model: &str, tokens: u32) {
        self.told.lock().insert(model.to_owned(), tokens);
    }

    /// The tokens that a model has on a server of one's own, as the server told them.
    pub fn told_window(&self, model: &str) -> Option<u32> {
        self.told.lock().get(model).copied()
    }

    /// Whether a model has ever made a call as its API has it.
    pub fn makes_calls(&self, model: &str) -> bool {
        let models = self.models.lock();
        models.find(model).is_some_and(|known| known.calls)
    }

    /// A model has made such a call.
    pub fn note_calls(&self, model: &str) {
        let mut models = self.models.lock();
        models.record(model).calls = true;
        self.save(&models, model);
    }

    /// Takes the tokens that a model has reported for a request, beside the estimate.
    pub fn note(&self, model: &str, estimated: usize, reported: u64) {
        let ratio = reported as f32 / estimated.max(1) as f32;
        if estimated < LEARNED_TOKENS_MIN || !(FACTORS.0..=FACTORS.1).contains(&ratio) {
            return;
        }
        let mut models = self.models.lock();
        let known = models.record(model);
        let ratio = ratio * 100.0;
        // The first report replaces the assumption; later ones are averaged.
        let share = if known.factor == one() { 1.0 } else { 0.25 };
        known.factor = clamp(known.factor + (ratio - known.factor) * share);
        if known
            .window
            .is_some_and(|window| u64::from(window) < reported)
        {
            // It takes more than it once refused.
            known.window = u32::try_from(reported).ok();
        }
        self.save(&models, model);
    }

    /// Takes the tokens of a request, prompt and reply together, that was too long for a model.
    pub fn note_overflow(&self, model: &str, tokens: usize) {
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        let mut models = self.models.lock();
        let known = models.record(model);
        known.window = Some(known.window.map_or(tokens, |window| window.min(tokens)));
        self.save(&models, model);
    }

    /// Writes what has changed about a model, unless it is little. What cannot be written is still known
    /// until the process ends.
    fn save(&self, models: &Models, name: &str) {
        let Some(model) = models.find(name) else {
            return;
        };
        let mut saved = self.saved.lock();
        let is_close = |saved: &Model| {
            (saved.window, saved.calls) == (model.window, model.calls)
                && (saved.factor - model.factor).abs() < LEARNED_CHANGE
        };
        if saved.find(name).is_some_and(is_close) {
            return;
        }
        let written = self.file.update(|saved| {
            *saved.record(name) = model.clone();
            Ok(())
        });
        match written {
            Ok(()) => *saved.record(name) = model.clone(),
            Err(error) => tracing::debug!("failed to save what was learned about {name}: {error}"),
        }
    }
}

fn clamp(factor: f32) -> f32 {
    if factor.is_finite() {
        factor.clamp(FACTORS.0 * 100.0, FACTORS.1 * 100.0)
    } else {
        one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_learned_and_kept_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let learned = Learned::new(folder.path());
        assert_eq!(learned.factor("m"), 1.0);
        learned.note("m", 10, 1_000);
        assert_eq!(learned.factor("m"), 1.0, "too short to say anything");
        learned.note("m", 1_000, 1_200);
        assert_eq!(learned.factor("m"), 1.2);
        for _ in 0..30 {
            learned.note("m", 1_000, 900);
        }
        assert!((learned.factor("m") - 0.9).abs() < 0.01);
        learned.note("wild", 1_000, 900_000);
        assert_eq!(learned.factor("wild"), 1.0);
        let again = Learned::new(folder.path());
        assert!((again.factor("m") - 0.9).abs() < 0.06);
    }

    #[test]
    fn a_window_gets_smaller_by_overflows_and_larger_by_replies() {
        let folder = tempfile::tempdir().unwrap();
        let learned = Learned::new(folder.path());
        assert_eq!(learned.window("m"), None);
        learned.note_overflow("m", 8_000);
        learned.note_overflow("m", 9_000);
        assert_eq!(learned.window("m"), Some(8_000));
        assert_eq!(Learned::new(folder.path()).window("m"), Some(8_000));
        learned.note("m", 10_000, 10_000);
        assert_eq!(learned.window("m"), Some(10_000));
    }

    #[test]
    fn a_model_that_makes_calls_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let learned = Learned::new(folder.path());
        assert!(!learned.makes_calls("m"));
        learned.note_calls("m");
        learned.note("m", 1_000, 1_200);
        let again = Learned::new(folder.path());
        assert!(again.makes_calls("m") && !again.makes_calls("other"));
    }

    #[test]
    fn little_changes_are_not_written_and_the_models_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("learned.json");
        let learned = Learned::new(folder.path());
        learned.note("m", 1_000, 1_100);
        let written = std::fs::read(&path).unwrap();
        learned.note("m", 1_000, 1_110);
        assert_eq!(std::fs::read(&path).unwrap(), written);
        for number in 0..100 {
            learned.note_overflow(&format!("model {number}"), 8_000);
        }
        assert_eq!(learned.models.lock().models.len(), LEARNED_MODELS);
        assert!(path.metadata().unwrap().len() < LEARNED_FILE_BYTES as u64 / 4);
        assert_eq!((learned.window("m"), learned.factor("m")), (None, 1.0));

        for text in [
            "{\"models\":[{\"name\":\"m\",\"factor\":1e99}]}",
            "}{",
            "[]",
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(Learned::new(folder.path()).factor("m"), 1.0, "{text}");
        }
    }
}
