//! Files: they are uploaded and downloaded apart from the messages that name them.
//! <https://spec.matrix.org/latest/client-server-api/#content-repository>

use std::fs::File;

use super::super::address::media;
use super::{Api, Kind, length_of, unexpected};
use crate::base::error::Error;
use crate::base::json::Members;
use crate::base::limits::channels::matrix::REPLY_BYTES;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::channels::matrix::UPLOAD_BYTES;
use crate::net::http::address::percent_encode;
use crate::net::http::{self, Found, Response};

/// Where files are, which need the token.
const DOWNLOADS: &str = "/_matrix/client/v1/media/download";
/// Where they are on servers before version 1.11 of the specification.
const OLD_DOWNLOADS: &str = "/_matrix/media/v3/download";
/// Where they are put.
const UPLOADS: &str = "/_matrix/media/v3/upload";

/// A file that a homeserver has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// Its address, `mxc://server/id`.
    pub uri: String,
    /// Its size in bytes.
    pub size: u64,
}

impl Api {
    /// Uploads a file of this kind, which no message names yet.
    pub fn upload(&self, mut file: &File, name: &str, kind: &str) -> Sent<Uploaded> {
        let size = length_of(file, name)?;
        if size > UPLOAD_BYTES {
            return Err(Failure::Local(Error::TooLarge {
                what: name.to_owned(),
                limit: UPLOAD_BYTES as usize,
            }));
        }
        let url = self.url(&format!("{UPLOADS}?filename={}", percent_encode(name)));
        let reply = self.limited(Kind::Other, REPLY_BYTES, || {
            let authorization = self.authorization();
            let headers = [
                ("authorization", authorization.as_str()),
                ("content-type", kind),
            ];
            let progress = |_| (self.progress)();
            let upload = http::Upload::new(&mut file, size).with_progress(&progress);
            self.client.post_reader(&url, &headers, upload)
        });
        let reply = match reply {
            Err(Failure::TooLong) => {
                let why = "the file is larger than the homeserver allows".to_owned();
                return Err(Failure::Refused(why));
            }
            reply => reply?,
        };
        let uri = Members::read(&reply).and_then(|reply| reply.text("content_uri"));
        let uri = uri
            .filter(|uri| media(uri).is_some())
            .ok_or_else(unexpected)?;
        Ok(Uploaded { uri, size })
    }

    /// Downloads the file at an `mxc:` address, of at most `limit` bytes.
    pub fn download(&self, uri: &str, into: &mut File, limit: usize) -> Sent {
        let unknown = || Failure::Refused("its address is not one of Matrix".to_owned());
        let (server, id) = media(uri).ok_or_else(unknown)?;
        self.wait_for_turn(Kind::Other)?;
        let found = match self.find_file(&format!("{DOWNLOADS}/{server}/{id}"), true) {
            // A server that has never heard of this way says so, one that has lost the file does not.
            Err(Failure::Refused(_)) => {
                self.find_file(&format!("{OLD_DOWNLOADS}/{server}/{id}"), false)?
            }
            found => found?,
        };
        let downloaded = found.download(into, limit, &|_| (self.progress)());
        downloaded
            .map(drop)
            .map_err(|error| self.explain(error, Kind::Other))
    }

    /// Asks for a file. It may be on another host, which does not get the token.
    fn find_file(&self, path: &str, needs_token: bool) -> Sent<Response> {
        let authorization = self.authorization();
        let headers = [("authorization", authorization.as_str())];
        let headers = if needs_token { &headers[..] } else { &[] };
        let found = self.client.find(&self.url(path), headers);
        let target = match found.map_err(|error| self.explain(error, Kind::Other))? {
            Found::Here(response) => return Ok(response),
            Found::Moved(target) => target,
        };
        if !target.starts_with("https://") {
            let why = "the homeserver sends it from a place without encryption".to_owned();
            return Err(Failure::Trouble(why));
        }
        let response = self.client.get(&target, &[]);
        response.map_err(|error| self.explain(error, Kind::Other))
    }
}
