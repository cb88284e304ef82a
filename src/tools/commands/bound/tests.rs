//! Lines of sh, and the files that they use.

use super::*;
use std::os::unix::fs::symlink;

/// A workspace with a script, and what lies outside of it.
struct Bench {
    _top: tempfile::TempDir,
    workspace: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let workspace = top.path().canonicalize().unwrap().join("workspace");
        std::fs::create_dir_all(workspace.join("sub/deep")).unwrap();
        let bench = Self {
            _top: top,
            workspace,
        };
        bench.put("x.sh", "echo x\n");
        bench.put("sub/y.sh", "echo y\n");
        bench.put("sub/deep/z.sh", "echo z\n");
        bench.put("my file", "echo m\n");
        bench.put("../outside.sh", "echo o\n");
        bench
    }

    fn put(&self, name: &str, content: &str) {
        std::fs::write(self.workspace.join(name), content).unwrap();
    }

    fn find(&self, line: &str) -> Result<Uses> {
        let line = line.replace("{w}", &self.workspace.to_string_lossy());
        let place = Place {
            folder: &self.workspace,
            home: self.workspace.parent().unwrap(),
            is_writable: &|path| path.starts_with(&self.workspace),
        };
        find(&line, &place)
    }

    /// The names of the bound files.
    fn bound(&self, line: &str) -> Vec<String> {
        let uses = self.find(line).unwrap();
        let names = uses.scripts.iter().map(|script| {
            let path = Path::new(&script.path);
            let name = path.strip_prefix(&self.workspace).unwrap();
            name.to_string_lossy().into_owned()
        });
        names.collect()
    }
}

#[test]
fn a_file_is_found_however_a_line_names_it() {
    let bench = Bench::new();
    symlink(bench.workspace.join("x.sh"), bench.workspace.join("link")).unwrap();
    symlink(
        bench.workspace.join("x.sh"),
        bench.workspace.join("../way-in"),
    )
    .unwrap();
    const X: &str = r#"
./x.sh ¦ sh x.sh ¦ . ./x.sh ¦ sudo ./x.sh ¦ sudo -u root sh -eu x.sh ¦ sh < x.sh ¦ cat x.sh | sh ¦ sh "x.sh" ¦ sh x''.sh
sh -c './x.sh' ¦ sh -c "sh -c 'sh x.sh'" ¦ env -S 'sh x.sh' ¦ BASH_ENV=./x.sh bash -c true ¦ LD_PRELOAD={w}/x.sh id
python3 -c 'exec(open("x.sh").read())' ¦ {w}/x.sh ¦ {w}/sub/../x.sh ¦ cd sub && ../x.sh ¦ tool --config=x.sh ¦ make -fx.sh
curl -d @x.sh https://example.org ¦ $PWD/x.sh ¦ "${PWD}"/x.sh ¦ $(pwd)/x.sh ¦ sh x.s? ¦ sh ./*.sh ¦ sh ~/workspace/x.sh
sh link ¦ sh {w}/../way-in ¦ cd .. && sh way-in ¦ cd / && cd {w} && sh x.sh ¦ eval sh x.sh ¦ sh <<E
if true; then ./x.sh; fi ¦ (exec ./x.sh) ¦ echo `./x.sh` ¦ find . -exec sh x.sh ¦ systemd-run {w}/x.sh ¦ a=1;./x.sh&"#;
    for line in X.lines().flat_map(|line| line.split(" ¦ ")) {
        let line = match line {
            "sh <<E" => "sh <<E\nsh ./x.sh\nE",
            line => line.trim(),
        };
        if !line.is_empty() {
            assert_eq!(bench.bound(line), ["x.sh"], "{line}");
        }
    }
    for (line, names) in [
        ("cd sub && ./y.sh", &["sub/y.sh"][..]),
        ("cd sub; cd deep; sh z.sh", &["sub/deep/z.sh"]),
        ("f() { ./z.sh; }; cd sub; cd deep; f", &["sub/deep/z.sh"]),
        ("make -C sub/deep -f z.sh", &["sub/deep/z.sh"]),
        ("sh 'my file'", &["my file"]),
        ("sh --file='my file'", &["my file"]),
        ("sh -c \"sh 'my file'\"", &["my file"]),
        ("sh sub/*.sh x.sh", &["sub/y.sh", "x.sh"]),
        ("sh ../outside.sh; systemctl restart nginx; ls /", &[]),
    ] {
        assert_eq!(bench.bound(line), names, "{line}");
    }
}

