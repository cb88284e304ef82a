//! What a wrong value of a setting does: it stops the program, takes a section with it, or gives way to the
//! default. Pure.

use crate::config::key::{Key, Kind};

impl Key {
    /// Whether a wrong value stops the program, because its default could be unsafe: the setting says who has
    /// access, what the sandbox holds, where something is sent, or what may be spent.
    pub fn guards(&self) -> bool {
        const SECTIONS: [&str; 3] = ["tools.", "tls.", "limits."];
        const NAMES: [&str; 19] = [
            "agent",
            "authservId",
            "bridgeUrl",
            "default",
            "defaultRole",
            "dmPolicy",
            "domain",
            "groupAllowFrom",
            "groupPolicy",
            "id",
            "imapHost",
            "imapUseSsl",
            "prices",
            "requireAuthentication",
            "server",
            "smtpHost",
            "tls",
            "proxy",
            "withoutSecrets",
        ];
        const KINDS: [Kind; 10] = [
            Kind::Agents,
            Kind::Ids,
            Kind::Names,
            Kind::Roles,
            Kind::NamedRoles,
            Kind::Bindings,
            Kind::Url,
            Kind::Hosts,
            Kind::Path,
            Kind::Paths,
        ];
        let name = self.path.rsplit('.').next().unwrap_or_default();
        let is_number = matches!(self.kind, Kind::Whole(..)) && !self.path.starts_with("limits.");
        let is_within = SECTIONS
            .iter()
            .any(|section| self.path.starts_with(section));
        (is_within && !is_number)
            || NAMES.contains(&name)
            || name.starts_with("smtpUse")
            || name == "allowAgents"
            || KINDS.contains(&self.kind)
    }

    /// The number of names in the path of the section that a wrong value makes useless as a whole: a server
    /// of tools, or a slash command. `None` for other settings.
    pub fn leaves_out(&self) -> Option<usize> {
        let sections = [("tools.mcpServers.*.", 3), ("commands.*.", 2)];
        let mut found = sections.into_iter();
        found.find_map(|(section, names)| self.path.starts_with(section).then_some(names))
    }
}
