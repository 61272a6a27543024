// Parses Cache-Control and the other fields that caching depends on. Every function returns the
// safe value for invalid input.

package cache

import (
	"bytes"
	"net/http"
	"time"

	"faceoff/gateway/wire"
)

// cacheControl holds the directives of Cache-Control (RFC 9111, 5.2), of a request or a response.
// Of a repeated directive the stricter value counts.
type cacheControl struct {
	noStore, noCache, private, public, must, mustProxy, onlyIfCached bool

	maxAge, shared, minFresh, maxStale int64 // in seconds, or unset
}

const (
	unset   = -1
	forever = 1 << 31 // RFC 9111, 1.2.2
)

func readCacheControl(f *wire.Fields) cacheControl {
	d := cacheControl{maxAge: unset, shared: unset, minFresh: unset, maxStale: unset}
	found := false
	for i := range f.List {
		if wire.Equal(f.List[i].Name, "cache-control") {
			found = true
			for element, rest := cut(f.List[i].Value); len(element)+len(rest) > 0; element, rest = cut(rest) {
				d.add(element)
			}
		}
	}
	if !found && wire.HasOption(f.Only("pragma"), "no-cache") { // 5.4
		d.noCache = true
	}
	return d
}

// neverStale reports whether a response may not be sent once it is stale (5.2.2.2, 5.2.2.8,
// 5.2.2.10).
func (d *cacheControl) neverStale() bool { return d.must || d.mustProxy || d.shared != unset }

func (d *cacheControl) add(element []byte) {
	name, value, valued := bytes.Cut(element, []byte("="))
	switch {
	case wire.Equal(name, "no-store"):
		d.noStore = true
	// no-cache with a list of fields is treated as if it had none, which is safe
	case wire.Equal(name, "no-cache"):
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
	if *to == unset || n < *to {
		*to = n
	}
}

// seconds reads a number of seconds (1.2.2). An invalid one counts as the safe value.
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

// cut splits the first element off a list.
func cut(list []byte) (element, rest []byte) {
	element, rest = wire.Cut(list, ',')
	return bytes.Trim(element, " \t"), rest
}

// moment reads the date of a field. It is false if the field is repeated or invalid.
func moment(f *wire.Fields, name string) (time.Time, bool) {
	at, err := http.ParseTime(string(f.Only(name)))
	return at, err == nil
}

// has reports whether there is a field. The name is in lower case.
func has(f *wire.Fields, name string) bool {
	for i := range f.List {
		if wire.Equal(f.List[i].Name, name) {
			return true
		}
	}
	return false
}

// joined returns the values of all lines of a field (RFC 9110, 5.3). A field that Connection names
// is left out, because the upstream does not receive it.
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
