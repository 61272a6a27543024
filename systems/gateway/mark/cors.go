package mark

import (
	"bytes"
	"strings"

	"faceoff/systems/gateway/wire"
)

// Cors lets pages of other origins use a route, as the Fetch standard has it (CORS protocol). What the upstream says of
// it does not go on.
type Cors struct {
	Any         bool     // origin at all; Origins are none then
	Origins     []string // as browsers write them; "https://*.shop.example" is every name below
	Methods     string   // those that a preflight is told, as a list
	Headers     string   // the same of fields; empty for those that it asks about
	Expose      string   // fields of answers that pages may read, as a list
	Age         string   // how long a preflight holds, in seconds
	Credentials bool     // cookies and the like may be sent
}

// longestAsked is how much of the fields that a preflight asks about is said again.
const longestAsked = 1 << 10

// told are the fields of answers that only the gateway writes.
var told = []string{
	"access-control-allow-origin", "access-control-allow-credentials", "access-control-allow-methods", "access-control-allow-headers",
	"access-control-expose-headers", "access-control-max-age",
}

// Wanted is the method about which a preflight asks, nil where a request is none.
func Wanted(r *wire.Request) []byte {
	if string(r.Method) != "OPTIONS" || r.Only("origin") == nil {
		return nil
	}
	return r.Only("access-control-request-method")
}

// cors gives the answer what a page of another origin must be told. Without its permission browsers keep the answer from it.
func (m *Mark) cors(rules *Cors, r *wire.Request) {
	m.Preflight = Wanted(r) != nil
	f := &m.Answer
	f.Drop = append(f.Drop, told...)
	origin := r.Only("origin")
	if !rules.Any {
		f.add("Vary", "Origin") // also where it is not let in: the answer to another would differ
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
	if !m.Preflight {
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
	case len(asked) > 0 && len(asked) <= longestAsked:
		f.add("Vary", "Access-Control-Request-Headers")
		f.add("Access-Control-Allow-Headers", string(asked))
	}
	if rules.Age != "" {
		f.add("Access-Control-Max-Age", rules.Age)
	}
}

// lets reports whether pages of an origin are let in. An origin is compared as it is: browsers write it in lower case.
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

// isName reports whether text is a name, or several with dots between, and so cannot be the end of another's.
func isName(text []byte) bool {
	for _, b := range text {
		if !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '.') {
			return false
		}
	}
	return len(text) > 0 && text[0] != '.' && text[len(text)-1] != '.'
}

// add adds a field beside others of its name.
func (f *Fields) add(name, value string) {
	f.Lines = append(f.Lines, name...)
	f.Lines = append(f.Lines, ": "...)
	f.Lines = append(f.Lines, value...)
	f.Lines = append(f.Lines, "\r\n"...)
}
