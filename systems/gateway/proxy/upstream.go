package proxy

import (
	"crypto/tls"
	"net/netip"
	"reflect"
	"sync/atomic"
	"time"
)

// Upstream is a service behind the gateway: equal servers, and how much is asked of them at most.
type Upstream struct {
	UpstreamSettings
	servers []*server   // as often as they have weight
	secure  *tls.Config // nil in the clear
	places  *places
	turn    atomic.Uint32
	kept    []int         // idle connections, by worker
	ended   chan struct{} // closed when it is no longer in a table
}

// UpstreamSettings are what the configuration says of an upstream.
type UpstreamSettings struct {
	Name        string
	Servers     []ServerSettings
	Balance     Balance
	Connections int // at most, idle ones among them
	Most        int // requests in flight
	Queue       int // requests that wait for a place
	Wait        time.Duration
	Keep        int           // idle connections that a worker keeps
	KeepFor     time.Duration // shorter than servers keep theirs
	Connect     time.Duration
	Answer      time.Duration // from the end of the request to the head of the answer
	Tunnel      time.Duration // without a byte moving, after an upgrade
	Host        []byte        // what servers are told as Host; nil passes the client's on
	Retries     float64       // repeated requests, as a part of all
	Failures    int           // in a row, after which a server is left alone; zero: never
	Eject       time.Duration // for how long
	Shed        bool          // answer 503 where all servers are left alone, instead of trying them all the same
	Slow        time.Duration // in which a server that comes back gets its full share again
	Health      *Health       // nil asks servers nothing
	TLS         *UpstreamTLS  // nil speaks in the clear
	Framed      bool          // HTTP/2 is spoken, and no other
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
	weight   int64
	inFlight atomic.Int32
	failures atomic.Int32
	until    atomic.Int64  // it is left alone, and comes back then; in Unix nanoseconds
	down     atomic.Bool   // it does not answer when asked how it is
	idle     [][]*link     // by worker; the last was used last
	trunks   [][]*trunk    // by worker; those that carry requests, in HTTP/2
	streams  atomic.Uint32 // that it was last heard to let be open over one of them
}

// NewUpstream makes an upstream for a number of workers.
func NewUpstream(settings UpstreamSettings, workers int) *Upstream {
	u := &Upstream{UpstreamSettings: settings, places: newPlaces(settings), secure: settings.TLS.config(settings.Framed), kept: make([]int, workers), ended: make(chan struct{})}
	for _, s := range settings.Servers {
		one := &server{address: s.Address, weight: int64(max(s.Weight, 1)), idle: make([][]*link, workers), trunks: make([][]*trunk, workers)}
		one.streams.Store(mostLanes)
		for range one.weight {
			u.servers = append(u.servers, one)
		}
	}
	return u
}

// over reports whether the upstream is no longer in a table.
func (u *Upstream) over() bool {
	select {
	case <-u.ended:
		return true
	default:
		return false
	}
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
			u.places.resize(u.Most, settings)
			return after
		}
	}
	return NewUpstream(settings, workers)
}
