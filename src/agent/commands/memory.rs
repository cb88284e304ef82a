//! `/memory`: what is remembered, and the search in it; `/lessons`: what failed calls have taught; `/diff` and `/undo`: the last change of a file of the prompt.

use std::fmt::Write;

use crate::agent::{Agent, texts};
use crate::base::error::{Error, Result};
use crate::store::memory::search::Query;
use crate::store::memory::{LESSONS, Lesson, Memory};
use crate::text::markup::{code_block, inline_code, plain};
use crate::text::{ends_of, reveal};
use crate::tools::memory::{Past, Reach, describe_place};

use super::{CommandAnswer, Invocation};

/// Characters of MEMORY.md that `/memory` shows: about a message of Telegram's.
const SHOWN_CHARS: usize = 3000;

impl Agent {
    /// Answers `/memory`: what MEMORY.md says, and where the rest is; with words, where they are in the memory and in the
    /// conversation.
    pub fn answer_memory(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        match invocation.argument {
            "" => self.show_memory(invocation),
            words => self.search_memory(words, invocation),
        }
    }

    fn show_memory(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let language = invocation.language;
        let memory = Memory::new(self.toolbox.workspace(), &self.clock);
        let (facts, logged) = (memory.all_facts()?, memory.last_logged()?);
        if facts.is_none() && logged.is_none() {
            return Ok(texts::memory_empty(language).to_owned().into());
        }
        let mut text = match facts {
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
        if let Some(time) = logged {
            let time = time.format("%Y-%m-%d %H:%M");
            let _ = write!(text, "\n- {}", texts::memory_logged(language, &time));
        }
        let versions = memory.versions()?.len();
        if versions > 0 {
            let _ = write!(text, "\n- {}", texts::memory_versions(language, &versions));
        }
        let _ = write!(text, "\n- {}", texts::memory_how(language));
        Ok(text.into())
    }

    fn search_memory(&self, words: &str, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let query = Query::parse(words, None, self.clock.now().date_naive())?;
        let past = Past {
            workspace: self.toolbox.workspace(),
            sessions: invocation.folder,
            reach: Reach::of(invocation.key, invocation.role),
        };
        let hits = past.search(&query, invocation.cancel)?;
        if hits.is_empty() {
            return Ok(texts::memory_not_found(invocation.language)
                .to_owned()
                .into());
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
        Ok(lines.collect::<Vec<_>>().join("\n").into())
    }
}

impl Agent {
    /// Answers `/lessons`: what was learned from calls that failed; `remove NUMBER` takes one away.
    pub fn answer_lessons(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let language = invocation.language;
        let memory = Memory::new(self.toolbox.workspace(), &self.clock);
        let lessons = memory.lessons()?;
        let shown = |lesson: &Lesson| {
            let text = self.toolbox.cleaned(&lesson.text);
            format!("{} {}", inline_code(&lesson.about), plain(&reveal(&text)))
        };
        let usage = || Error::Usage(texts::lessons_how(language).to_owned());
        let number = match invocation.argument.split_once(' ') {
            None if invocation.argument.is_empty() => {
                if lessons.is_empty() {
                    return Ok(texts::no_lessons(language).to_owned().into());
                }
                let lines = lessons.iter().enumerate();
                let lines =
                    lines.map(|(index, lesson)| format!("{}. {}", index + 1, shown(lesson)));
                let lines: Vec<String> = lines.collect();
                let how = texts::lessons_how(language);
                return Ok(format!("{}\n\n{how}", lines.join("\n")).into());
            }
            Some(("remove", number)) => number.trim().parse::<usize>().map_err(|_| usage())?,
            _ => return Err(usage()),
        };
        let lesson = number.checked_sub(1).and_then(|index| lessons.get(index));
        let lesson = lesson.ok_or_else(|| Error::Usage(texts::no_lesson(language, &number)))?;
        let forget = || memory.forget_lesson(lesson);
        match &self.changes {
            Some(changes) => changes.change(self.toolbox.workspace(), forget)?,
            None => forget()?,
        }
        let undo = inline_code(&format!("/undo {LESSONS}"));
        Ok(texts::lesson_removed(language, &shown(lesson), &undo).into())
    }

    /// Answers `/diff`: what the last change was, of the named file or of any.
    pub fn show_change(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let (file, language) = (invocation.argument, invocation.language);
        let workspace = self.toolbox.workspace();
        let changes = self.changes.as_ref();
        let found = changes.map(|changes| changes.diff(workspace, file));
        let text = match found.transpose()?.flatten() {
            Some((path, diff)) => {
                let diff = self.toolbox.cleaned(&diff);
                let shown = code_block(&reveal(&diff), "diff");
                format!("{}\n\n{shown}", inline_code(&path))
            }
            None => texts::no_change(language).to_owned(),
        };
        Ok(text.into())
    }

    /// Answers `/undo`: takes the last change back, of the named file or of any.
    pub fn undo_change(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let (file, language) = (invocation.argument, invocation.language);
        let workspace = self.toolbox.workspace();
        let changes = self.changes.as_ref();
        let undone = changes.map(|changes| changes.undo(workspace, file));
        let text = match undone.transpose()?.flatten() {
            Some(path) => {
                self.toolbox.prompt_changed(std::slice::from_ref(&path));
                texts::undone(language, &inline_code(&path))
            }
            None => texts::no_change(language).to_owned(),
        };
        Ok(text.into())
    }
}
