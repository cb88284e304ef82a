//! A release folder, signed with a key of the test, and a server for it.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::harness::program::PEACRAB;
use crate::harness::wait_until;

/// The variable with the public key, in a build for tests.
pub const KEY_VARIABLE: &str = "PEACRAB_TEST_UPDATE_KEY";

/// The architecture of this machine, as releases name it.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "arm" => "armv6",
        other => other,
    }
}

/// A release folder.
pub struct Release {
    folder: tempfile::TempDir,
    key: Ed25519KeyPair,
}

impl Release {
    /// An empty folder; everything that is signed has the same key.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Another account reads it in some stories.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        Self { folder, key }
    }

    /// A release with one program, a script.
    pub fn of_script(version: &str, script: &str) -> Self {
        let release = Self::new();
        release.add(version, architecture(), script.as_bytes());
        release.sign();
        release
    }

    /// A release with the real program, which says that it has this version.
    pub fn of_program(version: &str) -> Self {
        let release = Self::new();
        let path = release.path(&name(version, architecture()));
        // What is only for debuggers is ten times the program, and more than an update takes. binutils come with the C
        // compiler that builds it.
        let strip = Command::new("strip")
            .args(["--strip-debug", "-o"])
            .args([&path, Path::new(PEACRAB)])
            .status();
        assert!(strip.is_ok_and(|status| status.success()), "strip");
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        write!(file, "\nPEACRAB_TEST_VERSION={version}").unwrap();
        release.sign();
        release
    }

    /// The public key, as it is built into a program.
    pub fn public_key(&self) -> String {
        STANDARD.encode(self.key.public_key())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file of the release.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Adds a program.
    pub fn add(&self, version: &str, architecture: &str, content: &[u8]) {
        fs::write(self.path(&name(version, architecture)), content).unwrap();
    }

    /// Writes the list of all programs, and signs it.
    pub fn sign(&self) {
        let mut lines = Vec::new();
        for entry in fs::read_dir(self.folder()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.starts_with("peacrab-") {
                let sum = digest(&SHA256, &fs::read(self.path(&name)).unwrap());
                let hex: String = sum
                    .as_ref()
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                lines.push(format!("{hex}  {name}\n"));
            }
        }
        lines.sort();
        self.write_list(&lines.concat());
    }

    /// Writes a list, and signs it.
    pub fn write_list(&self, list: &str) {
        fs::write(self.path("SHA256SUMS"), list).unwrap();
        let signature = self.key.sign(list.as_bytes());
        fs::write(self.path("SHA256SUMS.sig"), signature).unwrap();
    }

    /// Serves the folder over HTTP until the process ends; returns its URL.
    pub fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/peacrab", listener.local_addr().unwrap());
        let folder = self.folder().to_owned();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let folder = folder.clone();
                thread::spawn(move || answer(&stream.unwrap(), &folder));
            }
        });
        url
    }
}

/// The name of a program in a release.
pub fn name(version: &str, architecture: &str) -> String {
    format!("peacrab-{version}-{architecture}")
}

/// Answers one request. While there is a file `NAME.held`, it waits, and writes `NAME.asked`. A file `NAME.torn` is sent as the beginning of NAME, without its end; one called
/// `NAME.silent` means that nothing is ever sent. The folder `moved` redirects to the release.
fn answer(mut stream: &TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    let head = lines.take_while(|line| !line.is_empty()).count();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let beside = |ending: &str| folder.join(format!("{name}.{ending}"));
    if head == 0 || beside("silent").exists() {
        thread::park();
    }
    if beside("held").exists() {
        fs::write(beside("asked"), "").unwrap();
        wait_until("the release of a file", || !beside("held").exists());
    }
    if path.starts_with("/moved/") {
        let head = format!("HTTP/1.1 302 Found\r\nLocation: /peacrab/{name}\r\n");
        let end = "Connection: close\r\nContent-Length: 0\r\n\r\n";
        let _ = stream.write_all((head + end).as_bytes());
        return;
    }
    let Ok(content) = fs::read(folder.join(name)) else {
        let _ = stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        return;
    };
    let sent = match beside("torn").exists() {
        true => &content[..content.len() / 2],
        false => &content[..],
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(sent));
}
