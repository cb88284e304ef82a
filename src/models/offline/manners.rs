//! Politeness: greetings, thanks, and the words around a request that say nothing about it.

use crate::base::language::{NO, YES};

/// Small talk that is a whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallTalk {
    /// Such as `hi there`.
    Greeting,
    /// Such as `thanks a lot`.
    Thanks,
    /// `yes` or `no`, with nothing else.
    YesOrNo,
}

/// The sentence without politeness and punctuation around it. A greeting before a request is left
/// out; one that is the whole sentence stays.
pub fn core(sentence: &str) -> &str {
    let mut core = sentence.trim();
    while let Some(rest) = without_manners(core) {
        core = rest.trim();
    }
    core
}

/// Whether a message is nothing but small talk.
pub fn small_talk(message: &str) -> Option<SmallTalk> {
    const CHINESE_GREETINGS: &[&str] = &[
        "你好",
        "您好",
        "大家好",
        "嗨",
        "哈喽",
        "哈啰",
        "喂",
        "早",
        "早安",
        "早上好",
        "上午好",
        "中午好",
        "下午好",
        "晚上好",
        "晚安",
        "在",
        "在吗",
        "在么",
    ];
    const CHINESE_THANKS: &[&str] = &[
        "谢谢",
        "谢谢你",
        "谢谢您",
        "多谢",
        "非常感谢",
        "感谢",
        "谢了",
    ];
    const GREETINGS: &[&str] = &[
        "hi",
        "hello",
        "hey",
        "hiya",
        "yo",
        "hola",
        "howdy",
        "greetings",
        "morning",
        "afternoon",
        "evening",
    ];
    const THANKS: &[&str] = &["thanks", "thank", "thx", "ty", "cheers"];
    const FILLERS: &[&str] = &[
        "there", "peacrab", "crabby", "bot", "again", "good", "day", "everyone", "all", "you",
        "very", "so", "much", "many", "a", "lot", "great", "nice", "perfect", "ok", "okay", "my",
        "friend",
    ];
    let bare = message.trim().trim_end_matches([
        '？', '！', '。', '?', '!', '.', '，', ',', '~', '～', '啊', '呀', '哦', '哈',
    ]);
    if CHINESE_GREETINGS.contains(&bare) {
        return Some(SmallTalk::Greeting);
    }
    if CHINESE_THANKS.contains(&bare) {
        return Some(SmallTalk::Thanks);
    }
    let word = bare.to_lowercase();
    if YES.contains(&&*word) || NO.contains(&&*word) {
        return Some(SmallTalk::YesOrNo);
    }
    let lower = message.to_ascii_lowercase();
    let words = || {
        lower
            .split(|char: char| !char.is_alphanumeric())
            .filter(|word| !word.is_empty())
    };
    let has = |list: &[&str]| words().any(|word| list.contains(&word));
    let only = |list: &[&str]| words().all(|word| list.contains(&word) || FILLERS.contains(&word));
    if has(THANKS) && only(THANKS) {
        Some(SmallTalk::Thanks)
    } else if has(GREETINGS) && only(GREETINGS) || bare.eq_ignore_ascii_case("good day") {
        Some(SmallTalk::Greeting)
    } else {
        None
    }
}

fn without_manners(text: &str) -> Option<&str> {
    const BEFORE: &[&str] = &[
        "please ",
        "pls ",
        "plz ",
        "can you ",
        "can u ",
        "could you ",
        "could u ",
        "i want you to ",
        "i need you to ",
        "i'd like you to ",
        "would you ",
        "will you ",
        "hey ",
        "hey, ",
        "hi, ",
        "hello, ",
        "hi! ",
        "hello! ",
        "hi. ",
        "hello. ",
        "now ",
        "你好，",
        "您好，",
        "你好！",
        "您好！",
        "请你",
        "请帮我",
        "请",
        "帮我",
        "麻烦你",
        "麻烦",
        "你能不能",
        "能不能",
        "你可以",
        "给我",
    ];
    const AFTER: &[&str] = &[
        "?", "!", "。", "？", "！", ", please", " please", ", pls", " pls", " plz", ", thanks",
        " now", "吗", "吧", "呢", "一下",
    ];
    let before = BEFORE.iter().find_map(|word| strip(text, word));
    before
        .or_else(|| AFTER.iter().find_map(|word| text.strip_suffix(word)))
        .or_else(|| without_full_stop(text))
        .filter(|rest| !rest.trim().is_empty())
}

fn strip<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let begin = text.get(..word.len())?;
    begin
        .eq_ignore_ascii_case(word)
        .then(|| &text[word.len()..])
}

/// A full stop after a letter ends the sentence; after a space, a stop or a slash it is a folder.
fn without_full_stop(text: &str) -> Option<&str> {
    let rest = text.strip_suffix('.')?;
    rest.ends_with(char::is_alphanumeric).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_talk_is_told_from_requests() {
        for text in [
            "hi",
            "Hello!",
            "hey there",
            "Good morning, Peacrab!",
            "hi hi",
            "Good day",
            "HELLO???",
            "你好",
            "您好！",
            "早上好。",
            "在吗？",
            "你好啊",
        ] {
            assert_eq!(small_talk(text), Some(SmallTalk::Greeting), "{text}");
        }
        for text in [
            "thanks",
            "Thank you very much!",
            "ok thanks",
            "thx",
            "谢谢",
            "谢谢你！",
        ] {
            assert_eq!(small_talk(text), Some(SmallTalk::Thanks), "{text}");
        }
        for text in ["yes", "Yes!", "no", "Nein.", "是"] {
            assert_eq!(small_talk(text), Some(SmallTalk::YesOrNo), "{text}");
        }
        for text in [
            "",
            "?",
            "yes, read notes.txt",
            "read hello",
            "hi5.txt",
            "good",
            "thank the crew",
            "你好吗我很好",
        ] {
            assert_eq!(small_talk(text), None, "{text}");
        }
        assert_eq!(
            core("Hello, can you read notes.txt, please?"),
            "read notes.txt"
        );
        assert_eq!(core("你好，请读取 a.txt"), "读取 a.txt");
    }
}
