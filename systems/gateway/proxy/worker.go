package proxy

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/systems/gateway/press"
	"faceoff/systems/gateway/wire"
)

const (
	// readSize is the most that one read takes, and so the most that waits here for a slow reader.
	readSize = 16 << 10

	// turnsEach is how many reads in a row one connection may have before the others get theirs.
	turnsEach = 16

	// acceptsEach is how many connections in a row are accepted.
	acceptsEach = 64
)

// worker is an event loop on a core: it owns its connections, and nobody else touches them. Work comes to it from epoll
// and, of other workers, through its inbox.
type worker struct {
	server  *Server
	id      int
	epoll   int
	bell    int
	events  []syscall.EpollEvent
	conns   []*conn // by descriptor
	count   int32   // of generations
	wheel   *wheel
	started time.Time
	buffers buffers
	metrics Metrics

	listening bool // the listener is registered
	stopping  bool
	guests    list         // clients
	quiet     list         // those without a request, longest quiet first
	load      atomic.Int64 // how many clients it has, or is about to

	// Scratch for the event under way. inScratch is for what clients send, upScratch for what upstreams send.
	inScratch, upScratch, out, path []byte
	request, asked                  wire.Request
	response                        wire.Response
	inbound                         wire.Inbound
	trailers                        wire.Fields

	lines, spans pile // for Access, and for Spans

	date   []byte // as fields have it
	second int64  // of date

	framings []*framing // have something to send

	presses  []*press.Press // that nobody uses
	pressing int            // answers that are compressed now
	gathered int64          // bytes set aside for bodies that are read whole
	added    []byte         // fields of an answer in addition, of the event under way
	drop     []string       // names of those that do not go on

	ready []*conn // have a place, or more to do
	turn  []*conn // those of them that are looked at

	mu        sync.Mutex
	inbox     []*client  // granted a place by another worker
	newcomers []newcomer // accepted elsewhere
	arrivals  []arrival  // handshakes with servers that are over
	stop      bool
	swept     bool // upstreams have left the table
	freed     bool // its bell is gone
}

// newcomer is a connection that was accepted.
type newcomer struct {
	fd      int
	address netip.Addr
	secure  *tls.Conn // nil in the clear
	below   *carrier  // of secure
	framed  bool      // HTTP/2 was agreed upon
}

func newWorker(s *Server, id int) (*worker, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	bell, err := newBell()
	if err == nil {
		err = register(epoll, bell, 0, syscall.EPOLLIN|1<<31)
	}
	if err != nil {
		syscall.Close(epoll)
		return nil, err
	}
	return &worker{
		server: s, id: id, epoll: epoll, bell: bell, events: make([]syscall.EpollEvent, 256), wheel: newWheel(), started: time.Now(),
		inScratch: make([]byte, readSize), upScratch: make([]byte, readSize), out: make([]byte, 0, 2*readSize),
	}, nil
}

// run serves until the worker was told to stop and its last connection is gone, or cut.
func (w *worker) run() error {
	defer w.end()
	w.listen()
	var look time.Duration // when the door was last looked at
	traffic := false       // the last wait ended with an event
	for {
		w.writeFramings()
		patience := -1
		switch {
		case len(w.ready) > 0:
			patience = 0
		case w.wheel.set > 0 || !w.listening || w.lines.entries+w.spans.entries > 0:
			patience = int(tick / time.Millisecond)
		}
		n, err := wait(w.epoll, w.events, patience, traffic)
		if err != nil {
			return err
		}
		traffic = n > 0
		now := time.Since(w.started)
		w.wheel.advance(now)
		for i := range n {
			w.dispatch(&w.events[i])
		}
		w.readInbox()
		w.turn, w.ready = w.ready, w.turn[:0]
		for _, c := range w.turn {
			c.listed = false
			c.side.proceed()
		}
		if now-look >= lookAgain || w.stopping {
			look = now
			w.lookAtDoor()
			w.handOn()
		}
		if w.stopping && (w.guests.empty() || w.server.cut.Load()) {
			return nil
		}
	}
}

