//! `/mcp`: the servers of tools, and signing in to them.

use std::fmt::Write;

use super::{Agent, CommandAnswer, Invocation, texts};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::mcp::SHOWN_CHARS;
use crate::text::markup::inline_code;
use crate::text::one_line;
use crate::tools::mcp::client::servers::ListState;
use crate::tools::mcp::{Mcp, Overview};

/// Characters of a server's name that a person types.
const TYPED_NAME_CHARS: usize = 60;

impl Agent {
    /// Answers `/mcp`: the list of the servers, or a login to one.
    pub fn answer_mcp(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let language = invocation.language;
        let Some(mcp) = self.toolbox().mcp() else {
            return Ok(texts::no_mcp(language).to_owned().into());
        };
        let mut words = invocation.argument.split_whitespace();
        let session = invocation.key.as_str();
        let text = match (words.next(), words.next(), words.next()) {
            (Some("login"), Some(server), None) => {
                let url = mcp.begin_login(session, server, invocation.cancel)?;
                let server = inline_code(&one_line(server, TYPED_NAME_CHARS));
                texts::mcp_login(language, &server, &format!("<{url}>"))
            }
            (Some("login"), Some(server), Some(address)) => {
                mcp.finish_login(session, server, address, invocation.cancel)?;
                let server = inline_code(&one_line(server, TYPED_NAME_CHARS));
                texts::mcp_logged_in(language, &server)
            }
            _ => self.list_servers(mcp, language),
        };
        Ok(text.into())
    }

    fn list_servers(&self, mcp: &Mcp, language: Language) -> String {
        let mut text = String::new();
        for server in mcp.overview() {
            let state = self.describe_server(&server, language);
            let _ = writeln!(text, "- {}: {state}", inline_code(server.name));
        }
        if mcp.is_searched() {
            let _ = write!(text, "\n{}", texts::mcp_searched(language));
        }
        text
    }

    fn describe_server(&self, server: &Overview<'_>, language: Language) -> String {
        let mut parts = vec![match &server.state {
            _ if server.status.needs_login => texts::mcp_needs_login(language, &server.name),
            ListState::Never => texts::mcp_not_listed(language).to_owned(),
            ListState::Failed(why) => {
                let why = self.toolbox().cleaned(why);
                texts::mcp_failed(language, &inline_code(&one_line(&why, SHOWN_CHARS)))
            }
            _ if server.tools == 1 => texts::mcp_one_tool(language).to_owned(),
            _ => texts::mcp_tools(language, &server.tools),
        }];
        if server.status.running.is_some() {
            parts.push(texts::mcp_running(language).to_owned());
        }
        if server.is_logged_in {
            parts.push(texts::mcp_is_logged_in(language).to_owned());
        }
        parts.join(texts::comma(language))
    }
}
