//! Understands and checks answers. Pure, apart from [`without_dots`].

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

/// What is meant by an answer to the question for the model.
pub enum Choice {
    /// This model; empty for the default.
    Take(String),
    /// A part of several names.
    Narrow(Vec<String>),
    /// A number beyond the list.
    NoSuchNumber,
    /// No name of the list.
    Unknown,
}

/// Understands a number of the models `shown`, a name, or a part of one. Empty: the default.
pub fn choose(answer: &str, shown: &[String], offers: &[String]) -> Choice {
    if answer.is_empty() {
        return Choice::Take(String::new());
    }
    let lower = answer.to_lowercase();
    if let Some(name) = offers.iter().find(|name| name.to_lowercase() == lower) {
        return Choice::Take(name.clone());
    }
    if let (Ok(number), false) = (answer.parse::<usize>(), shown.is_empty()) {
        let name = number.checked_sub(1).and_then(|index| shown.get(index));
        return name.map_or(Choice::NoSuchNumber, |name| Choice::Take(name.clone()));
    }
    if answer.parse::<i64>().is_ok() && !shown.is_empty() {
        return Choice::NoSuchNumber;
    }
    let fits = |name: &&String| name.to_lowercase().contains(&lower);
    let mut fitting: Vec<String> = offers.iter().filter(fits).cloned().collect();
    match fitting.len() {
        0 => Choice::Unknown,
        1 => Choice::Take(fitting.remove(0)),
        _ => Choice::Narrow(fitting),
    }
}

/// The address with a scheme: `http` for this machine and the local network, `https` otherwise.
pub fn with_scheme(address: &str) -> String {
    let address = address.trim_end_matches('/');
    if address.contains("://") {
        return address.to_owned();
    }
    let authority = address.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let scheme = if is_nearby(host) { "http" } else { "https" };
    format!("{scheme}://{address}")
}

/// Whether a host is on this machine or in the local network.
fn is_nearby(host: &str) -> bool {
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback() || address.is_private() || address.is_link_local()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        Err(_) => {
            !host.contains('.')
                || [".local", ".lan", ".home.arpa"]
                    .iter()
                    .any(|end| host.ends_with(end))
        }
    }
}

/// The address with `/v1`, the usual path of the API, when it has none.
pub fn with_version(base: &str) -> Option<String> {
    let (_, rest) = base.split_once("://")?;
    (!rest.contains('/')).then(|| format!("{base}/v1"))
}

/// The path without `..`; behind a link that leads to where the link leads.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            clean = clean.canonicalize().unwrap_or(clean);
            clean.pop();
        } else {
            clean.push(part);
        }
    }
    clean
}

/// Whether a text can be sent as a key.
pub fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a text has the form of a bot's token: the bot's id, a colon, letters and digits.
pub fn is_token(text: &str) -> bool {
    let Some((id, secret)) = text.split_once(':') else {
        return false;
    };
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !id.is_empty()
        && id.bytes().all(|byte| byte.is_ascii_digit())
        && !secret.is_empty()
        && secret.bytes().all(is_fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_without_detours() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::os::unix::fs::symlink(root.join("a/b"), root.join("link")).unwrap();
        for (given, expected) in [
            ("new/../x", "x"),
            ("a/b/../../x", "x"),
            ("link/../x", "a/x"),
            ("link/x", "link/x"),
        ] {
            assert_eq!(without_dots(&root.join(given)), root.join(expected));
        }
        assert_eq!(without_dots(Path::new("/../x")), Path::new("/x"));
    }

    #[test]
    fn an_address_without_a_scheme_gets_the_one_that_fits() {
        for (given, expected) in [
            ("localhost:8000/v1", "http://localhost:8000/v1"),
            ("192.168.1.20:8000", "http://192.168.1.20:8000"),
            ("10.0.0.2/v1/", "http://10.0.0.2/v1"),
            ("[::1]:8000/v1", "http://[::1]:8000/v1"),
            ("[2001:db8::1]/v1", "https://[2001:db8::1]/v1"),
            ("nas.local/v1", "http://nas.local/v1"),
            ("nas:1234", "http://nas:1234"),
            ("api.example.com/v1", "https://api.example.com/v1"),
            ("8.8.8.8", "https://8.8.8.8"),
            ("http://api.example.com", "http://api.example.com"),
        ] {
            assert_eq!(with_scheme(given), expected);
        }
    }
}
