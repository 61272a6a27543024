// Accepting clients. Their number is bounded by the descriptor share. At the limit further clients
// wait in the kernel's queue, and idle connections are closed to make room. Start reading at
// worker.accept and worker.updateAccept.

package proxy

import (
	"syscall"
	"time"
)

const (
	// checkInterval is how often a worker that has reached MaxClients checks whether clients wait.
	checkInterval = 50 * time.Millisecond

	// minIdle is how long a connection must have been without a request before it may be closed in
	// favor of a new one.
	minIdle = time.Second
)

// listen registers the listener. Workers share one accept queue: a busy worker leaves the
// connections to the others.
func (w *worker) listen() {
	if w.listening || w.stopping {
		return
	}
	w.listening = register(w.epoll, w.server.listener, 0, syscall.EPOLLIN|exclusive) == nil
}

func (w *worker) unlisten() {
	if w.listening {
		w.listening = false
		// it is registered
		_ = syscall.EpollCtl(w.epoll, syscall.EPOLL_CTL_DEL, w.server.listener,
			&syscall.EpollEvent{})
	}
}

// accept accepts the waiting connections. Beyond MaxClients they wait in the kernel's queue, which
// costs this process no descriptor.
func (w *worker) accept() {
	s := w.server
	for range acceptsPerTurn {
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
				w.unlisten() // until the next updateAccept
			case syscall.EINTR, syscall.ECONNABORTED:
				continue
			}
			return
		}
		noDelay(fd)
		n := acceptedConn{fd: fd, address: addrPort(address).Addr()}
		if to := s.leastLoaded(w); to != w {
			to.send(n)
		} else {
			w.addClient(n)
		}
	}
}

// leastLoaded returns the worker that a new connection goes to, and counts the connection there.
// Otherwise the worker that happens to accept would get all of them. On a tie the connection stays
// where it is.
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

// updateAccept resumes accepting when there is room. If clients wait, it makes room: every response
// then closes its connection, and the connections idle for longest are closed.
func (w *worker) updateAccept() {
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
	crowded := waiting(s.listener) || s.tlsWaiting.Load()
	s.crowded.Store(crowded)
	if !crowded {
		return
	}
	for range acceptsPerTurn {
		c := w.idleClients.first()
		if c == nil || w.wheel.now-c.since < minIdle {
			break
		}
		c.close()
	}
	w.listen()
}
