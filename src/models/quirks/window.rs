//! How many tokens a model has on a server of one's own: what the server gives it, which may be far less than the
//! model can. Ollama cuts without a word what is longer, and takes no size over OpenAI's API
//! (<https://docs.ollama.com/api/openai-compatibility#setting-the-context-size>).

use std::cell::Cell;

use serde_json::json;
use tracing::subscriber::{NoSubscriber, with_default};

use crate::base::json::{self, Members};
use crate::base::limits::models::WINDOW_TOKENS_MAX;
use crate::models::route::Route;
use crate::models::route::headers;
use crate::net::http::{Client, Method, Response};
use std::time::Duration;

/// Time in which a server of one's own has to tell a model's window: a person is waiting.
const WINDOW_TIME: Duration = Duration::from_secs(2);
/// Bytes of each such answer. Ollama's about a model has its license and its template.
const WINDOW_BYTES_MAX: usize = 512 * 1024;
/// Tokens that Ollama and LM Studio give a model by default (<https://docs.ollama.com/context-length>).
const UNLOADED_WINDOW_TOKENS: u64 = 4096;

/// The window of a model on a server of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens of prompt and reply together.
    pub tokens: u32,
    /// Whether they are those of the model as it is loaded, rather than the server's default.
    pub is_certain: bool,
    /// The program that serves it.
    pub server: Server,
}

/// A program that serves models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// <https://docs.ollama.com/api>
    Ollama,
    /// <https://lmstudio.ai/docs/developer/rest/endpoints>
    LmStudio,
    /// <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>
    LlamaCpp,
    /// vLLM, and others that list windows as it does.
    Vllm,
}

impl Server {
    /// How to give a model a larger window, as a sentence.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Ollama => {
                "Set OLLAMA_CONTEXT_LENGTH=16384 in Ollama's environment (`systemctl edit ollama`) and restart it"
            }
            Self::LmStudio => "Load the model with a larger context length in LM Studio",
            Self::LlamaCpp => "Start llama-server with a larger --ctx-size",
            Self::Vllm => "Start the server with a larger --max-model-len",
        }
    }
}

/// Asks a server for the window of a model. `None` where it does not tell, or not in time.
pub(in crate::models) fn ask(client: &Client, route: &Route, model: &str) -> Option<Window> {
    let url = route.models_url();
    let list = url.split('?').next().unwrap_or_default();
    let root = list.strip_suffix("/models").unwrap_or(list);
    let asking = Asking {
        client,
        route,
        model,
        root: root.strip_suffix("/v1").unwrap_or(root),
        status: Cell::new(Some(200)),
    };
    let window = match route.provider.as_str() {
        "ollama" => asking.ollama(),
        "lmstudio" => asking.lm_studio(),
        _ => asking.by_list(list),
    };
    window.filter(|window| (1..=WINDOW_TOKENS_MAX).contains(&window.tokens.into()))
}

/// Asks a server within the time that all questions about a window may take together. The log has nothing of them: they are
/// no part of a conversation, and most may fail.
pub(in crate::models) fn within_time<T>(client: &Client, ask: impl FnOnce() -> T) -> T {
    client.set_reply_time(Some(WINDOW_TIME));
    let answer = with_default(NoSubscriber::default(), ask);
    client.set_reply_time(None);
    answer
}

/// The questions to a server about one model.
struct Asking<'a> {
    client: &'a Client,
    route: &'a Route,
    model: &'a str,
    /// The server's address, without the version of its API.
    root: &'a str,
    /// The status of its last answer; `None` where it could not be reached or did not answer in time, and is asked
    /// nothing more.
    status: Cell<Option<u16>>,
}

