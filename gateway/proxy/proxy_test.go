// Passing on of requests, responses, bodies and trailers over HTTP/1.1.

package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestResponseIsPassedOn(t *testing.T) {
	const products = `[{"id":1,"name":"lamp"},{"id":2,"name":"chair"}]`
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, products)
	})
	g := start(t, upstream, nil)
	c := connectTo(t, g.address)
	for range 3 {
		response := c.get("/product/products")
		if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/json" || response.ContentLength != int64(len(products)) {
			t.Errorf("got %v", response)
		}
		if got := body(t, response); got != products {
			t.Errorf("body %q", got)
		}
	}
	if got := g.log.String(); got != "" {
		t.Errorf("a request was logged: %s", got)
	}
	g.counted(t, "gateway_upstream_connections_total", 1)
}

func TestPrefixIsRemoved(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) })
	c := connectTo(t, start(t, upstream, nil).address)
	for target, want := range map[string]string{
		"/product/products":                   "/products",
		"/product/products?a=1&a=2":           "/products?a=1&a=2",
		"/product/products?a=%zz;b&c=+%20":    "/products?a=%zz;b&c=+%20",
		"/product":                            "/",
		"/product/":                           "/",
		"/product?a=1":                        "/?a=1",
		"/product/a%3Fb%20c":                  "/a%3Fb%20c",
		"/product//double/":                   "/double/",
		"/product/product/x":                  "/product/x",
		"/%70roduct/x":                        "/x",
		"http://shop.example/product/absolut": "/absolut",
		"/v1/pets?limit=1":                    "/v1/pets?limit=1",
		"/v1/product/x":                       "/v1/product/x",
	} {
		if got := body(t, c.get(target)); got != want {
			t.Errorf("%s: the upstream received %s, want %s", target, got, want)
		}
	}
	for _, target := range []string{"/", "/products", "/productx/products", "/v1", "/v1x/pets", "/PRODUCT/products", "/x/product/products"} {
		wantError(t, c.get(target), http.StatusNotFound)
	}
}

func TestRequestsArePipelined(t *testing.T) { // RFC 9112, 9.3.2
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.URL.Path, b)
	})
	c := connectTo(t, start(t, upstream, nil).address)
	var all strings.Builder
	for i := range 40 {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&all, "GET /product/%d HTTP/1.1\nHost: a\n\n", i)
		case 1:
			fmt.Fprintf(&all, "POST /product/%d HTTP/1.1\nHost: a\nContent-Length: 4\n\nbody", i)
		case 2:
			fmt.Fprintf(&all, "POST /product/%d HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n2\nbo\n2\ndy\n0\n\n", i)
		case 3:
			// The gateway itself responds.
			fmt.Fprintf(&all, "POST /%d HTTP/1.1\nHost: a\nContent-Length: 4\n\nlost", i)
		}
	}
	go io.WriteString(c, strings.ReplaceAll(all.String(), "\n", "\r\n"))
	for i := range 40 {
		response := c.answer("GET")
		got, want := body(t, response), fmt.Sprintf("/%d %s", i, []string{"", "body", "body"}[i%4%3])
		if i%4 == 3 {
			want = `{"error":"not found"}`
		}
		if got != want || response.Close {
			t.Fatalf("answer %d is %q, want %q", i, got, want)
		}
	}
}

func TestHeadsMayArriveByteByByte(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	c := connectTo(t, start(t, upstream, nil).address)
	for _, b := range []byte("GET /product/ HTTP/1.1\r\nHost: a\r\n\r\n") {
		c.Write([]byte{b})
	}
	if got := body(t, c.answer("GET")); got != "ok" {
		t.Errorf("body %q", got)
	}
}

func TestAmbiguousRequestsAreRefusedAndClose(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s %s went through", r.Method, r.URL) })
	g := start(t, upstream, nil)
	for name, text := range map[string]string{
		"two lengths":             "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
		"length and chunks":       "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"obs-fold":                "GET /product/ HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
		"a space before a colon":  "GET /product/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n",
		"a bare LF":               "GET /product/ HTTP/1.1\nHost: a\n\n",
		"a bare CR":               "GET /product/ HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
		"a dot segment":           "GET /product/../admin HTTP/1.1\r\nHost: a\r\n\r\n",
		"two hosts in one":        "GET http://b/product/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"something after a space": "GET /product/ x HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := connectTo(t, g.address)
			io.WriteString(c, text+"GET /product/smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
			response := c.answer("GET")
			wantError(t, response, http.StatusBadRequest)
			if !response.Close {
				t.Error("the connection was to go on")
			}
			c.wantEnd()
		})
	}
	g.counted(t, "gateway_upstream_connections_total", 0)
}

