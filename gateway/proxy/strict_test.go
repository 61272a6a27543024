// Strictness: forwarding fields, limits of fields, special targets, and frames on closed streams.

package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"faceoff/gateway/guard"
	"faceoff/gateway/h2"
	"faceoff/gateway/route"
)

// guarded adds a route that refuses every client, and one for all other paths.
func guarded(g *given) {
	everywhere := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	g.routes = []*route.Route{{Path: "/admin", Guard: &guard.Guard{Deny: everywhere}}, {Path: "/"}}
}

func TestNoSpellingBypassesAGuard(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) })
	spellings := []string{
		"/admin/x", "//admin/x", "/admin;v=1/x", "/%61dmin/x", "/admin%2Fx", "/admin%5Cx", "/admin%252Fx", "/%2Fadmin/x", "/%2561dmin/x", "/admin%3Bx/y",
		"/x/%2e%2e/admin", "/x/..%2Fadmin", "/x/%252e%252e/admin", "/admin%c0%afx", "/admin\\x", "/admin%zz", "/.%2Fadmin", "/x/..;/admin", "http://a/admin%2fx",
	}
	for _, separators := range []bool{false, true} {
		g := start(t, upstream, func(g *given) { guarded(g); g.Separators = separators })
		for _, target := range spellings {
			c := connectTo(t, g.address)
			c.say("GET " + target + " HTTP/1.1\nHost: a\n\n")
			if got := c.answer("GET").StatusCode; got != 400 && got != 403 {
				t.Errorf("%s, separators %v: %d", target, separators, got)
			}
			if !strings.HasPrefix(target, "/") {
				continue
			}
			f := connectFramed(t, g.address)
			f.ask(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", target)
			if got := f.status(1); got != "400" && got != "403" {
				t.Errorf("%s over HTTP/2, separators %v: %s", target, separators, got)
			}
		}
		c := connectTo(t, g.address)
		for target, want := range map[string]string{"/administer": "/administer", "/x/admin": "/x/admin", "/a%20b?x=%2F..%2Fadmin": "/a%20b?x=%2F..%2Fadmin"} {
			if got := body(t, c.get(target)); got != want {
				t.Errorf("%s went on as %s", target, got)
			}
		}
		const group = "/projects/a%2Fb"
		if got := c.get(group); separators && body(t, got) != group || !separators && got.StatusCode != 400 {
			t.Errorf("separators %v: %+v", separators, got)
		}
	}
}

func TestGuardsUseForwardedAddresses(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {})
	denied := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	g := start(t, upstream, func(g *given) {
		g.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		g.routes[0].Guard = &guard.Guard{Deny: denied}
		g.routes[1].Guard = &guard.Guard{Rate: guard.NewRate(guard.Limits{Each: 1e-9, Burst: 1})}
	})
	for field, status := range map[string]int{
		"X-Forwarded-For: 203.0.113.7": 403, "X-Forwarded-For: 203.0.113.7:4711": 403, "X-Forwarded-For: [2001:db8::7]:4711": 403,
		"X-Forwarded-For: 203.0.113.7,": 403, "X-Forwarded-For: ::ffff:203.0.113.7": 403, "X-Forwarded-For: 2001:db8::7%eth0": 403,
		"X-Forwarded-For: unknown": 403, "X-Forwarded-For: ,": 403, `Forwarded: for="203.0.113.7:1"`: 403, "X-Real-IP: 203.0.113.7": 403,
		"X-Forwarded-For: 198.51.100.7:4711": 200, "X-Forwarded-For: [2001:db9::7]:1": 200, "X-Forwarded-For: 198.51.100.7,": 200,
		`Forwarded: for="[2001:db9::7]:1"`: 200, "X-Real-IP: 198.51.100.7": 200, "X: y": 200,
	} {
		c := connectTo(t, g.address)
		c.say("GET /product/ HTTP/1.1\nHost: a\n" + field + "\n\n")
		if got := c.answer("GET").StatusCode; got != status {
			t.Errorf("%s: %d, want %d", field, got, status)
		}
	}
	for _, c := range []struct {
		field  string
		status int
	}{{"198.51.100.7:1", 200}, {"198.51.100.7:2,", 429}, {"::ffff:198.51.100.7", 429}, {"198.51.100.8", 200}, {"junk", 403}} {
		client := connectTo(t, g.address)
		client.say("GET /v1/ HTTP/1.1\nHost: a\nX-Forwarded-For: " + c.field + "\n\n")
		if got := client.answer("GET").StatusCode; got != c.status {
			t.Errorf("%s: %d, want %d", c.field, got, c.status)
		}
	}
}

