//! What a service tells systemd, without its library: datagrams to a socket (sd_notify(3)).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Bytes of the status that systemd shows; it takes 4096 in all and shows one line.
const STATUS_BYTES: usize = 1024;
/// How long a word to systemd may wait until it is taken.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// The line to the service manager that started this process.
#[derive(Debug)]
pub struct Notifier {
    socket: UnixDatagram,
    watchdog: Option<Duration>,
}

impl Notifier {
    /// Connects to the socket that `NOTIFY_SOCKET` names: a path, or an abstract name behind `@`.
    /// `variable` looks a name up in the environment. None where there is no such variable, which
    /// means that no notifications are wanted.
    pub fn connect(variable: impl Fn(&str) -> Option<String>) -> io::Result<Option<Self>> {
        let Some(name) = variable("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        // A manager that does not read must not hold us up for ever.
        socket.set_write_timeout(Some(NOTIFY_TIMEOUT))?;
        Ok(Some(Self {
            socket,
            watchdog: watchdog(&variable, std::process::id()),
        }))
    }

    /// The time after which the manager ends a service that has not called
    /// [`alive`](Self::alive); half of it is a good interval (sd_watchdog_enabled(3)). None: it does
    /// not watch.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The start is over.
    pub fn ready(&self) -> io::Result<()> {
        self.send("READY=1")
    }

    /// What `systemctl status` shows: one line.
    pub fn status(&self, text: &str) -> io::Result<()> {
        self.send(&format!("STATUS={}", one_line(text)))
    }

    /// Feeds the watchdog.
    pub fn alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    /// The end has begun.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1")
    }

    fn send(&self, message: &str) -> io::Result<()> {
        self.socket.send(message.as_bytes()).map(|_| ())
    }
}

/// The watchdog's time, if it watches the process with this number.
fn watchdog(variable: impl Fn(&str) -> Option<String>, own: u32) -> Option<Duration> {
    let micros: u64 = variable("WATCHDOG_USEC")?.parse().ok()?;
    let is_ours = match variable("WATCHDOG_PID") {
        Some(pid) => pid.parse() == Ok(own),
        None => true,
    };
    (is_ours && micros > 0).then_some(Duration::from_micros(micros))
}

/// A line break would begin another message of the protocol.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for char in text.chars() {
        if line.len() + char.len_utf8() > STATUS_BYTES {
            break;
        }
        line.push(if char.is_control() { ' ' } else { char });
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manager's socket, and the variables of a service that it starts.
    struct Manager {
        _folder: tempfile::TempDir,
        socket: UnixDatagram,
        name: String,
    }

    impl Manager {
        fn at_path() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("notify");
            Self {
                socket: UnixDatagram::bind(&path).unwrap(),
                name: path.display().to_string(),
                _folder: folder,
            }
        }

        fn at_abstract_name() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let name = folder.path().display().to_string();
            let address = SocketAddr::from_abstract_name(&name).unwrap();
            Self {
                socket: UnixDatagram::bind_addr(&address).unwrap(),
                name: format!("@{name}"),
                _folder: folder,
            }
        }

        fn started(&self) -> Notifier {
            let variable = |name: &str| (name == "NOTIFY_SOCKET").then(|| self.name.clone());
            Notifier::connect(variable).unwrap().unwrap()
        }

        fn heard(&self) -> String {
            let mut buffer = [0; 4096];
            let length = self.socket.recv(&mut buffer).unwrap();
            String::from_utf8(buffer[..length].to_vec()).unwrap()
        }
    }

    #[test]
    fn a_service_reports_that_it_is_ready_alive_and_stopping() {
        for manager in [Manager::at_path(), Manager::at_abstract_name()] {
            let notifier = manager.started();
            notifier.ready().unwrap();
            assert_eq!(manager.heard(), "READY=1");
            notifier.alive().unwrap();
            assert_eq!(manager.heard(), "WATCHDOG=1");
            notifier.stopping().unwrap();
            assert_eq!(manager.heard(), "STOPPING=1");
        }
    }

    #[test]
    fn a_status_is_cut_to_one_line_that_fits() {
        let manager = Manager::at_path();
        let notifier = manager.started();
        notifier.status("2 turns\nREADY=1\0").unwrap();
        assert_eq!(manager.heard(), "STATUS=2 turns READY=1 ");
        notifier.status(&"é".repeat(5000)).unwrap();
        let heard = manager.heard();
        assert_eq!(heard, format!("STATUS={}", "é".repeat(512)));
    }

    #[test]
    fn without_a_socket_nothing_is_sent() {
        assert!(Notifier::connect(|_| None).unwrap().is_none());
        assert!(
            Notifier::connect(|_| Some(String::new()))
                .unwrap()
                .is_none()
        );
        let gone = |_: &str| Some("/no such folder/notify".to_owned());
        assert!(Notifier::connect(gone).is_err());
    }

    #[test]
    fn the_watchdog_watches_one_process() {
        let interval = |micros: &'static str, pid: Option<&'static str>| {
            watchdog(
                |name| match name {
                    "WATCHDOG_USEC" => Some(micros.to_owned()),
                    "WATCHDOG_PID" => pid.map(str::to_owned),
                    _ => None,
                },
                7,
            )
        };
        assert_eq!(
            interval("60000000", Some("7")),
            Some(Duration::from_secs(60))
        );
        assert_eq!(interval("60000000", None), Some(Duration::from_secs(60)));
        assert_eq!(interval("60000000", Some("8")), None);
        for wrong in ["", "0", "-1", "soon"] {
            assert_eq!(interval(wrong, None), None, "{wrong}");
        }
        assert_eq!(watchdog(|_| None, 7), None);
    }
}
