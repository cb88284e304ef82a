//! Returns stack memory that is no longer in use to the kernel.

#![expect(
    unsafe_code,
    reason = "madvise(2) and the bounds of a stack have no safe wrapper"
)]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// Bytes below the frame in use that a stack keeps when it gives back: room for giving back.
const STACK_KEPT: usize = 16 * 1024;

/// Returns the unused part of this thread's stack to the kernel: what a deep call has left there.
pub fn give_back_stack() {
    let mut here = 0_u8;
    let here = (&raw mut here).addr();
    if let Some(lowest) = lowest_of_stack() {
        give_back(lowest, here.saturating_sub(STACK_KEPT));
    }
}

fn lowest_of_stack() -> Option<usize> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes are read only when the first call has filled them in, and
    // destroyed after that; both results live here.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let got = libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (got == 0).then(|| lowest.addr())
    }
}

/// The bytes of a page of memory.
pub fn page_bytes() -> u64 {
    // SAFETY: sysconf(3) only reads.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(page).unwrap_or(4096)
}

/// The bytes of memory that this machine has; all that can be counted where it cannot be read.
pub fn memory_of_machine() -> u64 {
    // SAFETY: sysconf(3) only reads.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).map_or(u64::MAX, |pages| pages.saturating_mul(page_bytes()))
}

/// Returns the whole pages between two addresses of a stack. If that fails they are kept, which does
/// no harm.
fn give_back(start: usize, end: usize) {
    // SAFETY: sysconf(3) only reads.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page) = usize::try_from(page) else {
        return;
    };
    let start = start.next_multiple_of(page);
    let end = end - end % page;
    if start < end {
        let address = ptr::with_exposed_provenance_mut::<c_void>(start);
        // SAFETY: the only caller passes pages of its own stack, below every frame that is in use.
        unsafe { libc::madvise(address, end - start, libc::MADV_DONTNEED) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses some of the stack.
    #[inline(never)]
    fn dive(depth: usize) -> usize {
        let room = std::hint::black_box([depth as u8; 4096]);
        if depth == 0 {
            return 0;
        }
        dive(depth - 1) + usize::from(room[depth] > 0)
    }

    #[test]
    fn a_thread_goes_on_when_its_stack_is_given_back() {
        let thread = std::thread::Builder::new().stack_size(1024 * 1024);
        let dived = thread.spawn(|| {
            let first = dive(100);
            give_back_stack();
            (first, dive(100))
        });
        assert_eq!(dived.unwrap().join().unwrap(), (100, 100));
    }
}
