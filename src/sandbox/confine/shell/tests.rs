use super::*;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A shell without a sandbox, to see that each kind of `sh` understands us.
struct Plain {
    child: Child,
    control: UnixStream,
    report: Vec<u8>,
}

impl Plain {
    fn new(program: &str) -> Self {
        let (control, theirs) = UnixStream::pair().unwrap();
        let (input, _) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        control
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let line = format!(
            "exec {REPORT}<&0 {OUTPUT}>&1 {INPUT}<&2 >/dev/null 2>/dev/null; exec {program} -i"
        );
        let child = Command::new("sh")
            .args(["-c", &line])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(input)
            .spawn()
            .unwrap();
        (&control).write_all(SETUP.as_bytes()).unwrap();
        Self {
            child,
            control,
            report: Vec::new(),
        }
    }

    /// What a command writes, and its status; `None` when the shell has ended.
    fn run(&mut self, line: &str) -> (String, Option<i32>) {
        let key = new_key().unwrap();
        self.control
            .write_all(request(line, &key).as_bytes())
            .unwrap();
        let mut part = [0; 100];
        let status = loop {
            if let Some(status) = find_status(&self.report, &key) {
                break Some(status);
            }
            match self.control.read(&mut part) {
                Ok(length) if length > 0 => self.report.extend_from_slice(&part[..length]),
                _ => break None,
            }
        };
        let output = self.child.stdout.as_mut().unwrap();
        let mut text = vec![0; 10_000];
        let length = match status {
            Some(_) => rustix::io::ioctl_fionread(&*output).unwrap() as usize,
            None => text.len(),
        };
        let length = match length {
            0 => 0,
            length => output.read(&mut text[..length]).unwrap(),
        };
        (
            String::from_utf8_lossy(&text[..length]).into_owned(),
            status,
        )
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The shells that boards have as `sh`, as far as they are here.
fn shells() -> Vec<String> {
    let path = std::env::var("PATH").unwrap();
    let is_here = |name: &&str| {
        path.split(':')
            .any(|folder| Path::new(folder).join(name).exists())
    };
    let mut found = Vec::new();
    for name in ["dash", "bash", "busybox"]
        .iter()
        .filter(|name| is_here(name))
    {
        found.push(match *name {
            "bash" => "bash --posix".to_owned(),
            "busybox" => "busybox sh".to_owned(),
            name => name.to_owned(),
        });
    }
    assert!(!found.is_empty(), "there is no shell here");
    found
}

#[test]
fn each_kind_of_shell_remembers_and_says_how_a_command_ended() {
    for program in shells() {
        let mut shell = Plain::new(&program);
        let mut says = |line: &str, expected: &str, status: i32| {
            let (text, ended) = shell.run(line);
            assert_eq!(
                (text.as_str(), ended),
                (expected, Some(status)),
                "{program}: {line}"
            );
        };
        says(
            "cd /usr; A=1; export B='two words'; f() { echo f$A; }; alias ll='echo listed'; umask 027",
            "",
            0,
        );
        says(
            "pwd; f; sh -c 'echo $B'; ll x; umask",
            "/usr\nf1\ntwo words\nlisted x\n0027\n",
            0,
        );
        says(
            "printf '%s ' \"it's\" 'a \"b\"' '\\n'",
            "it's a \"b\" \\n ",
            0,
        );
        says("(exit 7)", "", 7);
        says("echo one\necho two", "one\ntwo\n", 0);
        says("cat <<END\nhere $A\nEND", "here 1\n", 0);
        says("alias command=false printf=false", "", 0);
        says("set -- a b; set -f", "", 0);
        says("echo $# *", "2 *\n", 0);
        says("exec >/dev/null; echo lost", "", 0);
        says("echo seen >&2", "seen\n", 0);
        says("IFS=x; set -u", "", 0);
        says("echo still $A", "still 1\n", 0);
        says("! :", "", 1);
    }
}

#[test]
fn no_mistake_in_a_line_hangs_or_ends_a_shell() {
    for program in shells() {
        let mut shell = Plain::new(&program);
        for line in [
            "(",
            "echo 'unterminated",
            "echo \"unterminated",
            "if true",
            "cat <<END",
            "cat <<'END'\nnever ended",
            ". /nonexistent",
            "echo ${NOT_SET?is missing}",
            "shift 99",
            "readonly R=1; R=2",
            "break; continue",
            "\\",
            "}",
            "# nothing",
            "&& true",
            "set -u; echo $NOT_SET; set +u",
            "printf() { :; }; eval() { :; }",
            "trap 'echo trapped' INT; kill -INT $$",
        ] {
            let (text, status) = shell.run(line);
            assert!(status.is_some(), "{program}: {line}: {text}");
        }
        assert_eq!(shell.run("echo here").0, "here\n", "{program}");
        // bash says there that it ends.
        let (text, status) = shell.run("echo bye; exit 3");
        assert!(
            text.starts_with("bye\n") && status.is_none(),
            "{program}: {text}"
        );
        assert_eq!(shell.child.wait().unwrap().code(), Some(3), "{program}");
    }
}

/// What a command can reach of the shell's own descriptors: nothing.
#[test]
fn a_command_has_none_of_the_shells_descriptors() {
    for program in shells() {
        let mut shell = Plain::new(&program);
        let (text, _) = shell.run("for fd in 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$fd ] && readlink /proc/self/fd/$fd; done");
        assert!(!text.contains("socket"), "{program}: {text}");
        let (text, _) = shell.run("ls -l /proc/self/fd | grep -c socket");
        // BusyBox' ls complains about the descriptor with which it has read the folder.
        assert_eq!(text.lines().last(), Some("0"), "{program}: {text}");
        let forged =
            "printf '00000000000000000000000000000000 0\\n' > /proc/$$/fd/9 && echo WRITTEN";
        assert!(!shell.run(forged).0.contains("WRITTEN"), "{program}");
    }
}

#[test]
fn only_the_report_with_the_key_counts() {
    assert_eq!(find_status(b"other 0\nkey 3\n", "key"), Some(3));
    assert_eq!(find_status(b"other 0\nkey 3", "key"), None);
    assert_eq!(find_status(b" 0\n", ""), None);
    assert_eq!(find_status(b"key x\nkey\n", "key"), None);
    assert_eq!(find_status(b"a key 0\n", "key"), None);
}

#[test]
fn a_prompt_shows_home_as_a_tilde() {
    let home = Path::new("/home/p/.peacrab/workspace");
    for (folder, shown) in [
        ("/home/p/.peacrab/workspace", "~"),
        ("/home/p/.peacrab/workspace/a b", "~/a b"),
        ("/home/p/.peacrab/workspaces", "/home/p/.peacrab/workspaces"),
        ("/etc", "/etc"),
    ] {
        assert_eq!(short_folder(Path::new(folder), home), shown);
    }
}
