package main

import (
	"fmt"
	"syscall"
)

// How the descriptors are shared.
const (
	// reserved descriptors are nobody's share: standard streams, the listener, epoll and
	// its wake-up, a resolver's files, the one connection that waits at the door, and
	// sockets whose closing is not over yet though their place is free again.
	reserved = 32

	// minimum is the least limit that leaves both shares a useful size.
	minimum = 64

	// mostOutbound keeps the connections to one upstream address well below the number
	// of ephemeral ports (28,232 by default on Linux), which run out before a large
	// descriptor limit does.
	mostOutbound = 16384
)

// shares are the numbers of descriptors for each side of the proxy.
type shares struct {
	inbound  int // connections of clients
	outbound int // connections to the upstream, and so requests in flight there
}

// divide shares out a descriptor limit: after the reserve, one third is outbound and the
// rest inbound. Inbound is larger since a client that is idle, or waits for its turn
// outbound, or is being told 503, holds an inbound descriptor only.
func divide(limit uint64) (shares, error) {
	if limit < minimum {
		return shares{}, fmt.Errorf("the descriptor limit is %d, at least %d are needed: raise it with ulimit -n", limit, minimum)
	}
	// A limit may be "infinity"; more than this is never open at once.
	free := int(min(limit, 1<<20)) - reserved
	outbound := min(free/3, mostOutbound)
	return shares{inbound: free - outbound, outbound: outbound}, nil
}

// descriptorLimit is the process's own limit. The Go runtime has raised the soft limit to
// the hard one by now, so both must be set to hold this process to a lower number.
func descriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the descriptor limit: %w", err)
	}
	return uint64(limit.Cur), nil //nolint:unconvert // FreeBSD has it signed
}
