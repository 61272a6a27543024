// Divides the descriptor limit between clients and the upstream.

package main

import (
	"fmt"
	"syscall"
)

const (
	reserved     = 32    // not for sockets: standard streams, listener, epoll, closing sockets
	minimum      = 64    // the least limit that leaves both shares a useful size
	mostOutbound = 16384 // well below the number of ephemeral ports to one address
)

// shares are the descriptors for each side of the proxy.
type shares struct{ inbound, outbound int }

// divide divides a descriptor limit as proxy-gin does: after the reserve a third is outbound, the
// rest inbound.
func divide(limit uint64) (shares, error) {
	if limit < minimum {
		return shares{}, fmt.Errorf(
			"the descriptor limit is %d, at least %d are needed: raise it with ulimit -n",
			limit,
			minimum,
		)
	}
	free := int(min(limit, 1<<20)) - reserved // a limit may be "infinity"
	outbound := min(free/3, mostOutbound)
	return shares{inbound: free - outbound, outbound: outbound}, nil
}

// descriptorLimit returns the process's soft limit. Go has raised it to the hard limit.
func descriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the descriptor limit: %w", err)
	}
	return uint64(limit.Cur), nil //nolint:unconvert // FreeBSD has it signed
}
