//! Lines that are slow because the story says so.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Bot;
use crate::harness::line::Rate;
use crate::harness::telegram::{Media, Telegram, Upload};

/// 100 kB at 100 kB/s.
const BYTES: usize = 100_000;
const RATE: u32 = 100_000;
/// How long that takes at least, with what a machine's buffers may hide.
const SLOW: Duration = Duration::from_millis(800);

fn elapsed(act: impl FnOnce()) -> Duration {
    let before = Instant::now();
    act();
    before.elapsed()
}

#[test]
fn one_methods_uploads_are_slow_and_the_rest_is_not() {
    let telegram = Telegram::start();
    telegram.person(1001, "Ana", None);
    telegram.set_rate_of("sendDocument", Rate::up(RATE));
    let bot = Bot::of(&telegram);
    let sending = thread::spawn({
        let bot = bot.clone();
        move || elapsed(|| assert_eq!(bot.uploads(1001, &[0; BYTES]), 200))
    });
    telegram.wait_for_beginning("sendDocument", 1);
    bot.sends(1001, "meanwhile");
    assert!(telegram.calls("sendDocument").is_empty());
    let took = sending.join().unwrap();
    assert!(took >= SLOW, "{took:?}");
}

#[test]
fn downloads_are_slow_until_the_line_is_good_again() {
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    ana.sends(Upload::new(Media::Document, "a.bin", vec![b'a'; BYTES]));
    let file = bot.polls(0, 0)[0]["message"]["document"]["file_id"].clone();
    let path = bot.call("getFile", json!({"file_id": file}))["file_path"].clone();
    let path = format!("/file/bot{}/{}", bot.token, path.as_str().unwrap());
    let fetch = || assert_eq!(bot.get(&path).1.as_str().unwrap().len(), BYTES);
    telegram.set_rate(Rate::down(RATE));
    let took = elapsed(fetch);
    assert!(took >= SLOW, "{took:?}");
    // The rate may change in the middle.
    telegram.set_rate(Rate::both(1_000));
    let fetching = thread::spawn({
        let (bot, path) = (bot.clone(), path.clone());
        move || bot.get(&path).0
    });
    telegram.wait_for_beginning("file", 2);
    telegram.set_full_speed();
    assert_eq!(fetching.join().unwrap(), 200);
}

#[test]
fn the_sender_of_a_slow_upload_feels_it() {
    // A machine's buffers on loopback would take in megabytes at once.
    let telegram = Telegram::start();
    telegram.set_rate(Rate::up(1_000));
    let mut socket = std::net::TcpStream::connect(&Bot::of(&telegram).address).unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut taken = 0;
    let end = Instant::now() + Duration::from_millis(300);
    while Instant::now() < end {
        match std::io::Write::write(&mut socket, &[b'a'; 4096]) {
            Ok(bytes) => taken += bytes,
            Err(_) => thread::yield_now(),
        }
    }
    assert!((1..500_000).contains(&taken), "{taken}");
}
