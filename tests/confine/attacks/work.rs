//! Ordinary work, which must succeed.

/// Ordinary work, and what its output must contain.
pub const WORK: &[(&str, &str)] = &[
    ("cat note.txt", "second line"),
    ("pwd", "workspace"),
    ("echo $HOME; echo ~", "workspace"),
    ("echo new > new.txt && cat new.txt && rm new.txt", "new"),
    (
        "mkdir -p a/b && touch a/b/c && find a -type f && rm -r a",
        "a/b/c",
    ),
    (
        "echo x > \"${TMPDIR:-/tmp}/x\" && cat \"${TMPDIR:-/tmp}/x\"",
        "x",
    ),
    ("f=$(mktemp) && echo made > $f && cat $f", "made"),
    (
        "printf '#!/bin/sh\\necho script runs\\n' > run.sh && chmod 755 run.sh && ./run.sh",
        "script runs",
    ),
    ("cat {readonly}/manual", "the manual"),
    (
        "echo more >> {allowed}/data && tail -1 {allowed}/data",
        "more",
    ),
    ("ls -la", "note.txt"),
    ("grep -rn second . | head -1", "note.txt:2"),
    (
        "sed -i s/second/third/ note.txt && cat note.txt; sed -i s/third/second/ note.txt",
        "third line",
    ),
    ("tar czf a.tgz note.txt && tar tzf a.tgz", "note.txt"),
    ("echo 1 2 3 | tr ' ' '\\n' | sort -rn | head -1", "3"),
    ("sleep 0.01 & wait; echo waited", "waited"),
    ("sleep 30 & p=$!; kill $p; wait $p; echo $?", "143"),
    (
        "sh -c 'sleep 30 & sleep 30' & p=$!; until [ $(pgrep -c -P $p) = 2 ]; do sleep 0.01; done; pkill -P $p; wait $p; echo ended",
        "ended",
    ),
    (
        "bash -c 'set -m; sleep 30 & kill %1; wait; echo ended'",
        "ended",
    ),
    ("timeout 0.05 sleep 5; echo $?", "124"),
    ("(exit 7); echo $?", "7"),
    ("ps -e > /dev/null && echo listed", "listed"),
    (
        "cat /proc/cpuinfo > /dev/null; cat /proc/meminfo | head -1",
        "MemTotal",
    ),
    ("uname -a; id -un; hostname", "Linux"),
    ("df -h . | tail -1; free -m | head -2; uptime", "Mem"),
    ("date +%Y", "20"),
    ("echo err >&2", "err"),
    (
        "echo x > /dev/stdout; echo y > /dev/stderr; echo z > /dev/null",
        "y",
    ),
    ("ls /sys/class > /dev/null && echo hardware", "hardware"),
    ("perl -e 'print 6 * 7'", "42"),
    (
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm first && git log --oneline",
        "first",
    ),
    (
        "ln -s note.txt l && cat l; ln note.txt h && cat h; mv h g && cat g",
        "a note",
    ),
    ("mkfifo p && (echo through > p &) && cat p", "through"),
    ("cat <<E | wc -l\na\nb\nE", "2"),
    ("diff note.txt note.txt && echo same", "same"),
    (
        "which sh; getent passwd root; getent hosts localhost",
        "root",
    ),
    (
        "dd if=/dev/urandom of=noise bs=1k count=10 2>/dev/null && stat -c %s noise",
        "10240",
    ),
    ("mkdir d1 d2 && touch d1/f && mv d1/f d2/f && ls d2", "f"),
    (
        "mkdir -m 700 m && chmod 750 m && install -m 755 note.txt i && cp -p i j && chmod -R u+w m && stat -c %a m i j | tr '\\n' ' '",
        "750 755 755",
    ),
    (
        "mkdir u && tar cf a.tar --mode=755 note.txt && tar xpf a.tar -C u && cp -a u v && stat -c %a v/note.txt",
        "755",
    ),
    (
        "perl -e 'open(F, q(<), q(note.txt)); chmod 0600, *F; chmod 0640, q(./note.txt); chmod 0644, q({workspace}/note.txt); printf q(%o), (stat F)[2]'",
        "100644",
    ),
    (
        "touch x && python3 -c 'import os; d = os.open(\".\", os.O_PATH); os.chmod(\"x\", 0o711, dir_fd=d); f = os.open(\"x\", os.O_PATH); os.chmod(\"/proc/self/fd/%d\" % f, os.stat(f).st_mode | 0o4); print(oct(os.stat(\"x\").st_mode))'",
        "0o100715",
    ),
    (
        "f=$(mktemp) && chmod 755 $f && cd ${TMPDIR:-/tmp} && chmod 700 ${f##*/} && stat -c %a $f",
        "700",
    ),
    (
        "python3 -c 'import ctypes; c = ctypes.CDLL(None); i = c.inotify_init(); print(\"watches\", c.inotify_add_watch(i, b\".\", 0xfff), c.inotify_add_watch(i, b\"/usr\", 0xfff))'",
        "watches 1 2",
    ),
    (
        "nice -n 5 renice -n 19 -p 0 2>&1; ulimit -n 64 && ulimit -n",
        "64",
    ),
];

