use super::*;
use proptest::prelude::*;

fn policy(command: &str, paths: Vec<String>, number: u64) -> Policy {
    let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    Policy {
        isolation: Isolation {
            namespaces: Namespaces::User,
            landlock: 7,
            system_calls: true,
        },
        network: false,
        whole: false,
        keep_input: true,
        errors_apart: true,
        terminal: number.is_multiple_of(3).then_some(pty::Size {
            columns: 80,
            rows: 24,
        }),
        task: ChildTask::Shell(command.into()),
        root: "/home/p/.peacrab/state/root".into(),
        group: "/sys/fs/cgroup/a/peacrab-1".into(),
        folder: "/w".into(),
        inode: number.is_multiple_of(2).then_some((number, 3)),
        write: paths.clone(),
        read: Vec::new(),
        protect: paths,
        hide: vec!["/h".into()],
        inodes: vec![(number, 5)],
        fixed: vec!["/f".into()],
        links: vec!["/l".into()],
        environment: vec![("PATH".into(), "/bin".into())],
        bounds: Bounds {
            cpu_seconds: number,
            files: 7,
            ..Bounds::default()
        },
        hooks: Hooks::default(),
    }
}

proptest! {
    #[test]
    fn what_is_sent_arrives(
        command in ".*",
        paths in proptest::collection::vec("[a-z/]*", 0..5),
        number: u64,
    ) {
        let sent = policy(&command, paths, number);
        let wire = sent.encode();
        let length = u32::from_le_bytes(wire[..4].try_into().unwrap()) as usize;
        prop_assert_eq!(length, wire.len() - 4);
        prop_assert_eq!(Policy::decode(&wire[4..]), Some(sent));
        prop_assert_eq!(Policy::decode(&wire[4..wire.len() - 1]), None);
    }

    #[test]
    fn anything_else_is_refused_without_harm(bytes: Vec<u8>) {
        let _ = Policy::decode(&bytes);
    }
}

#[test]
fn what_is_said_of_the_closest_folder_counts() {
    let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect();
    let policy = Policy {
        write: paths(&["/h/w", "/data"]),
        read: paths(&["/data/manuals"]),
        protect: paths(&["/h/w/.git", "/data"]),
        hide: paths(&["/h", "/h/w/keys"]),
        ..policy("true", Vec::new(), 1)
    };
    for (path, access) in [
        ("/h/w/x", Some(Access::Write)),
        ("/h/w/.git/config", Some(Access::Read)),
        ("/h/w/keys/k", Some(Access::Hidden)),
        ("/h/config.json", Some(Access::Hidden)),
        ("/data/x", Some(Access::Read)),
        ("/data/manuals/x", Some(Access::Read)),
        ("/hw", None),
    ] {
        assert_eq!(policy.access(Path::new(path)), access, "{path}");
    }
}

#[test]
fn another_version_is_refused() {
    let mut wire = policy("true", Vec::new(), 1).encode();
    wire[4] += 1;
    assert_eq!(Policy::decode(&wire[4..]), None);
}

#[test]
fn a_command_gets_a_clean_environment() {
    let ours = |name: &str| {
        let known = [
            ("PATH", "/a:.::b:/c"),
            ("SECRET", "s"),
            ("EDITOR", "vi"),
            ("TZ", "UTC"),
        ];
        let found = known.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let settings =
        Settings::new(Path::new("/w")).environment("/extra", &["EDITOR".to_owned()], ours);
    let mut shown: Vec<String> = settings
        .environment
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            "EDITOR=vi",
            "HOME=/w",
            "LANG=C.UTF-8",
            "PATH=/a:/c:/extra",
            "TERM=dumb",
            "TZ=UTC"
        ]
    );
}

#[test]
fn folders_within_the_workspace_are_not_looked_up_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/etc", workspace.join("link")).unwrap();
    let mut settings = Settings::new(&workspace);
    settings.write = vec![workspace.join("link")];
    settings.read = vec![workspace.join("link")];
    let resolved = settings.resolved().unwrap();
    assert_eq!(resolved.write, std::slice::from_ref(&workspace));
    assert!(resolved.read.is_empty());
    assert_eq!(resolved.protect, [workspace.join("link")]);
    assert!(Settings::new(Path::new("/nowhere")).resolved().is_err());
}

#[test]
fn who_may_write_to_the_root_folder_sees_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::new(folder.path());
    settings.write = vec!["/".into()];
    let resolved = settings.resolved().unwrap();
    assert!(resolved.whole);
    assert_eq!(resolved.write, [folder.path().canonicalize().unwrap()]);
}

#[test]
fn a_policy_with_too_many_paths_says_so_before_it_is_sent() {
    let hiding = |count: usize, length: usize| {
        let path = |number| PathBuf::from(format!("/{number:0length$}"));
        Policy {
            hide: (0..count).map(path).collect(),
            ..policy("true", Vec::new(), 1)
        }
    };
    let most = hiding(POLICY_ITEMS, 20);
    most.check_size().unwrap();
    assert!(Policy::decode(&most.encode()[4..]).is_some());
    for policy in [hiding(1025, 20), hiding(1000, 1000)] {
        let error = policy.check_size().unwrap_err().to_string();
        assert!(error.contains("mounts of the same folders"), "{error}");
    }
}
