//! The table of channels.

use super::kit::service::Service;
use super::{local, telegram};

/// Every channel that this program was built with, in the order in which they are listed.
pub static ALL: &[&Service] = &[
    &telegram::SERVICE,
    #[cfg(feature = "discord")]
    &super::discord::SERVICE,
    #[cfg(feature = "slack")]
    &super::slack::SERVICE,
    #[cfg(feature = "matrix")]
    &super::matrix::SERVICE,
    #[cfg(feature = "email")]
    &super::email::SERVICE,
    #[cfg(feature = "feishu")]
    &super::feishu::SERVICE,
    &local::SERVICE,
    #[cfg(feature = "whatsapp")]
    &super::whatsapp::SERVICE,
    #[cfg(feature = "qq")]
    &super::qq::SERVICE,
    #[cfg(feature = "mochat")]
    &super::mochat::SERVICE,
    #[cfg(feature = "dingtalk")]
    &super::dingtalk::SERVICE,
    #[cfg(feature = "irc")]
    &super::irc::SERVICE,
];

/// The channel of this name.
pub fn find(name: &str) -> Option<&'static Service> {
    ALL.iter().find(|service| service.name == name).copied()
}

/// Whether a channel is the one that is meant where none is named.
pub fn is_first(service: &Service) -> bool {
    ALL.first().is_some_and(|first| first.name == service.name)
}

/// A channel as people know it, such as `Telegram`, by its name in addresses.
pub fn title(channel: &str) -> &str {
    find(channel).map_or(channel, |service| service.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::channels;

    #[test]
    fn the_channels_are_those_of_the_configuration_and_need_settings_that_exist() {
        let own: Vec<_> = ALL.iter().map(|service| service.name).collect();
        let built = |name: &&str| cfg!(feature = "channels") || own.contains(name);
        let known = channels::names().filter(built);
        assert_eq!(own, known.collect::<Vec<_>>());
        for service in ALL {
            for need in service.needs {
                let path = format!("channels.{}.{}", service.name, need.key);
                let rows = channels::rows(service.name);
                assert!(rows.iter().any(|row| row.path == path), "{path}");
            }
        }
    }
}
