//! The agents of a gateway: which of them serves a message, and each made when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::Gateway;
use crate::agent::Agent;
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::message::{Address, Envelope, Origin, SessionKey};
use crate::base::sync::Mutex;
use crate::config::agents::Profile;
use crate::config::schema::Agents;
use crate::sandbox::files::Workspace;
use crate::store::session::{Settings, store};

use super::Live;

/// Makes something that may not be needed.
pub type Make<T> = Box<dyn Fn() -> Result<T> + Send + Sync>;

/// Something that is made when it is first needed.
pub struct Lazy<T> {
    made: OnceLock<Arc<T>>,
    /// Dropped once it has been used.
    make: Mutex<Option<Make<T>>>,
}

impl<T> Lazy<T> {
    /// To be made later.
    pub fn new(make: Make<T>) -> Self {
        Self {
            made: OnceLock::new(),
            make: Mutex::new(Some(make)),
        }
    }

    /// Made already.
    pub fn made(made: T) -> Self {
        Self {
            made: Arc::new(made).into(),
            make: Mutex::default(),
        }
    }

    fn get(&self) -> Result<Arc<T>> {
        if let Some(made) = self.made.get() {
            return Ok(Arc::clone(made));
        }
        let mut make = self.make.lock();
        if let Some(made) = self.made.get() {
            return Ok(Arc::clone(made));
        }
        let Some(maker) = &*make else {
            return Err(Error::Failed("the agent could not be started".to_owned()));
        };
        let made = Arc::new(maker()?);
        *make = None;
        Ok(Arc::clone(self.made.get_or_init(|| made)))
    }
}

/// An agent of a gateway, with its places.
pub struct Hosted {
    /// Its id, name and settings.
    pub profile: Profile,
    /// The folder of its journals.
    pub sessions: PathBuf,
    /// How its journals are opened.
    pub journals: Settings,
    /// The path of its workspace.
    pub folder: PathBuf,
    /// The agent itself.
    pub agent: Lazy<Agent>,
    /// Where files of messages come to and go from.
    pub workspace: Lazy<Workspace>,
}

impl Hosted {
    /// The agent. The first call makes it, which may take a while and fail.
    pub fn agent(&self) -> Result<Arc<Agent>> {
        self.agent.get()
    }

    /// The agent, if it has been needed before.
    pub fn made(&self) -> Option<&Arc<Agent>> {
        self.agent.made.get()
    }

    /// Its workspace. The first call opens it.
    pub(super) fn workspace(&self) -> Result<Arc<Workspace>> {
        self.workspace.get()
    }

    /// A path that the agent has given, which may be relative to its workspace.
    pub(super) fn absolute(&self, path: &str) -> String {
        self.folder.join(path).display().to_string()
    }

    /// Whether this agent has a conversation with a chat: its model may only send messages there.
    pub(super) fn knows(&self, to: &Address) -> bool {
        store::path_of(&self.sessions, &to.session()).exists()
    }
}

/// All agents, and which of them serves whom.
pub struct Roster {
    all: Vec<Arc<Hosted>>,
    rules: Agents,
    /// The index of the one that serves what no binding claims.
    default: usize,
    default_agent: Arc<Agent>,
}

impl Roster {
    /// With the agents of the configuration, in their order. Makes the default one.
    pub fn new(all: Vec<Arc<Hosted>>, rules: Agents) -> Result<Self> {
        let is_default = |hosted: &Arc<Hosted>| hosted.profile.id == rules.default_id();
        let default = all.iter().position(is_default).unwrap_or_default();
        let hosted = all.get(default);
        let hosted = hosted.ok_or_else(|| Error::Failed("there are no agents".to_owned()))?;
        Ok(Self {
            default_agent: hosted.agent()?,
            default,
            all,
            rules,
        })
    }

    /// Every agent.
    pub fn all(&self) -> &[Arc<Hosted>] {
        &self.all
    }

    /// The agent that serves what no binding claims.
    pub fn default_agent(&self) -> &Arc<Agent> {
        &self.default_agent
    }

