//! What a chat shows of one piece of work. Pure.

use std::time::Duration;

use crate::base::message::{Address, CommandButton};

/// How long after it has begun work is shown as "typing": what is done earlier needs no request.
pub(super) const TYPING_DELAY: Duration = Duration::from_millis(500);
/// Edits of a draft after which the time to the next one is doubled: what takes long is looked at
/// less often.
pub(super) const DRAFT_EDITS: u32 = 4;
/// Time between two messages about the progress of work where none can be edited.
pub(super) const SPARSE_INTERVAL: Duration = Duration::from_secs(60);
/// How long a terminal's screen must be still before it is shown where none can be edited.
pub(super) const STILL_TIME: Duration = Duration::from_secs(2);
/// How often that time is doubled.
const DRAFT_DOUBLINGS: u32 = 3;
/// How long a preview is left as it is: Telegram takes it away after 30 s
/// (<https://core.telegram.org/bots/api#sendmessagedraft>).
const PREVIEW_TIME: Duration = Duration::from_secs(20);

/// The progress of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DraftText {
    /// The text, as Markdown.
    pub text: String,
    /// The message that it is about, by its id within the chat; may be empty.
    pub reply_to: String,
    /// The person who alone is to see it in a group; may be empty.
    pub only_for: String,
    /// Rows of buttons below it.
    pub buttons: Buttons,
    /// Whether it is a live view, such as a terminal's screen: it is shown at once, and as often as the channel
    /// allows. The progress of work is shown less and less often.
    pub is_live: bool,
}

/// Rows of buttons that type commands.
pub(super) type Buttons = Vec<Vec<CommandButton>>;

/// One piece of work: a turn, or a slash command.
#[derive(Debug)]
pub(super) struct Work {
    /// Where it is shown.
    pub to: Address,
    /// When "typing" is shown next; `None` while nothing is running.
    pub typing_at: Option<Duration>,
    /// The newest text that is not shown.
    pub text: Option<DraftText>,
    /// The message that shows the work.
    pub message: Option<String>,
    /// The message that showed it before it was sent again below.
    pub earlier: Option<String>,
    /// What that message shows.
    shown: Option<DraftText>,
    /// When the draft was shown last, or its first text came.
    since: Option<Duration>,
    /// How often it was shown.
    edits: u32,
    has_ended: bool,
    /// Whether its text is being sent.
    is_showing: bool,
    /// Whether the message shows earlier work under the same key.
    is_stale: bool,
    /// Whether the message may stay where it is.
    is_low: bool,
    /// Whether something was written below the message since.
    pub is_overtaken: bool,
    /// Whether the message was sent again, below what was written: it came without a sound.
    was_overtaken: bool,
    /// The question before which its newest text was shown last.
    pub shown_before: u64,
    /// When its text became another one.
    changed: Duration,
    /// Whether a person has asked to see it.
    is_wanted: bool,
    /// The number of its preview; 0 before it begins.
    serial: u32,
    /// Whether its text is shown as a preview and not as a message.
    is_previewed: bool,
}

impl Work {
    /// Work that shows nothing yet.
    pub fn new(to: &Address) -> Self {
        Self {
            to: to.clone(),
            typing_at: None,
            text: None,
            message: None,
            earlier: None,
            shown: None,
            since: None,
            edits: 0,
            has_ended: false,
            is_showing: false,
            is_stale: false,
            is_low: true,
            is_overtaken: false,
            was_overtaken: false,
            shown_before: 0,
            changed: Duration::ZERO,
            is_wanted: false,
            serial: 0,
            is_previewed: false,
        }
    }

    /// Work that an earlier process left. Its draft stays until something replaces or moves it.
    pub fn left(to: Address, message: String) -> Self {
        Self {
            message: Some(message),
            ..Self::new(&to)
        }
    }

    /// The work begins, or begins again under the same key. `serial` is a number of its own.
    pub fn begin(&mut self, to: &Address, will_be_replaced: bool, serial: u32, now: Duration) {
        if self.has_ended || self.serial == 0 {
            self.serial = serial;
        }
        if self.has_ended {
            self.is_stale = self.message.is_some() && !will_be_replaced;
            self.has_ended = false;
        }
        if self.message.is_none() {
            self.to = to.clone();
        }
        self.typing_at.get_or_insert(now + TYPING_DELAY);
    }

    /// The work has ended.
    pub fn end(&mut self) {
        self.typing_at = None;
        self.has_ended = true;
        self.forget_text();
    }

    /// Takes a newer text. One that is shown already is ignored.
    pub fn draft(&mut self, text: DraftText, now: Duration) {
        let shown = self.shown.as_ref();
        let is_shown =
            shown.is_some_and(|shown| shown.text == text.text && shown.buttons == text.buttons);
        self.text = (!is_shown).then_some(text);
        self.since.get_or_insert(now);
    }

    /// When the text may be shown. The first one waits as well, since an answer that comes soon needs no
    /// draft; long work is shown less and less often, unless it is previewed.
    pub fn draft_at(&self, interval: Duration) -> Duration {
        let is_live = self.text.as_ref().is_some_and(|text| text.is_live);
        let since = self.since.unwrap_or_default();
        match (is_live, self.edits) {
            (true, 0) => return Duration::ZERO,
            (true, _) => return since + interval,
            (false, _) if self.is_previewed => return since + interval,
            (false, _) => {}
        }
        let doublings = (self.edits / DRAFT_EDITS).min(DRAFT_DOUBLINGS);
        since + interval * (1 << doublings)
    }

