package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// carrier is the socket below TLS. The handshake may block, in a goroutine of its own; afterwards the socket belongs to
// a worker, and nothing does: reading reports that there is nothing, which crypto/tls bears, and writing keeps what the
// kernel does not take, as crypto/tls does not bear a write that is not done.
type carrier struct {
	net.Conn       // during the handshake
	conn     *conn // afterwards
}

// nothingNow is what reading reports where the kernel has nothing. crypto/tls goes on after an error that is temporary.
type nothingNow struct{}

func (nothingNow) Error() string   { return "nothing to read now" }
func (nothingNow) Timeout() bool   { return true }
func (nothingNow) Temporary() bool { return true }

func (k *carrier) Read(into []byte) (int, error) {
	if k.conn == nil {
		return k.Conn.Read(into)
	}
	switch n := read(k.conn.fd, into); {
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

func (k *carrier) Write(from []byte) (int, error) {
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

// SetWriteDeadline is asked for by crypto/tls when it says farewell.
func (k *carrier) SetWriteDeadline(at time.Time) error {
	if k.conn == nil {
		return k.Conn.SetWriteDeadline(at)
	}
	return nil
}

// fillSecure is fill above TLS.
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

// farewell tells the other end that what came is all, where TLS wants that said.
func (c *conn) farewell() {
	if c.secure != nil {
		_ = c.secure.CloseWrite() // one that is gone needs none
	}
}

// Secure lets clients in over TLS, too, on a listener that it takes over.
func (s *Server) Secure(listener net.Listener, config *tls.Config) {
	s.Certify(config)
	s.secure = listener
}

// Certify exchanges what clients that come from now on are shown.
func (s *Server) Certify(config *tls.Config) { s.certificates.Store(config) }

// admit lets clients in over TLS until the listener is closed.
func (s *Server) admit() {
	for {
		accepted, err := s.secure.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.logf("accepting: %v", err)
			time.Sleep(lookAgain)
			continue
		}
		s.doorstep.Store(true)
		for s.clients.Add(1) > int64(s.settings.MaxClients) {
			s.clients.Add(-1)
			if s.stopping.Load() {
				accepted.Close()
				return
			}
			time.Sleep(lookAgain / 10)
		}
		s.doorstep.Store(false)
		go s.greet(accepted.(*net.TCPConn))
	}
}

// greet shakes hands with a client and gives it to a worker.
func (s *Server) greet(accepted *net.TCPConn) {
	defer accepted.Close()
	below := &carrier{Conn: accepted}
	secure := tls.Server(below, s.certificates.Load())
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
	address, _ := netip.ParseAddrPort(accepted.RemoteAddr().String()) // a TCP address is one
	s.leastLoaded(s.workers[0]).send(newcomer{fd: fd, address: address.Addr().Unmap(), secure: secure, below: below,
		framed: secure.ConnectionState().NegotiatedProtocol == protocolHTTP2})
}

// duplicate is another descriptor for a connection, which the Go runtime knows nothing of.
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