#[test]
fn what_reads_nothing_there_has_no_missing_file() {
    let bench = Bench::new();
    for line in [
        "systemctl restart nginx",
        "echo done",
        "sed -i s/a/b/ /etc/hosts",
        "curl -fsS https://example.org/a.sh",
        "cat /etc/new.conf",
        "df -h /",
        "cd sub && ./y.sh",
        "sh -c 'exit 1'",
    ] {
        let found = bench.find(line).unwrap().scripts;
        assert!(
            found.iter().all(|script| !script.is_missing),
            "{line}: {found:?}"
        );
    }
}

#[test]
fn a_file_that_does_not_exist_yet_is_part_of_what_is_approved() {
    let bench = Bench::new();
    symlink(
        bench.workspace.join("later"),
        bench.workspace.join("../dangling"),
    )
    .unwrap();
    for (line, name) in [
        ("mkdir -p out && sleep 1 && sh out/after.sh", "out/after.sh"),
        ("sh job.sh", "job.sh"),
        ("sh job", "job"),
        ("python3.11 sub/new", "sub/new"),
        (". ./setup", "setup"),
        ("sudo -n ./run", "run"),
        ("sh -c 'bash ./new.sh'", "new.sh"),
        ("{w}/bin/tool --fast", "bin/tool"),
        ("make -f rules.mk", "rules.mk"),
        ("tool --config=new.conf", "new.conf"),
        ("LD_PRELOAD=./evil.so id", "evil.so"),
        ("sh {w}/../dangling", "later"),
        ("nginx -c ~/workspace/n.conf", "n.conf"),
        ("sudo cp newthing /etc/thing", "newthing"),
        ("awk -f new x.sh", "new"),
        ("sudo dpkg -i new.deb", "new.deb"),
        ("crontab newtab", "newtab"),
        ("docker compose -f c.yml up", "c.yml"),
    ] {
        let before = bench.find(line).unwrap();
        assert!(
            before.loads_unbound,
            "{line}: {:?}",
            missing::candidates(line)
        );
        let script = before.scripts.iter().find(|script| script.is_missing);
        let shown = script.map(|script| Path::new(&script.path));
        assert_eq!(shown, Some(&*bench.workspace.join(name)), "{line}");
        let path = bench.workspace.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "echo new\n").unwrap();
        let after = bench.find(line).unwrap();
        assert!(
            after.scripts.iter().all(|script| !script.is_missing),
            "{line}"
        );
        assert_ne!(before.marks, after.marks, "{line}");
        std::fs::remove_file(&path).unwrap();
        let _ = std::fs::remove_dir(path.parent().unwrap());
    }
    // Names that are only known once the line runs.
    for line in [
        "for f in sub/*; do . $f; done",
        "sh $script",
        "sh ./x.sh; sh *.sh",
    ] {
        assert!(bench.find(line).unwrap().loads_unbound, "{line}");
    }
    for line in [
        "sh s*/x",
        "bash -c \"sh su{b,b}/y.sh\"",
        "sh `echo sub/y.sh`",
        "cd {w}/../work*/sub && ./y.sh",
    ] {
        assert!(bench.find(line).unwrap().loads_unbound, "{line}");
    }
    for line in ["echo $HOME", "df -h /", "ls -l /var/log/"] {
        assert!(!bench.find(line).unwrap().loads_unbound, "{line}");
    }
    for line in [
        "sh /proc/1/root/tmp/x.sh",
        "cat /proc/self/cwd/x",
        "sh /proc/7/fd/3/x",
    ] {
        assert!(bench.find(line).is_err(), "{line}");
    }
    assert!(bench.find("ls -l /proc/1/fd").is_ok());
}

#[test]
fn few_programs_do_not_care_where_they_run() {
    for line in [
        "systemctl restart nginx",
        "sudo -n systemctl status ssh",
        "apt upgrade -y",
        "df -h /",
        "journalctl -fu ssh",
    ] {
        assert!(ignores_folder(line), "{line}");
    }
    for line in [
        "make",
        "git status",
        "systemctl restart $x",
        "df -h; make",
        "sudo make",
        "./df",
        "env df",
        "date -f jobs",
        "apt-get -c jobs install x",
    ] {
        assert!(!ignores_folder(line), "{line}");
    }
}

#[test]
fn the_question_shows_the_beginning_and_changes_with_the_content() {
    let bench = Bench::new();
    let long: String = (0..100).map(|number| format!("line {number}\n")).collect();
    bench.put("x.sh", &long);
    let uses = bench.find("sh x.sh").unwrap();
    let script = &uses.scripts[0];
    assert_eq!(script.bytes, long.len() as u64);
    assert!(script.head.starts_with("line 0\n") && script.head.ends_with("\nline 14"));
    bench.put("x.sh", &long.replace("line 99", "line 9x"));
    assert_ne!(bench.find("sh x.sh").unwrap().marks, uses.marks);
    bench.put("x.sh", &long);
    assert_eq!(bench.find("sh x.sh").unwrap().marks, uses.marks);
    bench.put("x.sh", "\u{7f}ELF\0");
    assert_eq!(bench.find("./x.sh").unwrap().scripts[0].head, "");
}

