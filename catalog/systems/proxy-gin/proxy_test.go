// Passing on of requests, responses, fields and bodies, and failing upstreams.

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

func TestResponseIsPassedOn(t *testing.T) {
	const products = `[{"id":1,"name":"lamp"},{"id":2,"name":"chair"}]`
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, products)
	})
	p := startProxy(t, upstream, nil)
	response := connect(t, p.address).get("/product/products")
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/json" ||
		response.ContentLength != int64(len(products)) {
		t.Errorf("got %v", response)
	}
	if got := body(t, response); got != products {
		t.Errorf("body %q", got)
	}
	if got := p.log.String(); got != "" {
		t.Errorf("a request was logged: %s", got)
	}
}

func TestPrefixIsRemoved(t *testing.T) {
	upstream := startUpstream(t,
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) })
	c := connect(t, startProxy(t, upstream, nil).address)
	for target, want := range map[string]string{
		"/product/products":                   "/products",
		"/product/products?a=1&a=2":           "/products?a=1&a=2",
		"/product/products?a=%zz;b&c=+%20":    "/products?a=%zz;b&c=+%20",
		"/product":                            "/",
		"/product/":                           "/",
		"/product?a=1":                        "/?a=1",
		"/product/a%2Fb%20c":                  "/a%2Fb%20c",
		"/product//double/":                   "//double/",
		"/product/product/x":                  "/product/x",
		"http://shop.example/product/absolut": "/absolut",
		"/v1/pets?limit=1":                    "/v1/pets?limit=1",
		"/v1/product/x":                       "/v1/product/x",
	} {
		if got := body(t, c.get(target)); got != want {
			t.Errorf("%s: the upstream received %s, want %s", target, got, want)
		}
	}
	for _, target := range []string{"/", "/products", "/productx/products", "/v1", "/v1x/pets",
		"/product%2Fproducts", "/PRODUCT/products", "/x/product/products"} {
		wantError(t, c.get(target), http.StatusNotFound)
	}
}

func TestHopByHopHeadersAreRemoved(t *testing.T) {
	seen := make(chan http.Header, 1)
	upstream := startRawUpstreamRequest(t, func(conn net.Conn, r *http.Request) {
		seen <- r.Header
		io.WriteString(conn,
			"HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\n"+
				"Proxy-Connection: keep-alive\r\nProxy-Authenticate: Basic\r\nProxy-Authorization: x\r\nTE: trailers\r\nTrailer: X-Sum\r\nUpgrade: h2c\r\n"+
				"Transfer-Encoding: chunked\r\nX-Kept: 1\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nX-Late: 1\r\n\r\n")
	})
	c := connect(t, startProxy(t, upstream, nil).address)
	c.send(`POST /product/products HTTP/1.1
Host: shop.example
Connection: keep-alive, X-Secret, Upgrade
X-Secret: 1
Keep-Alive: timeout=5
Proxy-Connection: keep-alive
Proxy-Authenticate: Basic
Proxy-Authorization: Basic x
TE: trailers
Trailer: X-Sum
Transfer-Encoding: chunked
Upgrade: websocket
X-Kept: 1`, "2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n")
	request := receive(t, seen, "the request")
	answer := c.answer("POST")
	if got := body(t, answer); got != "ok" {
		t.Errorf("body %q", got)
	}
	if len(answer.Trailer) > 0 {
		t.Errorf("the response has trailers %v", answer.Trailer)
	}
	for _, headers := range []http.Header{request, answer.Header} {
		if headers.Get("X-Kept") != "1" {
			t.Errorf("an end-to-end header is missing from %v", headers)
		}
		for _, name := range []string{"Connection", "X-Secret", "Keep-Alive", "Proxy-Connection",
			"Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Upgrade"} {
			if values, ok := headers[name]; ok {
				t.Errorf("%s: %v went through", name, values)
			}
		}
	}
}