    /// Takes a newer text where nothing can be edited. A text with buttons says that something lasts, and how long
    /// still: it is shown once.
    pub fn draft_sparsely(&mut self, text: DraftText, now: Duration) {
        let is_lasting = !text.is_live && !text.buttons.is_empty();
        if is_lasting && self.edits > 0 {
            return;
        }
        if self
            .text
            .as_ref()
            .is_none_or(|before| before.text != text.text)
        {
            self.changed = now;
        }
        self.draft(text, now);
    }

    /// When the text may be sent where nothing can be edited: a live view once it is still, or at once when a
    /// person asks for it; the progress of work now and then.
    pub fn sparse_at(&self) -> Duration {
        match &self.text {
            Some(_) if self.is_wanted => Duration::ZERO,
            Some(text) if text.is_live => self.changed + STILL_TIME,
            Some(text) if !text.buttons.is_empty() => Duration::ZERO,
            _ => self.since.unwrap_or_default() + SPARSE_INTERVAL,
        }
    }

    /// A text without what was sent of it before.
    pub fn news(&self, text: &DraftText) -> DraftText {
        let before = self.shown.as_ref().filter(|_| !text.is_live);
        let rest = before.and_then(|before| text.text.strip_prefix(&before.text));
        let rest = rest.map(str::trim).filter(|rest| !rest.is_empty());
        DraftText {
            text: rest.unwrap_or(&text.text).to_owned(),
            ..text.clone()
        }
    }

    /// A person asks for the live view.
    pub fn show_once_more(&mut self) {
        self.is_wanted = true;
        self.show_again();
    }

    /// The call that sent the text has ended, and the message stays as it is.
    pub fn showed_for_good(&mut self, message: Option<String>) {
        self.is_showing = false;
        self.earlier = message.or(self.earlier.take());
    }

    /// The text that is shown next, and when: a newer one, or once more the one that is about to go.
    pub fn next_text(&self, interval: Duration) -> Option<(&DraftText, Duration)> {
        let fading = || {
            let is_running = self.is_previewed && !self.has_ended && !self.is_showing;
            let shown = self.shown.as_ref().filter(|_| is_running)?;
            Some((shown, self.since? + PREVIEW_TIME))
        };
        let newer = self.text.as_ref();
        newer
            .map(|text| (text, self.draft_at(interval)))
            .or_else(fading)
    }

    /// The number of the preview that may show a text; `None` where it needs a message.
    pub fn preview_of(&self, text: &DraftText) -> Option<u32> {
        let may = self.message.is_none() && !text.is_live && text.buttons.is_empty();
        may.then_some(self.serial.max(1))
    }

    /// The text that no message shows: a newer one, or that of a preview.
    pub fn text_to_keep(&self) -> Option<&DraftText> {
        let previewed = self.shown.as_ref().filter(|_| self.is_previewed);
        self.text.as_ref().or(previewed)
    }

    /// Whether what it shows is a preview, which uses up nothing of what a chat may be sent.
    pub fn is_previewed(&self) -> bool {
        self.is_previewed
    }

    /// The text is being shown.
    pub fn showing(&mut self, now: Duration) {
        self.since = Some(now);
        self.is_showing = true;
        self.is_wanted = false;
        self.edits = self.edits.saturating_add(1);
        self.shown = self.text.take().or(self.shown.take());
    }

    /// The call that showed the text as a preview has ended.
    pub fn previewed(&mut self) {
        self.is_showing = false;
        self.is_previewed = true;
    }

    /// The call that showed the text has ended. `message` is the message that it sent, if it did.
    pub fn showed(&mut self, message: Option<String>) {
        (self.is_showing, self.is_previewed) = (false, false);
        self.message = message.or(self.message.take());
    }

    /// Something was written below its message.
    pub fn overtake(&mut self) {
        self.is_overtaken |= self.message.is_some() || self.is_showing;
    }

    /// Whether its end is a message of its own: an edit makes no sound, and somebody has written since it began.
    pub fn has_to_sound(&self) -> bool {
        self.is_overtaken || self.was_overtaken
    }

    /// Shows again what was shown, unless there is something newer.
    pub fn show_again(&mut self) {
        let shown = self.shown.take();
        if !self.has_ended && self.text.is_none() {
            self.text = shown;
        }
    }

    /// A message has replaced the draft.
    pub fn replaced(&mut self) {
        self.message = None;
        self.is_stale = false;
        (self.is_overtaken, self.was_overtaken) = (false, false);
        self.forget_text();
    }

    /// The message is to be sent again, below what has come since.
    pub fn lower(&mut self) {
        self.is_low = self.message.is_none();
    }

    /// Whether the message is to be sent again.
    pub fn is_to_lower(&self) -> bool {
        !self.is_low && self.message.is_some() && !self.is_leftover()
    }

    /// The draft was deleted.
    pub fn deleted(&mut self, message: &str, again: bool) {
        if self.message.as_deref() != Some(message) {
            return;
        }
        self.earlier = self.message.take();
        self.is_low = true;
        self.was_overtaken |= std::mem::take(&mut self.is_overtaken);
        if again && !self.is_stale {
            self.show_again()
        } else {
            self.shown = None
        }
        self.is_stale = false;
    }

    /// Whether its message shows work that has ended.
    pub fn is_leftover(&self) -> bool {
        self.has_ended || self.is_stale
    }

    /// Whether nothing remains of it.
    pub fn is_over(&self) -> bool {
        self.has_ended && self.message.is_none() && !self.is_showing
    }

    fn forget_text(&mut self) {
        (self.text, self.shown, self.since, self.edits) = (None, None, None, 0);
        self.is_previewed = false;
    }
}
