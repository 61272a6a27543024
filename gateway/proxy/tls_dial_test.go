// TLS to upstreams: sessions, wrong certificates, and handshakes that hang.

package proxy

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// startSecureUpstream serves over TLS, and returns its address and its issuer.
func startSecureUpstream(t *testing.T, version uint16, handler http.HandlerFunc) (address string, roots []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{MaxVersion: version}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestUpstreamsOverTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		var well atomic.Int32
		address, roots := startSecureUpstream(t, version, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/well" {
				well.Add(1)
				return
			}
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			fmt.Fprintf(w, "%s %s", r.URL.Path, b)
		})
		g := start(t, address, func(g *given) {
			g.Workers = 1
			g.upstreams[0].TLS = &UpstreamTLS{Name: "example.com", Roots: roots}
			g.upstreams[0].Health = &Health{Path: "/well", Every: 5 * time.Millisecond, Within: patience, Up: 1, Down: 1}
		})
		one := connectTo(t, g.address)
		for range 5 {
			if got := body(t, one.get("/product/a")); got != "/a " {
				t.Errorf("%q", got)
			}
			time.Sleep(5 * time.Millisecond) // an idle connection tolerates TLS messages
		}
		g.counted(t, "gateway_upstream_connections_total", 1)
		var clients sync.WaitGroup
		for n := range 8 {
			c := connectTo(t, g.address)
			clients.Go(func() {
				for i := range 10 {
					content := strings.Repeat("x", n*i*2000)
					go fmt.Fprintf(c, "POST /product/b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(content), content)
					if got := body(t, c.answer("POST")); got != "/b "+content {
						t.Errorf("%d bytes of %d", len(got), len(content))
					}
				}
			})
		}
		clients.Wait()
		g.counted(t, "gateway_upstream_requests", 0)
		if well.Load() == 0 || g.Table().Upstreams[0].servers[0].down.Load() {
			t.Error("it was not asked how it is, or not understood")
		}
	}
}

func TestServersWithWrongCertificateGetNothing(t *testing.T) {
	address, roots := startSecureUpstream(t, tls.VersionTLS13, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s came", r.URL) })
	for _, settings := range []*UpstreamTLS{{Name: "shop.example", Roots: roots}, {Name: "example.com"}} {
		g := start(t, address, func(g *given) { g.upstreams[0].TLS = settings })
		c := connectTo(t, g.address)
		for range 2 {
			wantError(t, c.get("/product/"), http.StatusBadGateway)
		}
		g.counted(t, "gateway_upstream_requests", 0)
		if n := g.Table().Upstreams[0].limiter.connections.Load(); n != 0 {
			t.Errorf("%d connections are still open", n)
		}
	}
}

func TestTLSHandshakeTimesOut(t *testing.T) {
	silent, come, gone := listen(t), make(chan struct{}, 2), make(chan struct{}, 2)
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			go func() { // it never sends a byte
				defer conn.Close()
				come <- struct{}{}
				io.Copy(io.Discard, conn)
				gone <- struct{}{}
			}()
		}
	}()
	before := func(limit time.Duration) started {
		return start(t, silent.Addr().String(), func(g *given) {
			g.upstreams[0].TLS, g.upstreams[0].Connect = &UpstreamTLS{Name: "a"}, limit
		})
	}
	wantError(t, connectTo(t, before(200*time.Millisecond).address).get("/product/"), http.StatusBadGateway)
	g := before(patience)
	leaving := connectTo(t, g.address)
	leaving.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	g.counted(t, "gateway_upstream_requests", 1)
	<-come
	<-come // not before there is a handshake
	leaving.Close()
	g.counted(t, "gateway_upstream_requests", 0)
	if n := g.Table().Upstreams[0].limiter.connections.Load(); n != 0 {
		t.Errorf("%d connections are still open", n)
	}
	for range cap(gone) {
		select {
		case <-gone: // the gateway has closed the connection
		case <-time.After(patience / 2):
			t.Fatal("the handshake outlives its client")
		}
	}
}

func TestFailedHandshakeIsRetriedOnAnotherServer(t *testing.T) {
	address, roots := startSecureUpstream(t, tls.VersionTLS13, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	plain := startRaw(t, func(conn net.Conn, r *bufio.Reader) { io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	g := start(t, address, func(g *given) {
		g.upstreams[0] = plainUpstream(plain, address)
		g.upstreams[0].TLS, g.upstreams[0].Failures, g.upstreams[0].Eject = &UpstreamTLS{Name: "example.com", Roots: roots}, 2, patience
	})
	c := connectTo(t, g.address)
	for i := range 10 {
		c.say(fmt.Sprintf("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 2\n\n%02d", i))
		if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != fmt.Sprintf("%02d", i) {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	g.counted(t, `gateway_upstream_failures_total{cause="unreachable"}`, 2)
}
