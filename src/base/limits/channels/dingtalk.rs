//! Bounds of DingTalk. <https://open.dingtalk.com/document/orgapp/the-robot-sends-a-group-message>

use std::time::Duration;

/// Bytes of a message's Markdown: about 2000 Chinese characters, which is what a phone shows before it folds a message.
pub const MESSAGE_BYTES: usize = 6000;
/// Bytes of the same within `msgParam`, where it is JSON. DingTalk takes 15,000 with the title.
pub const MESSAGE_JSON_BYTES: usize = 14_000;
/// Characters of a message's title, which is shown in notifications and in the list of chats.
pub const TITLE_CHARS: usize = 40;
/// Characters of a link's address, so that one message holds it with its words.
pub const LINK_CHARS: usize = 1000;
/// Bytes of a file that is sent: DingTalk takes no larger ones.
pub const UPLOAD_BYTES: u64 = 20 * 1024 * 1024;
/// Bytes of a picture that is shown as one; a larger one goes as a file.
pub const IMAGE_BYTES: u64 = 10 * 1024 * 1024;
/// The least time between two messages to one chat.
pub const CHAT_INTERVAL: Duration = Duration::from_millis(250);
/// Messages to one group within [`GROUP_SPAN`]: DingTalk allows a robot 20.
pub const GROUP: usize = 18;
/// See [`GROUP`].
pub const GROUP_SPAN: Duration = Duration::from_secs(60);
/// Messages to all chats within [`TOTAL_SPAN`]: DingTalk allows 20 calls of most kinds, and a message with a file is two.
pub const TOTAL: usize = 10;
/// See [`TOTAL`].
pub const TOTAL_SPAN: Duration = Duration::from_secs(1);
/// Wait after too many calls of one kind: DingTalk counts them by the second.
pub const QPS_WAIT: Duration = Duration::from_secs(1);
/// Wait after too many messages to one chat: DingTalk counts them by the minute.
pub const CHAT_WAIT: Duration = Duration::from_secs(20);
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
pub const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Bytes of a reply of the API; the largest has a signed URL.
pub const REPLY_BYTES: usize = 64 * 1024;
/// Bytes of an access token, a ticket or an endpoint; DingTalk's have about 100.
pub const TOKEN_BYTES: usize = 1024;
/// How long before its end an access token is replaced, as DingTalk's own libraries do.
pub const TOKEN_MARGIN: Duration = Duration::from_mins(5);
/// The shortest and the longest time that an access token is used; DingTalk's live two hours.
pub const TOKEN_TIMES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_hours(2));
/// Bytes of an id of a person, a group or a message; DingTalk's have up to 100.
pub const ID_BYTES: usize = 256;
/// Bytes of what a file is fetched by; DingTalk's have some hundred.
pub const DOWNLOAD_CODE_BYTES: usize = 4096;
/// Bytes of a frame; a message with its quote has at most 60 kB, and is escaped twice.
pub const FRAME_BYTES: usize = 512 * 1024;
/// Parts of a message with text and pictures that are read.
pub const RICH_PARTS: usize = 200;
/// Silence after which the connection is tried with a ping.
pub const PING_INTERVAL: Duration = Duration::from_secs(60);
/// Time for the server to answer a ping.
pub const PONG_TIME: Duration = Duration::from_secs(20);
/// A connection that was shorter counts as a failure: the next one waits longer.
pub const STEADY: Duration = Duration::from_secs(60);