// startRawUpstreamRequest is startRawUpstream with the request's head.
func startRawUpstreamRequest(t *testing.T, talk func(net.Conn, *http.Request)) string {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for {
					request, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, request.Body)
					talk(conn, request)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestUpgradeIsRefused(t *testing.T) {
	upstream := startRawUpstream(t, func(conn net.Conn) {
		io.WriteString(conn,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	})
	c := connect(t, startProxy(t, upstream, nil).address)
	c.send("GET /product/ HTTP/1.1\nHost: shop.example\nConnection: Upgrade\nUpgrade: websocket",
		"")
	wantError(t, c.answer("GET"), http.StatusBadGateway)
}

func TestForwardingHeaders(t *testing.T) {
	type seen struct {
		host    string
		headers http.Header
	}
	requests := make(chan seen, 1)
	upstream := startUpstream(t,
		func(w http.ResponseWriter, r *http.Request) { requests <- seen{r.Host, r.Header} })
	c := connect(t, startProxy(t, upstream, nil).address)
	c.send(`GET /product/products HTTP/1.1
Host: shop.example
X-Forwarded-For: 192.0.2.1
X-Forwarded-For: 192.0.2.2
X-Forwarded-Host: forged.example
X-Forwarded-Proto: https
Forwarded: for=192.0.2.1`, "")
	body(t, c.answer("GET"))
	got := receive(t, requests, "the request")
	if got.host != upstream {
		t.Errorf("Host %q, want the upstream's %q", got.host, upstream)
	}
	for name, want := range map[string]string{
		"X-Forwarded-For":   "192.0.2.1, 192.0.2.2, 127.0.0.1",
		"X-Forwarded-Host":  "shop.example",
		"X-Forwarded-Proto": "http",
		"Forwarded":         "for=192.0.2.1",
	} {
		if values := got.headers[name]; !slices.Equal(values, []string{want}) {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
	if agent, ok := got.headers["User-Agent"]; ok {
		t.Errorf("a User-Agent %q was made up", agent)
	}
}

func TestEndToEndHeadersAndStatusesAreKept(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		switch r.URL.Path {
		case "/redirect":
			header.Set("Location", "http://elsewhere.example/x")
			w.WriteHeader(http.StatusFound)
		case "/cookies":
			header.Add("Set-Cookie", "a=1")
			header.Add("Set-Cookie", "b=2")
			header.Set("Server", "upstream")
			header.Set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
			header["Content-Type"] = nil
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "<html>")
		case "/gzip":
			if values, ok := r.Header["Accept-Encoding"]; ok {
				t.Errorf("Accept-Encoding %q was made up", values)
			}
			header.Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "\x1f\x8bnot really")
		}
	})
	c := connect(t, startProxy(t, upstream, nil).address)

	redirect := c.get("/product/redirect")
	body(t, redirect)
	if redirect.StatusCode != 302 ||
		redirect.Header.Get("Location") != "http://elsewhere.example/x" {
		t.Errorf("redirect: %v", redirect)
	}
	cookies := c.get("/product/cookies")
	body(t, cookies)
	if got := cookies.Header["Set-Cookie"]; cookies.StatusCode != 418 ||
		!slices.Equal(got, []string{"a=1", "b=2"}) {
		t.Errorf("status %d, cookies %q", cookies.StatusCode, got)
	}
	if got := cookies.Header.Get("Server") +
		cookies.Header.Get("Date"); got != "upstreamThu, 01 Jan 1970 00:00:00 GMT" {
		t.Errorf("server and date %q", got)
	}
	if got, ok := cookies.Header["Content-Type"]; ok {
		t.Errorf("a content type %q was made up", got)
	}
	gzip := c.get("/product/gzip")
	if text := body(t, gzip); gzip.Header.Get("Content-Encoding") != "gzip" ||
		text != "\x1f\x8bnot really" {
		t.Errorf("gzip: %v, %q", gzip.Header, text)
	}
}

func TestBodiesOfEveryKind(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fixed":
			w.Header().Set("Content-Length", "5")
			io.WriteString(w, "fixed")
		case "/chunked":
			w.(http.Flusher).Flush()
			io.WriteString(w, "chunked")
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/unmodified":
			w.Header().Set("Etag", `"1"`)
			w.WriteHeader(http.StatusNotModified)
		case "/echo":
			w.Header().Set("X-Length", fmt.Sprint(r.ContentLength))
			io.Copy(w, r.Body)
		}
	})
	c := connect(t, startProxy(t, upstream, nil).address)
	for _, test := range []struct {
		method, path, send string // a body to send, after its header line
		status             int
		length             int64
		want               string
	}{
		{"GET", "/fixed", "", 200, 5, "fixed"},
		{"HEAD", "/fixed", "", 200, 5, ""},
		{"GET", "/chunked", "", 200, -1, "chunked"},
		{"HEAD", "/chunked", "", 200, -1, ""},
		{"GET", "/empty", "", 204, 0, ""},
		{"GET", "/unmodified", "", 304, 0, ""},
		{"POST", "/echo", "Content-Length: 3\r\n\r\nabc", 200, 3, "abc"},
		{"POST", "/echo", "Content-Length: 0\r\n\r\n", 200, 0, ""},
		{"PUT", "/echo", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200, -1, "abc"},
	} {
		end := "\r\n"
		if test.send != "" {
			end = test.send
		}
		fmt.Fprintf(c, "%s /product%s HTTP/1.1\r\nHost: shop.example\r\n%s", test.method, test.path,
			end)
		// On one connection: a misread body breaks the next response.
		response := c.answer(test.method)
		got := body(t, response)
		if response.StatusCode != test.status || got != test.want ||
			response.ContentLength != test.length && test.path != "/echo" {
			t.Errorf("%s %s: status %d, length %d, body %q", test.method, test.path,
				response.StatusCode, response.ContentLength, got)
		}
		if length := response.Header.Get("X-Length"); test.path == "/echo" &&
			length != fmt.Sprint(test.length) {
			t.Errorf("%s: the upstream got length %s, want %d", test.send, length, test.length)
		}
	}
}

