//! `peacrab reload`, and what a running gateway takes over from a changed configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::agent::Agent;
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::secret::Secret;
use crate::base::sync::Mutex;
use crate::board::Board;
use crate::channels::intake::AccessList;
use crate::cli::Context;
use crate::cli::compose::{self, RunOptions};
use crate::cli::terminal::{log, print};
use crate::config::agents::Profile;
use crate::config::schema::{AgentDefaults, Channels, Config, Tools};
use crate::config::settings::Setting;
use crate::config::{Home, Loaded};
use crate::gateway::agents::{Hosted, Lazy, Roster};
use crate::gateway::control;
use crate::gateway::heartbeat::Rhythm;
use crate::gateway::{Changes, Live};
use crate::net::http::{Pool, Tls};
use crate::sandbox::files::Workspace;
use crate::store::session::Settings;

/// `peacrab reload …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Has the running gateway read its configuration again, and says what came of it.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let home = context.home()?;
    let Some(changes) = control::reload(&home.control())? else {
        return Err(Error::Failed(format!(
            "No gateway is running in {}. The next `peacrab gateway` reads the configuration.",
            home.path().display()
        )));
    };
    if arguments.json {
        print::json(&serde_json::to_string(&changes).unwrap_or_default())?
    } else {
        print::out(&print::folded(&format_changes(&changes)))?
    }
    Ok(Exit::Done)
}

/// What came of a reload, for people.
pub fn format_changes(changes: &Changes) -> String {
    let mut text = String::new();
    if !changes.applied.is_empty() {
        text += &format!("Applied: {}\n", changes.applied.join(", "));
    }
    if !changes.restart.is_empty() {
        let restart = changes.restart.join(", ");
        text += &format!("Applied after the gateway's next restart: {restart}\n");
    }
    for problem in &changes.ignored {
        text += &format!("Ignored: {problem}\n");
    }
    if text.is_empty() {
        text += "Nothing has changed.\n";
    }
    text
}

/// The settings that only a restart applies: these, `tls`, `http`, and most of a channel.
const NEEDS_RESTART: [&str; 9] = [
    "agents.defaults.workspace",
    "agents.defaults.timezone",
    "agents.defaults.maxParallelTurns",
    "tools.restrictToWorkspace",
    "tools.allowedPaths",
    "tools.readOnlyPaths",
    "tools.protectedPaths",
    "storage.inboxMaxMb",
    "log.format",
];

/// The settings of a channel that apply at once.
const OF_CHANNEL: [&str; 4] = [
    "allowFrom",
    "defaultRole",
    "streaming",
    "streamEditIntervalMs",
];

/// Whether a change of this setting takes effect without a restart.
fn applies_at_once(path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["channels", _, "roles", ..] => true,
        ["channels", _, name] => OF_CHANNEL.contains(name),
        ["channels", name] => *name != "sendMaxRetries",
        ["tls" | "http", ..] => false,
        _ => !NEEDS_RESTART.contains(&path),
    }
}

/// Makes what a gateway works with from the configuration, at its start and at each reload.
pub struct Reloader {
    context: Context,
    home: Home,
    board: Arc<Board>,
    tls: Tls,
    /// By the channel's name.
    access_lists: BTreeMap<&'static str, AccessList>,
    running: Mutex<Running>,
}

/// The configuration that is in effect.
struct Running {
    config: Config,
    settings: BTreeMap<String, Setting>,
    /// Every secret since the start: an old one may still be in use.
    secrets: Vec<Secret>,
    secret_files: Vec<PathBuf>,
}

impl Reloader {
    /// With the configuration that the gateway starts with.
    pub fn new(
        context: &Context,
        home: &Home,
        loaded: &Loaded,
        board: &Arc<Board>,
        tls: &Tls,
    ) -> Self {
        let channels = loaded.config.channels.all();
        let access_lists = channels.map(|bot| (bot.name, AccessList::new(bot.rules())));
        Self {
            context: context.clone(),
            home: home.clone(),
            board: Arc::clone(board),
            tls: tls.clone(),
            access_lists: access_lists.collect(),
            running: Mutex::new(Running {
                config: loaded.config.clone(),
                settings: loaded.settings.clone(),
                secrets: loaded.secrets.clone(),
                secret_files: loaded.secret_files.clone(),
            }),
        }
    }

    /// The people whom the configuration allows to write to a channel, with their roles.
    pub fn access_list(&self, channel: &str) -> AccessList {
        self.access_lists.get(channel).cloned().unwrap_or_default()
    }

