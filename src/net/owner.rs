//! Whose server answers on a port of this machine: without TLS, a secret is sent to trusted users' servers
//! only.

use std::net::SocketAddr;

use super::Failure;
use crate::sys::port;

/// Every user, in `tls.localServerUsers`.
const ANY_USER: &str = "*";

/// Checks the other end of a connection to this machine: each socket that may be it has to be of our
/// own user, root or one of `users`, and not one of a command of ours. Elsewhere there is nothing to
/// check.
///
/// Fails with [`Failure::Untrusted`].
pub fn check(theirs: SocketAddr, ours: SocketAddr, users: &[String]) -> Result<(), Failure> {
    let is_here = theirs.ip().to_canonical().is_loopback() || theirs.ip() == ours.ip();
    if !is_here || users.iter().any(|user| user == ANY_USER) {
        return Ok(());
    }
    let holders = port::holders(theirs, ours).unwrap_or_default();
    let own = port::own_user();
    let is_known = |user: u32| {
        user == own
            || user == 0
            || users
                .iter()
                .any(|name| port::user_number(name) == Some(user))
    };
    let who = match holders.iter().find(|holder| !is_known(holder.user)) {
        Some(holder) => {
            let name = port::user_name(holder.user);
            format!(
                "this port belongs to the user {name}. If that is your server, add \"{name}\" to tls.localServerUsers"
            )
        }
        None if holders.is_empty() => format!(
            "the owner of this port is unknown. Use https, or add \"{ANY_USER}\" to tls.localServerUsers"
        ),
        None => {
            let of_own: Vec<_> = holders
                .iter()
                .copied()
                .filter(|holder| holder.user == own)
                .collect();
            if of_own.is_empty() || port::are_held_by_others(&of_own) {
                return Ok(());
            }
            "this port may belong to one of the agent's own commands. Stop it, and start your server"
                .to_owned()
        }
    };
    Err(Failure::Untrusted(format!("no key was sent: {who}")))
}
