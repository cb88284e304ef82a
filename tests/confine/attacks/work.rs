//! Plain work, which has to go through.

/// Plain work, and what its output has to contain.
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
        "sh -c 'sleep 30 & sleep 30' & p=$!; sleep 0.05; pkill -P $p; wait $p; echo ended",
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
