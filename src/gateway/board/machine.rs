//! `/top`, `/ip` and `/wol`: the machine's processes and its network.

use std::fmt::Write;
use std::net::UdpSocket;

use super::{Answer, Asking, texts};
use crate::base::error::{Error, Result};
use crate::base::limits::board::FILE_BYTES;
use crate::board::look::network::{gateways, ipv6_addresses, name_servers};
use crate::board::look::top::Snapshot;
use crate::board::look::wake::Wake;
use crate::sys;
use crate::text::markup::{code_block, inline_code};
use std::time::Duration;

/// How long processes are watched for a list of those that use most.
const TOP_SPAN: Duration = Duration::from_secs(1);
/// How often a packet is sent that wakes a machine: nothing confirms it.
const WAKE_TIMES: usize = 3;

impl Asking<'_> {
    /// The processes that use most.
    pub(in crate::gateway) fn top(&self) -> Result<Answer> {
        let board = &self.gateway.parts.board;
        let before = Snapshot::take(board.root());
        if self.cancel.wait(TOP_SPAN) {
            return Err(Error::Stopped);
        }
        let table = Snapshot::take(board.root()).format_since(&before);
        let text = format!(
            "{}\n{}",
            code_block(table.trim_end(), ""),
            board.format_load(self.language)
        );
        Ok(text.trim_end().to_owned().into())
    }

    /// The machine's addresses.
    pub(in crate::gateway) fn addresses(&self) -> Result<Answer> {
        let (board, language) = (&self.gateway.parts.board, self.language);
        let file = |path: &str| {
            let bytes = sys::file::read_at_most(&board.root().join(path), FILE_BYTES);
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let inet6 = file("proc/net/if_inet6");
        let mut text = format!("**{}**", inline_code(&sys::host::name()));
        for interface in board.reading().interfaces {
            let _ = write!(text, "\n- {}", board.format_interface(&interface, language));
            let others = ipv6_addresses(&inet6, &interface.name).into_iter();
            for address in others.filter(|address| interface.address != Some((*address).into())) {
                let _ = write!(text, "\n  - `{address}`");
            }
        }
        for (gateway, interface) in gateways(&file("proc/net/route")) {
            let _ = write!(
                text,
                "\n- {}",
                texts::gateway(language, &gateway, &inline_code(&interface))
            );
        }
        let servers = name_servers(&file("etc/resolv.conf"));
        let servers: Vec<String> = servers.iter().map(|server| format!("`{server}`")).collect();
        if !servers.is_empty() {
            let _ = write!(
                text,
                "\n- {}",
                texts::name_servers(language, &servers.join(", "))
            );
        }
        Ok(text.into())
    }

    /// Wakes another machine.
    pub(in crate::gateway) fn wake(&self) -> Result<Answer> {
        let usage = || Error::Usage(texts::wol_usage(self.language).to_owned());
        let wake = Wake::parse(self.argument).ok_or_else(usage)?;
        let packet = wake.packet();
        let send = || {
            let socket = UdpSocket::bind(("0.0.0.0", 0))?;
            socket.set_broadcast(true)?;
            (0..WAKE_TIMES).try_for_each(|_| socket.send_to(&packet, wake.to).map(drop))
        };
        send().map_err(Error::io("send to", wake.to.to_string()))?;
        let mac = wake.mac.map(|byte| format!("{byte:02x}")).join(":");
        let to = inline_code(&wake.to.to_string());
        Ok(texts::woken(self.language, &inline_code(&mac), &to).into())
    }
}
