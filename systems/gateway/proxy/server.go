// Package proxy passes HTTP/1.1 on: event loops, one for each core, over the kernel's sockets. What the bytes mean is
// package wire's business.
package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/systems/gateway/route"
)

// Settings are the same for all routes and fixed while the process lives.
type Settings struct {
	Workers     int
	MaxClients  int
	MaxHead     int // bytes of a head, of a request or an answer
	Streams     int // requests that a client may have under way over a connection in HTTP/2; zero: it is not spoken
	HeadTimeout time.Duration
	IdleTimeout time.Duration
	BodyTimeout time.Duration // for a body that is read whole
	Stall       time.Duration // without a byte moving, within a body
	Pace        int64         // bytes a second, the least that a client which is waited for must take or give
	Via         string
	Trusted     []netip.Prefix
	Forwarded   bool
	Access      *Access // nil writes no line for a request
	Spans       *Spans  // nil tells nobody of traces
}

// Table is where requests go. It can be exchanged while requests are under way.
type Table struct {
	Routes    *route.Table
	Upstreams []*Upstream // as the routes number them
}

// Server is the gateway's data plane.
type Server struct {
	settings          Settings
	listener          int
	table             atomic.Pointer[Table]
	workers           []*worker
	clients           atomic.Int64 // that are connected
	crowded           atomic.Bool  // the house is full and somebody waits outside
	stopping          atomic.Bool
	doorstep          atomic.Bool  // somebody waits inside the other door, that of TLS
	secure            net.Listener // nil without
	certificates      atomic.Pointer[tls.Config]
	refusedHandshakes atomic.Int64
	cut               atomic.Bool // what is still open when the workers stop is closed
	log               func(line string)
	done              sync.WaitGroup
	errors            chan error
}

// New prepares a server on a socket of Listen, which it takes over. log is given a line for each failure of an upstream.
func New(settings Settings, table *Table, listener int, log func(line string)) (*Server, error) {
	s := &Server{settings: settings, listener: listener, log: log, errors: make(chan error, settings.Workers)}
	s.table.Store(table)
	for id := range settings.Workers {
		w, err := newWorker(s, id)
		if err != nil {
			s.free()
			return nil, err
		}
		s.workers = append(s.workers, w)
	}
	return s, nil
}

func (s *Server) free() {
	for _, w := range s.workers {
		w.free()
	}
	syscall.Close(s.listener)
}

// Start begins to serve. One processor more than there are workers leaves a place for the garbage collector and for
// whatever else runs; without it, the scheduler takes a worker's own away each time it waits for the kernel.
func (s *Server) Start() {
	if runtime.GOMAXPROCS(0) < s.settings.Workers+1 {
		runtime.GOMAXPROCS(s.settings.Workers + 1)
	}
	for _, u := range s.table.Load().Upstreams {
		u.watch(s.logf)
	}
	if s.secure != nil {
		go s.admit()
	}
	for _, w := range s.workers {
		s.done.Go(func() {
			if err := w.run(); err != nil {
				s.errors <- fmt.Errorf("worker %d: %w", w.id, err)
			}
		})
	}
}

// Errors tells of workers that cannot go on.
func (s *Server) Errors() <-chan error { return s.errors }

// Swap sends requests that come from now on where a new table says. What is not in it any more is asked nothing more.
func (s *Server) Swap(table *Table) {
	before := s.table.Swap(table)
	for _, u := range table.Upstreams {
		if !slices.Contains(before.Upstreams, u) {
			u.watch(s.logf)
		}
	}
	for _, u := range before.Upstreams {
		if !slices.Contains(table.Upstreams, u) {
			close(u.ended)
		}
	}
	for _, w := range s.workers {
		w.sweep()
	}
}

// Table is the one in force.
func (s *Server) Table() *Table { return s.table.Load() }

// Ready reports whether clients are let in.
func (s *Server) Ready() bool { return !s.stopping.Load() }

// Stop lets nobody in any more and waits for the answers under way. Where ctx is done first, they are cut.
func (s *Server) Stop(ctx context.Context) error {
	if s.stopping.Swap(true) {
		return nil // it was told before
	}
	if s.secure != nil {
		s.secure.Close()
	}
	for _, u := range s.table.Load().Upstreams {
		close(u.ended)
	}
	// Nobody connects any more. The descriptor stays, as workers may be about to use it.
	_ = syscall.Shutdown(s.listener, syscall.SHUT_RD)
	for _, w := range s.workers {
		w.quit()
	}
	ended := make(chan struct{})
	go func() {
		s.done.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		s.cut.Store(true)
		for _, w := range s.workers {
			ring(w.bell)
		}
		<-ended
	}
	s.free()
	return err
}

func (s *Server) logf(format string, args ...any) {
	if s.log != nil {
		s.log(fmt.Sprintf(format, args...))
	}
}
