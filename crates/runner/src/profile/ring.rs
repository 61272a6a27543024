//! The memory that the kernel shares with us, one ring for each perf event.
//!
//! The kernel writes records and moves `head`; [`Ring::take`] copies them and moves `tail`. The
//! kernel never writes between `tail` and `head`, so the copy is consistent. `linux/perf_event.h`
//! has the layout of the first page (`struct perf_event_mmap_page`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of a ring: at 499 samples a second, each with a copy of the stack, it lasts 240 ms.
const SIZE_MAX: usize = 1 << 20;
/// Size of all rings together, on machines with many CPUs.
const SIZE_ALL: usize = 64 << 20;
/// The least that is of use. Users without privileges may lock little memory.
const SIZE_MIN: usize = 1 << 17;
/// Where `data_head` and `data_tail` are in the first page.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// A perf event with its ring.
pub(super) struct Ring {
    event: OwnedFd,
    memory: NonNull<u8>,
    page: usize,
    size: usize,
}

// SAFETY: the memory belongs to this value alone and is unmapped when it is dropped, on any thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps one of several rings, as large as the kernel permits.
    pub fn new(event: OwnedFd, rings: usize) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let share = (SIZE_ALL / rings.max(1)).clamp(SIZE_MIN, SIZE_MAX);
        // The kernel accepts powers of two only.
        let mut size = 1 << share.ilog2();
        loop {
            // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
            let memory = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    page + size,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED,
                    event.as_raw_fd(),
                    0,
                )
            };
            match NonNull::new(memory.cast::<u8>()) {
                Some(memory) if memory.as_ptr().cast() != libc::MAP_FAILED => {
                    return Ok(Ring { event, memory, page, size });
                }
                _ if size > SIZE_MIN => size /= 2,
                _ => return Err(io::Error::last_os_error()),
            }
        }
    }

    /// Appends all new records, in words of 8 bytes.
    pub fn take(&mut self, words: &mut Vec<u64>) {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let tail = self.position(TAIL).load(Ordering::Relaxed);
        let count = (head.wrapping_sub(tail) as usize).min(self.size) / 8;
        words.reserve(count);
        let start = tail as usize % self.size / 8;
        let until_end = count.min(self.size / 8 - start);
        for (from, count) in [(start, until_end), (0, count - until_end)] {
            // SAFETY: `from + count` words are within the ring, which follows the first page and is
            // aligned to a page. The kernel does not write there until `tail` has moved.
            let records = unsafe {
                let data = self.memory.as_ptr().add(self.page).cast::<u64>();
                std::slice::from_raw_parts(data.add(from), count)
            };
            words.extend_from_slice(records);
        }
        self.position(TAIL).store(head, Ordering::Release);
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is within the first page and aligned to 8. Kernel and program access
        // both positions as whole words.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `new` has mapped exactly this memory, and no slice of it outlives `take`.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), self.page + self.size);
        }
    }
}
