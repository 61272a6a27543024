package proxy

import "time"

// pick chooses a server: of those in good health, and of all where none is, or none at all (nil) where the upstream
// would rather shed. avoid is one that was just tried in vain.
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
		start = int(u.turn.Add(1)) // who is sent again takes no turn, or each failure would give its server the next request, too
	}
	var best *server
	seen := 0
	for i := range n {
		s := u.servers[(start+i*stride(u.Balance, n))%n]
		if s == avoid || !u.usable(s, now, uint32(start)) {
			continue
		}
		if best == nil || s.lighter(best) {
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

// usable reports whether a server takes part in this turn. One that comes back takes part more often turn by turn.
func (u *Upstream) usable(s *server, now int64, turn uint32) bool {
	back := s.until.Load()
	if s.down.Load() || back > now {
		return false
	}
	if back == 0 || u.Slow == 0 || now-back >= int64(u.Slow) {
		return true
	}
	const parts = 1 << 10
	return int64(turn*2654435761>>22) < max((now-back)*parts/int64(u.Slow), 1) // scattered, not by chance
}

// lighter reports whether a server has fewer requests in flight than another, each for its weight.
func (s *server) lighter(than *server) bool {
	return int64(s.inFlight.Load())*than.weight < int64(than.inFlight.Load())*s.weight
}

// stride spreads the two that TwoChoices compares. All are visited where it and the number have no common divisor.
func stride(b Balance, n int) int {
	if b == TwoChoices && n%7 != 0 {
		return 7
	}
	return 1
}

// answered ends a row of failures. That a server takes connections does not: its kernel does that, however it is.
func (s *server) answered() {
	if s.failures.Load() != 0 { // it is every worker's, and rarely written
		s.failures.Store(0)
	}
}

// failed counts a connection that could not be made, broke off before an answer, or was too late with it.
func (u *Upstream) failed(s *server) {
	if u.Failures > 0 && int(s.failures.Add(1)) >= u.Failures {
		s.failures.Store(0)
		s.until.Store(time.Now().Add(u.Eject).UnixNano())
	}
}
