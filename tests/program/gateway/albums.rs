//! Several pictures or files of one message: an album, which is delivered like all else.

use std::fs;

use serde_json::json;

use super::scene::Scene;
use crate::harness::model::{Gate, Step, call, say};
use crate::harness::telegram::{Call, Fault, Media, Message};

/// The beginning of a PNG.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnothing more";
const FILES: [&str; 5] = ["a.png", "b.png", "c.mp4", "d.txt", "e.txt"];

/// A model that sends files, and then says so.
fn sending(files: &[&str], words: &str) -> [Step; 2] {
    let arguments = json!({"content": words, "media": files});
    [call("message", arguments), say("Sent.")]
}

fn scene_with(script: impl IntoIterator<Item = Step>) -> Scene {
    let scene = Scene::playing(script);
    for name in FILES {
        let bytes = if name.ends_with("png") {
            PNG
        } else {
            b"content"
        };
        fs::write(scene.home.workspace(name), bytes).unwrap();
    }
    fs::write(scene.home.workspace("broken.png"), "no picture").unwrap();
    scene
}

/// The messages with files: the name, and which album it is in, counted from 0.
fn shown(scene: &Scene) -> Vec<(String, Option<usize>)> {
    let messages = scene.telegram.messages(scene.ana.chat());
    let mut albums: Vec<&str> = Vec::new();
    let mut shown = Vec::new();
    for message in messages.iter().filter(|message| message.file.is_some()) {
        let album = message.album.as_deref().map(|album| {
            let known = albums.iter().position(|known| *known == album);
            known.unwrap_or_else(|| {
                albums.push(album);
                albums.len() - 1
            })
        });
        shown.push((message.file.clone().unwrap().name, album));
    }
    shown
}

fn in_albums(albums: [usize; 5]) -> Vec<(String, Option<usize>)> {
    let name = |name: &str| name.to_owned();
    FILES.map(name).into_iter().zip(albums.map(Some)).collect()
}

fn is_of_documents(call: &Call) -> bool {
    call.method == "sendMediaGroup" && call.parameters["media"][0]["type"] == "document"
}

#[test]
fn pictures_are_one_album_with_their_words_and_other_files_another() {
    let scene = scene_with(sending(&FILES, "Here, **all** of them."));
    let gateway = scene.start();
    scene.ana.says("send me everything");
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    assert_eq!(shown(&scene), in_albums([0, 0, 0, 1, 1]));
    assert_eq!(
        scene.texts(),
        ["Here, all of them.", "", "", "", "", "Sent."]
    );
    let messages = scene.telegram.messages(scene.ana.chat());
    let kinds = messages
        .iter()
        .filter_map(|it| Some(it.file.as_ref()?.media));
    let kinds: Vec<Media> = kinds.collect();
    let (photo, document) = (Media::Photo, Media::Document);
    assert_eq!(kinds, [photo, photo, Media::Video, document, document]);
}

#[test]
fn words_that_are_no_caption_come_before_the_album() {
    let long = "word ".repeat(300);
    let ask = json!({"content": "Which?", "media": ["a.png", "b.png"], "buttons": [["A", "B"]]});
    let [first, last] = sending(&["a.png", "b.png"], &long);
    let scene = scene_with([first, call("message", ask), last]);
    let gateway = scene.start();
    scene.ana.says("send me the pictures");
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    assert_eq!(
        scene.texts(),
        [long.trim(), "", "", "Which?", "", "", "Sent."]
    );
    let asks = |message: &Message| message.button("B").is_some();
    scene.telegram.wait_for_message(scene.ana.chat(), asks);
    assert_eq!(scene.telegram.calls("sendMediaGroup").len(), 2);
}

#[test]
fn after_a_kill_between_two_albums_each_file_is_there_once() {
    let scene = scene_with(sending(&FILES, "Here."));
    scene.telegram.fail_when(1, Fault::Hang, is_of_documents);
    let gateway = scene.start();
    scene.ana.says("send me everything");
    scene.telegram.wait_for_calls("sendMediaGroup", 2);
    gateway.kill();
    let gateway = scene.start();
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    assert_eq!(shown(&scene), in_albums([0, 0, 0, 1, 1]));
}

#[test]
fn a_rate_limit_or_a_failure_in_the_middle_repeats_nothing_that_was_sent() {
    for fault in [
        Fault::TooManyRequests { retry_after: 1 },
        Fault::ServerError,
    ] {
        let scene = scene_with(sending(&FILES, "Here."));
        scene.telegram.fail_when(1, fault, is_of_documents);
        let gateway = scene.start();
        scene.ana.says("send me everything");
        scene.wait_for("Sent.");
        gateway.stop().ends_with(0);
        assert_eq!(shown(&scene), in_albums([0, 0, 0, 1, 1]));
        assert_eq!(scene.telegram.calls("sendMediaGroup").len(), 3);
    }
}

#[test]
fn an_album_that_telegram_refuses_goes_file_by_file() {
    let scene = scene_with(sending(&["a.png", "broken.png", "b.png"], "Here."));
    scene.telegram.forgives("IMAGE_PROCESS_FAILED");
    let gateway = scene.start();
    scene.ana.says("send me the pictures");
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    let singly = |name: &str| (name.to_owned(), None);
    assert_eq!(shown(&scene), ["a.png", "broken.png", "b.png"].map(singly));
    assert_eq!(scene.texts(), ["Here.", "", "", "", "Sent."]);
    assert_eq!(scene.telegram.calls("sendMediaGroup").len(), 1);

    let scene = scene_with(sending(&["a.png", "broken.png", "d.txt"], "Here."));
    scene.telegram.forgives("IMAGE_PROCESS_FAILED");
    let gateway = scene.start();
    scene.ana.says("send me those");
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    assert_eq!(shown(&scene), ["a.png", "broken.png", "d.txt"].map(singly));
    assert_eq!(scene.telegram.calls("sendMediaGroup").len(), 1);

    let scene = scene_with(sending(&["d.txt", "e.txt"], "Here."));
    scene.telegram.fail_next("sendMediaGroup", Fault::NoMethod);
    let gateway = scene.start();
    scene.ana.says("send me the texts");
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    assert_eq!(shown(&scene), ["d.txt", "e.txt"].map(singly));
}

#[test]
fn an_album_on_a_slow_line_keeps_nobody_else_waiting() {
    let [album, sent] = sending(&["a.png", "b.png"], "Here.");
    let people = json!(["1001", "1002"]);
    let scene = scene_with([album, sent, say("Hello, Ben.")]).set("allowFrom", people);
    let gate = Gate::default();
    let is_album = |call: &Call| call.method == "sendMediaGroup";
    let held = Fault::HoldUntil(gate.clone());
    scene.telegram.fail_when(1, held, is_album);
    let ben = scene.telegram.person(1002, "Ben", None);
    let gateway = scene.start();
    scene.ana.says("send me the pictures");
    scene.telegram.wait_for_calls("sendMediaGroup", 1);
    scene.model.wait_for_requests(2);
    ben.says("hello");
    scene.wait_in(ben.chat(), "Hello, Ben.");
    assert_eq!(scene.texts(), Vec::<String>::new());
    gate.open();
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["Here.", "", "Sent."]);
}
