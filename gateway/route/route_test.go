// Matching of routes, and state that survives a reload.

package route

import (
	"slices"
	"testing"

	"faceoff/gateway/cache"
	"faceoff/gateway/guard"
	"faceoff/gateway/headers"
	"faceoff/gateway/wire"
)

func request(t *testing.T, text string) *wire.Request {
	t.Helper()
	var r wire.Request
	if n, err := r.Parse([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return &r
}

func TestMatch(t *testing.T) {
	table := NewTable([]*Route{
		{Name: "any", Path: "/"},
		{Name: "api", Path: "/api"},
		{Name: "api of shop", Path: "/api", Hosts: []string{"shop.example", "*.shop.example", "[::1]"}},
		{Name: "write", Path: "/api/items", Methods: []string{"POST", "PUT"}},
		{Name: "canary", Path: "/api/items", Headers: []Header{{Name: "x-canary", Value: "yes"}, {Name: "x-any"}}},
		{Name: "exact", Path: "/api/items", Exact: true, Methods: []string{"GET"}},
		{Name: "below", Path: "/below/"},
	})
	const host = " HTTP/1.1\r\nHost: other.example\r\n\r\n"
	for text, want := range map[string]string{
		"GET /x" + host:              "any",
		"GET /api" + host:            "api",
		"GET /api/x" + host:          "api",
		"GET /apix" + host:           "any",
		"GET /api;v=1" + host:        "api",
		"GET /api;/x" + host:         "api",
		"GET /a;pi" + host:           "any",
		"GET /api;x/items" + host:    "exact",
		"GET /api/items;x=/" + host:  "api",
		"GET //api" + host:           "api",
		"GET //api///items" + host:   "exact",
		"GET /;x//api;y//x" + host:   "api",
		"GET /api%3Bv=1/x" + host:    "api",
		"GET /api?x" + host:          "api",
		"GET /API" + host:            "any",
		"GET /%61pi" + host:          "api",
		"POST /api/items/1" + host:   "write",
		"DELETE /api/items/1" + host: "api",
		"GET /api/items" + host:      "exact",
		"GET /api/items/" + host:     "api",
		"GET /below" + host:          "any",
		"GET /below/x" + host:        "below",
		"GET /api/items/ HTTP/1.1\r\nHost: a\r\nX-Canary: yes\r\nX-Any: 1\r\n\r\n": "canary",
		"GET /api/items/ HTTP/1.1\r\nHost: a\r\nX-Canary: no\r\nX-Any: 1\r\n\r\n":  "api",
	} {
		if got := table.Match(request(t, text)); got == nil || got.Name != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
	if got := table.Match(request(t, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")); got != nil {
		t.Errorf("*: %v", got)
	}
}

func TestNoSpellingOfAPathBypassesARoute(t *testing.T) {
	table := NewTable([]*Route{{Name: "any", Path: "/"}, {Name: "admin", Path: "/admin"}, {Name: "odd", Path: "/a+b/@c"}, {Name: "below", Path: "/below/"}})
	for path, want := range map[string]string{
		"/admin%2Fx": "admin", "/admin%5cx": "admin", "/admin%252Fx": "admin", "/admin%25255Cx": "admin", "/%2Fadmin": "admin", "/%2f/admin/x": "admin",
		"/;x%2Fadmin": "admin", "/%61dmin%2f": "admin", "/%2561dmin": "admin", "/admin%3b/x": "admin", "/admin%253bx": "admin",
		"/a%2Bb/%40c": "odd", "/a+b%2f@c": "odd", "/a%252Bb/@c/x": "odd", "/below%2F": "below", "/below%2Fx": "below", "%2Fadmin": "admin",
		"/admin%20": "any", "/admin%25": "any", "/adminx": "any", "/below": "any", "/x%2Fadmin": "any",
	} {
		r := &wire.Request{Separators: true, Path: []byte(path)}
		if got := table.Match(r); got == nil || got.Name != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
}

func TestPreflightTakesTheRouteOfItsRequest(t *testing.T) {
	table := NewTable([]*Route{
		{Name: "read", Path: "/", Methods: []string{"GET"}, Edits: &headers.Rules{Cors: &headers.Cors{Any: true}}},
		{Name: "write", Path: "/", Methods: []string{"PUT"}},
		{Name: "any", Path: "/"},
	})
	// Routes for writing leave preflights to the upstream.
	for wanted, want := range map[string]string{"GET": "read", "PUT": "any"} {
		r := request(t, "OPTIONS / HTTP/1.1\r\nHost: a\r\nOrigin: https://shop.example\r\nAccess-Control-Request-Method: "+wanted+"\r\n\r\n")
		if got := table.Match(r); got.Name != want {
			t.Errorf("%s: %s, want %s", wanted, got.Name, want)
		}
	}
	if got := table.Match(request(t, "OPTIONS / HTTP/1.1\r\nHost: a\r\nOrigin: https://shop.example\r\n\r\n")); got.Name != "any" {
		t.Errorf("%s", got.Name)
	}
}

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		want, host string
		fits       bool
	}{
		{"shop.example", "shop.example", true},
		{"shop.example", "Shop.Example:8080", true},
		{"shop.example", "shop.example.", true},
		{"shop.example", "a.shop.example", false},
		{"shop.example", "", false},
		{"*.shop.example", "a.shop.example:80", true},
		{"*.shop.example", "a.b.shop.example", true},
		{"*.shop.example", "shop.example", false},
		{"*.shop.example", ".shop.example", false},
		{"[::1]", "[::1]:80", true},
		{"[::1]", "[::1]", true},
		{"[::1]", "[::2]", false},
	} {
		if got := fitsHost(c.want, []byte(c.host)); got != c.fits {
			t.Errorf("%s fits %s: %v", c.host, c.want, got)
		}
	}
}

func TestRouteIsSplitBetweenUpstreams(t *testing.T) {
	route := &Route{Split: []Part{{1, 9500}, {2, 9500}, {3, Whole}}}
	counts := map[int]int{}
	const all = 100000
	for i := range all {
		counts[route.Pick(uint32(i)*(1<<32/all))]++
	}
	if counts[1] < 94990 || counts[1] > 95010 || counts[2] != 0 || counts[1]+counts[3] != all || route.Pick(1<<32-1) != 3 {
		t.Errorf("%v", counts)
	}
	if got := (&Route{Upstream: 7}).Pick(5); got != 7 {
		t.Errorf("without parts: %d", got)
	}
}

func TestPathsAreReplaced(t *testing.T) {
	for _, c := range []struct{ path, replace, given, want string }{
		{"/product", "/", "/product", "/"},
		{"/product", "/", "/product/", "/"},
		{"/product", "/", "/product//a/", "/a/"}, // it must not become a host name
		{"/product", "/", "/product///", "/"},
		{"/product", "/", "/product;x//a", "/a"},
		{"/product", "/", "/product%2F%2Fa", "/a"},
		{"/product", "/", "/product/%5C/a", "/a"},
		{"/product", "/api", "/product%2Fa", "/api%2Fa"},
		{"/product", "/api", "/product//a", "/api//a"},
		{"/product/", "/", "/product%2Fa", "/a"},
		{"/", "/", "//a", "/a"},
		{"/product/", "/", "//product//a", "/a"},
		{"/product", "/", "/product;v=1", "/"},
		{"/product", "/api", "/product;v=1/a;b", "/api/a;b"},
		{"/product/", "/", "/product;v/a;b", "/a;b"},
		{"/product", "/api", "/product", "/api"},
		{"/product", "/api/", "/product/a", "/api/a"},
		{"/product/", "/", "/product/a", "/a"},
		{"/product/", "/api", "/product/a", "/api/a"},
		{"/", "/api", "/a", "/api/a"},
	} {
		route := &Route{Path: c.path, Replace: &c.replace}
		if !route.fitsPath([]byte(c.given)) {
			t.Errorf("%s does not fit %s", c.given, c.path)
		}
		if got := string(route.AppendPath(nil, []byte(c.given))); got != c.want {
			t.Errorf("%s by %s: %s becomes %s, want %s", c.path, c.replace, c.given, got, c.want)
		}
	}
}

// equal treats upstreams with the same index as the same.
func equal(now, then int) bool { return now == then }

func TestRatesSurviveReload(t *testing.T) {
	limits := guard.Limits{Each: 1, Burst: 2}
	rated := func(name string, limits guard.Limits) *Route {
		return &Route{Name: name, Path: "/" + name, Guard: &guard.Guard{Rate: guard.NewRate(limits)}}
	}
	a, b := rated("a", limits), rated("b", limits)
	before := NewTable([]*Route{a, b, {Path: "/c"}})
	again, changed, other, none := rated("a", limits), rated("b", guard.Limits{Each: 2, Burst: 2}), rated("c", limits), &Route{Path: "/d"}
	NewTable([]*Route{again, changed, other, none}).Keep(before, equal)
	if again.Guard.Rate != a.Guard.Rate || changed.Guard.Rate == b.Guard.Rate || other.Guard.Rate == nil || none.Guard != nil {
		t.Error("the rates are others")
	}
}

func TestCacheSurvivesReload(t *testing.T) {
	limits := cache.Limits{Size: 1 << 20, Object: 1 << 10}
	store := func(path string, limits cache.Limits) *Route {
		return &Route{Name: path, Path: path, Cache: cache.New(limits)}
	}
	a, b := store("/a", limits), store("/b", limits)
	before := NewTable([]*Route{a, b, {Path: "/c"}})
	if len(before.Caches()) != 2 {
		t.Errorf("%d stores", len(before.Caches()))
	}
	again, changed, other := store("/a", limits), store("/b", cache.Limits{Size: 2 << 20, Object: 1 << 10}), store("/c", limits)
	after := NewTable([]*Route{again, changed, other})
	after.Keep(before, equal)
	if again.Cache != a.Cache || changed.Cache == b.Cache || other.Cache == nil || len(after.Caches()) != 3 || !slices.Contains(after.Caches(), a.Cache) {
		t.Errorf("%v", after.Caches())
	}
}

func TestRoutesOfOnePathKeepTheirState(t *testing.T) {
	beta, plain := "/beta/", "/"
	written := func() []*Route {
		all := []*Route{
			{Headers: []Header{{Name: "x-beta"}}, Replace: &beta},
			{Methods: []string{"GET"}},
			{Hosts: []string{"a.example"}},
			{},
		}
		for _, route := range all {
			route.Name, route.Path = "/v1/", "/v1/"
			route.Cache, route.Guard = cache.New(cache.Limits{Size: 1 << 20, Object: 1 << 10}), &guard.Guard{Rate: guard.NewRate(guard.Limits{Each: 1, Burst: 2})}
		}
		return all
	}
	before, after := written(), written()
	NewTable(after).Keep(NewTable(before), equal)
	for i := range after {
		if after[i].Cache != before[i].Cache || after[i].Guard.Rate != before[i].Guard.Rate {
			t.Errorf("route %d has what another had", i)
		}
	}
	for name, change := range map[string]func(route *Route){
		"another upstream": func(route *Route) { route.Upstream = 1 },
		"another part":     func(route *Route) { route.Split = []Part{{Upstream: 1, Upto: 10}} },
		"another path":     func(route *Route) { route.Replace = &plain },
		"another field set": func(route *Route) {
			route.Edits = &headers.Rules{Request: headers.Fields{Lines: []byte("X-Shop: b\r\n")}}
		},
	} {
		after := written()
		change(after[0])
		NewTable(after).Keep(NewTable(before), equal)
		if after[0].Cache == before[0].Cache || after[1].Cache != before[1].Cache {
			t.Errorf("%s: what was stored is kept for it, or lost for the others", name)
		}
	}
}
