//! The files of the page, compressed when the program is built.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use crate::channels::http::wire::reply::Reply;
use crate::channels::http::wire::request::Head;

/// Bytes of the head and of the end of what `scripts/build` writes (RFC 1952, 2.3).
const GZIP_HEAD: usize = 10;
/// See [`GZIP_HEAD`].
const GZIP_END: usize = 8;
/// Bytes of the longest file as it was written.
const FILE_BYTES: usize = 256 * 1024;

/// What the page may do: load its own files, show pictures that it was given, and talk to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data: blob:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A file of the page.
pub struct Asset {
    path: &'static str,
    kind: &'static str,
    gzip: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $kind:literal) => {
        Asset {
            path: concat!("/page/", $name),
            kind: $kind,
            gzip: include_bytes!(concat!(env!("OUT_DIR"), "/page/", $name, ".gz")),
        }
    };
}

/// All of them. The first one is the page itself.
const ASSETS: &[Asset] = &[
    asset!("index.html", "text/html; charset=utf-8"),
    asset!("page.css", "text/css; charset=utf-8"),
    asset!("app.js", "text/javascript; charset=utf-8"),
    asset!("dom.js", "text/javascript; charset=utf-8"),
    asset!("chat.js", "text/javascript; charset=utf-8"),
    asset!("markdown.js", "text/javascript; charset=utf-8"),
    asset!("board.js", "text/javascript; charset=utf-8"),
    asset!("work.js", "text/javascript; charset=utf-8"),
    asset!("files.js", "text/javascript; charset=utf-8"),
];

/// The file at a path.
pub fn find(path: &str) -> Option<&'static Asset> {
    match path {
        "/" | "/sign-in" => ASSETS.first(),
        path => ASSETS.iter().find(|asset| asset.path == path),
    }
}

impl Asset {
    /// Answers a request for it.
    pub fn reply(&self, head: &Head) -> Reply {
        let tag = self.tag();
        let headers = vec![
            // It is asked for again each time, and sent only when it has changed.
            ("Cache-Control", "no-cache".to_owned()),
            ("ETag", tag.clone()),
            ("Content-Security-Policy", POLICY.to_owned()),
            ("Vary", "Accept-Encoding".to_owned()),
        ];
        let mut reply = Reply {
            status: 200,
            kind: self.kind,
            body: Vec::new(),
            headers,
        };
        if head.header("if-none-match") == Some(&tag) {
            reply.status = 304;
        } else if takes_gzip(head) {
            reply.headers.push(("Content-Encoding", "gzip".to_owned()));
            reply.body = self.gzip.to_vec();
        } else {
            reply.body = self.text();
        }
        reply
    }

    /// What tells its content from others: the checksum and the length at the end of the compressed file.
    fn tag(&self) -> String {
        let end = self.gzip.iter().rev().take(GZIP_END);
        let hex: String = end.map(|byte| format!("{byte:02x}")).collect();
        format!("\"{hex}\"")
    }

    fn text(&self) -> Vec<u8> {
        let end = self.gzip.len().saturating_sub(GZIP_END);
        let packed = self.gzip.get(GZIP_HEAD..end).unwrap_or_default();
        // It is our own.
        decompress_to_vec_with_limit(packed, FILE_BYTES).unwrap_or_default()
    }
}

fn takes_gzip(head: &Head) -> bool {
    let codings = head.header("accept-encoding").unwrap_or_default();
    codings.split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_zero = matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !is_zero
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::http::wire::request::{Reader, Step};

    /// Bytes of the whole page as it is sent.
    const PAGE_BYTES: usize = 45_000;

    fn head(headers: &str) -> Head {
        let mut reader = Reader::default();
        reader.push(format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n").as_bytes());
        match reader.step() {
            Ok(Step::Head(head)) => head,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.gzip.len()).sum();
        assert!(bytes <= PAGE_BYTES, "{bytes} bytes");
        for asset in ASSETS {
            let text = String::from_utf8(asset.text()).unwrap();
            assert!(text.len() > 100, "{}", asset.path);
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!text.contains(word), "{}: {word}", asset.path);
            }
            for line in text.lines().filter(|line| line.contains("://")) {
                let is_name = line.contains("www.w3.org/2000/svg") || line.contains("https?:");
                assert!(is_name, "{}: {line}", asset.path);
            }
        }
        let page = String::from_utf8(ASSETS[0].text()).unwrap();
        for word in ["<style", " style=", " onclick", "<script>"] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn a_file_is_sent_compressed_whole_or_not_again() {
        let asset = find("/").unwrap();
        let packed = asset.reply(&head("Accept-Encoding: br, gzip;q=0.8\r\n"));
        assert!(
            packed
                .headers
                .contains(&("Content-Encoding", "gzip".to_owned()))
        );
        for headers in [
            "",
            "Accept-Encoding: gzip;q=0\r\n",
            "Accept-Encoding: xgzip\r\n",
        ] {
            let plain = asset.reply(&head(headers));
            assert!(plain.body.starts_with(b"<!doctype html>"), "{headers}");
            assert!(
                !plain
                    .headers
                    .iter()
                    .any(|(name, _)| *name == "Content-Encoding")
            );
        }
        let tag = &packed.headers[1].1;
        let again = asset.reply(&head(&format!("If-None-Match: {tag}\r\n")));
        assert!(again.status == 304 && again.body.is_empty());
        assert!(find("/page/nothing.js").is_none() && find("/page/../app.js").is_none());
    }
}
