//! Commands that try to get out, by class. A table, so it may be long. What must be seen afterwards
//! is the same for all: no secret in the output or in a folder that may be written, nothing changed
//! outside, no process killed or left over, nobody reached, no `GOT-OUT`. Where the sandbox is broken
//! they do no lasting harm to the machine: a bomb ends by itself, and what is sent to all is SIGCONT.

/// The class of the commands that multiply.
const MULTIPLY: &str = "multiply";

/// Whether a class is among what a mode promises. Landlock alone does not promise to stop root's commands
/// from multiplying, as SECURITY.md says: root's processes have no limit outside a namespace of users or
/// processes (setrlimit(2), RLIMIT_NPROC). They would fill the machine's table, and a supervisor that sees
/// it has no room to act in.
pub fn applies(class: &str, mode: &str) -> bool {
    let is_root = rustix::process::getuid().is_root();
    !(class == MULTIPLY && is_root && mode.starts_with("Landlock"))
}

/// The class, and the commands; `{secret}` and the like are filled in by the world.
pub const ATTACKS: &[(&str, &[&str])] = &[
    (
        "read a secret",
        &[
            "cat {secret}",
            "cat {home}/.ssh/id_ed25519",
            "cat {home}/.peacrab/config.json",
            "cat ../config.json",
            "cat ../../.ssh/*",
            "cd .. && cat config.json",
            "cd / && cat .{secret}",
            "X={secret}; cat \"$X\"",
            "cat $(echo {secret})",
            "cat {outside}/s?cret {outside}/[s]ecret",
            "ln -s {secret} link && cat link",
            "ln {secret} hard && cat hard",
            "ln -s {outside} dir && cat dir/secret",
            "ln -s / root && cat root{secret}",
            "cp {secret} copy; cat copy",
            "cp -r {outside} copied; cat copied/secret",
            "mv {outside}/secret .; cat secret",
            "tar cf a.tar {outside} 2>/dev/null; cat a.tar",
            "dd if={secret} 2>/dev/null",
            "head -c 100 < {secret}",
            "while read -r line; do echo \"$line\"; done < {secret}",
            ". {secret}",
            "sh {secret}",
            "grep -r canary {outside} {home}/.ssh",
            "find / -name secret -exec cat {} + 2>/dev/null",
            "awk '{print}' {secret}",
            "sed '' {secret}",
            "perl -pe '' {secret}",
            "python3 -c 'print(open(\"{secret}\").read())'",
            "diff {secret} /dev/null",
            "sort {secret}; od -c {secret} | tr -d ' \\n'",
            "xargs -a {secret} echo",
            "cat /proc/{daemon}/root{secret}",
            "cat /proc/1/root{secret}",
            "cat /proc/self/root{secret}",
            "cat /proc/{daemon}/cwd/../outside/secret",
            "cat /proc/{victim}/root{secret}",
            "tr '\\0' '\\n' < /proc/{daemon}/environ | grep -q . && echo GOT-OUT",
            "head -c 1 /proc/{daemon}/mem > /dev/null && echo GOT-OUT",
            "head -1 /proc/{daemon}/maps | grep . && echo GOT-OUT",
            "ls -l /proc/{daemon}/fd/ | grep -e '->' && echo GOT-OUT",
            "for fd in /proc/self/fd/*; do [ \"${fd##*/}\" -gt 2 ] && cat $fd 2>/dev/null; done",
            "cat /proc/$PPID/fd/* 2>/dev/null | grep canary",
            "cat /etc/shadow | grep -q : && echo GOT-OUT",
            "cat /etc/ssh/ssh_host_ed25519_key | grep -q KEY && echo GOT-OUT",
            "head -c 1 /dev/vda | grep -q . && echo GOT-OUT; head -c 1 /dev/sda > x && [ -s x ] && echo GOT-OUT",
            "cat ~/../config.json ~root/.bashrc",
            "env | grep -i -e secret -e token -e ^CARGO && echo GOT-OUT",
            "mkdir -p m && mount --bind {outside} m && cat m/secret",
            "chroot / cat {secret}",
            "nsenter -t 1 -m cat {secret}",
            "unshare -Urm cat {secret}",
        ],
    ),
    (
        "change outside",
        &[
            "echo x > {outside}/new",
            "echo x >> {secret}",
            ": > {secret}",
            "rm -rf {outside} {home}/.ssh",
            "rm -f ../config.json",
            "mv {outside}/victim gone",
            "truncate -s 0 {secret}",
            "perl -e 'truncate(\"{secret}\", 0)'",
            "perl -e 'use Fcntl; sysopen(F, \"{readonly}/manual\", O_RDONLY|O_TRUNC)'",
            "touch {outside}/victim/new",
            "mkdir {outside}/folder; ln -s x {outside}/link; mkfifo {outside}/fifo",
            "ln -s {outside} l; echo x > l/new",
            "ln -s {secret} l; echo x > l",
            "cp note.txt {secret}; cp note.txt {outside}/copy",
            "tar cf - note.txt | tar xf - -C {outside}",
            "tee {outside}/new < note.txt",
            "dd if=note.txt of={secret} 2>/dev/null",
            "sed -i s/canary/x/ {secret}",
            "echo x > {readonly}/manual; rm {readonly}/manual; touch {readonly}/new",
            "echo x > sub/deep/guarded; rm -f sub/deep/guarded",
            "mv sub/deep sub/other; echo x > sub/other/guarded; rm -rf sub/other",
            "mv sub moved; rm -rf moved",
            "echo x > /proc/{daemon}/cwd/x; echo x > /proc/{victim}/root{outside}/new",
            "touch /etc/peacrab-x && echo GOT-OUT; touch /usr/peacrab-x && echo GOT-OUT",
            ": >> /etc/passwd && echo GOT-OUT",
            "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern && echo GOT-OUT",
            "echo x > /sys/power/state && echo GOT-OUT",
            "touch /var/lib/dpkg/x && echo GOT-OUT; touch /boot/x && echo GOT-OUT",
            ": >> /etc/crontab && echo GOT-OUT",
            "cd {outside} && touch here",
        ],
    ),
    (
        "kill or trace others",
        &[
            "kill -9 {victim}",
            "kill -STOP {victim}",
            "kill -0 {daemon} && echo GOT-OUT",
            "kill -CONT -- -1 && echo GOT-OUT",
            "kill -0 $PPID 2>/dev/null && [ $PPID -gt 1 ] && echo GOT-OUT",
            "killall -CONT sleep && echo GOT-OUT; pkill -CONT -x sleep && echo GOT-OUT",
            "strace -p {victim} -o /dev/null & sleep 0.2; grep -q 'TracerPid:[^0-9]*[1-9]' /proc/{victim}/status && echo GOT-OUT",
            "perl -e 'exit(kill(9, {victim}) ? 0 : 1)' && echo GOT-OUT",
            "echo 1000 > /proc/{daemon}/oom_score_adj && echo GOT-OUT",
            "perl -e 'open(D, q(<), q(/proc/{victim})) or opendir(H, q(/proc/{victim})); syscall(424, fileno(H) // fileno(D), 9, 0, 0)'",
            "perl -e 'pipe(R, W); use Fcntl; fcntl(R, 10, 9); fcntl(R, 8, {victim}); fcntl(R, F_SETFL, O_ASYNC|O_NONBLOCK); syswrite(W, q(x)); sleep 1'",
            "kill -CONT -- -$(ps -o pgid= -p {victim} | tr -d ' ') && echo GOT-OUT",
            "prlimit --pid {victim} --nofile=3:3 && echo GOT-OUT; prlimit --pid {daemon} --cpu=1:1 && echo GOT-OUT",
            "taskset -p 1 {victim} && echo GOT-OUT; ionice -c 3 -p {victim} && echo GOT-OUT",
            "renice -n 19 -p {victim} && echo GOT-OUT",
        ],
    ),
    (
        "gain rights",
        &[
            "sudo -n true && echo GOT-OUT",
            "su -c 'echo GOT-OUT' </dev/null",
            "grep -q 'NoNewPrivs:.0' /proc/self/status && echo GOT-OUT",
            "grep 'CapEff' /proc/self/status | grep -q '[1-9a-f]$' && echo GOT-OUT",
            "unshare -U echo GOT-OUT",
            "unshare -Ur echo GOT-OUT",
            "unshare -m echo GOT-OUT",
            "unshare -n echo GOT-OUT",
            "setpriv --reuid=1234 --clear-groups echo GOT-OUT",
            "chroot / echo GOT-OUT",
            "mkdir -p m; mount -t tmpfs x m && echo GOT-OUT",
            "mount -o remount,rw / && echo GOT-OUT",
            "mknod disk b 254 0 && echo GOT-OUT",
            "cp /bin/sh s && chmod u+s s && chown 0:0 s && ./s -p -c 'grep -q \"CapEff:.*[1-9a-f]\" /proc/self/status && echo GOT-OUT'",
            "nice -n -5 true 2>&1 | grep -q . || echo GOT-OUT",
            "date -s \"$(date)\" && echo GOT-OUT",
            "hostname \"$(hostname)\" && echo GOT-OUT",
            "modprobe dummy && echo GOT-OUT; insmod x.ko && echo GOT-OUT",
            "dmesg -n 7 && echo GOT-OUT",
            "perl -e 'exit(syscall(321, 0, 0, 0) == -1 && $!{EPERM} ? 0 : 1)' || { [ \"$(uname -m)\" = x86_64 ] && echo GOT-OUT; }",
            "perl -e 'syscall(248, \"user\", \"x\", \"y\", 1, -3) > 0 and print \"GOT-OUT\"'",
            "perl -e 'ioctl(STDIN, 0x5412, \"x\") and print \"GOT-OUT\"; print \"GOT-OUT\" if $!{ENOTTY}'",
            "ulimit -n 100000 2>/dev/null && echo GOT-OUT",
            "ulimit -c unlimited 2>/dev/null && echo GOT-OUT",
        ],
    ),
    (
        MULTIPLY,
        &[
            "perl -e '$end = time + 8; while (time < $end) { fork; select(undef, undef, undef, 0.01) }'",
            "perl -MPOSIX -e '$end = time + 8; while (time < $end) { fork or setsid; select(undef, undef, undef, 0.005) }' & exit",
            "perl -e 'for (1..3000) { my $p = fork; if (defined $p && !$p) { sleep 100; exit } $n++ if defined $p } print \"GOT-OUT\" if $n > 2500'",
        ],
    ),
    (
        "exhaust",
        &[
            "head -c 400000000 /dev/zero | tail -c 400000000 > /dev/null && echo GOT-OUT",
            "head -c 30000000 /dev/zero > big; [ $(stat -c %s big) -gt 9000000 ] && echo GOT-OUT",
            "yes",
            "yes | head -c 3000000 >&2",
            "sleep 100000",
            "trap '' TERM INT HUP; while :; do :; done",
            "cat /dev/zero",
        ],
    ),
    (
        "keep running",
        &[
            "sleep 600 & sleep 0.05",
            "nohup sleep 600 > /dev/null 2>&1 & sleep 0.05",
            "setsid sleep 600 > /dev/null 2>&1 & sleep 0.05",
            "(setsid sh -c 'sleep 600 & sleep 600' > /dev/null 2>&1 &) & sleep 0.05",
            "setsid sh -c 'trap \"\" TERM HUP; (sleep 600 &) ; sleep 600' > /dev/null 2>&1 < /dev/null & exit 0",
            "sh -c 'sleep 600 & exec sleep 600' & kill -9 $$",
            "perl -e 'if (!fork) { setpgrp; if (!fork) { close STDOUT; close STDERR; sleep 600 } exit }'",
            "(while :; do (sleep 0.01; :) & done) > /dev/null 2>&1 & sleep 0.2",
        ],
    ),
    (
        "reach others on the machine",
        &[
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => \"{outside}/service.sock\") and print \"GOT-OUT\"'",
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, pack(\"Sa*\", 1, \"\\0{abstract}\")) and print \"GOT-OUT\"'",
            "perl -MSocket -e 'socket(S, 17, SOCK_RAW, 0) and print \"GOT-OUT\"; socket(S, 40, SOCK_STREAM, 0) and print \"GOT-OUT\"'",
            "perl -MSocket -e 'socket(S, 38, SOCK_SEQPACKET, 0) and print \"GOT-OUT\"'",
        ],
    ),
];

/// What Landlock alone does not cover: modes and times of the user's own files.
pub const ATTRIBUTE_ATTACKS: &[&str] = &[
    "chmod 777 {secret}",
    "chmod -R 000 {outside}; chmod 777 {home}/.ssh",
    "touch -d 2001-01-01 {secret}",
    "chmod 666 {readonly}/manual sub/deep/guarded",
    "stat -c %s {secret} && echo GOT-OUT",
];

/// What is tried when the network is off.
pub const NETWORK_ATTACKS: &[&str] = &[
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:{port}\") and print \"GOT-OUT\"'",
    "perl -MIO::Socket::IP -e 'IO::Socket::IP->new(PeerHost => \"::ffff:127.0.0.1\", PeerPort => {port}) and print \"GOT-OUT\"'",
    "bash -c 'echo x > /dev/tcp/127.0.0.1/{port} && echo GOT-OUT'",
    "curl -s -m 2 http://127.0.0.1:{port}/ ; wget -q -T 2 -t 1 -O - http://127.0.0.1:{port}/",
    "perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0); send(S, \"x\", 0, sockaddr_in(53, inet_aton(\"192.0.2.1\"))) and print \"GOT-OUT\"'",
    "bash -c 'exec 3<>/dev/udp/192.0.2.1/53 && echo x >&3 && echo GOT-OUT'",
];

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
];
