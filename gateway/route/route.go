// Package route finds the route of a request. It does no I/O.
//
// Start reading at NewTable and Table.Match.
package route

import (
	"bytes"
	"slices"
	"strings"

	"faceoff/gateway/cache"
	"faceoff/gateway/compress"
	"faceoff/gateway/guard"
	"faceoff/gateway/headers"
	"faceoff/gateway/openapi"
	"faceoff/gateway/wire"
)

// Route matches requests, and says where they go.
type Route struct {
	Name     string
	Hosts    []string // in lower case; "*.example.org" covers subdomains; empty: any
	Path     string   // a prefix of whole segments: "/a" matches "/a" and "/a/b", not "/ab"
	Exact    bool     // match Path only
	Methods  []string // empty: any
	Headers  []Header
	Replace  *string // replaces Path; nil leaves the path as it is
	Upstream int
	Quiet    bool            // no access log
	Split    []Part          // fractions for several upstreams, instead of Upstream
	Mirror   *Part           // upstream and fraction of copies; nil for none
	Guard    *guard.Guard    // checks before anything else; nil for none
	Edits    *headers.Rules  // fields to add and remove; nil for none
	Fault    *guard.Fault    // injected errors; nil for none
	Compress *compress.Rules // responses to compress; nil for none

	OpenAPI *openapi.Rules // validation; nil for none
	Cache   *cache.Store   // stored responses; nil for none
}

// Part is the fraction of a route that goes to an upstream.
type Part struct {
	Upstream int
	Upto     uint32 // cumulative, in units of 1/Whole
}

// Whole is the sum of all parts.
const Whole = 10000

// Pick returns the upstream of a request. random is uniform over uint32.
func (route *Route) Pick(random uint32) int {
	point := uint32(uint64(random) * Whole >> 32)
	for _, part := range route.Split {
		if point < part.Upto {
			return part.Upstream
		}
	}
	return route.Upstream
}

// Header is a field that a request must have.
type Header struct {
	Name  string // in lower case
	Value string // empty: any
}

// Table holds routes in matching order: the longest path first, then the order of the file.
type Table struct {
	routes []*Route
	caches []*cache.Store
}

// NewTable sorts routes.
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

// Caches returns the caches of all routes.
func (t *Table) Caches() []*cache.Store { return t.caches }

func (t *Table) collect() {
	t.caches = nil
	for _, route := range t.routes {
		if route.Cache != nil {
			t.caches = append(t.caches, route.Cache)
		}
	}
}

// Keep takes over the rates and caches of an earlier table. So a reload neither refills a bucket
// nor empties a cache. same reports whether two upstreams, given by their indexes in the two
// tables, are the same.
func (t *Table) Keep(before *Table, same func(now, then int) bool) {
	defer t.collect()
	for _, route := range t.routes {
		for _, old := range before.routes {
			if route.Cache != nil && old.Cache != nil && old.Cache.Limits == route.Cache.Limits &&
				route.takes(old) &&
				route.leads(old, same) {
				route.Cache = old.Cache
			}
		}
	}
	for _, route := range t.routes {
		if route.Guard == nil || route.Guard.Rate == nil {
			continue
		}
		for _, old := range before.routes {
			if old.Guard != nil && old.Guard.Rate != nil &&
				old.Guard.Rate.Limits == route.Guard.Rate.Limits &&
				route.takes(old) {
				route.Guard.Rate = old.Guard.Rate
			}
		}
	}
}

// takes reports whether an earlier route has the same name and matches the same requests.
func (route *Route) takes(old *Route) bool {
	return old.Name == route.Name && old.Path == route.Path && old.Exact == route.Exact &&
		slices.Equal(old.Hosts, route.Hosts) &&
		slices.Equal(old.Methods, route.Methods) &&
		slices.Equal(old.Headers, route.Headers)
}

// leads reports whether an earlier route sent the same requests to the same upstreams.
func (route *Route) leads(old *Route, same func(now, then int) bool) bool {
	return same(route.Upstream, old.Upstream) && route.replacement() == old.replacement() &&
		slices.EqualFunc(route.Split, old.Split,
			func(a, b Part) bool { return a.Upto == b.Upto && same(a.Upstream, b.Upstream) }) &&
		bytes.Equal(route.sets(), old.sets())
}

