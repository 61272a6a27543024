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

// UpstreamTLS is how servers are spoken to over TLS.
type UpstreamTLS struct {
	Name  string // that their certificates are to be for
	Roots []byte // who may issue them, as PEM; nil: whom the system believes
}

// config is what connections are made with, which carry HTTP/2 where framed; nil in the clear.
func (s *UpstreamTLS) config(framed bool) *tls.Config {
	if s == nil {
		return nil
	}
	// Of earlier sessions, some are taken up again, which saves most of a handshake.
	c := &tls.Config{ServerName: s.Name, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, ClientSessionCache: tls.NewLRUClientSessionCache(64)}
	if framed {
		c.NextProtos = []string{protocolHTTP2}
	}
	if s.Roots != nil {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(s.Roots)
	}
	return c
}

// protocolHTTP2 is what HTTP/2 is called in handshakes (RFC 9113, 3.2).
const protocolHTTP2 = "h2"

// arrival is what came of a handshake with a server.
type arrival struct {
	link   *link
	fd     int
	secure *tls.Conn
	below  *carrier
	err    error
}

// shake begins a connection over TLS. The handshake blocks, and so has a goroutine of its own, under the time limit of a
// connection. It ends with the link, whose place another may have by then.
func (w *worker) shake(l *link) {
	address, config := l.server.address, l.upstream.secure
	ctx, cancel := context.WithTimeout(context.Background(), l.upstream.Connect)
	l.w, l.fd, l.side, l.timer.owner, l.giveUp = w, -1, l, l, cancel
	go func() {
		defer cancel()
		a := arrival{link: l, fd: -1}
		a.err = a.make(ctx, address, config)
		w.bring(a)
	}()
}

func (a *arrival) make(ctx context.Context, to netip.AddrPort, config *tls.Config) error {
	made, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	defer made.Close()
	a.below = &carrier{Conn: made}
	a.secure = tls.Client(a.below, config)
	if err := a.secure.HandshakeContext(ctx); err != nil {
		return err
	}
	if config.NextProtos[0] == protocolHTTP2 && a.secure.ConnectionState().NegotiatedProtocol != protocolHTTP2 {
		return errors.New("it does not speak HTTP/2")
	}
	a.fd, err = duplicate(made.(*net.TCPConn))
	return err
}

// bring gives the worker what came of a handshake.
func (w *worker) bring(a arrival) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.freed {
		a.close()
		return
	}
	w.arrivals = append(w.arrivals, a)
	w.wake()
}

func (a *arrival) close() {
	if a.fd >= 0 {
		syscall.Close(a.fd)
	}
}

// arrive goes on with a link whose handshake is over.
func (w *worker) arrive(a arrival) {
	l := a.link
	if l.dropped {
		a.close()
		return
	}
	said := l.out // in the clear until now
	if a.err == nil {
		l.out = nil
		if a.err = w.join(&l.conn, a.fd, l); a.err != nil {
			l.out = said
		}
	}
	if a.err != nil {
		switch {
		case l.trunk != nil:
			l.trunk.unreachable(a.err.Error())
		case l.client != nil:
			l.client.unreachable(a.err.Error())
		default:
			l.upstream.failed(l.server)
			l.endShadow(false)
		}
		return
	}
	l.shaking, l.connecting = false, false
	l.secure, a.below.conn, a.below.Conn = a.secure, &l.conn, nil
	l.readable, l.writable = true, true
	if l.send(said) == broken {
		l.hung = true
	}
	w.buffers.give(said)
	l.ready()
}
