//! Files: what people send, and what is sent to them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::scene::Scene;
use crate::harness::model::{Gate, Step, call, say};
use crate::harness::telegram::{Call, Fault, Media, Upload};

/// The smallest PNG: one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\rIDATx\xdac\xfc\xcf\xc0P\x0f\0\x04\x85\x01\x80\x84\xa9\x8c!\0\0\0\0IEND\xaeB`\x82";
const MIB: usize = 1 << 20;

/// The workspace's file that a request names, after its mark such as `[file: `.
fn path_in(asked: &str, mark: &str) -> String {
    let rest = asked
        .split_once(mark)
        .unwrap_or_else(|| panic!("{mark} is not in {asked}"))
        .1;
    rest.split_once(']').unwrap().0.to_owned()
}

/// A scene whose model sees.
fn seeing(script: impl IntoIterator<Item = Step>) -> Scene {
    let mut scene = Scene::playing(script);
    let model = "/agents/defaults/model";
    scene.home.set(model, json!("llama3.2-vision"));
    scene
}

#[test]
fn a_photo_is_seen_by_the_model_with_its_caption() {
    let scene = seeing([say("A pixel.")]);
    let gateway = scene.start();
    scene
        .ana
        .sends(Upload::new(Media::Photo, "", PNG).caption("what is this?"));
    scene.wait_for("A pixel.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    assert!(
        asked.contains("what is this?") && asked.contains("data:image/png;base64,iVBOR"),
        "{asked}"
    );
    let path = path_in(&asked, "[photo: ");
    assert_eq!(fs::read(scene.home.workspace(&path)).unwrap(), PNG);
}

#[test]
fn who_sends_a_picture_is_told_when_the_model_does_not_see_it() {
    let scene = Scene::playing([say("A file."), say("Another."), say("Too big.")]);
    let gateway = scene.start();
    scene
        .ana
        .sends(Upload::new(Media::Photo, "", PNG).caption("what is this?"));
    let told = scene.wait_for("cannot see pictures");
    assert!(told.text.contains(".images true"), "{}", told.text);
    scene.wait_for("A file.");
    let ana = scene.ana.clone().speaking("zh-hans");
    ana.sends(Upload::new(Media::Photo, "", PNG));
    scene.wait_for("看不到图片");
    scene.wait_for("Another.");
    let big = [PNG, &vec![0; 1_500_001]].concat();
    scene.ana.sends(Upload::new(Media::Photo, "", big));
    scene.wait_for("1.5 MB");
    scene.wait_for("Too big.");
    gateway.stop().ends_with(0);
    assert!(scene.asked(0).contains("cannot see images"));
}

#[test]
fn files_lie_in_the_inbox_under_harmless_names() {
    for (media, name, mark, ending) in [
        (Media::Document, "plan.txt", "[file: ", "-plan.txt"),
        (Media::Document, "../../etc/passwd", "[file: ", "-passwd"),
        (Media::Document, "..", "[file: ", "-file"),
        (Media::Voice, "", "[voice message: ", "-voice.ogg"),
        (Media::Audio, "song.mp3", "[audio: ", "-song.mp3"),
        (Media::Video, "film.mp4", "[video: ", "-film.mp4"),
    ] {
        let scene = Scene::playing([say("I have it.")]);
        let gateway = scene.start();
        scene.ana.sends(Upload::new(media, name, "content"));
        scene.wait_for("I have it.");
        gateway.stop().ends_with(0);
        let path = path_in(&scene.asked(0), mark);
        assert!(
            path.starts_with("inbox/") && path.ends_with(ending),
            "{path}"
        );
        assert_eq!(path.matches('/').count(), 1, "{path}");
        assert_eq!(
            fs::read_to_string(scene.home.workspace(&path)).unwrap(),
            "content"
        );
    }
}