impl Asking<'_> {
    /// The JSON object at a path of the server.
    fn get<T>(&self, path: &str, read: impl Fn(&Members<'_>) -> Option<T>) -> Option<T> {
        self.call(Method::GET, &format!("{}{path}", self.root), None, read)
    }

    fn call<T>(
        &self,
        method: Method,
        url: &str,
        body: Option<&[u8]>,
        read: impl Fn(&Members<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut headers = headers(self.route);
        headers.push(("content-type", "application/json"));
        // A server that did not answer is not asked again.
        self.status.get()?;
        let response = self.client.ask(method, url, &headers, body);
        let status = response.as_ref().ok().map(Response::status);
        self.status.set(status);
        let response = response.ok()?;
        let answer = response.read_to_end(WINDOW_BYTES_MAX).ok()?;
        let members = json::envelope_from_slice(&answer).ok()?;
        read(&members).filter(|_| status == Some(200))
    }

    /// Finds out by the list of models what the server is. Each program writes more into it than OpenAI has.
    fn by_list(&self, url: &str) -> Option<Window> {
        let listed = self.call(Method::GET, url, None, |list| {
            let entry = self.entry(list, "data", &["id"], |entry| {
                let meta = entry.members("meta");
                let told = [
                    (entry.number("max_model_len"), Server::Vllm),
                    (meta.number("n_ctx"), Server::LlamaCpp),
                ];
                let told = told
                    .into_iter()
                    .find_map(|(tokens, server)| Some(window(tokens?, true, server)));
                let owner = entry.text("owned_by");
                let trained = meta.number("n_ctx_train");
                Some((told.ok_or(trained), owner))
            });
            Some(entry)
        });
        let Some(listed) = listed else {
            let has_no_list = self.status.get() == Some(404);
            return has_no_list.then(|| self.by_trying())?;
        };
        let (told, owner) = listed?;
        let trained = match told {
            Ok(window) => return Some(window),
            Err(trained) => trained,
        };
        // Which a server that tells nothing about the model does not have.
        let owner = owner?;
        if owner == "llamacpp" || trained.is_some() {
            // It takes what the model was trained with, where it is not told otherwise.
            let guess = trained.map(|tokens| window(tokens, true, Server::LlamaCpp));
            return self.llama_cpp().or(guess);
        }
        self.by_trying()
    }

    fn by_trying(&self) -> Option<Window> {
        self.ollama()
            .or_else(|| self.lm_studio())
            .or_else(|| self.llama_cpp())
    }

    /// Reads the entry of a list that is about the model. Where there is only one to ask, its name does not matter.
    fn entry<T>(
        &self,
        answer: &Members<'_>,
        list: &str,
        names: &[&str],
        read: impl Fn(&Members<'_>) -> Option<T>,
    ) -> Option<T> {
        let entries = answer.list(list)?;
        let entries: Vec<_> = entries
            .iter()
            .filter_map(|entry| Members::read(entry.get()))
            .collect();
        let is_meant = |entry: &&Members<'_>| {
            let mut names = names.iter().filter_map(|name| entry.text(name));
            names.any(|name| is_same(&name, self.model))
        };
        let only = || {
            entries
                .first()
                .filter(|_| list == "data" && entries.len() == 1)
        };
        read(entries.iter().find(is_meant).or_else(only)?)
    }

    /// What is loaded; else what Ollama takes when it loads the model.
    fn ollama(&self) -> Option<Window> {
        let loaded = self.get("/api/ps", |running| {
            // Others answer anything with an error.
            running.raw("models")?;
            let tokens = self.entry(running, "models", &["name", "model"], |entry| {
                entry.number("context_length")
            });
            Some(tokens.map(|tokens| window(tokens, true, Server::Ollama)))
        })?;
        let show = || {
            let body = json!({"model": self.model}).to_string();
            let url = format!("{}/api/show", self.root);
            self.call(Method::POST, &url, Some(body.as_bytes()), |shown| {
                shown.raw("details")?;
                Some(ollama_default(shown))
            })
        };
        loaded.or_else(show)
    }

    fn lm_studio(&self) -> Option<Window> {
        self.get("/api/v0/models", |list| {
            self.entry(list, "data", &["id"], |entry| {
                let most = entry.number("max_context_length");
                match entry.number("loaded_context_length") {
                    Some(tokens) => Some(window(tokens, true, Server::LmStudio)),
                    None => most.map(|most| window(unloaded(Some(most)), false, Server::LmStudio)),
                }
            })
        })
    }

    /// Each of its slots has a window of its own.
    fn llama_cpp(&self) -> Option<Window> {
        let tokens = self.get("/props", |props| {
            props.members("default_generation_settings").number("n_ctx")
        });
        tokens.map(|tokens| window(tokens, true, Server::LlamaCpp))
    }
}

fn window(tokens: u64, is_certain: bool, server: Server) -> Window {
    Window {
        tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
        is_certain,
        server,
    }
}

/// What a server takes for a model that is not loaded and has at most so many tokens.
fn unloaded(most: Option<u64>) -> u64 {
    UNLOADED_WINDOW_TOKENS.min(most.unwrap_or(u64::MAX))
}

/// What Ollama takes for a model that is not loaded, by its answer to `/api/show`.
fn ollama_default(shown: &Members<'_>) -> Window {
    let parameters = shown.text_or_empty("parameters");
    let set = parameters.lines().find_map(|line| {
        let value = line.trim().strip_prefix("num_ctx")?;
        value.trim().parse().ok()
    });
    let about = shown.value("model_info");
    let trained = about.as_object().and_then(|about| {
        let mut sizes = about
            .iter()
            .filter(|(name, _)| name.ends_with(".context_length"));
        sizes.find_map(|(_, size)| size.as_u64())
    });
    // A model in Ollama's cloud has all of its window.
    let is_remote = ["remote_model", "remote_host"]
        .iter()
        .any(|name| !shown.text_or_empty(name).is_empty());
    match (set, trained) {
        (Some(set), _) => window(set, true, Server::Ollama),
        (None, Some(trained)) if is_remote => window(trained, true, Server::Ollama),
        (None, trained) => window(unloaded(trained), false, Server::Ollama),
    }
}

/// Whether a server means a model by a name: Ollama writes the tag that others leave out.
fn is_same(name: &str, model: &str) -> bool {
    let bare = |name: &str| name.strip_suffix(":latest").unwrap_or(name).to_lowercase();
    bare(name) == bare(model)
}
