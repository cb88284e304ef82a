//! What is shown of running work.

use super::*;

impl Plan {
    /// The next draft to be shown, moved or deleted.
    pub(super) fn draft_job(&self, search: &mut Search) -> Option<Job> {
        self.works.iter().find_map(|(key, work)| {
            let to = &work.to;
            let is_replaced = self.backlog.replaces.contains(key);
            // The delivery that comes first moves the draft anyway.
            if is_replaced || self.backlog.heads.iter().any(|head| head.to == *to) {
                return None;
            }
            let ready_at = self.ready_at(to, |destination| {
                Some(destination.message_at()?.max(destination.display.until))
            });
            if work.is_leftover()
                && let Some(message) = &work.message
            {
                let held = self.pace.held_until(&to.chat);
                let may = search.is_due(ready_at.map(|at| at.max(held))) && self.may_try(to);
                return may.then(|| Job::Delete {
                    to: to.clone(),
                    key: key.clone(),
                    message: message.clone(),
                    again: false,
                });
            }
            if work.is_to_lower()
                && let Some(message) = &work.message
            {
                let paced = self.pace.draft_at(&to.chat, (self.is_group)(to));
                let may = search.is_due(ready_at.map(|at| at.max(paced))) && self.may_try(to);
                return may.then(|| Job::Delete {
                    to: to.clone(),
                    key: key.clone(),
                    message: message.clone(),
                    again: true,
                });
            }
            if !self.capabilities.edits {
                let text = work.text.as_ref()?;
                let paced = self.pace.draft_at(&to.chat, (self.is_group)(to));
                let at = ready_at.map(|at| at.max(paced).max(work.sparse_at()));
                return (search.is_due(at) && self.may_try(to)).then(|| Job::Show {
                    to: to.clone(),
                    key: key.clone(),
                    text: work.news(text),
                    message: work.message.clone(),
                    preview: None,
                });
            }
            let (text, work_at) = work.next_text(self.edit_interval()?)?;
            if work.is_overtaken
                && let Some(message) = &work.message
            {
                let held = self.pace.held_until(&to.chat);
                let at = ready_at.map(|at| at.max(held).max(work_at));
                let may = search.is_due(at) && self.may_try(to);
                return may.then(|| Job::Delete {
                    to: to.clone(),
                    key: key.clone(),
                    message: message.clone(),
                    again: true,
                });
            }
            let preview = work.preview_of(text).filter(|_| key.is_of_turn());
            let paced = match preview {
                Some(_) if work.is_previewed() => self.pace.drafts_held_until(&to.chat),
                _ => self.pace.draft_at(&to.chat, (self.is_group)(to)),
            };
            let may = search.is_due(ready_at.map(|at| at.max(paced).max(work_at)));
            (may && self.may_try(to)).then(|| Job::Show {
                to: to.clone(),
                key: key.clone(),
                text: text.clone(),
                message: work.message.clone(),
                preview,
            })
        })
    }
}
