//! The table of channels.

use super::kit::service::Service;
use super::{
    dingtalk, discord, email, feishu, irc, local, matrix, mochat, qq, slack, telegram, whatsapp,
};

/// Every channel, in the order in which they are listed.
pub static ALL: &[&Service] = &[
    &telegram::SERVICE,
    &discord::SERVICE,
    &slack::SERVICE,
    &matrix::SERVICE,
    &email::SERVICE,
    &feishu::SERVICE,
    &local::SERVICE,
    &whatsapp::SERVICE,
    &qq::SERVICE,
    &mochat::SERVICE,
    &dingtalk::SERVICE,
    &irc::SERVICE,
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
        assert_eq!(own, channels::names().collect::<Vec<_>>());
        for service in ALL {
            for need in service.needs {
                let path = format!("channels.{}.{}", service.name, need.key);
                let rows = channels::rows(service.name);
                assert!(rows.iter().any(|row| row.path == path), "{path}");
            }
        }
    }
}