#[test]
fn an_album_is_one_message_and_a_location_is_words() {
    let scene = seeing([say("Two pictures."), say("Berlin.")]);
    let gateway = scene.start();
    scene.ana.sends_album([
        Upload::new(Media::Photo, "", PNG).caption("which one?"),
        Upload::new(Media::Photo, "", PNG),
    ]);
    scene.wait_for("Two pictures.");
    scene.ana.shares_location(52.5, 13.4);
    scene.wait_for("Berlin.");
    gateway.stop().ends_with(0);
    let album = scene.asked(0);
    assert_eq!(album.matches("[photo: inbox/").count(), 2, "{album}");
    assert_eq!(album.matches("base64,").count(), 2);
    assert_eq!(album.matches("which one?").count(), 1);
    assert!(
        scene.asked(1).contains("[a location: 52.5, 13.4]"),
        "{}",
        scene.asked(1)
    );
}

#[test]
fn a_file_that_is_too_large_or_gone_is_told_to_the_model() {
    let scene = Scene::playing([say("Too large."), say("It is gone.")]);
    let gateway = scene.start();
    scene
        .ana
        .sends(Upload::new(Media::Video, "film.mp4", vec![0; 20 * MIB + 1]).caption("watch it"));
    scene.wait_for("Too large.");
    scene.telegram.fail_next(
        "getFile",
        Fault::BadRequest("wrong file_id or the file is temporarily unavailable"),
    );
    scene.ana.sends(Upload::new(Media::Document, "a.txt", "x"));
    scene.wait_for("It is gone.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    assert!(
        asked.contains("watch it")
            && asked.contains("film.mp4 could not be fetched")
            && asked.contains("20 MB"),
        "{asked}"
    );
    assert!(
        scene.asked(1).contains("a.txt could not be fetched"),
        "{}",
        scene.asked(1)
    );
}

#[test]
fn a_file_is_fetched_again_after_trouble() {
    let scene = Scene::playing([say("I have it.")]);
    let gateway = scene.start();
    scene.telegram.fail_next("file", Fault::CutOff);
    let upload = Upload::new(Media::Document, "a.txt", "content");
    scene.ana.sends(upload);
    scene.wait_for("I have it.");
    gateway.stop().ends_with(0);
    let path = path_in(&scene.asked(0), "[file: ");
    let kept = fs::read_to_string(scene.home.workspace(&path)).unwrap();
    assert_eq!(kept, "content");
}

#[test]
fn a_file_that_never_comes_holds_up_nothing() {
    let scene = Scene::playing([say("It did not come.")]);
    let gateway = scene.start();
    scene.telegram.fail_times("file", 6, Fault::ServerError);
    scene.ana.sends(Upload::new(Media::Document, "a.txt", "x"));
    scene.wait_for("It did not come.");
    gateway.stop().ends_with(0);
    let asked = scene.asked(0);
    assert!(asked.contains("a.txt could not be fetched"), "{asked}");
}

#[test]
fn pictures_go_out_as_photos_and_other_files_as_documents() {
    let media = json!(["plot.png", "notes/a.txt", "broken.jpg"]);
    let scene = Scene::playing([
        call(
            "message",
            json!({"content": "Here they are.", "media": media}),
        ),
        say("Sent."),
    ]);
    fs::create_dir(scene.home.workspace("notes")).unwrap();
    fs::write(scene.home.workspace("plot.png"), PNG).unwrap();
    fs::write(scene.home.workspace("notes/a.txt"), "notes").unwrap();
    fs::write(scene.home.workspace("broken.jpg"), "no picture").unwrap();
    scene.telegram.forgives("IMAGE_PROCESS_FAILED");
    let gateway = scene.start();
    scene.ana.says("send me everything");
    scene.wait_for("Sent.");
    gateway.stop().ends_with(0);
    let messages = scene.telegram.messages(scene.ana.chat());
    let files: Vec<_> = messages
        .iter()
        .filter_map(|message| message.file.as_ref())
        .collect();
    let sent: Vec<_> = files
        .iter()
        .map(|file| (file.media, file.name.as_str(), &file.bytes[..]))
        .collect();
    assert_eq!(
        sent,
        [
            (Media::Photo, "plot.png", PNG),
            (Media::Document, "a.txt", &b"notes"[..]),
            (Media::Document, "broken.jpg", &b"no picture"[..]),
        ]
    );
    assert_eq!(
        messages
            .iter()
            .filter(|message| message.file.is_none())
            .map(|message| message.text.as_str())
            .collect::<Vec<_>>(),
        ["Here they are.", "Sent."]
    );
}

