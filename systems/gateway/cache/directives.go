package cache

import (
	"bytes"
	"net/http"
	"time"

	"faceoff/systems/gateway/wire"
)

// directives are what Cache-Control says (RFC 9111, 5.2), of requests and of answers. Of those that stand twice the stricter one holds.
type directives struct {
	noStore, noCache, private, public, must, mustProxy, onlyIfCached bool

	maxAge, shared, minFresh, maxStale int64 // seconds; unsaid where they are not there
}

const (
	unsaid  = -1
	forever = 1 << 31 // RFC 9111, 1.2.2
)

func read(f *wire.Fields) directives {
	d := directives{maxAge: unsaid, shared: unsaid, minFresh: unsaid, maxStale: unsaid}
	said := false
	for i := range f.List {
		if wire.Equal(f.List[i].Name, "cache-control") {
			said = true
			for element, rest := cut(f.List[i].Value); len(element)+len(rest) > 0; element, rest = cut(rest) {
				d.add(element)
			}
		}
	}
	if !said && wire.HasOption(f.Only("pragma"), "no-cache") { // 5.4
		d.noCache = true
	}
	return d
}

// neverStale reports whether an answer may not be sent when it is older than it says (5.2.2.2, 5.2.2.8, 5.2.2.10).
func (d *directives) neverStale() bool { return d.must || d.mustProxy || d.shared != unsaid }

func (d *directives) add(element []byte) {
	name, value, valued := bytes.Cut(element, []byte("="))
	switch {
	case wire.Equal(name, "no-store"):
		d.noStore = true
	case wire.Equal(name, "no-cache"): // of some fields, too, which are more than need be
		d.noCache = true
	case wire.Equal(name, "private"):
		d.private = true
	case wire.Equal(name, "public"):
		d.public = true
	case wire.Equal(name, "must-revalidate"):
		d.must = true
	case wire.Equal(name, "proxy-revalidate"):
		d.mustProxy = true
	case wire.Equal(name, "only-if-cached"):
		d.onlyIfCached = true
	case wire.Equal(name, "max-age"):
		least(&d.maxAge, seconds(value, 0))
	case wire.Equal(name, "s-maxage"):
		least(&d.shared, seconds(value, 0))
	case wire.Equal(name, "min-fresh"):
		d.minFresh = max(d.minFresh, seconds(value, forever))
	case wire.Equal(name, "max-stale") && !valued:
		least(&d.maxStale, forever)
	case wire.Equal(name, "max-stale"):
		least(&d.maxStale, seconds(value, 0))
	}
}

func least(to *int64, n int64) {
	if *to == unsaid || n < *to {
		*to = n
	}
}

// seconds reads a number of them (1.2.2). What is none counts as what is safe.
func seconds(text []byte, safe int64) int64 {
	text = bytes.Trim(text, `"`)
	if len(text) == 0 {
		return safe
	}
	n := int64(0)
	for _, b := range text {
		if b < '0' || b > '9' {
			return safe
		}
		n = min(n*10+int64(b-'0'), forever)
	}
	return n
}

// cut splits off the first element of a list, within whose quotes commas may stand.
func cut(list []byte) (element, rest []byte) {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch {
		case quoted && list[i] == '\\':
			i++
		case list[i] == '"':
			quoted = !quoted
		case list[i] == ',' && !quoted:
			return bytes.Trim(list[:i], " \t"), list[i+1:]
		}
	}
	return bytes.Trim(list, " \t"), nil
}

// moment is the time that a field tells, if it is there once and is one.
func moment(f *wire.Fields, name string) (time.Time, bool) {
	at, err := http.ParseTime(string(f.Only(name)))
	return at, err == nil
}

// has reports whether there is a field, in lower case.
func has(f *wire.Fields, name string) bool {
	for i := range f.List {
		if wire.Equal(f.List[i].Name, name) {
			return true
		}
	}
	return false
}

// joined is the value of all lines of a field (RFC 9110, 5.3), but for one that Connection names: whoever is asked does not see it.
func joined(f *wire.Fields, name string) string {
	var all []byte
	for i := range f.List {
		if wire.Equal(f.List[i].Name, name) && !f.List[i].EndsHere() {
			if len(all) > 0 {
				all = append(all, ", "...)
			}
			all = append(all, f.List[i].Value...)
		}
	}
	return string(all)
}
