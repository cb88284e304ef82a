//! Files of messages, fetched into the workspace's inbox.

use std::fs::File;
use std::io;
use std::path::Path;

use chrono::{DateTime, FixedOffset};

use super::api::{Api, ApiError};
use super::update::Wanted;
use crate::channels::names;
use crate::error::{Error, Result};
use crate::files::Workspace;
use crate::limits::channels::{DOWNLOAD_BYTES, FILE_NUMBERS};
use crate::message::Attachment;

/// The folder within the workspace.
const FOLDER: &str = "inbox";

/// Fetches a file into `inbox/` of the workspace, as `20261121-143005-NAME`, and forces it to the
/// disk. What comes in only in part is removed.
///
/// A file of more than [`DOWNLOAD_BYTES`] is an [`ApiError::Local`] with [`Error::TooLarge`].
pub fn fetch(
    api: &Api,
    workspace: &Workspace,
    wanted: &Wanted,
    now: DateTime<FixedOffset>,
) -> Result<Attachment, ApiError> {
    check_size(wanted.size)?;
    let found = api.get_file(&wanted.file_id)?;
    check_size(found.file_size)?;
    let (path, mut file) = create(workspace, &wanted.name, now)?;
    let fetched = api
        .download(&found.file_path, &mut file, DOWNLOAD_BYTES)
        .and_then(|()| Ok(file.sync_all().map_err(Error::io("write", &path))?));
    if let Err(error) = fetched {
        // The first error is the one that says what happened.
        let _ = workspace.remove(Path::new(&path));
        return Err(error);
    }
    Ok(Attachment {
        media: wanted.media,
        path,
    })
}

fn check_size(size: Option<u64>) -> Result<()> {
    match size {
        Some(size) if size > DOWNLOAD_BYTES as u64 => Err(Error::TooLarge {
            what: "the file".to_owned(),
            limit: DOWNLOAD_BYTES,
        }),
        _ => Ok(()),
    }
}

/// Makes a file with a name that none has yet. Its path counts from the workspace.
fn create(workspace: &Workspace, name: &str, now: DateTime<FixedOffset>) -> Result<(String, File)> {
    let date = now.format("%Y%m%d-%H%M%S");
    let name = names::clean(name);
    let mut number = 1;
    loop {
        let path = match number {
            1 => format!("{FOLDER}/{date}-{name}"),
            _ => format!("{FOLDER}/{date}-{number}-{name}"),
        };
        match workspace.create(Path::new(&path)) {
            Err(Error::Io { source, .. })
                if source.kind() == io::ErrorKind::AlreadyExists && number < FILE_NUMBERS =>
            {
                number += 1;
            }
            created => return Ok((path, created?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::cancel::Cancel;
    use crate::config::schema::{Telegram, Tools};
    use crate::files::Places;
    use crate::http::Tls;
    use crate::http::server::{Answer, Server, answer, close};
    use crate::message::Media;
    use crate::sys::beneath::Resolver;

    /// A workspace beside a folder that is none of its business.
    struct Scene {
        top: tempfile::TempDir,
        workspace: Workspace,
        server: Server,
        api: Api,
    }

    impl Scene {
        fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
            let top = tempfile::tempdir().unwrap();
            for folder in ["workspace", "outside"] {
                std::fs::create_dir(top.path().join(folder)).unwrap();
            }
            let places = Places {
                workspace: &top.path().join("workspace"),
                hidden: &[],
                user_home: None,
            };
            let workspace =
                Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
            let server = Server::plain(answers);
            let config = Telegram {
                api_base: format!("http://{}", server.address),
                ..Telegram::default()
            };
            let tls = Tls::new(None).unwrap();
            let api = Api::new(&tls, &config, Duration::from_secs(60), &Cancel::new()).unwrap();
            Self {
                top,
                workspace,
                server,
                api,
            }
        }

        fn fetch(&self, name: &str, size: Option<u64>) -> Result<Attachment, ApiError> {
            let wanted = Wanted {
                media: Media::Document,
                file_id: "f".to_owned(),
                size,
                name: name.to_owned(),
            };
            let now = DateTime::parse_from_rfc3339("2026-11-21T14:30:05+01:00").unwrap();
            fetch(&self.api, &self.workspace, &wanted, now)
        }

        fn names(&self, folder: &str) -> Vec<String> {
            let entries = std::fs::read_dir(self.top.path().join(folder)).unwrap();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    fn found() -> Answer {
        let body = json!({"ok": true, "result": {"file_id": "f", "file_path": "d/f.txt"}});
        answer("200 OK", "", body.to_string().as_bytes())
    }

    fn content(text: &str) -> Answer {
        answer("200 OK", "", text.as_bytes())
    }

    #[test]
    fn files_of_one_name_and_second_lie_beside_each_other() {
        let scene = Scene::new([found(), content("one"), found(), content("two")]);
        let first = scene.fetch("../../a.txt", Some(3)).unwrap();
        let second = scene.fetch("a.txt", None).unwrap();
        assert_eq!(first.path, "inbox/20261121-143005-a.txt");
        assert_eq!(second.path, "inbox/20261121-143005-2-a.txt");
        for (attachment, expected) in [(first, "one"), (second, "two")] {
            let path = scene.workspace.path().join(attachment.path);
            assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
        }
        assert_eq!(scene.names("workspace/inbox").len(), 2);
    }

    #[test]
    fn what_comes_in_only_in_part_is_removed() {
        let cut = close("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf");
        let scene = Scene::new([found(), cut]);
        let error = scene.fetch("a.txt", None).unwrap_err();
        assert!(matches!(error, ApiError::Network(_)), "{error:?}");
        assert!(scene.names("workspace/inbox").is_empty());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_asked_for() {
        let scene = Scene::new([]);
        let size = DOWNLOAD_BYTES as u64 + 1;
        let error = scene.fetch("film.mp4", Some(size)).unwrap_err();
        assert!(
            matches!(error, ApiError::Local(Error::TooLarge { .. })),
            "{error:?}"
        );
        assert_eq!(scene.server.connections(), 0);
    }

    #[test]
    fn a_link_in_the_workspace_leads_no_file_out() {
        let scene = Scene::new([found(), found(), content("x")]);
        let at = |name: &str| scene.workspace.path().join(name);
        symlink("../outside", at("inbox")).unwrap();
        let error = scene.fetch("a.txt", None).unwrap_err();
        assert!(
            matches!(error, ApiError::Local(Error::Refused { .. })),
            "{error:?}"
        );
        std::fs::remove_file(at("inbox")).unwrap();
        std::fs::create_dir(at("inbox")).unwrap();
        symlink("../../outside/a.txt", at("inbox/20261121-143005-a.txt")).unwrap();
        assert!(scene.fetch("a.txt", None).is_err());
        assert!(scene.names("outside").is_empty());
    }
}
