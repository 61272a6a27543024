package proxy

import (
	"syscall"
	"time"
)

const (
	// lookAgain is how often a full house looks whether somebody waits outside.
	lookAgain = 50 * time.Millisecond

	// quietEnough is how long a connection must have been without a request before it may be closed in favour of one
	// that waits.
	quietEnough = time.Second
)

// listen lets clients in. They share one accept queue: a worker that is busy leaves them to the others.
func (w *worker) listen() {
	if w.listening || w.stopping {
		return
	}
	w.listening = register(w.epoll, w.server.listener, 0, syscall.EPOLLIN|exclusive) == nil
}

func (w *worker) unlisten() {
	if w.listening {
		w.listening = false
		_ = syscall.EpollCtl(w.epoll, syscall.EPOLL_CTL_DEL, w.server.listener, &syscall.EpollEvent{}) // it is registered
	}
}

// accept lets in who waits. Beyond the number of clients allowed they wait in the kernel's queue, which costs this
// process no descriptor.
func (w *worker) accept() {
	s := w.server
	for range acceptsEach {
		if s.clients.Add(1) > int64(s.settings.MaxClients) {
			s.clients.Add(-1)
			s.crowded.Store(waiting(s.listener))
			w.unlisten()
			return
		}
		fd, address, err := syscall.Accept4(s.listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err != nil {
			s.clients.Add(-1)
			switch err {
			case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
				s.logf("accepting: %v", err)
				w.unlisten() // until the door is looked at again
			case syscall.EINTR, syscall.ECONNABORTED:
				continue
			}
			return
		}
		noDelay(fd)
		n := newcomer{fd: fd, address: addrPort(address).Addr()}
		if to := s.leastLoaded(w); to != w {
			to.send(n)
		} else {
			w.welcome(n)
		}
	}
}

// leastLoaded is the worker that a newcomer goes to, who counts from now on: whoever happens to accept would otherwise
// have them all. Where another has no fewer, it stays where it is.
func (s *Server) leastLoaded(here *worker) *worker {
	least := here
	for _, w := range s.workers {
		if w.load.Load() < least.load.Load() {
			least = w
		}
	}
	least.load.Add(1)
	return least
}

// lookAtDoor lets clients in again once there is room, and makes room where somebody waits: as long as that is so, all
// answers end their connection, and the connections that have been quiet for longest are closed.
func (w *worker) lookAtDoor() {
	s := w.server
	if w.stopping {
		return
	}
	full := s.clients.Load() >= int64(s.settings.MaxClients)
	if !full {
		s.crowded.Store(false)
		w.listen()
		return
	}
	crowded := waiting(s.listener) || s.doorstep.Load()
	s.crowded.Store(crowded)
	if !crowded {
		return
	}
	for range acceptsEach {
		c := w.quiet.first()
		if c == nil || w.wheel.now-c.since < quietEnough {
			break
		}
		c.close()
	}
	w.listen()
}