func TestMaxForwardsOfZeroIsAnswered(t *testing.T) { // RFC 9110, 7.6.2
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header["Max-Forwards"]; r.Method != "OPTIONS" || !slices.Equal(got, []string{"1"}) {
			t.Errorf("%s with %q went on", r.Method, got)
		}
		fmt.Fprint(w, "ok")
	})
	g := start(t, upstream, nil)
	c := connectTo(t, g.address)
	c.say("OPTIONS /product/ HTTP/1.1\nHost: a\nMax-Forwards: 0\n\n")
	if response := c.answer("OPTIONS"); response.StatusCode != 204 || response.Close {
		t.Errorf("%d, to be closed: %v", response.StatusCode, response.Close)
	}
	c.say("OPTIONS /product/ HTTP/1.1\nHost: a\nMax-Forwards: 2\n\n")
	if got := body(t, c.answer("OPTIONS")); got != "ok" {
		t.Errorf("%q", got)
	}
	c.say("TRACE /product/ HTTP/1.1\nHost: a\nCookie: secret\nMax-Forwards: 0\n\n")
	wantError(t, c.answer("TRACE"), http.StatusNotImplemented)
	f := connectFramed(t, g.address)
	f.ask(1, true, ":method", "OPTIONS", ":scheme", "http", ":authority", "a", ":path", "/product/", "max-forwards", "0")
	if status := f.status(1); status != "204" || !f.closed {
		t.Errorf("status %s, the end: %v", status, f.closed)
	}
}

func TestInvalidChunkIsRefused(t *testing.T) {
	upstream := startRaw(t, func(_ net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if b, err := io.ReadAll(request.Body); err == nil {
			t.Errorf("a whole body %q came", b)
		}
	})
	c := connectTo(t, start(t, upstream, nil).address)
	c.say("POST /product/ HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n2\nbo\n")
	c.say("2x\ndy\n0\n\n")
	wantError(t, c.answer("POST"), http.StatusBadRequest)
	c.wantEnd()
}

