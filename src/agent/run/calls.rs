//! Runs the calls of one reply: those that only read side by side, the others one after the other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use crate::base::chat::{ToolCall, ToolResult};
use crate::base::limits::agent::CALL_STACK_BYTES;
use crate::base::sync::Mutex;
use crate::tools::{Caller, Toolbox};

/// Calls that only read and run side by side, each on a thread.
const CALLS_AT_ONCE: usize = 4;
/// Reports of progress that wait to be shown; more are dropped.
const PROGRESS_WAITING: usize = 4;

/// Cuts calls into groups that may run at once: runs of reading ones, and each writing one alone, so
/// that what is read comes before or after a write as the model wrote it.
pub fn groups(calls: &[ToolCall], reads: impl Fn(&ToolCall) -> bool) -> Vec<&[ToolCall]> {
    calls
        .chunk_by(|first, second| reads(first) && reads(second))
        .collect()
}

/// Runs a group, and tells how far it is where its tools say so. The results are in the order of the calls.
pub fn run_watched(
    toolbox: &Toolbox,
    group: &[ToolCall],
    caller: &Caller<'_>,
    told: &mut dyn FnMut(&str),
) -> Vec<ToolResult> {
    if !group.iter().any(|call| toolbox.tells_progress(&call.name)) {
        return run(toolbox, group, caller);
    }
    let (sender, receiver) = sync_channel::<String>(PROGRESS_WAITING);
    let work = move || {
        // News that nobody has taken yet is newer than what would wait behind it.
        let tell = |text: &str| drop(sender.try_send(text.to_owned()));
        let caller = Caller {
            progress: Some(&tell),
            ..*caller
        };
        run(toolbox, group, &caller)
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new()
            .name("call".to_owned())
            .stack_size(CALL_STACK_BYTES);
        let Ok(working) = builder.spawn_scoped(scope, work) else {
            return run(toolbox, group, caller);
        };
        receiver.iter().for_each(|text| told(&text));
        working.join().unwrap_or_default()
    })
}

/// Runs a group; the results are in the order of the calls.
fn run(toolbox: &Toolbox, group: &[ToolCall], caller: &Caller<'_>) -> Vec<ToolResult> {
    if let [call] = group {
        return vec![toolbox.run(call, caller)];
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<ToolResult>>> = group.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((call, slot)) = take(&next, group, &results) {
            let result = toolbox.run(call, caller);
            *slot.lock() = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..group.len().min(CALLS_AT_ONCE) {
            let builder = std::thread::Builder::new()
                .name("tool".to_owned())
                .stack_size(CALL_STACK_BYTES);
            // Without another thread this one does all the work.
            let _ = builder.spawn_scoped(scope, work);
        }
        work();
    });
    let taken = results.into_iter().map(|slot| slot.into_inner());
    // A thread ends without a result only together with the process.
    taken
        .map(|result| {
            result.unwrap_or_else(|| ToolResult::failed("Error: the call did not finish."))
        })
        .collect()
}

fn take<'a, T>(
    next: &AtomicUsize,
    group: &'a [ToolCall],
    results: &'a [T],
) -> Option<(&'a ToolCall, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    group.get(index).zip(results.get(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_calls_run_together_and_a_writing_one_alone() {
        let calls: Vec<ToolCall> = ["read", "read", "write", "write", "read"]
            .iter()
            .map(|name| ToolCall {
                id: "1".into(),
                name: (*name).into(),
                arguments: String::new(),
                signature: None,
            })
            .collect();
        let sizes: Vec<usize> = groups(&calls, |call| call.name == "read")
            .iter()
            .map(|group| group.len())
            .collect();
        assert_eq!(sizes, [2, 1, 1, 1]);
        assert!(groups(&[], |_| true).is_empty());
    }
}
