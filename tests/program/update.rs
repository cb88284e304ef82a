//! `peacrab update`: a release takes the program's place, or nothing changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::disk::{IN_OWN_MOUNTS, has_mounts_of_its_own};
use crate::harness::home::Home;
use crate::harness::program::{Output, PEACRAB, Program};
use crate::harness::release::{KEY_VARIABLE, Release, architecture, name};
use crate::harness::{executable, feature, wait_until};

const OWN: &str = env!("CARGO_PKG_VERSION");

/// A program that only prints its version.
const NEW: &str = "#!/bin/sh\necho peacrab 9.9.9\n";

/// A copy of the program, installed in a folder of its own.
pub struct Installed {
    folder: tempfile::TempDir,
}

impl Installed {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        executable::copy(PEACRAB, &folder.path().join("peacrab"));
        Self { folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("peacrab")
    }

    /// What is in its folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The version that it says it has.
    pub fn version(&self) -> String {
        let output = Command::new(self.path()).arg("--version").output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// `peacrab update` with the key of a release.
    pub fn update(&self, home: &Home, release: &Release, arguments: &[&str]) -> Program {
        let program = Program::of(self.path().to_str().unwrap(), home);
        program
            .arg("update")
            .args(arguments)
            .env(KEY_VARIABLE, &release.public_key())
    }

    /// The same, with the folder of the release.
    fn update_from(&self, home: &Home, release: &Release) -> Output {
        let folder = release.folder().to_str().unwrap();
        self.update(home, release, &["--from", folder]).run()
    }

    fn assert_untouched(&self) {
        assert_eq!(self.names(), ["peacrab"]);
        assert_eq!(self.version(), format!("peacrab {OWN}"));
    }
}

#[test]
fn a_release_is_installed_and_the_one_before_comes_back() {
    let (home, installed) = (Home::new(), Installed::new());
    let release = Release::of_program("9.9.9");
    let folder = release.folder().to_str().unwrap();
    let check = installed.update(&home, &release, &["--check", "--from", folder]);
    let stdout = check.run().ends_with(0).stdout;
    let told = format!("9.9.9 is available (you have {OWN}). Install it with: ");
    assert!(
        stdout.starts_with(&told) && stdout.contains(" update --from "),
        "{stdout}"
    );
    installed.assert_untouched();

    let stdout = installed.update_from(&home, &release).ends_with(0).stdout;
    assert!(
        stdout.contains("installed  9.9.9") && stdout.contains("not running"),
        "{stdout}"
    );
    assert_eq!(installed.version(), "peacrab 9.9.9");
    assert_eq!(installed.names(), ["peacrab", "peacrab.old"]);
    let again = installed.update_from(&home, &release).ends_with(0);
    assert_eq!(again.stdout, "9.9.9 is the newest version.\n");

    for version in [OWN, "9.9.9", OWN] {
        installed
            .update(&home, &release, &["--rollback"])
            .run()
            .ends_with(0);
        assert_eq!(installed.version(), format!("peacrab {version}"));
        assert_eq!(installed.names(), ["peacrab", "peacrab.old"]);
    }
}

#[test]
fn a_release_comes_from_a_server_or_as_one_file() {
    let (mut home, installed) = (Home::new(), Installed::new());
    let release = Release::of_script("9.9.9", NEW);
    let url = release.serve();
    installed
        .update(&home, &release, &["--check"])
        .run()
        .ends_with(2)
        .complains_of(&["--from", "peacrab config set update.url URL"]);
    home.set("/update", serde_json::json!({"url": url}));
    installed.update(&home, &release, &[]).run().ends_with(0);
    assert_eq!(installed.version(), "peacrab 9.9.9");

    for from in [
        url.replace("/peacrab", "/moved"),
        format!("{url}/{}", name("9.9.9", architecture())),
        release
            .path(&name("9.9.9", architecture()))
            .display()
            .to_string(),
    ] {
        let installed = Installed::new();
        installed
            .update(&home, &release, &["--from", &from])
            .run()
            .ends_with(0);
        assert_eq!(installed.version(), "peacrab 9.9.9");
    }
}

/// A way to break a release, and what is said then.
type Broken = (&'static str, fn(&Release), &'static str);

/// A folder that was changed after it was signed.
const TAMPERED: [Broken; 7] = [
    (
        "signature",
        |release| {
            let path = release.path("SHA256SUMS.sig");
            let mut signature = fs::read(&path).unwrap();
            signature[20] ^= 1;
            fs::write(path, signature).unwrap();
        },
        "The signature of SHA256SUMS is wrong",
    ),
    (
        "list",
        |release| {
            let list = fs::read_to_string(release.path("SHA256SUMS")).unwrap();
            fs::write(release.path("SHA256SUMS"), list + "\n").unwrap();
        },
        "The signature of SHA256SUMS is wrong",
    ),
    (
        "no signature",
        |release| fs::remove_file(release.path("SHA256SUMS.sig")).unwrap(),
        "SHA256SUMS.sig",
    ),
    (
        "changed program",
        |release| release.add("9.9.9", architecture(), b"#!/bin/sh\necho peacrab 9.9.8\n"),
        "does not have the checksum",
    ),
    (
        "short program",
        |release| release.add("9.9.9", architecture(), &NEW.as_bytes()[..20]),
        "does not have the checksum",
    ),
    (
        "missing program",
        |release| fs::remove_file(release.path(&name("9.9.9", architecture()))).unwrap(),
        "cannot read",
    ),
    (
        "link",
        |release| {
            let path = release.path(&name("9.9.9", architecture()));
            fs::rename(&path, release.path("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere", path).unwrap();
        },
        "cannot read",
    ),
];

/// A release that its owner has signed, and that is not for this board.
const UNFIT: [Broken; 5] = [
    (
        "other architectures",
        |release| {
            fs::remove_file(release.path(&name("9.9.9", architecture()))).unwrap();
            release.add(
                "9.9.9",
                if architecture() == "arm64" {
                    "x86_64"
                } else {
                    "arm64"
                },
                NEW.as_bytes(),
            );
            release.sign();
        },
        "The release has no program for",
    ),
    (
        "not a list",
        |release| release.write_list("hello\n"),
        "Line 1 of SHA256SUMS",
    ),
    (
        "another version",
        |release| {
            release.add("9.9.9", architecture(), b"#!/bin/sh\necho peacrab 9.9.8\n");
            release.sign();
        },
        "9.9.9 does not run on this machine",
    ),
    (
        "not a program",
        |release| {
            release.add("9.9.9", architecture(), b"\x7fELF of another machine");
            release.sign();
        },
        "9.9.9 does not run on this machine",
    ),
    (
        "older",
        |release| {
            fs::remove_file(release.path(&name("9.9.9", architecture()))).unwrap();
            release.add("0.0.9", architecture(), b"#!/bin/sh\necho peacrab 0.0.9\n");
            release.sign();
        },
        "0.0.9 is not newer than",
    ),
];

#[test]
fn what_is_wrong_with_a_release_changes_nothing() {
    let (home, installed) = (Home::new(), Installed::new());
    for (what, break_it, told) in TAMPERED.into_iter().chain(UNFIT) {
        let release = Release::of_script("9.9.9", NEW);
        break_it(&release);
        let output = installed.update_from(&home, &release);
        assert_ne!(output.code, Some(0), "{what}: {output:#?}");
        output.complains_of(&[told]);
        installed.assert_untouched();
    }
    let release = Release::of_script("9.9.9", NEW);
    let folder = release.folder().to_str().unwrap();
    let without_key = installed
        .update(&home, &release, &["--from", folder])
        .env(KEY_VARIABLE, "");
    without_key.run().ends_with(1).complains_of(&["public key"]);
    let other = if architecture() == "arm64" {
        "x86_64"
    } else {
        "arm64"
    };
    release.add("9.9.9", other, NEW.as_bytes());
    release.sign();
    let file = release.path(&name("9.9.9", other)).display().to_string();
    let output = installed.update(&home, &release, &["--from", &file]).run();
    output
        .ends_with(1)
        .complains_of(&[&format!("is for {other}")]);
    installed.assert_untouched();
}

#[test]
fn an_older_version_is_installed_only_when_that_is_said() {
    let (home, installed) = (Home::new(), Installed::new());
    let release = Release::of_script("0.0.9", "#!/bin/sh\necho peacrab 0.0.9\n");
    let folder = release.folder().to_str().unwrap();
    installed
        .update_from(&home, &release)
        .ends_with(2)
        .complains_of(&["--allow-older"]);
    installed.assert_untouched();
    let older = installed.update(&home, &release, &["--allow-older", "--from", folder]);
    older.run().ends_with(0);
    assert_eq!(installed.version(), "peacrab 0.0.9");
}

/// An update that was asked for before another one has put a newer version in place does not go back.
#[test]
fn of_two_updates_at_once_the_newer_stays() {
    let (home, installed) = (Home::new(), Installed::new());
    let slow = Release::of_script("9.9.8", "#!/bin/sh\necho peacrab 9.9.8\n");
    let held = slow.path("SHA256SUMS.sig.held");
    fs::write(&held, "").unwrap();
    let url = slow.serve();
    thread::scope(|scope| {
        let update = installed.update(&home, &slow, &["--from", &url]);
        let first = scope.spawn(move || update.run());
        wait_until("the first update", || {
            slow.path("SHA256SUMS.sig.asked").exists()
        });
        let fast = Release::of_script("9.9.9", NEW);
        installed.update_from(&home, &fast).ends_with(0);
        fs::remove_file(held).unwrap();
        let first = first.join().unwrap().ends_with(1);
        first.complains_of(&["9.9.8 is not newer than 9.9.9"]);
    });
    assert_eq!(installed.version(), "peacrab 9.9.9");
}

#[test]
fn a_server_that_breaks_off_or_has_nothing_changes_nothing() {
    let (home, installed) = (Home::new(), Installed::new());
    let release = Release::of_script("9.9.9", NEW);
    let url = release.serve();
    let update = || installed.update(&home, &release, &["--from", &url]).run();
    let torn = release.path(&format!("{}.torn", name("9.9.9", architecture())));
    fs::write(&torn, "").unwrap();
    update().ends_with(1).complains_of(&["127.0.0.1"]);
    installed.assert_untouched();
    fs::remove_file(torn).unwrap();
    fs::remove_file(release.path("SHA256SUMS")).unwrap();
    update()
        .ends_with(1)
        .complains_of(&["127.0.0.1", "answered 404"]);
    installed.assert_untouched();
    installed
        .update(&home, &release, &["--from", "http://127.0.0.1:1"])
        .run()
        .ends_with(1)
        .complains_of(&["cannot connect to 127.0.0.1:1"]);
    fs::write(release.path("SHA256SUMS.silent"), "").unwrap();
    update().ends_with(1).complains_of(&["did not answer"]);
    installed.assert_untouched();
}

#[test]
fn a_power_cut_at_any_step_leaves_a_program_that_starts() {
    let home = Home::new();
    let release = Release::of_script("9.9.9", NEW);
    let folder = release.folder().to_str().unwrap();
    for (step, version) in [("fetched", OWN), ("kept", OWN), ("swapped", "9.9.9")] {
        let installed = Installed::new();
        let update = installed.update(&home, &release, &["--from", folder]);
        let output = update.env("PEACRAB_TEST_CUT_AT", step).run();
        assert_eq!(output.code, None, "{step}: {output:#?}");
        assert_eq!(installed.version(), format!("peacrab {version}"), "{step}");
        if version == OWN {
            installed.update_from(&home, &release).ends_with(0);
        }
        assert_eq!(installed.version(), "peacrab 9.9.9", "{step}");
        let mut names = installed.names();
        // The empty file of the lock stays after a cut, until the next update removes it.
        names.retain(|name| name != ".peacrab.lock");
        assert_eq!(names, ["peacrab", "peacrab.old"], "{step}");
    }
}

#[test]
fn the_program_of_a_package_is_not_replaced() {
    let (home, installed) = (Home::new(), Installed::new());
    let release = Release::of_script("9.9.9", NEW);
    let tools = tempfile::tempdir().unwrap();
    let query = tools.path().join("dpkg-query");
    executable::script(&query, "echo \"peacrab: $2\"\n");
    let path = format!("{}:/usr/bin:/bin", tools.path().display());
    let folder = release.folder().to_str().unwrap();
    let update = installed
        .update(&home, &release, &["--from", folder])
        .env("PATH", &path);
    update
        .run()
        .ends_with(2)
        .complains_of(&["belongs to the package peacrab", ".deb"]);
    installed.assert_untouched();
}

#[test]
fn whoever_may_not_replace_the_program_learns_how() {
    let found = Command::new("setpriv").arg("--version").output().map(drop);
    if !feature::has("setpriv", found) {
        return;
    }
    let (home, installed) = (Home::new(), Installed::new());
    let release = Release::of_script("9.9.9", NEW);
    for entry in fs::read_dir(release.folder()).unwrap() {
        let path = entry.unwrap().path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let program =
        Program::of("setpriv", &home).args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let program = program
        .arg(installed.path())
        .args(["update", "--from"])
        .arg(release.folder());
    let output = program
        .env("PEACRAB_HOME", "/nonexistent")
        .env(KEY_VARIABLE, &release.public_key())
        .run();
    output
        .ends_with(1)
        .complains_of(&["needs root. Run: sudo peacrab update"]);
    installed.assert_untouched();
}

#[test]
fn a_full_or_read_only_disk_keeps_the_program() {
    if !has_mounts_of_its_own() {
        return;
    }
    let (home, installed) = (Home::new(), Installed::new());
    let release = Release::of_script("9.9.9", &format!("{NEW}{}", "#".repeat(200_000)));
    let script = r#"
        mkdir "$HOME/small"
        mount -t tmpfs -o size=64m none "$HOME/small"
        # A hole in the program would need room at its first page fault.
        cp --sparse=never "$P" "$HOME/small/peacrab"
        cat /dev/zero >"$HOME/small/fill" 2>/dev/null || true
        "$HOME/small/peacrab" update --from "$RELEASE" && echo installed
        rm "$HOME/small/fill"
        mount -o remount,ro "$HOME/small"
        "$HOME/small/peacrab" update --from "$RELEASE" && echo installed
        "$HOME/small/peacrab" --version
        ls -A "$HOME/small"
    "#;
    let unshare = Program::of("unshare", &home)
        .args(IN_OWN_MOUNTS)
        .args(["sh", "-c", script]);
    let output = unshare
        .env("P", installed.path().to_str().unwrap())
        .env("RELEASE", release.folder().to_str().unwrap())
        .env(KEY_VARIABLE, &release.public_key())
        .run()
        .ends_with(0);
    output.complains_of(&["no space left on device", "read-only"]);
    assert_eq!(output.stdout, format!("peacrab {OWN}\npeacrab\n"));
}

/// What another account does to a folder.
type Change = fn(&Path);

/// Where a gateway puts a release for root, with a request.
fn stage(home: &Home, release: &Release) -> PathBuf {
    let folder = home.path().join("update");
    fs::create_dir(&folder).unwrap();
    for entry in fs::read_dir(release.folder()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    fs::write(folder.join("request"), "9.9.9\n").unwrap();
    folder
}

#[test]
fn root_believes_nothing_but_the_signature_and_follows_no_link() {
    let installed = Installed::new();
    let staged =
        |home: &Home, release: &Release| installed.update(home, release, &["--staged"]).run();
    let older = Release::of_script("0.0.9", "#!/bin/sh\necho peacrab 0.0.9\n");
    let cases: [(Change, &str); 4] = [
        (
            |folder| {
                let path = folder.join(name("9.9.9", architecture()));
                fs::write(path, "#!/bin/sh\necho peacrab 9.9.9; touch /tmp/owned\n").unwrap();
            },
            "does not have the checksum",
        ),
        (
            |folder| fs::write(folder.join("SHA256SUMS.sig"), [0; 64]).unwrap(),
            "signature",
        ),
        (
            |folder| {
                let path = folder.join("SHA256SUMS");
                fs::rename(&path, folder.join("moved")).unwrap();
                std::os::unix::fs::symlink("moved", path).unwrap();
            },
            "cannot read",
        ),
        (
            |folder| {
                let moved = folder.with_file_name("moved");
                fs::rename(folder, &moved).unwrap();
                std::os::unix::fs::symlink(moved, folder).unwrap();
            },
            "cannot open",
        ),
    ];
    for (change, told) in cases {
        let home = Home::new();
        let release = Release::of_script("9.9.9", NEW);
        let folder = stage(&home, &release);
        change(&folder);
        staged(&home, &release).ends_with(1).complains_of(&[told]);
        installed.assert_untouched();
    }
    // A release that was genuine, and has been replaced by a newer one since.
    let home = Home::new();
    let folder = stage(&home, &older);
    staged(&home, &older)
        .ends_with(1)
        .complains_of(&["0.0.9 is not newer than"]);
    assert!(
        !folder.join("request").exists(),
        "it would be tried again and again"
    );
    installed.assert_untouched();

    let (home, release) = (Home::new(), Release::of_script("9.9.9", NEW));
    stage(&home, &release);
    staged(&home, &release).ends_with(0);
    assert_eq!(installed.version(), "peacrab 9.9.9");
}