    /// What the gateway works with. `before` is what it has worked with so far.
    pub fn make(&self, loaded: Loaded, before: Option<&Live>) -> Result<Live> {
        compose::check_agents(&self.home, &loaded)?;
        compose::create_workspaces(&self.home, &loaded)?;
        let config = loaded.config.clone();
        let channels = &config.channels;
        let maker = Arc::new(Maker {
            context: self.context.clone(),
            home: self.home.clone(),
            board: Arc::clone(&self.board),
            connections: Pool::new(self.tls.clone()),
            stream: config.http.enabled || channels.enabled().any(|bot| bot.streaming),
            loaded,
        });
        let profiles = config.agents.profiles().into_iter();
        let hosted = profiles.map(|profile| maker.host(profile, before));
        Ok(Live {
            agents: Roster::new(hosted.collect::<Result<_>>()?, config.agents)?,
            channels: config.channels,
            update_url: config.update.url,
            backups: crate::cli::backup::series(&self.context, config.backup)?,
            rhythm: Rhythm {
                enabled: config.heartbeat.enabled,
                interval: Duration::from_mins(config.heartbeat.interval),
            },
            cron: config.cron,
            commands: config.commands,
            watch: config.watch,
        })
    }

    /// Reads the configuration again, and makes what follows from it. An invalid one changes nothing.
    pub fn reload(&self, live: &Live) -> Result<(Live, Changes)> {
        let mut loaded = self.context.load()?;
        for warning in loaded.ignored.iter().chain(&loaded.warnings) {
            tracing::warn!("{warning}");
        }
        let mut running = self.running.lock();
        let (applied, restart) = changed(&running.settings, &loaded.settings)
            .into_iter()
            .partition(|path| applies_at_once(path));
        add_missing(&mut loaded.secrets, &running.secrets);
        add_missing(&mut loaded.secret_files, &running.secret_files);
        loaded.config = merge(&running.config, loaded.config);
        let config = loaded.config.clone();
        let eraser = self.context.eraser(&loaded);
        let ignored = loaded.ignored.clone();
        let (secrets, files) = (loaded.secrets.clone(), loaded.secret_files.clone());
        let settings = loaded.settings.clone();
        let live = self.make(loaded, Some(live))?;
        // From here on nothing fails.
        log::change(self.context.log_level(&config.log), eraser);
        for bot in config.channels.all() {
            self.access_list(bot.name).replace(bot.rules());
        }
        let changes = Changes {
            applied,
            restart,
            ignored,
        };
        for path in &changes.applied {
            match settings.get(path) {
                Some(setting) => running.settings.insert(path.clone(), setting.clone()),
                None => running.settings.remove(path),
            };
        }
        running.config = config;
        (running.secrets, running.secret_files) = (secrets, files);
        Ok((live, changes))
    }
}

/// Makes the agents of one configuration.
struct Maker {
    context: Context,
    home: Home,
    board: Arc<Board>,
    connections: Pool,
    stream: bool,
    loaded: Loaded,
}

impl Maker {
    /// An agent with its places. One that is not the default and was not needed before is made to see that
    /// it can be, and then again when it is needed: until then it costs next to no memory.
    fn host(self: &Arc<Self>, profile: Profile, before: Option<&Live>) -> Result<Arc<Hosted>> {
        let id = profile.id.clone();
        let is_default = id == self.loaded.config.agents.default_id();
        let before = before.and_then(|live| live.agents.named(&id)?.made());
        let agent = self.agent(&id, before.map(|agent| &**agent))?;
        let config = self.loaded.config.of_agent(&profile);
        let (agent, workspace) = if is_default || before.is_some() {
            (Lazy::made(agent), Lazy::made(self.workspace(&id)?))
        } else {
            let (maker, of_agent) = (Arc::clone(self), id.clone());
            let agent = Lazy::new(Box::new(move || maker.agent(&of_agent, None)));
            let (maker, of_agent) = (Arc::clone(self), id.clone());
            let open = move || maker.workspace(&of_agent);
            (agent, Lazy::new(Box::new(open)))
        };
        Ok(Arc::new(Hosted {
            sessions: self.home.sessions_of(&id),
            journals: Settings::new(&config, Clock::System),
            folder: self.home.workspace(&profile.settings.workspace),
            profile,
            agent,
            workspace,
        }))
    }

    fn workspace(&self, id: &str) -> Result<Workspace> {
        let loaded = self.loaded.of_agent(Some(id))?;
        compose::open_workspace(&self.context, &self.home, &loaded)
    }

    fn agent(&self, id: &str, before: Option<&Agent>) -> Result<Agent> {
        let loaded = self.loaded.of_agent(Some(id))?;
        let options = RunOptions {
            model: None,
            stream: self.stream,
            chats: true,
            board: Arc::clone(&self.board),
            connections: self.connections.clone(),
            before,
        };
        compose::agent(&self.context, &self.home, loaded, options)
    }
}

/// Adds the earlier members that a list lacks.
fn add_missing<T: PartialEq + Clone>(list: &mut Vec<T>, earlier: &[T]) {
    for member in earlier {
        if !list.contains(member) {
            list.push(member.clone());
        }
    }
}

/// The paths of the settings that differ.
fn changed(
    before: &BTreeMap<String, Setting>,
    after: &BTreeMap<String, Setting>,
) -> BTreeSet<String> {
    let value = |settings: &BTreeMap<String, Setting>, setting: &Setting, path: &str| {
        let found = settings.get(path).map(|setting| setting.value.clone());
        found.unwrap_or_else(|| setting.key.default_value())
    };
    let all = before.iter().chain(after);
    let differs =
        |path: &str, setting: &Setting| value(before, setting, path) != value(after, setting, path);
    all.filter(|(path, setting)| differs(path, setting))
        .map(|(path, _)| path.clone())
        .collect()
}

