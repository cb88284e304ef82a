//! The web page, as the gateway's other side: `/web`, who its visitors are, and what was said in their conversations.

use std::collections::VecDeque;

use crate::agent::commands::CommandAnswer;
use crate::base::access::{Person, Role};
use crate::base::chat::EntryKind;
use crate::base::error::{Error, Result};
use crate::base::language::texts;
use crate::base::message::{Address, SessionKey};
use crate::board::look::network::gateways;
use crate::channels::http::{PAGE, Reach, Said};
use crate::gateway::Gateway;
use crate::gateway::commands::Call;
use crate::store::session::line::Line;
use crate::store::session::store;
use crate::store::state::pairing::pages::{LINK_SECS, Visitor};
use crate::sys::file::read_at_most;

/// Journals that are looked through for the conversations of a person.
const JOURNALS: usize = 200;
/// Bytes of a file of the system about its network.
const SMALL_FILE_BYTES: usize = 16 * 1024;

texts! {
    fn private_only() {
        "Anyone in this group could use the link. Send `/web` to me in a private chat",
        "群里的任何人都可以使用该链接。请在私聊中向我发送 `/web`",
    }
    fn elsewhere() {
        "A link is made only in a chat. Send `/web` to me there",
        "链接只能在聊天中生成。请在聊天中向我发送 `/web`",
    }
    fn usage() { "Use `/web` for a link, or `/web off` to sign all your browsers out", "用法：`/web` 获取链接，`/web off` 让你的所有浏览器退出登录" }
    fn server_off() {
        "The web page is off. To turn it on, run this on the board and restart the gateway: `peacrab config set http.enabled true`",
        "网页未开启。要开启，请在开发板上运行以下命令并重启网关：`peacrab config set http.enabled true`",
    }
    fn address_unknown() {
        "I listen on a socket and do not know the address of the page. Set the name under which your proxy serves it: `peacrab config set http.hosts '[\"crab.example.org\"]'`",
        "我在套接字上监听，不知道网页的地址。请设置代理所用的名称：`peacrab config set http.hosts '[\"crab.example.org\"]'`",
    }
    fn link(address, minutes) {
        "Open this within {minutes} minutes to sign in. It works once.\n{address}",
        "请在 {minutes} 分钟内打开以登录。此链接只能使用一次。\n{address}",
    }
    /// Another address of the same page, below the first.
    fn or_at(address) { "\nIf that does not open: {address}", "\n如果打不开：{address}" }
    fn local_only(port) {
        "\n\nThe address works on the board itself only. To reach the page from your network, run this on the board and restart the gateway: `peacrab config set http.listen 0.0.0.0:{port}`",
        "\n\n该地址只能在开发板本机使用。要从你的网络访问，请在开发板上运行以下命令并重启网关：`peacrab config set http.listen 0.0.0.0:{port}`",
    }
    fn signed_out(count) { "Signed out of the web page everywhere (browsers: {count}).", "已在所有浏览器中退出网页登录（浏览器数：{count}）。" }
}

impl Gateway {
    /// Answers `/web`.
    pub(in crate::gateway) fn answer_web(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (message, language) = (call.message, call.language);
        if message.is_group {
            return Err(Error::Usage(private_only(language).to_owned()));
        }
        let visitor = self.visitor_of(call)?;
        let pairing = &self.parts.pairing;
        match call.argument {
            // A browser in wrong hands would never lose its access by time.
            "" if message.address().channel == PAGE => {
                return Err(Error::Usage(elsewhere(language).to_owned()));
            }
            "" => {}
            "off" => {
                let count = pairing.sign_out_all(&visitor.key())?;
                tracing::info!(visitor = visitor.key(), count, "signed out of the web page");
                return Ok(signed_out(language, &count).into());
            }
            _ => return Err(Error::Usage(usage(language).to_owned())),
        }
        let Some(slot) = &self.parts.http else {
            return Ok(server_off(language).to_owned().into());
        };
        let addresses = slot.addresses(self.reach());
        let Some((address, others)) = addresses.split_first() else {
            return Ok(address_unknown(language).to_owned().into());
        };
        let secret = pairing.add_link(&visitor)?;
        tracing::info!(visitor = visitor.key(), "made a link to the web page");
        // Behind the # it stays in the browser: no server, proxy or log on the way gets it.
        let to_page = |address: &str| format!("{address}/sign-in#{}", secret.expose());
        let mut text = link(language, &to_page(address), &(LINK_SECS / 60));
        for other in others {
            text.push_str(&or_at(language, &to_page(other)));
        }
        if slot.is_local() {
            let port = address.rsplit(':').next();
            let port = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
            text.push_str(&local_only(language, &port.unwrap_or("443")));
        }
        Ok(text.into())
    }

