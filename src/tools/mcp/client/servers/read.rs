//! Reads all lists of a server.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Map;

use super::LIST_BYTES;
use super::listing::{ListState, Listing, Weight, keep_light};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::mcp::{CONNECT_TIME, LISTED, REFUSED};
use crate::tools::mcp::client::link::{Call, Link};
use crate::tools::mcp::client::tool::{self, Page};
use std::time::Duration;

/// Pages of a list.
const PAGES: usize = 64;
/// Time for all pages of a list.
const LIST_READ_TIME: Duration = Duration::from_secs(120);

/// The lists, and for how many milliseconds they are fresh where the server says so.
pub fn all(
    link: &Arc<Link>,
    with_headers: bool,
    cancel: &Cancel,
) -> Result<(Listing, Option<u64>)> {
    let hello = link.hello();
    let mut listing = Listing {
        instructions: hello.instructions.clone(),
        name: hello.name.clone(),
        version: hello.version.to_owned(),
        state: ListState::Fresh,
        ..Listing::default()
    };
    let mut fresh = None;
    // One that announces nothing may have tools all the same.
    if hello.tools || !(hello.resources || hello.prompts) {
        let read = &mut |text: &str, all: &mut Pages| {
            let page = tool::read_tools(text, with_headers)?;
            Some(all.take(&mut listing.tools, page))
        };
        match pages(link, "tools/list", read, cancel) {
            Ok(tools) => (listing.refused, fresh) = (tools.refused, tools.fresh),
            Err(error @ Error::Failed(_)) if !hello.tools => {
                let why = format!("it announces no tools, and tools/list failed: {error}");
                listing.refused.push(why);
            }
            Err(error) => return Err(error),
        }
    }
    if hello.resources {
        for (method, into) in [
            ("resources/list", &mut listing.resources),
            ("resources/templates/list", &mut listing.templates),
        ] {
            let read = &mut |text: &str, all: &mut Pages| {
                Some(all.take(into, tool::read_resources(text)?))
            };
            match found(pages(link, method, read, cancel))? {
                Some(pages) => listing.refused.extend(pages.refused),
                None => into.clear(),
            }
        }
    }
    if hello.prompts {
        let read = &mut |text: &str, all: &mut Pages| {
            Some(all.take(&mut listing.prompts, tool::read_prompts(text)?))
        };
        match found(pages(link, "prompts/list", read, cancel))? {
            Some(pages) => listing.refused.extend(pages.refused),
            None => listing.prompts.clear(),
        }
    }
    Ok((listing, fresh))
}

/// A server without tools is of no use, and one without the other lists is.
fn found(pages: Result<Pages>) -> Result<Option<Pages>> {
    match pages {
        Ok(pages) => Ok(Some(pages)),
        Err(Error::Stopped) => Err(Error::Stopped),
        Err(error) => {
            tracing::debug!("failed to read a list: {error}");
            Ok(None)
        }
    }
}

/// What is known about the pages of a list beside what is on them.
struct Pages {
    next: Option<String>,
    fresh: Option<u64>,
    refused: Vec<String>,
    /// How many bytes more are read.
    left: usize,
    /// How much of the last page was left out because it is too large.
    left_out: usize,
    /// Whether the last page had only what was listed before.
    is_repeated: bool,
}

impl Pages {
    /// Adds a page to the others, each member once. Whether there is room for more.
    fn take<T: Weight>(&mut self, all: &mut Vec<T>, page: Page<T>) -> bool {
        let mut items = page.items;
        let count = items.len();
        let mut known: HashSet<String> = all.iter().map(|item| item.key().to_owned()).collect();
        items.retain(|item| known.insert(item.key().to_owned()));
        self.is_repeated = count > 0 && items.is_empty();
        self.left_out = keep_light(&mut items, &mut self.left);
        self.refused.extend(page.refused);
        self.fresh = self.fresh.into_iter().chain(page.fresh).min();
        self.next = page.next;
        all.append(&mut items);
        all.truncate(LISTED);
        all.len() < LISTED
    }
}

/// Reads all pages of a list.
fn pages(
    link: &Arc<Link>,
    method: &'static str,
    read: &mut dyn FnMut(&str, &mut Pages) -> Option<bool>,
    cancel: &Cancel,
) -> Result<Pages> {
    let mut all = Pages {
        next: None,
        fresh: None,
        refused: Vec::new(),
        left: LIST_BYTES,
        left_out: 0,
        is_repeated: false,
    };
    let watch = Stopwatch::start();
    let mut cursors = HashSet::new();
    for page in 1..=PAGES {
        let left = LIST_READ_TIME.saturating_sub(watch.elapsed());
        let mut params = Map::new();
        if let Some(cursor) = all.next.take() {
            cursors.insert(cursor.clone());
            params.insert("cursor".to_owned(), cursor.into());
        }
        let call = Call {
            method,
            params,
            parameters: Vec::new(),
            patience: CONNECT_TIME.min(left),
        };
        let has_room = read(&link.ask(call, cancel)?, &mut all)
            .ok_or_else(|| link.fault(&format!("did not answer {method} as MCP specifies")))?;
        if all.left_out > 0 {
            let why = format!(
                "{} of {method} were left out: the list is too large",
                all.left_out
            );
            all.refused.push(why);
        }
        let Some(next) = &all.next else {
            break;
        };
        let why = if all.is_repeated || cursors.contains(next) {
            "its pages come again and again: each entry is listed once".to_owned()
        } else if !has_room {
            format!("more than {LISTED} entries: the rest is left out")
        } else if page == PAGES {
            format!("more than {PAGES} pages: the rest is left out")
        } else {
            continue;
        };
        all.refused.insert(0, format!("{method}: {why}"));
        break;
    }
    all.refused.truncate(REFUSED);
    Ok(all)
}
