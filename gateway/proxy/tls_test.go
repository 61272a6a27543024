// TLS from clients.

package proxy

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// secured is the TLS listener of a gateway, with a configuration that trusts it.
type secured struct {
	address string
	client  *tls.Config
}

// startSecure starts a gateway with both listeners.
func startSecure(t *testing.T, upstream string, protocols ...string) (started, secured) {
	t.Helper()
	return startSecureWith(t, upstream, nil, protocols...)
}

func startSecureWith(t *testing.T, upstream string, change func(*given), protocols ...string) (started, secured) {
	t.Helper()
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // provides a certificate
	t.Cleanup(lender.Close)
	roots := x509.NewCertPool()
	roots.AddCert(lender.Certificate())
	listener := listen(t)
	g := startWith(t, upstream, change, func(s *Server) {
		s.Secure(listener, &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: append(protocols, "http/1.1")})
	})
	return g, secured{listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: []string{"h2", "http/1.1"}}}
}

func (s secured) connect(t *testing.T) (*testClient, *tls.Conn) {
	t.Helper()
	plain := connectTo(t, s.address)
	conn := tls.Client(plain.Conn, s.client)
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	return &testClient{t, conn, bufio.NewReader(conn)}, conn
}

func TestTLS(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Proto", r.Header.Get("X-Forwarded-Proto"))
		w.Write(b)
	})
	g, listener := startSecure(t, upstream)
	var clients sync.WaitGroup
	for range 4 {
		c, conn := listener.connect(t)
		if got := conn.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
			t.Errorf("%q was agreed upon", got)
		}
		clients.Go(func() {
			for i := range 20 {
				content := strings.Repeat("x", i*i*500)
				go fmt.Fprintf(c, "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(content), content)
				response := c.answer("POST")
				if got := body(t, response); got != content || response.Header.Get("X-Proto") != "https" {
					t.Errorf("%d bytes of %d, %s", len(got), len(content), response.Header.Get("X-Proto"))
				}
			}
		})
	}
	clients.Wait()

	pipelined, _ := listener.connect(t)
	pipelined.say(strings.Repeat("GET /product/ HTTP/1.1\nHost: a\n\n", 10) + "GET /product/ HTTP/1.1\nHost: a\nConnection: close\n\n")
	for range 11 {
		body(t, pipelined.answer("GET"))
	}
	pipelined.wantEnd() // with close_notify, or it would be an unexpected end

	refused, _ := listener.connect(t)
	refused.say("GET /product/ HTTP/1.1\nHost : a\n\n")
	wantError(t, refused.answer("GET"), http.StatusBadRequest)
	refused.wantEnd()
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestSlowReaderOverTLS(t *testing.T) {
	const size = 32 << 20
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<20)
		for range size / len(block) {
			w.Write(block)
		}
	})
	_, listener := startSecure(t, upstream)
	c, _ := listener.connect(t)
	response := c.get("/product/")
	time.Sleep(100 * time.Millisecond)
	if n, err := io.Copy(io.Discard, response.Body); err != nil || n != size {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestPlainClientsAreRefusedByTLS(t *testing.T) {
	g, listener := startSecure(t, startUpstream(t, func(w http.ResponseWriter, r *http.Request) {}))
	c := connectTo(t, listener.address)
	c.say("GET / HTTP/1.1\nHost: a\n\n")
	io.Copy(io.Discard, c)
	g.counted(t, "gateway_handshakes_refused_total", 1)
	g.counted(t, "gateway_connections", 0)
	leaving, conn := listener.connect(t)
	body(t, leaving.get("/product/"))
	g.counted(t, "gateway_connections", 1)
	conn.Close()
	g.counted(t, "gateway_connections", 0)
	cut, _ := listener.connect(t)
	body(t, cut.get("/product/"))
	cut.Conn.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0)
	cut.Conn.(*tls.Conn).NetConn().Close()
	g.counted(t, "gateway_connections", 0)
}
