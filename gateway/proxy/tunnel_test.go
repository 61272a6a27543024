// Tunnels after an upgrade: each direction closes separately, in all combinations of HTTP versions.

package proxy

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/h2"
)

// closer is an end of a tunnel that can close its sending side.
type closer interface {
	io.ReadWriter
	CloseWrite() error
}

// largePart is more than the gateway takes at once.
var largePart = strings.Repeat("x", 3<<20)

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

// halves serves a tunnel. On /first it reads to the end and then responds; on other paths it first
// writes, closes, and then reads. What it read is sent to the channel.
func halves(t *testing.T, heard chan string) func(closer, *bufio.Reader) {
	return func(conn closer, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			request.Header.Get("Upgrade"), acceptOf(request.Header.Get("Sec-Websocket-Key")))
		if request.URL.Path != "/first" {
			io.WriteString(conn, largePart)
			conn.CloseWrite()
		}
		got, err := io.ReadAll(r)
		if err != nil {
			t.Errorf("the request is cut after %d bytes: %v", len(got), err)
		}
		if request.URL.Path == "/first" {
			io.WriteString(conn, largePart)
			conn.CloseWrite()
		}
		heard <- string(got)
	}
}

const probing = " HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: probe\n\n"

// speakHalves uses a tunnel: on /first it writes and closes before it reads, on other paths after.
func speakHalves(t *testing.T, name, path string, c *testClient, heard chan string) {
	t.Helper()
	if got := c.answer("GET"); got.StatusCode != 101 {
		t.Fatalf("%s: %s", name, got.Status)
	}
	hear := func() {
		t.Helper()
		if got, err := io.ReadAll(c.r); err != nil || string(got) != largePart {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if path != "/first" {
		hear()
	}
	if _, err := io.WriteString(c, "after that "+largePart); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if err := c.Conn.(closer).CloseWrite(); err != nil {
		t.Error(err)
	}
	if path == "/first" {
		hear()
	}
	if got := receive(t, heard, "what the server hears"); got != "after that "+largePart {
		t.Errorf("%s: the server heard %d bytes", name, len(got))
	}
}

// startTunnels serves tunnels with or without TLS, and returns the address and the TLS settings.
func startTunnels(t *testing.T, secure bool, talk func(closer, *bufio.Reader)) (string, *UpstreamTLS) {
	t.Helper()
	if !secure {
		return startRaw(t, func(conn net.Conn, r *bufio.Reader) { talk(conn.(*net.TCPConn), r) }), nil
	}
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // provides a certificate
	t.Cleanup(lender.Close)
	config := &tls.Config{Certificates: lender.TLS.Certificates}
	address := startRaw(t, func(conn net.Conn, _ *bufio.Reader) {
		over := tls.Server(conn, config)
		talk(over, bufio.NewReader(over))
		io.Copy(io.Discard, over) // until the gateway closes
	})
	return address, &UpstreamTLS{Name: "example.com", Roots: pemOf(lender.Certificate().Raw)}
}

func TestTunnelClosesEachDirectionSeparately(t *testing.T) {
	for _, secure := range []bool{false, true} {
		heard := make(chan string, 1)
		address, trust := startTunnels(t, secure, halves(t, heard))
		settings := func(g *given) { g.upstreams[0].TLS = trust }
		g, listener := startSecureWith(t, address, settings)
		for _, path := range []string{"/first", "/last"} {
			for _, name := range []string{"in the clear", "over TLS"} {
				c := connectTo(t, g.address)
				if name == "over TLS" {
					c, _ = listener.connect(t)
				}
				c.say("GET /product" + path + probing)
				speakHalves(t, fmt.Sprintf("%s %s, TLS to the server %v", path, name, secure), path, c, heard)
				g.counted(t, "gateway_upstream_requests", 0)
			}
		}
	}
}

func TestHTTP2TunnelClosesEachDirectionSeparately(t *testing.T) {
	heard := make(chan string, 1)
	address, _ := startTunnels(t, false, func(conn closer, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", acceptOf(request.Header.Get("Sec-Websocket-Key")))
		io.WriteString(conn, "that is all")
		conn.CloseWrite()
		got, _ := io.ReadAll(r)
		heard <- string(got)
	})
	g := start(t, address, nil)
	f := connectFramed(t, g.address)
	f.ask(1, false, connecting("/product/")...)
	if got := f.status(1); got != "200" {
		t.Fatalf("status %s", got)
	}
	if got := f.content(1); got != "that is all" { // it ends the stream
		t.Errorf("%q", got)
	}
	for _, part := range []string{"after ", "that"} {
		f.raw(frame(h2.Data, 0, 1, []byte(part)))
	}
	f.raw(frame(h2.Data, h2.EndStream, 1, nil))
	if got := receive(t, heard, "what the server hears"); got != "after that" {
		t.Errorf("%q", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestUpstreamHTTP2TunnelClosesEachDirection(t *testing.T) {
	heard := make(chan string, 2)
	address := startConnecting(t, mayConnect, func(s *served, stream uint32, fields map[string]string) {
		s.Write(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200")))
		s.Write(frame(h2.Data, h2.EndStream, stream, []byte("that is all")))
		var all []byte
		for {
			got := s.next(h2.Data)
			if all = append(all, got.Payload...); got.Stream == 0 || got.Flags&h2.EndStream != 0 {
				break
			}
		}
		heard <- string(all)
	})
	g := start(t, address, inHTTP2)
	c := connectTo(t, g.address)
	c.say("GET /product/" + upgrading)
	if got := c.answer("GET").StatusCode; got != 101 {
		t.Fatalf("status %d", got)
	}
	c.r = bufio.NewReader(io.MultiReader(c.r, c.Conn))
	if got, err := io.ReadAll(c.r); err != nil || string(got) != "that is all" {
		t.Errorf("%q, %v", got, err)
	}
	c.say("after that")
	c.Conn.(*net.TCPConn).CloseWrite()
	if got := receive(t, heard, "what the server hears"); got != "after that" {
		t.Errorf("%q", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestTunnelEndsWhenItsServerIsGone(t *testing.T) {
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		io.WriteString(conn, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: probe\r\n\r\nbye")
	}) // closes both directions
	g := start(t, upstream, nil)
	c := connectTo(t, g.address)
	c.say("GET /product/" + probing)
	c.answer("GET")
	if got, err := io.ReadAll(c.r); err != nil || string(got) != "bye" {
		t.Errorf("%q, %v", got, err)
	}
	// Until the gateway closes the connection.
	for _, err := io.WriteString(c, "x"); err == nil; _, err = io.WriteString(c, "x") {
		time.Sleep(time.Millisecond)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestHalfClosedTunnelTimesOut(t *testing.T) {
	t.Parallel() // it mostly waits
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		io.WriteString(conn, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: probe\r\n\r\n")
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, r)
	})
	g := start(t, upstream, func(g *given) { g.upstreams[0].Tunnel = 200 * time.Millisecond })
	c := connectTo(t, g.address)
	c.say("GET /product/" + probing)
	c.answer("GET")
	c.wantEnd()
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_connections", 0)
}

func TestUnrequestedProtocolSwitchGives502(t *testing.T) { // RFC 9110, 7.8
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		if request, err := http.ReadRequest(r); err == nil {
			io.WriteString(conn, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\n"+strings.ReplaceAll(request.Header.Get("X-Say"), "|", "\r\n")+"\r\n\r\n")
		}
	})
	g := start(t, upstream, nil)
	for _, c := range []struct {
		asked, answer string
		status        int
	}{
		{"Upgrade: websocket", "Upgrade: websocket", 101},
		{"Upgrade: chat, websocket", "Upgrade: websocket", 101},
		{"Upgrade: a, b", "Upgrade: b, a", 101},
		{"Upgrade: websocket", "Upgrade: other", 502},
		{"Upgrade: websocket", "Upgrade: websocket, other", 502},
		{"Upgrade: websocket", "Upgrade: h2c", 502},
		{"Upgrade: websocket", "Upgrade: websocket|Upgrade: websocket", 502},
		{"Upgrade: websocket", "X: y", 502},
		{"Upgrade: a/2", "Upgrade: a/3", 502},
		{"Upgrade: h2c, websocket", "Upgrade: websocket", 502}, // it was not requested
		{"Upgrade: a|Content-Length: 0", "Upgrade: a", 101},
		{"Upgrade: a|Content-Length: 1", "Upgrade: a", 502},
		{"Upgrade: a|Transfer-Encoding: chunked", "Upgrade: a", 502},
	} {
		client := connectTo(t, g.address)
		client.say("GET /v1/ HTTP/1.1\nHost: a\nConnection: Upgrade\n" + strings.ReplaceAll(c.asked, "|", "\n") + "\nX-Say: " + c.answer + "\n\n")
		if strings.HasSuffix(c.asked, "1") {
			client.say("x")
		} else if strings.HasSuffix(c.asked, "chunked") {
			client.say("0\n\n")
		}
		if got := client.answer("GET").StatusCode; got != c.status {
			t.Errorf("%s after %s: %d, want %d", c.answer, c.asked, got, c.status)
		}
	}
}

// startBoth serves HTTP/1.1 and HTTP/2 without RFC 8441, as Go's server does.
func startBoth(t *testing.T, secure bool, handler http.HandlerFunc) (string, *UpstreamTLS) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	if secure {
		server.EnableHTTP2 = true
		server.StartTLS()
		return server.Listener.Addr().String(), &UpstreamTLS{Name: "example.com", Roots: pemOf(server.Certificate().Raw)}
	}
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	return server.Listener.Addr().String(), nil
}

func TestWebSocketFallsBackToHTTP11(t *testing.T) { // RFC 8441, 3
	for _, secure := range []bool{false, true} {
		var versions [3]atomic.Int32
		address, trust := startBoth(t, secure, func(w http.ResponseWriter, r *http.Request) {
			versions[r.ProtoMajor].Add(1)
			if r.Header.Get("Upgrade") != "websocket" {
				fmt.Fprint(w, "plain")
				return
			}
			conn, buffered, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", acceptOf(r.Header.Get("Sec-Websocket-Key")))
			io.Copy(conn, buffered)
		})
		g := start(t, address, func(g *given) {
			inHTTP2(g)
			g.upstreams[0].TLS = trust
		})
		for range 2 { // before the gateway knows about the server, and after
			c := connectTo(t, g.address)
			c.say("GET /product/" + strings.Replace(upgrading, "Host: a", "Host: a\nContent-Length: 0", 1) + "echo")
			if got := c.answer("GET"); got.StatusCode != 101 || got.Header.Get("Sec-WebSocket-Accept") != acceptOf("k") {
				t.Fatalf("%+v", got)
			}
			c.Conn.(*net.TCPConn).CloseWrite()
			if got, err := io.ReadAll(c.r); err != nil || string(got) != "echo" {
				t.Errorf("%q, %v", got, err)
			}
			f := connectFramed(t, g.address)
			f.ask(1, false, connecting("/product/")...)
			if got := f.status(1); got != "200" {
				t.Fatalf("status %s", got)
			}
			f.raw(frame(h2.Data, h2.EndStream, 1, []byte("echo")))
			if got := f.content(1); got != "echo" {
				t.Errorf("%q", got)
			}
			if got := body(t, connectTo(t, g.address).get("/product/")); got != "plain" {
				t.Errorf("%q", got)
			}
		}
		if one, two := versions[1].Load(), versions[2].Load(); one != 4 || two != 2 {
			t.Errorf("%d requests in HTTP/1.1 and %d in HTTP/2", one, two)
		}
		g.counted(t, "gateway_upstream_requests", 0)
	}
}
