package cache

import (
	"bytes"
	"net/http"

	"faceoff/systems/gateway/wire"
)

// Wish is what a request says of how it may be answered.
type Wish struct {
	Bypass bool // it is neither answered from what is stored nor is its answer stored
	Unsafe bool // its success makes stored answers invalid (RFC 9111, 4.4)
	Only   bool // it wants no answer of the upstream (5.2.1.7)
	said   directives
}

// WishOf reads a request.
func WishOf(r *wire.Request) Wish {
	w := Wish{said: read(&r.Fields)}
	switch string(r.Method) {
	case "GET", "HEAD":
	case "OPTIONS", "TRACE":
		w.Bypass = true
	default:
		w.Bypass, w.Unsafe = true, true
	}
	// Parts of an answer are not stored, and what they are asked for is the upstream's business, as are conditions for writing.
	for _, name := range []string{"range", "if-match", "if-unmodified-since", "if-range"} {
		w.Bypass = w.Bypass || has(&r.Fields, name)
	}
	w.Bypass = w.Bypass || r.Body.Kind != wire.None || r.Upgrade != nil || w.said.noStore
	w.Only = w.said.onlyIfCached && !w.Bypass
	return w
}

// NoCache reports whether the request wants the upstream to be asked (5.2.1.4).
func (w *Wish) NoCache() bool { return w.said.noCache }

// unchanged reports whether a client has what is stored (RFC 9110, 13.1.2, 13.1.3; RFC 9111, 4.3.2).
func (e *Entry) unchanged(r *wire.Request) bool {
	if e.status != 200 {
		return false
	}
	if has(&r.Fields, "if-none-match") {
		if len(e.etag) == 0 {
			return false
		}
		for i := range r.List {
			if !wire.Equal(r.List[i].Name, "if-none-match") {
				continue
			}
			for one, rest := cut(r.List[i].Value); len(one)+len(rest) > 0; one, rest = cut(rest) {
				if string(one) == "*" || sameTag(one, e.etag) {
					return true
				}
			}
		}
		return false
	}
	since, ok := moment(&r.Fields, "if-modified-since")
	modified, err := http.ParseTime(string(e.modified))
	return ok && err == nil && !modified.After(since)
}

// sameTag compares as If-None-Match does: weakly (RFC 9110, 8.8.3.2).
func sameTag(a, b []byte) bool {
	return bytes.Equal(bytes.TrimPrefix(a, []byte("W/")), bytes.TrimPrefix(b, []byte("W/")))
}
