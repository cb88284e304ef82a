//! The shells that wait for their next command: one for each chat, with a thread that waits with it.

use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Pid;

use super::HELD_BYTES_OF_ALL;
use super::Shell;
use crate::base::clock::Stopwatch;
use crate::base::sync::Mutex;
use crate::sys::process;

/// Shells that are kept, of all chats: about 2 MB each. The one that was idle longest goes first.
const SHELLS: usize = 4;
/// A shell that gets no command for this time is ended.
const SHELL_IDLE: Duration = Duration::from_mins(30);
/// Bytes in a shell's /tmp and /dev/shm that are kept until its next command. They are memory, so a shell with more is
/// ended, unless it has programs in the background.
const HELD_BYTES: u64 = 48 * 1024 * 1024;
/// Stack of the thread that waits with a shell between two commands.
const KEEPER_STACK_BYTES: usize = 128 * 1024;

/// The shells of all chats. All are ended when this is dropped.
pub struct Shells {
    idle: Duration,
    places: Mutex<Vec<Place>>,
}

/// The shell of a chat.
struct Place {
    owner: String,
    /// `None` while a command runs in it.
    kept: Option<Kept>,
}

/// A shell that waits.
struct Kept {
    keeper: JoinHandle<Option<Shell>>,
    /// Closing it calls the shell back.
    wake: UnixStream,
    supervisor: Pid,
    /// Bytes of memory in its folders when it was given back.
    held: u64,
    /// How many processes it has without any in the background.
    own: usize,
    unsandboxed: bool,
    is_frozen_with_others: bool,
    /// The settings that it was started with.
    settings: u64,
    since: Stopwatch,
}

/// What there is for the next command of a chat.
pub enum Taken {
    /// Its shell, which has to be given back or given up.
    Kept(Box<Shell>),
    /// A command runs in it.
    Busy,
    /// None; the place is taken, and has to be given up if no shell is started.
    New,
}

impl Default for Shells {
    fn default() -> Self {
        Self::new(SHELL_IDLE)
    }
}

impl Shells {
    /// No shells yet. One that gets no command for `idle` is ended.
    pub fn new(idle: Duration) -> Self {
        Self {
            idle,
            places: Mutex::default(),
        }
    }

    /// Takes the shell of a chat. One that was started with other settings, or that is on the other side of
    /// the sandbox, is ended.
    pub fn take(&self, owner: &str, settings: u64, unsandboxed: bool) -> Taken {
        let mut places = self.places.lock();
        let known = places.iter_mut().find(|place| place.owner == owner);
        let kept = match known {
            Some(place) => match place.kept.take() {
                Some(kept) => kept,
                None => return Taken::Busy,
            },
            None => {
                let ended = make_room(&mut places);
                places.push(Place {
                    owner: owner.to_owned(),
                    kept: None,
                });
                drop(places);
                drop(ended);
                return Taken::New;
            }
        };
        drop(places);
        let fits = kept.settings == settings && kept.unsandboxed == unsandboxed;
        match kept.call_back().filter(|_| fits) {
            Some(shell) => Taken::Kept(Box::new(shell)),
            None => Taken::New,
        }
    }

    /// Whether a shell holds more memory in its folders than is kept: by itself without anything in the background, or
    /// together with the others that wait.
    pub fn holds_too_much(&self, shell: &Shell) -> bool {
        let held = shell.held_bytes();
        let places = self.places.lock();
        let others = places.iter().filter_map(|place| place.kept.as_ref());
        held + others.map(|kept| kept.held).sum::<u64>() > HELD_BYTES_OF_ALL
            || held > HELD_BYTES && !shell.has_background()
    }

