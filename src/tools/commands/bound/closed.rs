//! What is not simple binds everything that the model can write, and is never allowed always.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, Mode};

use super::simple;
use super::tests::Bench;

/// Lines that a shell or a program reads in another way than they look, or that run and load what no word names.
const LINES: &[&str] = &[
    "cat status.txt",
    "cat sub/../status.txt",
    "cp notes out.conf",
    "cp notes d",
    "cp notes d/authorized_keys",
    "uptime > up.txt",
    "uptime >> up.txt",
    "cat dangling",
    "cat l/os-release",
    "cp notes sub",
    "cd app && terraform apply",
    "sh dep\rloy",
    "sh \"dep\\loy\"",
    "sh dep\\`loy",
    "cd l/../lib && sh y.sh",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=./a=b y.sh",
    "wget -q --execute=use_askpass=./a=b -O /dev/null http://127.0.0.1:9/",
    "curl -sSfLgkvKcfg",
    "curl -K cfg",
    "curl file:///etc/hostname",
    "ssh -NnTxaCkvFcfg host",
    "dpkg -i -R debs",
    "dpkg --force-not-root --admindir=adm --configure -a",
    "find /etc -maxdepth 0 -exec terraform apply ';'",
    "ssh -oProxyCommand='terraform apply >&2' host1",
    "ip netns exec x terraform apply",
    "ip link set eth0 xdp obj x",
    "bash -c 'printf -v PATH %s sub:/bin; ls sub'",
    "printf -v PATH sub",
    "zcat x.gz",
    "sort --files0-from=list",
    "wc --files0-from=list",
    "grep -R . sub",
    "grep -r x sub",
    "grep -f list notes",
    "diff -rN sub sub2",
    "find -L sub -name a",
    "apt-get -b source hello",
    "apt-get -c apt.conf update",
    "apt install ./x.deb",
    "crontab file",
    "ls sub | crontab",
    "ls sub | sudo -n crontab -u root",
    "gawk -i lib 'BEGIN{}'",
    "gawk -l lib 'BEGIN{}'",
    "gawk -f prog notes",
    "sh y.sh &> out.txt",
    "sh ./x.sh",
    "python3 x.py",
    "./x.sh",
    "echo a \\\n#'\nterraform apply\n#'",
    "cat <<E\n\tE\necho '\nE\nterraform apply\n#'",
    "cat <<A <<B\nA\n$(x)\nB",
    "LD_PRELOAD=./x id",
    "X=1 df -h",
    "echo $HOME",
    "ls *",
    "ls ?",
    "ls ~",
    "echo a#b #c",
    "df -h &",
    "df -h\nfree",
    "df -h\u{a0}/",
    "echo {a,b}",
    "if true; then df; fi",
    "f() { df; }; f",
    "! df",
    "time df",
    "env df",
    "xargs df",
    "sudo -u root df",
    "sudo -nE df",
    "cat -- notes",
    "cat \"a\"b",
    "cat 'a'\\''b'",
    "docker compose up",
    "docker run -v .:/x y",
    "git status",
    "make",
    "systemctl link ./x.service",
    "systemctl enable units/x.service",
    "nmcli con up x passwd-file f",
    "mount -a",
    "rm -r sub",
    "cp -r sub /mnt",
    "mv sub other",
    "chmod -R 700 sub",
    "cat new.txt",
    "uptime > new.txt",
    "date -f notes",
    "curl -H @notes https://example.org",
];

fn bench() -> Bench {
    let bench = Bench::new();
    for (name, target) in [
        ("status.txt", "/etc/hostname"),
        ("out.conf", "/etc/hostname"),
        ("up.txt", "/etc/hostname"),
        ("dangling", "/nonexistent/x"),
        ("d", "/usr"),
        ("l", "/usr/share"),
        ("app", "/usr"),
        ("sub/notes", "/etc/hostname"),
    ] {
        symlink(target, bench.workspace.join(name)).unwrap();
    }
    for name in ["notes", "list", "cfg", "dep", "y.sh", "file", "x.deb"] {
        bench.put(name, "text\n");
    }
    bench
}

#[test]
fn what_is_not_simple_binds_everything_and_is_not_allowed_always() {
    let bench = bench();
    for line in LINES {
        bench.put("unnamed", "one");
        let before = bench.find(line).unwrap();
        let elsewhere = bench.find_in(Path::new("/"), line).unwrap();
        bench.put("unnamed", "two");
        assert!(before.loads_unbound, "{line:?}");
        let after = bench.find(line).unwrap();
        assert_ne!(after.marks, before.marks, "{line:?}");
        if elsewhere.loads_unbound {
            let after = bench.find_in(Path::new("/"), line).unwrap();
            assert_ne!(after.marks, elsewhere.marks, "{line:?}");
        }
    }
}

