//! Every key of the configuration: its path, what it wants, its default and its meaning.
//!
//! JSON has no comments, so this is what `peacrab config explain` prints. A test holds it and the
//! structs of `schema` together.

use serde_json::Value;

/// One key. `*` in the path stands for a name that the person chooses.
#[derive(Debug)]
pub struct Key {
    /// The path, such as `providers.*.apiKey`.
    pub path: &'static str,
    /// What it wants.
    pub kind: Kind,
    /// Whether null is a value of its own. For any other key it means "the default".
    pub nullable: bool,
    /// The default, as JSON.
    pub default: &'static str,
    /// What it is for, in a sentence.
    pub meaning: &'static str,
}

/// What a key wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// true or false.
    Flag,
    /// A whole number within both ends.
    Whole(u64, u64),
    /// A number within both ends.
    Real(f64, f64),
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any texts.
    Texts,
    /// An `http` or `https` address, or nothing.
    Url,
    /// A path from the root or from `~`, or nothing.
    Path,
    /// Such paths.
    Paths,
    /// The name of a time zone, or `auto`.
    Zone,
    /// A text that must not be seen.
    Secret,
    /// An object of such texts.
    Secrets,
    /// Any object.
    Object,
}

use Kind::{Choice, Flag, Object, Paths, Real, Secrets, Text, Texts, Url, Whole, Zone};

use crate::json;

