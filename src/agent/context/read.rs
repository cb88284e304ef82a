//! Reads what the system prompt is made of: the workspace's files, the memory and the skills.

use std::path::Path;

use crate::agent::Agent;
use crate::base::access::Role;

use crate::base::limits::memory::{FACTS_BYTES, NOTE_BYTES};
use crate::sandbox::files::Workspace;
use crate::store::memory::{self, Memory};
use crate::sys::file::read_sized;
use crate::text::ellipsize_chars;
use crate::tools::skills::Skill;

use super::prompt::{Part, Prompt};
use super::{BOOTSTRAP_FILES, identity};

/// Bytes of the system prompt's first part: who the agent is, its rules, the machine and the folders.
const IDENTITY_BYTES: usize = 4 * 1024;
/// Bytes of one bootstrap file that go into the system prompt: 1,500 tokens, which each request costs.
const BOOTSTRAP_BYTES: usize = 6 * 1024;
/// Bytes of all bootstrap files together.
const BOOTSTRAP_TOTAL_BYTES: usize = 20 * 1024;
/// Bytes of all skills together that are always loaded.
const SKILLS_LOADED_BYTES: usize = 8 * 1024;
/// Bytes of the index of the other skills: about 15 of them.
const SKILL_INDEX_BYTES: usize = 3 * 1024;
/// Characters of the reasons why a skill is not available, in the index: two programs and a variable.
const SKILL_REASONS_CHARS: usize = 240;
/// Characters of a skill's description in the index. The format of Agent Skills allows 1,024.
const SKILL_DESCRIPTION_CHARS: usize = 240;
/// Bytes that are read beyond the budget of a file, so that a secret is recognised before it is cut.
const PROMPT_MARGIN_BYTES: usize = 1024;
/// Bytes of the workspace's files in the small prompt, all together.
const SMALL_BOOTSTRAP_BYTES: usize = 800;
/// Bytes of MEMORY.md in the small prompt.
const SMALL_FACTS_BYTES: usize = 600;

impl Agent {
    /// The system prompt of a turn for someone with a role.
    pub(in crate::agent) fn system_prompt(
        &self,
        model: &str,
        role: Role,
        is_subagent: bool,
    ) -> String {
        match (is_subagent, role) {
            (_, Role::Guest) => super::guest_prompt(),
            (true, _) => super::subagent_prompt(&self.host_info),
            (false, _) => self.prompt(model).text(),
        }
    }

    /// The system prompt for a model, from what is in the workspace now. For a small window it has the beginnings of
    /// the files only, and of the memory only the facts.
    pub fn prompt(&self, model: &str) -> Prompt {
        let is_small = self.is_small(model);
        let workspace = self.toolbox.workspace().at_once();
        let identity = Part::new(super::IDENTITY, &identity(&self.host_info), IDENTITY_BYTES);
        let mut parts = vec![identity];
        let mut left = match is_small {
            true => SMALL_BOOTSTRAP_BYTES,
            false => BOOTSTRAP_TOTAL_BYTES,
        };
        for name in BOOTSTRAP_FILES {
            if let Some(part) = self.file_part(&workspace, name, left.min(BOOTSTRAP_BYTES)) {
                left = left.saturating_sub(part.text.len());
                parts.push(part);
            }
        }
        if is_small {
            parts.extend(self.file_part(&workspace, memory::FACTS, SMALL_FACTS_BYTES));
            return Prompt { parts };
        }
        let introduction = self.introduction();
        parts.extend(
            introduction.map(|text| Part::new(super::INTRODUCTION, &text, BOOTSTRAP_BYTES)),
        );
        parts.extend(self.memory_parts(&workspace));
        parts.extend(self.skill_parts());
        Prompt { parts }
    }

    /// A file of the workspace, read as the tools read files; `None` if it is missing or blank.
    fn file_part(&self, workspace: &Workspace, name: &str, budget: usize) -> Option<Part> {
        let opened = workspace.open_read(Path::new(name));
        if let Some(error) = opened.as_ref().err().filter(|error| !error.is_not_found()) {
            tracing::warn!("the prompt lacks {name}: {error}");
        }
        let file = opened.ok()?;
        let bytes = file.metadata().ok()?.len();
        // More than the budget: where a secret is cut, its half is not recognised.
        let content = read_sized(&file, bytes, (budget + PROMPT_MARGIN_BYTES) as u64).ok()?;
        let unread = bytes.saturating_sub(content.len() as u64);
        let content = String::from_utf8_lossy(&content);
        let unread = usize::try_from(unread).unwrap_or(usize::MAX);
        Part::of_file(name, &self.toolbox.cleaned(&content), unread, budget)
    }

    /// MEMORY.md, and the notes of today and of the last two days, the newest first.
    fn memory_parts(&self, workspace: &Workspace) -> Vec<Part> {
        let notes = Memory::new(workspace, &self.clock).notes().into_iter();
        let notes = notes.map(|note| {
            let path = format!("{}/{}.md", memory::FOLDER, note.date);
            let opened = workspace.open_read(Path::new(&path)).ok();
            let bytes = opened.and_then(|file| Some(file.metadata().ok()?.len()));
            let bytes = bytes.unwrap_or(0) as usize;
            let left_out = match note.is_cut {
                true => bytes.saturating_sub(note.text.len()).max(1),
                false => 0,
            };
            Part::of_end(
                &path,
                &self.toolbox.cleaned(&note.text),
                left_out,
                NOTE_BYTES,
            )
        });
        let facts = self.file_part(workspace, memory::FACTS, FACTS_BYTES);
        facts.into_iter().chain(notes).collect()
    }

    /// The skills that are always loaded, and the index of the others.
    fn skill_parts(&self) -> Vec<Part> {
        let skills = self.toolbox.skills();
        let is_loaded = |skill: &Skill| skill.always && skill.missing.is_empty();
        let (loaded, others): (Vec<Skill>, Vec<Skill>) =
            skills.list().into_iter().partition(is_loaded);
        let mut left = SKILLS_LOADED_BYTES;
        let mut parts = Vec::new();
        for skill in loaded {
            // One that cannot be read any more is left out.
            let body = skills.body(&skill.name).unwrap_or_default();
            let body = self.toolbox.cleaned(&body);
            if let Some(part) = Part::of_file(&skill.path, &body, 0, left) {
                left = left.saturating_sub(part.text.len());
                parts.push(part);
            }
        }
        let lines: Vec<String> = others.iter().map(|skill| self.index_line(skill)).collect();
        let rest = |count| format!("{count} more skills are left out; list_dir skills shows them");
        let index = Part::of_lines(super::SKILLS, SKILLS, &lines, rest, SKILL_INDEX_BYTES);
        parts.extend(index);
        parts
    }

    fn index_line(&self, skill: &Skill) -> String {
        let description = ellipsize_chars(&skill.description, SKILL_DESCRIPTION_CHARS);
        let missing = match skill.missing.is_empty() {
            true => String::new(),
            // One skill must not take the place of all the others.
            false => {
                let reasons = skill.reasons();
                let reasons = ellipsize_chars(&reasons, SKILL_REASONS_CHARS);
                format!(" (unavailable: {reasons})")
            }
        };
        let line = format!("- {}: {description}{missing}", skill.name);
        self.toolbox.cleaned(&line).into_owned()
    }
}

/// What the index of the skills begins with.
const SKILLS: &str = "## Skills\n\
    Instructions for tasks. When a task fits one, first read skills/NAME/SKILL.md with read_file.";
