// System calls: epoll, non-blocking sockets, eventfd. Raw calls avoid the scheduler where a call
// cannot block. docs/design.md has the measurements behind this.

package proxy

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
	"unsafe"
)

// Events for epoll. Each connection is registered once, for both directions and edge-triggered. No
// further epoll_ctl call is needed for it.
const (
	edges     = syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | 1<<31
	exclusive = 1 << 28 // wake one worker per connection, not all
)

// briefly is for how many milliseconds a worker with traffic waits without telling the scheduler.
const briefly = 10

// again is the result of readSocket and writeSocket when the kernel has no bytes or no room now.
const again = -int(syscall.EAGAIN)

// readSocket and writeSocket never block, so the scheduler need not know. A negative result is an
// errno.
func readSocket(fd int, into []byte) int {
	return transfer(syscall.SYS_READ, fd, into)
}

func writeSocket(fd int, from []byte) int {
	return transfer(syscall.SYS_WRITE, fd, from)
}

func transfer(call uintptr, fd int, bytes []byte) int {
	if len(bytes) == 0 {
		return again
	}
	for {
		n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&bytes[0])),
			uintptr(len(bytes)))
		if errno == 0 {
			return int(n)
		}
		if errno != syscall.EINTR {
			return -int(errno)
		}
	}
}

// wait blocks until there are events, or until the timeout. A negative timeout is infinite.
//
// While there is traffic, the scheduler does not learn about the first part of a wait. Otherwise
// its monitor would take the processor from a worker every 10 ms. Having found one to
// take, it would then look for the next one up to 50,000 times a second. At 1,000 requests per
// second that took 40 % of all CPU time.
func wait(epoll int, events []syscall.EpollEvent, milliseconds int, traffic bool) (int, error) {
	if traffic || milliseconds == 0 {
		first := briefly
		if milliseconds >= 0 {
			first = min(first, milliseconds)
		}
		n, err := poll(syscall.RawSyscall6, epoll, events, first)
		if n > 0 || err != nil || first == milliseconds {
			return n, err
		}
		milliseconds = max(milliseconds-first, -1)
	}
	return poll(syscall.Syscall6, epoll, events, milliseconds)
}

// poll calls epoll_pwait. A garbage collection that stops the world also interrupts threads that
// have not told the scheduler anything, by a signal every 100 µs.
func poll(
	call func(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno),
	epoll int,
	events []syscall.EpollEvent,
	milliseconds int,
) (int, error) {
	for {
		n, _, errno := call(syscall.SYS_EPOLL_PWAIT, uintptr(epoll),
			uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(milliseconds), 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			runtime.Gosched()
		default:
			return 0, fmt.Errorf("epoll_pwait: %w", errno)
		}
	}
}

func register(epoll, fd int, generation int32, events uint32) error {
	event := syscall.EpollEvent{Events: events, Fd: int32(fd), Pad: generation}
	if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// newEventFD creates the descriptor that wakes a worker from other goroutines.
func newEventFD() (int, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC,
		0)
	if errno != 0 {
		return 0, fmt.Errorf("eventfd: %w", errno)
	}
	return int(fd), nil
}

func signal(wakeFD int) {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	writeSocket(wakeFD, one[:])
}

// dial starts a connection. It is established once the socket is writable.
func dial(to netip.AddrPort) (int, error) {
	family := syscall.AF_INET6
	var address syscall.Sockaddr = &syscall.SockaddrInet6{
		Port: int(to.Port()),
		Addr: to.Addr().As16(),
	}
	if to.Addr().Unmap().Is4() {
		family, address = syscall.AF_INET, &syscall.SockaddrInet4{
			Port: int(to.Port()),
			Addr: to.Addr().Unmap().As4(),
		}
	}
	fd, err := syscall.Socket(family,
		syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	noDelay(fd)
	if err := syscall.Connect(fd, address); err != nil && err != syscall.EINPROGRESS {
		syscall.Close(fd)
		return 0, err
	}
	return fd, nil
}

// connected returns the result of a connection attempt.
func connected(fd int) error {
	code, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err == nil && code != 0 {
		err = syscall.Errno(code)
	}
	return err
}

// unsent returns how many bytes the kernel holds that the peer has not acknowledged.
func unsent(fd int) int64 {
	var n int32
	if _, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCOUTQ,
		uintptr(unsafe.Pointer(&n))); errno != 0 {
		return 0
	}
	return int64(n)
}

func noDelay(fd int) {
	// A Unix socket has no such option.
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
}

// Listen opens the socket that all workers accept from.
func Listen(on netip.AddrPort) (int, error) {
	family := syscall.AF_INET6
	var address syscall.Sockaddr = &syscall.SockaddrInet6{Port: int(on.Port()), Addr: on.Addr().As16()}
	if on.Addr().Is4() {
		family, address = syscall.AF_INET, &syscall.SockaddrInet4{
			Port: int(on.Port()),
			Addr: on.Addr().As4(),
		}
	}
	fd, err := syscall.Socket(family,
		syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("listening on %s: %w", on, err)
	}
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, address)
	}
	if err == nil {
		err = syscall.Listen(fd, acceptQueue) // the kernel limits it to net.core.somaxconn
	}
	if err != nil {
		syscall.Close(fd)
		return 0, fmt.Errorf("listening on %s: %w", on, err)
	}
	return fd, nil
}

const acceptQueue = 4096

// Bound returns the address of a listening socket, with the port that the kernel chose.
func Bound(fd int) (netip.AddrPort, error) {
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return addrPort(address), nil
}

func addrPort(address syscall.Sockaddr) netip.AddrPort {
	switch a := address.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// waiting reports whether a connection waits to be accepted.
func waiting(listener int) bool {
	type pollFd struct {
		fd              int32
		events, revents int16
	}
	ask := pollFd{fd: int32(listener), events: 1}
	var now syscall.Timespec
	n, _, _ := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&ask)), 1,
		uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return int(n) == 1
}
