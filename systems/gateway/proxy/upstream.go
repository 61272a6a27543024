package proxy

import (
	"net/netip"
	"reflect"
	"sync/atomic"
	"time"
)

// Upstream is a service behind the gateway: equal servers, and how much is asked of them at most.
type Upstream struct {
	UpstreamSettings
	servers []*server
	places  *places
	turn    atomic.Uint32
}

// UpstreamSettings are what the configuration says of an upstream.
type UpstreamSettings struct {
	Name     string
	Servers  []ServerSettings
	Balance  Balance
	Most     int // requests in flight
	Queue    int // requests that wait for a place
	Wait     time.Duration
	Keep     int           // idle connections that a worker keeps to each server
	KeepFor  time.Duration // shorter than servers keep theirs
	Connect  time.Duration
	Answer   time.Duration // from the end of the request to the head of the answer
	Tunnel   time.Duration // without a byte moving, after an upgrade
	Host     []byte        // what servers are told as Host; nil passes the client's on
	Failures int           // in a row, after which a server is left alone; zero: never
	Eject    time.Duration // for how long
}

// ServerSettings are one server's.
type ServerSettings struct {
	Address netip.AddrPort
	Weight  int
}

// Balance is how a server is picked.
type Balance uint8

const (
	RoundRobin Balance = iota
	LeastRequests
	TwoChoices
)

// server is one address. Its counts are shared by all workers, its idle connections are each worker's own.
type server struct {
	address  netip.AddrPort
	inFlight atomic.Int32
	failures atomic.Int32
	until    atomic.Int64 // it is left alone, in Unix nanoseconds
	idle     [][]*link    // by worker; the last was used last
}

// NewUpstream makes an upstream for a number of workers.
func NewUpstream(settings UpstreamSettings, workers int) *Upstream {
	u := &Upstream{UpstreamSettings: settings, places: &places{free: settings.Most, most: settings.Queue}}
	for _, s := range settings.Servers {
		one := &server{address: s.Address, idle: make([][]*link, workers)}
		for range max(s.Weight, 1) {
			u.servers = append(u.servers, one)
		}
	}
	return u
}

// Keep is the upstream of these settings in a new table: the one of this table where nothing has changed. Where something
// has, its places stay the same ones, so that requests that are still on their old way count.
func (t *Table) Keep(settings UpstreamSettings, workers int) *Upstream {
	if t != nil {
		for _, u := range t.Upstreams {
			if u.Name != settings.Name {
				continue
			}
			if reflect.DeepEqual(u.UpstreamSettings, settings) {
				return u
			}
			after := NewUpstream(settings, workers)
			after.places = u.places
			u.places.resize(settings.Most-u.Most, settings.Queue)
			return after
		}
	}
	return NewUpstream(settings, workers)
}

// pick chooses a server: of those in good health, and of all where none is. avoid is one that was just tried in vain.
func (u *Upstream) pick(avoid *server) *server {
	if len(u.servers) == 1 {
		return u.servers[0]
	}
	now := int64(0)
	if u.Failures > 0 {
		now = time.Now().UnixNano()
	}
	start := int(u.turn.Add(1))
	var best *server
	seen := 0
	for i := range u.servers {
		s := u.servers[(start+i*stride(u.Balance, len(u.servers)))%len(u.servers)]
		if s == avoid || s.until.Load() > now {
			continue
		}
		if best == nil || s.inFlight.Load() < best.inFlight.Load() {
			best = s
		}
		if seen++; u.Balance == RoundRobin || (u.Balance == TwoChoices && seen == 2) {
			break
		}
	}
	if best == nil {
		best = u.servers[start%len(u.servers)]
	}
	return best
}

// stride spreads the two that TwoChoices compares. All places are visited where it and the number have no common divisor.
func stride(b Balance, n int) int {
	if b == TwoChoices && n%7 != 0 {
		return 7
	}
	return 1
}

// failed counts a connection that could not be made or broke off before an answer.
func (u *Upstream) failed(s *server) {
	if u.Failures > 0 && int(s.failures.Add(1)) >= u.Failures {
		s.failures.Store(0)
		s.until.Store(time.Now().Add(u.Eject).UnixNano())
	}
}

// link is a connection to a server. It serves one client at a time.
type link struct {
	conn
	upstream   *Upstream
	server     *server
	client     *client // nil while it is idle
	connecting bool
	used       bool // it has carried a request before
}

// idle gives the connection to a server that was used last, nil without one.
func (w *worker) idle(s *server) *link {
	spare := s.idle[w.id]
	if len(spare) == 0 {
		return nil
	}
	l := spare[len(spare)-1]
	spare[len(spare)-1] = nil
	s.idle[w.id] = spare[:len(spare)-1]
	w.wheel.stop(&l.timer)
	return l
}

// connect begins a new connection.
func (w *worker) connect(u *Upstream, s *server) (*link, error) {
	fd, err := dial(s.address)
	if err != nil {
		return nil, err
	}
	l := &link{upstream: u, server: s, connecting: true}
	if err := w.join(&l.conn, fd, l); err != nil {
		return nil, err
	}
	w.metrics.connects.Add(1)
	return l, nil
}

// rest keeps a connection for later, unless there are enough.
func (l *link) rest() {
	w := l.w
	spare := l.server.idle[w.id]
	l.client = nil
	l.used = true
	l.in.keep(w)
	if len(spare) >= l.upstream.Keep || w.stopping || l.hung || len(l.in.data) > 0 {
		l.close()
		return
	}
	l.server.idle[w.id] = append(spare, l)
	w.wheel.start(&l.timer, l.upstream.KeepFor)
}

// ready is told by the worker that something has changed.
func (l *link) ready() {
	if l.client != nil {
		l.client.proceed()
		return
	}
	if l.readable || l.hung { // a server says nothing unasked but farewell
		l.retire()
	}
}

func (l *link) expired() {
	if l.client == nil {
		l.retire()
	}
}

// retire closes an idle connection.
func (l *link) retire() {
	spare := l.server.idle[l.w.id]
	for i, other := range spare {
		if other == l {
			l.server.idle[l.w.id] = append(spare[:i], spare[i+1:]...)
			break
		}
	}
	l.close()
}
