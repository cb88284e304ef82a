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
            let text = work.text.as_ref()?;
            if work.is_overtaken
                && let Some(message) = &work.message
            {
                let work_at = work.draft_at(self.edit_interval()?);
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
            let paced = self.pace.draft_at(&to.chat, (self.is_group)(to));
            let work_at = if self.capabilities.edits {
                work.draft_at(self.edit_interval()?)
            } else {
                work.sparse_at()
            };
            let may = search.is_due(ready_at.map(|at| at.max(paced).max(work_at)));
            (may && self.may_try(to)).then(|| Job::Show {
                to: to.clone(),
                key: key.clone(),
                text: if self.capabilities.edits {
                    text.clone()
                } else {
                    work.news(text)
                },
                message: work.message.clone(),
            })
        })
    }
}
