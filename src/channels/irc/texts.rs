//! What the channel itself says to people.

use crate::base::language::texts;

texts! {
    /// To a person whom the server does not vouch for, where it does so for others; `mask` is what it shows of them.
    pub(crate) fn log_in(mask) {
        "I only talk with people who are logged in to a services account, because anyone can take a nick. Log in (often \
         /msg NickServ IDENTIFY) and write again. Or my owner can add {mask} to channels.irc.allowFrom.",
        "任何人都可以使用任意昵称，因此我只与已登录服务账号的人交谈。请先登录（通常为 /msg NickServ IDENTIFY），然后再发消息。\
         或者由我的主人将 {mask} 加入 channels.irc.allowFrom。",
    }
    /// The same where the server tells of nobody whether they are logged in.
    pub(crate) fn no_accounts(mask) {
        "We haven't met, and this server doesn't tell me who is logged in. My owner can add {mask} to channels.irc.allowFrom.",
        "我们还不认识，而且此服务器不会告诉我谁已登录。我的主人可以将 {mask} 加入 channels.irc.allowFrom。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_languages_are_there() {
        crate::base::language::check_table(super::TABLE);
    }
}