/// Every key, in the order in which it is shown.
#[rustfmt::skip]
pub static KEYS: &[Key] = &[
    key("agents.defaults.workspace", Kind::Path, r#""""#, "The folder that the agent works in; empty: the folder `workspace` in the home folder."),
    key("agents.defaults.provider", Text, r#""auto""#, "The provider that is asked. It wins over every other rule; auto: the model's name decides, then the first provider that has a key."),
    key("agents.defaults.model", Text, r#""""#, "The model; empty: the default of the first provider that has a key. Without any key the offline helper answers."),
    key("agents.defaults.fallbackModels", Texts, "[]", "Models that are tried in this order when the first fails for a reason that another could survive."),
    key("agents.defaults.maxTokens", Whole(1, 1_000_000), "8192", "Most tokens of one answer."),
    key("agents.defaults.contextWindowTokens", Whole(1_000, 10_000_000), "128000", "The size of the model's window in tokens; a request is kept within it."),
    key("agents.defaults.temperature", Real(0.0, 2.0), "0.1", "Sampling temperature; null: not sent.").or_null(),
    key("agents.defaults.reasoningEffort", Choice(&["low", "medium", "high"]), "null", "How hard a reasoning model thinks; null: not sent.").or_null(),
    key("agents.defaults.maxToolIterations", Whole(1, 1_000), "40", "Most steps of one turn; then the agent says how far it came."),
    key("agents.defaults.memoryWindow", Whole(2, 100_000), "100", "Most entries of a conversation's history in a request."),
    key("agents.defaults.maxToolResultChars", Whole(500, 1_000_000), "16000", "Characters of a tool's result that the model sees; the rest goes to a file in the workspace that the result names."),
    key("agents.defaults.maxParallelTurns", Whole(1, 16), "2", "Most turns at a time over all conversations; one conversation never runs two."),
    key("agents.defaults.timezone", Zone, r#""auto""#, "The time zone, such as Europe/Zurich; auto: the system's."),
    key("providers.*.apiKey", Kind::Secret, r#""""#, "The key. ${NAME} takes it from the environment, file:PATH from a file; empty: from the provider's own variable, such as OPENAI_API_KEY."),
    key("providers.*.apiBase", Url, r#""""#, "The endpoint; empty: the provider's own. With it, any name is an OpenAI-compatible endpoint."),
    key("providers.*.apiType", Choice(&["auto", "openai", "anthropic", "offline"]), r#""auto""#, "The format that the endpoint speaks; auto: as is known of the provider, else openai."),
    key("providers.*.extraHeaders", Secrets, "{}", "Headers that are added to each request."),
    key("providers.*.extraBody", Object, "{}", "Members that are added to the body of each request."),
    key("providers.*.proxy", Kind::Secret, "null", "The URL of a proxy; null: from HTTPS_PROXY and its like.").or_null(),
    key("providers.*.timeoutSecs", Whole(1, 3_600), "120", "Seconds within which an answer has to begin."),
    key("providers.*.streamIdleTimeoutSecs", Whole(1, 3_600), "90", "Seconds of silence that end an answer that has begun."),
    key("providers.*.images", Flag, "null", "Send images to its models. null decides by the model's name; set true for a server of your own whose model understands images.").or_null(),
    key("channels.sendProgress", Flag, "true", "Whether people see what a turn says on its way to the answer."),
    key("channels.sendToolHints", Flag, "true", "Whether people see which tools run."),
    key("channels.sendMaxRetries", Whole(0, 100), "5", "Quick tries for something that could not be sent; then it waits longer and is tried again."),
    key("channels.telegram.enabled", Flag, "false", "Whether `peacrab gateway` talks on Telegram."),
    key("channels.telegram.token", Kind::Secret, r#""""#, "The bot's token, from @BotFather. ${NAME} takes it from the environment, file:PATH from a file."),
    key("channels.telegram.apiBase", Url, r#""https://api.telegram.org""#, "The Bot API's address; a Bot API server of your own is one too."),
    key("channels.telegram.allowFrom", Texts, "[]", "Who may speak with it: numeric ids, or names with an @. Empty: nobody but those who were paired; *: everyone."),
    key("channels.telegram.proxy", Kind::Secret, "null", "The URL of a proxy; null: from HTTPS_PROXY and its like.").or_null(),
    key("channels.telegram.groupPolicy", Choice(&["mention", "open", "off"]), r#""mention""#, "When a message in a group is for the agent. mention: when it names the bot, answers it or is a command; open: always; off: never."),
    key("channels.telegram.replyToMessage", Flag, "false", "Whether answers quote the message that they answer."),
    key("channels.telegram.streaming", Flag, "true", "Whether an answer is shown while it comes, by editing one message."),
    key("channels.telegram.streamEditIntervalMs", Whole(300, 60_000), "1000", "Milliseconds between two edits of an answer that comes."),
    key("channels.telegram.reactEmoji", Text, r#""👀""#, "The reaction that says that a message was taken; empty: none."),
    key("channels.discord.enabled", Flag, "false", "Connect to Discord when `peacrab gateway` runs."),
    key("channels.discord.token", Kind::Secret, r#""""#, "The bot's token, from the page \"Bot\" of your application at https://discord.com/developers/applications. ${NAME} takes it from the environment, file:PATH from a file."),
    key("channels.discord.apiBase", Url, r#""https://discord.com/api/v10""#, "Address of Discord's API, with its version."),
    key("channels.discord.allowFrom", Texts, "[]", "Who may use the bot: numeric user ids, or user names with an @. Empty: only people who were paired; *: everyone."),
    key("channels.discord.proxy", Kind::Secret, "null", "URL of a proxy. null uses HTTPS_PROXY and the like from the environment.").or_null(),
    key("channels.discord.groupPolicy", Choice(&["mention", "open", "off"]), r#""mention""#, "Which messages in servers are for the agent. mention: those that mention the bot or reply to it, and slash commands; open: all in the channels that it can see (needs the message content intent); off: none."),
    key("channels.discord.replyToMessage", Flag, "false", "Send answers as replies to the message that they answer."),
    key("channels.discord.streaming", Flag, "true", "Show answers while they are being written, by editing one message."),
    key("channels.discord.streamEditIntervalMs", Whole(300, 60_000), "1000", "Least time between two edits of an answer that is being written, in milliseconds."),
    key("channels.discord.reactEmoji", Text, r#""👀""#, "Reaction that a message gets when it was accepted. Empty: none."),
    key("tools.restrictToWorkspace", Flag, "true", "Whether tools see only the workspace and the paths below."),
    key("tools.allowedPaths", Paths, "[]", "Further folders that tools may read and write, if they exist when the program starts."),
    key("tools.readOnlyPaths", Paths, "[]", "Further folders that tools may read, if they exist when the program starts."),
    key("tools.exec.enabled", Flag, "true", "Whether there are commands."),
    key("tools.exec.timeout", Whole(1, 86_400), "60", "Seconds that a command gets when its call names none."),
    key("tools.exec.maxTimeout", Whole(1, 86_400), "600", "Seconds that a call may ask for."),
    key("tools.exec.sandbox", Choice(&["auto", "namespaces", "landlock", "off"]), r#""auto""#, "The walls around commands. auto: all that work here, and at least namespaces or Landlock; off: none, commands reach what this account reaches."),
    key("tools.exec.network", Flag, "true", "Whether commands reach the network."),
    key("tools.exec.approval", Choice(&["never", "escalation", "risky", "always"]), r#""escalation""#, "When a person is asked. escalation: when a command is to run outside the sandbox; risky: also when a built-in pattern calls it risky."),
    key("tools.exec.denyPatterns", Texts, "[]", "Patterns that forbid a command, beside the built-in ones."),
    key("tools.exec.allowPatterns", Texts, "[]", "When there are any, every command of a line has to match one."),
    key("tools.exec.allowedEnvKeys", Texts, "[]", "Variables of the environment that commands get too."),
    key("tools.exec.pathAppend", Text, r#""""#, "Folders put behind PATH, with colons between them."),
    key("tools.protectedPaths", Paths, "[]", "Files and folders that tools never write, even inside a folder that they may write."),
    key("storage.fsync", Choice(&["always", "turn"]), r#""always""#, "When a conversation is forced to the disk: after every entry, or at the end of a turn (spares the card; a power cut costs the turn)."),
    key("storage.inboxMaxMb", Whole(0, 1_000_000), "512", "Maximum size of the received files in the workspace's inbox folder, in megabytes. Beyond it the oldest are deleted, but none younger than a day and none that a waiting message needs. 0: no limit."),
    key("storage.journalMaxMb", Whole(1, 10_000), "4", "Maximum size of one conversation's journal, in megabytes. When it grows beyond that, everything that no longer goes to the model moves to sessions/archive."),
    key("storage.archiveMaxMb", Whole(0, 1_000_000), "64", "Maximum size of sessions/archive over all conversations, in megabytes. The oldest files are deleted. 0 keeps no archive."),
    key("limits.tokensPerDay", Whole(0, u64::MAX), "0", "Tokens a day over all models; what is over is refused with a clear message. 0: no limit."),
    key("tls.caFile", Kind::Path, "null", "A PEM file of certificates that are trusted besides the built-in ones.").or_null(),
    key("tls.localServerUsers", Texts, "[]", "Users, by name or number, whose servers on this machine get API keys and tokens over http://, besides root and the account itself. *: anybody, also a command of the agent's that takes the server's port."),
    key("log.level", Choice(&["off", "error", "warn", "info", "debug", "trace"]), r#""info""#, "How much is logged to standard error."),
    key("log.format", Choice(&["text", "json"]), r#""text""#, "The form of the log: lines for people, or one JSON object a line."),
];

const fn key(path: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Key {
    Key {
        path,
        kind,
        nullable: false,
        default,
        meaning,
    }
}

impl Key {
    const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// Whether its value must not be seen.
    pub fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret | Kind::Secrets)
    }

    /// The default as a value.
    pub fn default_value(&self) -> Value {
        json::from_str(self.default).unwrap_or_default()
    }

    /// The path's names, with the person's own in the place of `*`; none when the path is not this
    /// key's. A name may hold dots, as that of a host does.
    pub fn split<'a>(&self, path: &'a str) -> Option<Vec<&'a str>> {
        let Some((before, after)) = self.path.split_once('*') else {
            return (path == self.path).then(|| path.split('.').collect());
        };
        let name = path.strip_prefix(before)?.strip_suffix(after)?;
        let mut names: Vec<&str> = path[..before.len() - 1].split('.').collect();
        names.push(name);
        names.extend(path[before.len() + name.len() + 1..].split('.'));
        (!name.is_empty()).then_some(names)
    }

    /// The value that a person means by a text on the command line or in the environment: JSON, or
    /// a bare text where the key wants one.
    pub fn parse(&self, text: &str) -> Value {
        let bare = || Value::String(text.to_owned());
        let parsed = json::from_str(text);
        match self.kind {
            Text | Url | Zone | Choice(_) | Kind::Path | Kind::Secret => match parsed {
                Ok(value @ (Value::String(_) | Value::Null)) => value,
                _ => bare(),
            },
            _ => parsed.unwrap_or_else(|_| bare()),
        }
    }

    /// The variable that sets the key at the path.
    pub fn variable(&self, path: &str) -> String {
        let names = self.split(path).unwrap_or_default();
        let upper: Vec<String> = std::iter::zip(self.path.split('.'), names)
            .map(|(known, name)| match known {
                "*" => upper_name(name),
                _ => upper_snake(name),
            })
            .collect();
        format!("{VARIABLE_PREFIX}{}", upper.join(VARIABLE_JOINT))
    }
}

/// How the variables that set a key begin.
pub const VARIABLE_PREFIX: &str = "PEACRAB_";

/// What stands between the levels of a key in a variable's name.
pub const VARIABLE_JOINT: &str = "__";

impl Kind {
    /// What it wants, to be read after "wants".
    pub fn wants(&self) -> String {
        match self {
            Flag => "true or false".to_owned(),
            Whole(least, u64::MAX) => format!("a whole number, at least {least}"),
            Whole(least, most) => format!("a whole number from {least} to {most}"),
            Real(least, most) => format!("a number from {least} to {most}"),
            Text => "a text".to_owned(),
            Choice(words) => format!("one of {}", words.join(", ")),
            Texts => r#"a list of texts, such as ["one", "two"]"#.to_owned(),
            Url => "an address that begins with http:// or https://".to_owned(),
            Kind::Path => "a path that begins with / or ~/".to_owned(),
            Paths => r#"a list of paths that begin with / or ~/, such as ["/srv/data"]"#.to_owned(),
            Zone => "auto, or the name of a time zone such as Europe/Zurich".to_owned(),
            Kind::Secret => "a text, ${NAME} or file:PATH".to_owned(),
            Secrets => r#"an object of texts, such as {"X-Name": "value"}"#.to_owned(),
            Object => "an object, such as {\"name\": 1}".to_owned(),
        }
    }
}

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A key.
    Key(&'static Key),
    /// An object that holds keys; the text is its pattern, such as `providers.*`.
    Section(&'static str),
}

/// The place with the given name within a section (`""` is the whole file), and the name as the
/// table has it: `api_key` is read as `apiKey`, a name that the person chose stays as it is.
pub fn step(section: &str, name: &str) -> Option<(Place, String)> {
    let camel = camel_case(name);
    KEYS.iter().find_map(|key| {
        let rest = key.path.strip_prefix(section)?;
        let rest = match section {
            "" => rest,
            _ => rest.strip_prefix('.')?,
        };
        let (first, deeper) = match rest.split_once('.') {
            Some((first, _)) => (first, true),
            None => (rest, false),
        };
        let chosen = first == "*";
        if !chosen && first != camel {
            return None;
        }
        let end = key.path.len() - rest.len() + first.len();
        let place = match deeper {
            true => Place::Section(&key.path[..end]),
            false => Place::Key(key),
        };
        Some((place, if chosen { name } else { &camel }.to_owned()))
    })
}

/// The pattern of the section that a path leads to, such as `providers.*`; `""` is the whole file.
pub fn section(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("");
    }
    path.split('.')
        .try_fold("", |section, name| match step(section, name)?.0 {
            Place::Section(pattern) => Some(pattern),
            Place::Key(_) => None,
        })
}

/// The key that a path names, in camelCase.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.split(path).is_some())
}

/// The key that a person names, in camelCase or snake_case, and its path in camelCase.
pub fn find_spelt(path: &str) -> Option<(&'static Key, String)> {
    if let Some(key) = find(path) {
        return Some((key, path.to_owned()));
    }
    let mut names = Vec::new();
    let mut place = Place::Section("");
    for name in path.split('.') {
        let Place::Section(section) = place else {
            return None;
        };
        let (next, spelt) = step(section, name)?;
        place = next;
        names.push(spelt);
    }
    match place {
        Place::Key(key) => Some((key, names.join("."))),
        Place::Section(_) => None,
    }
}

/// The keys within a section; all for `""`.
pub fn within(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| {
        section.is_empty()
            || key
                .path
                .strip_prefix(section)
                .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The names directly within a section, each once.
pub fn names_within(section: &str) -> Vec<&'static str> {
    let depth = if section.is_empty() {
        0
    } else {
        section.split('.').count()
    };
    let mut names: Vec<_> = within(section)
        .filter_map(|key| key.path.split('.').nth(depth))
        .collect();
    names.dedup();
    names
}

/// `max_tokens` as `maxTokens`; other names as they are.
pub fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.peek() {
            Some(next) if letter == '_' && !camel.is_empty() && next.is_ascii_lowercase() => {
                camel.push(next.to_ascii_uppercase());
                letters.next();
            }
            _ => camel.push(letter),
        }
    }
    camel
}

/// `maxTokens` as `MAX_TOKENS`.
pub fn upper_snake(name: &str) -> String {
    let mut upper = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            upper.push('_');
        }
        upper.push(letter.to_ascii_uppercase());
    }
    upper
}

/// A name that a person chose, as it stands in a variable: `my-host` as `MY_HOST`.
pub fn upper_name(name: &str) -> String {
    name.chars()
        .map(|letter| match letter.is_ascii_alphanumeric() {
            true => letter.to_ascii_uppercase(),
            false => '_',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::super::schema::Config;
    use super::*;
    use serde_json::json;

    /// The configuration, printed, with one key set; the provider `x` is always there.
    fn printed(path: &str, value: Option<Value>) -> String {
        let mut file = json!({"providers": {"x": {}}});
        if let Some(value) = value {
            let mut place = &mut file;
            for name in path.split('.') {
                place = &mut place[name];
            }
            *place = value;
        }
        let config: Config = serde_json::from_value(file).expect(path);
        format!("{config:#?}")
    }

    /// A value that the key takes and that is not its default.
    fn another(key: &Key) -> Value {
        match key.kind {
            Flag => json!(key.default != "true"),
            Whole(_, most) => json!(most),
            Real(_, most) => json!(most),
            Choice(words) => json!(words[usize::from(key.default_value() == words[0])]),
            Texts | Paths => json!(["/a"]),
            Url => json!("http://a"),
            Text | Zone | Kind::Path | Kind::Secret => json!("/a"),
            Secrets | Object => json!({"a": "/a"}),
        }
    }

    #[test]
    fn each_key_has_its_default_from_the_structs_and_changing_it_is_seen() {
        let untouched = printed("", None);
        for key in KEYS {
            let path = key.path.replace('*', "x");
            assert_eq!(
                printed(&path, Some(key.default_value())),
                untouched,
                "{path}"
            );
            let value = another(key);
            assert_eq!(check::problem(key, &path, &value, false), None);
            assert_ne!(printed(&path, Some(value)), untouched, "{path}");
        }
    }

    #[test]
    fn each_value_at_the_end_of_its_range_fits_the_structs() {
        for key in KEYS {
            let path = key.path.replace('*', "x");
            match key.kind {
                Whole(least, most) => {
                    printed(&path, Some(json!(least)));
                    printed(&path, Some(json!(most)));
                }
                Choice(words) => words
                    .iter()
                    .for_each(|word| drop(printed(&path, Some(json!(word))))),
                _ => {}
            }
            if key.nullable {
                printed(&path, Some(Value::Null));
            }
        }
    }

    /// The structs' names are what their derived `Debug` prints: four spaces a level.
    #[test]
    fn each_field_of_the_structs_is_a_key() {
        let mut names: Vec<String> = Vec::new();
        let mut fields = 0;
        for line in printed("", None).lines() {
            let depth = line.len() - line.trim_start().len();
            let Some((name, value)) = line.trim().split_once(": ") else {
                continue;
            };
            names.truncate(depth / 4 - 1);
            names.push(camel_case(name.trim_matches('"')));
            let is_section = value.ends_with('{');
            if !is_section {
                let path = names.join(".");
                assert!(
                    find(&path).is_some(),
                    "{path} is in the structs, but not in the table"
                );
                fields += 1;
            }
        }
        assert_eq!(fields, KEYS.len());
    }

    #[test]
    fn a_path_is_split_at_the_name_that_a_person_chose_even_with_dots_in_it() {
        let key = find("providers.my.own.host.apiKey").unwrap();
        assert_eq!(key.path, "providers.*.apiKey");
        assert_eq!(
            key.split("providers.my.own.host.apiKey").unwrap(),
            ["providers", "my.own.host", "apiKey"]
        );
        assert!(find("providers..apiKey").is_none());
        assert!(find("providers.apiKey").is_none());
        let (key, path) = find_spelt("providers.my_host.api_key").unwrap();
        assert_eq!(
            (key.path, &*path),
            ("providers.*.apiKey", "providers.my_host.apiKey")
        );
    }

    #[test]
    fn a_bare_text_is_enough_where_a_text_is_wanted() {
        let parsed = |path: &str, text: &str| find(path).unwrap().parse(text);
        assert_eq!(parsed("agents.defaults.model", "gpt-5"), json!("gpt-5"));
        assert_eq!(parsed("agents.defaults.model", "123"), json!("123"));
        assert_eq!(
            parsed("agents.defaults.model", "\"quoted\""),
            json!("quoted")
        );
        assert_eq!(parsed("agents.defaults.model", "null"), Value::Null);
        assert_eq!(parsed("agents.defaults.maxTokens", "123"), json!(123));
        assert_eq!(parsed("agents.defaults.maxTokens", "many"), json!("many"));
        assert_eq!(parsed("tools.allowedPaths", "[\"/a\"]"), json!(["/a"]));
    }

    #[test]
    fn each_key_has_a_variable() {
        assert_eq!(
            find("agents.defaults.maxTokens")
                .unwrap()
                .variable("agents.defaults.maxTokens"),
            "PEACRAB_AGENTS__DEFAULTS__MAX_TOKENS"
        );
        assert_eq!(
            find("providers.My-Host.apiKey")
                .unwrap()
                .variable("providers.My-Host.apiKey"),
            "PEACRAB_PROVIDERS__MY_HOST__API_KEY"
        );
    }
}
