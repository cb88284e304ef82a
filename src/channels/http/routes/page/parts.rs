//! What the page shows besides the chat, and who may see it.

use std::io::ErrorKind;

use serde_json::json;

use super::{Session, done, failed, file_reply, read_body};
use crate::base::access::Role;
use crate::base::error::Error;
use crate::base::message::Media;
use crate::channels::http::host::{Host, Part};
use crate::channels::http::routes::Outcome;
use crate::channels::http::routes::files::read_data;
use crate::channels::http::web::FILE_BYTES;
use crate::channels::http::wire::reply::Reply;

/// Bytes of a path in the workspace.
const PATH_BYTES: usize = 1024;

/// What a person does besides talking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Looks at a part.
    Show(Part),
    /// Loads a file of the workspace.
    Load(String),
    /// Stores one.
    Store,
}

/// What is meant by the words of a path behind `/page/`.
pub fn find(is_post: bool, words: &[&str]) -> Option<Action> {
    Some(match (is_post, words) {
        (false, ["reports", name]) => Action::Show(Part::Report((*name).to_owned())),
        (false, ["board", seconds]) => Action::Show(Part::Board(seconds.parse().ok()?)),
        (false, ["usage"]) => Action::Show(Part::Usage),
        (false, ["audit"]) => Action::Show(Part::Audit),
        (false, ["settings"]) => Action::Show(Part::Settings),
        (false, ["folders", path]) => Action::Show(Part::Folder(decode(path)?)),
        (false, ["files", path]) => Action::Load(decode(path)?),
        (true, ["files"]) => Action::Store,
        _ => return None,
    })
}

impl Action {
    /// The least role that may do it. Reports are commands, whose own roles count too.
    pub fn least_role(&self) -> Role {
        match self {
            Self::Show(Part::Report(_) | Part::Board(_) | Part::Usage) => Role::User,
            // As /ls, /get and /put.
            Self::Show(Part::Folder(_)) | Self::Load(_) | Self::Store => Role::Owner,
            Self::Show(Part::Audit | Part::Settings) => Role::Owner,
        }
    }

    /// Answers it.
    pub fn answer(
        &self,
        host: &dyn Host,
        session: &Session,
        body: &[u8],
    ) -> Result<Outcome, Reply> {
        if session.role < self.least_role() {
            let why = format!("this needs the role {}", self.least_role());
            return Err(Reply::error(403, &why));
        }
        match self {
            Self::Show(part) => {
                let shown = host.show(part, &session.visitor, session.role);
                let shown = shown.map_err(refused)?;
                Ok(Outcome::Reply(Reply::json(200, &shown)))
            }
            Self::Load(path) => {
                let most = FILE_BYTES as u64;
                let bytes = host.load(&session.visitor, path, most).map_err(refused)?;
                let name = path.rsplit('/').next().unwrap_or_default();
                Ok(Outcome::Reply(file_reply(name, bytes)))
            }
            Self::Store => store(host, session, body),
        }
    }
}

fn store(host: &dyn Host, session: &Session, body: &[u8]) -> Result<Outcome, Reply> {
    let body = read_body(body)?;
    let path = body.text_or_empty("path");
    if path.is_empty() || path.len() > PATH_BYTES || path.contains('\0') {
        return Err(Reply::error(400, "a file needs a path"));
    }
    let file = read_data(&body.text_or_empty("data"), "file", Media::Document);
    let file = file.map_err(|why| Reply::error(400, why))?;
    let place = (path.as_str(), body.is_true("overwrite"));
    host.store(&session.visitor, place, &file.bytes)
        .map_err(refused)?;
    Ok(done())
}

/// An error as a reply: one that the person can do something about says what it is.
fn refused(error: Error) -> Reply {
    match error {
        Error::Refused { .. } => Reply::error(400, &error.to_string()),
        Error::Io { ref source, .. } => match source.kind() {
            ErrorKind::NotFound => Reply::error(404, &error.to_string()),
            ErrorKind::InvalidFilename
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::InvalidInput => Reply::error(400, &error.to_string()),
            _ => failed(error),
        },
        Error::Usage(why) | Error::Failed(why) => Reply::json(
            409,
            &json!({"error": {"message": why, "type": "invalid_request_error"}}),
        ),
        error => failed(error),
    }
}

/// A part of a path with its `%XX` as what they stand for; `None` for what is no text.
fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    let text = String::from_utf8(bytes).ok()?;
    (text.len() <= PATH_BYTES && !text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_read_from_the_path() {
        let folder = |path: &str| Some(Action::Show(Part::Folder(path.to_owned())));
        assert_eq!(find(false, &["folders", "a%2Fb%20%c3%a9"]), folder("a/b é"));
        assert_eq!(find(false, &["folders", ""]), folder(""));
        assert_eq!(
            find(false, &["board", "600"]),
            Some(Action::Show(Part::Board(600)))
        );
        for words in [
            &["folders", "%"][..],
            &["folders", "%zz"],
            &["folders", "%ff"],
            &["folders", "%00"],
            &["folders", "a", "b"],
            &["board", "-1"],
            &["nothing"],
        ] {
            assert_eq!(find(false, words), None, "{words:?}");
        }
        assert_eq!(find(true, &["audit"]), None);
    }

    #[test]
    fn guests_see_nothing_and_users_the_board() {
        let least = |words: &[&str], is_post| find(is_post, words).unwrap().least_role();
        assert_eq!(least(&["board", "1"], false), Role::User);
        assert_eq!(least(&["reports", "usage"], false), Role::User);
        for words in [
            &["audit"][..],
            &["settings"],
            &["folders", "a"],
            &["files", "a"],
        ] {
            assert_eq!(least(words, false), Role::Owner, "{words:?}");
        }
        assert_eq!(least(&["files"], true), Role::Owner);
    }
}
