//! The fake systemd itself.

use std::os::unix::net::UnixDatagram;
use std::panic::catch_unwind;
use std::thread;
use std::time::Duration;

use crate::harness::systemd::Watchdog;

#[test]
fn a_service_that_falls_silent_is_noticed_until_it_says_that_it_stops() {
    let every = Duration::from_millis(300);
    let watchdog = Watchdog::new(every);
    let [(_, socket), (_, micros)] = watchdog.variables();
    assert_eq!(micros, "300000");
    let service = UnixDatagram::unbound().unwrap();
    let say = |text: &str| service.send_to(text.as_bytes(), &socket).unwrap();
    thread::sleep(every);
    assert_eq!(watchdog.longest_gap(), Duration::ZERO);
    say("READY=1\nSTATUS=at work");
    watchdog.wait_for("STATUS=at work");
    watchdog.assert_fed();
    thread::sleep(every);
    assert!(catch_unwind(std::panic::AssertUnwindSafe(|| watchdog.assert_fed())).is_err());
    say("WATCHDOG=1");
    watchdog.wait_for_meals(1);
    let gap = watchdog.longest_gap();
    assert!(gap >= every, "{gap:?}");
    say("STOPPING=1");
    watchdog.wait_for("STOPPING=1");
    thread::sleep(gap);
    assert_eq!(watchdog.longest_gap(), gap);
    assert_eq!(watchdog.notices().len(), 4);
}
