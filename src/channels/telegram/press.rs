//! Confirmations of pressed buttons.

use super::update::Pressed;
use crate::base::access::Role;
use crate::channels::kit::sink::SharedSink;

/// A press that is to be confirmed.
pub(super) struct ToConfirm {
    pub callback: String,
    pub toast: &'static str,
    /// `None` without access.
    pub role: Option<Role>,
}

impl ToConfirm {
    pub fn of(pressed: &Pressed, intake: &SharedSink) -> Option<Self> {
        let Pressed {
            callback,
            sender,
            username,
            data,
            chat,
            is_group,
            ..
        } = pressed;
        let group = is_group.then_some(chat);
        let notice = intake.press_notice(sender, username, group, data);
        (!callback.is_empty()).then(|| Self {
            callback: callback.clone(),
            toast: notice.unwrap_or_default(),
            role: intake.role(sender, username, group),
        })
    }
}
