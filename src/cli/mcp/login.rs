//! `peacrab mcp login` and `logout`.

use std::net::{Ipv4Addr, TcpListener};

use super::texts;
use crate::base::cancel::Cancel;
use crate::base::chat::{InputAnswer, InputKind, InputRequest};
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::cli::Context;
use crate::cli::compose::{mcp_folder_of, tls};
use crate::cli::terminal::browser::{self, End};
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::{form, print};
use crate::config::Loaded;
use crate::text::one_line;
use crate::tools::mcp::Logins;
use crate::tools::mcp::client::http::HttpParts;
use crate::tools::mcp::client::oauth::{self, Login};

/// Shows the link, and waits until the browser comes back, or its address is pasted.
pub fn login(context: &Context, loaded: &Loaded, server: &str) -> Result<Exit> {
    let parts = parts(context, loaded, server)?;
    let name = server.to_owned();
    Foreground::new()?.run(move |cancel| {
        if oauth::log_in_alone(&parts, cancel)? {
            print::line(&texts::logged_in(&name))?;
            return Ok(Exit::Done);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        let address = listener.as_ref().and_then(|one| one.local_addr().ok());
        let redirect = address.map(|address| format!("http://{address}/callback"));
        let mut login = Login::begin(&parts, redirect.as_deref(), cancel)?;
        let request = InputRequest {
            server: name.clone(),
            message: String::new(),
            kind: InputKind::Link {
                url: login.url().to_owned(),
                returns: true,
            },
        };
        let end = End {
            redirect: redirect.unwrap_or_default(),
            state: format!("state={}", login.state()),
        };
        let ask = |ended: &Cancel| match form::fill_in(&request, ended) {
            InputAnswer::Returned(address) => Some(address),
            _ => None,
        };
        let returned = browser::wait(login.url(), ask, listener, end, cancel);
        if cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let Some(address) = returned else {
            return Err(Error::Failed(texts::not_finished(&name)));
        };
        login.finish(&address, cancel)?;
        print::line(&texts::logged_in(&name))?;
        Ok(Exit::Done)
    })?
}

fn parts(context: &Context, loaded: &Loaded, server: &str) -> Result<HttpParts> {
    super::open(context, loaded, server)?;
    let settings = loaded.config.tools.mcp_servers.get(server);
    match settings.filter(|settings| !settings.url.is_empty()) {
        None => Err(Error::Usage(texts::no_url(&one_line(server, 40)))),
        Some(settings) => {
            let logins = Logins {
                tls: tls(&loaded.config.tls)?,
                folder: mcp_folder_of(&context.home()?, loaded),
                clock: Clock::System,
            };
            Ok(logins.parts(server, settings.clone()))
        }
    }
}

/// Forgets a login.
pub fn logout(context: &Context, loaded: &Loaded, server: &str) -> Result<Exit> {
    let parts = parts(context, loaded, server)?;
    let is_there = oauth::has_token(&parts);
    oauth::forget(&parts.logins, server)?;
    if is_there {
        print::line(&texts::logged_out(server))?
    } else {
        print::line(texts::NOT_LOGGED_IN)?
    }
    Ok(Exit::Done)
}
