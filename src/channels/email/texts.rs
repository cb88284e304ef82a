//! What the channel says to people by itself.

use super::mime::trust::Trust;
use super::mime::vouched::Doubt;
use crate::base::language::{Language, texts};
use crate::text::markup::inline_code;

texts! {
    fn denied(from) {
        "I refused a mail that says it is from {from}: your mail server says that someone else sent it (its \
         Authentication-Results do not confirm the address). I will not mention further ones today.",
        "我拒绝了一封自称来自 {from} 的邮件：邮件服务器表示它由他人发送（Authentication-Results 未确认该地址）。今天不再提示。",
    }
    /// `server` is the name of a mail server.
    fn checked_by_other(from, server) {
        "I refused a mail that says it is from {from}: its sender was checked by {server}, which may not be your mail \
         server. If it is, set `channels.email.authservId` to this name. I will not mention further ones today.",
        "我拒绝了一封自称来自 {from} 的邮件：其发件人由 {server} 验证，而它可能不是你的邮件服务器。如果是，请将 \
         `channels.email.authservId` 设为该名称。今天不再提示。",
    }
    fn unreadable(from) {
        "I refused a mail that says it is from {from}: what your mail server says about its sender \
         (Authentication-Results) cannot be read, so someone else may have sent it. I will not mention further ones today.",
        "我拒绝了一封自称来自 {from} 的邮件：邮件服务器对其发件人的说明（Authentication-Results）无法读取，因此它可能由他人发送。今天不再提示。",
    }
    fn unchecked(from) {
        "I refused a mail that says it is from {from}: your mail server did not check its sender (there are no \
         Authentication-Results). I will not mention further ones today.",
        "我拒绝了一封自称来自 {from} 的邮件：邮件服务器没有验证其发件人（没有 Authentication-Results）。今天不再提示。",
    }
    fn sent_on(from, why) {
        "I refused a mail from {from}, because someone else may have sent it on: {why}. I will not mention further ones today.",
        "我拒绝了一封来自 {from} 的邮件，因为它可能由他人转发：{why}。今天不再提示。",
    }
    fn unclear() { "a field of its head is there twice, or it has too many", "邮件头中有重复的字段，或字段过多" }
    fn elsewhere() { "it is not addressed to this mailbox", "收件人不是此邮箱" }
    fn unsigned() { "neither SPF nor its signature vouches for all of it", "SPF 和签名都不能证明其全部内容" }
}

/// To the owners: a mail was refused that others may have sent on. `from` is inline code.
pub(super) fn doubtful(language: Language, from: &str, doubt: Doubt) -> String {
    let why = match doubt {
        Doubt::Unclear | Doubt::Dated => unclear(language),
        Doubt::Elsewhere => elsewhere(language),
        Doubt::Unsigned => unsigned(language),
    };
    sent_on(language, &from, &why)
}

/// To the owners: a mail was refused that may be from someone else than it says. `from` is inline code.
pub(super) fn unconfirmed(language: Language, from: &str, trust: &Trust) -> String {
    match trust {
        Trust::Confirmed | Trust::Denied => denied(language, &from),
        Trust::Unreadable => unreadable(language, &from),
        Trust::Unknown(Some(server)) => checked_by_other(language, &from, &inline_code(server)),
        Trust::Unknown(None) => unchecked(language, &from),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
