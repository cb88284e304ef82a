//! The allocator: the system's, behind a few blocks of the usual sizes of buffers that were freed last. musl maps and
//! unmaps pages for nearly each block of more than some hundred bytes, which costs two system calls and the faults of
//! fresh pages. `scripts/footprint` counts the calls.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of the blocks that are kept, each with the number of places for it: at most 101 kB in all. With the bytes that
/// musl's mallocng adds, and the header of its group, each fills its pages.
const CLASSES: [(usize, usize); 6] = [
    (496, 4),
    (1008, 4),
    (2032, 4),
    (4064, 4),
    (8160, 3),
    (16_352, 2),
];
/// Places of all classes.
const PLACES: usize = 21;
/// Bytes from which on a block is as large as its class, and not as small as it can be.
const LEAST: usize = 256;
/// The alignment that the system gives to every block.
const ALIGNMENT: usize = 16;

static KEPT: [AtomicPtr<u8>; PLACES] = [const { AtomicPtr::new(ptr::null_mut()) }; PLACES];

/// The allocator of the program.
#[derive(Debug)]
pub struct Blocks;

/// A class of blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Class {
    bytes: usize,
    /// Its first place.
    first: usize,
    places: usize,
}

impl Class {
    /// The class of a layout; `None` for what the system alone takes care of.
    fn of(layout: Layout) -> Option<Self> {
        if layout.size() <= LEAST || layout.align() > ALIGNMENT {
            return None;
        }
        let mut first = 0;
        for (bytes, places) in CLASSES {
            if layout.size() <= bytes {
                return Some(Self {
                    bytes,
                    first,
                    places,
                });
            }
            first += places;
        }
        None
    }

    fn layout(self) -> Layout {
        // SAFETY: the alignment is a power of two, and the sizes of the classes are far from overflowing.
        unsafe { Layout::from_size_align_unchecked(self.bytes, ALIGNMENT) }
    }

    fn kept(self) -> impl Iterator<Item = &'static AtomicPtr<u8>> {
        KEPT.iter().skip(self.first).take(self.places)
    }

    fn alloc(self) -> *mut u8 {
        for place in self.kept() {
            if !place.load(Ordering::Relaxed).is_null() {
                let block = place.swap(ptr::null_mut(), Ordering::Acquire);
                if !block.is_null() {
                    return block;
                }
            }
        }
        // SAFETY: the size is not zero.
        unsafe { System.alloc(self.layout()) }
    }

    /// # Safety
    ///
    /// The block is one of this class, and no longer in use.
    unsafe fn free(self, block: *mut u8) {
        for place in self.kept() {
            let is_empty = place.load(Ordering::Relaxed).is_null();
            let exchange = || {
                place.compare_exchange(ptr::null_mut(), block, Ordering::Release, Ordering::Relaxed)
            };
            if is_empty && exchange().is_ok() {
                return;
            }
        }
        // SAFETY: the block came from the system with this layout.
        unsafe { System.dealloc(block, self.layout()) }
    }
}

// SAFETY: a block has the size and the alignment of its class, which are at least those that were asked for; a block is in
// one place at most, from which an atomic exchange takes it; and everything else is the system's.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Class::of(layout) {
            Some(class) => class.alloc(),
            // SAFETY: the caller promises the same.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Class::of(layout) {
            // SAFETY: blocks of this layout are of this class, and the caller has finished with it.
            Some(class) => unsafe { class.free(block) },
            // SAFETY: the caller promises the same.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(class) = Class::of(layout) else {
            // SAFETY: the caller promises the same.
            return unsafe { System.alloc_zeroed(layout) };
        };
        let block = class.alloc();
        if !block.is_null() {
            // SAFETY: the block has at least this size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size does not overflow with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (Class::of(layout), Class::of(wanted)) {
            // SAFETY: the caller promises the same.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (before, after) if before == after => block,
            _ => {
                // SAFETY: the size is not zero, as the caller promises.
                let new = unsafe { self.alloc(wanted) };
                if !new.is_null() {
                    // SAFETY: both have this many bytes and are different blocks; the old one is not used any more.
                    unsafe {
                        ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                }
                new
            }
        }
    }
}

