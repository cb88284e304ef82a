//! The accounts in /etc/passwd (passwd(5)).

use std::path::PathBuf;

use crate::base::limits::service as limits;

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its user id.
    pub user: u32,
    /// The id of its group.
    pub group: u32,
    /// Its home folder.
    pub home: PathBuf,
}

/// Looks up an account by its name; `None` when /etc/passwd does not have it.
pub fn find(name: &str) -> Option<Account> {
    in_list(&list()?, |found, _| found == name)
}

/// The account of this process.
pub fn own() -> Option<Account> {
    let own = rustix::process::geteuid().as_raw();
    in_list(&list()?, |_, user| user == own)
}

fn list() -> Option<String> {
    let list =
        crate::sys::file::read_at_most("/etc/passwd".as_ref(), limits::ACCOUNTS_BYTES).ok()?;
    Some(String::from_utf8_lossy(&list).into_owned())
}

fn in_list(list: &str, is_meant: impl Fn(&str, u32) -> bool) -> Option<Account> {
    list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [found, _, user, group, _, home, _] = fields[..] else {
            return None;
        };
        let user = user.parse().ok()?;
        (is_meant(found, user) && home.starts_with('/')).then_some(Account {
            user,
            group: group.parse().ok()?,
            home: home.into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let list = "root:x:0:0:root:/root:/bin/bash\nbroken\npi:x:1000:1001:,,,:/home/pi:/bin/sh\n";
        let by_name = |name: &str| in_list(list, |found, _| found == name);
        let account = by_name("pi").unwrap();
        assert_eq!((account.user, account.group), (1000, 1001));
        assert_eq!(account.home, PathBuf::from("/home/pi"));
        for missing in ["p", "", "broken", "pi:x"] {
            assert_eq!(by_name(missing), None, "{missing}");
        }
        assert_eq!(in_list(list, |_, user| user == 1000), Some(account));
    }
}
