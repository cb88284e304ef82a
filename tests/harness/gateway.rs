//! The program as a service, in the background of a test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::PATIENCE;
use crate::harness::home::Home;
use crate::harness::program::{Output, Program, wait};
use crate::harness::systemd::Watchdog;

/// A running gateway. It is killed when it is dropped.
pub struct Gateway {
    child: Child,
    log: Arc<Log>,
    /// The threads that read its output; they end with it.
    collectors: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Log {
    written: Mutex<Written>,
    grown: Condvar,
}

/// Its output so far.
#[derive(Default)]
struct Written {
    stdout: String,
    stderr: String,
    /// Whether stderr is closed.
    ended: bool,
}

impl Gateway {
    /// `peacrab gateway` with a home.
    pub fn start(home: &Home) -> Self {
        Self::of(Program::new(home).arg("gateway"))
    }

    /// The same under a service manager with a watchdog of this interval.
    pub fn with_watchdog(home: &Home, every: Duration) -> (Self, Watchdog) {
        let watchdog = Watchdog::new(every);
        let mut program = Program::new(home).arg("gateway");
        for (name, value) in watchdog.variables() {
            program = program.env(name, &value);
        }
        (Self::of(program), watchdog)
    }

    /// Any command that keeps running.
    pub fn of(program: Program) -> Self {
        let mut command = program.into_command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Log::default());
        let (printed, said) = (Arc::clone(&log), Arc::clone(&log));
        let collectors = vec![
            thread::spawn(move || {
                let mut text = String::new();
                stdout.read_to_string(&mut text).unwrap();
                printed.written().stdout = text;
            }),
            thread::spawn(move || said.collect(stderr)),
        ];
        Self {
            child,
            log,
            collectors,
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its stderr so far.
    pub fn log(&self) -> String {
        self.log.written().stderr.clone()
    }

    /// Waits until its stderr contains this text.
    pub fn wait_for_log(&self, words: &str) {
        let missing = |written: &mut Written| !written.stderr.contains(words) && !written.ended;
        let waited = self
            .log
            .grown
            .wait_timeout_while(self.log.written(), PATIENCE, missing);
        let (written, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let said = written.stderr.contains(words);
        // The lock is released before a panic: stopping the gateway needs it.
        drop(written);
        assert!(said, "it never said {words:?}");
    }

    /// Whether it is still running.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends it like a power cut: SIGKILL. Returns when it has ended.
    pub fn kill(mut self) -> Output {
        self.child.kill().unwrap();
        self.finish()
    }

    /// Asks it to stop, like systemd: SIGTERM. Waits until it has stopped.
    pub fn stop(self) -> Output {
        self.terminate();
        self.finish()
    }

    /// Asks it to stop, without waiting.
    pub fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Waits until it ends by itself.
    pub fn finish(mut self) -> Output {
        let status = wait(&mut self.child);
        for collector in self.collectors.drain(..) {
            collector.join().unwrap();
        }
        let written = self.log.written();
        Output {
            code: status.code(),
            stdout: written.stdout.clone(),
            stderr: written.stderr.clone(),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("the gateway said:\n{}", self.log());
        }
    }
}

impl Log {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collect(&self, stderr: impl BufRead) {
        for line in stderr.split(b'\n') {
            let line = line.unwrap();
            let mut written = self.written();
            written.stderr += &String::from_utf8_lossy(&line);
            written.stderr.push('\n');
            self.grown.notify_all();
        }
        self.written().ended = true;
        self.grown.notify_all();
    }
}
