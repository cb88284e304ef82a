//! What a chat reads when a server of tools wants to know something.

use std::fmt::Display;

use crate::agent::interview::{Wanted, shown_edge};
use crate::base::chat::TextForm;
use crate::base::language::{Language, texts};

/// What a reply should have been.
pub fn wanted(language: Language, wanted: &Wanted) -> String {
    match wanted {
        Wanted::Choice => choose(language).to_owned(),
        Wanted::Choices(least, most) => some_of(language, least, most),
        Wanted::Flag | Wanted::Button => choose(language).to_owned(),
        Wanted::Number(is_whole, least, most) => {
            let (least, most) = (shown_edge(*least), shown_edge(*most));
            if *is_whole {
                whole_number(language, &least, &most)
            } else {
                number(language, &least, &most)
            }
        }
        Wanted::Something => required(language).to_owned(),
        Wanted::Text(_, _, TextForm::Email) => email(language).to_owned(),
        Wanted::Text(_, _, TextForm::Uri) => uri(language).to_owned(),
        Wanted::Text(_, _, TextForm::Date) => date(language).to_owned(),
        Wanted::Text(_, _, TextForm::DateTime) => time(language).to_owned(),
        Wanted::Text(least, most, TextForm::Free) => {
            let most: &dyn Display = if *most > 100_000 { &"…" } else { most };
            text(language, least, most)
        }
        Wanted::Address => send_address(language).to_owned(),
    }
}

texts! {
    pub fn asks(server) { "The tool server {server} asks:", "工具服务器 {server} 询问：" }
    pub fn login(server) {
        "The tool server {server} needs you to sign in. Open this address in a browser:",
        "工具服务器 {server} 需要你登录。请在浏览器中打开此地址：",
    }
    pub fn open_page() {
        "It asks you to open this page. Check that you know the site before you type anything there:",
        "它请你打开此页面。在页面上输入内容前，请确认你认识该网站：",
    }
    pub fn send_address() {
        "At the end the browser shows an address that begins with http://127.0.0.1; it is fine if that page cannot \
         be opened. Copy the whole address and send it here.",
        "最后浏览器会显示以 http://127.0.0.1 开头的地址，页面打不开也没关系。请复制完整地址并发送到这里。",
    }
    pub fn go_on() { "May it go on?", "可以继续吗？" }
    pub fn choose() { "Press a button, or send the answer.", "请按按钮，或发送答案。" }
    pub fn choose_several() {
        "Send the numbers of your choices, with commas between them.",
        "请发送所选项的编号，用逗号分隔。",
    }
    pub fn write() {
        "Send the answer as a message. Send no passwords here.",
        "请把答案作为消息发送。请勿在此发送密码。",
    }
    pub fn done() { "✓ Done", "✓ 完成" }
    pub fn yes() { "Yes", "是" }
    pub fn no() { "No", "否" }
    pub fn skip() { "Skip", "跳过" }
    pub fn keep(value) { "Keep: {value}", "保留：{value}" }
    pub fn decline() { "✗ Decline", "✗ 拒绝" }
    pub fn declined(server) { "{server} gets no answer.", "未向 {server} 提供答案。" }
    pub fn no_answer(server) {
        "No answer came in time: {server} gets none.",
        "未及时收到答案：{server} 没有得到答案。",
    }
    /// The answer to a late `/answer`.
    pub fn nothing_asked() {
        "No question is open here. It may have been answered already, or it took too long.",
        "这里没有待回答的问题。可能已经回答过，或已超时。",
    }
    /// The answer to an `/answer` before its question was shown.
    pub fn not_asked_yet() {
        "That came before the question was shown. Answer the one that is shown now.",
        "这条回答在问题显示之前就到了。请回答现在显示的问题。",
    }
    /// The answer to a late button, while another value is asked for.
    pub fn answered_before() {
        "This was answered already. The newest question is the one that is open.",
        "这一项已经回答过。请回答最新的问题。",
    }
    fn some_of(least, most) {
        "Send {least} to {most} of the numbers, with commas between them.",
        "请发送 {least} 到 {most} 个编号，用逗号分隔。",
    }
    fn required() { "This cannot be left out.", "此项必填。" }
    pub fn email() { "Send an e-mail address.", "请发送电子邮件地址。" }
    pub fn uri() { "Send an address such as https://example.org.", "请发送地址，例如 https://example.org。" }
    pub fn date() { "Send a date such as 2026-11-30.", "请发送日期，例如 2026-11-30。" }
    pub fn time() {
        "Send a time such as 2026-11-30T17:30:00+01:00.",
        "请发送时间，例如 2026-11-30T17:30:00+01:00。",
    }
    fn whole_number(least, most) {
        "Send a whole number ({least} to {most}).",
        "请发送一个整数（{least} 到 {most}）。",
    }
    fn number(least, most) { "Send a number ({least} to {most}).", "请发送一个数字（{least} 到 {most}）。" }
    fn text(least, most) {
        "Send {least} to {most} characters.",
        "请发送 {least} 到 {most} 个字符的文本。",
    }
}
