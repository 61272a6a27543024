// Limits one client, and one HTTP/2 connection, to a share of an upstream's slots and queue.

package proxy

import (
	"encoding/binary"
	"math"
	"net/netip"
)

// Shares are the fractions of an upstream's slots that one client may take at a time. Zero is no
// limit.
type Shares struct {
	Client     float64 // of an address; in IPv6, of its /64 network
	Connection float64 // of an HTTP/2 connection, unless more than half of the slots are free
}

// holders counts the slots of each client and of each HTTP/2 connection.
type holders struct {
	clients  map[uint64]int
	sessions map[*clientH2]int
}

func newHolders() holders { return holders{map[uint64]int{}, map[*clientH2]int{}} }

// holderKey returns the key for an address: all of IPv4, and the first 64 bits of IPv6.
func holderKey(address netip.Addr) uint64 {
	text := address.As16()
	if address.Is4() {
		return binary.BigEndian.Uint64(text[8:])
	}
	return binary.BigEndian.Uint64(text[:8])
}

// add counts slots that a client has taken or returned.
func (h *holders) add(c *client, n int) {
	count(h.clients, holderKey(c.from), n)
	if c.stream != nil {
		count(h.sessions, c.stream.session, n)
	}
}

func count[K comparable](of map[K]int, key K, n int) {
	if n += of[key]; n > 0 {
		of[key] = n
	} else {
		delete(of, key)
	}
}

// atShare reports whether a client has its share of the slots. The caller holds the lock.
func (l *limiter) atShare(c *client) bool {
	return l.reachedShare(&l.holders, c, l.total, 2*l.free > l.total)
}

// atQueueShare reports whether a client has its share of the queue. The caller holds the lock.
func (l *limiter) atQueueShare(c *client) bool {
	return l.maxQueued > 0 && l.reachedShare(&l.waiting, c, l.maxQueued, false)
}

// reachedShare reports whether a client has its share of all. If empty, a connection may exceed its
// share. Trusted proxies carry the requests of many clients, so they and their connections have no
// limit.
func (l *limiter) reachedShare(of *holders, c *client, all int, empty bool) bool {
	share := &l.shares
	if share.Client > 0 && !(c.trusted && c.from == c.peer) &&
		of.clients[holderKey(c.from)] >= part(all, share.Client) {
		return true
	}
	return share.Connection > 0 && !c.trusted && c.stream != nil && !empty &&
		of.sessions[c.stream.session] >= part(all, share.Connection)
}

// part returns how many a share is, one at least.
func part(all int, share float64) int { return max(int(math.Ceil(float64(all)*share)), 1) }
