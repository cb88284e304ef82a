//! What the channels say to people, in each language.

use crate::language::texts;

texts! {
    /// To a person who has just been paired.
    pub fn welcome() {
        "You're paired. Write to me; /help shows what I can do.",
        "已配对。直接给我发消息即可；/help 会列出我能做的事。",
    }
    /// To a person who is not paired: how to be. `code` is the pairing code, `id` their id as inline
    /// code, `minutes` how long the code is valid.
    pub fn introduction(code, id, minutes) {
        "We haven't met. If I'm your bot, run this on the board:\n\
         `peacrab channels pair {code}`\n\n\
         Otherwise ask someone who already has access to send me:\n`/pair {code}`\n\n\
         The code is valid for {minutes} minutes. Your id is {id}.",
        "我们还不认识。如果我是你的机器人，请在开发板上运行：\n\
         `peacrab channels pair {code}`\n\n\
         否则请已有权限的人给我发送：\n`/pair {code}`\n\n\
         配对码 {minutes} 分钟内有效。你的 ID 是 {id}。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::language::check_table(super::TABLE);
    }
}