    /// The agent with this id.
    pub fn named(&self, id: &str) -> Option<&Arc<Hosted>> {
        self.all.iter().find(|hosted| hosted.profile.id == id)
    }

    /// The agent that serves a message. This is the only place where that is decided.
    pub fn serving(&self, message: &Envelope) -> &Arc<Hosted> {
        match &message.origin {
            Origin::Report { agent, .. } => self.or_default(agent),
            _ => self.or_default(self.rules.serving(message)),
        }
    }

    /// Ends the background commands of a conversation, whichever agent has started them, and returns them.
    /// Blocks until they are gone.
    pub(super) fn end_background(&self, session: &SessionKey) -> Vec<String> {
        self.end_background_for(session, Role::Owner)
    }

    /// The same for a person: what was started for someone who may do more goes on.
    pub(super) fn end_background_for(&self, session: &SessionKey, role: Role) -> Vec<String> {
        let made = self.all.iter().filter_map(|hosted| hosted.made());
        made.flat_map(|agent| agent.end_background_for(session, role))
            .collect()
    }

    /// Ends what the shells of a conversation have left running, and returns it. Blocks until it is gone.
    pub(super) fn end_in_shells(&self, session: &SessionKey) -> Vec<String> {
        let made = self.all.iter().filter_map(|hosted| hosted.made());
        made.flat_map(|agent| agent.toolbox().end_in_shell(session.as_str()))
            .collect()
    }

    /// Ends the background commands of all conversations. Blocks until they are gone.
    pub(super) fn end_all_background(&self) {
        let made = self.all.iter().filter_map(|hosted| hosted.made());
        made.for_each(|agent| agent.toolbox().end_all());
    }

    /// The folder that the file of a message is read from: the workspace of the agent that it is in, else
    /// that of the default agent.
    pub fn workspace_with(&self, path: &Path) -> Result<Arc<Workspace>> {
        let mut all = self.all.iter();
        let found = all.find(|hosted| path.starts_with(&hosted.folder));
        found.unwrap_or(&self.all[self.default]).workspace.get()
    }

    /// The folder that the files of a message are stored in.
    pub fn workspace_for(&self, message: &Envelope) -> Result<Arc<Workspace>> {
        self.serving(message).workspace.get()
    }

    /// Whether an agent serves a chat, as far as the chat's address says: in a private chat of Telegram the
    /// chat's id is the person's.
    pub(super) fn serves(&self, hosted: &Hosted, chat: &Address) -> bool {
        self.rules.serving_at(chat, Some(&chat.chat)) == hosted.profile.id
    }

    fn or_default(&self, id: &str) -> &Arc<Hosted> {
        self.named(id).unwrap_or(&self.all[self.default])
    }
}

impl Gateway {
    /// The agent for a piece of work: the one that serves the message, or the one whose turn was
    /// interrupted.
    pub(super) fn agent_for(
        &self,
        live: &Live,
        session: &SessionKey,
        message: Option<&Envelope>,
    ) -> Arc<Hosted> {
        let agents = &live.agents;
        let interrupted = || agents.named(self.interrupted.lock().get(session)?);
        let found = match message {
            Some(message) => Some(agents.serving(message)),
            None => interrupted(),
        };
        let of_chat = || {
            let chat = Address::parse(session.as_str());
            agents.or_default(agents.rules.serving_at(&chat, None))
        };
        Arc::clone(found.unwrap_or_else(of_chat))
    }

    /// The conversations with an interrupted turn. Keeps whose they are: a binding may have changed since.
    pub(super) fn find_interrupted(&self) -> Vec<SessionKey> {
        let live = self.live();
        let mut found = self.interrupted.lock();
        for hosted in live.agents.all() {
            let unfinished = store::unfinished(&hosted.sessions).unwrap_or_else(|error| {
                tracing::error!("failed to look for interrupted turns: {error}");
                Vec::new()
            });
            for session in unfinished {
                // A second one goes on with the next message to its agent.
                found.entry(session).or_insert(hosted.profile.id.clone());
            }
        }
        found.keys().cloned().collect()
    }
}
