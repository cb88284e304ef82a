//! A folder that another process swaps for a link, again and again, while we work through it.

use std::cell::Cell;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags};

use crate::base::clock::Stopwatch;
use crate::config::schema::Tools;
use crate::sandbox::files::{Next, Places, Workspace};
use crate::sys::beneath::Resolver;

const TIME: Duration = Duration::from_millis(2500);
/// The same where one core does both, and slowly: until enough was accepted and refused.
const MOST: Duration = Duration::from_mins(2);
const ENOUGH: u64 = 100;

#[test]
fn a_folder_swapped_for_a_link_in_a_loop_leads_nowhere() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let top = tempfile::tempdir().unwrap();
        let path = |below: &str| top.path().join(below);
        for folder in ["w/door/deep", "outside/deep"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        std::fs::write(path("w/door/file"), "inside").unwrap();
        let (door, aside) = (path("w/door"), path("w/aside"));
        symlink("../outside", &aside).unwrap();
        for secret in ["outside/file", "outside/deep/file"] {
            std::fs::write(path(secret), "canary").unwrap();
        }
        let places = Places {
            workspace: &path("w"),
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), resolver).unwrap();
        let done = AtomicBool::new(false);
        let swaps = AtomicU64::new(0);
        let (accepted, refused) = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let exchange = RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(CWD, &door, CWD, &aside, exchange).unwrap();
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            });
            let _end = End(&done);
            work_through_the_door(&workspace)
        });
        let counts = (accepted, refused, swaps.into_inner());
        assert!(
            accepted > ENOUGH && refused > ENOUGH,
            "a race that did not happen: {counts:?}"
        );
        assert!(counts.2 > ENOUGH, "a race that did not happen: {counts:?}");
        let read = |below: &str| std::fs::read_to_string(path(below)).unwrap();
        assert_eq!(read("outside/file"), "canary");
        assert_eq!(read("outside/deep/file"), "canary");
        assert_eq!(std::fs::read_dir(path("outside")).unwrap().count(), 2);
        assert_eq!(std::fs::read_dir(path("outside/deep")).unwrap().count(), 1);
    }
}

/// Ends the other thread, also when an assertion fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts what was accepted and what was refused.
fn work_through_the_door(workspace: &Workspace) -> (u64, u64) {
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let count = |is_accepted: bool| {
        let counter = if is_accepted { &accepted } else { &refused };
        counter.set(counter.get() + 1);
    };
    let has_raced = || accepted.get() > ENOUGH && refused.get() > ENOUGH;
    let time = Stopwatch::start();
    while time.elapsed() < TIME || !has_raced() && time.elapsed() < MOST {
        for name in ["door/file", "door/deep/../file"] {
            let mut text = String::new();
            let read = workspace.open_read(Path::new(name)).map(|mut file| {
                file.read_to_string(&mut text).unwrap();
            });
            assert!(!text.contains("canary"), "read something outside");
            count(read.is_ok());
        }
        count(workspace.write(Path::new("door/new"), b"x").is_ok());
        count(workspace.append(Path::new("door/deep/new"), b"x").is_ok());
        let _ = workspace.remove(Path::new("door/deep/new"));
        let walked = workspace.walk(Path::new("door"), &mut |found| {
            let mut text = String::new();
            if let Ok(mut file) = found.open() {
                file.read_to_string(&mut text).unwrap();
            }
            assert!(!text.contains("canary"), "found something outside");
            Next::Enter
        });
        count(walked.is_ok());
    }
    (accepted.get(), refused.get())
}
