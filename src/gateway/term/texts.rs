//! What people read about terminals, in each language.

use crate::base::language::texts;

texts! {
    pub fn none_open() {
        "No terminal is open here. /term opens one.",
        "这里没有打开的终端。用 /term 打开一个。",
    }
    pub fn already_open() {
        "A terminal is already open here. /term close closes it.",
        "这里已有一个打开的终端。用 /term close 关闭它。",
    }
    pub fn too_many(count) {
        "{count} terminals are open already. Close one of them first.",
        "已有 {count} 个打开的终端。请先关闭其中一个。",
    }
    /// In a group, to the others.
    pub fn not_yours() {
        "Only the person who opened this terminal can type into it.",
        "只有打开此终端的人才能在其中输入。",
    }
    /// `columns` and `rows` are spans such as "20-132".
    pub fn bad_size(columns, rows, cells) {
        "A terminal has {columns} columns, {rows} rows and at most {cells} characters. Example: `/term 60x24`",
        "终端为 {columns} 列、{rows} 行，最多 {cells} 个字符。示例：`/term 60x24`",
    }
    pub fn key_usage() {
        "Which key? Examples: `/key ctrl-x y`, `/key up enter`, `/key \"some text\" enter`",
        "请指明按键。示例：`/key ctrl-x y`、`/key up enter`、`/key \"一些文字\" enter`",
    }
    /// `word` is inline code.
    pub fn unknown_key(word) {
        "Unknown key {word}. Keys: enter, tab, esc, space, backspace, delete, up, down, left, right, home, end, pgup, pgdn, \
         f1 to f12, ctrl-x, alt-x. Text is in quotes: `/key \"some text\" enter`",
        "未知按键 {word}。可用按键：enter、tab、esc、space、backspace、delete、up、down、left、right、home、end、pgup、pgdn、\
         f1 到 f12、ctrl-x、alt-x。文字请加引号：`/key \"一些文字\" enter`",
    }
    pub fn unclosed() {
        "A quotation mark is not closed. Example: `/key \"some text\" enter`",
        "引号没有闭合。示例：`/key \"一些文字\" enter`",
    }
    pub fn too_many_keys(count) {
        "At most {count} keys at a time.",
        "一次最多 {count} 个按键。",
    }
    pub fn input_full() {
        "The program in the terminal does not read its input. Your text was not typed.",
        "终端中的程序没有读取输入，你的文字未被输入。",
    }
    /// Below the screen, while the program asks for a password.
    pub fn secret() {
        "🔑 The input is hidden. Your next message is typed in as a secret, and deleted here.",
        "🔑 输入不回显。你的下一条消息将作为机密输入，并在此处删除。",
    }
    /// The same in a group, where not every message reaches the bot, and where it may not be allowed to delete any.
    pub fn secret_in_group() {
        "🔑 The input is hidden. Reply to this message with the secret. It is typed in, and deleted here if I may delete messages.",
        "🔑 输入不回显。请回复此消息来提供机密内容：它会被输入；如果我有权删除消息，还会在此处删除。",
    }
    /// A secret came from a person who was the owner when the terminal was opened.
    pub fn secret_refused() {
        "Only owners can type into a terminal. Your message was deleted, and not typed in.",
        "只有所有者可以在终端中输入。你的消息已删除，未被输入。",
    }
    /// A secret came when no program asked for it any more.
    pub fn late_secret() {
        "The program no longer asks for the secret. Your message was deleted, and not typed in.",
        "程序已不再要求输入机密内容。你的消息已删除，未被输入。",
    }
    /// Below the screen.
    pub fn outside() { "*Outside the sandbox*", "*在沙箱之外*" }
    /// The program has ended; `end` is such as "exit status 0".
    pub fn ended(end) { "*Terminal closed: {end}*", "*终端已关闭：{end}*" }
    pub fn closed() { "*Terminal closed*", "*终端已关闭*" }
    pub fn idle(hours) {
        "*Terminal closed: nothing was typed for {hours} hours*",
        "*终端已关闭：{hours} 小时没有输入*",
    }
    pub fn restarted() {
        "*The terminal was closed by a restart.*",
        "*终端因重启而关闭。*",
    }
    pub fn not_owner() {
        "*Terminal closed: only owners can use one*",
        "*终端已关闭：只有所有者可以使用终端*",
    }
    pub fn picture_button() { "Screenshot", "截图" }
    pub fn close_button() { "Close", "关闭" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_has_its_values_in_both_languages() {
        crate::base::language::check_table(super::TABLE);
    }
}
