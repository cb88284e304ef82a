//! `/memory`: what is remembered, and the search in it.

use std::fmt::Write;

use crate::agent::{Agent, texts};
use crate::error::Result;
use crate::limits::memory::SHOWN_CHARS;
use crate::markup::plain;
use crate::memory::Memory;
use crate::memory::search::Query;
use crate::text::{ends_of, reveal};
use crate::tools::memory::{Past, Reach, describe_place};

use super::Invocation;

impl Agent {
    /// What MEMORY.md says, and where the rest is; with words, where they are in the memory and in the
    /// conversation.
    pub(super) fn answer_memory(&self, invocation: &Invocation<'_>) -> Result<String> {
        match invocation.command.argument {
            "" => self.show_memory(invocation),
            words => self.search_memory(words, invocation),
        }
    }

    fn show_memory(&self, invocation: &Invocation<'_>) -> Result<String> {
        let language = invocation.language;
        let memory = Memory::new(self.toolbox.workspace(), &self.clock);
        let mut text = match memory.all_facts()? {
            None => texts::memory_empty(language).to_owned(),
            Some(facts) => {
                let clean = self.toolbox.cleaned(&facts.text);
                let facts = reveal(clean.trim());
                match ends_of(&facts, SHOWN_CHARS, (usize::MAX / 2, 0)) {
                    None => facts.into_owned(),
                    Some((beginning, left, _)) => {
                        format!("{beginning}…\n\n{}", texts::memory_more(language, &left))
                    }
                }
            }
        };
        text.push('\n');
        if let Some(time) = memory.last_logged()? {
            let time = time.format("%Y-%m-%d %H:%M");
            let _ = write!(text, "\n- {}", texts::memory_logged(language, &time));
        }
        let versions = memory.versions()?.len();
        if versions > 0 {
            let _ = write!(text, "\n- {}", texts::memory_versions(language, &versions));
        }
        let _ = write!(text, "\n- {}", texts::memory_how(language));
        Ok(text)
    }

    fn search_memory(&self, words: &str, invocation: &Invocation<'_>) -> Result<String> {
        let query = Query::parse(words, None, self.clock.now().date_naive())?;
        let past = Past {
            workspace: self.toolbox.workspace(),
            sessions: invocation.folder,
            reach: Reach::of(invocation.key),
        };
        let hits = past.search(&query, invocation.cancel)?;
        if hits.is_empty() {
            return Ok(texts::memory_not_found(invocation.language).to_owned());
        }
        let lines = hits.iter().map(|hit| {
            let text = self.toolbox.cleaned(&hit.text);
            let place = describe_place(hit);
            format!(
                "- **{}**: {}",
                plain(&reveal(&place)),
                plain(&reveal(&text))
            )
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}