/// Ordinary work with a program that a machine may lack: the program, the command, and what its output must
/// contain.
pub const PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "git",
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm first && cd .. && git clone -q r s && cd s && echo y >> f && git diff",
        "+y",
    ),
    (
        "git",
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm first && git checkout -qb b && echo y > f && git stash -q && git stash pop -q && git commit -qam second && git log --oneline --all | wc -l && git tag t && git archive t | tar t",
        "2",
    ),
    (
        "git",
        "git init -q --bare o.git && git init -q r && cd r && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m x && git push -q ../o.git HEAD:main && git ls-remote ../o.git",
        "refs/heads/main",
    ),
    (
        "git",
        "git init -q r && cd r && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m x && git worktree add -q ../w && git worktree list",
        "[w]",
    ),
    (
        "cc",
        r#"printf '#include <stdio.h>\nint main(void){puts("compiled");}\n' > m.c && cc -O1 -o m m.c && ./m"#,
        "compiled",
    ),
    (
        "make",
        r"printf 'all: a b\na b:\n\techo made > $@\n' > Makefile && make -s -j2 && cat a b",
        "made",
    ),
    (
        "python3",
        "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'",
        "workspace/v",
    ),
    (
        "python3",
        "python3 -c 'import subprocess, tempfile; f = tempfile.NamedTemporaryFile(); print(subprocess.check_output([\"echo\", \"child\"]))'",
        "child",
    ),
    (
        "python3",
        "python3 -c 'import threading; t = threading.Thread(target=print, args=[\"thread\"]); t.start(); t.join()'",
        "thread",
    ),
    (
        "python3",
        "python3 -c 'import sqlite3; c = sqlite3.connect(\"t.db\"); c.execute(\"create table t(a)\"); print(c.execute(\"select 6*7\").fetchone())'",
        "(42,)",
    ),
    (
        "python3",
        "python3 -c 'import asyncio; print(asyncio.run(asyncio.wait_for(asyncio.sleep(0, 7), 1)))'",
        "7",
    ),
    (
        "python3",
        "python3 -c 'import json, ssl, hashlib, urllib.request; print(hashlib.sha256(b\"\").hexdigest())'",
        "e3b0c442",
    ),
    (
        "python3",
        "python3 -c 'from multiprocessing import Pool; print(sum(Pool(2).map(abs, [-1, -2, -3])))'",
        "6",
    ),
    ("pip3", "pip3 --version", "pip"),
    (
        "sqlite3",
        "sqlite3 t.db 'create table t(a); insert into t values(7); select a*6 from t'",
        "42",
    ),
    (
        "ssh-keygen",
        "ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -lf key.pub && ls -l key",
        "ED25519",
    ),
    (
        "ssh",
        "ssh -V && ssh -G example.org | grep -m1 port",
        "port 22",
    ),
    ("ssh-agent", "ssh-agent sh -c 'ssh-add -l'", "no identities"),
    (
        "tmux",
        "export SHELL=/bin/sh; tmux -S ./s new -d 'echo inside > out; sleep 9'; for i in 1 2 3 4 5 6 7 8 9; do [ -s out ] && break; sleep 0.2; done; cat out; tmux -S ./s kill-server",
        "inside",
    ),
    (
        "script",
        "script -qec 'tty; echo typed' /dev/null < /dev/null",
        "typed",
    ),
    (
        "expect",
        "expect -c 'spawn echo spoken; expect eof'",
        "spoken",
    ),
    (
        "openssl",
        "openssl rand -hex 4 | wc -c; openssl dgst -sha256 note.txt",
        "256",
    ),
    (
        "gpg",
        "mkdir -m 700 g; gpg -q --homedir g --print-md SHA256 note.txt",
        "note.txt",
    ),
    ("jq", "echo '{\"a\": [1, 42]}' | jq '.a[1]'", "42"),
    ("xz", "xz -k note.txt && xz -dc note.txt.xz", "second line"),
    (
        "zip",
        "zip -q x.zip note.txt && unzip -p x.zip",
        "second line",
    ),
    (
        "bzip2",
        "bzip2 -k note.txt && bzip2 -dc note.txt.bz2",
        "second line",
    ),
    ("rsync", "rsync -a sub/ copy/ && ls copy/deep", "guarded"),
    (
        "cpio",
        "echo note.txt | cpio -o 2>/dev/null | cpio -t",
        "note.txt",
    ),
    ("less", "less note.txt | cat", "second line"),
    ("ip", "ip -br addr", "lo"),
    ("ss", "ss -tln", "State"),
    ("ping", "ping -V", "ping"),
    ("lsblk", "lsblk > /dev/null; echo listed", "listed"),
    ("top", "top -bn1 | head -1", "load average"),
    ("node", "node -e 'console.log(6 * 7)'", "42"),
    (
        "npm",
        "npm init -y > /dev/null && npm pkg get name && npm ls --offline",
        "workspace@1.0.0",
    ),
    (
        "dpkg",
        "dpkg -l dpkg | tail -1; dpkg -S /bin/sh > /dev/null && echo found",
        "found",
    ),
    ("apt-cache", "apt-cache policy dpkg", "Installed: 1"),
    ("apt", "apt list --installed | grep dpkg/", "installed"),
    ("systemctl", "systemctl --version", "systemd"),
    ("journalctl", "journalctl --version", "systemd"),
    (
        "vim",
        "vim -u NONE -es -c '%s/second/2nd/' -c 'w! edited' -c 'q!' note.txt; cat edited",
        "2nd line",
    ),
    (
        "patch",
        "sed s/second/2nd/ note.txt > n; diff -u note.txt n > p; cp note.txt o; patch -s o p && cat o",
        "2nd line",
    ),
    ("bc", "echo '6 * 7' | bc", "42"),
    ("flock", "flock lock echo locked", "locked"),
    ("taskset", "taskset -c 0 nproc; nice -n 5 echo nice", "nice"),
    ("curl", "curl -s file://{workspace}/note.txt", "second line"),
    ("wget", "wget --version | head -1", "GNU Wget"),
    ("file", "file /bin/sh; file note.txt", "ASCII text"),
    ("man", "man -w ls; echo looked", "looked"),
    ("crontab", "crontab -l; echo looked", "looked"),
    ("awk", "awk 'NR == 2 { print $1 }' note.txt", "second"),
    (
        "tar",
        "mkdir d && cp -p note.txt d && tar cJf a.txz d && rm -r d && tar xJf a.txz && cat d/note.txt",
        "second line",
    ),
];

/// Programs that fail in a mode: the program, the beginning of the mode's name, and what the program
/// then prints. Without Landlock's scopes a mode refuses Unix sockets, and Landlock alone has no
/// terminals and no cache of apt's.
pub const REFUSED: &[(&str, &str, &str)] = &[
    ("ssh-agent", "namespaces", "Permission denied"),
    ("ssh-agent", "Landlock", "Permission denied"),
    ("tmux", "namespaces", "Permission denied"),
    ("tmux", "Landlock", "Permission denied"),
    ("script", "Landlock", "Permission denied"),
    ("apt", "Landlock", "Permission denied"),
    ("apt-cache", "Landlock", "Permission denied"),
];

/// A small crate, built with the toolchain that builds these tests, as a folder that may be read.
pub const CARGO: &str =
    "cd note && PATH={toolchain}/bin:$PATH CARGO_HOME=$PWD/.cargo cargo run -q --offline";
/// Makes the crate.
pub const CRATE: &str = r#"mkdir -p note/src && printf '[package]\nname = "note"\nversion = "0.1.0"\nedition = "2021"\n' > note/Cargo.toml && echo 'fn main() { println!("built"); }' > note/src/main.rs"#;
