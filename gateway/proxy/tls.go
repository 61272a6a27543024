// TLS from clients. The handshake blocks in a goroutine of its own; then a worker takes over the
// socket, and tlsSocket makes crypto/tls work without blocking.

package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"faceoff/gateway/guard"
)

// tlsSocket is the socket below a TLS connection. During the handshake it may block, in a goroutine
// of its own. Afterwards it belongs to a worker and never blocks. A read without data returns a
// temporary error, which crypto/tls tolerates. A write queues what the kernel does not take,
// because crypto/tls does not tolerate short writes.
type tlsSocket struct {
	net.Conn       // during the handshake
	conn     *conn // afterwards
}

// nothingNow is the error of a read without data. crypto/tls continues after a temporary error.
type nothingNow struct{}

func (nothingNow) Error() string   { return "nothing to read now" }
func (nothingNow) Timeout() bool   { return true }
func (nothingNow) Temporary() bool { return true }

func (k *tlsSocket) Read(into []byte) (int, error) {
	if k.conn == nil {
		return k.Conn.Read(into)
	}
	switch n := readSocket(k.conn.fd, into); {
	case n > 0:
		return n, nil
	case n == 0:
		return 0, io.EOF
	case n == again:
		return 0, nothingNow{}
	default:
		return 0, syscall.Errno(-n)
	}
}

func (k *tlsSocket) Write(from []byte) (int, error) {
	if k.conn == nil {
		return k.Conn.Write(from)
	}
	rest := from
	if !k.conn.pending() {
		var ok bool
		if rest, ok = k.conn.push(from); !ok {
			return 0, syscall.EPIPE
		}
	}
	if len(rest) > 0 {
		k.conn.queue(rest)
	}
	return len(from), nil
}

// SetWriteDeadline is called by crypto/tls when it closes.
func (k *tlsSocket) SetWriteDeadline(at time.Time) error {
	if k.conn == nil {
		return k.Conn.SetWriteDeadline(at)
	}
	return nil
}

// fillSecure is fill for a TLS connection.
func (c *conn) fillSecure(room []byte) state {
	n, err := c.secure.Read(room)
	switch {
	case n > 0:
		c.in.grow(n)
		return fine
	case err == nil:
		return fine
	case err == error(nothingNow{}): //nolint:errorlint // crypto/tls passes it on unwrapped, and each read compares it
		c.readable = false
		return later
	case err == io.EOF: //nolint:errorlint // crypto/tls returns it unwrapped
		return ended
	}
	return broken
}

// closeNotify tells a TLS peer that no more bytes follow.
func (c *conn) closeNotify() {
	if c.secure != nil {
		_ = c.secure.CloseWrite() // it fails only if the peer is gone
	}
}

// Secure also accepts TLS clients, on a listener that it takes over.
func (s *Server) Secure(listener net.Listener, config *tls.Config) {
	s.Certify(config)
	s.secure = listener
}

// Certify replaces the certificates for further clients.
func (s *Server) Certify(config *tls.Config) { s.certificates.Store(config) }

// acceptTLS accepts TLS clients until the listener is closed.
func (s *Server) acceptTLS() {
	for {
		accepted, err := s.secure.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.logf("accepting: %v", err)
			time.Sleep(checkInterval)
			continue
		}
		s.tlsWaiting.Store(true)
		for s.clients.Add(1) > int64(s.settings.MaxClients) {
			s.clients.Add(-1)
			if s.stopping.Load() {
				accepted.Close()
				return
			}
			time.Sleep(checkInterval / 10)
		}
		s.tlsWaiting.Store(false)
		go s.handshake(accepted.(*net.TCPConn))
	}
}

// handshake performs the TLS handshake and gives the client to a worker.
func (s *Server) handshake(accepted *net.TCPConn) {
	defer accepted.Close()
	socket := &tlsSocket{Conn: accepted}
	secure := tls.Server(socket, s.certificates.Load())
	err := accepted.SetDeadline(time.Now().Add(s.settings.HeadTimeout))
	if err == nil {
		err = secure.Handshake()
	}
	fd := -1
	if err == nil {
		fd, err = duplicate(accepted)
	}
	if err != nil {
		s.refusedHandshakes.Add(1)
		s.clients.Add(-1)
		return
	}
	address, _ := netip.ParseAddrPort(accepted.RemoteAddr().String()) // a TCP address always parses
	s.leastLoaded(s.workers[0]).send(acceptedConn{
		fd: fd, address: guard.Plain(address.Addr()), secure: secure, socket: socket,
		http2: secure.ConnectionState().NegotiatedProtocol == protocolHTTP2,
	})
}

// duplicate returns another descriptor of a connection, which the Go runtime does not manage.
func duplicate(c *net.TCPConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, errno := uintptr(0), syscall.Errno(0)
	if err := raw.Control(func(original uintptr) {
		fd, _, errno = syscall.Syscall(syscall.SYS_FCNTL, original, syscall.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return -1, err
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
