// Package route finds where a request goes. It does no I/O.
package route

import (
	"bytes"
	"slices"
	"strings"

	"faceoff/systems/gateway/cache"
	"faceoff/systems/gateway/guard"
	"faceoff/systems/gateway/mark"
	"faceoff/systems/gateway/openapi"
	"faceoff/systems/gateway/press"
	"faceoff/systems/gateway/wire"
)

// Route is one rule: what a request must be like, and where it goes then.
type Route struct {
	Name     string
	Hosts    []string // in lower case; "*.example.org" is every name below; none: any
	Path     string   // a prefix of whole segments: "/a" is of "/a" and "/a/b", not of "/ab"
	Exact    bool     // the path is to be Path and nothing more
	Methods  []string // none: any
	Headers  []Header
	Replace  *string // what Path is replaced by; nil leaves the path as it is
	Upstream int
	Quiet    bool         // no line is written for a request
	Split    []Part       // where it goes in parts, instead of to Upstream
	Mirror   *Part        // where copies of it go, nil for none
	Guard    *guard.Guard // what is asked of a request before, nil for nothing
	Marks    *mark.Rules  // what it is given on its way, nil for nothing
	Fault    *guard.Fault // what is done to a part of them on purpose, nil for nothing
	Press    *press.Rules // which of its answers are compressed, nil for none

	OpenAPI *openapi.Rules // how its requests and answers are to be, nil for anyhow
	Cache   *cache.Store   // where its answers are kept, nil for nowhere
}

// Part is how much of a route goes to an upstream.
type Part struct {
	Upstream int
	Upto     uint32 // of Whole, those of the parts before included
}

// Whole is what parts add up to.
const Whole = 10000

// Pick is the upstream of a request, by a number that is uniform over all of uint32.
func (route *Route) Pick(random uint32) int {
	place := uint32(uint64(random) * Whole >> 32)
	for _, part := range route.Split {
		if place < part.Upto {
			return part.Upstream
		}
	}
	return route.Upstream
}

// Header is a field that must be there.
type Header struct {
	Name  string // in lower case
	Value string // empty: any
}

// Table is routes in the order in which they are tried: the longest path first, of equal ones the first written.
type Table struct {
	routes []*Route
	caches []*cache.Store
}

// NewTable orders routes.
func NewTable(routes []*Route) *Table {
	ordered := slices.Clone(routes)
	slices.SortStableFunc(ordered, func(a, b *Route) int {
		if a.Exact != b.Exact && a.Path == b.Path {
			if a.Exact {
				return -1
			}
			return 1
		}
		return len(b.Path) - len(a.Path)
	})
	t := &Table{routes: ordered}
	t.collect()
	return t
}

// Caches are those of all routes.
func (t *Table) Caches() []*cache.Store { return t.caches }

func (t *Table) collect() {
	t.caches = nil
	for _, route := range t.routes {
		if route.Cache != nil {
			t.caches = append(t.caches, route.Cache)
		}
	}
}

// Keep goes on with the rates and with what is stored of a table before: nobody gets a burst anew from a file that is read again, and nothing is
// forgotten. same tells whether an upstream of this table and one of that table, each by its place, are the same.
func (t *Table) Keep(before *Table, same func(now, then int) bool) {
	defer t.collect()
	for _, route := range t.routes {
		for _, old := range before.routes {
			if route.Cache != nil && old.Cache != nil && old.Cache.Limits == route.Cache.Limits && route.takes(old) && route.leads(old, same) {
				route.Cache = old.Cache
			}
		}
	}
	for _, route := range t.routes {
		if route.Guard == nil || route.Guard.Rate == nil {
			continue
		}
		for _, old := range before.routes {
			if old.Guard != nil && old.Guard.Rate != nil && old.Guard.Rate.Limits == route.Guard.Rate.Limits && route.takes(old) {
				route.Guard.Rate = old.Guard.Rate
			}
		}
	}
}

// takes reports whether a route of a table before has this one's name and took the same requests. Several may be of one path, and go by its name.
func (route *Route) takes(old *Route) bool {
	return old.Name == route.Name && old.Path == route.Path && old.Exact == route.Exact && slices.Equal(old.Hosts, route.Hosts) &&
		slices.Equal(old.Methods, route.Methods) && slices.Equal(old.Headers, route.Headers)
}

