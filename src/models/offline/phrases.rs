//! The sentences that are understood: a table of templates such as `write <text> to <path>`, and how a
//! sentence is matched against them. The first match counts, so the more exact templates come first.

/// What a sentence asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the helper can do, and who it is.
    Help,
    /// The time.
    Time,
    /// Anything about reminders, which are not supported.
    Reminder,
    /// The state of the board.
    Status,
    /// Run a shell command.
    Run,
    /// Append a text to a file.
    Append,
    /// Write a file.
    Write,
    /// Search files for a text.
    Search,
    /// Find files by name.
    Find,
    /// List a folder.
    List,
    /// Read a file.
    Read,
}

/// The templates, in lower case, without the politeness and punctuation that is removed beforehand.
pub const PHRASES: &[(Kind, &[&str])] = &[
    (
        Kind::Help,
        &[
            "help",
            "help me",
            "?",
            "commands",
            "what commands are there",
            "what can you do",
            "what can you do for me",
            "what can i do",
            "what can i ask",
            "what can i ask you",
            "what else can you do",
            "what do you do",
            "what do you understand",
            "what are you",
            "what are your capabilities",
            "what is this",
            "who are you",
            "who is this",
            "introduce yourself",
            "tell me about yourself",
            "how can you help",
            "how can you help me",
            "how do you work",
            "how does this work",
            "how do i use this",
            "how do i use you",
            "帮助",
            "你能做什么",
            "你能做些什么",
            "你能帮我做什么",
            "你可以做什么",
            "做什么",
            "做些什么",
            "你会做什么",
            "你会什么",
            "你会干什么",
            "能做什么",
            "你有什么功能",
            "有什么功能",
            "怎么用",
            "怎么使用",
            "如何使用",
            "你是谁",
            "你是什么",
            "你叫什么",
            "你叫什么名字",
            "自我介绍",
            "介绍你自己",
            "介绍一下你自己",
        ],
    ),
    (
        Kind::Time,
        &[
            "time",
            "date",
            "what time is it",
            "what's the time",
            "what is the time",
            "what day is it",
            "what is the date",
            "what's the date",
            "时间",
            "现在几点",
            "几点了",
            "现在几点了",
            "今天几号",
            "今天星期几",
        ],
    ),
    (
        Kind::Reminder,
        &[
            "reminders",
            "list reminders",
            "list my reminders",
            "show reminders",
            "show my reminders",
            "what reminders are there",
            "what are my reminders",
            "提醒列表",
            "列出提醒",
            "列出所有提醒",
            "查看提醒",
            "有哪些提醒",
            "我的提醒",
        ],
    ),
    (
        Kind::Status,
        &[
            "status",
            "device status",
            "system status",
            "status of the device",
            "show the status",
            "how is the device",
            "how are you",
            "temperature",
            "how hot is it",
            "disk space",
            "free space",
            "memory",
            "load",
            "uptime",
            "状态",
            "设备状态",
            "系统状态",
            "查看状态",
            "查看设备状态",
            "温度",
            "磁盘空间",
            "内存",
            "负载",
            "运行时间",
        ],
    ),
    (
        Kind::Run,
        &[
            "run the command <text>",
            "run command <text>",
            "run <text>",
            "execute <text>",
            "exec <text>",
            "$ <text>",
            "! <text>",
            "运行命令<text>",
            "执行命令<text>",
            "运行<text>",
            "执行<text>",
        ],
    ),
    (
        Kind::Append,
        &[
            "append to <path>: <text>",
            "append to <path>:\n<text>",
            "append <text> to <path>",
            "add to <path>: <text>",
            "add to <path>:\n<text>",
            "add <text> to <path>",
            "把<text>追加到<path>",
            "将<text>追加到<path>",
            "把<text>加到<path>",
            "追加到<path>：<text>",
            "追加到<path>:<text>",
            "在<path>末尾添加<text>",
            "在<path>中追加<text>",
        ],
    ),
    (
        Kind::Write,
        &[
            "write to <path>: <text>",
            "write to <path>:\n<text>",
            "write <text> to <path>",
            "write <text> into <path>",
            "save <text> to <path>",
            "save <text> as <path>",
            "create the file <path> with <text>",
            "create a file <path> with <text>",
            "create file <path> with <text>",
            "create <path> with <text>",
            "create <path>: <text>",
            "把<text>写入<path>",
            "将<text>写入<path>",
            "把<text>写到<path>",
            "把<text>保存到<path>",
            "将<text>保存到<path>",
            "把<text>存到<path>",
            "写入<path>：<text>",
            "写入<path>:<text>",
            "创建文件<path>，内容是<text>",
            "创建文件<path>，内容为<text>",
            "新建文件<path>，内容是<text>",
        ],
    ),
    (
        Kind::Search,
        &[
            "search for <text> in <path>",
            "search <path> for <text>",
            "search <text> in <path>",
            "grep <text> in <path>",
            "find the text <text> in <path>",
            "find <text> in <path>",
            "search for <text>",
            "search <text>",
            "grep <text>",
            "在<path>中搜索<text>",
            "在<path>里搜索<text>",
            "在<path>中查找<text>",
            "在<path>里查找<text>",
            "搜索<text>",
        ],
    ),
    (
        Kind::Find,
        &[
            "find files named <text>",
            "find the file <text>",
            "find files <text>",
            "find file <text>",
            "where is the file <text>",
            "where is <text>",
            "find <text>",
            "查找文件<text>",
            "寻找文件<text>",
            "找文件<text>",
            "找一下<text>",
            "查找<text>",
        ],
    ),
    (
        Kind::List,
        &[
            "ls",
            "dir",
            "list",
            "list files",
            "list the files",
            "list all files",
            "show files",
            "show the files",
            "show my files",
            "what files are there",
            "which files are there",
            "list files in <path>",
            "list the files in <path>",
            "list all files in <path>",
            "show files in <path>",
            "show the files in <path>",
            "what files are in <path>",
            "which files are in <path>",
            "what is in the folder <path>",
            "what is in the <path> folder",
            "list <path>",
            "ls <path>",
            "dir <path>",
            "列出文件",
            "列出所有文件",
            "有哪些文件",
            "有什么文件",
            "查看文件",
            "显示文件",
            "看看文件",
            "列出<path>里的文件",
            "列出<path>中的文件",
            "列出<path>下的文件",
            "列出<path>的文件",
            "<path>里有哪些文件",
            "<path>里有什么文件",
            "<path>里有什么",
            "<path>下有哪些文件",
            "查看目录<path>",
            "列出目录<path>",
            "列出<path>",
        ],
    ),
    (
        Kind::Read,
        &[
            "what is in <path>",
            "what's in <path>",
            "show me the content of <path>",
            "show the content of <path>",
            "show me <path>",
            "show <path>",
            "read me <path>",
            "read <path>",
            "open <path>",
            "cat <path>",
            "print <path>",
            "读取<path>的内容",
            "查看<path>的内容",
            "看看<path>的内容",
            "显示<path>的内容",
            "读取<path>",
            "读一下<path>",
            "看一下<path>",
            "查看<path>",
            "打开<path>",
            "显示<path>",
            "读<path>",
        ],
    ),
];