func TestBodiesAndTrailersPassBothWays(t *testing.T) { // RFC 9110, 6.5; RFC 9112, 7.1.2
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Trailer", "X-Length")
		w.Write(b)
		w.Header().Set("X-Length", fmt.Sprint(len(b), r.Trailer.Get("X-Sum")))
	})
	c := connectTo(t, start(t, upstream, nil).address)
	for _, size := range []int{0, 1, 100, readSize - 1, readSize, readSize + 1, 3 << 20} {
		content := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		var request bytes.Buffer
		fmt.Fprint(&request, "POST /product/ HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n")
		for rest := content; rest != ""; {
			n := min(len(rest), 1+len(rest)/3)
			fmt.Fprintf(&request, "%x;ext=1\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		fmt.Fprint(&request, "0\r\nX-Sum: sum\r\nHost: b\r\n\r\n")
		go c.Write(request.Bytes())
		response := c.answer("POST")
		if got := body(t, response); got != content {
			t.Fatalf("%d bytes came back as %d", size, len(got))
		}
		if got, want := response.Trailer.Get("X-Length"), fmt.Sprint(size, "sum"); got != want {
			t.Errorf("trailer %q, want %q", got, want)
		}
		fmt.Fprintf(c, "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size)
		go io.WriteString(c, content)
		if got := body(t, c.answer("POST")); got != content {
			t.Fatalf("%d bytes came back as %d", size, len(got))
		}
	}
}

func TestSlowReaderSlowsTheUpstream(t *testing.T) {
	const size = 64 << 20
	written := make(chan int, 1)
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		block, n := make([]byte, 1<<20), 0
		for n < size {
			m, err := w.Write(block)
			if n += m; err != nil {
				break
			}
			select {
			case <-written:
			default:
			}
			written <- n
		}
	})
	g := start(t, upstream, nil)
	c := connectTo(t, g.address)
	response := c.get("/product/")
	io.ReadFull(response.Body, make([]byte, 1<<20))
	last := 0
	for { // until it stops
		select {
		case n := <-written:
			last = n
			continue
		case <-time.After(300 * time.Millisecond): // no progress for a while
		}
		break
	}
	if last == size {
		t.Error("everything was read although the upstream reads nothing")
	}
	if n, err := io.Copy(io.Discard, response.Body); err != nil || n != size-1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestHTTP10(t *testing.T) {
	chunked := startAnswer(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
	c := connectTo(t, start(t, chunked, nil).address)
	c.say("GET /product/ HTTP/1.0\nConnection: keep-alive\n\n")
	response := c.answer("GET")
	if got := body(t, response); got != "ok" || len(response.TransferEncoding) > 0 || !response.Close {
		t.Errorf("body %q, %v", got, response)
	}
	sized := startAnswer(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	c = connectTo(t, start(t, sized, nil).address)
	for range 2 {
		c.say("GET /product/ HTTP/1.0\nConnection: keep-alive\n\n")
		if got := body(t, c.answer("GET")); got != "ok" {
			t.Errorf("body %q", got)
		}
	}
	c.say("GET /product/ HTTP/1.0\n\n")
	body(t, c.answer("GET"))
	c.wantEnd()
}

func TestResponseWithoutLengthBecomesChunked(t *testing.T) { // RFC 9112, 6.3
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nuntil the ")
		io.WriteString(conn, "end")
	})
	c := connectTo(t, start(t, upstream, nil).address)
	for range 2 {
		response := c.get("/product/")
		if got := body(t, response); got != "until the end" || !slices.Equal(response.TransferEncoding, []string{"chunked"}) || response.Close {
			t.Errorf("%q, %v", got, response)
		}
	}
}

func TestResponsesWithoutBody(t *testing.T) { // RFC 9110, 9.3.2 and 15
	for method, answer := range map[string]string{
		"HEAD": "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
		"GET":  "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
		"PUT":  "HTTP/1.1 204 No Content\r\n\r\n",
	} {
		c := connectTo(t, start(t, startAnswer(t, answer), nil).address)
		for range 2 {
			c.say(method + " /product/ HTTP/1.1\nHost: a\n\n")
			if got := body(t, c.answer(method)); got != "" {
				t.Errorf("%s: body %q", method, got)
			}
		}
	}
}

func TestInformationalResponsesArePassedOn(t *testing.T) { // RFC 9110, 15.2
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if got := request.Header.Get("Expect"); got != "100-continue" {
			t.Errorf("Expect %q", got)
		}
		io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
		b, _ := io.ReadAll(request.Body)
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(b), b)
	})
	c := connectTo(t, start(t, upstream, nil).address)
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\nExpect: 100-continue\n\n")
	for _, want := range []int{103, 100} {
		if got := c.answer("POST").StatusCode; got != want {
			t.Fatalf("status %d, want %d", got, want)
		}
	}
	c.say("body")
	if got := body(t, c.answer("POST")); got != "body" {
		t.Errorf("body %q", got)
	}
}

func TestUpgradeBecomesTunnel(t *testing.T) { // RFC 9110, 7.8
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil || request.Header.Get("Upgrade") != "echo" || request.Header.Get("Connection") != "Upgrade" {
			t.Errorf("%v, %v", request, err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello ")
		io.Copy(conn, r)
	})
	c := connectTo(t, start(t, upstream, nil).address)
	c.say("GET /product/ HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: echo\n\nearly ")
	if got := c.answer("GET").StatusCode; got != 101 {
		t.Fatalf("status %d", got)
	}
	large := strings.Repeat("x", 1<<20)
	go func() {
		c.say("late " + large)
		c.Conn.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(c.r); err != nil || string(got) != "hello early late "+large {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestUnrequestedUpgradeIsRefused(t *testing.T) {
	upstream := startAnswer(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	wantError(t, connectTo(t, start(t, upstream, nil).address).get("/product/"), http.StatusBadGateway)
}

func TestEarlyResponseClosesConnection(t *testing.T) {
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")
	})
	c := connectTo(t, start(t, upstream, nil).address)
	fmt.Fprintf(c, "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 8<<20)
	go io.WriteString(c, strings.Repeat("x", 8<<20)) // do not wait for the end
	response := c.answer("POST")
	if got := body(t, response); response.StatusCode != 413 || got != "no!" || !response.Close {
		t.Errorf("%v, body %q", response, got)
	}
}
