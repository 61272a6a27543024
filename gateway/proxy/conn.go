// A non-blocking connection with edge-triggered epoll, and the buffers for reading and writing. A
// read goes to a scratch buffer of the worker, and moves to a buffer of its own only if it holds an
// incomplete message. Start reading at conn.fill and conn.send.

package proxy

import (
	"bytes"
	"crypto/tls"
	"math/bits"
	"syscall"
)

// conn is one connection as the kernel knows it: what may be read or written, and what is still to
// be written.
type conn struct {
	w          *worker
	fd         int
	generation int32 // tells it from an earlier connection with the same descriptor
	readable   bool  // a read may succeed
	writable   bool
	peerClosed bool // the peer sends nothing more, or is gone
	dead       bool // both directions are closed
	shutting   bool // close the sending side after out is written
	open       bool
	scheduled  bool // in the worker's list of connections to run
	in         intake
	out        []byte // not yet taken by the kernel; a buffer of the worker
	sent       int    // how much of out is written
	timer      timer
	handler    connHandler
	secure     *tls.Conn  // nil without TLS
	overH2     connOverH2 // replaces the descriptor for an HTTP/2 stream
}

// connOverH2 is an HTTP/2 stream that behaves like a connection of its own.
type connOverH2 interface {
	fill(in *intake) state
	push(bytes []byte) []byte
	flush() state
}

// connHandler is the client or the upstream connection that a conn belongs to.
type connHandler interface {
	expirer
	ready()   // handles an event on its connection
	proceed() // continues where it stopped
}

// recordEvents stores the events that epoll reported.
func (c *conn) recordEvents(events uint32) {
	if events&(syscall.EPOLLIN|syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.readable = true
	}
	if events&(syscall.EPOLLOUT|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.writable = true
	}
	if events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.peerClosed = true
	}
	c.dead = c.dead || events&(syscall.EPOLLHUP|syscall.EPOLLERR) != 0
}

// state is the result of reading or writing.
type state uint8

const (
	fine   state = iota
	later        // nothing to read, or no room to write, now
	ended        // the peer sends nothing more
	broken       // the connection is gone
)

// fill reads up to most bytes after those in the intake.
func (c *conn) fill(scratch []byte, most int) state {
	if !c.readable {
		return later
	}
	if c.overH2 != nil {
		return c.overH2.fill(&c.in)
	}
	room := c.in.room(c.w, scratch, most)
	if c.secure != nil {
		return c.fillSecure(room)
	}
	n := readSocket(c.fd, room)
	switch {
	case n > 0:
		// A short read has emptied the socket: epoll reports an edge when more arrives.
		if n < len(room) && !c.peerClosed {
			c.readable = false
		}
		c.in.grow(n)
		return fine
	case n == 0:
		return ended
	case n == again:
		c.readable = false
		return later
	}
	return broken
}

// send writes bytes, and keeps what the kernel does not take. It must not be called while output is
// pending.
func (c *conn) send(bytes []byte) state {
	switch {
	case c.overH2 != nil:
		c.queue(c.overH2.push(bytes))
	case c.secure != nil:
		if _, err := c.secure.Write(bytes); err != nil {
			return broken
		}
	default:
		rest, ok := c.push(bytes)
		if !ok {
			return broken
		}
		c.queue(rest)
	}
	if c.pending() {
		return later
	}
	return fine
}

// push writes what the kernel takes, and returns the rest. False means that the connection is gone.
func (c *conn) push(bytes []byte) ([]byte, bool) {
	for len(bytes) > 0 && c.writable {
		n := writeSocket(c.fd, bytes)
		switch {
		case n == again:
			c.writable = false
		case n < 0:
			return nil, false
		default:
			bytes = bytes[n:]
		}
	}
	return bytes, true
}

// queue keeps bytes that the kernel does not take now.
func (c *conn) queue(bytes []byte) {
	if len(bytes) == 0 {
		return
	}
	if c.out == nil {
		c.out = c.w.buffers.get(len(bytes))
	}
	c.out = append(c.out, bytes...)
}

func (c *conn) pending() bool { return c.out != nil }