// leads reports whether a route of a table before asked the same upstreams for the same.
func (route *Route) leads(old *Route, same func(now, then int) bool) bool {
	return same(route.Upstream, old.Upstream) && route.replacement() == old.replacement() &&
		slices.EqualFunc(route.Split, old.Split, func(a, b Part) bool { return a.Upto == b.Upto && same(a.Upstream, b.Upstream) }) &&
		bytes.Equal(route.sets(), old.sets())
}

// replacement is what the path becomes.
func (route *Route) replacement() string {
	if route.Replace == nil {
		return route.Path
	}
	return *route.Replace
}

// sets are the fields that requests are given, as lines.
func (route *Route) sets() []byte {
	if route.Marks == nil {
		return nil
	}
	return route.Marks.Request.Lines
}

// Match is the first route that fits, nil where none does.
func (t *Table) Match(r *wire.Request) *Route {
	for _, route := range t.routes {
		if route.fitsPath(r.Path) && route.fits(r) {
			return route
		}
	}
	return nil
}

func (route *Route) fitsPath(path []byte) bool {
	n := route.cover(path)
	if n < 0 {
		return false
	}
	return len(path) == n || (!route.Exact && (route.Path == "" || strings.HasSuffix(route.Path, "/") || path[n] == '/'))
}

// cover is how much of a path stands for the route's own, negative where the path begins otherwise. Parameters of a segment (RFC 3986,
// 3.3: "/admin;v=1/x") and slashes after slashes are not compared, as there are upstreams that take no notice of them.
func (route *Route) cover(path []byte) int {
	n := len(route.Path)
	if len(path) >= n && string(path[:n]) == route.Path && (len(path) == n || path[n] != ';') {
		return n
	}
	at := 0
	for i := range n {
		at = skipParameters(path, at)
		if i > 0 && route.Path[i-1] == '/' && route.Path[i] != '/' {
			for at < len(path) && path[at] == '/' {
				at = skipParameters(path, at+1)
			}
		}
		if at == len(path) || path[at] != route.Path[i] {
			return -1
		}
		at++
	}
	return skipParameters(path, at)
}

// skipParameters is where the parameters of a segment end that begin at a place; the place itself where none do.
func skipParameters(path []byte, at int) int {
	if at < len(path) && path[at] == ';' {
		for at < len(path) && path[at] != '/' {
			at++
		}
	}
	return at
}

func (route *Route) fits(r *wire.Request) bool {
	if len(route.Hosts) > 0 && !slices.ContainsFunc(route.Hosts, func(host string) bool { return fitsHost(host, r.Host) }) {
		return false
	}
	if len(route.Methods) > 0 {
		asked := route.method(r)
		if !slices.ContainsFunc(route.Methods, func(method string) bool { return string(asked) == method }) {
			return false
		}
	}
	for i := range route.Headers {
		if !route.Headers[i].fits(r) {
			return false
		}
	}
	return true
}

// method is the request's, or the one that a preflight asks about, where the route answers that.
func (route *Route) method(r *wire.Request) []byte {
	if route.Marks != nil && route.Marks.Cors != nil {
		if wanted := mark.Wanted(r); wanted != nil {
			return wanted
		}
	}
	return r.Method
}

func fitsHost(want string, host []byte) bool {
	if at := bytes.LastIndexByte(host, ':'); at > bytes.IndexByte(host, ']') {
		host = host[:at] // the port is no part of the name
	}
	host = bytes.TrimSuffix(host, []byte(".")) // "example.org." is the same name
	if below, ok := strings.CutPrefix(want, "*"); ok {
		return len(host) > len(below) && wire.Equal(host[len(host)-len(below):], below)
	}
	return wire.Equal(host, want)
}

func (h *Header) fits(r *wire.Request) bool {
	for i := range r.List {
		if field := &r.List[i]; wire.Equal(field.Name, h.Name) && (h.Value == "" || string(field.Value) == h.Value) {
			return true
		}
	}
	return false
}

// Rewrites reports whether the path changes on its way.
func (route *Route) Rewrites() bool { return route.Replace != nil }

// AppendPath writes the path as it goes to the upstream. Replace begins with a slash, and so does what comes of it.
func (route *Route) AppendPath(to, path []byte) []byte {
	if route.Replace == nil {
		return append(to, path...)
	}
	rest := path[route.cover(path):]
	if len(rest) == 0 {
		return append(to, *route.Replace...)
	}
	to = append(to, strings.TrimSuffix(*route.Replace, "/")...)
	if rest[0] != '/' {
		to = append(to, '/')
	}
	return append(to, rest...)
}
