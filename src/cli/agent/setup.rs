//! Puts an agent and a session together from the configuration.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Arguments;
use super::commands::commands_of;
use crate::agent::context::Surroundings;
use crate::agent::host::TurnEvent;
use crate::agent::{Agent, ModelsFor, Parts};
use crate::board::Board;
use crate::cancel::Cancel;
use crate::cli::Context;
use crate::cli::terminal::print;
use crate::cli::terminal::view::View;
use crate::clock::Clock;
use crate::config::schema::{AgentDefaults, Provider};
use crate::config::{Home, Loaded};
use crate::error::Result;
use crate::files::{Places, Workspace};
use crate::http::Tls;
use crate::message::SessionKey;
use crate::provider::Models;
use crate::provider::table::{OFFLINE, known};
use crate::session::{Session, Settings};
use crate::state::{ModelChoices, TokenUsage};
use crate::sys;
use crate::sys::beneath::Resolver;
use crate::sys::environment::Environment;
use crate::tools::Toolbox;
use crate::tools::commands::Commands;

/// An agent, ready to talk in a session.
pub struct Ready {
    /// The agent.
    pub agent: Agent,
    /// Its session.
    pub session: Session,
    /// Where the journals are.
    pub sessions: PathBuf,
}

/// Loads the configuration, makes what is missing of the home, and opens the session.
pub fn prepare(context: &Context, arguments: &Arguments, stream: bool) -> Result<Ready> {
    let home = context.home()?;
    let loaded = context.start()?;
    let chat = SessionKey::parse(&arguments.session);
    let settings = Settings::new(&loaded.config, Clock::System);
    let session = Session::open(&home.sessions(), &chat, settings)?;
    let ca_file = loaded.config.tls.ca_file.as_deref();
    let manner = Manner {
        model: arguments.model.clone(),
        stream,
        chats: false,
        board: Arc::new(Board::new(Path::new("/"), home.path())),
        tls: Tls::new(ca_file.map(Path::new))?,
    };
    let agent = build(context, &home, loaded, manner)?;
    warn_of_stranger(&agent, &chat, arguments.model.as_deref());
    Ok(Ready {
        agent,
        session,
        sessions: home.sessions(),
    })
}

/// Says that nobody is known for the model that was asked for, and who answers in its stead.
fn warn_of_stranger(agent: &Agent, chat: &SessionKey, model: Option<&str>) {
    if let Some(model) = model.filter(|model| *model != OFFLINE && agent.lacks_model(chat)) {
        print::complain(&format!(
            "no provider is connected for the model {model}, so the offline helper answers; \
             `peacrab onboard` connects one"
        ));
    }
}

/// Says what had to be repaired in the journal.
pub fn say_repairs<Output: Write, Errors: Write>(
    session: &Session,
    view: &mut View<Output, Errors>,
) {
    for repair in session.repairs() {
        view.show(TurnEvent::Notice(repair));
    }
}

/// How an agent is to work where it is started.
pub struct Manner {
    /// The model that was named, if any.
    pub model: Option<String>,
    /// Whether answers should come in pieces.
    pub stream: bool,
    /// Whether people are in chats, and not at the terminal.
    pub chats: bool,
    /// The machine.
    pub board: Arc<Board>,
    /// Whom to trust.
    pub tls: Tls,
}

/// Puts an agent together, and makes its workspace where it is missing.
pub fn build(context: &Context, home: &Home, loaded: Loaded, manner: Manner) -> Result<Agent> {
    let eraser = context.eraser(&loaded);
    let workspace = open_workspace(context, home, &loaded)?;
    let commands = commands_of(context, home, &loaded)?;
    let config = loaded.config;
    let settings = config.agents.defaults.clone();
    let surroundings = Surroundings {
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
    )
    .with_board(manner.board);
    if let Some(commands) = commands {
        toolbox = toolbox.with_commands(commands);
    }
    if manner.chats {
        toolbox = toolbox.with_chats();
    }
    Agent::new(Parts {
        models: models_for(
            settings.clone(),
            config.providers,
            context.environment().clone(),
            manner.tls,
        ),
        model: manner.model,
        choices: ModelChoices::new(&home.state()),
        toolbox,
        ledger: TokenUsage::new(&home.state(), Clock::System),
        clock: Clock::System,
        surroundings,
        settings,
        limits: config.limits,
        stream: manner.stream,
    })
}

/// The workspace, made where it is missing.
pub fn open_workspace(context: &Context, home: &Home, loaded: &Loaded) -> Result<Workspace> {
    let config = &loaded.config;
    let path = home.workspace(&config.agents.defaults.workspace);
    sys::file::private_folder(&path)?;
    let config_file = context.config_file()?;
    let user_home = context.environment().get("HOME").map(Path::new);
    let mut hidden = vec![home.path(), &config_file];
    hidden.extend(loaded.secret_files.iter().map(PathBuf::as_path));
    let places = Places {
        workspace: &path,
        hidden: &hidden,
        user_home,
    };
    Workspace::open(&places, &config.tools, Resolver::detect())
}

/// The models as the configuration and the environment say, for what only shows them.
pub fn models_of(context: &Context, loaded: &Loaded) -> Result<Models> {
    let config = loaded.config.clone();
    let tls = Tls::new(config.tls.ca_file.as_deref().map(Path::new))?;
    models_for(
        config.agents.defaults,
        config.providers,
        context.environment().clone(),
        tls,
    )(None)
}

/// Who answers, the fallbacks behind the first, and what is missing for it; none where only the
/// offline helper does.
pub fn who_answers(models: &Models) -> Option<String> {
    let route = models.primary();
    if route.provider == OFFLINE {
        return None;
    }
    let missing = match known(&route.provider).map(|known| known.variables) {
        Some([variable, ..]) if route.needs_key && route.key.is_empty() => {
            format!("; the key of {} is missing: set {variable}", route.provider)
        }
        _ => String::new(),
    };
    Some(models.names().join(", then ") + &missing)
}

fn models_for(
    settings: AgentDefaults,
    providers: BTreeMap<String, Provider>,
    environment: Environment,
    tls: Tls,
) -> ModelsFor {
    Box::new(move |name| {
        let mut settings = settings.clone();
        if let Some(name) = name {
            name.clone_into(&mut settings.model);
        }
        let variable = |name: &str| environment.get(name).cloned();
        let mut models = Models::new(&settings, &providers, &variable, tls.clone())?;
        models.discover(&Cancel::new())?;
        Ok(models)
    })
}
