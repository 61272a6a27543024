// Caching end to end, over HTTP/1.1 and HTTP/2.

package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"faceoff/gateway/cache"
	"faceoff/gateway/guard"
	"faceoff/gateway/headers"
	"faceoff/gateway/route"
)

// storing enables the cache of the first route.
func storing(g *given) {
	g.routes[0].Cache = cache.New(cache.Limits{Size: 8 << 20, Object: 1 << 20})
}

// startStored serves cacheable responses, and counts its requests.
func startStored(t *testing.T, asked *atomic.Int64, long string) string {
	t.Helper()
	return startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Count", fmt.Sprint(n))
		switch r.URL.Path {
		case "/fresh":
			w.Header().Set("Cache-Control", "max-age=3600")
			w.Header().Set("Etag", `"x"`)
			io.WriteString(w, long)
		case "/chunked":
			w.Header().Set("Cache-Control", "max-age=3600")
			io.WriteString(w, long)
			w.(http.Flusher).Flush()
			io.WriteString(w, long)
		case "/stale":
			w.Header().Set("Cache-Control", "max-age=0")
			w.Header().Set("Etag", `"x"`)
			if r.Header.Get("If-None-Match") == `"x"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(w, long)
		case "/varies":
			w.Header().Set("Cache-Control", "max-age=3600")
			w.Header().Set("Vary", "Accept-Language")
			io.WriteString(w, r.Header.Get("Accept-Language"))
		case "/large":
			w.Header().Set("Cache-Control", "max-age=3600")
			io.WriteString(w, strings.Repeat("x", 1<<20+1))
		default:
			io.WriteString(w, "other")
		}
	})
}

func TestResponsesAreCached(t *testing.T) { // RFC 9111, 3, 4, 5.1; RFC 9211
	var asked atomic.Int64
	long := strings.Repeat("all about products. ", 15_000) // more than a read or a window
	g := start(t, startStored(t, &asked, long), storing)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	wants := map[string]string{"/fresh": long, "/chunked": long + long}
	// The first one fills the cache.
	for i, transport := range []*http.Transport{{}, {}, {Protocols: protocols}} {
		client := &http.Client{Transport: transport}
		do := func(method, path string, fields ...string) *http.Response {
			request, err := http.NewRequest(method, "http://"+g.address+"/product"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(fields); i += 2 {
				request.Header.Set(fields[i], fields[i+1])
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			return response
		}
		for path, want := range wants {
			response := do("GET", path)
			if got := body(t, response); response.StatusCode != 200 || got != want {
				t.Errorf("%s: %s, %d bytes of %d", path, response.Status, len(got), len(want))
			}
			h := response.Header
			if status := h.Get("Cache-Status"); i == 0 && (status != "gateway; fwd=uri-miss; stored" || h.Get("Age") != "") {
				t.Errorf("%s: %v", path, h)
			} else if i > 0 && (!strings.HasPrefix(status, "gateway; hit; ttl=3") || h.Get("Age") == "" || response.ContentLength != int64(len(want))) {
				t.Errorf("%s: %v", path, h)
			}
			if len(h["Date"]) != 1 || len(h["Content-Type"]) != 1 || len(h["X-Count"]) != 1 {
				t.Errorf("%s: %v", path, h)
			}
		}
		if response := do("HEAD", "/fresh"); response.StatusCode != 200 || response.ContentLength != int64(len(long)) {
			t.Errorf("%s: %v", response.Status, response.Header)
		}
		response := do("GET", "/fresh", "If-None-Match", `W/"x"`)
		if got := body(t, response); response.StatusCode != 304 || got != "" || response.Header.Get("Etag") != `"x"` || response.Header.Get("Content-Type") != "" {
			t.Errorf("%s: %v", response.Status, response.Header)
		}
		client.CloseIdleConnections()
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the upstream received %d requests", n)
	}
	g.counted(t, "gateway_cache_hits_total", 4+3*2)
	g.counted(t, "gateway_upstream_requests", 0)
}

// cached sends a request, and checks Cache-Status and the body of the response.
func (c *testClient) cached(request, status, want string) *http.Response {
	c.t.Helper()
	c.say(request)
	method, _, _ := strings.Cut(request, " ")
	response := c.answer(method)
	got := body(c.t, response)
	if cacheStatus := response.Header.Get("Cache-Status"); !strings.HasPrefix(cacheStatus, "gateway; "+status) || got != want {
		c.t.Errorf("%q: %q, %q", request, cacheStatus, got)
	}
	return response
}

func TestStaleResponsesAreValidated(t *testing.T) { // RFC 9111, 4.3
	var asked atomic.Int64
	g := start(t, startStored(t, &asked, "long"), storing)
	c := connectTo(t, g.address)
	c.cached("GET /product/stale HTTP/1.1\nHost: a\n\n", "fwd=uri-miss; stored", "long")
	for i, last := range []string{"", "If-None-Match: \"other\"\n"} {
		response := c.cached("GET /product/stale HTTP/1.1\nHost: a\n"+last+"\n", "fwd=stale; fwd-status=304", "long")
		if h := response.Header; response.StatusCode != 200 || h.Get("X-Count") != fmt.Sprint(i+2) || h.Get("Age") == "" || h.Get("Content-Type") != "text/plain" || len(h["Etag"]) != 1 {
			t.Errorf("%s: %v", response.Status, h)
		}
	}
	if response := c.cached("GET /product/stale HTTP/1.1\nHost: a\nIf-None-Match: \"x\"\n\n", "fwd=stale; fwd-status=304", ""); response.StatusCode != 304 {
		t.Errorf("%s", response.Status)
	}
	c.cached("GET /product/fresh HTTP/1.1\nHost: a\n\n", "fwd=uri-miss; stored", "long")
	// The upstream sends a new response.
	c.cached("GET /product/fresh HTTP/1.1\nHost: a\nCache-Control: no-cache\n\n", "fwd=request; stored", "long")
	g.counted(t, "gateway_cache_renewed_total", 3)
	g.counted(t, "gateway_upstream_connections_total", 1) // it is reused after 304
	f := connectFramed(t, g.address)
	f.ask(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/product/stale")
	if status, content := f.status(1), f.content(1); status != "200" || content != "long" {
		t.Errorf("over HTTP/2: %s, %q", status, content)
	}
}

func TestRequestsThatBypassTheCache(t *testing.T) { // RFC 9111, 3, 4.1, 4.4, 5.2.1.7
	var asked atomic.Int64
	g := start(t, startStored(t, &asked, "long"), func(g *given) {
		storing(g)
		g.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		g.routes[0].Guard = &guard.Guard{Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
		root := "/"
		g.routes = append(g.routes, &route.Route{Path: "/product/fresh", Methods: []string{"DELETE"}, Replace: &root})
	})
	c := connectTo(t, g.address)
	const fresh = "GET /product/fresh HTTP/1.1\nHost: a\n"
	c.say("GET /product/fresh HTTP/1.1\nHost: a\nCache-Control: only-if-cached\n\n")
	wantError(t, c.answer("GET"), 504)
	c.cached(fresh+"\n", "fwd=uri-miss; stored", "long")
	c.cached(fresh+"\n", "hit", "long")
	c.cached(fresh+"Cache-Control: only-if-cached\n\n", "hit", "long")
	c.cached("GET /product/fresh?a HTTP/1.1\nHost: a\n\n", "fwd=uri-miss", "long")
	c.cached("GET /product/fresh HTTP/1.1\nHost: b\n\n", "fwd=uri-miss", "long")
	// The client is trusted here.
	for _, field := range []string{"X-Forwarded-Host: b", "Forwarded: host=b", "X-Forwarded-Host: c", "X-Forwarded-Proto: c"} {
		c.cached(fresh+field+"\n\n", "fwd=uri-miss; stored", "long")
	}
	c.cached(fresh+"Range: bytes=0-1\n\n", "fwd=bypass", "long")
	c.cached(fresh+"Authorization: a\nCache-Control: no-cache\n\n", "fwd=request", "long")
	// The last response may not be stored, and replaces it.
	c.cached(fresh+"\n", "fwd=uri-miss; stored", "long")
	c.say("GET /product/fresh HTTP/1.1\nHost: a\nX-Forwarded-For: 192.0.2.7\n\n")
	wantError(t, c.answer("GET"), 403)
	c.say("GET /v1/fresh HTTP/1.1\nHost: a\n\n") // a route without a cache
	if response := c.answer("GET"); body(t, response) != "other" || response.Header.Get("Cache-Status") != "" {
		t.Errorf("%v", response.Header)
	}
	for _, method := range []string{"POST", "DELETE"} { // one of them has a route of its own
		c.cached(fresh+"\n", "hit", "long")
		c.say(method + " /product/fresh HTTP/1.1\nHost: a\nContent-Length: 0\n\n")
		if response := c.answer(method); response.StatusCode != 200 || body(t, response) == "" {
			t.Errorf("%s: %s", method, response.Status)
		}
		c.cached(fresh+"\n", "fwd=uri-miss; stored", "long")
	}
	c.cached("GET /product/varies HTTP/1.1\nHost: a\nAccept-Language: de\n\n", "fwd=uri-miss; stored", "de")
	c.cached("GET /product/varies HTTP/1.1\nHost: a\nAccept-Language: en\n\n", "fwd=vary-miss; stored", "en")
	c.cached("GET /product/varies HTTP/1.1\nHost: a\nAccept-Language: de\n\n", "hit", "de")
	for range 2 {
		c.cached("GET /product/large HTTP/1.1\nHost: a\n\n", "fwd=uri-miss", strings.Repeat("x", 1<<20+1))
		c.cached("GET /product/other HTTP/1.1\nHost: a\n\n", "fwd=uri-miss", "other")
	}
}

func TestTruncatedResponsesAreNotCached(t *testing.T) { // RFC 9111, 3.3
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n")
		switch request.URL.Path {
		case "/sized":
			io.WriteString(conn, "Content-Length: 10\r\n\r\nhalf")
		case "/chunked":
			io.WriteString(conn, "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
		default:
			io.WriteString(conn, "\r\nhalf")
		}
	})
	g := start(t, upstream, storing)
	for _, path := range []string{"sized", "chunked", "until-end"} {
		for range 2 {
			c := connectTo(t, g.address)
			c.say("GET /product/" + path + " HTTP/1.1\nHost: a\n\n")
			response := c.answer("GET")
			if _, err := io.ReadAll(response.Body); (err == nil) != (path == "until-end") {
				t.Errorf("%s: %v", path, err)
			}
			if status := response.Header.Get("Cache-Status"); !strings.HasPrefix(status, "gateway; fwd=uri-miss") {
				t.Errorf("%s: %q", path, status)
			}
		}
	}
	g.counted(t, "gateway_cache_bytes", 0)
}

func TestStoredResponsesAreCompressedAndEdited(t *testing.T) {
	var asked atomic.Int64
	long := strings.Repeat("all about products. ", 1000)
	g := start(t, startStored(t, &asked, long), func(g *given) {
		storing(g)
		compressing(g)
		g.routes[0].Edits = &headers.Rules{ID: "x-request-id", Cors: &headers.Cors{Origins: []string{"https://shop.example"}}}
	})
	c := connectTo(t, g.address)
	for i := range 3 {
		c.say(fmt.Sprintf("GET /product/fresh HTTP/1.1\nHost: a\nX-Request-ID: %d\nOrigin: https://shop.example\nAccept-Encoding: gzip\n\n", i))
		response := c.answer("GET")
		if got := uncompressed(t, response); got != long {
			t.Errorf("%d bytes of %d", len(got), len(long))
		}
		h := response.Header
		if (strings.HasPrefix(h.Get("Cache-Status"), "gateway; hit")) != (i > 0) || h.Get("Etag") != `W/"x"` || h.Get("Access-Control-Allow-Origin") != "https://shop.example" ||
			len(h["X-Request-Id"]) != 1 || len(h["Access-Control-Allow-Origin"]) != 1 {
			t.Errorf("%v", h)
		}
	}
	c.cached("GET /product/fresh HTTP/1.1\nHost: a\n\n", "hit", long)
	if n := asked.Load(); n != 1 {
		t.Errorf("the upstream received %d requests", n)
	}
}
