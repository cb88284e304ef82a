//! How long a turn waits for a disk that does not take what it writes.

use crate::base::error::Error;

/// Failed writes of a turn after which it is given up, one minute, unless the disk is full: a person can free space,
/// but a card that is broken or read-only stays so, and others wait for the turn's slot.
const WRITE_TRIES_MAX: u32 = 12;

/// The failed writes of a turn.
#[derive(Default)]
pub(super) struct WriteFailures {
    /// Those that had another reason than a full disk.
    lasting: u32,
}

impl WriteFailures {
    /// Counts a failure. Returns whether a further try may succeed.
    pub(super) fn may_pass(&mut self, error: &Error) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        if let Error::Io { source, .. } = error
            && ![QuotaExceeded, StorageFull].contains(&source.kind())
        {
            self.lasting += 1;
        }
        self.lasting < WRITE_TRIES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_waited_for_and_a_broken_one_only_for_a_while() {
        let tries = |number: i32| {
            let source = std::io::Error::from_raw_os_error(number);
            let error = Error::io("write", "journal")(source);
            let mut failures = WriteFailures::default();
            (0..10 * WRITE_TRIES_MAX)
                .take_while(|_| failures.may_pass(&error))
                .count()
        };
        for full in [libc::ENOSPC, libc::EDQUOT] {
            assert_eq!(tries(full), 10 * WRITE_TRIES_MAX as usize);
        }
        for broken in [libc::EIO, libc::EROFS, libc::EACCES] {
            assert_eq!(tries(broken), WRITE_TRIES_MAX as usize - 1);
        }
        let failed = Error::Failed("the outbox is full".to_owned());
        assert!(WriteFailures::default().may_pass(&failed));
    }
}