/// Returns all blocks that are kept to the system.
pub(super) fn give_back() {
    for (index, place) in KEPT.iter().enumerate() {
        let block = place.swap(ptr::null_mut(), Ordering::Acquire);
        let mut end = 0;
        let class = CLASSES.iter().find(|(_, places)| {
            end += places;
            index < end
        });
        if let (Some((bytes, _)), false) = (class, block.is_null()) {
            // SAFETY: what is in a place of this class came from the system with the layout of the class, and is of no
            // use to others: it was taken out of its place.
            unsafe {
                let layout = Layout::from_size_align_unchecked(*bytes, ALIGNMENT);
                System.dealloc(block, layout);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_place_belongs_to_a_class() {
        assert_eq!(
            CLASSES.map(|(_, places)| places).iter().sum::<usize>(),
            PLACES
        );
        let bytes: usize = CLASSES.iter().map(|(bytes, places)| bytes * places).sum();
        assert!(bytes <= 101 * 1024, "{bytes}");
    }

    /// A block that is filled with a byte of its own.
    struct Block {
        address: *mut u8,
        layout: Layout,
        fill: u8,
    }

    impl Block {
        fn new(size: usize, fill: u8, is_zeroed: bool) -> Self {
            let layout = Layout::from_size_align(size, 8).unwrap();
            // SAFETY: the size is not zero, and the block has it.
            let address = unsafe {
                let address = if is_zeroed {
                    Blocks.alloc_zeroed(layout)
                } else {
                    Blocks.alloc(layout)
                };
                if is_zeroed {
                    assert!((0..size).all(|at| *address.add(at) == 0));
                }
                address.write_bytes(fill, size);
                address
            };
            Self {
                address,
                layout,
                fill,
            }
        }

        fn check(&self, bytes: usize) {
            // SAFETY: the block has this many bytes.
            let is_whole = unsafe { (0..bytes).all(|at| *self.address.add(at) == self.fill) };
            assert!(is_whole, "{bytes} bytes");
        }

        fn resize(&mut self, size: usize) {
            let kept = self.layout.size().min(size);
            // SAFETY: the block is ours with this layout, and has the new size then.
            unsafe {
                self.address = Blocks.realloc(self.address, self.layout, size);
                self.layout = Layout::from_size_align(size, 8).unwrap();
                self.check(kept);
                self.address.write_bytes(self.fill, size);
            }
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            self.check(self.layout.size());
            // SAFETY: the block is ours with this layout.
            unsafe { Blocks.dealloc(self.address, self.layout) };
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn blocks_keep_what_is_written_whatever_the_others_do(
            steps in proptest::collection::vec((0_usize..12, 1_usize..40_000, any::<bool>(), 0_u8..4), 1..120)
        ) {
            let mut blocks: Vec<Option<Block>> = (0..12).map(|_| None).collect();
            for (number, (place, size, is_zeroed, what)) in steps.into_iter().enumerate() {
                match (&mut blocks[place], what) {
                    (_, 3) => give_back(),
                    (Some(block), 0) => block.resize(size),
                    (held, _) => *held = Some(Block::new(size, number as u8, is_zeroed)),
                }
            }
        }
    }

    #[test]
    fn threads_never_share_a_block() {
        let threads: Vec<_> = (0..4_u8)
            .map(|fill| {
                std::thread::spawn(move || {
                    for round in 0..5_000_usize {
                        let first = Block::new(300 + round % 9_000, fill, false);
                        let _second = Block::new(600, fill + 4, round % 2 == 0);
                        drop(first);
                        if round % 512 == 0 {
                            give_back();
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
