//! Connections of confined commands that must work: to servers outside, and to their own sockets.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use peacrab::sandbox::confine::{Exec, SandboxMode};

use crate::world::World;
use crate::{feature, modes};

/// The program that a command of [`WORK`] needs, the command, and what its output must contain.
/// `{peer}` is the port of a web server with a repository outside.
const WORK: &[(&str, &str, &str)] = &[
    ("curl", "curl -sS http://127.0.0.1:{peer}/hello", "hello"),
    (
        "wget",
        "wget -q -O - http://127.0.0.1:{peer}/hello",
        "hello",
    ),
    (
        "python3",
        "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:{peer}/hello\").read())'",
        "hello",
    ),
    (
        "python3",
        "python3 -c 'import socket; s = socket.create_connection((\"127.0.0.1\", {peer}), 2); s.send(b\"GET /hello HTTP/1.0\\r\\n\\r\\n\"); print(s.recv(4096))'",
        "200",
    ),
    (
        "perl",
        "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(\"127.0.0.1:{peer}\"); print $s \"GET /hello HTTP/1.0\\r\\n\\r\\n\"; print <$s>'",
        "hello",
    ),
    (
        "bash",
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{peer}; printf \"GET /hello HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3'",
        "hello",
    ),
    (
        "node",
        "node -e 'require(\"http\").get(\"http://127.0.0.1:{peer}/hello\", (r) => r.pipe(process.stdout))'",
        "hello",
    ),
    (
        "git",
        "git clone -q http://127.0.0.1:{peer}/repository.git r && cat r/file",
        "from afar",
    ),
    (
        "perl",
        "perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0); connect(S, sockaddr_in(9, inet_aton(\"127.0.0.1\"))) and print \"connected\"'",
        "connected",
    ),
    (
        "perl",
        "perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(1, inet_aton(\"127.0.0.1\"))) or print $!'",
        "refused",
    ),
    (
        "getent",
        "getent hosts localhost && echo resolved",
        "resolved",
    ),
    (
        "python3",
        "python3 -c 'import threading as t, urllib.request as u; f = lambda: print(u.urlopen(\"http://127.0.0.1:{peer}/hello\").status); a = [t.Thread(target=f) for _ in range(8)]; [x.start() for x in a]; [x.join() for x in a]; print(\"all\")'",
        "all",
    ),
];

/// The same for sockets between a command's own processes, which need namespaces.
const OWN: &[(&str, &str, &str)] = &[
    (
        "python3",
        "python3 -c 'import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1, -2])); x = m.Manager(); print(x.list([3]))'",
        "[3]",
    ),
    (
        "perl",
        "perl -MIO::Socket::UNIX -e '$l = IO::Socket::UNIX->new(Local => q(s), Listen => 1); if (!fork) { $c = IO::Socket::UNIX->new(Peer => q(s)); print $c qq(through\\n); exit } print $l->accept->getline'",
        "through",
    ),
    (
        "python3",
        "python3 -c 'import socket, os; l = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); p = os.environ.get(\"TMPDIR\", \"/tmp\") + \"/s\"; l.bind(p); l.listen(); c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); c.setblocking(False); c.connect(p); c.send(b\"through\"); print(l.accept()[0].recv(9))'",
        "through",
    ),
    (
        "perl",
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => q(missing)) or print $!'",
        "No such file",
    ),
    (
        "perl",
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => q(note.txt)) or print $!'",
        "refused",
    ),
    // Waiting connections do not block others.
    (
        "perl",
        "perl -MIO::Socket::UNIX -e '$l = IO::Socket::UNIX->new(Local => q(s), Listen => 1); for (1..6) { fork or IO::Socket::UNIX->new(Peer => q(s)) && sleep 60 } select(undef, undef, undef, 0.2); IO::Socket::UNIX->new(Peer => q(missing)); print qq(goes on $!)'",
        "goes on No such",
    ),
    (
        "tmux",
        "export SHELL=/bin/sh; tmux -f /dev/null new-session -d 'echo in a terminal > out; sleep 1' && tmux ls > /dev/null && sleep 0.3; cat out; tmux kill-server",
        "in a terminal",
    ),
    (
        "script",
        "script -qc 'test -t 0 && echo a terminal' /dev/null < /dev/null",
        "a terminal",
    ),
    (
        "ssh-agent",
        "ssh-keygen -q -t ed25519 -N '' -f key && eval $(ssh-agent) > /dev/null && ssh-add -q key && ssh-add -l; ssh-agent -k > /dev/null",
        "ED25519",
    ),
];

/// A web server outside the sandbox that serves the files of a folder.
struct Peer {
    port: u16,
    folder: tempfile::TempDir,
}

/// The number of answers, so that a test sees that it was this server.
static ANSWERED: AtomicUsize = AtomicUsize::new(0);

impl Peer {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("hello"), "hello").unwrap();
        let line = "git init -q w && cd w && echo from afar > file && git add file && \
                    git -c user.email=a@b -c user.name=n commit -qm first && cd .. && \
                    git clone -q --bare w repository.git && git -C repository.git update-server-info";
        let made = Command::new("sh")
            .args(["-c", line])
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .status();
        feature::has("git", made.map(drop));
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let root = folder.path().to_owned();
        // Ends with the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let root = root.clone();
                std::thread::spawn(move || serve(stream, &root));
            }
        });
        Self { port, folder }
    }
}

