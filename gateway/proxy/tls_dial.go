// TLS to servers. The handshake runs in a goroutine, and its result comes back through the worker's
// inbox. Start reading at worker.dialTLS.

package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// UpstreamTLS configures TLS to servers.
type UpstreamTLS struct {
	Name  string // that certificates must be for
	Roots []byte // trusted issuers as PEM; nil: those of the system
}

// config returns the TLS configuration, for HTTP/2 or for HTTP/1.1. It is nil without TLS.
func (s *UpstreamTLS) config(http2 bool) *tls.Config {
	if s == nil {
		return nil
	}
	// Resumed sessions save most of a handshake.
	c := &tls.Config{
		ServerName:         s.Name,
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(64),
	}
	if http2 {
		c.NextProtos = []string{protocolHTTP2}
	}
	if s.Roots != nil {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(s.Roots)
	}
	return c
}

// protocolHTTP2 is the name of HTTP/2 in ALPN (RFC 9113, 3.2).
const protocolHTTP2 = "h2"

// tlsDial is the result of a TLS handshake with a server.
type tlsDial struct {
	upstreamConn *upstreamConn
	fd           int
	secure       *tls.Conn
	socket       *tlsSocket
	err          error
}

// dialTLS starts a TLS connection. The handshake blocks, so it runs in a goroutine of its own,
// under the connect timeout. Closing the upstream connection cancels it, and frees its share of the
// connection limit at once.
func (w *worker) dialTLS(uc *upstreamConn) {
	address, config := uc.server.address, uc.upstream.secure
	if uc.plain {
		config = uc.upstream.secureHTTP1
	}
	ctx, cancel := context.WithTimeout(context.Background(), uc.upstream.Connect)
	uc.w, uc.fd, uc.handler, uc.timer.owner, uc.cancelDial = w, -1, uc, uc, cancel
	go func() {
		defer cancel()
		d := tlsDial{upstreamConn: uc, fd: -1}
		d.err = d.dial(ctx, address, config)
		w.postDial(d)
	}()
}

func (d *tlsDial) dial(ctx context.Context, to netip.AddrPort, config *tls.Config) error {
	made, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	defer made.Close()
	d.socket = &tlsSocket{Conn: made}
	d.secure = tls.Client(d.socket, config)
	if err := d.secure.HandshakeContext(ctx); err != nil {
		return err
	}
	if config.NextProtos[0] == protocolHTTP2 &&
		d.secure.ConnectionState().NegotiatedProtocol != protocolHTTP2 {
		return errors.New("it does not support HTTP/2")
	}
	d.fd, err = duplicate(made.(*net.TCPConn))
	return err
}

// postDial gives the worker the result of a handshake.
func (w *worker) postDial(d tlsDial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.freed {
		d.close()
		return
	}
	w.dials = append(w.dials, d)
	w.wake()
}

func (d *tlsDial) close() {
	if d.fd >= 0 {
		syscall.Close(d.fd)
	}
}

// dialDone continues with a connection whose handshake is over.
func (w *worker) dialDone(d tlsDial) {
	uc := d.upstreamConn
	if uc.abandoned {
		d.close()
		return
	}
	unsent := uc.out // queued before TLS was set up
	if d.err == nil {
		uc.out = nil
		if d.err = w.join(&uc.conn, d.fd, uc); d.err != nil {
			uc.out = unsent
		}
	}
	if d.err != nil {
		switch {
		case uc.h2 != nil:
			uc.h2.unreachable(d.err.Error())
		case uc.client != nil:
			uc.client.unreachable(d.err.Error())
		default:
			uc.upstream.recordFailure(uc.server)
			uc.endMirror(false)
		}
		return
	}
	uc.dialing, uc.connecting = false, false
	uc.secure, d.socket.conn, d.socket.Conn = d.secure, &uc.conn, nil
	uc.readable, uc.writable = true, true
	if uc.send(unsent) == broken {
		uc.peerClosed = true
	}
	w.buffers.put(unsent)
	uc.ready()
}