    /// Gives the shell of a chat back after a command.
    pub fn give_back(&self, owner: &str, shell: Shell, settings: u64) {
        let kept = Kept::new(shell, self.idle, settings);
        let mut places = self.places.lock();
        let place = places.iter_mut().find(|place| place.owner == owner);
        match (place, kept) {
            (Some(place), Ok(kept)) => {
                place.kept = Some(kept);
                // More commands may run at a time than shells are kept.
                let ended = match places.len() > SHELLS {
                    true => make_room(&mut places),
                    false => None,
                };
                drop(places);
                drop(ended);
            }
            (_, kept) => {
                places.retain(|place| place.owner != owner);
                drop(places);
                if let Err(error) = kept {
                    tracing::error!("failed to keep a shell: {error}");
                }
            }
        }
    }

    /// The shell of a chat has ended, or none could be started.
    pub fn give_up(&self, owner: &str) {
        self.places.lock().retain(|place| place.owner != owner);
    }

    /// Lets something look at the shell of a chat that waits; `None` when there is none.
    pub fn look<T>(&self, owner: &str, look: impl FnOnce(&mut Shell) -> T) -> Option<T> {
        let kept = {
            let mut places = self.places.lock();
            places
                .iter_mut()
                .find(|place| place.owner == owner)?
                .kept
                .take()?
        };
        let settings = kept.settings;
        let Some(mut shell) = kept.call_back() else {
            self.give_up(owner);
            return None;
        };
        let seen = look(&mut shell);
        self.give_back(owner, shell, settings);
        Some(seen)
    }

    /// Ends those that wait in the sandbox without anything in the background, where they could not be frozen.
    pub fn end_idle(&self) {
        let mut places = self.places.lock();
        let is_idle = |kept: &Kept| {
            let mut all = process::descendants_of(kept.supervisor);
            all.retain(|pid| !process::has_ended(*pid));
            !kept.unsandboxed && !kept.is_frozen_with_others && all.len() <= kept.own
        };
        let (ended, staying) = std::mem::take(&mut *places)
            .into_iter()
            .partition(|place| place.kept.as_ref().is_some_and(is_idle));
        *places = staying;
        drop(places);
        let ended: Vec<Place> = ended;
        drop(ended);
    }

    /// Ends the shell of a chat, unless a command runs in it. Returns whether there was one.
    pub fn end_of(&self, owner: &str) -> bool {
        let mut places = self.places.lock();
        let index = places
            .iter()
            .position(|place| place.owner == owner && place.kept.is_some());
        let ended = index.map(|index| places.remove(index));
        drop(places);
        ended.is_some()
    }

    /// Ends all shells that wait.
    pub fn end_all(&self) {
        let mut places = self.places.lock();
        let (ended, busy) = std::mem::take(&mut *places)
            .into_iter()
            .partition(|place| place.kept.is_some());
        *places = busy;
        drop(places);
        let ended: Vec<Place> = ended;
        drop(ended);
    }
}

/// Takes the shell out that was idle longest, where there is no place for another one. Dropping it ends it.
fn make_room(places: &mut Vec<Place>) -> Option<Place> {
    let waiting = places.iter().enumerate();
    let waiting = waiting.filter_map(|(index, place)| Some((index, place.kept.as_ref()?)));
    let longest = waiting.max_by_key(|(_, kept)| kept.since.elapsed());
    let index = longest.map(|(index, _)| index)?;
    (places.len() >= SHELLS).then(|| places.remove(index))
}

impl Kept {
    fn new(shell: Shell, idle: Duration, settings: u64) -> std::io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        let (supervisor, own) = (shell.running.supervisor(), shell.own.len());
        let (unsandboxed, held) = (shell.unsandboxed, shell.held_bytes());
        let is_frozen_with_others = shell.running.report.grouped;
        let keeper = std::thread::Builder::new()
            .name("shell".to_owned())
            .stack_size(KEEPER_STACK_BYTES)
            .spawn(move || shell.keep(idle, &woken))?;
        Ok(Self {
            keeper,
            wake,
            supervisor,
            held,
            own,
            unsandboxed,
            is_frozen_with_others,
            settings,
            since: Stopwatch::start(),
        })
    }

    /// The shell; `None` when it has ended meanwhile.
    fn call_back(self) -> Option<Shell> {
        drop(self.wake);
        self.keeper.join().ok().flatten()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            drop(kept.call_back());
        }
    }
}
