//! `/get`, `/put` and `/ls`: files between a chat and the workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::scene::Scene;
use crate::harness::gate::Gate;
use crate::harness::model::say;
use crate::harness::telegram::{File, Media, Message, Upload};
use crate::harness::wait_until;

/// The file of the message with this name.
fn sent(scene: &Scene, name: &str) -> File {
    let is_meant = |message: &Message| message.file.as_ref().is_some_and(|file| file.name == name);
    let message = scene.telegram.wait_for_message(scene.ana.chat(), is_meant);
    message.file.unwrap()
}

fn write(scene: &Scene, name: &str, content: &[u8]) {
    let path = scene.home.workspace(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The SHA-256 of a file, as the system has it.
fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

#[test]
fn files_are_sent_by_name_and_by_pattern_and_a_folder_is_listed() {
    let scene = Scene::playing([]);
    write(&scene, "notes.txt", b"hello");
    write(&scene, "logs/a.log", b"a");
    write(&scene, "logs/b.log", b"b");
    write(&scene, "logs/c.txt", b"c");
    let gateway = scene.start();
    scene.ana.says("/get notes.txt");
    assert_eq!(&*sent(&scene, "notes.txt").bytes, b"hello");
    let told = scene.wait_for("notes.txt (5 B)");
    assert!(told.file.is_some(), "the file comes with its line");
    scene.ana.says("/get ~/logs/a.log");
    assert_eq!(&*sent(&scene, "a.log").bytes, b"a");
    scene.ana.says("/get logs/*.log");
    assert_eq!(&*sent(&scene, "b.log").bytes, b"b");
    scene.ana.says("/ls ~/logs");
    let listed = scene.wait_for("c.txt").text;
    assert!(
        listed.contains("a.log") && listed.contains("1 B"),
        "{listed}"
    );
    scene.ana.says("/ls");
    let listed = scene.wait_for("logs/").text;
    let (folder, file) = (listed.find("logs/"), listed.find("notes.txt"));
    assert!(folder < file, "{listed}");
    for (wrong, why) in [
        ("/get", "/get notes.txt"),
        ("/get nothing.txt", "nothing.txt"),
        ("/get *.pdf", "No file matches *.pdf"),
        (
            "/get /etc/passwd",
            "/etc/passwd is outside the workspace. /get! /etc/passwd sends it after asking you.",
        ),
        (
            "/get ../config.json",
            "/config.json sends it after asking you.",
        ),
        ("/get ..", ".. is not a regular file"),
        ("/ls /etc", "outside the workspace"),
    ] {
        scene.ana.says(wrong);
        scene.wait_for(why);
    }
    gateway.stop().ends_with(0);
    let names = scene.telegram.messages(scene.ana.chat()).into_iter();
    let files = names.filter_map(|message| message.file);
    let names: Vec<String> = files.map(|file| file.name).collect();
    assert_eq!(names, ["notes.txt", "a.log", "a.log", "b.log"]);
}

#[test]
fn a_folder_is_sent_as_an_archive_that_tar_unpacks_and_no_link_leads_out() {
    let scene = Scene::playing([]);
    let long = format!("docs/{}/{}.txt", "d".repeat(90), "ü".repeat(60));
    write(&scene, &long, b"deep");
    write(&scene, "docs/a.txt", b"first");
    write(&scene, "docs/big", &vec![7; 300_000]);
    symlink("/etc/passwd", scene.home.workspace("docs/link")).unwrap();
    let gateway = scene.start();
    scene.ana.says("/get docs");
    let archive = sent(&scene, "docs.tar.gz");
    let told = scene.wait_for("Files in it: 3").text;
    assert!(told.contains("cannot be read: 1"), "{told}");
    gateway.stop().ends_with(0);
    let place = tempfile::tempdir().unwrap();
    let packed = place.path().join("docs.tar.gz");
    fs::write(&packed, &archive.bytes).unwrap();
    assert!(told.contains(&sha256(&packed)), "{told}");
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(&packed).arg("-C").arg(place.path());
    assert!(tar.status().unwrap().success());
    let unpacked = |name: &str| fs::read(place.path().join(name)).unwrap();
    assert_eq!(unpacked(&long), b"deep");
    assert_eq!(unpacked("docs/a.txt"), b"first");
    assert_eq!(unpacked("docs/big"), vec![7; 300_000]);
    assert!(!place.path().join("docs/link").exists());
    let left = fs::read_dir(scene.home.workspace(".outgoing")).unwrap();
    assert_eq!(left.count(), 0, "what was made is removed");
}

#[test]
fn what_is_too_large_for_one_message_comes_in_parts_that_can_be_joined() {
    let scene = Scene::playing([]);
    let content: Vec<u8> = (0..51 * 1024 * 1024_u32)
        .map(|at| (at / 4096) as u8)
        .collect();
    write(&scene, "big.bin", &content);
    let gateway = scene.start();
    scene.ana.says("/get big.bin");
    let (first, second) = (sent(&scene, "big.bin.001"), sent(&scene, "big.bin.002"));
    let told = scene.wait_for("It comes in 2 parts.").text;
    gateway.stop().ends_with(0);
    assert!(told.contains("cat big.bin.0* > big.bin"), "{told}");
    assert!(
        told.contains(&sha256(&scene.home.workspace("big.bin"))),
        "{told}"
    );
    assert!([first.bytes, second.bytes].concat() == content);
}

#[test]
fn what_can_never_be_sent_is_not_packed_and_what_a_kill_left_is_removed() {
    let scene = Scene::playing([]);
    write(&scene, ".outgoing/01234567~old.tar.gz", b"half");
    let huge = fs::File::create(scene.home.workspace("Huge.img")).unwrap();
    huge.set_len(9_000_000_000).unwrap();
    let gateway = scene.start();
    scene.ana.says("/get Huge.img");
    let told = scene.wait_for("Huge.img has 9.0 GB, and at most").text;
    assert!(!told.contains("huge"), "{told}");
    let left: Vec<_> = fs::read_dir(scene.home.workspace(".outgoing"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    gateway.stop().ends_with(0);
}

#[test]
fn a_file_with_the_caption_put_is_stored_and_replaces_nothing_unasked() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let puts = |content: &str, caption: &str| {
        let upload = Upload::new(Media::Document, "site.conf", content);
        scene.ana.sends(upload.caption(caption));
    };
    puts("one", "/put etc/site.conf");
    let told = scene.wait_for("Stored etc/site.conf (3 B), sha256 ").text;
    let stored = scene.home.workspace("etc/site.conf");
    assert!(told.contains(&sha256(&stored)), "{told}");
    puts("two", "/put etc/site.conf");
    scene.wait_for("etc/site.conf exists already.");
    assert_eq!(fs::read(&stored).unwrap(), b"one");
    puts("three", "/put! etc/site.conf");
    scene.wait_for("Stored etc/site.conf (5 B)");
    assert_eq!(fs::read(&stored).unwrap(), b"three");
    fs::create_dir(scene.home.workspace("folder")).unwrap();
    puts("four", "/put folder");
    scene.wait_for("Stored folder/site.conf");
    puts("five", "/put");
    scene.wait_for("Stored site.conf (4 B)");
    puts("five", "/put ../outside");
    scene.wait_for("outside the workspace");
    scene.ana.says("/put nowhere");
    scene.wait_for("Send a file with the caption");
    gateway.stop().ends_with(0);
    assert!(!scene.home.path().join("outside").exists());
    assert!(scene.model.requests().is_empty());
}

#[test]
fn a_file_that_is_put_waits_for_a_command_outside_the_sandbox() {
    let mut scene = Scene::playing([]).set("allowFrom", json!(["1001", "2002"]));
    let bob = scene.telegram.person(2002, "Bob", None);
    let (begun, go) = (scene.home.workspace("begun"), scene.home.workspace("go"));
    let wait = format!(
        "touch '{}'; while [ ! -e '{}' ]; do sleep 0.05; done; cat '{}' 2>&1; echo the end",
        begun.display(),
        go.display(),
        scene.home.workspace("site.conf").display()
    );
    let deploy = json!({"deploy": {"run": wait, "where": "host"}});
    scene.home.set("/commands", deploy);
    let gateway = scene.start();
    scene.ana.says("/deploy");
    wait_until("the command", || begun.exists());
    let upload = Upload::new(Media::Document, "site.conf", "evil");
    scene.ana.sends(upload.caption("/put site.conf"));
    // What Bob writes comes behind it.
    bob.says("/id");
    scene.wait_in(bob.chat(), "2002");
    let stored = scene.home.workspace("site.conf");
    assert!(!stored.exists());
    fs::write(&go, "").unwrap();
    let told = scene.wait_for("the end").text;
    assert!(
        told.contains("No such file") && !told.contains("evil"),
        "{told}"
    );
    scene.wait_for("Stored site.conf (4 B)");
    assert_eq!(fs::read(&stored).unwrap(), b"evil");
    gateway.stop().ends_with(0);
}

#[test]
fn a_file_is_stored_while_a_turn_runs() {
    let gate = Gate::default();
    let scene = Scene::playing([say("I am done.").after(&gate)]);
    let gateway = scene.start();
    scene.ana.says("work");
    scene.model.wait_for_requests(1);
    let upload = Upload::new(Media::Document, "site.conf", "one");
    scene.ana.sends(upload.caption("/put site.conf"));
    scene.wait_for("Stored site.conf (3 B)");
    assert_eq!(fs::read(scene.home.workspace("site.conf")).unwrap(), b"one");
    assert!(!scene.texts().iter().any(|text| text.contains("I am done.")));
    gate.open();
    scene.wait_for("I am done.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn only_owners_send_and_store_files() {
    let scene = Scene::playing([]).set("roles", serde_json::json!({"2002": "user"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    write(&scene, "notes.txt", b"hello");
    let gateway = scene.start();
    bob.says("/get notes.txt");
    scene.wait_in(bob.chat(), "/get needs the role owner");
    let upload = Upload::new(Media::Document, "a", "x");
    bob.sends(upload.caption("/put notes.txt"));
    scene.wait_in(bob.chat(), "/put needs the role owner");
    bob.says("/ls");
    scene.wait_in(bob.chat(), "/ls needs the role owner");
    gateway.stop().ends_with(0);
    assert_eq!(
        fs::read(scene.home.workspace("notes.txt")).unwrap(),
        b"hello"
    );
}