#[test]
fn the_model_hears_what_cannot_be_sent() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "canary").unwrap();
    for (arguments, said) in [
        (json!({"content": "", "media": ["link"]}), "Error"),
        (json!({"content": "", "media": ["../config.json"]}), "Error"),
        (
            json!({"content": "", "media": ["nothing.txt"]}),
            "nothing.txt",
        ),
        (json!({"content": ""}), "nothing to send"),
        (
            json!({"content": "", "media": ["a.txt"], "buttons": [["Yes"]]}),
            "content",
        ),
        (
            json!({"content": "x", "chat_id": "4004"}),
            "not a chat that you know",
        ),
        (
            json!({"content": "x", "media": ["a.txt"], "chat_id": "2002"}),
            "no access any more",
        ),
        (
            json!({"content": "x", "channel": "signal", "chat_id": "1"}),
            "signal",
        ),
    ] {
        let scene = Scene::playing([call("message", arguments), say("Not possible.")]);
        fs::write(scene.home.workspace("a.txt"), "a").unwrap();
        // Someone who has written once.
        let sessions = scene.home.path().join("sessions");
        fs::create_dir_all(&sessions).unwrap();
        fs::write(sessions.join("telegram_2002.jsonl"), "").unwrap();
        symlink(outside.path().join("secret"), scene.home.workspace("link")).unwrap();
        let gateway = scene.start();
        scene.ana.says("send it");
        scene.wait_for("Not possible.");
        gateway.stop().ends_with(0);
        let told = scene.model.requests()[1].last_message();
        assert!(told.contains("Error") && told.contains(said), "{told}");
        assert_eq!(scene.texts(), ["Not possible."]);
    }
}

#[test]
fn a_file_that_has_vanished_or_became_a_link_is_told_to_the_person() {
    let gate = Gate::default();
    let scene = Scene::playing([
        call("message", json!({"content": "Wait."})),
        call(
            "message",
            json!({"content": "Here.", "media": ["a.txt", "b.txt"]}),
        ),
        say("Done."),
    ]);
    let (first, second) = (scene.home.workspace("a.txt"), scene.home.workspace("b.txt"));
    fs::write(&first, "a").unwrap();
    fs::write(&second, "b").unwrap();
    let holds = |call: &Call| call.method == "sendMessage" && call.parameters["text"] == "Wait.";
    scene
        .telegram
        .fail_when(1, Fault::HoldUntil(gate.clone()), holds);
    let gateway = scene.start();
    scene.ana.says("send them");
    scene.model.wait_for_requests(3);
    fs::remove_file(&first).unwrap();
    fs::remove_file(&second).unwrap();
    symlink(scene.home.path().join("config.json"), &second).unwrap();
    gate.open();
    scene.wait_for("Done.");
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("The file a.txt could not be sent")),
        "{texts:?}"
    );
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("The file b.txt could not be sent")),
        "{texts:?}"
    );
    assert_eq!(scene.telegram.calls("sendDocument").len(), 0);
}

#[test]
fn a_pressed_button_comes_back_as_a_message() {
    let buttons = json!([["Yes, please", "No"], ["Ask me tomorrow"]]);
    let scene = Scene::playing([
        call(
            "message",
            json!({"content": "Shall I water?", "buttons": buttons}),
        ),
        say("I wait for your word."),
        say("Watering."),
    ]);
    let gateway = scene.start();
    scene.ana.says("is it dry?");
    scene.wait_for("I wait for your word.");
    scene.ana.presses("Yes, please");
    scene.wait_for("Watering.");
    gateway.stop().ends_with(0);
    assert!(scene.asked(2).contains("Yes, please"), "{}", scene.asked(2));
}
