// Limits the connections of clients. Unlike netutil.LimitListener it closes idle connections when
// new ones wait.

package main

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// minIdle is how long a connection must have been without a request before it may be closed in
	// favor of a new one.
	minIdle = time.Second

	// checkInterval is how often a waiting connection checks for an idle one.
	checkInterval = 50 * time.Millisecond
)

// limitListener accepts a bounded number of connections. The others wait in the kernel's accept
// queue, which costs this process no descriptor. The first of them is accepted already and waits
// for a slot, so that the listener knows that clients wait. Meanwhile responses close their
// connection (crowded), and idle connections are closed.
type limitListener struct {
	net.Listener
	slots      chan struct{}
	grace      time.Duration // how long a connection must have been idle to be closed
	waiting    atomic.Bool
	closed     chan struct{}
	closedOnce sync.Once

	mu   sync.Mutex
	idle list.List // of *slotConn without a request, the longest idle first
}

// slotConn is a connection that holds a slot.
type slotConn struct {
	net.Conn
	listener *limitListener
	leave    sync.Once
	since    time.Time // idle since; guarded by limitListener.mu
	// In limitListener.idle, nil while a request is served; guarded by limitListener.mu.
	element *list.Element
}

func newLimitListener(listener net.Listener, slots int, grace time.Duration) *limitListener {
	return &limitListener{
		Listener: listener,
		slots:    make(chan struct{}, slots),
		grace:    grace,
		closed:   make(chan struct{}),
	}
}

// Accept returns the next connection once there is a slot for it.
func (l *limitListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.acquireSlot() {
		conn.Close()
		return nil, net.ErrClosed
	}
	return &slotConn{Conn: conn, listener: l}, nil
}

// acquireSlot waits for a slot. False means that the listener was closed meanwhile.
func (l *limitListener) acquireSlot() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	l.waiting.Store(true)
	defer l.waiting.Store(false)
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		l.closeIdlest()
		select {
		case l.slots <- struct{}{}:
			return true
		case <-l.closed:
			return false
		case <-tick.C:
		}
	}
}

// crowded reports whether a connection waits for a slot.
func (l *limitListener) crowded() bool { return l.waiting.Load() }

// Close closes the listener; accepted connections stay open.
func (l *limitListener) Close() error {
	l.closedOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// observe is the server's ConnState hook: it keeps the list of idle connections.
func (l *limitListener) observe(conn net.Conn, state http.ConnState) {
	c := conn.(*slotConn)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		c.since = time.Now()
		c.element = l.idle.PushBack(c)
	default:
		if c.element != nil {
			l.idle.Remove(c.element)
			c.element = nil
		}
	}
}

// closeIdlest closes the connection that has been idle longest, if that is long enough.
func (l *limitListener) closeIdlest() {
	l.mu.Lock()
	var c *slotConn
	if first := l.idle.Front(); first != nil &&
		time.Since(first.Value.(*slotConn).since) >= l.grace {
		c = first.Value.(*slotConn)
		l.idle.Remove(first)
		c.element = nil
	}
	l.mu.Unlock()
	if c != nil {
		c.Close() // the server's pending read notices
	}
}

// Close closes the connection and releases its slot.
func (c *slotConn) Close() error {
	err := c.Conn.Close()
	c.leave.Do(func() { <-c.listener.slots })
	return err
}

// CloseWrite lets the server finish its response before it closes (net/http looks for this method).
func (c *slotConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
