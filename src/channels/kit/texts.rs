//! What the channels say to people, in each language.

use std::fmt::Display;

use crate::base::access::Role;
use crate::base::language::{Language, texts};
use crate::base::limits::state::{PAIRED, PAIRING_VALID_SECS};
use crate::store::state::pairing::Rejected;

/// The outcomes and the buttons of a question about a command.
pub mod answers {
    use crate::base::approval::{Answer, Cause};
    use crate::base::language::{Language, texts};

    texts! {
        fn allowed_once() { "✓ Allowed once", "✓ 已允许一次" }
        fn allowed_always() { "✓ Always allowed", "✓ 已始终允许" }
        fn allowed_all() { "✓ Everything allowed for 10 minutes", "✓ 已允许全部操作 10 分钟" }
        fn denied() { "✗ Denied", "✗ 已拒绝" }
        fn timed_out() { "✗ Denied: no answer in time", "✗ 已拒绝：超时未答复" }
        fn unattended() { "✗ Denied: no one to ask", "✗ 已拒绝：没有可以询问的人" }
        fn stopped() { "✗ Not run: stopped", "✗ 未运行：已停止" }
        fn shutting_down() {
            "✗ Not run: Peacrab stopped before you answered",
            "✗ 未运行：在你答复之前 Peacrab 已停止",
        }
        fn run_once() { "Run once", "运行一次" }
        fn always() { "Always this command", "始终允许此命令" }
        fn all_input() { "Allow all input", "允许全部后续输入" }
        fn everything() { "Allow everything for 10 minutes", "允许全部操作 10 分钟" }
        /// `person` is a name.
        pub(crate) fn by(outcome, person) { "**{outcome}** by {person}", "**{outcome}**，由 {person} 答复" }
        fn always_tool() { "Always this tool", "始终允许此工具" }
        fn deny() { "Deny", "拒绝" }
    }

    /// What stands below a question that is over.
    pub fn outcome(language: Language, answer: Answer) -> &'static str {
        let text = match answer {
            Answer::Once => allowed_once,
            Answer::Always | Answer::Standing => allowed_always,
            Answer::Everything => allowed_all,
            Answer::Deny => denied,
            Answer::TimedOut => timed_out,
            Answer::Unattended => unattended,
            Answer::Stopped => stopped,
            Answer::ShuttingDown => shutting_down,
        };
        text(language)
    }

    /// The label of the button that gives an answer.
    pub fn label(language: Language, answer: Answer, cause: &Cause) -> &'static str {
        let text = match (answer, cause) {
            (Answer::Once, _) => run_once,
            (Answer::Always, Cause::Input { .. }) => all_input,
            (Answer::Always, Cause::Tool { .. }) => always_tool,
            (Answer::Always | Answer::Standing, _) => always,
            (Answer::Everything, _) => everything,
            (
                Answer::Deny
                | Answer::TimedOut
                | Answer::Unattended
                | Answer::Stopped
                | Answer::ShuttingDown,
                _,
            ) => deny,
        };
        text(language)
    }
}

/// What `/approve` and `/deny` say.
pub mod approve {
    use crate::base::language::texts;

    texts! {
        pub(crate) fn nothing_open() { "Nothing is waiting for approval here.", "这里没有等待批准的命令。" }
        /// `command` is inline code, or several with commas between.
        pub(crate) fn waits(command) {
            "I still need your answer: {command}. Press a button, or reply to the question with yes or no.",
            "仍需要你的答复：{command}。请按按钮，或回复该询问“是”或“否”。",
        }
        /// `list` has a line for each command.
        pub(crate) fn which(list) { "Waiting for approval:\n{list}", "等待批准：\n{list}" }
        /// An answer that came as soon as the question, or may answer something else. `command` is what to type.
        pub(crate) fn not_sure(command) {
            "That may have been meant for something else, so nothing was done yet. Press a button of the question, or send {command}",
            "这可能是对其他内容的答复，因此尚未执行任何操作。请按该询问的按钮，或发送 {command}",
        }
        /// `text` is inline code.
        pub(crate) fn not_a_number(text) {
            "{text} is not the number of a question. The number is at the end of the question.",
            "{text} 不是询问的编号。编号见询问消息末尾。",
        }
        /// `what` is a clause, such as "it would restart the board".
        pub(crate) fn too_risky(what) {
            "This command cannot be allowed always: {what}.",
            "此命令不能始终允许：{what}。",
        }
        pub(crate) fn for_other() {
            "What others ask for can be allowed only once.",
            "他人的请求只能逐次允许。",
        }
        pub(crate) fn of_subagent() {
            "What a subagent asks for can be allowed only once.",
            "子代理的请求只能逐次允许。",
        }
        pub(crate) fn terminal() {
            "A terminal outside the sandbox has to be allowed each time.",
            "沙箱外的终端每次都需要批准。",
        }
        pub(crate) fn changeable() {
            "This command cannot be allowed always: it may load files that the agent can change.",
            "此命令不能始终允许：它可能会加载智能体可以更改的文件。",
        }
        pub(crate) fn not_everything() {
            "This question does not offer to allow everything.",
            "此询问不提供允许全部操作的选项。",
        }
        pub(crate) fn allow_once(number) {
            "To allow it once: /approve {number}",
            "如需允许一次：/approve {number}",
        }
    }
}

