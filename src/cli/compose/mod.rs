//! The composition root: builds the parts that a command needs from the configuration.

mod agents;
mod commands;
pub mod files;
mod homes;
mod jobs;
mod mcp;
use agents::workspaces_of_others;
pub use agents::{check_agents, create_workspaces};
use commands::commands_of;
pub use commands::exec_of;
pub use homes::{remove_homes_of, remove_unused_homes};
pub use mcp::{folder_of as mcp_folder_of, mcp_of};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::context::HostInfo;
use crate::agent::{Agent, HearingFor, ModelsFor, Parts, SpeakingFor};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::board::Board;
use crate::cli::Context;
use crate::config::schema::{self, AgentDefaults, Provider, Speech, Transcription};
use crate::config::{Home, Loaded};
use crate::models::Models;
use crate::models::hearing::{self, Hearing};
use crate::models::route::Sources;
use crate::models::signin::{SignIn, SignIns};
use crate::models::speaking::{self, Speaking};
use crate::models::table::{OFFLINE, known};
use crate::net::http::{Pool, Tls};
use crate::sandbox::files::{Places, PromptPlaces, Workspace};
use crate::store::plans::Plans;
use crate::store::state::{FirstTurns, Learned, ModelChoices, PromptChanges, TokenUsage};
use crate::sys;
use crate::sys::beneath::Resolver;
use crate::sys::environment::Environment;
use crate::tools::Toolbox;
use crate::tools::commands::Commands;
use crate::tools::custom::CustomTools;
use crate::tools::web::Web;

/// Options of a run that are not in the configuration.
pub struct RunOptions<'a> {
    /// The model from the command line, if any.
    pub model: Option<String>,
    /// Whether replies are streamed.
    pub stream: bool,
    /// Whether the person is in a chat, not at the terminal.
    pub chats: bool,
    /// The board that it runs on.
    pub board: Arc<Board>,
    /// The connections to models, which agents share.
    pub connections: Pool,
    /// The agent that this one replaces: its background commands go on.
    pub before: Option<&'a Agent>,
}

/// Builds the agent whose settings these are. Its workspace is created when it is missing.
pub fn agent(
    context: &Context,
    home: &Home,
    loaded: Loaded,
    options: RunOptions<'_>,
) -> Result<Agent> {
    let eraser = context.eraser(&loaded);
    let workspace = open_workspace(context, home, &loaded)?;
    PromptPlaces::clean(workspace.path());
    let commands = commands_of(context, home, &loaded)?;
    let tls = options.connections.tls().clone();
    let mcp_before = options.before.and_then(|agent| agent.toolbox().mcp());
    let mcp = mcp_of(context, home, &loaded, tls, mcp_before)?;
    let agent = loaded.agent_id().to_owned();
    let planned = (jobs::planner(home, &loaded), jobs::watches(home, &loaded));
    let config = loaded.config;
    let settings = config.agents.defaults.clone();
    let host_info = HostInfo {
        os: sys::host::os(),
        kernel: sys::host::kernel(),
        board: sys::host::board(),
        host: sys::host::name(),
        workspace: workspace.path().display().to_string(),
        reach: workspace.folders().to_owned(),
        commands: commands.as_ref().map_or_else(String::new, Commands::rules),
    };
    let mut toolbox = Toolbox::new(
        workspace,
        settings.max_tool_result_chars,
        eraser,
        Clock::System,
    );
    if let Some(mut commands) = commands {
        if let Some(before) = options.before.and_then(|agent| agent.toolbox().commands()) {
            commands = commands.continuing(before);
        }
        toolbox = toolbox.with_commands(commands);
    }
    if config.tools.custom.enabled {
        let custom = CustomTools::new(&home.state(), &agent, Clock::System);
        toolbox = toolbox.with_custom(custom);
    }
    toolbox = toolbox
        .with_board(options.board)
        .with_memory(home.sessions_of(&agent), Clock::System)
        .with_skills(settings.skills.clone())
        .with_subagents(Plans::new(&home.state()));
    if config.tools.has_web() {
        let variable = |name: &str| context.environment().get(name).cloned();
        let tls = options.connections.tls().clone();
        toolbox = toolbox.with_web(Web::new(config.tools.web, tls, &variable));
    }
    if let Some(mcp) = mcp {
        toolbox = toolbox.with_mcp(mcp);
    }
    toolbox = jobs::add_to(toolbox, planned);
    if options.chats {
        toolbox = toolbox.with_chats(config.speech.is_set());
    }
    let connections = options.connections;
    let label = config.agents.profile(Some(&agent)).map(|one| one.label());
    let (models, hearing, speaking) = models_and_voice(
        &settings,
        (config.providers, (config.transcription, config.speech)),
        context.environment(),
        (connections.clone(), home),
    );
    let made = Agent::new(Parts {
        models,
        hearing,
        speaking,
        connections,
        model: options.model,
        choices: ModelChoices::new(&home.state()).of_agent(&agent),
        toolbox,
        ledger: TokenUsage::new(&home.state(), Clock::System).of_agent(&agent),
        first_turns: FirstTurns::new(&home.state(), &agent),
        learned: Learned::new(&home.state()),
        clock: Clock::System,
        host_info,
        settings,
        limits: config.limits,
        stream: options.stream,
        label: label.filter(|_| config.agents.are_several()),
    })?;
    Ok(made.with_changes(PromptChanges::new(&home.state(), &agent, Clock::System)))
}

