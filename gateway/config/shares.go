// Divides the descriptor limit between clients and upstreams. All other limits follow from these
// two shares, so the process cannot run out of descriptors.

package config

import (
	"fmt"
	"os"

	"faceoff/gateway/proxy"
)

// How the descriptors are divided.
const (
	// reserved is for descriptors other than sockets of clients and servers: standard streams, the
	// listener, epoll and eventfd of each worker, admin connections, and files.
	reserved = 32

	// minimum is the least limit that leaves both shares a useful size.
	minimum = 64

	// maxOutbound keeps the connections to one address well below the number of ephemeral ports
	// (28,232 by default on Linux). These run out before a large descriptor limit does.
	maxOutbound = 16384
)

// Shares are the descriptors for clients and for connections to upstreams.
type Shares struct{ Inbound, Outbound int }

// divide divides a descriptor limit: after the reserve, a third is outbound and the rest inbound.
// Inbound is larger, because a client that is idle, queued or being refused holds only an inbound
// descriptor.
func divide(limit uint64) (Shares, error) {
	if limit < minimum {
		return Shares{}, fmt.Errorf("the descriptor limit is %d, at least %d are needed", limit,
			minimum)
	}
	free := int(min(limit, 1<<20)) - reserved
	outbound := min(free/3, maxOutbound)
	return Shares{Inbound: free - outbound, Outbound: outbound}, nil
}

// bound gives an upstream its part of the outbound descriptors. Each worker has idle connections of
// its own, so room is reserved for those of the other workers: connections in flight and idle ones
// together stay within the part.
func (c *Config) bound(u table, s *proxy.UpstreamSettings, share float64) {
	connections := int(float64(c.Shares.Outbound) * share)
	s.Connections, s.Keep = connections, connections
	workers := c.Server.Workers
	if workers > 1 {
		s.Keep = connections / (2 * workers)
	}
	most := connections - (workers-1)*s.Keep
	if most < 1 {
		u.problem(u.nodeOf("share"), "raise its share, or the limit with ulimit -n",
			"no descriptors are left for upstream %q", s.Name)
		return
	}
	s.Most = u.count("requests", most, 1, most)
	s.Shares = c.clientShares
}

// readBuffers reads the limits on slow readers, and the shares of each client.
func (c *Config) readBuffers(limits table) {
	c.Server.Busy = int64(limits.size("busy", 16<<10, 0, 1<<30))
	c.Server.Buffer = int64(limits.size("buffer", 32<<20, 0, 1<<40))
	if limits.has("spill") {
		spill := limits.table("spill", "folder", "size")
		c.Server.SpillFolder = spill.text("folder", os.TempDir(), "/var/tmp")
		c.Server.SpillSize = int64(spill.size("size", 1<<30, 1<<20, 1<<50))
		if info, err := os.Stat(c.Server.SpillFolder); err != nil || !info.IsDir() {
			spill.problem(spill.nodeOf("folder"),
				"name an existing folder that the gateway can write to",
				"`limits.spill.folder` is %q, which is not a folder", c.Server.SpillFolder)
		}
	}
	share := limits.table("share", "connection", "client")
	c.clientShares = proxy.Shares{Client: 0.875, Connection: 0.25}
	if part, ok := share.share("client", 0.01); ok {
		c.clientShares.Client = part
	}
	if part, ok := share.share("connection", 0.01); ok {
		c.clientShares.Connection = part
	}
}