fn serve(stream: TcpStream, root: &Path) {
    let mut line = String::new();
    let mut reader = BufReader::new(&stream);
    if reader.read_line(&mut line).is_err() {
        return;
    }
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|length| length > 2) {
        header.clear();
    }
    let path = line.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let path: PathBuf = root.join(path.trim_start_matches('/'));
    let (status, content) = match std::fs::read(path) {
        Ok(content) => ("200 OK", content),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    ANSWERED.fetch_add(1, Ordering::Relaxed);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    let _ = (&stream).write_all(head.as_bytes());
    let _ = (&stream).write_all(&content);
}

fn is_here(program: &str) -> bool {
    let line = format!("PATH=/usr/local/bin:/usr/bin:/bin command -v {program}");
    let found = Command::new("sh").args(["-c", &line]).output();
    found.is_ok_and(|found| found.status.success())
}

fn failures(
    world: &World,
    mode: &str,
    exec: &Exec,
    rows: &[(&str, &str, &str)],
    peer: u16,
) -> Vec<String> {
    let mut failures = Vec::new();
    for (program, command, expected) in rows {
        if !is_here(program) {
            continue;
        }
        let command = command.replace("{peer}", &peer.to_string());
        let outcome = world.run_for(exec, &command, super::WORK_TIME);
        let text = outcome.output.text();
        world.clean();
        if !text.contains(expected) {
            failures.push(format!("{mode}: {command}: {text:?} {}", outcome.end));
        }
    }
    failures
}

#[test]
fn what_connects_goes_through() {
    let world = World::new();
    let peer = Peer::new();
    assert!(peer.folder.path().exists());
    let mut failed = Vec::new();
    for (mode, exec) in modes(&world, true, false) {
        failed.extend(failures(&world, mode, &exec, WORK, peer.port));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ANSWERED.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_command_s_own_sockets_and_terminals_work_in_a_view_of_its_own() {
    let world = World::new();
    let mut failed = Vec::new();
    for network in [true, false] {
        for (mode, exec) in modes(&world, network, false) {
            if exec.isolation().unwrap().own_view() {
                failed.extend(failures(&world, mode, &exec, OWN, 0));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Another program cannot create the folder for temporary files before the command does.
#[test]
fn the_folder_for_temporary_files_cannot_be_guessed() {
    let world = World::new();
    for (mode, exec) in modes(&world, true, false) {
        if exec.isolation().unwrap().own_view() {
            continue;
        }
        let name = || world.run(&exec, "echo ${TMPDIR##*-}").output.text();
        let (first, second) = (name(), name());
        assert_eq!(first.trim().len(), 32, "{mode}: {first}");
        assert_ne!(first, second, "{mode}");
    }
}

/// In its own network a command may listen, and abstract socket names are its own.
#[test]
fn in_a_network_of_its_own_a_command_may_listen() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, false)).unwrap();
    if !exec.isolation().unwrap().own_view() {
        return;
    }
    for command in [
        "perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1:4711\"); IO::Socket::INET->new(\"127.0.0.1:4711\") and print \"both\"'",
        "perl -MSocket -e '$n = pack(\"Sa*\", 1, \"\\0x\"); socket(L, 1, 1, 0); bind(L, $n); listen(L, 1); socket(S, 1, 1, 0); connect(S, $n) and print \"both\"'",
    ] {
        let text = world.run(&exec, command).output.text();
        assert!(text.contains("both"), "{command}: {text}");
    }
}

/// The address is changed while it is checked: the check and the call use the same copy.
#[test]
fn an_address_that_changes_meanwhile_leads_nowhere_else() {
    const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
static struct sockaddr_un address = {AF_UNIX};
static char own[108], other[108];
static void *swap(void *x) {
    for (;;) { memcpy(address.sun_path, own, 108); memcpy(address.sun_path, other, 108); }
}
int main(int count, char **values) {
    pthread_t thread;
    time_t end = time(0) + 1;
    int server = socket(AF_UNIX, SOCK_STREAM, 0), n = 0;
    strcpy(own, "own"); strcpy(other, values[1]); strcpy(address.sun_path, own);
    bind(server, (void *)&address, sizeof address); listen(server, 4000);
    pthread_create(&thread, 0, swap, 0);
    while (time(0) < end) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(s, (void *)&address, sizeof address) == 0) { n++; close(accept(server, 0, 0)); }
        close(s);
    }
    printf("own %d\n", n > 0);
    return 0;
}
"#;
    let mut world = World::new();
    let source = world.at("allowed/race.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let program = world.at("allowed/race");
    let made = Command::new("cc")
        .args(["-pthread", "-o"])
        .arg(&program)
        .arg(&source)
        .status();
    if !feature::has("cc", made.map(drop)) {
        return;
    }
    for (mode, exec) in modes(&world, true, true) {
        let command = "{allowed}/race {readonly}/service.sock";
        let damage = world.attack(&exec, command);
        assert!(damage.is_empty(), "{mode}: {damage:?}");
        if exec.isolation().unwrap().own_view() {
            let text = world.run(&exec, command).output.text();
            world.clean();
            assert!(text.contains("own 1"), "{mode}: {text}");
        }
    }
}

/// A bound socket could take a connection without ever listening.
#[test]
fn with_landlock_a_port_is_not_chosen() {
    const BIND: &str = "perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(PORT, \
                        inet_aton(\"127.0.0.1\"))) and print \"bound\"'";
    let world = World::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    for (mode, exec) in modes(&world, true, true) {
        if mode == "Landlock" || mode == "all that works" && exec.isolation().unwrap().landlock > 3
        {
            let chosen = world.run(&exec, &BIND.replace("PORT", &port.to_string()));
            assert!(!chosen.output.text().contains("bound"), "{mode}");
            let any = world.run(&exec, &BIND.replace("PORT", "0"));
            assert!(any.output.text().contains("bound"), "{mode}");
        }
    }
}
