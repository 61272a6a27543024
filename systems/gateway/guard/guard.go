// Package guard decides whether a request may go on, before it takes a place: by where it comes from, how often, how large
// it is, and who it says it is from. It does no I/O.
package guard

import (
	"bytes"
	"net/netip"
	"time"

	"faceoff/systems/gateway/wire"
)

// Guard is what a route asks of its requests. What is nil is not asked.
type Guard struct {
	Allow []netip.Prefix // none: from everywhere
	Deny  []netip.Prefix
	Body  int64 // the most bytes; zero: as many as it likes
	Rate  *Rate
	Token *Token
}

// Refusal is why a request does not go on. The zero value is that it does.
type Refusal struct {
	Status int
	Reason string // for people; nothing in it is to be escaped in JSON
}

// Check asks in the order of what it costs. A request whose body's length is not known is measured while it is passed on.
func (g *Guard) Check(r *wire.Request, from netip.Addr, now time.Time) Refusal {
	if !within(g.Allow, from, true) || within(g.Deny, from, false) {
		return Refusal{403, "not from there"}
	}
	if g.Body > 0 && r.Body.Kind == wire.Sized && r.Body.Length > g.Body {
		return Refusal{413, TooLarge}
	}
	if g.Rate != nil && !g.Rate.take(r, from, now) {
		return Refusal{429, "too many requests"}
	}
	if g.Token != nil {
		if reason := g.Token.check(r, now); reason != "" {
			return Refusal{401, reason}
		}
	}
	return Refusal{}
}

// TooLarge is what clients are told whose body is larger than is let in.
const TooLarge = "the body of the request is too large"

func within(networks []netip.Prefix, address netip.Addr, otherwise bool) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return otherwise && len(networks) == 0
}

// From is where a request comes from: the address that it came over, or, where that is trusted, the last in
// X-Forwarded-For that is not.
func From(r *wire.Request, peer netip.Addr, trusted []netip.Prefix) netip.Addr {
	if !within(trusted, peer, false) {
		return peer
	}
	for i := len(r.List) - 1; i >= 0; i-- {
		if r.List[i].ID != wire.XForwardedFor {
			continue
		}
		for rest := r.List[i].Value; len(rest) > 0; {
			var last []byte
			if at := bytes.LastIndexByte(rest, ','); at >= 0 {
				rest, last = rest[:at], rest[at+1:]
			} else {
				rest, last = nil, rest
			}
			address, err := netip.ParseAddr(string(bytes.TrimSpace(last)))
			if err != nil {
				return peer // nobody knows what stands before it
			}
			if peer = address.Unmap(); !within(trusted, peer, false) {
				return peer
			}
		}
	}
	return peer
}