func TestResponsesAreStreamed(t *testing.T) {
	for _, framing := range []string{"fixed", "chunked"} {
		t.Run(framing, func(t *testing.T) {
			halfRead := make(chan struct{})
			upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
				if framing == "fixed" {
					w.Header().Set("Content-Length", "12")
				}
				w.(http.Flusher).Flush()
				io.WriteString(w, "first ")
				w.(http.Flusher).Flush()
				receive(t, halfRead, "the client to read the first half")
				io.WriteString(w, "second")
			})
			response := connect(t, startProxy(t, upstream, nil).address).get("/product/")
			first := make([]byte, 6)
			if _, err := io.ReadFull(response.Body, first); err != nil ||
				string(first) != "first " {
				t.Fatalf("%q, %v", first, err)
			}
			close(halfRead)
			if rest := body(t, response); rest != "second" {
				t.Errorf("second half %q", rest)
			}
		})
	}
}

func TestHeadDoesNotWaitForBody(t *testing.T) {
	headRead := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2")
		w.(http.Flusher).Flush()
		receive(t, headRead, "the client to read the head")
		io.WriteString(w, "ok")
	})
	response := connect(t, startProxy(t, upstream, nil).address).get("/product/")
	close(headRead)
	if got := body(t, response); got != "ok" {
		t.Errorf("body %q", got)
	}
}

func TestRequestsAreStreamed(t *testing.T) {
	for framing, head := range map[string]string{"fixed": "Content-Length: 12",
		"chunked": "Transfer-Encoding: chunked"} {
		t.Run(framing, func(t *testing.T) {
			firstHalf := make(chan string, 1)
			upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
				first := make([]byte, 6)
				io.ReadFull(r.Body, first)
				firstHalf <- string(first)
				rest, err := io.ReadAll(r.Body)
				fmt.Fprintf(w, "%s%v", rest, err)
			})
			c := connect(t, startProxy(t, upstream, nil).address)
			first, second := "first ", "second"
			if framing == "chunked" {
				first, second = "6\r\nfirst \r\n", "6\r\nsecond\r\n0\r\n\r\n"
			}
			c.send("POST /product/ HTTP/1.1\nHost: shop.example\n"+head, first)
			if got := receive(t, firstHalf, "the first half at the upstream"); got != "first " {
				t.Errorf("first half %q", got)
			}
			io.WriteString(c, second)
			if got := body(t, c.answer("POST")); got != "second<nil>" {
				t.Errorf("second half %q", got)
			}
		})
	}
}

func TestLargeBodyPassesUnchanged(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		io.Copy(w, r.Body) // responds before it has read everything
	})
	c := connect(t, startProxy(t, upstream, nil).address)
	go fmt.Fprintf(c,
		"POST /product/ HTTP/1.1\r\nHost: shop.example\r\nContent-Length: %d\r\n\r\n%s", len(
			large), large)
	if got := body(t, c.answer("POST")); got != string(large) {
		t.Errorf("%d bytes came back changed, of %d", len(got), len(large))
	}
}

func TestClientThatClosesCancelsUpstreamRequest(t *testing.T) {
	arrived, cancelled := make(chan struct{}), make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		receive(t, r.Context().Done(), "the cancellation")
		close(cancelled)
	})
	c := connect(t, startProxy(t, upstream, nil).address)
	c.send("GET /product/ HTTP/1.1\nHost: shop.example", "")
	receive(t, arrived, "the request")
	c.Close()
	receive(t, cancelled, "the cancellation")
}