/// What a sentence has at a template's placeholders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found<'a> {
    /// At `<path>`: a file or folder, one word unless it is quoted.
    pub path: &'a str,
    /// At `<text>`: anything.
    pub text: &'a str,
}

/// Matches the whole sentence; upper and lower case of ASCII letters are the same. A `<text>` takes
/// as much as it can, a `<path>` as little as it can, and neither may be empty.
pub fn matches<'a>(template: &str, sentence: &'a str) -> Option<Found<'a>> {
    let mut found = Found::default();
    let (mut template, mut rest) = (template, sentence);
    loop {
        let (literal, place) = match template.split_once('<') {
            Some((literal, place)) => (literal, Some(place)),
            None => (template, None),
        };
        rest = strip_prefix(rest, literal)?;
        let Some((name, after)) = place.and_then(|place| place.split_once('>')) else {
            return rest.is_empty().then_some(found);
        };
        let next = after.split('<').next().unwrap_or_default();
        let end = match (next, name) {
            ("", _) => rest.len(),
            _ if after.len() == next.len() => rest.len().checked_sub(next.len())?,
            (_, "text") => position(rest, next, true)?,
            _ => position(rest, next, false)?,
        };
        let value = rest.get(..end)?.trim();
        match name {
            "path" => found.path = path(value)?,
            _ => found.text = Some(unquoted(value)).filter(|value| !value.is_empty())?,
        }
        (template, rest) = (after, &rest[end..]);
    }
}

