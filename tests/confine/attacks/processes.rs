//! Other processes, more rights, more resources, and others on the machine.

use super::{Class, MULTIPLY};

/// The class, and the commands; `{victim}` and the like are filled in by the world.
pub const ATTACKS: &[Class] = &[
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

/// What is tried when the network is off.
pub const NETWORK_ATTACKS: &[&str] = &[
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:{port}\") and print \"GOT-OUT\"'",
    "perl -MIO::Socket::IP -e 'IO::Socket::IP->new(PeerHost => \"::ffff:127.0.0.1\", PeerPort => {port}) and print \"GOT-OUT\"'",
    "bash -c 'echo x > /dev/tcp/127.0.0.1/{port} && echo GOT-OUT'",
    "curl -s -m 2 http://127.0.0.1:{port}/ ; wget -q -T 2 -t 1 -O - http://127.0.0.1:{port}/",
    "perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0); send(S, \"x\", 0, sockaddr_in(53, inet_aton(\"192.0.2.1\"))) and print \"GOT-OUT\"'",
    "bash -c 'exec 3<>/dev/udp/192.0.2.1/53 && echo x >&3 && echo GOT-OUT'",
];
