// Chooses a server for a request: round robin, least requests or two choices, with ejection of
// failing servers and a ramp-up of returning ones. Start reading at Upstream.pick.

package proxy

import "time"

// pick chooses a healthy server. If none is healthy it chooses among all, or returns nil if the
// upstream sheds. avoid is a server that has just failed this request.
func (u *Upstream) pick(avoid *server) *server {
	n := len(u.servers)
	if n == 1 && !u.Shed {
		return u.servers[0]
	}
	now := int64(0)
	if u.Failures > 0 || u.Health != nil {
		now = time.Now().UnixNano()
	}
	start := int(u.turn.Load())
	if avoid == nil {
		// a retry does not advance the turn: the next request would otherwise go to the failed
		// server as well
		start = int(u.turn.Add(1))
	}
	var best *server
	seen := 0
	for i := range n {
		s := u.servers[(start+i*stride(u.Balance, n))%n]
		if s == avoid || !u.usable(s, now, uint32(start)) {
			continue
		}
		if best == nil || s.lessLoaded(best) {
			best = s
		}
		if seen++; u.Balance == RoundRobin || (u.Balance == TwoChoices && seen == 2) {
			break
		}
	}
	if best == nil && !u.Shed {
		best = u.servers[start%n]
	}
	return best
}

// usable reports whether a server takes part in this turn. A server that returns from ejection
// takes part in a growing share of turns.
func (u *Upstream) usable(s *server, now int64, turn uint32) bool {
	back := s.until.Load()
	if s.down.Load() || back > now {
		return false
	}
	if back == 0 || u.Slow == 0 || now-back >= int64(u.Slow) {
		return true
	}
	const parts = 1 << 10
	// Spread evenly, not random.
	return int64(turn*2654435761>>22) < max((now-back)*parts/int64(u.Slow), 1)
}

// lessLoaded reports whether a server has fewer requests in flight than another, relative to their
// weights.
func (s *server) lessLoaded(than *server) bool {
	return int64(s.inFlight.Load())*than.weight < int64(than.inFlight.Load())*s.weight
}

// stride is the distance between the two servers that TwoChoices compares. Every server is visited
// if stride and n have no common divisor.
func stride(b Balance, n int) int {
	if b == TwoChoices && n%7 != 0 {
		return 7
	}
	return 1
}

// recordSuccess ends a run of failures when a server responds. Accepting a connection does not
// count, because the kernel does that even for a hung server.
func (s *server) recordSuccess() {
	if s.failures.Load() != 0 { // shared by all workers, so written rarely
		s.failures.Store(0)
	}
}

// recordFailure counts a connection that could not be made, or that broke off or timed out before a
// response.
func (u *Upstream) recordFailure(s *server) {
	if u.Failures > 0 && int(s.failures.Add(1)) >= u.Failures {
		s.failures.Store(0)
		s.until.Store(time.Now().Add(u.Eject).UnixNano())
	}
}

// recordConnFailure counts a failure of a connection's server, unless it only shows that the server
// does not support HTTP/1.1.
func (u *Upstream) recordConnFailure(uc *upstreamConn) {
	if !uc.plain {
		u.recordFailure(uc.server)
	}
}
