// Finds the client's address behind trusted proxies. Guards depend on it, so an address that cannot
// be read is invalid rather than guessed. Start reading at ClientAddress.

package guard

import (
	"bytes"
	"net/netip"
	"slices"

	"faceoff/gateway/wire"
)

// ClientAddress returns the client's address: that of the connection, unless it is trusted. Behind
// trusted proxies it is the last address in X-Forwarded-For, Forwarded (RFC 7239) or X-Real-IP that
// is not itself trusted. The address is invalid if it cannot be read, or if these fields name
// different clients.
func ClientAddress(r *wire.Request, peer netip.Addr, trusted []netip.Prefix) netip.Addr {
	peer = Plain(peer)
	if !within(trusted, peer, false) {
		return peer
	}
	from, named := peer, false
	for _, one := range [...]struct {
		id   wire.ID
		node func(element []byte) []byte
	}{{wire.XForwardedFor, bytes.TrimSpace}, {wire.Forwarded, forwardedFor}, {wire.ClientIP, bytes.TrimSpace}} {
		if !r.Has(one.id) {
			continue
		}
		address, state := last(r, one.id, one.node, trusted)
		switch {
		case state == silent, state == inside && named:
		case state == unreadable, named && address != from && !within(trusted, from, false):
			return netip.Addr{}
		default:
			from, named = address, true
		}
	}
	return from
}

// Plain returns an address without a zone, with IPv4 for one that maps IPv4, so that it can be
// compared with networks.
func Plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// state is the result of reading a field in which proxies name clients.
type state uint8

const (
	silent     state = iota // it names no client
	inside                  // it names only trusted proxies
	outside                 // it names a client
	unreadable              // it names one that cannot be read
)

// last returns the last address in a field that is not trusted, or the first address if all are
// trusted.
func last(
	r *wire.Request,
	id wire.ID,
	node func([]byte) []byte,
	trusted []netip.Prefix,
) (netip.Addr, state) {
	var address netip.Addr
	state, mute := silent, false
	for i := len(r.List) - 1; i >= 0; i-- {
		field := &r.List[i]
		if field.ID != id || (id == wire.ClientIP && !wire.Equal(field.Name, "x-real-ip")) {
			continue
		}
		if state == silent && id != wire.Forwarded {
			state = unreadable // unless an address follows
		}
		for _, element := range slices.Backward(elements(field.Value)) {
			if len(bytes.TrimSpace(element)) == 0 {
				continue // RFC 9110, 5.6.1.2
			}
			text := node(element)
			if text == nil && state == silent {
				mute = true // an element of Forwarded without `for`
				continue
			}
			var ok bool
			if address, ok = readNode(text); !ok || mute {
				return address, unreadable
			}
			if !within(trusted, address, false) {
				return address, outside
			}
			state = inside
		}
	}
	return address, state
}

// elements splits a list once: a client may send a long list of commas.
func elements(list []byte) [][]byte {
	all := make([][]byte, 0, 1+bytes.Count(list, []byte(",")))
	for len(list) > 0 {
		var element []byte
		element, list = wire.Cut(list, ',')
		all = append(all, element)
	}
	return all
}

// forwardedFor returns the value of `for` in an element of Forwarded, or nil.
func forwardedFor(element []byte) []byte {
	for len(element) > 0 {
		var pair []byte
		pair, element = wire.Cut(element, ';')
		name, value, _ := bytes.Cut(bytes.TrimSpace(pair), []byte("="))
		if wire.Equal(bytes.TrimSpace(name), "for") {
			value = bytes.TrimSpace(value)
			if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
				value = value[1 : n-1]
			}
			return append([]byte{}, value...) // not nil if it is empty
		}
	}
	return nil
}

// readNode reads an address as proxies write it: alone, with a port, or in brackets.
func readNode(text []byte) (netip.Addr, bool) {
	if len(text) > maxNode {
		return netip.Addr{}, false
	}
	node := string(text)
	if address, err := netip.ParseAddr(node); err == nil {
		return Plain(address), true
	}
	if pair, err := netip.ParseAddrPort(node); err == nil {
		return Plain(pair.Addr()), true
	}
	if n := len(node); n > 2 && node[0] == '[' && node[n-1] == ']' {
		if address, err := netip.ParseAddr(node[1 : n-1]); err == nil && address.Is6() {
			return Plain(address), true
		}
	}
	return netip.Addr{}, false
}

// maxNode is longer than any address with a zone, brackets and a port.
const maxNode = 128