// replacement returns what the path becomes.
func (route *Route) replacement() string {
	if route.Replace == nil {
		return route.Path
	}
	return *route.Replace
}

// sets returns the fields that requests are given.
func (route *Route) sets() []byte {
	if route.Edits == nil {
		return nil
	}
	return route.Edits.Request.Lines
}

// Match returns the first route that matches, or nil.
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
	return len(path) == n ||
		(!route.Exact && (route.Path == "" || strings.HasSuffix(route.Path, "/") || slash(path, n) > 0))
}

// cover returns how much of a path the route's path matches, or -1. Escapes are decoded. Parameters
// of a segment ("/admin;v=1/x", RFC 3986, 3.3) and repeated slashes are skipped, because some
// upstreams ignore them.
func (route *Route) cover(path []byte) int {
	n := len(route.Path)
	if len(path) >= n && string(path[:n]) == route.Path &&
		(len(path) == n || (path[n] != ';' && path[n] != '%')) {
		return n
	}
	at := 0
	for i := range n {
		at = skipParameters(path, at)
		if i > 0 && route.Path[i-1] == '/' && route.Path[i] != '/' {
			for width := slash(path, at); width > 0; width = slash(path, at) {
				at = skipParameters(path, at+width)
			}
		}
		if at == len(path) {
			return -1
		}
		b, width := wire.Normal(path, at)
		if b != route.Path[i] {
			return -1
		}
		at += width
	}
	return skipParameters(path, at)
}

// skipParameters returns the end of the segment parameters at a position.
func skipParameters(path []byte, at int) int {
	if at == len(path) {
		return at
	}
	if b, _ := wire.Normal(path, at); b == ';' {
		for at < len(path) && slash(path, at) == 0 {
			at++
		}
	}
	return at
}

// slash returns the length of the slash at a position, or zero.
func slash(path []byte, at int) int {
	if at < len(path) {
		if b, width := wire.Normal(path, at); b == '/' {
			return width
		}
	}
	return 0
}

func (route *Route) fits(r *wire.Request) bool {
	if len(route.Hosts) > 0 &&
		!slices.ContainsFunc(route.Hosts,
			func(host string) bool { return fitsHost(host, r.Host) }) {
		return false
	}
	if len(route.Methods) > 0 {
		want := route.method(r)
		if !slices.ContainsFunc(route.Methods,
			func(method string) bool { return string(want) == method }) {
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

// method returns the request's method, or that of a preflight that the route answers.
func (route *Route) method(r *wire.Request) []byte {
	if route.Edits != nil && route.Edits.Cors != nil {
		if wanted := headers.Wanted(r); wanted != nil {
			return wanted
		}
	}
	return r.Method
}

func fitsHost(want string, host []byte) bool {
	if at := bytes.LastIndexByte(host, ':'); at > bytes.IndexByte(host, ']') {
		host = host[:at] // without the port
	}
	host = bytes.TrimSuffix(host, []byte(".")) // "example.org." is the same name
	if below, ok := strings.CutPrefix(want, "*"); ok {
		return len(host) > len(below) && wire.Equal(host[len(host)-len(below):], below)
	}
	return wire.Equal(host, want)
}

func (h *Header) fits(r *wire.Request) bool {
	for i := range r.List {
		if field := &r.List[i]; wire.Equal(field.Name, h.Name) &&
			(h.Value == "" || string(field.Value) == h.Value) {
			return true
		}
	}
	return false
}

// Rewrites reports whether the path changes.
func (route *Route) Rewrites() bool { return route.Replace != nil }

// AppendPath writes the path for the upstream. It begins with a single slash: a browser would take
// two for a host name in a redirect.
func (route *Route) AppendPath(to, path []byte) []byte {
	if route.Replace == nil {
		return append(to, path...)
	}
	rest := path[route.cover(path):]
	if len(rest) == 0 {
		return append(to, *route.Replace...)
	}
	before := strings.TrimSuffix(*route.Replace, "/")
	to = append(to, before...)
	if before == "" {
		for width := slash(rest, 0); width > 0; width = slash(rest, 0) {
			rest = rest[width:]
		}
		to = append(to, '/')
	} else if slash(rest, 0) == 0 {
		to = append(to, '/')
	}
	return append(to, rest...)
}
