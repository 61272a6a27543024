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
	// quietEnough is how long a connection must have been without a request before it
	// may be closed in favour of one that waits.
	quietEnough = time.Second

	// lookAgain is how often a waiting connection looks for a quiet one.
	lookAgain = 50 * time.Millisecond
)

// door is a listener that lets in a bounded number of connections; the others wait in the
// kernel's accept queue, which costs this process no descriptor. The first of them is
// accepted already and waits at the door, so that it is known that somebody waits: as long
// as that is so, answers end their connection (crowded) and quiet connections are closed.
type door struct {
	net.Listener
	places     chan struct{}
	grace      time.Duration // how long a connection must have been quiet to be closed
	waiting    atomic.Bool
	closed     chan struct{}
	closedOnce sync.Once

	mu    sync.Mutex
	quiet list.List // of *guest without a request, longest quiet first
}

// guest is a connection that holds a place.
type guest struct {
	net.Conn
	door    *door
	leave   sync.Once
	since   time.Time     // quiet since; guarded by door.mu
	element *list.Element // in door.quiet, nil while a request is served; guarded by door.mu
}

func newDoor(listener net.Listener, places int, grace time.Duration) *door {
	return &door{
		Listener: listener,
		places:   make(chan struct{}, places),
		grace:    grace,
		closed:   make(chan struct{}),
	}
}

// Accept returns the next connection once there is a place for it.
func (d *door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !d.takePlace() {
		conn.Close()
		return nil, net.ErrClosed
	}
	return &guest{Conn: conn, door: d}, nil
}

// takePlace waits for a place; false means that the door was closed meanwhile.
func (d *door) takePlace() bool {
	select {
	case d.places <- struct{}{}:
		return true
	default:
	}
	d.waiting.Store(true)
	defer d.waiting.Store(false)
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		d.closeQuietest()
		select {
		case d.places <- struct{}{}:
			return true
		case <-d.closed:
			return false
		case <-tick.C:
		}
	}
}

// crowded reports whether a connection waits for a place.
func (d *door) crowded() bool { return d.waiting.Load() }

// Close closes the listener; connections that were let in stay open.
func (d *door) Close() error {
	d.closedOnce.Do(func() { close(d.closed) })
	return d.Listener.Close()
}

// observe is the server's ConnState hook: it keeps the list of quiet connections.
func (d *door) observe(conn net.Conn, state http.ConnState) {
	g := conn.(*guest)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		g.since = time.Now()
		g.element = d.quiet.PushBack(g)
	default:
		if g.element != nil {
			d.quiet.Remove(g.element)
			g.element = nil
		}
	}
}

// closeQuietest closes the connection that has been quiet longest, if that is long enough.
func (d *door) closeQuietest() {
	d.mu.Lock()
	var g *guest
	if first := d.quiet.Front(); first != nil && time.Since(first.Value.(*guest).since) >= d.grace {
		g = first.Value.(*guest)
		d.quiet.Remove(first)
		g.element = nil
	}
	d.mu.Unlock()
	if g != nil {
		g.Close() // the server notices by its pending read
	}
}

// Close closes the connection and gives its place back.
func (g *guest) Close() error {
	err := g.Conn.Close()
	g.leave.Do(func() { <-g.door.places })
	return err
}

// CloseWrite lets the server say its last word before it closes (net/http looks for it).
func (g *guest) CloseWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
