// What the tests of this package share: gateways, upstreams, and a client that sends exact bytes.

package proxy

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"faceoff/gateway/route"
)

// patience is how long a test waits for something that should happen at once.
const patience = 20 * time.Second

// started is a gateway under test.
type started struct {
	*Server
	address string
	log     *syncBuffer
}

// given is what a test may change about its gateway.
type given struct {
	Settings
	upstreams []UpstreamSettings
	routes    []*route.Route
}

func plainUpstream(addresses ...string) UpstreamSettings {
	u := UpstreamSettings{
		Name: "products", Connections: 50, Most: 50, Queue: 100, Wait: patience, Keep: 50, KeepFor: patience, Connect: patience, Answer: patience,
		Tunnel: patience, Retries: 0.2,
		Host: []byte(addresses[0]),
	}
	for _, address := range addresses {
		u.Servers = append(u.Servers, ServerSettings{Address: netip.MustParseAddrPort(address)})
	}
	return u
}

// start runs a gateway before the upstream at this address, until the test ends.
func start(t testing.TB, upstream string, change func(*given)) started {
	t.Helper()
	return startWith(t, upstream, change, func(*Server) {})
}

func startWith(t testing.TB, upstream string, change func(*given), prepare func(*Server)) started {
	t.Helper()
	root := "/"
	g := given{
		Settings: Settings{Workers: 2, MaxClients: 100, MaxHead: 16 << 10, Streams: 100, HeadTimeout: patience, IdleTimeout: patience, BodyTimeout: patience, Stall: patience, Via: "gateway"},
		routes:   []*route.Route{{Path: "/product", Replace: &root}, {Path: "/v1/"}},
	}
	g.upstreams = []UpstreamSettings{plainUpstream(upstream)}
	if change != nil {
		change(&g)
	}
	listener, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := Bound(listener)
	if err != nil {
		t.Fatal(err)
	}
	var logged syncBuffer
	server, err := New(g.Settings, g.table(nil), listener, func(line string) { io.WriteString(&logged, line+"\n") })
	if err != nil {
		t.Fatal(err)
	}
	prepare(server)
	server.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		server.Stop(ctx) // cuts what the test left open
	})
	return started{server, bound.String(), &logged}
}

func (g *given) table(before *Table) *Table {
	table := &Table{Routes: route.NewTable(g.routes)}
	for _, u := range g.upstreams {
		table.Upstreams = append(table.Upstreams, before.Keep(u, g.Workers))
	}
	return table
}

// left closes the nth connection to the gateway, and waits until the gateway has released
// everything.
func (s started) left(t testing.TB, conn net.Conn, nth int64) {
	t.Helper()
	conn.Close()
	s.counted(t, "gateway_connections_total", nth) // before it is accepted, nothing is held either
	s.counted(t, "gateway_connections", 0)
	s.counted(t, "gateway_upstream_requests", 0)
}

// counted waits until a metric has a value.
func (s started) counted(t testing.TB, name string, want int64) {
	t.Helper()
	var got int64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = 0
		for _, c := range s.Counts() {
			if c.Name+"{"+c.Labels+"}" == name || c.Name == name {
				got += c.Value
			}
		}
		if got == want {
			return
		}
	}
	t.Fatalf("%s is %d, want %d", name, got, want)
}

// visitor is a client that makes its worker run a function.
type visitor struct {
	client
	visit func()
}

func (v *visitor) proceed() { v.visit() }

// onWorker runs a function on the gateway's first worker, where its state may be read.
func (s started) onWorker(t testing.TB, visit func(*worker)) {
	t.Helper()
	w, done := s.workers[0], make(chan struct{})
	v := &visitor{visit: func() { defer close(done); visit(w) }}
	v.handler = v
	w.post(&v.client)
	receive(t, done, "the worker")
}

// unwritten counts the bytes that the first worker has queued for HTTP/2 servers because the kernel
// did not take them.
func (s started) unwritten(t testing.TB) (n int) {
	t.Helper()
	s.onWorker(t, func(w *worker) {
		for _, c := range w.conns {
			if c == nil {
				continue
			}
			if l, ok := c.handler.(*upstreamConn); ok && l.h2 != nil {
				n += len(l.out) - l.sent
			}
		}
	})
	return n
}

// nowhere is an address where nothing listens. A port that was free once may be another's by now.
const nowhere = "127.0.0.1:1"

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// startUpstream serves handler until the test ends, and returns its address.
func startUpstream(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// startRaw runs talk for each connection, and closes it afterwards.
func startRaw(t testing.TB, talk func(net.Conn, *bufio.Reader)) string {
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
				conn.SetDeadline(time.Now().Add(patience))
				talk(conn, bufio.NewReader(conn))
			}()
		}
	}()
	return listener.Addr().String()
}

// startAnswer responds to each request with the same bytes, and keeps the connection.
func startAnswer(t *testing.T, answer string) string {
	t.Helper()
	return startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			io.Copy(io.Discard, request.Body)
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	})
}

// testClient is one connection to the gateway. It neither retries nor follows redirects.
type testClient struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func connectTo(t *testing.T, address string) *testClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &testClient{t, conn, bufio.NewReader(conn)}
}

// say sends text, with CRLF for each line feed.
func (c *testClient) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the head of the response to a request of the given method.
func (c *testClient) answer(method string) *http.Response {
	c.t.Helper()
	response, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading the response: %v", err)
	}
	return response
}

func (c *testClient) get(target string) *http.Response {
	c.t.Helper()
	c.say("GET " + target + " HTTP/1.1\nHost: shop.example\n\n")
	return c.answer("GET")
}

// wantEnd fails unless the gateway closes the connection without sending more.
func (c *testClient) wantEnd() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
		c.t.Fatalf("the connection went on with %q, %v", rest, err)
	}
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	return string(b)
}

func wantError(t *testing.T, response *http.Response, status int) {
	t.Helper()
	text := body(t, response)
	if response.StatusCode != status {
		t.Errorf("status %d, want %d", response.StatusCode, status)
	}
	if got := response.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	if !strings.HasPrefix(text, `{"error":"`) || !strings.HasSuffix(text, `"}`) {
		t.Errorf("body %q", text)
	}
}

func receive[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no sign of %s in time", what)
		panic("unreachable")
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
