//! IRC and the local channel.

/// IRC.
pub(super) mod irc {
    use crate::config::channels::{channel_keys, own, usual};
    use crate::config::table::Kind::{Flag, NamedRoles, Names, Secret, Text, Texts};

    channel_keys!("irc", "IRC", ids: (Names, NamedRoles, "accounts, or nicks where trustNicks is true"), [
        own!("irc", "server", Text, r#""""#, "Server and port, such as irc.libera.chat:6697."),
        own!("irc", "tls", Flag, "true", "Use TLS. false only for a server on this machine."),
        own!("irc", "nick", Text, r#""peacrab""#, "The bot's nick."),
        own!("irc", "user", Text, r#""""#, "User name. Empty: the nick."),
        own!("irc", "realName", Text, r#""""#, "Real name. Empty: the nick."),
        own!("irc", "password", Secret, r#""""#, "The server's password, if it has one. ${NAME} reads it from the environment, file:PATH from a file."),
        own!("irc", "saslUser", Text, r#""""#, "Account for SASL. Empty: no SASL."),
        own!("irc", "saslPassword", Secret, r#""""#, "Its password. ${NAME} reads it from the environment, file:PATH from a file."),
        own!("irc", "channels", Texts, "[]", "Channels to join, such as \"#peacrab\" or \"#secret key\"."),
        own!("irc", "trustNicks", Flag, "false", "Take a nick for a person where the network has no accounts. Anybody can take a nick that is free."),
        usual!("irc", groupPolicy, "Which messages in channels are for the agent. mention: those that begin with its nick or contain it; open: all; off: none."),
    ]);
}

/// The local channel.
pub(super) mod local {
    use crate::config::channels::{channel_keys, own};
    use crate::config::table::Kind::{NamedRoles, Names, Path};

    channel_keys!("local", "programs on this machine", ids: (Names, NamedRoles, "the ids that the programs give"), [
        own!("local", "socket", Path, r#""""#, "Path of the Unix socket. Empty: state/local.sock in the home folder."),
    ]);
}