#[test]
fn a_link_of_the_model_is_shown_with_where_it_leads() {
    let bench = bench();
    for (line, shown) in [
        ("cat status.txt", "status.txt → /etc/hostname"),
        ("uptime > up.txt", "up.txt → /etc/hostname"),
        ("cp notes d/authorized_keys", "d → /usr"),
        ("cat dangling", "dangling → /nonexistent/x"),
        ("cd app && terraform apply", "app → /usr"),
        ("ls d", "d → /usr"),
    ] {
        let uses = bench.find(line).unwrap();
        assert!(
            uses.influences.contains(&shown.to_owned()),
            "{line}: {:?}",
            uses.influences
        );
        assert!(uses.loads_unbound, "{line}");
    }
}

/// A file that a command reads may name a link that its line does not.
#[test]
fn a_link_that_the_line_does_not_name_is_bound_to_what_it_leads_to() {
    let bench = Bench::new();
    let link = |target: &Path, name: &str| {
        let path = bench.workspace.join(name);
        let _ = std::fs::remove_file(&path);
        symlink(target, &path).unwrap();
    };
    let own = bench.workspace.with_file_name("own");
    let this = std::process::id();
    for (target, why) in [
        (own.join("audit.jsonl"), "changes without being asked"),
        (own.clone(), "changes without being asked"),
        (format!("/proc/{this}/cmdline").into(), "a process can"),
        (
            format!("/proc/{this}/root/tmp/c.mk").into(),
            "a process can",
        ),
        (format!("/proc/{this}/cwd").into(), "a process can"),
        ("/proc/4194305/root/none/x".into(), "a process can"),
        ("/dev/stdin".into(), "a process can"),
        (
            bench.workspace.join("sub/../../own/later.jsonl"),
            "changes without being asked",
        ),
    ] {
        link(&target, "lib.sh");
        let error = bench.find("make").unwrap_err().to_string();
        let is_named = error.contains("lib.sh is a link to");
        assert!(is_named && error.contains(why), "{target:?}: {error}");
        bench.find("df -h").unwrap();
    }
    let outside = bench.workspace.with_file_name("outside.sh");
    link(&outside, "lib.sh");
    let before = bench.find("make").unwrap();
    let shown = format!("lib.sh → {}", outside.display());
    assert_eq!(before.influences.first(), Some(&shown));
    bench.put("../outside.sh", "echo another\n");
    let after = bench.find("make").unwrap();
    assert_ne!(after.marks, before.marks);
    for target in ["circle", "x.sh", "/usr/bin/env", "/usr/none"] {
        link(Path::new(target), "circle");
        let uses = bench.find("make").unwrap();
        assert_eq!(uses.influences, after.influences, "{target}");
    }
}

#[test]
fn a_line_that_reads_what_others_have_written_is_not_allowed_always() {
    let bench = Bench::new();
    let own = bench.workspace.with_file_name("own");
    std::fs::create_dir(&own).unwrap();
    bench.put("../own/audit.jsonl", "{}\n");
    let line = |path: &Path| format!("cat {}", path.display());
    let uses = bench.find(&line(&own.join("audit.jsonl"))).unwrap();
    assert!(uses.reads_changing && !uses.loads_unbound);
    assert!(bench.find("cat /proc/uptime").unwrap().reads_changing);
    assert!(!bench.find("cat /etc/hostname").unwrap().reads_changing);
}

/// A store into a mapped file changes no time, so no time counts, and one that says nothing changes nothing.
#[test]
fn a_mark_is_of_content_and_not_of_times() {
    let bench = Bench::new();
    symlink("x.sh", bench.workspace.join("sub/link")).unwrap();
    let marks = |line: &str| bench.find(line).unwrap().marks;
    for line in ["make", "cat x.sh"] {
        let before = marks(line);
        let file = File::options()
            .write(true)
            .open(bench.workspace.join("x.sh"));
        file.unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(marks(line), before, "{line}");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bench.workspace.join("x.sh"), mode).unwrap();
        assert_ne!(marks(line), before, "{line}");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(bench.workspace.join("x.sh"), mode).unwrap();
    }
    let before = marks("make");
    std::fs::remove_file(bench.workspace.join("sub/link")).unwrap();
    symlink("y.sh", bench.workspace.join("sub/link")).unwrap();
    assert_ne!(marks("make"), before);
    rustix::fs::mknodat(
        CWD,
        bench.workspace.join("sub/pipe"),
        rustix::fs::FileType::Fifo,
        Mode::RWXU,
        0,
    )
    .unwrap();
    let error = bench.find("make").unwrap_err().to_string();
    assert!(error.contains("sub/pipe is a pipe"), "{error}");
}

