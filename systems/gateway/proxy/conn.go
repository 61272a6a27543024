package proxy

import (
	"bytes"
	"crypto/tls"
	"math/bits"
	"syscall"
)

// conn is one side of an exchange as the kernel knows it: what it may be asked for, and what it has not taken yet.
type conn struct {
	w          *worker
	fd         int
	generation int32 // tells it from an earlier connection with the same number
	readable   bool  // a read may find something
	writable   bool
	hung       bool // the other end said that it will send nothing more, or is gone
	open       bool
	listed     bool // in the worker's list of those to look at
	in         intake
	out        []byte // accepted, but not taken by the kernel; a buffer of the worker's
	sent       int    // of out
	timer      timer
	side       side
	secure     *tls.Conn // nil in the clear
	carried    carried   // in place of a descriptor
}

// carried is a stream of HTTP/2, as the connection of its own that it takes the place of.
type carried interface {
	fill(in *intake) state
	push(bytes []byte) []byte
	flush() state
}

// side is what a connection is to the worker: a client or an upstream connection.
type side interface {
	expirer
	ready()   // something about its connection has changed
	proceed() // it goes on where it was left
}

// notice takes down what epoll said.
func (c *conn) notice(events uint32) {
	if events&(syscall.EPOLLIN|syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.readable = true
	}
	if events&(syscall.EPOLLOUT|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.writable = true
	}
	if events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
		c.hung = true
	}
}

// state is what came of reading or writing.
type state uint8

const (
	fine   state = iota
	later        // the kernel has nothing, or no room, now
	ended        // the other end sends nothing more
	broken       // the connection is gone
)

// fill reads up to most bytes behind what is there.
func (c *conn) fill(scratch []byte, most int) state {
	if !c.readable {
		return later
	}
	if c.carried != nil {
		return c.carried.fill(&c.in)
	}
	room := c.in.room(c.w, scratch, most)
	if c.secure != nil {
		return c.fillSecure(room)
	}
	n := read(c.fd, room)
	switch {
	case n > 0:
		// A read that fills less than it could has emptied the socket: what comes now is a new edge.
		if n < len(room) && !c.hung {
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

// send writes bytes, and keeps what the kernel does not take. Nothing may be given while pending.
func (c *conn) send(bytes []byte) state {
	switch {
	case c.carried != nil:
		c.queue(c.carried.push(bytes))
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

// push gives the kernel what it takes, and returns the rest. False means that the connection is gone.
func (c *conn) push(bytes []byte) ([]byte, bool) {
	for len(bytes) > 0 && c.writable {
		n := write(c.fd, bytes)
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

// queue keeps bytes that the kernel cannot have now.
func (c *conn) queue(bytes []byte) {
	if len(bytes) == 0 {
		return
	}
	if c.out == nil {
		c.out = c.w.buffers.take(len(bytes))
	}
	c.out = append(c.out, bytes...)
}

func (c *conn) pending() bool { return c.out != nil }

// flush writes what was kept.
func (c *conn) flush() state {
	if c.carried != nil {
		return c.carried.flush()
	}
	for c.out != nil {
		if !c.writable {
			return later
		}
		n := write(c.fd, c.out[c.sent:])
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
	return fine
}

func (c *conn) dropOut() {
	c.w.buffers.give(c.out)
	c.out, c.sent = nil, 0
}

// close ends a connection and gives back all that it holds. It may be called twice.
func (c *conn) close() {
	if !c.open {
		return
	}
	c.open = false
	c.w.wheel.forget(&c.timer)
	c.w.leave(c.fd)
	syscall.Close(c.fd)
	c.in.drop(c.w)
	c.dropOut()
}

// intake holds what was read and not yet understood. During an event that may lie in a scratch of the worker's, which
// costs nothing and stays in the cache; keep moves it to a buffer of its own before the next event.
type intake struct {
	data []byte
	own  []byte // the buffer data lies in; nil where it lies in a scratch
}

// room is where the next bytes go: at most as many as most, behind what is there.
func (in *intake) room(w *worker, scratch []byte, most int) []byte {
	if len(in.data) == 0 {
		in.drop(w)
		in.data = scratch[:0]
		return scratch[:min(most, len(scratch))]
	}
	in.keep(w)
	if cap(in.data)-len(in.data) < min(most, 512) {
		larger := append(w.buffers.take(2*len(in.data)+min(most, 512)), in.data...)
		w.buffers.give(in.own)
		in.data, in.own = larger, larger
	}
	free := in.data[len(in.data):cap(in.data)]
	return free[:min(most, len(free))]
}

// grow takes n bytes in that were read into room.
func (in *intake) grow(n int) { in.data = in.data[:len(in.data)+n] }

// took tells that the first n bytes are understood.
func (in *intake) took(n int) { in.data = in.data[n:] }

// keep makes what is left survive the event.
func (in *intake) keep(w *worker) {
	switch {
	case len(in.data) == 0:
		in.drop(w)
	case in.own == nil:
		in.own = append(w.buffers.take(len(in.data)), in.data...)
		in.data = in.own
	}
}

func (in *intake) drop(w *worker) {
	w.buffers.give(in.own)
	in.data, in.own = nil, nil
}

// hasLine reports whether a line ends in the last n bytes.
func (in *intake) hasLine(n int) bool {
	return bytes.IndexByte(in.data[len(in.data)-n:], '\n') >= 0
}

// buffers are a worker's spare buffers, by powers of two from 512 bytes on.
type buffers struct {
	spare [12][][]byte
}

const (
	smallest  = 9 // 512 bytes
	spareEach = 64
)

// take gives an empty buffer with room for n bytes.
func (b *buffers) take(n int) []byte {
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

// give takes a buffer back, nil being none.
func (b *buffers) give(buffer []byte) {
	if buffer == nil {
		return
	}
	class := bits.Len(uint(cap(buffer))) - 1 - smallest
	if class >= 0 && class < len(b.spare) && cap(buffer) == 1<<(class+smallest) && len(b.spare[class]) < spareEach {
		b.spare[class] = append(b.spare[class], buffer[:0])
	}
}
