//! Every setting: its path, type, default and meaning.
//!
//! JSON has no comments, so this is what `peacrab config explain` prints. A test makes sure that it matches
//! the structs of `schema`.

use super::channels;
use super::key::Kind::{
    Choice, Flag, Object, Paths, Prices, Real, Secrets, Text, Texts, Url, Whole, Zone,
};
use super::key::{Key, Kind, camel_case, key};

/// Every setting, in the order of `peacrab config explain`.
pub fn keys() -> impl Iterator<Item = &'static Key> + Clone {
    let channels = channels::ALL.iter().flat_map(|(_, keys)| keys.iter());
    FRONT.iter().chain(channels).chain(BEHIND)
}

/// The settings that come before those of the channels.
#[rustfmt::skip]
static FRONT: &[Key] = &[
    key("agents.defaults.workspace", Kind::Path, r#""""#, "The folder that the agent works in. Empty: the folder `workspace` in the home folder."),
    key("agents.defaults.provider", Text, r#""auto""#, "Which provider to use. Overrides everything else; with auto, the model's name decides, then the first provider that has an API key."),
    key("agents.defaults.model", Text, r#""""#, "Which model to use. Empty: the default model of the first provider that has an API key. Without any key, the offline helper answers."),
    key("agents.defaults.fallbackModels", Texts, "[]", "Models to try, in this order, when the first one fails."),
    key("agents.defaults.maxTokens", Whole(1, 1_000_000), "8192", "Maximum tokens per reply."),
    key("agents.defaults.contextWindowTokens", Whole(1_000, 10_000_000), "null", "Size of the model's context window, in tokens. Requests are kept within it. null asks a server of your own, such as Ollama; for all others it is 128000.").or_null(),
    key("agents.defaults.temperature", Real(0.0, 2.0), "0.1", "Sampling temperature. null leaves it to the provider.").or_null(),
    key("agents.defaults.reasoningEffort", Choice(&["off", "low", "medium", "high", "xhigh", "max"]), "null", "How much a reasoning model thinks; a model that has no xhigh or max thinks as much as it can. /think changes it for one conversation. null leaves it to the provider.").or_null(),
    key("agents.defaults.maxToolIterations", Whole(1, 1_000), "40", "Maximum steps per turn; after that the agent reports how far it got."),
    key("agents.defaults.memoryWindow", Whole(2, 100_000), "100", "Maximum number of earlier turns (a message and all until its answer) sent with a request."),
    key("agents.defaults.maxToolResultChars", Whole(500, 1_000_000), "16000", "Maximum characters of a tool's result that the model sees. The rest goes to a file in the workspace, which the result names."),
    key("agents.defaults.skills", Texts, "null", "The only skills that the agent may use, by name; an empty list means none. null allows all.").or_null(),
    key("agents.defaults.subagents.model", Text, r#""""#, "Which model subagents use. Empty: that of the agent that starts them."),
    key("agents.defaults.subagents.allowAgents", Texts, "[]", "Ids of other agents that an agent may give tasks to. *: all of them."),
    key("agents.defaults.plan.approval", Flag, "true", "Show the steps of a plan (/plan GOAL) and wait for your word before any of them is done. A plan that the agent begins by itself always waits."),
    key("agents.defaults.plan.maxTokens", Whole(0, 1_000_000_000), "1000000", "Maximum tokens that a plan may use, read and written together. 0: no limit."),
    key("agents.defaults.plan.maxUsd", Real(0.0, 100_000.0), "0", "Maximum US dollars that a plan may cost. 0: no limit."),
    key("agents.defaults.plan.plannerModel", Text, r#""""#, "Which model writes plans. Empty: that of subagents."),
    key("agents.defaults.plan.workerModel", Text, r#""""#, "Which model does the steps of plans. Empty: that of subagents."),
    key("agents.defaults.plan.criticModel", Text, r#""""#, "Which model checks the steps of plans. Empty: that of subagents."),
    key("agents.defaults.review", Choice(&["off", "auto", "on"]), r#""off""#, "Review answers before they go out: another request to the model, with what was done and what came of it. auto: where files or other things were changed, a command ran outside the sandbox, or a tool failed; on: every answer. A reviewed answer does not stream."),
    key("agents.defaults.reviewModel", Text, r#""""#, "Which model reviews answers. Empty: that of the conversation."),
    key("agents.defaults.maxParallelTurns", Whole(1, 16), "2", "Maximum number of conversations answered at the same time. Within one conversation, messages are answered one after the other."),
    key("agents.defaults.timezone", Zone, r#""auto""#, "Time zone, such as Europe/Zurich. auto uses the system's."),
    key("agents.list", Kind::Agents, "[]", "Agents besides main, each with its own workspace, conversations and memory. What an entry leaves out is as in agents.defaults. An entry with the id main changes main itself."),
    key("agents.bindings", Kind::Bindings, "[]", "Which agent answers which messages. The first entry that fits decides; the default agent answers the rest. A group has one agent for everyone in it."),
    key("providers.*.apiKey", Kind::Secret, r#""""#, "API key. ${NAME} reads it from the environment, file:PATH from a file. Empty: the provider's own variable, such as OPENAI_API_KEY."),
    key("providers.*.apiBase", Url, r#""""#, "Base URL of the API. Empty: the provider's own. With a base URL, any provider name works and is taken as OpenAI-compatible."),
    key("providers.*.apiType", Choice(&["auto", "openai", "anthropic", "offline"]), r#""auto""#, "API format. auto uses the format of a known provider, otherwise openai."),
    key("providers.*.api", Choice(&["auto", "chat", "responses"]), r#""auto""#, "Which API of the openai format: chat (/chat/completions) or responses (/responses), which has tools with reasoning for newer OpenAI models. auto uses what the model needs, and what the server turns out to have."),
    key("providers.*.cache", Choice(&["auto", "5m", "1h", "off"]), r#""auto""#, "How long the anthropic format has the server cache what later requests repeat. 1h costs more to write, and pays where you come back within the hour. auto: 1h in a conversation whose last pauses were mostly shorter than an hour, else 5m."),
    key("providers.*.extraHeaders", Secrets, "{}", "HTTP headers to add to every request."),
    key("providers.*.extraBody", Object, "{}", "JSON members to add to the body of every request."),
    key("providers.*.proxy", Kind::Secret, "null", "URL of a proxy. null uses HTTPS_PROXY and the like from the environment.").or_null(),
    key("providers.*.timeoutSecs", Whole(1, 3_600), "120", "How long to wait for a reply to begin, in seconds."),
    key("providers.*.streamIdleTimeoutSecs", Whole(1, 3_600), "90", "How long a reply may pause before it is given up, in seconds."),
    key("providers.*.images", Flag, "null", "Send images to the model. null decides by the model's name; use true for your own server if its model understands images.").or_null(),
    key("providers.*.prices", Prices, "{}", "What the models cost, in US dollars per million tokens: {\"MODEL\": {\"input\": 3, \"output\": 15, \"cached\": 0.3, \"cacheWrite\": 3.75}}. A model's name may end with *. Without cached and cacheWrite, cached input costs as much as other input. Overrides the built-in prices."),
    key("channels.sendProgress", Flag, "true", "Show what the agent says while it is still working."),
    key("channels.sendToolHints", Flag, "true", "Show which tools the agent uses."),
    key("channels.sendMaxRetries", Whole(0, 100), "5", "Quick retries for a message that could not be sent. After that it is retried less often."),
];

/// Those that come behind the channels.
#[rustfmt::skip]
static BEHIND: &[Key] = &[
    key("tools.restrictToWorkspace", Flag, "true", "Limit tools to the workspace and the folders below."),
    key("tools.allowedPaths", Paths, "[]", "Additional folders that tools may read and write. They have to exist when Peacrab starts."),
    key("tools.readOnlyPaths", Paths, "[]", "Additional folders that tools may read. They have to exist when Peacrab starts."),
    key("tools.exec.enabled", Flag, "true", "Allow the agent to run shell commands."),
    key("tools.exec.timeout", Whole(1, 86_400), "60", "Default time limit for a command, in seconds."),
    key("tools.exec.maxTimeout", Whole(1, 86_400), "600", "Longest time limit that the agent may ask for, in seconds."),
    key("tools.exec.sandbox", Choice(&["auto", "namespaces", "landlock", "off"]), r#""auto""#, "How commands are isolated. auto: everything that this kernel supports, at least namespaces or Landlock; off: not at all, commands can do whatever this account can."),
    key("tools.exec.network", Flag, "true", "Allow commands to use the network. false also turns off web_search and web_fetch, unless tools.web.enabled is set to true."),
    key("tools.exec.approval", Choice(&["never", "escalation", "risky", "always"]), r#""escalation""#, "When to ask for approval. escalation: before a command runs outside the sandbox; risky: also before a risky command; always: before every command; never: do not ask, and refuse what would need it."),
    key("tools.exec.shell", Choice(&["sandbox", "host"]), r#""sandbox""#, "Where /sh runs what you type. sandbox: in the sandbox, and /sh! asks before it runs something on the board itself; host: always on the board itself, with all rights of this account, asking only about risky commands."),
    key("tools.exec.denyPatterns", Texts, "[]", "Regular expressions for commands to refuse, in addition to the built-in ones."),
    key("tools.exec.allowPatterns", Texts, "[]", "Regular expressions for commands to allow. If there are any, every command of a line has to match one of them."),
    key("tools.exec.allowedEnvKeys", Texts, "[]", "Environment variables to pass on to commands."),
    key("tools.exec.pathAppend", Text, r#""""#, "Folders to append to PATH, separated by colons."),
    key("tools.custom.enabled", Flag, "true", "Let the agent use the tools in tools/ of its workspace. Each has to be approved before its first run, and needs tools.exec.enabled."),
    key("tools.protectedPaths", Paths, "[]", "Files and folders that tools must not change, even inside a folder that they may write to."),
    key("tools.web.enabled", Flag, "null", "Allow the agent to search the web and read pages. null: as tools.exec.network says, because addresses and queries carry data out too.").or_null(),
    key("tools.web.search.provider", Choice(&["auto", "brave", "tavily", "exa", "perplexity", "searxng", "duckduckgo"]), r#""auto""#, "Search engine. auto: the first that has an API key, here or in the environment (such as BRAVE_API_KEY); otherwise DuckDuckGo, which needs no key but limits how often you may search."),
    key("tools.web.search.apiKey", Kind::Secret, r#""""#, "API key of the search engine. ${NAME} reads it from the environment, file:PATH from a file. Empty: the engine's own variable, such as BRAVE_API_KEY."),
    key("tools.web.search.baseUrl", Url, r#""""#, "URL of your own SearXNG server, or another address of the search engine's API."),
    key("tools.web.search.maxResults", Whole(1, 10), "5", "Results of a search, unless the agent asks for more or fewer."),
    key("tools.web.fetch.maxBytes", Whole(1_000, 1_000_000_000), "5242880", "Maximum size of a page, in bytes. The rest of a longer one is left out."),
    key("tools.web.allowHosts", Kind::Hosts, "[]", "Hosts that the agent may read although they are not on the public Internet: names or addresses, each with or without a port, such as nas.local, 192.168.1.5:8080 or [fd00::5]:80."),
    key("tools.web.proxy", Kind::Secret, "null", "URL of a proxy for pages and searches. The proxy resolves names, so names of hosts on its own network are not refused. null: none; the variables of the environment are not used.").or_null(),
    key("tools.mcpServers.*.command", Text, r#""""#, "Program of an MCP server that is started here, such as npx or uvx. It runs in the sandbox, and only while it is used. Each server has either this or url."),
    key("tools.mcpServers.*.type", Choice(&["auto", "stdio", "http", "streamableHttp", "streamable-http", "streamable_http", "sse"]), r#""auto""#, "How the server is reached, as other programs write it. auto: a program if command is set, otherwise by url, with the transport that the server has."),
    key("tools.mcpServers.*.args", Texts, "[]", "Arguments of the program."),
    key("tools.mcpServers.*.env", Secrets, "{}", "Environment variables of the program, in addition to those of commands. ${NAME} reads a value from the environment, file:PATH from a file."),
    key("tools.mcpServers.*.cwd", Kind::Path, r#""""#, "Folder that the program is started in, such as the workspace. Empty: a folder of its own."),
    key("tools.mcpServers.*.network", Flag, "null", "Allow the program to use the network. null: as tools.exec.network says.").or_null(),
    key("tools.mcpServers.*.allowedPaths", Paths, "[]", "Additional folders that the program may read and write."),
    key("tools.mcpServers.*.readOnlyPaths", Paths, "[]", "Additional folders that the program may read."),
    key("tools.mcpServers.*.url", Url, r#""""#, "URL of an MCP server that runs elsewhere."),
    key("tools.mcpServers.*.headers", Secrets, "{}", "HTTP headers to add to every request to the server, such as {\"Authorization\": \"Bearer ${TOKEN}\"}."),
    key("tools.mcpServers.*.clientId", Text, r#""""#, "Client id for `peacrab mcp login`, if you registered a client with the server yourself. Empty: Peacrab registers one."),
    key("tools.mcpServers.*.clientSecret", Kind::Secret, r#""""#, "Secret of that client, if it has one. ${NAME} reads it from the environment, file:PATH from a file."),
    key("tools.mcpServers.*.issuer", Text, r#""""#, "The authorization server that the client is for, such as https://login.example.org. A login at any other one is refused, and without it a clientSecret is sent to none before a login in a browser."),
    key("tools.mcpServers.*.toolTimeout", Whole(1, 3_600), "30", "How long a call may take, in seconds. It starts again with each progress report of the server."),
    key("tools.mcpServers.*.idleTimeout", Whole(1, 86_400), "300", "Stop the program after so many seconds without a call. The next call starts it again."),
    key("tools.mcpServers.*.enabledTools", Texts, r#"["*"]"#, "The server's tools that the agent may use, by the server's names. * at the end of a name stands for anything, so \"*\" allows all."),
    key("tools.mcpServers.*.sampling", Flag, "false", "Let the server ask the agent's model. That uses your tokens."),
    key("tools.mcpServers.*.enabled", Flag, "true", "Use the server."),
    key("storage.fsync", Choice(&["always", "turn"]), r#""always""#, "When conversations are forced to the disk. always: after every entry; turn: at the end of a turn, which writes less to the SD card, but a power cut may lose that turn."),
    key("storage.inboxMaxMb", Whole(0, 1_000_000), "512", "Maximum size of received files in the workspace's inbox folder, in megabytes. Beyond that the oldest are deleted, except files of the last 24 hours and those that a waiting message needs. 0: no limit."),
    key("storage.journalMaxMb", Whole(1, 10_000), "4", "Maximum size of one conversation's file, in megabytes. Beyond that, the part that is no longer sent to the model moves to sessions/archive."),
    key("storage.archiveMaxMb", Whole(0, 1_000_000), "64", "Maximum size of sessions/archive, in megabytes, over all conversations. Beyond that the oldest files are deleted. 0 keeps no archive."),
    key("limits.tokensPerDay", Whole(0, u64::MAX), "0", "Maximum tokens per day over all models. Beyond that, requests are refused until midnight. People other than owners can use half of it. 0: no limit."),
    key("limits.usdPerDay", Real(0.0, 1_000_000.0), "0", "Maximum cost per day over all models, in US dollars. Beyond that, requests are refused until midnight. People other than owners can use half of it. A request whose price is not known counts as much as the dearest model of its provider that Peacrab knows; providers.*.prices sets the price. 0: no limit."),
    key("transcription.enabled", Flag, "true", "Turn voice messages, audio files and video notes into text, so that the agent knows what was said."),
    key("transcription.provider", Text, r#""auto""#, "Provider that transcribes, with its settings in providers. auto: the one that answers, if it can, otherwise the first of openai, groq and gemini that has an API key."),
    key("transcription.model", Text, r#""""#, "Model that transcribes. Empty: gpt-transcribe (openai), whisper-large-v3-turbo (groq), gemini-3.8-flash (gemini), voxtral-mini-latest (mistral), otherwise whisper-1."),
    key("transcription.apiBase", Url, r#""""#, "Base URL of your own server with OpenAI's /audio/transcriptions, such as http://nas.local:8000/v1 (faster-whisper, whisper.cpp). It gets no API key. Used in place of a provider."),
    key("transcription.command", Text, r#""""#, "Shell command that prints what it hears in the file $1, such as whisper-cli -np -nt -m /opt/ggml-base.bin \"$1\". It runs in the sandbox. Used in place of a server."),
    key("transcription.maxMinutes", Whole(1, 240), "10", "Maximum minutes of audio in one message. The bot says so where there is more, and does not transcribe it."),
    key("speech.provider", Text, r#""""#, "Provider that speaks answers with OpenAI's /audio/speech, with its settings in providers, such as openai. Each chat turns it on with /voice on. Empty: none."),
    key("speech.model", Text, r#""""#, "Model that speaks. Empty: gpt-4o-mini-tts (openai), otherwise tts-1."),
    key("speech.voice", Text, r#""alloy""#, "Voice of the provider or server."),
    key("speech.apiBase", Url, r#""""#, "Base URL of your own server with OpenAI's /audio/speech, such as http://nas.local:8880/v1 (Kokoro-FastAPI, speaches). It gets no API key. Used in place of a provider."),
    key("speech.command", Text, r#""""#, "Shell command that reads the text from its standard input and writes WAV or Ogg to the file $1, such as piper -m /opt/voice.onnx -f \"$1\". It runs in the sandbox. Used in place of a server."),
    key("speech.maxChars", Whole(100, 4_000), "1500", "Maximum characters of an answer that are spoken; 900 take about a minute. A longer answer is spoken up to the end of a sentence."),
    key("cron.enabled", Flag, "true", "Run scheduled jobs and reminders when `peacrab gateway` runs."),
    key("cron.quietHours", Kind::QuietHours, r#""""#, "When chats are left alone, such as 22:00-07:00. Reminders wait until the end; the results of other jobs come without a sound, and the heartbeat pauses. Empty: never."),
    key("cron.tz", Text, r#""""#, "Time zone of scheduled jobs that name none, and of the quiet hours, such as Europe/Zurich. Empty: as in agents.defaults.timezone."),
    key("heartbeat.enabled", Flag, "true", "Look at the workspace's HEARTBEAT.md regularly when `peacrab gateway` runs. Costs nothing while it has no open tasks."),
    key("heartbeat.interval", Whole(5, 10_080), "30", "Minutes between two looks at HEARTBEAT.md."),
    key("watch.enabled", Flag, "true", "Watch the board, and whatever /watch and `peacrab watch` add, when `peacrab gateway` runs."),
    key("watch.to", Text, r#""""#, "Chat that the built-in watches tell, such as telegram:123456789. Empty: the one in which an owner wrote last."),
    key("watch.builtIn.temperature", Whole(0, 150), "null", "Tell when the board is hotter than this, in degrees Celsius. null: where the board itself slows down, or 80; 0: do not watch it.").or_null(),
    key("watch.builtIn.disk", Whole(0, 100), "90", "Tell when a disk is fuller than this, in percent. 0: do not watch it."),
    key("watch.builtIn.inodes", Whole(0, 100), "90", "Tell when more of a disk's inodes are in use than this, in percent. 0: do not watch them."),
    key("watch.builtIn.pressure", Flag, "true", "Tell when programs wait for memory most of the time."),
    key("watch.builtIn.oom", Flag, "true", "Tell when the kernel ends a process because the memory is used up."),
    key("watch.builtIn.undervoltage", Flag, "true", "Tell when the power supply is too weak (Raspberry Pi)."),
    key("watch.builtIn.throttling", Flag, "true", "Tell when the processor is throttled (Raspberry Pi)."),
    key("watch.builtIn.readOnly", Flag, "true", "Tell when a disk becomes read-only."),
    key("watch.builtIn.units", Flag, "true", "Tell when a service of systemd fails."),
    key("watch.builtIn.clock", Flag, "true", "Tell when the clock is not set for 15 minutes."),
    key("watch.builtIn.address", Flag, "true", "Tell when the board gets a new IP address."),
    key("watch.builtIn.login", Flag, "true", "Tell when a person logs in over ssh."),
    key("http.enabled", Flag, "false", "Answer programs and browsers over HTTP when `peacrab gateway` runs: OpenAI's API, /health and /metrics. Make a token for each of them with `peacrab http token add`."),
    key("http.listen", Text, r#""127.0.0.1:8420""#, "Address and port to listen at, such as 0.0.0.0:8420 for all networks, or a socket: unix:/run/peacrab/http.sock."),
    key("http.tls.certificate", Kind::Path, r#""""#, "PEM file with the certificate for https://, followed by those up to its authority. Empty: no TLS."),
    key("http.tls.key", Kind::Path, r#""""#, "PEM file with the key of the certificate."),
    key("http.hosts", Kind::Hosts, "[]", "Names by which it is reached besides addresses, localhost and the name of this machine, such as crab.example.org. Requests for other names are refused, because a page could have pointed its own name here."),
    key("http.origins", Texts, "[]", "Origins of web pages elsewhere that may ask, such as https://chat.example.org."),
    key("http.approvals", Choice(&["refuse", "owner"]), r#""refuse""#, "What becomes of a call of a tool that needs an approval. refuse: it is refused, and the agent says so; owner: an owner is asked in the private chat in which they wrote last."),
    key("http.hooks.*.to", Text, r#""""#, "Chat of a hook, which programs call with POST /hooks/NAME: telegram:123456789, for example. Empty: the private one in which an owner wrote last."),
    key("http.hooks.*.text", Text, r#""""#, "Send this text to the chat. {{alerts.0.status}} stands for a value of the JSON that came, {{body}} for all of it. A hook has text, ask or run."),
    key("http.hooks.*.ask", Text, r#""""#, "Ask the agent this, as a job: in a conversation of the hook's own, without approvals. The agent finds what came in a file, and learns that it is information and not an instruction."),
    key("http.hooks.*.run", Text, r#""""#, "Shell command to run in the sandbox, as a job; $1 is the file with what came."),
    key("http.hooks.*.secret", Kind::Secret, r#""""#, "Secret with which the program signs what it sends. ${NAME} reads it from the environment, file:PATH from a file. Empty: the program needs a token (`peacrab http token add NAME --hooks HOOK`)."),
    key("http.hooks.*.signature", Choice(&["github", "grafana", "stripe"]), r#""github""#, "How the program signs: as GitHub, Gitea and Forgejo do (X-Hub-Signature-256), as Grafana (X-Grafana-Alerting-Signature), or as Stripe (Stripe-Signature)."),
    key("tls.caFile", Kind::Path, "null", "PEM file with certificates to trust in addition to the built-in ones.").or_null(),
    key("tls.localServerUsers", Texts, "[]", "Users, by name or number, whose servers on this machine may receive API keys and tokens over http://, in addition to root and Peacrab's own account. *: all users, which includes any command of the agent that takes over the server's port."),
    key("commands.*.run", Text, r#""""#, "Shell command of a slash command of your own, such as /backup. What is typed behind the command are its arguments: $1, $2 and \"$@\"."),
    key("commands.*.help", Text, r#""""#, "What the command does, for /help and the bot's menu. Empty: the shell command."),
    key("commands.*.where", Choice(&["sandbox", "host"]), r#""sandbox""#, "Where it runs: in the sandbox, or on the board itself, with all rights of the account. It starts in the workspace, and on the board itself in HOME, where the agent writes nothing."),
    key("commands.*.confirm", Flag, "false", "Ask with a button before it runs."),
    key("backup.every", Whole(0, 8_760), "0", "Hours between two automatic backups, while `peacrab gateway` runs. 0: none."),
    key("backup.keep", Whole(1, 1_000), "7", "Automatic backups to keep. The oldest beyond that are deleted."),
    key("backup.folder", Kind::Path, r#""""#, "Folder for automatic backups, such as one on a USB stick. Empty: the folder `backups` in the home folder."),
    key("backup.passphrase", Kind::Secret, r#""""#, "Passphrase that encrypts automatic backups, at least 8 characters. ${NAME} reads it from the environment, file:PATH from a file. Keep a copy of it elsewhere. Empty: they are not encrypted."),
    key("backup.withoutSecrets", Flag, "false", "Leave API keys, tokens and logins out of automatic backups."),
    key("backup.send", Flag, "false", "Send each automatic backup to the private chat in which an owner wrote last. Needs backup.passphrase or backup.withoutSecrets."),
    key("backup.run", Text, r#""""#, "Shell command that each automatic backup is given to as \"$1\", such as rclone copy \"$1\" nas:peacrab. It runs on the board itself, in HOME, with all rights of the account."),
    key("update.url", Url, r#""""#, "Where new versions come from: the URL of a folder with a release, for `peacrab update` and /update. Nothing is fetched unless you ask for it."),
    key("log.level", Choice(&["off", "error", "warn", "info", "debug", "trace"]), r#""info""#, "How much to log to standard error."),
    key("log.format", Choice(&["text", "json"]), r#""text""#, "Log format: readable lines, or one JSON object per line."),
];

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A setting.
    Key(&'static Key),
    /// An object with settings; the text is its pattern, such as `providers.*`.
    Section(&'static str),
}

/// What has the given name within a section (`""` is the whole file), and the name as the table spells
/// it: `api_key` is read as `apiKey`, a name that the user chose stays as it is.
pub fn step(section: &str, name: &str) -> Option<(Place, String)> {
    let camel = camel_case(name);
    keys().find_map(|key| {
        let rest = key.path.strip_prefix(section)?;
        let rest = match section {
            "" => rest,
            _ => rest.strip_prefix('.')?,
        };
        if !rest.starts_with(&camel) && !rest.starts_with('*') {
            return None;
        }
        let (first, deeper) = match rest.split_once('.') {
            Some((first, _)) => (first, true),
            None => (rest, false),
        };
        let chosen = first == "*";
        if !chosen && first != camel {
            return None;
        }
        let end = key.path.len() - rest.len() + first.len();
        let place = if deeper {
            Place::Section(&key.path[..end])
        } else {
            Place::Key(key)
        };
        Some((place, if chosen { name } else { &camel }.to_owned()))
    })
}

/// A name that other programs have for the switch `enabled`, and whether its sense is the reverse.
pub fn switch_name(name: &str) -> Option<bool> {
    match camel_case(name).as_str() {
        "enable" | "enabled" => Some(false),
        "disable" | "disabled" => Some(true),
        _ => None,
    }
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

/// The setting at a path in camelCase.
pub fn find(path: &str) -> Option<&'static Key> {
    keys().find(|key| key.split(path).is_some())
}

/// The setting at a path in camelCase or snake_case, and its path in camelCase.
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

/// The settings within a section; all for `""`.
pub fn within(section: &str) -> impl Iterator<Item = &'static Key> {
    keys().filter(move |key| {
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

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::super::key::Kind::{Ids, Real};
    use super::super::schema::Config;
    use super::*;
    use serde_json::{Value, json};

    /// The configuration, printed, with one key set; the provider and the server `x` are always there.
    fn printed(path: &str, value: Option<Value>) -> String {
        let mut file = json!({"providers": {"x": {}}, "tools": {"mcpServers": {"x": {}}}, "commands": {"x": {}}, "http": {"hooks": {"x": {}}}});
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

    /// A valid value that is not the default.
    fn another(key: &Key) -> Value {
        match key.kind {
            Flag => json!(key.default != "true"),
            Whole(_, most) => json!(most),
            Real(_, most) => json!(most),
            Choice(words) => json!(words[usize::from(key.default_value() == words[0])]),
            Texts | Paths => json!(["/a"]),
            Ids | Kind::Names => json!(["1"]),
            Kind::Hosts => json!(["a:80"]),
            Url => json!("http://a"),
            Kind::Secret if key.path.ends_with(".proxy") => json!("http://a"),
            Kind::Secret => json!("/a secret"),
            Text | Zone | Kind::Path => json!("/a"),
            Kind::QuietHours => json!("22:00-07:00"),
            Secrets | Object => json!({"a": "/a"}),
            Kind::Roles | Kind::NamedRoles => json!({"1": "guest"}),
            Prices => json!({"a": {"input": 1, "output": 2}}),
            Kind::Agents => json!([{"id": "a"}]),
            Kind::Bindings => json!([{"agent": "main", "chat": "1"}]),
        }
    }

    #[test]
    fn each_setting_has_the_default_of_the_structs_and_a_change_is_seen() {
        let untouched = printed("", None);
        for key in keys() {
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
    fn the_ends_of_each_range_fit_the_structs() {
        for key in keys() {
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
    fn each_field_of_the_structs_is_a_setting() {
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
        assert_eq!(fields, keys().count());
    }

    #[test]
    fn a_path_is_split_around_the_users_own_name_even_if_it_contains_dots() {
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
    fn a_plain_string_is_enough_where_a_string_or_a_list_is_expected() {
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
        for one in ["[\"/a\"]", "/a", "\"/a\""] {
            assert_eq!(parsed("tools.allowedPaths", one), json!(["/a"]));
        }
        assert_eq!(parsed("tools.allowedPaths", "[\"/a"), json!("[\"/a"));
        assert_eq!(parsed("channels.telegram.allowFrom", "12"), json!(["12"]));
    }

    #[test]
    fn each_setting_has_a_variable() {
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
