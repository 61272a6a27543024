//! The real [`World`]: epoll, non-blocking sockets and CLOCK_MONOTONIC.

use crate::clock;
use crate::plan::Address;
use crate::world::{Ready, World};
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};
use std::mem::MaybeUninit;

/// The events watched on every socket: bytes to read, and the end of the stream.
const INCOMING: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP);

/// The largest number of events taken from one call.
const READY_MAX: usize = 256;

pub(crate) struct Kernel {
    poll: OwnedFd,
}

impl Kernel {
    /// Creates one for a thread that times requests.
    pub fn new() -> Result<Kernel, Errno> {
        // Sleeps should end on time, not up to 50 µs later. Some kernels do not permit this.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        Kernel::untimed()
    }

    /// Creates one for a thread whose sleeps may end a little late.
    pub fn untimed() -> Result<Kernel, Errno> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Kernel { poll })
    }
}

fn open(address: &Address) -> Result<(OwnedFd, bool), Errno> {
    let family = match address {
        Address::Tcp(address) if address.is_ipv4() => AddressFamily::INET,
        Address::Tcp(_) => AddressFamily::INET6,
        Address::Unix(_) => AddressFamily::UNIX,
    };
    let socket = socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )?;
    let begun = match address {
        Address::Tcp(address) => {
            sockopt::set_tcp_nodelay(&socket, true)?;
            connect(&socket, address)
        }
        Address::Unix(path) => connect(&socket, &SocketAddrUnix::new(path.as_path())?),
    };
    match begun {
        Ok(()) => Ok((socket, true)),
        Err(Errno::INPROGRESS) => Ok((socket, false)),
        Err(error) => Err(error),
    }
}

impl World for Kernel {
    type Socket = OwnedFd;

    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn connect(&mut self, address: &Address, token: u64) -> Result<(OwnedFd, bool), Errno> {
        let (socket, is_connected) = open(address)?;
        // Bytes are also read while a request is being sent: its response may arrive before all of
        // it is sent.
        let flags = if is_connected { INCOMING } else { INCOMING | epoll::EventFlags::OUT };
        epoll::add(&self.poll, &socket, epoll::EventData::new_u64(token), flags)?;
        Ok((socket, is_connected))
    }

    fn connected(&mut self, socket: &OwnedFd) -> Result<(), Errno> {
        sockopt::socket_error(socket).unwrap_or_else(Err)
    }

    fn watch_write(&mut self, socket: &OwnedFd, token: u64, write: bool) {
        let flags = if write { INCOMING | epoll::EventFlags::OUT } else { INCOMING };
        // This cannot fail for a descriptor that is watched. If it did, the timeout would count the
        // request.
        let _ = epoll::modify(&self.poll, socket.as_fd(), epoll::EventData::new_u64(token), flags);
    }

    #[inline]
    fn read(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        match recv(socket, buffer, RecvFlags::empty()) {
            Ok((length, _)) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn write(&mut self, socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            other => other,
        }
    }

    fn rest(&mut self, ns: u64) {
        let _ = rustix::thread::nanosleep(&Timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as _,
        });
    }

    fn wait(&mut self, at_most_ns: u64, happened: &mut Vec<Ready>) {
        let timeout = Timespec {
            tv_sec: (at_most_ns / 1_000_000_000) as i64,
            tv_nsec: (at_most_ns % 1_000_000_000) as _,
        };
        let mut events = [MaybeUninit::uninit(); READY_MAX];
        let Ok((events, _)) = epoll::wait(&self.poll, &mut events, Some(&timeout)) else { return };
        for event in events.iter() {
            let flags = event.flags;
            let gone = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
            happened.push(Ready {
                token: event.data.u64(),
                readable: gone || flags.intersects(INCOMING),
                writable: gone || flags.contains(epoll::EventFlags::OUT),
                ended: gone || flags.contains(epoll::EventFlags::RDHUP),
            });
        }
    }
}
