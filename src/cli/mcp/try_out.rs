//! `peacrab mcp test` and `call`: what a server offers and answers.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{open, texts};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::{Effect, ToolCall, ToolResult};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::{Error, Exit, Result};
use crate::cli::Context;
use crate::cli::compose::open_workspace;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::{form, print};
use crate::config::Loaded;
use crate::text::{count_of, escape_json, one_line, reveal};
use crate::tools::mcp::Mcp;
use crate::tools::mcp::client::servers::Listing;
use crate::tools::unmarked;
use crate::tools::{ADVICE, Caller, Toolbox};

/// Characters of a result that `peacrab mcp call` prints; the rest goes to a file.
const RESULT_CHARS: usize = 200_000;

/// How long a server is waited for without a word.
const QUIET_TIME: Duration = Duration::from_secs(5);

/// Characters of a tool's description.
const DESCRIPTION_CHARS: usize = 100;

/// Characters of a reason why a tool was left out.
const REFUSED_CHARS: usize = 200;

/// Connects to a server, and shows what it says about itself and its tools.
pub fn test(context: &Context, loaded: &Loaded, server: &str, json: bool) -> Result<Exit> {
    let mcp = open(context, loaded, server)?;
    let text = examine(mcp, server, json)?;
    if json {
        print::json(&text)?
    } else {
        print::out(&text)?
    }
    Ok(Exit::Done)
}

/// Connects to a server, and describes it. Ctrl-C stops that.
pub fn examine(mcp: Mcp, server: &str, json: bool) -> Result<String> {
    let name = server.to_owned();
    let foreground = Foreground::new()?;
    foreground.say_after(QUIET_TIME, texts::still_silent(server));
    foreground.run(move |cancel| {
        let watch = Stopwatch::start();
        let listed = mcp.servers().refresh(&name, cancel);
        let text = listed.map(|listing| {
            let seconds = watch.elapsed().as_secs_f32();
            if json {
                as_json(&mcp, &name, &listing, seconds)
            } else {
                describe(&mcp, &name, &listing, seconds)
            }
        });
        mcp.servers().stop_all();
        text.map_err(|error| with_advice(&name, error))
    })?
}

fn with_advice(server: &str, error: Error) -> Error {
    match error {
        Error::Status {
            status: 401 | 403, ..
        } => Error::Failed(texts::needs_login(server)),
        error => error,
    }
}

fn describe(mcp: &Mcp, server: &str, listing: &Listing, seconds: f32) -> String {
    let name = one_line(&listing.name, DESCRIPTION_CHARS);
    let mut text = texts::connected(server, &name, &listing.version, seconds) + "\n";
    let tools = mcp.tools_of(server);
    for tool in &tools {
        let description = one_line(&tool.description, DESCRIPTION_CHARS);
        let _ = writeln!(text, "{}", print::bold(&tool.name));
        if !description.is_empty() {
            let _ = writeln!(text, "    {description}");
        }
    }
    for why in &listing.refused {
        let why = one_line(why, REFUSED_CHARS);
        let _ = writeln!(text, "{}", texts::left_out(&why));
    }
    let counts = [
        count_of(listing.tools.len(), "tool", "tools"),
        count_of(
            listing.resources.len() + listing.templates.len(),
            "resource",
            "resources",
        ),
        count_of(listing.prompts.len(), "prompt", "prompts"),
    ];
    let counts: Vec<&str> = counts
        .iter()
        .map(String::as_str)
        .filter(|one| !one.starts_with("0 "))
        .collect();
    let _ = writeln!(
        text,
        "{}",
        if counts.is_empty() {
            "0 tools".to_owned()
        } else {
            counts.join(", ")
        }
    );
    if mcp.is_searched() {
        let _ = writeln!(text, "{}", texts::SEARCHED);
    }
    text
}

fn as_json(mcp: &Mcp, server: &str, listing: &Listing, seconds: f32) -> String {
    let tools = mcp.tools_of(server).into_iter();
    let tools = tools.map(|tool| {
        json!({"name": tool.name, "serverName": tool.title, "description": tool.description})
    });
    let value = json!({
        "name": server,
        "server": listing.name,
        "version": listing.version,
        "seconds": (f64::from(seconds) * 100.0).round() / 100.0,
        "tools": tools.collect::<Vec<_>>(),
        "resources": listing.resources.len() + listing.templates.len(),
        "prompts": listing.prompts.len(),
        "leftOut": listing.refused,
        "searched": mcp.is_searched(),
    });
    escape_json(&value.to_string()).into_owned()
}

/// Calls a tool, and prints what it returns.
pub fn call(
    context: &Context,
    loaded: &Loaded,
    server: &str,
    tool: &str,
    arguments: &str,
) -> Result<Exit> {
    let mcp = open(context, loaded, server)?;
    let workspace = open_workspace(context, &context.home()?, loaded)?;
    let eraser = context.eraser(loaded);
    let toolbox = Toolbox::new(workspace, RESULT_CHARS, eraser, Clock::System).with_mcp(mcp);
    let toolbox = Arc::new(toolbox);
    let (server, tool) = (server.to_owned(), tool.to_owned());
    let arguments = arguments.to_owned();
    let result = Foreground::new()?.run(move |cancel| {
        let result = call_tool(&toolbox, (&server, &tool, arguments), cancel);
        toolbox.end_all();
        result
    })??;
    let text = reveal(unmarked(&result.text)).into_owned();
    if result.failed {
        let text = text.trim_start_matches("Error: ");
        Err(Error::Failed(text.trim_end_matches(ADVICE).to_owned()))
    } else {
        print::line(&text).map(|()| Exit::Done)
    }
}

fn call_tool(
    toolbox: &Toolbox,
    (server, tool, arguments): (&str, &str, String),
    cancel: &Cancel,
) -> Result<ToolResult> {
    let unknown = || Error::Usage(texts::no_tool(server, &one_line(tool, DESCRIPTION_CHARS)));
    let mcp = toolbox.mcp().ok_or_else(unknown)?;
    let find = || {
        let mut tools = mcp.tools_of(server).into_iter();
        tools.find(|one| one.title == tool || one.name == tool)
    };
    let found = match find() {
        Some(found) => {
            // A turn would not wait as long as a person does.
            match mcp.servers().connect(server, cancel) {
                // The call offers a login.
                Ok(()) | Err(Error::Status { .. }) => {}
                Err(error) => return Err(error),
            }
            found
        }
        None => {
            let listed = mcp.servers().refresh(server, cancel);
            listed.map_err(|error| with_advice(server, error))?;
            find().ok_or_else(unknown)?
        }
    };
    let call = ToolCall {
        id: "1".to_owned(),
        name: found.name,
        arguments,
        signature: None,
    };
    let tell = |text: &str| print::notice(text);
    let caller = Caller {
        session: "cli:mcp",
        role: Role::Owner,
        message: "",
        cancel,
        answer: None,
        input: None,
        progress: Some(&tell),
        without: &[],
        author: None,
        is_asked: true,
    };
    let mut result = toolbox.run(&call, &caller);
    while let Some(Effect::Input(request)) = result.effect.take() {
        let answer = form::fill_in(&request, cancel);
        let caller = Caller {
            input: Some(&answer),
            ..caller
        };
        result = toolbox.run(&call, &caller);
    }
    Ok(result)
}
