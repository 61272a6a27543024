// Divides the descriptor limit between clients and the upstream, so that the process cannot run out
// of descriptors.

package main

import (
	"fmt"
	"syscall"
)

// How the descriptors are divided.
const (
	// reserved is for descriptors other than sockets: standard streams, the listener, epoll and its
	// wake-up, a resolver's files, the one connection that waits for a slot, and sockets that are
	// still closing.
	reserved = 32

	// minimum is the least limit that leaves both shares a useful size.
	minimum = 64

	// mostOutbound keeps the connections to one upstream address well below the number of ephemeral
	// ports (28,232 by default on Linux). These run out before a large descriptor limit does.
	mostOutbound = 16384
)

// shares are the descriptors for each side of the proxy.
type shares struct {
	inbound  int // connections of clients
	outbound int // connections to the upstream, and so requests in flight
}

// divide divides a descriptor limit: after the reserve, one third is outbound and the rest inbound.
// Inbound is larger, because a client that is idle, queued or being refused holds only an inbound
// descriptor.
func divide(limit uint64) (shares, error) {
	if limit < minimum {
		return shares{}, fmt.Errorf(
			"the descriptor limit is %d, at least %d are needed: raise it with ulimit -n",
			limit,
			minimum,
		)
	}
	// A limit may be "infinity"; more than this is never open at once.
	free := int(min(limit, 1<<20)) - reserved
	outbound := min(free/3, mostOutbound)
	return shares{inbound: free - outbound, outbound: outbound}, nil
}

// descriptorLimit returns the process's soft limit. The Go runtime has raised it to the hard limit,
// so set both to limit this process.
func descriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the descriptor limit: %w", err)
	}
	return uint64(limit.Cur), nil //nolint:unconvert // FreeBSD has it signed
}
