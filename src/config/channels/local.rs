//! The local channel.

use super::{channel_keys, own, usual};
use crate::config::table::Kind::{NamedRoles, Names, Path};

channel_keys!("local", "programs on this machine", ids: (Names, NamedRoles, "the ids that the programs give"), [
    own!("local", "socket", Path, r#""""#, "Path of the Unix socket, in a folder that exists and that the agent cannot reach. Empty: state/local.sock in the home folder."),
    usual!("local", streaming),
    usual!("local", streamEditIntervalMs),
]);