/// The new configuration with everything that only a restart applies as it was.
fn merge(running: &Config, new: Config) -> Config {
    let (old, defaults) = (&running.agents.defaults, new.agents.defaults.clone());
    let tools = &running.tools;
    let mut config = Config {
        tools: Tools {
            restrict_to_workspace: tools.restrict_to_workspace,
            allowed_paths: tools.allowed_paths.clone(),
            read_only_paths: tools.read_only_paths.clone(),
            protected_paths: tools.protected_paths.clone(),
            ..new.tools
        },
        tls: running.tls.clone(),
        http: running.http.clone(),
        ..new
    };
    config.agents.defaults = AgentDefaults {
        workspace: old.workspace.clone(),
        timezone: old.timezone.clone(),
        max_parallel_turns: old.max_parallel_turns,
        ..defaults
    };
    config.storage.inbox_max_mb = running.storage.inbox_max_mb;
    config.log.format = running.log.format;
    config.channels = merge_channels(&running.channels, &config.channels);
    config
}

fn merge_channels(running: &Channels, new: &Channels) -> Channels {
    let mut channels = running.merged(new, |bot, new| {
        bot.allow_from.clone_from(&new.allow_from);
        bot.roles.clone_from(&new.roles);
        bot.default_role = new.default_role;
        bot.streaming = new.streaming;
        bot.stream_edit_interval_ms = new.stream_edit_interval_ms;
    });
    channels.send_progress = new.send_progress;
    channels.send_tool_hints = new.send_tool_hints;
    channels
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::key::{Key, Kind};
    use crate::config::table::keys;

    #[test]
    fn what_needs_a_restart_is_in_the_table_of_settings() {
        let exists = |name: &str| keys().any(|key| key.path == name);
        for name in NEEDS_RESTART {
            assert!(exists(name), "{name}");
        }
        for name in OF_CHANNEL {
            assert!(exists(&format!("channels.telegram.{name}")), "{name}");
        }
        assert!(applies_at_once("agents.defaults.model"));
        assert!(applies_at_once("providers.mine.apiKey"));
        assert!(applies_at_once("channels.sendProgress"));
        assert!(!applies_at_once("channels.telegram.token"));
        assert!(!applies_at_once("tls.caFile"));
    }

    /// Another value than the default; `None` for settings that this cannot make up.
    fn other_value(key: &Key) -> Option<Value> {
        Some(match key.kind {
            Kind::Flag => json!(key.default != "true"),
            Kind::Whole(least, most) => match key.default_value() == json!(most) {
                true => json!(least),
                false => json!(most),
            },
            Kind::Choice(all) => {
                let others = all.iter().map(|one| json!(one));
                others.into_iter().find(|one| *one != key.default_value())?
            }
            Kind::Text | Kind::Url | Kind::Path => json!("/other"),
            Kind::Texts | Kind::Ids | Kind::Hosts | Kind::Paths => json!(["/other"]),
            _ => return None,
        })
    }

    fn config_with(path: &str, value: &Value) -> Config {
        let nested = path.rsplit('.').fold(value.clone(), |inner, name| {
            let name = if name == "*" { "x" } else { name };
            json!({ name: inner })
        });
        serde_json::from_value(nested).unwrap()
    }

    #[test]
    fn each_setting_of_tools_is_applied_as_is_said() {
        let before = Config::default();
        let shown = |config: &Config| format!("{:?}", config.tools);
        let mut count = 0;
        for key in keys().filter(|key| key.path.starts_with("tools.")) {
            let Some(value) = other_value(key) else {
                continue;
            };
            let new = config_with(key.path, &value);
            assert_ne!(shown(&new), shown(&before), "{}", key.path);
            let expected = match applies_at_once(key.path) {
                true => shown(&new),
                false => shown(&before),
            };
            assert_eq!(shown(&merge(&before, new)), expected, "{}", key.path);
            count += 1;
        }
        assert!(count > 20, "{count}");
        // A server that is gone is not used any longer.
        let with = config_with("tools.mcpServers.x.command", &json!("x"));
        assert!(merge(&with, before).tools.mcp_servers.is_empty());
    }

    #[test]
    fn a_reload_is_told_in_a_line_or_two() {
        let changes = |applied: &[&str], restart: &[&str]| Changes {
            applied: applied.iter().map(|path| (*path).to_owned()).collect(),
            restart: restart.iter().map(|path| (*path).to_owned()).collect(),
            ignored: Vec::new(),
        };
        let text = format_changes(&changes(&[], &[]));
        assert_eq!(text, "Nothing has changed.\n");
        let text = format_changes(&changes(&["log.level"], &["tls.caFile"]));
        assert_eq!(
            text,
            "Applied: log.level\nApplied after the gateway's next restart: tls.caFile\n"
        );
    }
}
