//! The files.

use std::fs;

use crate::base::access::Role;
use crate::base::error::Error;
use crate::base::language::Language;
use crate::base::limits::watch::WATCHES_MAX;
use crate::base::message::Address;
use crate::board::watch::parse::parse;
use crate::board::watch::store::{Added, Cause, Entry, Mute, Store, Watch, Watches, add};
use crate::board::watch::{Moment, Notice};

fn watch(rule: &str) -> Watch {
    Watch {
        id: 0,
        rule: parse(rule, Language::English).unwrap(),
        chat: Some(Address::parse("telegram:1001")),
        is_paused: false,
        by_model: false,
        role: crate::base::access::Role::User,
        author: None,
        process: None,
    }
}

fn home() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path());
    (folder, store)
}

#[test]
fn what_is_added_is_read_again_and_no_number_is_used_again() {
    let (_folder, store) = home();
    assert!(store.read().unwrap().watches.is_empty());
    let strange = Watch {
        is_paused: true,
        by_model: true,
        chat: None,
        process: Some(("a \"b\"".to_owned(), 77)),
        role: crate::base::access::Role::Owner,
        author: Some(crate::base::message::Author {
            id: "7".to_owned(),
            username: "ana".to_owned(),
        }),
        ..watch("pid 12")
    };
    let all = [
        watch("temperature > 75 for 5m"),
        strange,
        watch("cmd \"it's \\\"x\\\"\" fails"),
    ];
    let ids = store.change(|watches| Ok(all.clone().map(|watch| add(watches, watch))));
    assert_eq!(ids.unwrap(), [Some(1), Some(2), Some(3)]);
    let read = store.read().unwrap().watches;
    let expected = all
        .iter()
        .cloned()
        .zip(1..)
        .map(|(watch, id)| Watch { id, ..watch });
    assert_eq!(read, expected.collect::<Vec<_>>());
    let removed = store.change(|watches| {
        watches.retain(|watch| watch.id == 1);
        Ok(add(watches, watch("port 1")))
    });
    assert_eq!(removed.unwrap(), Some(4), "an old button has 3");
    let moved = store.move_chat(
        &Address::parse("telegram:1001"),
        &Address::parse("telegram:-5"),
    );
    assert_eq!(moved.unwrap(), 2);
}

#[test]
fn the_command_line_adds_no_second_watch_of_what_an_owner_has_asked_for() {
    let (_folder, store) = home();
    let chat = Address::parse("telegram:1001");
    let insert = |role, by_model, chat| {
        let cause = Cause {
            chat,
            role,
            author: None,
            by_model,
        };
        let rule = parse("port 1", Language::English).unwrap();
        store.insert(rule, cause).unwrap()
    };
    assert_eq!(insert(Role::User, false, Some(&chat)), Added::New(1));
    assert_eq!(insert(Role::Owner, false, None), Added::New(2));
    assert_eq!(insert(Role::Owner, false, None), Added::Known(2));
    let pause = |list: &mut Watches| {
        list.iter_mut().for_each(|watch| watch.is_paused = true);
        Ok(())
    };
    store.change(pause).unwrap();
    assert_eq!(
        insert(Role::Owner, false, None),
        Added::New(2),
        "it goes on"
    );
    assert_eq!(insert(Role::Owner, false, None), Added::Known(2));
    let (_folder, store) = home();
    let insert = |cause| {
        let rule = parse("port 1", Language::English).unwrap();
        store.insert(rule, cause).unwrap()
    };
    let owner = Cause::typed(Some(&chat));
    assert_eq!(insert(owner), Added::New(1));
    assert_eq!(insert(Cause::typed(None)), Added::Known(1));
    let elsewhere = Address::parse("telegram:1002");
    assert_eq!(insert(Cause::typed(Some(&elsewhere))), Added::New(2));
}

#[test]
fn the_disk_of_the_home_is_watched_once_whatever_path_names_it() {
    let (folder, store) = home();
    let insert = |text: &str| {
        let rule = parse(text, Language::English).unwrap();
        store.insert(rule, Cause::typed(None)).unwrap()
    };
    assert_eq!(insert("disk > 90"), Added::New(1));
    let path = folder.path().display();
    assert_eq!(insert(&format!("disk {path} > 90")), Added::Known(1));
    assert_eq!(insert(&format!("disk {path} > 91")), Added::New(2));
    assert_eq!(insert(&format!("inodes {path} > 90")), Added::New(3));
    assert_eq!(insert("disk /proc > 90"), Added::New(4));
}

