//! `peacrab login` and `peacrab logout`: sign-ins with subscriptions, in place of API keys.

mod texts;

use std::net::{Ipv4Addr, TcpListener};

use clap::Args;

use super::Context;
use super::compose::{sign_ins, tls};
use super::terminal::browser::{self, End};
use super::terminal::interrupt::Foreground;
use super::terminal::{form, mode, print};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Exit, Result};
use crate::config::Loaded;
use crate::models::route::is_auto;
use crate::models::signin::codex::{self, NotEnded};
use crate::models::signin::copilot::Device;
use crate::models::signin::{Service, SignIn};
use crate::models::table::{find, known};
use crate::text::one_line;

/// Pieces in which an address may be pasted: a terminal cuts long lines.
const PASTES_MAX: usize = 20;

const AFTER_HELP: &str = "\
A sign-in may stop working any day, the provider decides. Everybody who may talk with the \
bot uses your subscription. Signing in is possible only here, at the command line.

Examples:
  peacrab login openai-codex       ChatGPT's subscription, as Codex uses it
  peacrab login github-copilot     GitHub Copilot's subscription
  peacrab logout openai-codex";

/// `peacrab login …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// openai-codex or github-copilot [default: show who is signed in]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// `peacrab logout …`
#[derive(Debug, Args)]
pub struct LogoutArguments {
    /// openai-codex or github-copilot
    #[arg(value_name = "NAME")]
    name: String,
}

/// Signs in, or shows who is.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let service = arguments.name.as_deref().map(service_of).transpose()?;
    let loaded = context.start()?;
    let Some(service) = service else {
        for service in Service::ALL {
            let is_there = sign_in(context, &loaded, service)?.is_there();
            print::line(&texts::state(service, is_there))?;
        }
        return Ok(Exit::Done);
    };
    let sign_in = sign_in(context, &loaded, service)?;
    print::line(&texts::opening(service))?;
    Foreground::new()?.run(move |cancel| match service {
        Service::Codex => with_browser(&sign_in, cancel),
        Service::Copilot => with_code(&sign_in, cancel),
    })??;
    let model = known(service.name()).map_or("", |row| row.model);
    let is_named = !is_auto(&loaded.config.agents.defaults.provider);
    print::line(&texts::signed_in(service, model, is_named))?;
    let section = loaded.config.providers.get(service.name());
    if section.is_some_and(|section| !section.api_base.is_empty()) {
        print::notice(&texts::unused(service));
    }
    Ok(Exit::Done)
}

/// Removes a sign-in.
#[inline(never)]
pub fn log_out(context: &Context, arguments: &LogoutArguments) -> Result<Exit> {
    let service = service_of(&arguments.name)?;
    let sign_in = sign_in(context, &context.start()?, service)?;
    let was_there = Foreground::new()?.run(move |cancel| sign_in.forget(cancel))??;
    print::line(&if was_there {
        texts::signed_out(service)
    } else {
        texts::not_signed_in(service)
    })?;
    if was_there && service == Service::Copilot {
        print::line(texts::REVOKE_AT_GITHUB)?;
    }
    Ok(Exit::Done)
}

fn service_of(name: &str) -> Result<Service> {
    let row = find(name);
    let is_claude = name.to_lowercase().contains("claude");
    let text = match row.map(|row| (row.name, row.sign_in)) {
        Some((_, Some(service))) => return Ok(service),
        Some(("anthropic", None)) => texts::CLAUDE.to_owned(),
        None if is_claude => texts::CLAUDE.to_owned(),
        Some((name, None)) => texts::takes_key(name),
        None => texts::unknown(&one_line(name, 40)),
    };
    Err(Error::Usage(text))
}

fn sign_in(context: &Context, loaded: &Loaded, service: Service) -> Result<SignIn> {
    let section = loaded.config.providers.get(service.name());
    let proxy = section.and_then(|section| section.proxy.clone());
    let tls = tls(&loaded.config.tls)?;
    Ok(sign_ins(&context.home()?, tls).of(service, proxy))
}

/// Shows the link, and waits until the browser comes back, or its address is pasted.
fn with_browser(sign_in: &SignIn, cancel: &Cancel) -> Result<()> {
    let service = sign_in.service();
    let login = codex::Login::begin(sign_in)?;
    // Another program may have the port; then the address is pasted.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, codex::PORT)).ok();
    let end = End {
        redirect: codex::REDIRECT.to_owned(),
        state: format!("state={}", login.state()),
    };
    let ask = |ended: &Cancel| ask_address(&login, ended);
    let address = browser::wait(login.url(), ask, listener, end, cancel);
    if cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    let address = address.ok_or_else(|| Error::Failed(texts::not_finished(service)))?;
    match login.code(&address) {
        Ok(code) => login.finish(&code, cancel),
        Err(NotEnded::Again(why)) => Err(Error::Failed(why.to_owned())),
        Err(NotEnded::Refused(why)) => Err(Error::Failed(texts::refused(service, &why))),
    }
}

/// Asks for the address until it ends this login. A long one may come in several lines.
fn ask_address(login: &codex::Login, ended: &Cancel) -> Option<String> {
    let _cooked = mode::Cooked::start();
    print::raw_error(&texts::link(login.url()));
    let mut address = String::new();
    for _ in 0..PASTES_MAX {
        let line = form::ask_line(texts::PROMPT, ended)?;
        let is_new = line.starts_with("http") || address.is_empty();
        address = if is_new {
            line
        } else {
            format!("{address}{line}")
        };
        match login.code(&address) {
            Err(NotEnded::Again(why)) => print::raw_error(&format!("  {why}\n")),
            _ => return Some(address),
        }
    }
    None
}

/// Shows a code, and waits until it was entered.
fn with_code(sign_in: &SignIn, cancel: &Cancel) -> Result<()> {
    let device = Device::begin(sign_in, cancel)?;
    print::line(&texts::code(&device.url, &device.user_code))?;
    device.finish(cancel)
}