/// What stands below a message whose channel has no buttons.
pub mod choices {
    use crate::base::language::texts;

    texts! {
        /// `list` has numbers and labels.
        pub(crate) fn reply_with_number(list) { "Reply with a number: {list}", "请回复数字：{list}" }
        /// `list` has labels.
        pub(crate) fn reply_with_word(list) { "Or reply with: {list}", "也可以回复：{list}" }
        /// `keys` are names of keys, `others` further commands.
        pub(crate) fn keys(keys, others) {
            "Press a key with `/key`: {keys}. Also {others}",
            "用 `/key` 按键：{keys}。另有 {others}",
        }
    }
}

/// What a question about a command says.
pub mod question {
    use crate::base::language::texts;

    texts! {
        pub(crate) fn title_unsandboxed(account) {
            "Run this **outside the sandbox**, as {account}?",
            "要以 {account} 身份在**沙箱外**运行吗？",
        }
        /// `path` is inline code; the command that copies the file follows.
        pub(crate) fn title_fetch(path, account) {
            "Send the board's file {path} to **this chat**? It is fetched **outside the sandbox**, as {account}:",
            "要把开发板上的文件 {path} 发送到**此聊天**吗？文件以 {account} 身份在**沙箱外**读取：",
        }
        /// Below the command, where the file is the program's own.
        pub(crate) fn own_file() {
            "⚠ It is one of my own files, such as my configuration: it can hold keys, and they are sent as they are.",
            "⚠ 这是我自己的文件（例如配置）：其中可能含有密钥，会原样发送。",
        }
        pub(crate) fn title_sandboxed() { "Run this in the sandbox?", "要在沙箱内运行吗？" }
        /// `name` is inline code.
        pub(crate) fn title_tool(name) {
            "Use the new tool {name}? It runs in the sandbox.",
            "要使用新工具 {name} 吗？它在沙箱内运行。",
        }
        /// `name` is inline code.
        pub(crate) fn title_changed_tool(name) {
            "The tool {name} has changed since you allowed it. Use it as it is now? It runs in the sandbox.",
            "工具 {name} 在你允许之后已被更改。要使用当前版本吗？它在沙箱内运行。",
        }
        /// `text` is inline code.
        pub(crate) fn describes(text) { "Its description: {text}", "它的说明：{text}" }
        /// Input for a background command; `command` is inline code.
        pub(crate) fn title_input(command, session, account) {
            "Send this input to {command} (session {session}), which runs **outside the sandbox** as \
             {account}?",
            "要把以下输入发送给 {command}（会话 {session}）吗？它以 {account} 身份在**沙箱外**运行。",
        }
        pub(crate) fn left_out(count) { "**… {count} characters left out …**", "**… 省略 {count} 个字符 …**" }
        pub(crate) fn see_file(count) {
            "It has {count} characters; all of them are above.",
            "共 {count} 个字符；完整内容见上文。",
        }
        /// `person` is inline code.
        pub(crate) fn asked_for(person) { "Asked for by {person}.", "请求者：{person}。" }
        pub(crate) fn folder(folder) { "Folder: {folder}", "文件夹：{folder}" }
        /// `what` is a clause, such as "it would restart the board".
        pub(crate) fn risk(what) { "⚠ Careful: {what}.", "⚠ 注意：{what}。" }
        pub(crate) fn configured() {
            "Why I'm asking: tools.exec.approval is \"always\".",
            "询问原因：tools.exec.approval 设为 \"always\"。",
        }
        pub(crate) fn all_input() {
            "\"Allow all input\" covers any further input until the command ends.",
            "“允许全部后续输入”在命令结束前有效。",
        }
        pub(crate) fn reason(reason) { "The agent's reason: {reason}", "智能体给出的理由：{reason}" }
        pub(crate) fn hidden(count) {
            "⚠ Invisible characters: {count}, shown as `\\u{{…}}`.",
            "⚠ 含有 {count} 个不可见字符，显示为 `\\u{{…}}`。",
        }
        pub(crate) fn lookalike(word) {
            "⚠ It contains letters that only look like Latin ones: {word}.",
            "⚠ 含有形似拉丁字母的其他字母：{word}。",
        }
        pub(crate) fn influences(names) {
            "⚠ The agent can change files here that this command may run: {names}.",
            "⚠ 智能体可以更改此命令可能运行的文件：{names}。",
        }
        pub(crate) fn and_more(names, count) { "{names} and {count} more", "{names} 等（另有 {count} 个）" }
        pub(crate) fn script(name, bytes) { "{name} ({bytes} bytes)", "{name}（{bytes} 字节）" }
        pub(crate) fn missing_script(name) { "{name} (does not exist yet)", "{name}（尚不存在）" }
        pub(crate) fn not_text() { "It is not text, and is not shown.", "它不是文本，未显示。" }
        pub(crate) fn not_shown(count, all) {
            "Not shown: {count} of {all} lines.",
            "未显示：{all} 行中的 {count} 行。",
        }
        pub(crate) fn more_scripts(count) {
            "… and {count} more files that it runs",
            "…… 还会运行另外 {count} 个文件",
        }
        pub(crate) fn expires(minutes, number) {
            "Expires in {minutes} minutes. You can also type /approve {number} or /deny {number}.",
            "{minutes} 分钟后失效。也可以输入 /approve {number} 或 /deny {number}。",
        }
    }
}

