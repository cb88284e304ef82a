//! Logs of one test among others: which events a place in the program writes is remembered for all threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber, callsite, dispatcher};

/// Takes every event and writes none.
struct Attentive;

impl Subscriber for Attentive {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Does something with a log of its own, which has each event of this thread that it wants.
///
/// While a process has a single log, `tracing` asks the thread that comes to an event first whether anyone wants it, and
/// remembers the answer for all. In a test, that may be a thread of another test, which has no log. With more than one, it
/// asks them all.
pub(crate) fn with_log<T>(
    log: impl Subscriber + Send + Sync + 'static,
    act: impl FnOnce() -> T,
) -> T {
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [Dispatch::new(Attentive), Dispatch::new(Attentive)]);
    dispatcher::with_default(&Dispatch::new(log), || {
        callsite::rebuild_interest_cache();
        act()
    })
}

#[test]
fn an_event_that_a_thread_without_a_log_comes_to_first_is_written_later() {
    struct Counting(Arc<AtomicUsize>);

    impl Subscriber for Counting {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            if event.metadata().target() == "here" {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    let say = || tracing::trace!(target: "here", "a word");
    let count = Arc::new(AtomicUsize::new(0));
    with_log(Counting(Arc::clone(&count)), || {
        std::thread::scope(|scope| {
            scope.spawn(say);
        });
        say();
    });
    assert_eq!(count.load(Ordering::Relaxed), 1);
}