func TestForwardingFieldsOfUntrustedClientsAreDropped(t *testing.T) {
	claims := []string{
		"X-Real-IP", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Ssl", "X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-Uri",
		"X-Forwarded-Method", "X-Forwarded-User", "X-Forwarded", "Forwarded", "X-Client-IP", "True-Client-IP", "X-Original-URL", "X-Rewrite-URL", "Front-End-Https", "x-FORWARDED-path",
		"X_Real_IP", "X_Forwarded_Port",
	}
	lines := ""
	for _, name := range claims {
		lines += name + ": claimed\n"
	}
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			n := 0
			for _, values := range request.Header {
				for _, value := range values {
					n += strings.Count(value, "claimed")
				}
			}
			text := fmt.Sprint(n, " ", request.Header.Get("X-Forwarded-For"))
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	})
	for _, trusted := range []bool{false, true} {
		g := start(t, upstream, func(g *given) {
			if trusted {
				g.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
		})
		c := connectTo(t, g.address)
		c.say("GET /product/ HTTP/1.1\nHost: a\n" + lines + "X-Forwarded-For: 198.51.100.7\n\n")
		want := "0 127.0.0.1"
		if trusted { // except for fields that only look like one
			want = fmt.Sprint(len(claims)-2, " 198.51.100.7, 127.0.0.1")
		}
		if got := body(t, c.answer("GET")); got != want {
			t.Errorf("trusted %v: %s, want %s", trusted, got, want)
		}
	}
}

func TestAsteriskAndTargetsWithoutPath(t *testing.T) { // RFC 9110, 9.3.7; 9112, 3.2.2
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) })
	g := start(t, upstream, func(g *given) { guarded(g) })
	for text, want := range map[string]string{
		"OPTIONS * HTTP/1.1\nHost: a\n\n":                                "204 ",
		"OPTIONS * HTTP/1.1\nHost: a\nMax-Forwards: 0\n\n":               "204 ",
		"OPTIONS * HTTP/1.1\nHost: a\nContent-Length: 2\n\nab":           "204 ",
		"OPTIONS http://a HTTP/1.1\nHost: a\n\n":                         "204 ",
		"OPTIONS http://a/ HTTP/1.1\nHost: a\n\n":                        "200 /",
		"OPTIONS http://a?x HTTP/1.1\nHost: a\n\n":                       "200 /?x",
		"GET http://a HTTP/1.1\nHost: a\n\n":                             "200 /",
		"GET http://a?x=1 HTTP/1.1\nHost: a\n\n":                         "200 /?x=1",
		"POST http://a?x=1 HTTP/1.1\nHost: a\nContent-Length: 0\n\n":     "200 /?x=1",
		"GET * HTTP/1.1\nHost: a\n\n":                                    "400",
		"GET http://?x=1 HTTP/1.1\nHost: a\n\n":                          "400",
		"GET / HTTP/1.1\nHost:\n\n":                                      "400",
		"GET / HTTP/1.1\nHost: :80\n\n":                                  "400",
		"GET / HTTP/1.0\n\n":                                             "200 /",
		"POST / HTTP/1.1\nHost: a\nTransfer-Encoding: ,chunked\n\n0\n\n": "400",
		"POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n0;\n\n": "400",
		"GET / HTTP/1.1\nHost: a\nConnection: TE\nTE: ,chunked\n\n":      "200 /",
	} {
		c := connectTo(t, g.address)
		c.say(text)
		response := c.answer(text[:strings.IndexByte(text, ' ')])
		got := fmt.Sprint(response.StatusCode, " ", body(t, response))
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	f := connectFramed(t, g.address)
	f.ask(1, true, ":method", "OPTIONS", ":scheme", "http", ":authority", "a", ":path", "*")
	if got := f.status(1); got != "204" || !f.closed {
		t.Errorf("%s", got)
	}
}