fn strip_prefix<'a>(text: &'a str, literal: &str) -> Option<&'a str> {
    let begin = text.get(..literal.len())?;
    begin
        .eq_ignore_ascii_case(literal)
        .then(|| &text[literal.len()..])
}

fn position(text: &str, literal: &str, last: bool) -> Option<usize> {
    // Only ASCII letters change, so that the places stay the same.
    let (text, literal) = (text.to_ascii_lowercase(), literal.to_ascii_lowercase());
    if last {
        text.rfind(&literal)
    } else {
        text.find(&literal)
    }
}

/// A file's or folder's name, without the words around it.
fn path(value: &str) -> Option<&str> {
    const BEFORE: [&str; 9] = [
        "the ",
        "my ",
        "file ",
        "folder ",
        "directory ",
        "文件夹",
        "文件",
        "目录",
        "当前",
    ];
    const AFTER: [&str; 6] = [" folder", " directory", " file", "文件夹", "目录", "文件"];
    const HERE: [&str; 10] = [
        "here",
        "workspace",
        "this",
        "it",
        "current",
        "这里",
        "工作区",
        "当前",
        "文件夹",
        "目录",
    ];
    let mut name = value;
    if HERE.iter().any(|here| name.eq_ignore_ascii_case(here)) {
        return Some(".");
    }
    while let Some(rest) = BEFORE.iter().find_map(|word| strip_prefix(name, word)) {
        name = rest.trim_start();
    }
    while let Some(rest) = AFTER.iter().find_map(|word| name.strip_suffix(word)) {
        name = rest.trim_end();
    }
    if name.is_empty() || HERE.iter().any(|here| name.eq_ignore_ascii_case(here)) {
        // It was all words and no name.
        return (!value.is_empty()).then_some(".");
    }
    let bare = unquoted(name);
    let is_one_word = bare.len() < name.len() || !bare.contains(char::is_whitespace);
    (is_one_word && !bare.is_empty()).then_some(bare)
}

/// The text without one pair of quotes around it.
fn unquoted(text: &str) -> &str {
    const QUOTES: [(char, char); 7] = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('‘', '’'),
        ('「', '」'),
        ('《', '》'),
    ];
    let inner = |(open, close): (char, char)| text.strip_prefix(open)?.strip_suffix(close);
    QUOTES.into_iter().find_map(inner).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_finds_the_values_of_its_placeholders() {
        let found = matches("write <text> to <path>", "Write go to bed to My list.txt").unwrap();
        assert_eq!((found.text, found.path), ("go to bed", "list.txt"));
        let found = matches("把<text>写入<path>", "把 “牛奶” 写入 购物.txt").unwrap();
        assert_eq!((found.text, found.path), ("牛奶", "购物.txt"));
        let found = matches("看看<path>的内容", "看看 a.txt 的内容").unwrap();
        assert_eq!(found.path, "a.txt");
        assert_eq!(
            matches("read <path>", "read \"a b.txt\"").unwrap().path,
            "a b.txt"
        );
        assert_eq!(
            matches("list <path>", "list the docs folder").unwrap().path,
            "docs"
        );
        assert_eq!(
            matches("list <path>", "list this folder").unwrap().path,
            "."
        );
        for (template, sentence) in [
            ("read <path>", "read"),
            ("read <path>", "read a b"),
            ("read <path>", "read  "),
            ("help", "help me"),
            ("<text>!", "é"),
            ("把<text>写入<path>", "把写入x"),
        ] {
            assert_eq!(matches(template, sentence), None, "{sentence}");
        }
    }
}
