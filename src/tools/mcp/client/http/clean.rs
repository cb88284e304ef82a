//! What a server says, without the token and the secrets that it got: they are not for the model or the chat.

use std::time::Duration;

use super::HttpParts;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::secret::{Eraser, Secret};
use crate::tools::mcp::client::oauth;
use crate::tools::mcp::client::transport::{Incoming, Replies};

/// Cleans what comes for one request.
pub(super) struct Clean {
    parts: HttpParts,
    /// What was secret when it was sent: the token may be another one by now.
    before: Vec<Secret>,
}

struct Cleaned {
    clean: Clean,
    replies: Box<dyn Replies>,
    /// Made when something comes: the token may have been renewed to send the request.
    eraser: Option<Eraser>,
}

impl Clean {
    pub fn new(parts: &HttpParts) -> Self {
        Self {
            parts: parts.clone(),
            before: oauth::secrets(parts),
        }
    }

    fn eraser(&self) -> Eraser {
        let now = oauth::secrets(&self.parts);
        let new = now.into_iter().filter(|one| !self.before.contains(one));
        Eraser::new(self.before.iter().cloned().chain(new))
    }

    /// An error of the request.
    pub fn error(&self, error: Error) -> Error {
        oauth::without(&self.eraser(), error)
    }

    /// The same replies, cleaned.
    pub fn over(self, replies: Box<dyn Replies>) -> Box<dyn Replies> {
        Box::new(Cleaned {
            clean: self,
            replies,
            eraser: None,
        })
    }
}

impl Replies for Cleaned {
    fn next(&mut self, time: Duration, cancel: &Cancel) -> Result<Incoming> {
        let next = self.replies.next(time, cancel);
        if let Ok(Incoming::Nothing) | Err(Error::Stopped) = &next {
            return next;
        }
        let eraser = self.eraser.get_or_insert_with(|| self.clean.eraser());
        match next {
            Ok(Incoming::Message(text)) => Ok(Incoming::Message(eraser.clean(&text).into_owned())),
            Err(error) => Err(oauth::without(eraser, error)),
            next => next,
        }
    }
}