func (w *worker) dispatch(event *syscall.EpollEvent) {
	fd := int(event.Fd)
	switch fd {
	case w.bell:
		var count [8]byte
		read(w.bell, count[:])
		return
	case w.server.listener:
		w.accept()
		return
	}
	if fd >= len(w.conns) || w.conns[fd] == nil || w.conns[fd].generation != event.Pad {
		return // of a connection that was closed earlier in this round
	}
	c := w.conns[fd]
	c.notice(event.Events)
	c.side.ready()
}

// join takes a descriptor in. It is closed where that fails.
func (w *worker) join(c *conn, fd int, side side) error {
	w.count++
	c.w, c.fd, c.generation, c.side, c.timer.owner, c.open = w, fd, w.count, side, side, true
	if err := register(w.epoll, fd, c.generation, edges); err != nil {
		c.open = false
		syscall.Close(fd)
		return err
	}
	for fd >= len(w.conns) {
		w.conns = append(w.conns, nil)
	}
	w.conns[fd] = c
	return nil
}

func (w *worker) leave(fd int) { w.conns[fd] = nil }

// later has a connection looked at again before the worker sleeps.
func (w *worker) later(c *conn) {
	if !c.listed {
		c.listed = true
		w.ready = append(w.ready, c)
	}
}

// post has a client of this worker looked at, whoever calls.
func (w *worker) post(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inbox = append(w.inbox, c)
	w.wake()
}

// wake has the worker read its inbox, unless it is about to. The caller holds its lock.
func (w *worker) wake() {
	if len(w.inbox)+len(w.newcomers)+len(w.arrivals) == 1 && !w.freed {
		ring(w.bell)
	}
}

// send gives this worker a connection that was accepted elsewhere.
func (w *worker) send(n newcomer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.freed {
		syscall.Close(n.fd)
		return
	}
	w.newcomers = append(w.newcomers, n)
	w.wake()
}

func (w *worker) readInbox() {
	w.mu.Lock()
	for _, c := range w.inbox {
		w.later(&c.conn)
	}
	clear(w.inbox)
	w.inbox = w.inbox[:0]
	newcomers, arrivals, stop, swept := w.newcomers, w.arrivals, w.stop, w.swept
	w.newcomers, w.arrivals, w.swept = nil, nil, false
	w.mu.Unlock()
	if swept {
		w.dropKept()
	}
	for _, n := range newcomers {
		w.welcome(n)
	}
	for _, a := range arrivals {
		w.arrive(a)
	}
	if stop && !w.stopping {
		w.stopping = true
		w.unlisten()
		for c := range w.guests.all() {
			if c.session != nil {
				c.session.leave()
			} else if c.rest.next != nil {
				c.close()
			}
		}
	}
}

// sweep has the worker close what it keeps for upstreams that are in no table any more.
func (w *worker) sweep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.swept = true; !w.freed {
		ring(w.bell)
	}
}

// quit asks the worker to stop: connections without a request are closed, others after their answer.
func (w *worker) quit() {
	w.mu.Lock()
	w.stop = true
	w.mu.Unlock()
	ring(w.bell)
}

// end closes all connections.
func (w *worker) end() {
	w.stopping = true
	for _, c := range slices.Clone(w.conns) {
		if c == nil {
			continue
		}
		if client, ok := c.side.(*client); ok {
			client.close()
		}
		c.close()
	}
	w.handOn()
}

// handOn gives what it has to tell of requests to those who deliver it.
func (w *worker) handOn() {
	if access := w.server.settings.Access; access != nil {
		w.lines.handOn(&access.outlet)
	}
	if spans := w.server.settings.Spans; spans != nil {
		w.spans.handOn(&spans.outlet)
	}
}

// free closes what other workers may still use while they run.
func (w *worker) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freed = true
	for _, n := range w.newcomers {
		syscall.Close(n.fd)
	}
	for _, a := range w.arrivals {
		a.close()
	}
	syscall.Close(w.bell)
	syscall.Close(w.epoll)
}

// now is the date as answers have it. It is written once a second.
func (w *worker) now() []byte {
	if second := int64(w.wheel.now / time.Second); second != w.second || w.date == nil {
		w.second = second
		w.date = time.Now().UTC().AppendFormat(w.date[:0], http.TimeFormat)
	}
	return w.date
}