// flush writes the pending output.
func (c *conn) flush() state {
	if c.overH2 != nil {
		return c.overH2.flush()
	}
	for c.out != nil {
		if !c.writable {
			return later
		}
		n := writeSocket(c.fd, c.out[c.sent:])
		switch {
		case n == again:
			c.writable = false
			return later
		case n < 0:
			return broken
		}
		if c.sent += n; c.sent == len(c.out) {
			c.dropOut()
		}
	}
	if c.shutting {
		c.shut()
	}
	return fine
}

// shut closes the sending side after the pending output. Input is still read.
func (c *conn) shut() {
	if !c.shutting {
		c.closeNotify()
	}
	if c.shutting = c.pending(); !c.shutting {
		_ = syscall.Shutdown(c.fd, syscall.SHUT_WR) // reading notices if the peer is gone
	}
}

func (c *conn) dropOut() {
	c.w.buffers.put(c.out)
	c.out, c.sent = nil, 0
}

// close ends a connection and releases what it holds. It may be called twice.
func (c *conn) close() {
	if !c.open {
		return
	}
	c.open = false
	c.w.wheel.forget(&c.timer)
	c.w.unregister(c.fd)
	syscall.Close(c.fd)
	c.in.drop(c.w)
	c.dropOut()
}

// intake holds bytes that were read and not parsed yet. During an event they may be in the worker's
// scratch buffer, which saves an allocation and stays in the CPU cache. keep moves them to a buffer
// before the next event.
type intake struct {
	data []byte
	own  []byte // the buffer that data is in; nil for the scratch buffer
}

// room returns space for the next bytes, most bytes at most, after the present ones.
func (in *intake) room(w *worker, scratch []byte, most int) []byte {
	if len(in.data) == 0 {
		in.drop(w)
		in.data = scratch[:0]
		return scratch[:min(most, len(scratch))]
	}
	in.keep(w)
	if cap(in.data)-len(in.data) < min(most, 512) {
		larger := append(w.buffers.get(2*len(in.data)+min(most, 512)), in.data...)
		w.buffers.put(in.own)
		in.data, in.own = larger, larger
	}
	free := in.data[len(in.data):cap(in.data)]
	return free[:min(most, len(free))]
}

// grow adds n bytes that were read into room.
func (in *intake) grow(n int) { in.data = in.data[:len(in.data)+n] }

// consume removes the first n bytes.
func (in *intake) consume(n int) { in.data = in.data[n:] }

// keep preserves the remaining bytes beyond the current event.
func (in *intake) keep(w *worker) {
	switch {
	case len(in.data) == 0:
		in.drop(w)
	case in.own == nil:
		in.own = append(w.buffers.get(len(in.data)), in.data...)
		in.data = in.own
	}
}

func (in *intake) drop(w *worker) {
	w.buffers.put(in.own)
	in.data, in.own = nil, nil
}

// hasLine reports whether a line ends within the last n bytes.
func (in *intake) hasLine(n int) bool {
	return bytes.IndexByte(in.data[len(in.data)-n:], '\n') >= 0
}

// buffers are a worker's spare buffers, in sizes that are powers of two from 512 bytes.
type buffers struct {
	spare [12][][]byte
}

const (
	smallest  = 9 // 512 bytes
	spareEach = 64
)

// get returns an empty buffer with room for n bytes.
func (b *buffers) get(n int) []byte {
	class := max(bits.Len(uint(max(n, 1)-1)), smallest) - smallest
	if class >= len(b.spare) {
		return make([]byte, 0, n)
	}
	if last := len(b.spare[class]) - 1; last >= 0 {
		buffer := b.spare[class][last]
		b.spare[class] = b.spare[class][:last]
		return buffer
	}
	return make([]byte, 0, 1<<(class+smallest))
}

// put takes a buffer back. It ignores nil.
func (b *buffers) put(buffer []byte) {
	if buffer == nil {
		return
	}
	class := bits.Len(uint(cap(buffer))) - 1 - smallest
	if class >= 0 && class < len(b.spare) && cap(buffer) == 1<<(class+smallest) &&
		len(b.spare[class]) < spareEach {
		b.spare[class] = append(b.spare[class], buffer[:0])
	}
}
