//! People, and what they write to the robot.

use std::sync::Arc;

use serde_json::{Value, json};

use super::server::{Server, State};
use super::{CLIENT_ID, ROBOT};

/// A person.
pub struct Person {
    pub(super) server: Arc<Server>,
    /// Their staff id; empty for somebody of another organisation.
    pub id: String,
    pub(super) name: String,
    pub(super) is_staff: bool,
}

impl Person {
    /// Writes to the robot; returns the message's id.
    pub fn says(&self, text: &str) -> String {
        self.tell(None, "text", json!({"text": {"content": text}}))
    }

    /// Mentions the robot in a group, which takes the mention out and leaves a space.
    pub fn says_in(&self, group: &str, text: &str) -> String {
        let text = json!({"text": {"content": format!(" {text}")}});
        self.tell(Some(group), "text", text)
    }

    /// Forwards what somebody else has written.
    pub fn forwards(&self, text: &str) -> String {
        let content = json!({"content": {"chatRecord": text}});
        self.tell(None, "chatRecord", content)
    }

    /// Replies to a message of the robot's.
    pub fn replies(&self, quoted: &str, text: &str) -> String {
        let replied = json!({
            "msgType": "text", "msgId": "msgOriginal==", "senderId": ROBOT, "createdAt": 1_769_851_697_756_u64,
            "content": {"text": quoted},
        });
        let text = json!({"content": text, "isReplyMsg": true, "repliedMsg": replied});
        self.tell(
            None,
            "text",
            json!({"text": text, "originalMsgId": "msgOriginal=="}),
        )
    }

    /// Sends a file of a kind: `file`, `picture`, `video` or `audio`, which is told with the words that are heard.
    pub fn sends(&self, kind: &str, words: &str, (name, bytes): (&str, &[u8])) -> String {
        let code = self.server.change(|state| state.keep_file(bytes));
        let content = match kind {
            "file" => {
                json!({"downloadCode": code, "fileName": name, "fileId": "1", "spaceId": "2"})
            }
            "audio" => json!({"downloadCode": code, "duration": 4000, "recognition": words}),
            "video" => json!({"downloadCode": code, "duration": 4, "videoType": "mp4"}),
            _ => json!({"downloadCode": code, "pictureDownloadCode": "unused"}),
        };
        self.tell(None, kind, json!({"content": content}))
    }

    /// Sends text with a picture behind it.
    pub fn sends_rich(&self, text: &str, picture: &[u8]) -> String {
        let code = self.server.change(|state| state.keep_file(picture));
        let picture =
            json!({"type": "picture", "downloadCode": code, "pictureDownloadCode": "unused"});
        self.tell(
            None,
            "richText",
            json!({"content": {"richText": [{"text": text}, picture]}}),
        )
    }

    /// Sends a message of any kind, with these members.
    pub fn tell(&self, group: Option<&str>, kind: &str, members: Value) -> String {
        self.server.change(|state| {
            let id = state.new_id("msg");
            let conversation = match group {
                Some(group) => group.to_owned(),
                None => format!("cidPrivate{}==", self.id),
            };
            let mut data = json!({
                "senderPlatform": "Mac", "conversationId": conversation, "chatbotCorpId": "dingcorp",
                "chatbotUserId": ROBOT, "msgId": id, "senderNick": self.name, "isAdmin": true,
                "sessionWebhookExpiredTime": 1_769_857_097_744_u64, "createAt": 1_769_851_697_611_u64,
                "senderCorpId": "dingcorp", "conversationType": if group.is_some() { "2" } else { "1" },
                "senderId": format!("$:LWCP_v1:${}", self.name), "robotCode": CLIENT_ID, "msgtype": kind,
                "sessionWebhook": format!("http://{}/robot/sendBySession?session=canary-session", state.address),
            });
            if self.is_staff {
                data["senderStaffId"] = json!(self.id);
            }
            if group.is_some() {
                data["isInAtList"] = json!(true);
                data["atUsers"] = json!([{"dingtalkId": ROBOT}]);
                data["conversationTitle"] = json!("The crabs");
            }
            for (name, value) in members.as_object().into_iter().flatten() {
                data[name] = value.clone();
            }
            state.push(&id, &data);
            id
        })
    }
}

impl State {
    /// Keeps a person's file; returns its download code.
    fn keep_file(&mut self, bytes: &[u8]) -> String {
        let code = self.new_id(&"mIofN681YE3f/+m+".repeat(12));
        self.files.push((code.clone(), bytes.to_vec()));
        code
    }
}
