//! Questions and texts that are not stored, and messages of people's that are deleted.

use super::*;

impl Plan {
    pub(super) fn removal(&self, search: &mut Search) -> Option<Job> {
        self.removals.iter().find_map(|(to, message)| {
            let held = self.pace.held_until(&to.chat);
            let at = self.ready_at(to, Destination::reaction_at);
            let may = search.is_due(at.map(|at| at.max(held))) && self.may_try(to);
            may.then(|| Job::Remove {
                to: to.clone(),
                message: message.clone(),
            })
        })
    }

    pub(super) fn settling(&self, search: &mut Search) -> Option<Job> {
        let mut over = self.notices.iter().filter(|notice| notice.is_settleable());
        over.find_map(|notice| {
            let held = self.pace.held_until(&notice.to.chat);
            let at = self.ready_at(&notice.to, Destination::notice_at);
            let may = search.is_due(at.map(|at| at.max(held))) && self.may_try(&notice.to);
            may.then_some(Job::Settle {
                to: notice.to.clone(),
                serial: notice.serial,
                content: notice.content.clone(),
                message: notice.message.clone()?,
                settled: notice.settled.clone()?,
            })
        })
    }

    pub(super) fn notice(&self, search: &mut Search) -> Option<Job> {
        let mut open = self
            .notices
            .iter()
            .filter(|notice| notice.message.is_none());
        open.find_map(|notice| {
            let to = &notice.to;
            let paced = self.pace.message_at(&to.chat, (self.is_group)(to));
            let at = self.ready_at(to, Destination::notice_at);
            if !search.is_due(at.map(|at| at.max(paced))) || !self.may_try(to) {
                return None;
            }
            let above = match notice.content {
                Content::Text(_) => self.draft_above(to, true),
                // What the question belongs to is shown before it.
                Content::Question(_) => self.unshown(notice, search),
            };
            Some(above.unwrap_or_else(|| Job::Notify {
                to: to.clone(),
                serial: notice.serial,
                content: notice.content.clone(),
                piece: notice.pieces,
            }))
        })
    }

    /// The draft of an address whose newest text is to be shown before a question, once.
    fn unshown(&self, notice: &Notice, search: &mut Search) -> Option<Job> {
        let to = &notice.to;
        self.edit_interval()?;
        let ready_at = self.ready_at(to, |destination| {
            Some(destination.message_at()?.max(destination.display.until))
        });
        if ready_at.is_none_or(|at| at > search.now) {
            return None;
        }
        self.works.iter().find_map(|(key, work)| {
            let text = work.text_to_keep()?;
            let is_due = work.to == *to
                && !work.is_leftover()
                && !work.is_overtaken
                && work.shown_before != notice.serial;
            is_due.then(|| Job::Show {
                to: to.clone(),
                key: key.clone(),
                text: text.clone(),
                message: work.message.clone(),
                preview: None,
            })
        })
    }
}