texts! {
    /// A secret was typed in, and the channel does not let us delete the message.
    pub fn message_not_deleted() {
        "I couldn't delete your message with the secret. Please delete it yourself.",
        "我无法删除你那条包含机密内容的消息，请自行删除。",
    }
    /// To an unknown person who presses a button or uses a command.
    pub fn no_access() { "You don't have access to this bot.", "你没有使用此机器人的权限。" }
    /// To a person who presses a button that only owners may press.
    pub fn only_owners() { "Only an owner can answer this.", "只有所有者可以答复。" }
    /// To a person who presses a button of an earlier version.
    pub fn unknown_button() { "This button no longer works.", "此按钮已失效。" }
    /// To a person who presses a button of the model's just after another press.
    pub fn already_chosen() { "Already answered.", "已有人选择。" }
    /// To a person whose button belongs to a question of an earlier run.
    pub fn question_closed() {
        "That question is no longer open, so nothing was done. If it is still needed, ask me again.",
        "该询问已失效，因此未执行任何操作。如仍有需要，请重新告诉我。",
    }
    /// In the place of a file; `name` is inline code.
    pub fn file_not_sent(name, why) {
        "The file {name} could not be sent: {why}",
        "文件 {name} 无法发送：{why}",
    }
    /// In the place of a message that the channel refuses in every form.
    pub fn message_not_sent(why) {
        "I have a message for you that could not be sent here: {why}",
        "有一条给你的消息无法在此发送：{why}",
    }
    /// To those who have access: what was received crashed the program twice. `file` is a path.
    pub fn set_aside(file) {
        "A message or button press from Telegram crashed me twice, so I have set it aside: {file}",
        "一条来自 Telegram 的消息或按钮点击两次导致我崩溃，已将其搁置：{file}",
    }
    /// To a person who has just been paired.
    pub fn welcome() {
        "You're paired. Write to me; /help shows what I can do.",
        "已配对。直接给我发消息即可；/help 会列出我能做的事。",
    }
    /// To a person who pairs someone; `person` has a name and an id.
    fn paired(person, channel) {
        "{person} is now paired on {channel}.",
        "{person} 已在 {channel} 上配对。",
    }
    /// The same, for someone who is no owner.
    fn paired_as(person, channel, role) {
        "{person} is now paired on {channel}, as a {role}.",
        "{person} 已在 {channel} 上配对，角色为 {role}。",
    }
    /// An invitation for a person who gets this role.
    pub fn invited(code, role, minutes) {
        "Send this to the person: within {minutes} minutes, they write to me in a private chat\n`/pair {code}`\nand are \
         paired as {role}. It works once, on every channel.",
        "请将以下内容发给对方：在 {minutes} 分钟内私聊我发送\n`/pair {code}`\n即以 {role} 身份配对。仅可使用一次，适用于所有渠道。",
    }
    /// To an owner who asks for an invitation in a group.
    pub fn invite_in_private() {
        "Anyone in this group could use the invitation. Write `/pair invite` to me in a private chat",
        "群里的任何人都能使用该邀请。请私聊我发送 `/pair invite`",
    }
    /// The usage of `/pair`.
    pub fn pair_usage() {
        "Add the code that the other person was given, for example `/pair ABCD2345` (an owner), `/pair ABCD2345 user` or `/pair ABCD2345 guest`, or invite someone: `/pair invite user`",
        "请加上对方收到的配对码，例如 `/pair ABCD2345`（所有者）、`/pair ABCD2345 user` 或 `/pair ABCD2345 guest`；也可以邀请他人：`/pair invite user`",
    }
    fn unknown_code(code) {
        "Unknown or expired pairing code {code}, or it was used. A person without access gets a new one by sending the bot any message.",
        "配对码 {code} 不存在、已过期或已使用。没有权限的人给机器人发送任意消息即可获得新的配对码。",
    }
    fn expired_code(code, minutes) {
        "The pairing code {code} has expired: it was valid for {minutes} minutes. A person without access gets a new \
         one by sending the bot any message.",
        "配对码 {code} 已过期：有效期为 {minutes} 分钟。没有权限的人给机器人发送任意消息即可获得新的配对码。",
    }
    fn all_paired(count) {
        "{count} people are already paired. Remove some, or add people to allowFrom.",
        "已有 {count} 人配对。请移除一些人，或把人员加入 allowFrom。",
    }
    /// To a person who has a pairing code and writes again.
    pub fn reminder(code) {
        "You don't have access yet. My message with the code {code} says how to get it.",
        "你还没有权限。我发的带有配对码 {code} 的消息说明了如何获得权限。",
    }
    /// To a person who is not paired: how to be. `command` is the command that
    /// pairs, `code` the pairing code, `id` their id as inline code, `minutes` how long the code is valid.
    pub fn introduction(command, code, id, minutes) {
        "We haven't met. If I'm your bot, run this on the board:\n\
         `{command} {code}`\n\n\
         Otherwise ask someone who already has access to send me:\n`/pair {code}`\n\n\
         The code is valid for {minutes} minutes. Your id is {id}.",
        "我们还不认识。如果我是你的机器人，请在开发板上运行：\n\
         `{command} {code}`\n\n\
         否则请已有权限的人给我发送：\n`/pair {code}`\n\n\
         配对码 {minutes} 分钟内有效。你的 ID 是 {id}。",
    }
}

/// To the one who has paired a person, who has this role now.
pub fn describe_paired(
    language: Language,
    person: &dyn Display,
    channel: &dyn Display,
    role: Role,
) -> String {
    match role {
        Role::Owner => paired(language, person, channel),
        Role::User | Role::Guest => paired_as(language, person, channel, &role),
    }
}

/// Why a code pairs nobody, as a sentence.
pub fn describe_rejection(language: Language, rejected: &Rejected) -> String {
    match rejected {
        Rejected::Unknown(code) => unknown_code(language, code),
        Rejected::Expired(code) => expired_code(language, code, &(PAIRING_VALID_SECS / 60)),
        Rejected::Full => all_paired(language, &PAIRED),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        for table in [
            super::TABLE,
            super::answers::TABLE,
            super::approve::TABLE,
            super::choices::TABLE,
            super::question::TABLE,
        ] {
            crate::base::language::check_table(table);
        }
    }
}