/// The workspace; it is created when it is missing.
pub fn open_workspace(context: &Context, home: &Home, loaded: &Loaded) -> Result<Workspace> {
    let path = home.workspace(&loaded.config.agents.defaults.workspace);
    sys::file::private_folder(&path)?;
    workspace_at(context, home, loaded, &path)
}

/// Folders of the system, in none of which an agent works.
const SYSTEM: [&str; 10] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr",
];
/// Folders with those of others, below which one may.
const SHARED: [&str; 9] = [
    "/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var",
];

/// Whether the folder can be the workspace. The error says why not. A new folder below one that is there is tried out,
/// and not there afterwards.
pub fn check_workspace(context: &Context, loaded: &Loaded, folder: &Path) -> Result<()> {
    let real = sys::beneath::canonical(folder).unwrap_or_else(|_| folder.to_owned());
    let is_system = SYSTEM.iter().any(|system| real.starts_with(system));
    if is_system || SHARED.iter().any(|shared| real == Path::new(shared)) {
        return Err(Error::Config(format!(
            "{} belongs to the system. Choose a folder of its own, such as one below your home",
            real.display()
        )));
    }
    let home = context.home()?;
    let is_new = !folder.exists() && folder.parent().is_some_and(Path::is_dir);
    if is_new {
        std::fs::create_dir(folder).map_err(Error::io("create", folder))?;
    }
    let checked = workspace_at(context, &home, loaded, folder).map(drop);
    if is_new {
        let _ = std::fs::remove_dir(folder);
    }
    checked
}

fn workspace_at(context: &Context, home: &Home, loaded: &Loaded, path: &Path) -> Result<Workspace> {
    let config = &loaded.config;
    let config_file = context.config_file()?;
    let user_home = context.environment().get("HOME").map(Path::new);
    let mut hidden = vec![home.path(), &config_file];
    hidden.extend(loaded.secret_files.iter().map(PathBuf::as_path));
    let mut elsewhere = home.elsewhere(path);
    elsewhere.extend(commands::backups_elsewhere(home, loaded, path));
    hidden.extend(elsewhere.iter().map(PathBuf::as_path));
    let others = workspaces_of_others(home, loaded);
    hidden.extend(others.iter().map(PathBuf::as_path));
    let places = Places {
        workspace: path,
        hidden: &hidden,
        user_home,
    };
    Workspace::open(&places, &config.tools, Resolver::detect())
}

/// The TLS settings of the configuration.
pub fn tls(config: &schema::Tls) -> Result<Tls> {
    let tls = Tls::new(config.ca_file.as_deref().map(Path::new))?;
    Ok(tls.with_local_users(&config.local_server_users))
}

/// The configured models, for commands that only show them.
pub fn models_of(context: &Context, loaded: &Loaded) -> Result<Models> {
    let config = loaded.config.clone();
    let tls = tls(&config.tls)?;
    models_for(
        config.agents.defaults,
        Arc::new(config.providers),
        Arc::new(context.environment().clone()),
        (Pool::new(tls), &context.home()?),
    )(None)
}

