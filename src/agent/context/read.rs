//! Reads what the system prompt is made of: the workspace's files, the memory and the skills.

use std::io::Read;
use std::path::Path;

use crate::agent::Agent;
use crate::limits::agent::{
    BOOTSTRAP_BYTES, BOOTSTRAP_TOTAL_BYTES, IDENTITY_BYTES, PROMPT_MARGIN_BYTES,
};

use super::prompt::{Part, Prompt};
use super::{BOOTSTRAP_FILES, identity};

impl Agent {
    /// The system prompt, from what is in the workspace now.
    pub fn prompt(&self) -> Prompt {
        let identity = Part::new("identity", &identity(&self.host_info), IDENTITY_BYTES);
        let mut parts = vec![identity];
        let mut left = BOOTSTRAP_TOTAL_BYTES;
        for name in BOOTSTRAP_FILES {
            if let Some(part) = self.file_part(name, left.min(BOOTSTRAP_BYTES)) {
                left = left.saturating_sub(part.text.len());
                parts.push(part);
            }
        }
        parts.extend(self.memory_parts());
        parts.extend(self.skill_parts());
        Prompt { parts }
    }

    /// A file of the workspace, read as the tools read files; `None` if it is missing or blank.
    fn file_part(&self, name: &str, budget: usize) -> Option<Part> {
        let file = self.toolbox.workspace().open_read(Path::new(name)).ok()?;
        let bytes = file.metadata().ok()?.len();
        let mut content = Vec::new();
        // More than the budget: where a secret is cut, its half is not recognised.
        file.take((budget + PROMPT_MARGIN_BYTES) as u64)
            .read_to_end(&mut content)
            .ok()?;
        let unread = bytes.saturating_sub(content.len() as u64);
        let content = String::from_utf8_lossy(&content);
        let unread = usize::try_from(unread).unwrap_or(usize::MAX);
        Part::of_file(name, &self.toolbox.cleaned(&content), unread, budget)
    }

    /// MEMORY.md, and the notes of today and of the last two days.
    fn memory_parts(&self) -> Vec<Part> {
        Vec::new()
    }

    /// The skills that are always loaded, and the index of the others.
    fn skill_parts(&self) -> Vec<Part> {
        Vec::new()
    }
}
