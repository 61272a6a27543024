// CORS: which pages of other origins may use a route, and the response to preflights.

package headers

import (
	"bytes"
	"strings"

	"faceoff/gateway/wire"
)

// Cors lets pages of other origins use a route (CORS protocol of the Fetch standard). It replaces
// the upstream's CORS fields.
type Cors struct {
	Any         bool     // any origin; Origins is empty then
	Origins     []string // as browsers write them; "https://*.shop.example" covers all subdomains
	Methods     string   // for preflights, as a list
	Headers     string   // for preflights, as a list; empty allows those requested
	Expose      string   // response fields that pages may read, as a list
	Age         string   // how long a preflight is valid, in seconds
	Credentials bool     // allow cookies and other credentials
}

// maxAsked is the longest list of requested fields that a preflight's response repeats.
const maxAsked = 1 << 10

// corsFields are the response fields that only the gateway writes.
var corsFields = []string{
	"access-control-allow-origin", "access-control-allow-credentials",
	"access-control-allow-methods", "access-control-allow-headers", "access-control-expose-headers",
	"access-control-max-age",
}

// Wanted returns the method that a preflight asks for, or nil if the request is no preflight.
func Wanted(r *wire.Request) []byte {
	if string(r.Method) != "OPTIONS" || r.Only("origin") == nil {
		return nil
	}
	return r.Only("access-control-request-method")
}

// cors adds the response fields for a page of another origin. Without them browsers withhold the
// response.
func (e *Edits) cors(rules *Cors, r *wire.Request) {
	e.Preflight = Wanted(r) != nil
	f := &e.Answer
	f.Drop = append(f.Drop, corsFields...)
	origin := r.Only("origin")
	if !rules.Any {
		// Even if the origin is not allowed: the response to another differs.
		f.add("Vary", "Origin")
	}
	if len(origin) == 0 || !rules.lets(origin) {
		return
	}
	if rules.Any {
		f.add("Access-Control-Allow-Origin", "*")
	} else {
		f.add("Access-Control-Allow-Origin", string(origin))
	}
	if rules.Credentials {
		f.add("Access-Control-Allow-Credentials", "true")
	}
	if !e.Preflight {
		if rules.Expose != "" {
			f.add("Access-Control-Expose-Headers", rules.Expose)
		}
		return
	}
	f.add("Access-Control-Allow-Methods", rules.Methods)
	asked := r.Only("access-control-request-headers")
	switch {
	case rules.Headers != "":
		f.add("Access-Control-Allow-Headers", rules.Headers)
	case len(asked) > 0 && len(asked) <= maxAsked:
		f.add("Vary", "Access-Control-Request-Headers")
		f.add("Access-Control-Allow-Headers", string(asked))
	}
	if rules.Age != "" {
		f.add("Access-Control-Max-Age", rules.Age)
	}
}

// lets reports whether an origin is allowed. Browsers write origins in lower case, so they are
// compared as they are.
func (c *Cors) lets(origin []byte) bool {
	if c.Any {
		return true
	}
	for _, known := range c.Origins {
		scheme, domain, below := strings.Cut(known, "*")
		if !below {
			if string(origin) == known {
				return true
			}
			continue
		}
		rest, found := bytes.CutPrefix(origin, []byte(scheme))
		if !found {
			continue
		}
		if name, found := bytes.CutSuffix(rest, []byte(domain)); found && isName(name) {
			return true
		}
	}
	return false
}

// isName reports whether text is a complete host name or label, not the end of a longer one.
func isName(text []byte) bool {
	for _, b := range text {
		if !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '.') {
			return false
		}
	}
	return len(text) > 0 && text[0] != '.' && text[len(text)-1] != '.'
}

// add adds a field, and keeps others of the same name.
func (f *Fields) add(name, value string) {
	f.Lines = append(f.Lines, name...)
	f.Lines = append(f.Lines, ": "...)
	f.Lines = append(f.Lines, value...)
	f.Lines = append(f.Lines, "\r\n"...)
}
