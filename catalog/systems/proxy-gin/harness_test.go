// What the tests share: proxies, upstreams, and a client that sends exact bytes.

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for something that should happen at once.
const patience = 30 * time.Second

// started is a proxy under test.
type started struct {
	address string
	log     *syncBuffer
}

// startProxy runs the proxy before the upstream at this address, until the test ends.
func startProxy(t *testing.T, upstream string, change func(*settings, *shares)) started {
	t.Helper()
	u, err := url.Parse("http://" + upstream)
	if err != nil {
		t.Fatal(err)
	}
	s := settings{upstream: u, upstreamTimeout: patience, wait: patience}
	bounds := shares{inbound: 100, outbound: 50}
	if change != nil {
		change(&s, &bounds)
	}
	limits := &bounds
	if s.unbounded {
		limits = nil
	}
	listener := listen(t)
	var logged syncBuffer
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, listener, s, limits, log.New(&logged, "", 0)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return started{address: listener.Addr().String(), log: &logged}
}

// unreachable is an address where nothing listens. A port that was free once may be another's by
// now.
const unreachable = "127.0.0.1:1"

func listen(t *testing.T) net.Listener {
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

// startRawUpstream runs talk for each connection once its request head was read, and closes it
// afterwards.
func startRawUpstream(t *testing.T, talk func(net.Conn)) string {
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
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					talk(conn)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// client is one connection to the proxy. It neither retries nor follows redirects.
type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func connect(t *testing.T, address string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{t, conn, bufio.NewReader(conn)}
}

// send writes a request given as the lines of its head, and its body.
func (c *client) send(head, body string) {
	c.t.Helper()
	text := strings.ReplaceAll(strings.TrimSpace(head), "\n", "\r\n") + "\r\n\r\n" + body
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the head of the response to a request of the given method.
func (c *client) answer(method string) *http.Response {
	c.t.Helper()
	response, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading the response: %v", err)
	}
	return response
}

func (c *client) get(target string) *http.Response {
	c.t.Helper()
	c.send("GET "+target+" HTTP/1.1\nHost: shop.example", "")
	return c.answer("GET")
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

func receive[T any](t *testing.T, c <-chan T, what string) T {
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
