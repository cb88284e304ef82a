//! The real program on a terminal, with a person who types, and what the screen shows.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::harness::PATIENCE;
use crate::harness::home::Home;
use crate::harness::program::{PEACRAB, clean, wait};

/// What Ctrl-C sends.
pub const CTRL_C: &str = "\x03";
/// What Ctrl-D sends.
pub const CTRL_D: &str = "\x04";
/// What the return key sends.
pub const RETURN: &str = "\r";

/// Rows of every terminal here: more than any story fills, so that nothing scrolls away.
const ROWS: u16 = 200;
/// Columns of a terminal, where a story does not say otherwise.
const COLUMNS: u16 = 80;

/// Longest wait for the last output of a program that has ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A terminal on which the program runs.
pub struct Terminal {
    columns: u16,
    keyboard: File,
    screen: Arc<Screen>,
    child: Child,
    /// How much of the screen has been waited for.
    read: usize,
}

#[derive(Default)]
struct Screen {
    shown: Mutex<Shown>,
    changed: Condvar,
}

#[derive(Default)]
struct Shown {
    text: Vec<u8>,
    /// Nothing comes any more.
    is_over: bool,
}

impl Terminal {
    /// Starts `peacrab` with these arguments on a terminal of 80 columns.
    pub fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::start_on(home, arguments, COLUMNS, &[])
    }

    /// Starts `peacrab` on a terminal of so many columns, with further variables in its environment.
    pub fn start_on(
        home: &Home,
        arguments: &[&str],
        columns: u16,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new("setsid");
        clean(&mut command, home);
        // setsid makes the terminal the program's own, so that Ctrl-C reaches it as a signal.
        command.arg("--ctty").arg(PEACRAB).args(arguments);
        command.envs(variables.iter().copied());
        Self::run(command, columns)
    }

    /// Starts a shell's command line on a terminal, such as `echo hi | "$PEACRAB" agent`.
    pub fn start_shell(home: &Home, line: &str) -> Self {
        let mut command = Command::new("setsid");
        clean(&mut command, home);
        command.env("PEACRAB", PEACRAB);
        command.args(["--ctty", "sh", "-c", line]);
        Self::run(command, COLUMNS)
    }

    fn run(mut command: Command, columns: u16) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, window(columns)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .open(OsStr::from_bytes(name.as_bytes()))
            .unwrap();

        command
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave);
        let child = command.spawn().unwrap();

        let keyboard = File::from(master);
        let screen = Arc::new(Screen::default());
        screen.show(keyboard.try_clone().unwrap());
        Self {
            columns,
            keyboard,
            screen,
            child,
            read: 0,
        }
    }

    /// Gives it so many columns. What is on the screen is rendered as for the first ones.
    pub fn resize(&self, columns: u16) {
        tcsetwinsize(&self.keyboard, window(columns)).unwrap();
    }

    /// Types a text, as if on the keyboard.
    pub fn type_text(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Sends the program a signal that does not come from the keyboard.
    pub fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the screen shows a text after what was last waited for.
    #[track_caller]
    pub fn wait_for(&mut self, wanted: &str) {
        let shown = self.screen.shown.lock().unwrap();
        let from = self.read;
        let missing = |shown: &mut Shown| {
            !shown.is_over && find(&shown.text[from..], wanted.as_bytes()).is_none()
        };
        let waiting = self
            .screen
            .changed
            .wait_timeout_while(shown, PATIENCE, missing);
        let rest = waiting.unwrap().0.text[from..].to_vec();
        match find(&rest, wanted.as_bytes()) {
            Some(end) => self.read = from + end,
            None => panic!("{wanted:?} is not on {:?}", String::from_utf8_lossy(&rest)),
        }
    }

    /// The text on the screen, as a person sees it now: without the blanks at the ends of lines and the
    /// empty lines below.
    pub fn screen(&self) -> String {
        self.render(&self.screen.shown.lock().unwrap().text)
    }

    fn render(&self, output: &[u8]) -> String {
        let mut parser = vt100::Parser::new(size(ROWS), size(self.columns), 0);
        parser.process(output);
        let rows = parser.screen().rows(0, self.columns);
        let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Waits until the screen, as a person sees it, is as `condition` wants it.
    #[track_caller]
    pub fn wait_until(&self, condition: impl Fn(&str) -> bool) {
        let shown = self.screen.shown.lock().unwrap();
        let missing = |shown: &mut Shown| !shown.is_over && !condition(&self.render(&shown.text));
        let waiting = self
            .screen
            .changed
            .wait_timeout_while(shown, PATIENCE, missing);
        let screen = self.render(&waiting.unwrap().0.text);
        assert!(condition(&screen), "the screen shows:\n{screen}");
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn wait_for_screen(&self, wanted: &str) {
        self.wait_until(|screen| screen.contains(wanted));
    }

    /// Everything that was shown so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.screen.shown.lock().unwrap().text).into_owned()
    }

    /// Waits for the end; returns the exit status.
    pub fn finish(&mut self) -> Option<i32> {
        let code = wait(&mut self.child).code();
        // What it wrote last may still be on its way. A process that it left behind keeps the terminal.
        let shown = self.screen.shown.lock().unwrap();
        let changed = &self.screen.changed;
        drop(changed.wait_timeout_while(shown, LAST_WORDS, |shown| !shown.is_over));
        code
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Screen {
    fn show(self: &Arc<Self>, mut output: File) {
        let screen = Arc::clone(self);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end of the last program on the terminal reads as an error (EIO).
            while let Ok(count @ 1..) = output.read(&mut piece) {
                let mut shown = screen.shown.lock().unwrap();
                shown.text.extend_from_slice(&piece[..count]);
                screen.changed.notify_all();
            }
            screen.shown.lock().unwrap().is_over = true;
            screen.changed.notify_all();
        });
    }
}

fn window(columns: u16) -> Winsize {
    Winsize {
        ws_row: ROWS,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn size(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

/// Where the wanted bytes end.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let start = text
        .windows(wanted.len())
        .position(|window| window == wanted)?;
    Some(start + wanted.len())
}
