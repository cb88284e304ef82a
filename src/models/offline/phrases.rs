//! The sentences that are understood: a table of templates such as `write <text> to <path>`, and how a
//! sentence is matched against them. The first match counts, so the more exact templates come first.

/// What a sentence asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the helper can do, and who it is.
    Help,
    /// The time.
    Time,
    /// Anything about reminders that is not understood.
    Reminder,
    /// What is planned.
    Reminders,
    /// The state of the board.
    Status,
    /// The same, and only how hot it is.
    Temperature,
    /// The same, and only the disk.
    Disk,
    /// The same, and only the memory.
    Memory,
    /// The same, and only the load.
    Load,
    /// The same, and only the network with its addresses.
    Address,
    /// The same, and only since when it runs.
    Uptime,
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
        Kind::Reminders,
        &[
            "reminders",
            "my reminders",
            "jobs",
            "list reminders",
            "list my reminders",
            "list jobs",
            "show reminders",
            "show my reminders",
            "show jobs",
            "what reminders are there",
            "what reminders do i have",
            "which reminders are there",
            "what are my reminders",
            "what is planned",
            "what's planned",
            "do i have reminders",
            "do i have any reminders",
            "提醒",
            "提醒列表",
            "列出提醒",
            "列出所有提醒",
            "查看提醒",
            "查看我的提醒",
            "有哪些提醒",
            "有什么提醒",
            "我有哪些提醒",
            "我的提醒",
            "任务列表",
        ],
    ),
    (
        Kind::Temperature,
        &[
            "temperature",
            "temp",
            "the temperature",
            "cpu temperature",
            "cpu temp",
            "show the temperature",
            "show temperature",
            "what is the temperature",
            "what's the temperature",
            "what is the cpu temperature",
            "what's the cpu temperature",
            "what temperature is it",
            "how hot is it",
            "how hot are you",
            "how hot is the cpu",
            "how hot is the pi",
            "how hot is the board",
            "how warm is the board",
            "how warm is the board, and what uses most of it",
            "板子温度多少？什么占用最多",
            "how warm is the pi",
            "how warm is the cpu",
            "what is the temperature of the board",
            "what's the temperature of the board",
            "how hot is the raspberry pi",
            "how warm is it",
            "how warm are you",
            "are you hot",
            "is it hot",
            "is it too hot",
            "is it overheating",
            "are you overheating",
            "throttling",
            "is it throttled",
            "are you throttled",
            "温度",
            "温度多少",
            "温度是多少",
            "温度怎么样",
            "多少度",
            "现在多少度",
            "现在温度多少",
            "cpu温度",
            "cpu 温度",
            "cpu温度多少",
            "板子温度",
            "板子热不热",
            "查看温度",
            "显示温度",
            "热不热",
            "有多热",
        ],
    ),
    (
        Kind::Disk,
        &[
            "disk",
            "disk space",
            "disk usage",
            "free disk space",
            "free space",
            "space",
            "storage",
            "df",
            "df -h",
            "how much disk",
            "how much disk is left",
            "how much disk is free",
            "how much disk do i have",
            "how much disk space is there",
            "how much disk space",
            "how much disk space is left",
            "how much disk space is free",
            "how much disk space do i have",
            "how much disk space do you have",
            "how much space",
            "how much space is left",
            "how much space is free",
            "how much space do i have",
            "how much space do i have left",
            "how much free space is there",
            "how much storage is left",
            "how full is the disk",
            "how full is the card",
            "how full is the sd card",
            "is the disk full",
            "is the sd card full",
            "show disk space",
            "show the disk space",
            "show disk usage",
            "磁盘",
            "磁盘空间",
            "磁盘使用情况",
            "硬盘",
            "硬盘空间",
            "存储",
            "存储空间",
            "剩余空间",
            "剩余磁盘空间",
            "还有多少空间",
            "还剩多少空间",
            "还有多少磁盘空间",
            "还剩多少磁盘空间",
            "磁盘还有多少空间",
            "磁盘还剩多少",
            "磁盘满了",
            "磁盘满了没有",
            "sd卡还有多少空间",
            "查看磁盘",
            "查看磁盘空间",
        ],
    ),
    (
        Kind::Memory,
        &[
            "memory",
            "memory usage",
            "ram",
            "free memory",
            "free ram",
            "free",
            "how much memory",
            "how much memory is free",
            "how much memory is left",
            "how much memory is used",
            "how much memory do you have",
            "how much memory do i have",
            "how much ram",
            "how much ram is free",
            "how much ram is left",
            "how much ram is used",
            "how much ram do you have",
            "how much ram do i have",
            "how much free memory is there",
            "is the memory full",
            "show memory",
            "show the memory",
            "show memory usage",
            "内存",
            "内存使用情况",
            "内存使用",
            "内存还有多少",
            "内存还剩多少",
            "还有多少内存",
            "还剩多少内存",
            "剩余内存",
            "有多少内存",
            "内存多大",
            "内存多少",
            "查看内存",
        ],
    ),
    (
        Kind::Load,
        &[
            "load",
            "cpu",
            "cpu load",
            "cpu usage",
            "the load",
            "what is the load",
            "what's the load",
            "how busy are you",
            "how busy is it",
            "how busy is the cpu",
            "are you busy",
            "负载",
            "cpu负载",
            "cpu 负载",
            "cpu使用率",
            "cpu 使用率",
            "系统负载",
            "负载多少",
            "忙不忙",
            "查看负载",
        ],
    ),
    (
        Kind::Address,
        &[
            "address",
            "addresses",
            "ip",
            "my ip",
            "ip address",
            "my ip address",
            "your ip",
            "your ip address",
            "ip a",
            "ip addr",
            "the ip",
            "the ip address",
            "network",
            "network status",
            "wifi",
            "wi-fi",
            "what is the ip",
            "what's the ip",
            "what is my ip",
            "what's my ip",
            "what is your ip",
            "what's your ip",
            "what is the ip address",
            "what's the ip address",
            "what is my ip address",
            "what's my ip address",
            "what is your ip address",
            "what's your ip address",
            "what is your address",
            "what's your address",
            "what is the address",
            "what's the address",
            "what ip do you have",
            "which ip do you have",
            "what address do you have",
            "show ip",
            "show the ip",
            "show ip address",
            "show the ip address",
            "show the network",
            "are you online",
            "are you connected",
            "is the network up",
            "地址",
            "ip地址",
            "ip 地址",
            "网络",
            "网络状态",
            "网络地址",
            "网络怎么样",
            "你的ip",
            "你的 ip",
            "你的ip地址",
            "你的ip地址是什么",
            "你的ip地址是多少",
            "你的地址",
            "你的地址是什么",
            "我的ip是什么",
            "我的ip地址是什么",
            "你的ip是什么",
            "你的ip是多少",
            "我的ip",
            "我的ip地址",
            "ip是多少",
            "ip 是多少",
            "ip是什么",
            "ip地址是多少",
            "ip 地址是多少",
            "ip地址是什么",
            "查看ip",
            "查看ip地址",
            "查看网络",
            "联网了",
        ],
    ),
    (
        Kind::Uptime,
        &[
            "uptime",
            "the uptime",
            "what is the uptime",
            "what's the uptime",
            "what is your uptime",
            "what's your uptime",
            "how long have you been up",
            "how long have you been running",
            "how long have you been on",
            "how long has it been up",
            "how long has it been running",
            "how long has the board been running",
            "how long has the board been up",
            "how long has the board been on",
            "how long has the pi been running",
            "how long has the pi been up",
            "how long is it up",
            "how long are you up",
            "since when are you up",
            "since when are you running",
            "when were you started",
            "when were you booted",
            "when did you start",
            "when did you boot",
            "when was the last reboot",
            "when was the last restart",
            "last reboot",
            "运行时间",
            "运行了多久",
            "运行多久",
            "运行多久了",
            "已经运行多久",
            "已经运行多久了",
            "你运行多久了",
            "开机多久",
            "开机多久了",
            "开机时间",
            "开了多久",
            "什么时候开机的",
            "什么时候启动的",
            "上次重启是什么时候",
        ],
    ),
    (
        Kind::Status,
        &[
            "status",
            "state",
            "health",
            "device status",
            "system status",
            "board status",
            "status of the device",
            "status of the board",
            "show the status",
            "show status",
            "system info",
            "system information",
            "how is the device",
            "how is the board",
            "how is the pi",
            "how is it going",
            "how are you",
            "how are you doing",
            "are you ok",
            "are you okay",
            "is everything ok",
            "is everything okay",
            "状态",
            "设备状态",
            "系统状态",
            "系统信息",
            "板子状态",
            "开发板状态",
            "查看状态",
            "查看设备状态",
            "查看系统状态",
            "你怎么样",
            "你还好",
            "一切正常",
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
