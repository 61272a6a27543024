// Package guard decides whether a request may go on, before it takes a slot: by its address, its
// rate, the size of its body, and its token. It does no I/O.
//
// Start reading at Guard.Check.
package guard

import (
	"net/netip"
	"time"

	"faceoff/gateway/wire"
)

// Guard holds the checks of a route. A nil check passes.
type Guard struct {
	Allow []netip.Prefix // empty: from everywhere
	Deny  []netip.Prefix
	Body  int64 // in bytes; zero for no limit
	Rate  *Rate
	Token *Token
}

// Refusal is why a request is refused. The zero value lets it pass.
type Refusal struct {
	Status int
	Reason string // for people; it needs no escaping in JSON
}

// Check runs the cheapest checks first. If from is invalid, because forwarding fields cannot be
// read, every check that depends on it refuses the request. A body of unknown length is measured
// while it is passed on.
func (g *Guard) Check(r *wire.Request, from netip.Addr, now time.Time) Refusal {
	if !from.IsValid() &&
		(len(g.Allow) > 0 || len(g.Deny) > 0 || (g.Rate != nil && g.Rate.Key == "")) {
		return Refusal{403, "the client's address cannot be read"}
	}
	if !within(g.Allow, from, true) || within(g.Deny, from, false) {
		return Refusal{403, "this address is not allowed"}
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

// TooLarge is the message for a body above the limit.
const TooLarge = "the body of the request is too large"

func within(networks []netip.Prefix, address netip.Addr, otherwise bool) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return otherwise && len(networks) == 0
}
