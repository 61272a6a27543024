// An upstream with its servers and settings. After a reload an unchanged upstream is kept, and a
// changed one keeps its limiter.

package proxy

import (
	"crypto/tls"
	"net/netip"
	"reflect"
	"sync/atomic"
	"time"
)

// Upstream is a service behind the gateway: equivalent servers, and limits.
type Upstream struct {
	UpstreamSettings
	servers     []*server   // each as often as its weight
	secure      *tls.Config // nil without TLS
	secureHTTP1 *tls.Config // for WebSocket over HTTP/1.1, if secure is for HTTP/2
	limiter     *limiter
	turn        atomic.Uint32
	kept        []int         // number of idle connections, by worker
	ended       chan struct{} // closed when the upstream leaves the table
}

// UpstreamSettings is the configuration of an upstream.
type UpstreamSettings struct {
	Name        string
	Servers     []ServerSettings
	Balance     Balance
	Connections int // limit, idle connections included
	Most        int // requests in flight
	Shares      Shares
	Queue       int // requests that wait for a slot
	Wait        time.Duration
	Keep        int           // idle connections per worker
	KeepFor     time.Duration // shorter than the servers' own timeout
	Connect     time.Duration
	Answer      time.Duration // from the end of the request to the head of the response
	Tunnel      time.Duration // without progress in a tunnel
	Host        []byte        // for the servers; nil passes on the client's
	Retries     float64       // as a fraction of all requests
	Failures    int           // consecutive ones that eject a server; zero: never
	Eject       time.Duration // how long a server is ejected
	Shed        bool          // respond 503 if all servers are ejected, instead of trying them
	Slow        time.Duration // in which a returning server ramps up to its full share
	Health      *Health       // nil: no health checks
	TLS         *UpstreamTLS  // nil: no TLS
	HTTP2       bool          // speak HTTP/2 only
}

// ServerSettings is the configuration of a server.
type ServerSettings struct {
	Address netip.AddrPort
	Weight  int
}

// Balance is how a server is chosen.
type Balance uint8

const (
	RoundRobin Balance = iota
	LeastRequests
	TwoChoices
)

// server is one address. All workers share its counters; each worker has its own idle connections.
type server struct {
	address     netip.AddrPort
	weight      int64
	inFlight    atomic.Int32
	failures    atomic.Int32
	until       atomic.Int64      // end of its ejection, in Unix ns
	down        atomic.Bool       // it fails its health checks
	idle        [][]*upstreamConn // by worker; the last was used most recently
	h2Conns     [][]*upstreamH2   // by worker; HTTP/2 connections with requests
	noWebSocket atomic.Bool       // its HTTP/2 has no WebSocket (RFC 8441)
	streams     atomic.Uint32     // limit of streams that it last announced
}

// NewUpstream creates an upstream for a number of workers.
func NewUpstream(settings UpstreamSettings, workers int) *Upstream {
	u := &Upstream{
		UpstreamSettings: settings,
		limiter:          newLimiter(settings),
		secure:           settings.TLS.config(settings.HTTP2),
		kept:             make([]int, workers),
		ended:            make(chan struct{}),
	}
	if settings.HTTP2 {
		u.secureHTTP1 = settings.TLS.config(false)
	}
	for _, s := range settings.Servers {
		one := &server{
			address: s.Address,
			weight:  int64(max(s.Weight, 1)),
			idle:    make([][]*upstreamConn, workers),
			h2Conns: make([][]*upstreamH2, workers),
		}
		one.streams.Store(maxStreamsPerConn)
		for range one.weight {
			u.servers = append(u.servers, one)
		}
	}
	return u
}

// retired reports whether the upstream has left the table.
func (u *Upstream) retired() bool {
	select {
	case <-u.ended:
		return true
	default:
		return false
	}
}

// Keep returns the upstream with these settings for a new table: the existing one if nothing has
// changed. If something has, the new upstream keeps the limiter, so that requests in flight still
// count.
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
			after.limiter = u.limiter
			u.limiter.resize(u.Most, settings)
			return after
		}
	}
	return NewUpstream(settings, workers)
}