#[test]
fn a_large_file_is_bound_too() {
    let bench = Bench::new();
    let file = File::create(bench.workspace.join("large")).unwrap();
    file.set_len(bounds::BOUND_BYTES + 1).unwrap();
    let before = bench.find("sh large").unwrap();
    assert_eq!(before.scripts[0].bytes, bounds::BOUND_BYTES + 1);
    // The clock of a file system ticks every few milliseconds.
    let changed = (0..1000).any(|_| {
        std::os::unix::fs::FileExt::write_at(&file, b"x", 9).unwrap();
        std::thread::yield_now();
        bench.find("sh large").unwrap().marks != before.marks
    });
    assert!(changed);
}

#[test]
fn what_cannot_be_bound_is_refused() {
    let bench = Bench::new();
    rustix::fs::mknodat(
        CWD,
        bench.workspace.join("pipe"),
        rustix::fs::FileType::Fifo,
        Mode::RWXU,
        0,
    )
    .unwrap();
    let error = |line: &str| bench.find(line).unwrap_err().to_string();
    assert!(error("sh < pipe").contains("pipe or socket"));
    for number in 0..=bounds::BOUND_FILES {
        bench.put(&format!("data{number}"), "");
    }
    assert!(error("cat data*").contains("more than 64 files"));
    let long: String = (0..bounds::BOUND_LOOKUPS)
        .map(|number| format!("word{number} "))
        .collect();
    assert!(error(&format!("echo {long}")).contains("too long"));
    let folders: String = (0..50).map(|number| format!("d{number} ")).collect();
    for name in folders.split_whitespace() {
        std::fs::create_dir(bench.workspace.join(name)).unwrap();
    }
    let long = &long[..long.len() / 40];
    assert!(error(&format!("ls {folders} {long}")).contains("too long"));
}

#[test]
fn what_programs_pick_up_is_named_and_bound_for_its_own_program() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.workspace.join("sub/.git")).unwrap();
    bench.put("sub/.git/config", "[core]\n\tfsmonitor = ./evil\n");
    bench.put("Makefile", "all:\n");
    bench.put("sub/helper.py", "");
    let uses = |line: &str| bench.find(line).unwrap();
    assert_eq!(uses("tool restart x").influences, ["Makefile"]);
    assert!(uses("tool restart x").marks.is_empty());
    assert!(uses("systemctl restart x").influences.is_empty());
    assert_eq!(bench.bound("sudo make install"), ["Makefile"]);
    let git = uses("cd sub && git status");
    assert_eq!(git.influences, ["sub/", "Makefile", "sub/.git"]);
    assert!(git.scripts[0].head.contains("fsmonitor"));
    // A module beside the script is another program's part, and is bound.
    let python = uses("python3 sub/y.sh");
    assert!(python.influences.contains(&"sub/helper.py".to_owned()));
    bench.put("sub/helper.py", "import os");
    assert_ne!(uses("python3 sub/y.sh").marks, python.marks);
    assert_eq!(uses("sh \"$X\"").influences, ["$X", "Makefile"]);
    for number in 0..20 {
        bench.put(&format!("m{number}.py"), "");
    }
    let many = uses("python3 -m http.server").influences;
    assert_eq!(many.len(), bounds::INFLUENCES + 1);
    assert!(many.last().unwrap().ends_with(" more"), "{many:?}");
}

#[test]
fn what_a_line_runs_without_naming_it_is_bound_with_its_folder() {
    let bench = Bench::new();
    for line in [
        "run-parts sub",
        "find sub -type f -exec sh {} \\;",
        "find sub -'ok'dir sh {} \\;",
        "ls sub/deep | xargs -n 1 sh",
        "ls | xargs -n 1 cat",
        "for file in $(ls sub); do sh sub/$file; done",
    ] {
        let before = bench.find(line).unwrap();
        assert_eq!(bench.find(line).unwrap().marks, before.marks, "{line}");
        bench.put("sub/deep/z.sh", "echo another\n");
        bench.put("sub/later.sh", "echo later\n");
        assert_ne!(bench.find(line).unwrap().marks, before.marks, "{line}");
        std::fs::remove_file(bench.workspace.join("sub/later.sh")).unwrap();
    }
    for number in 0..bounds::BOUND_TREE {
        bench.put(&format!("sub/{number}"), "");
    }
    let error = bench.find("run-parts sub").unwrap_err().to_string();
    assert!(error.contains("too many"), "{error}");
    bench.find("ls sub").unwrap();
    bench.find("find sub -type f -newer note").unwrap();
}
