//! Bounds of Feishu.

use std::time::Duration;

/// Headers of a frame; an event has about eight.
pub const FRAME_HEADERS: usize = 32;
/// Bytes of a name or a value in a frame's headers; ids have about a hundred.
pub const FRAME_TEXT_BYTES: usize = 1024;
/// Bytes of an event; a text message has at most 150 kB, and is escaped twice.
pub const EVENT_BYTES: usize = 1024 * 1024;
/// Frames of one event; Feishu sends about 100 kB in each.
pub const EVENT_PARTS: usize = 64;
/// Events of which parts are missing.
pub const PARTED_EVENTS: usize = 4;
/// How long the parts of an event are waited for; the vendor's own libraries wait as long.
pub const PARTS_TIME: Duration = Duration::from_secs(5);
/// Time between two pings until the server says something else.
pub const PING_INTERVAL: Duration = Duration::from_mins(2);
/// The least and the longest time between two pings that the server may ask for.
pub const PING_INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));
/// Time for the server to answer a ping.
pub const PONG_TIME: Duration = Duration::from_secs(10);
/// The longest wait until the receiver shows that it is alive.
pub const LOOK: Duration = Duration::from_secs(60);
/// A connection that was shorter counts as a failure: the next one waits longer.
pub const STEADY: Duration = Duration::from_secs(60);
/// How long a question about a message may take before the message is accepted without its answer: two of
/// them fit into the three seconds in which Feishu expects an acknowledgement.
pub const LOOKUP_PATIENCE: Duration = Duration::from_millis(1200);
/// People whose names are remembered.
pub const NAMES: usize = 32;
/// Mentions of one message that are looked at.
pub const MENTIONS: usize = 50;
/// Elements of a rich text that are read.
pub const POST_ELEMENTS: usize = 2000;
/// Levels of a card that are looked at for words.
pub const CARD_LEVELS: usize = 8;
/// Bytes of a reply of the API; the largest are messages of 150 kB.
pub const REPLY_BYTES: usize = 1024 * 1024;
/// How long before its end a token is replaced. Feishu gives a new one in the last half hour.
pub const TOKEN_MARGIN: Duration = Duration::from_mins(5);
/// How long a token is valid when Feishu does not say so.
pub const TOKEN_TIME: Duration = Duration::from_mins(30);
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
pub const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Bytes of a message's Markdown; a longer card can hardly be read on a phone.
pub const MESSAGE_BYTES: usize = 16 * 1024;
/// Bytes of the same within the request, where it is JSON within JSON. Feishu takes 30 kB with the buttons.
pub const MESSAGE_JSON_BYTES: usize = 20 * 1024;
/// Characters of a link's address, so that one message holds it with its words.
pub const LINK_CHARS: usize = 1000;
/// Characters of a button's label.
pub const LABEL_CHARS: usize = 60;
/// Bytes of a button's data; Feishu has no bound below that of the card.
pub const BUTTON_DATA_BYTES: usize = 256;
/// Rows of buttons below a message.
pub const BUTTON_ROWS: usize = 10;
/// Buttons in one row.
pub const ROW_BUTTONS: usize = 5;
/// Bytes of a message's text that each of its buttons carries; a reminder has fewer.
pub const BUTTON_TEXT_BYTES: usize = 600;
/// Bytes of a file that is sent: Feishu takes no larger ones.
pub const UPLOAD_BYTES: u64 = 30 * 1024 * 1024;
/// Bytes of a picture that is shown as one; a larger one goes as a file.
pub const IMAGE_BYTES: u64 = 10 * 1024 * 1024;
/// The least time between two messages to one chat: Feishu allows five a second to all bots of a chat.
pub const CHAT_INTERVAL: Duration = Duration::from_millis(250);
/// The least time between two edits of one message; Feishu allows five a second.
pub const EDIT_INTERVAL: Duration = Duration::from_millis(400);
/// Messages to one group within [`SPAN`].
pub const GROUP: usize = 4;
/// Messages to all chats within [`SPAN`]: Feishu allows a thousand a minute.
pub const TOTAL: usize = 15;
/// See [`GROUP`] and [`TOTAL`].
pub const SPAN: Duration = Duration::from_secs(1);
