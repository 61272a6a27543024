package config

import (
	"fmt"

	"faceoff/systems/gateway/proxy"
)

// How the descriptors are shared.
const (
	// reserved descriptors are nobody's share: standard streams, the listener, epoll and a bell for each worker, the
	// admin's connections, files that are read.
	reserved = 32

	// minimum is the least limit that leaves both shares a useful size.
	minimum = 64

	// mostOutbound keeps the connections to one address well below the number of ephemeral ports (28,232 by default on
	// Linux), which run out before a large descriptor limit does.
	mostOutbound = 16384
)

// Shares are the descriptors for each side: clients, and connections to upstreams.
type Shares struct{ Inbound, Outbound int }

// divide shares out a descriptor limit: after the reserve, a third is outbound and the rest inbound. Inbound is larger
// since a client that is idle, or waits for its turn, or is told 503, holds an inbound descriptor only.
func divide(limit uint64) (Shares, error) {
	if limit < minimum {
		return Shares{}, fmt.Errorf("the descriptor limit is %d, at least %d are needed", limit, minimum)
	}
	free := int(min(limit, 1<<20)) - reserved
	outbound := min(free/3, mostOutbound)
	return Shares{Inbound: free - outbound, Outbound: outbound}, nil
}

// bound gives an upstream its part of the outbound descriptors. A worker's idle connections are its own, so that with
// several workers room is left for what the others keep: whatever comes, in flight and idle together stay within it.
func (c *Config) bound(u table, s *proxy.UpstreamSettings, share float64) {
	connections := int(float64(c.Shares.Outbound) * share)
	s.Connections, s.Keep = connections, connections
	workers := c.Server.Workers
	if workers > 1 {
		s.Keep = connections / (2 * workers)
	}
	most := connections - (workers-1)*s.Keep
	if most < 1 {
		u.problem(u.at("share"), "raise its share, or the limit with ulimit -n", "upstream %q is left without a descriptor", s.Name)
		return
	}
	s.Most = u.count("requests", most, 1, most)
}