    /// How phones and computers in the network reach the board.
    fn reach(&self) -> Reach {
        let board = &self.parts.board;
        let read = |path: &str| {
            let bytes = read_at_most(&board.root().join(path), SMALL_FILE_BYTES);
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let avahi = read("run/avahi-daemon/pid");
        let is_process =
            |pid: &str| !pid.is_empty() && board.root().join("proc").join(pid).exists();
        let interfaces = board.reading().interfaces;
        let of_route = gateways(&read("proc/net/route")).into_iter().next();
        let of_route = of_route.and_then(|(_, name)| interfaces.iter().find(|it| it.name == name));
        let with_hardware = || {
            interfaces
                .iter()
                .find(|it| it.is_hardware && it.address.is_some())
        };
        Reach {
            has_local_name: is_process(avahi.trim()),
            address: of_route.or_else(with_hardware).and_then(|it| it.address),
        }
    }

    /// The person who writes a command, as the page knows them.
    fn visitor_of(&self, call: &Call<'_>) -> Result<Visitor> {
        let (message, chat) = (call.message, call.message.address());
        let unknown = || Error::Usage(private_only(call.language).to_owned());
        if chat.channel == PAGE {
            return self.parts.pairing.visitor(&chat.chat).ok_or_else(unknown);
        }
        let sender = message.sender().ok_or_else(unknown)?;
        Ok(Visitor {
            id: sender.id.clone(),
            username: message.username.clone(),
            name: sender.name.clone(),
            language: call.language,
            chat,
        })
    }

    /// What a person who uses the page may do now, by the rules of the channel on which they are known.
    pub(super) fn role_of_visitor(&self, visitor: &Visitor) -> Option<Role> {
        let channel = visitor.chat.channel.as_str();
        let rules = self.rules_of(channel)?;
        let person = Person {
            id: &visitor.id,
            username: &visitor.username,
            ..Person::default()
        };
        rules.role_now(&person, || self.parts.pairing.role_of(channel, &visitor.id))
    }

    /// The same by their id on the page; `None` also once no browser acts for them.
    pub(in crate::gateway) fn role_of_key(&self, key: &str) -> Option<Role> {
        self.role_of_visitor(&self.parts.pairing.visitor(key)?)
    }

    /// What was said in a conversation since it began, the newest last.
    pub(super) fn said_in(&self, session: &SessionKey, most: usize) -> Vec<Said> {
        let hosted = self.agent_for(&self.live(), session, None);
        let mut all = VecDeque::new();
        let mut proposed = None;
        let read = store::read(&hosted.sessions, session, |line| {
            let entry = match line {
                Line::Entry(entry) => entry,
                Line::State(state) => {
                    if state.turn.is_some() {
                        keep(&mut all, proposed.take(), most);
                    }
                    if state.begins_conversation() {
                        all.clear();
                    }
                    return Ok(());
                }
            };
            let is_person = match entry.kind {
                EntryKind::Person => true,
                EntryKind::Assistant => false,
                EntryKind::Note => {
                    // It says that the answer has not gone out.
                    proposed = None;
                    return Ok(());
                }
                EntryKind::Summary | EntryKind::Tool => return Ok(()),
            };
            if entry.content.trim().is_empty() {
                return Ok(());
            }
            keep(&mut all, proposed.take(), most);
            let said = Some(Said {
                is_person,
                text: entry.content,
                at_ms: entry.timestamp.map_or(0, |at| at.timestamp_millis()),
            });
            match entry.is_proposed {
                true => proposed = said,
                false => keep(&mut all, said, most),
            }
            Ok(())
        });
        match read {
            // A conversation that has not begun.
            Err(Error::Usage(_)) => {}
            Err(error) => tracing::warn!(%session, "failed to read a conversation: {error}"),
            Ok(_) => {}
        }
        all.into()
    }

    /// The names of the conversations that a person has had on the page.
    pub(super) fn conversations_of(&self, visitor: &Visitor) -> Vec<String> {
        let main = Address::new(PAGE, &visitor.key()).session();
        let hosted = self.agent_for(&self.live(), &main, None);
        let prefix = format!("{main}:");
        let newest = store::newest(&hosted.sessions, JOURNALS).unwrap_or_default();
        let keys = newest.iter().map(|(key, _)| key.as_str());
        keys.filter_map(|key| Some(key.strip_prefix(&prefix)?.to_owned()))
            .collect()
    }
}

/// Adds a message as the newest one, of at most so many.
fn keep(all: &mut VecDeque<Said>, said: Option<Said>, most: usize) {
    all.extend(said);
    if all.len() > most {
        all.pop_front();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