/// The sign-ins with subscriptions.
pub fn sign_ins(home: &Home, tls: Tls) -> SignIns {
    SignIns {
        folder: home.state().join("signin"),
        tls,
        clock: Clock::System,
    }
}

/// The models in the order in which they are asked, and a missing API key or sign-in of the first one; `None` when
/// only the offline helper answers.
pub fn who_answers(models: &Models) -> Option<String> {
    let route = models.primary();
    if route.provider == OFFLINE {
        return None;
    }
    let mut names = models.names();
    if let Some(first) = names.first_mut().filter(|_| route.model.is_empty()) {
        first.push_str(" (the first model that it lists)");
    }
    let names = names.join(", then ");
    let is_signed_out = |sign_in: &&SignIn| !sign_in.is_there();
    if route.sign_in.as_ref().filter(is_signed_out).is_some() {
        let provider = &route.provider;
        return Some(format!("{names} (not signed in: peacrab login {provider})"));
    }
    let missing = match known(&route.provider).map(|known| known.variables) {
        Some([variable, ..]) if route.needs_key && route.key.is_empty() => {
            format!(" (API key missing: set {variable})")
        }
        _ => String::new(),
    };
    Some(names + &missing)
}

/// What chooses the models, who listens to voice messages, and what speaks.
fn models_and_voice(
    settings: &AgentDefaults,
    (providers, (transcription, speech)): (BTreeMap<String, Provider>, (Transcription, Speech)),
    environment: &Environment,
    (connections, home): (Pool, &Home),
) -> (ModelsFor, HearingFor, SpeakingFor) {
    let (providers, environment) = (Arc::new(providers), Arc::new(environment.clone()));
    let models = models_for(
        settings.clone(),
        Arc::clone(&providers),
        Arc::clone(&environment),
        (connections, home),
    );
    let answers = (settings.provider.clone(), settings.model.clone());
    let (its_providers, its_environment) = (Arc::clone(&providers), Arc::clone(&environment));
    let hearing = move || {
        let of = (&*providers, &*environment);
        choose_hearing(&transcription, (&answers.0, &answers.1), of)
    };
    let speaking = move || choose_speaking(&speech, (&its_providers, &its_environment));
    (models, Box::new(hearing), Box::new(speaking))
}

/// Who listens to voice messages; `None` where they are not listened to.
pub fn hearing_of(context: &Context, loaded: &Loaded) -> Result<Option<Hearing>> {
    let config = &loaded.config;
    let answers = &config.agents.defaults;
    choose_hearing(
        &config.transcription,
        (&answers.provider, &answers.model),
        (&config.providers, context.environment()),
    )
}

/// What speaks answers; `None` where nothing is set.
pub fn speaking_of(context: &Context, loaded: &Loaded) -> Result<Option<Speaking>> {
    let config = &loaded.config;
    choose_speaking(&config.speech, (&config.providers, context.environment()))
}

fn choose_hearing(
    settings: &Transcription,
    answers: (&str, &str),
    of: (&BTreeMap<String, Provider>, &Environment),
) -> Result<Option<Hearing>> {
    with_sources(of, |sources| hearing::choose(settings, answers, sources))
}

fn choose_speaking(
    settings: &Speech,
    of: (&BTreeMap<String, Provider>, &Environment),
) -> Result<Option<Speaking>> {
    with_sources(of, |sources| speaking::choose(settings, sources))
}

fn with_sources<T>(
    (providers, environment): (&BTreeMap<String, Provider>, &Environment),
    choose: impl FnOnce(&Sources<'_>) -> T,
) -> T {
    choose(&Sources {
        providers,
        variable: &|name| environment.get(name).cloned(),
        sign_ins: None,
    })
}

fn models_for(
    settings: AgentDefaults,
    providers: Arc<BTreeMap<String, Provider>>,
    environment: Arc<Environment>,
    (connections, home): (Pool, &Home),
) -> ModelsFor {
    let sign_ins = sign_ins(home, connections.tls().clone());
    Box::new(move |name| {
        let sources = Sources {
            providers: &providers,
            variable: &|name| environment.get(name).cloned(),
            sign_ins: Some(&sign_ins),
        };
        let mut models = Models::new(&settings, name, &sources, connections.clone())?;
        models.discover(&Cancel::new())?;
        Ok(models)
    })
}
