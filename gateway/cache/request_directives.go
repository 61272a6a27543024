// What a request says about caching, and whether the client already has the stored response.

package cache

import (
	"bytes"
	"net/http"

	"faceoff/gateway/wire"
)

// RequestDirectives is what a request says about caching.
type RequestDirectives struct {
	Bypass  bool // use no stored response, and store none
	Unsafe  bool // success invalidates stored responses (RFC 9111, 4.4)
	Only    bool // do not ask the upstream (5.2.1.7)
	control cacheControl
}

// ReadRequestDirectives reads the directives of a request.
func ReadRequestDirectives(r *wire.Request) RequestDirectives {
	w := RequestDirectives{control: readCacheControl(&r.Fields)}
	switch string(r.Method) {
	case "GET", "HEAD":
	case "OPTIONS", "TRACE":
		w.Bypass = true
	default:
		w.Bypass, w.Unsafe = true, true
	}
	// Partial responses are not stored. Range requests and conditional writes are for the upstream.
	for _, name := range []string{"range", "if-match", "if-unmodified-since", "if-range"} {
		w.Bypass = w.Bypass || has(&r.Fields, name)
	}
	w.Bypass = w.Bypass || r.Body.Kind != wire.None || r.Upgrade != nil || w.control.noStore
	w.Only = w.control.onlyIfCached && !w.Bypass
	return w
}

// NoCache reports whether the request wants the upstream to be asked (5.2.1.4).
func (w *RequestDirectives) NoCache() bool { return w.control.noCache }

// unchanged reports whether a client already has the stored response (RFC 9110, 13.1.2, 13.1.3; RFC
// 9111, 4.3.2).
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

// sameTag compares entity tags weakly, as If-None-Match does (RFC 9110, 8.8.3.2).
func sameTag(a, b []byte) bool {
	return bytes.Equal(bytes.TrimPrefix(a, []byte("W/")), bytes.TrimPrefix(b, []byte("W/")))
}