func TestFieldLimitsOfBothDirections(t *testing.T) {
	many := func(n int) string { return strings.Repeat("X: y\r\n", n) }
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			var n int
			fmt.Sscan(request.URL.Path[len("/v1/"):], &n)
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%sContent-Length: 0\r\n\r\n", many(n-1))
		}
	})
	for _, limits := range [][2]int{{0, 0}, {20, 300}, {300, 20}} {
		g := start(t, upstream, func(g *given) { g.Fields, g.AnswerFields = limits[0], limits[1] })
		request, answer := limits[0], limits[1]
		if request == 0 {
			request, answer = 128, 128
		}
		for _, c := range []struct{ request, answer, status int }{{request, 1, 200}, {request + 1, 1, 431}, {1, answer, 200}, {1, answer + 1, 502}} {
			client := connectTo(t, g.address)
			fmt.Fprintf(client, "GET /v1/%d HTTP/1.1\r\nHost: a\r\n%s\r\n", c.answer, many(c.request-1))
			response := client.answer("GET")
			if response.StatusCode != c.status {
				t.Errorf("%v, %+v: %s", limits, c, response.Status)
			}
			if c.status == 200 && len(response.Header["X"]) != c.answer-1 {
				t.Errorf("%v, %+v: %d fields", limits, c, len(response.Header["X"]))
			}
		}
	}
}

func TestUpgradeRequiredKeepsUpgrade(t *testing.T) { // RFC 9110, 15.5.22
	g := start(t, startAnswer(t, "HTTP/1.1 426 Upgrade Required\r\nUpgrade: chat/2\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n"), nil)
	c := connectTo(t, g.address)
	got := c.get("/product/")
	if got.StatusCode != 426 || got.Header.Get("Upgrade") != "chat/2" || !strings.EqualFold(got.Header.Get("Connection"), "upgrade") {
		t.Errorf("%+v", got)
	}
	c.get("/product/") // the connection is kept
	old := connectTo(t, g.address)
	old.say("GET /product/ HTTP/1.0\n\n")
	// HTTP/1.0 has no Upgrade.
	if got := old.answer("GET"); got.StatusCode != 426 || got.Header.Get("Upgrade") != "" {
		t.Errorf("%+v", got)
	}
	f := connectFramed(t, g.address)
	f.ask(1, true)
	fields, err := f.decoder.DecodeFull(f.next().Payload)
	if err != nil || fields[0].Value != "426" {
		t.Errorf("%v, %v", fields, err)
	}
	for _, field := range fields {
		if field.Name == "upgrade" || field.Name == "connection" { // RFC 9113, 8.2.2
			t.Errorf("%v", field)
		}
	}
	other := start(t, startAnswer(t, "HTTP/1.1 200 OK\r\nUpgrade: chat\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n"), nil)
	// It is for one hop only.
	if got := connectTo(t, other.address).get("/product/"); got.Header.Get("Upgrade") != "" {
		t.Errorf("%+v", got)
	}
}

