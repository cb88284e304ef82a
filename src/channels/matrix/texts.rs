//! What the channel itself says to people.

use crate::base::language::texts;

texts! {
    /// In a room whose messages cannot be read.
    pub(crate) fn encrypted() {
        "This room is encrypted, so I can't read your messages here. Please create a new room without end-to-end \
         encryption and invite me there. In Element: \"+\" > New room, turn off \"Enable end-to-end encryption\".",
        "这个房间启用了端到端加密，我无法读取这里的消息。请新建一个不加密的房间并邀请我加入。在 Element 中：“+” > 新建房间，关闭“启用端到端加密”。",
    }
    /// To a stranger whose invitation is declined; `user` is their id.
    pub(crate) fn declined(user) {
        "You don't have access to this bot. Its owner can add {user} to channels.matrix.allowFrom.",
        "你没有使用此机器人的权限。它的主人可以将 {user} 加入 channels.matrix.allowFrom。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_languages_are_there() {
        crate::base::language::check_table(super::TABLE);
    }
}