fn of_owner() -> Watch {
    Watch {
        role: Role::Owner,
        ..watch("port 1")
    }
}

#[test]
fn there_are_only_so_many() {
    let (_folder, store) = home();
    let last = store.change(|watches| {
        Ok((0..=WATCHES_MAX)
            .map(|_| add(watches, of_owner()))
            .last()
            .unwrap())
    });
    assert_eq!(last.unwrap(), None);
    assert_eq!(store.read().unwrap().watches.len(), WATCHES_MAX);
}

#[test]
fn a_quarter_of_them_is_for_owners() {
    let (_folder, store) = home();
    let of_user = || Watch {
        role: Role::User,
        ..watch("port 2")
    };
    let added = store.change(|watches| {
        let users = (0..WATCHES_MAX).filter_map(|_| add(watches, of_user()));
        let users = users.count();
        let owners = (0..WATCHES_MAX).filter_map(|_| add(watches, of_owner()));
        Ok((users, owners.count()))
    });
    assert_eq!(added.unwrap(), (WATCHES_MAX / 4 * 3, WATCHES_MAX / 4));
}

#[test]
fn a_change_that_fails_writes_nothing() {
    let (_folder, store) = home();
    let failed = store.change(|watches| {
        add(watches, watch("port 1"));
        Err::<(), _>(Error::Stopped)
    });
    assert!(failed.is_err() && !store.path().exists());
}

#[test]
fn a_broken_file_is_left_as_it_is_and_the_error_names_the_line() {
    let (_folder, store) = home();
    for (text, said) in [
        (
            "{\n  \"watches\": [\n    {\"id\": 1, oops}\n  ]\n}",
            "line 3",
        ),
        ("[]", "line 1"),
        ("{\"watches\": 7}", "in \"watches\""),
    ] {
        fs::write(store.path(), text).unwrap();
        let error = store.read().unwrap_err().to_string();
        assert!(
            error.contains(said) && error.contains("watches.json"),
            "{error}"
        );
        assert!(
            store
                .change(|watches| Ok(add(watches, watch("port 1"))))
                .is_err()
        );
        assert_eq!(fs::read_to_string(store.path()).unwrap(), text);
    }
}

#[test]
fn a_watch_that_cannot_be_read_spoils_no_other_one_and_is_kept() {
    let (_folder, store) = home();
    let text = "\u{feff}{\"watches\": [{\"id\": 1, \"rule\": \"port 80\"}, {\"id\": 2, \"rule\": \"prot 80\"}, 7,
        {\"id\": 1, \"rule\": \"port 81\"}, {\"rule\": \"port 82\"}]}";
    fs::write(store.path(), text).unwrap();
    let read = store.read().unwrap();
    assert_eq!(read.watches.len(), 1);
    assert_eq!(read.faults.len(), 4, "{:?}", read.faults);
    assert!(
        read.faults[0].starts_with("watch 2: I can't watch `prot`"),
        "{:?}",
        read.faults
    );
    store
        .change(|watches| Ok(add(watches, watch("port 1"))))
        .unwrap();
    let after = store.read().unwrap();
    assert_eq!((after.watches.len(), after.faults.len()), (2, 4));
    assert!(
        fs::read_to_string(store.path())
            .unwrap()
            .contains("prot 80")
    );
}

#[test]
fn what_was_told_is_kept_and_a_damaged_file_counts_as_empty() {
    let (folder, store) = home();
    assert!(store.read_state().is_empty());
    let now = Moment {
        up_ms: 5,
        wall_ms: 6,
        boot: 7,
    };
    let entry = Entry {
        rule: "port 1".to_owned(),
        notice: Some(Box::new(Notice::seen(now, 3, "line".to_owned()))),
        muted: Some(Mute {
            since: now,
            ms: 1000,
        }),
        mark: Some((1, 2)),
        known: Some(vec!["a".to_owned()]),
        ..Entry::default()
    };
    store.write_state(&[("1", &entry)].into()).unwrap();
    let state = [("1".to_owned(), Box::new(entry))].into();
    assert_eq!(store.read_state(), state);
    let path = folder.path().join("state/watches.json");
    for text in ["", "{", "[]", "{\"1\": 7}"] {
        fs::write(&path, text).unwrap();
        assert!(store.read_state().is_empty(), "{text}");
    }
    let mute = Mute {
        since: now,
        ms: 1000,
    };
    assert_eq!(mute.left(Moment { up_ms: 1004, ..now }), Some(1));
    assert_eq!(mute.left(Moment { up_ms: 1005, ..now }), None);
}