func TestLogLineBehindTrustedProxyNamesClient(t *testing.T) {
	var written syncBuffer
	access := NewAccess(&written)
	g := start(t, startUpstream(t, func(w http.ResponseWriter, r *http.Request) {}), func(g *given) {
		g.Access = access
		g.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	c := connectTo(t, g.address)
	for _, fields := range []string{
		"X-Forwarded-For: 198.51.100.7:80\nUser-Agent: shop\"\\/1\t(\xc3\xa9\xff)", "Forwarded: for=\"[2001:db8::1]:80\"", "X-Forwarded-For: junk", "X: y",
	} {
		c.say("GET /product/ HTTP/1.1\nHost: a\n" + fields + "\n\n")
		body(t, c.answer("GET"))
	}
	other := connectFrom(t, 2, g.address) // an untrusted client
	other.say("GET /product/ HTTP/1.1\nHost: a\nX-Forwarded-For: 198.51.100.7\nUser-Agent: b\n\n")
	body(t, other.answer("GET"))
	type line struct{ Client, Hop, Agent string }
	want := []line{
		{"198.51.100.7", "127.0.0.1", "shop\"\\/1\t(é\ufffd)"}, {"2001:db8::1", "127.0.0.1", ""}, {"unknown", "127.0.0.1", ""}, {"127.0.0.1", "", ""}, {"127.0.0.2", "", "b"},
	}
	lines := logged[line](t, &written, len(want))
	byClient := func(a, b line) int { return strings.Compare(a.Client, b.Client) }
	slices.SortFunc(want, byClient)
	slices.SortFunc(lines, byClient) // two workers wrote them, in any order
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%+v\nwant\n%+v", lines, want)
	}
}

func TestHeadersOnClosedStreams(t *testing.T) { // RFC 9113, 5.1, 5.1.1
	g := start(t, startEcho(t), nil)
	closed := func(f *framer) { // stream 5 is closed on both sides; 1 and 3 were never opened
		f.ask(5, true)
		f.status(5)
		for f.closed = false; !f.closed; {
			f.closed = f.next().Flags&h2.EndStream != 0
		}
	}
	for name, c := range map[string]struct {
		say  func(f *framer) []byte
		code h2.Code
	}{
		"on a lower stream":  {func(f *framer) []byte { return frame(h2.Headers, h2.EndHeaders|h2.EndStream, 3, f.fields()) }, h2.ProtocolError},
		"on the lowest":      {func(f *framer) []byte { return frame(h2.Headers, h2.EndHeaders, 1, f.fields()) }, h2.ProtocolError},
		"on one that closed": {func(f *framer) []byte { return frame(h2.Headers, h2.EndHeaders|h2.EndStream, 5, f.fields()) }, h2.StreamClosed},
		"in pieces": {func(f *framer) []byte {
			return append(frame(h2.Headers, 0, 3, f.fields()), frame(h2.Continuation, h2.EndHeaders, 3, nil)...)
		}, h2.ProtocolError},
		"without anything in them": {func(*framer) []byte { return frame(h2.Headers, h2.EndHeaders|h2.EndStream, 5, nil) }, h2.StreamClosed},
	} {
		t.Run(name, func(t *testing.T) {
			f := connectFramed(t, g.address)
			closed(f)
			f.raw(c.say(f))
			f.wantGoAway(c.code)
		})
	}
	for name, c := range map[string]struct {
		say   func(f *framer) []byte
		reset uint32
	}{
		"DATA on one that closed": {func(*framer) []byte { return frame(h2.Data, 0, 5, []byte("x")) }, 5},
		"DATA on a lower stream":  {func(*framer) []byte { return frame(h2.Data, 0, 3, []byte("x")) }, 3},
		"a reset of one":          {func(*framer) []byte { return h2.AppendReset(nil, 5, h2.Cancel) }, 0},
		"a window of one":         {func(*framer) []byte { return h2.AppendWindow(nil, 5, 9) }, 0},
		"a priority of one":       {func(*framer) []byte { return frame(h2.Priority, 0, 3, make([]byte, 5)) }, 0},
		// The refusal was on its way when they were sent.
		"trailers after a refusal": {func(f *framer) []byte {
			malformed := frame(h2.Headers, h2.EndHeaders, 7, bytes.Clone(f.fields("te", "gzip")))
			return append(malformed, frame(h2.Headers, h2.EndHeaders|h2.EndStream, 7, f.fields("x", "y"))...)
		}, 7},
		"trailers after a reset": {func(f *framer) []byte {
			text := frame(h2.Headers, h2.EndHeaders, 7, bytes.Clone(f.fields()))
			return append(h2.AppendReset(text, 7, h2.Cancel), frame(h2.Headers, h2.EndHeaders|h2.EndStream, 7, f.fields("x", "y"))...)
		}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			f := connectFramed(t, g.address)
			closed(f)
			f.raw(c.say(f))
			f.ask(9, true)
			for {
				got := f.next()
				if got.Type == h2.Reset && got.Stream == c.reset {
					continue
				}
				if got.Type != h2.Headers || got.Stream != 9 {
					t.Errorf("%+v", got)
				}
				break
			}
		})
	}
	f := connectFramed(t, g.address) // half closed by the client: only its stream ends
	f.ask(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/product/")
	f.Close()
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestSkippedStreamsAreClosed(t *testing.T) {
	s := &clientH2{}
	for _, stream := range []uint32{1, 3, 9, 11, 201} {
		s.noteOpened(stream)
	}
	s.noteCut(3)
	for stream, want := range map[uint32]h2.Code{1: h2.StreamClosed, 3: h2.NoError, 5: h2.ProtocolError, 7: h2.ProtocolError, 9: h2.StreamClosed, 13: h2.ProtocolError, 199: h2.ProtocolError, 201: h2.StreamClosed} {
		got := h2.NoError
		if err := s.headersFault(stream); err != nil {
			fault, _ := errors.AsType[*h2.Fault](err)
			got = fault.Code
		}
		if got != want {
			t.Errorf("%d: %d, want %d", stream, got, want)
		}
	}
	for i := range uint32(10 * maxCut) { // the memory for both is bounded
		s.noteOpened(1001 + 8*i)
		s.noteCut(1001 + 8*i)
	}
	if len(s.cutStreams) > maxCut || len(s.skipped) > maxSkipped || s.headersFault(1001+8*(10*maxCut-1)) != nil {
		t.Errorf("%d and %d are known", len(s.cutStreams), len(s.skipped))
	}
}