func TestFailingUpstreamGives502(t *testing.T) {
	for name, upstream := range map[string]string{
		"unreachable": unreachable,
		"silent":      startRawUpstream(t, func(net.Conn) {}),
		"half a head": startRawUpstream(t,
			func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Le") }),
		"not HTTP": startRawUpstream(t,
			func(conn net.Conn) { io.WriteString(conn, "220 mail ready\r\n\r\n") }),
	} {
		t.Run(name, func(t *testing.T) {
			p := startProxy(t, upstream, nil)
			wantError(t, connect(t, p.address).get("/product/"), http.StatusBadGateway)
			if p.log.String() == "" {
				t.Error("the reason was not logged")
			}
		})
	}
}

func TestSlowUpstreamGives504(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	deaf := listen(t) // accepts by its backlog, and never reads
	for name, upstream := range map[string]string{
		"no head": startRawUpstream(t, func(net.Conn) { <-over }),
		"half a head": startRawUpstream(t,
			func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 200 OK\r\n"); <-over }),
		"deaf": deaf.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			p := startProxy(t, upstream,
				func(s *settings, _ *shares) { s.upstreamTimeout = 50 * time.Millisecond })
			c := connect(t, p.address)
			if name == "deaf" { // more than the sockets' buffers take
				go func() {
					fmt.Fprintf(c,
						"POST /product/ HTTP/1.1\r\nHost: shop.example\r\nContent-Length: %d\r\n\r\n", 64<<20)
					io.Copy(c, io.LimitReader(zeros{}, 64<<20))
				}()
				wantError(t, c.answer("POST"), http.StatusGatewayTimeout)
				return
			}
			wantError(t, c.get("/product/"), http.StatusGatewayTimeout)
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestTruncatedResponseIsSeenByClient(t *testing.T) {
	for name, answer := range map[string]string{
		"fixed":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"large chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n" +
			strings.Repeat("x", 0x10000) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			upstream := startRawUpstream(t, func(conn net.Conn) { io.WriteString(conn, answer) })
			c := connect(t, startProxy(t, upstream, nil).address)
			c.send("GET /product/ HTTP/1.1\nHost: shop.example", "")
			response, err := http.ReadResponse(c.r, nil)
			if err == nil {
				_, err = io.ReadAll(response.Body)
			}
			if timeout := net.Error(nil); err == nil || errors.As(err, &timeout) &&
				timeout.Timeout() {
				t.Errorf("the response ended with %v, want a truncated one", err)
			}
		})
	}
}

func TestUpstreamConnectionsAreReused(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for _, unbounded := range []bool{false, true} {
		connections.Store(0)
		p := startProxy(t, server.Listener.Addr().String(),
			func(s *settings, _ *shares) { s.unbounded = unbounded })
		for range 5 { // also over several clients
			c := connect(t, p.address)
			for range 5 {
				body(t, c.get("/product/"))
			}
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("unbounded %v: %d connections to the upstream, want 1", unbounded, n)
		}
	}
}

func TestPanicGives500(t *testing.T) {
	var logged syncBuffer
	p := &proxy{crowded: func() bool { return false }, logger: log.New(&logged, "", 0)}
	router := gin.New()
	router.Use(p.recovery)
	router.GET("/", func(*gin.Context) { panic("a bug") })
	server := httptest.NewServer(router)
	defer server.Close()
	wantError(t, connect(t, server.Listener.Addr().String()).get("/"),
		http.StatusInternalServerError)
	if !strings.Contains(logged.String(), "a bug") {
		t.Errorf("logged %q", logged.String())
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	for arguments, complaint := range map[string]string{
		"":                                        "-upstream",
		"-upstream 127.0.0.1:80":                  "-upstream",
		"-upstream https://127.0.0.1":             "http://host:port",
		"-upstream http://":                       "http://host:port",
		"-upstream http://h/path":                 "http://host:port",
		"-upstream http://h -wait x":              "wait",
		"-upstream http://h -wait -1s":            "-wait",
		"-upstream http://h -bogus":               "bogus",
		"-upstream http://h extra":                "extra",
		"-upstream http://h -upstream-timeout 0s": "-upstream-timeout",
	} {
		_, err := parse(strings.Fields(arguments), io.Discard)
		if err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%q: error %v, want one about %s", arguments, err, complaint)
		}
	}
	s, err := parse(strings.Fields("-listen 127.0.0.1:1 -upstream http://127.0.0.1:2 --unbounded"),
		io.Discard)
	if err != nil || s.upstreamTimeout != 10*time.Second || s.wait != 250*time.Millisecond ||
		!s.unbounded {
		t.Errorf("%+v, %v", s, err)
	}
}