#[test]
fn everyday_lines_are_simple() {
    let bench = Bench::new();
    const LINES: &str = r#"
ls -la /etc ¦ systemctl restart nginx ¦ journalctl -u ssh -n 20 ¦ df -h ¦ cat /var/log/syslog ¦ sudo -n apt-get update ¦ free -m
grep 'a.b' /etc/hosts ¦ ip addr ¦ ip route show ¦ ufw allow 22/tcp ¦ date +%d/%m/%Y ¦ date "+%F %T" ¦ ps aux ¦ echo "all fine" done
timedatectl set-timezone Europe/Zurich ¦ tail -n 5 /var/log/syslog | grep 'a' ¦ sudo -n systemctl status ssh ¦ ping -c 1 localhost
ls -l /var/log/ | grep ssh ¦ ls | grep sh ¦ service ssh restart ¦ mount ¦ docker ps ¦ echo done > /dev/null 2>&1
df -h; free -m ¦ cat x.sh ¦ cat 'my file' ¦ wc -l x.sh sub/y.sh ¦ cat {w}/x.sh > /dev/null ¦ ls sub ¦ du -sh sub ¦ stat x.sh
sudo apt-get install -y nginx ¦ systemctl enable --now nginx ¦ curl -fsS https://example.org/x ¦ cp x.sh /etc/x ¦ cp x.sh sub/y.sh
journalctl --since "1 hour ago" --no-pager ¦ chmod 600 x.sh ¦ docker logs --tail 20 web ¦ crontab -l ¦ reboot ¦ sudo -n reboot"#;
    let lines = LINES.lines().flat_map(|line| line.split(" ¦ "));
    for line in lines.filter(|line| !line.is_empty()) {
        let uses = bench.find(line).unwrap();
        assert!(!uses.loads_unbound, "{line}");
        assert_eq!(uses.influences, [""; 0], "{line}");
        let named = ["x.sh", "my file"].iter().any(|name| line.contains(name));
        let is_read = named && !line.starts_with("ls");
        assert_eq!(!uses.marks.is_empty(), is_read, "{line}");
    }
}

/// What a stub program of the fake PATH appends to a file of its own: its name and its arguments.
const STUB: &str =
    "#!/bin/sh\n{ printf '%s\\0' \"${0##*/}\" \"$@\"; printf '\\n\\n'; } > \"$OUT/$$\"\n";

/// The commands that a shell runs for a line, sorted.
fn run_by(shell: &[&str], line: &str, bin: &Path) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let (out, work) = (folder.path().join("out"), folder.path().join("work"));
    std::fs::create_dir(&out).unwrap();
    std::fs::create_dir(&work).unwrap();
    let mut command = std::process::Command::new(shell[0]);
    command.args(&shell[1..]).args(["-c", line]);
    command.current_dir(&work).env_clear();
    command.env("PATH", bin).env("OUT", &out).env("HOME", &work);
    command.stdin(std::process::Stdio::null());
    command.output().unwrap();
    let entries = std::fs::read_dir(&out).unwrap().flatten();
    let mut found: Vec<Vec<String>> = entries
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let words = text.trim_end_matches("\n\n").split_terminator('\0');
            words.map(str::to_owned).collect()
        })
        .collect();
    found.sort();
    found
}

/// A folder with stub programs.
fn stubs() -> tempfile::TempDir {
    let bin = tempfile::tempdir().unwrap();
    for name in ["p", "q", "r"] {
        let path = bin.path().join(name);
        std::fs::write(&path, STUB).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    bin
}

/// Whether shells split a line into the words that we see, where we see any.
fn is_read_alike(line: &str, bin: &Path) -> bool {
    let Some(mut expected) = simple::words(line) else {
        return true;
    };
    expected.sort();
    let shells: [&[&str]; 3] = [&["/bin/dash"], &["/bin/bash"], &["/bin/busybox", "sh"]];
    let mut shells = shells.iter().filter(|shell| Path::new(shell[0]).exists());
    shells.all(|shell| run_by(shell, line, bin) == expected)
}

#[test]
fn shells_read_a_simple_line_as_we_do() {
    let bin = stubs();
    for line in [
        "p a b && q 'c d' ; r \"e  f\"",
        "p  a=b x:~y | q 2>&1 | r >/dev/null",
        "p > file a >> other 'b'; q 2>/dev/null",
        "p '*' \"{a,b}\" '#x' %1 @y +z ,, '' -- -",
    ] {
        assert!(
            simple::words(line).is_some() || line.contains('~'),
            "{line}"
        );
        assert!(is_read_alike(line, bin.path()), "{line}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_simple_is_these_words_to_every_shell(
        pieces in proptest::collection::vec(
            "p|q|r|p |q |r | |  |;|; |\\||&&|&|\\|\\| |>|>>|> f|2>&1|2>/dev/null|<|<<|'|\"|' '|\" \"|'a b'|\"c d\"|a|-x|a=b|~|~/|\\$|\\$x|`|\\\\|\\*|\\?|\\[|\\{|\\}|#|!|\\(|\\)|\t|\r|\n|\u{a0}|é|%|@|,|\\^|\\.|\\.\\./|1|2|if|then",
            0..9,
        ),
        has_start: bool,
    ) {
        use std::sync::OnceLock;
        static BIN: OnceLock<tempfile::TempDir> = OnceLock::new();
        let start = if has_start { "p " } else { "" };
        let line = format!("{start}{}", pieces.concat());
        let is_plain_list = !line.contains("||");
        let programs = simple::words(&line).unwrap_or_default();
        let are_stubs = programs.iter().all(|words| ["p", "q", "r"].contains(&words[0].as_str()));
        if is_plain_list && are_stubs {
            proptest::prop_assert!(is_read_alike(&line, BIN.get_or_init(stubs).path()), "{:?}", line);
        }
    }
}
