// Minimum rates: a client that the exchange waits for must move some bytes per second, or it is
// closed. Otherwise a client could hold a slot forever with a byte now and then. Start reading at
// client.watchPace.

package proxy

import "time"

// pace tracks the rate of a client that must send a body or read a response. Without a minimum
// rate, a client that moves a byte now and then could hold its slot forever.
type pace struct {
	watched bool
	from    time.Duration
	taken   int64 // bytes until then
}

// waitsForClient reports whether the exchange waits for the client, and only for it.
func (c *client) waitsForClient() bool {
	if c.tunnel {
		return false // either side may be silent in a tunnel
	}
	return c.pending() || !c.backlog.empty() || c.phase == bufferingBody ||
		(!c.body.Done() && !c.uploadStopped && !c.expectsContinue && c.upstreamConn != nil &&
			!c.upstreamConn.connecting && !c.upstreamConn.pending())
}

// waitingRequests is how many requests wait for the client to read. The minimum rate applies to
// each of them.
func (c *client) waitingRequests() int64 {
	if c.session == nil {
		return 1
	}
	return int64(max(1, len(c.session.blocked)))
}

// waitsForConn reports whether a stream waits for the connection that carries it. The rate of that
// connection is watched separately. If the client has taken everything that the stream has sent,
// and its window is used up, the stream waits for the client instead.
func (c *client) waitsForConn() bool {
	st := c.stream
	if st == nil || !st.blocked || !st.h2Conn.conn.pending() {
		return false
	}
	return st.sendWindow > 0 || st.session.client.bytesTaken() < st.sent
}

// watchPace checks the client's rate at the end of an event, and closes the client if it is too
// slow.
func (c *client) watchPace() {
	switch {
	case !c.waitsForClient() || c.waitsForConn():
		c.pace.watched = false
	case !c.pace.watched:
		c.pace = pace{true, c.w.wheel.now, c.bytesTaken()}
	case !c.keepsPace():
		c.timedOut()
		return
	}
	if c.responseDone && c.open {
		c.w.wheel.start(&c.timer, c.w.server.settings.Stall)
	}
}

// keepsPace compares the bytes moved since the last check with the minimum. Bytes in the kernel's
// buffer have not moved: a response that waits there shows no other progress for a long time.
func (c *client) keepsPace() bool {
	now := c.w.wheel.now
	elapsed := now - c.pace.from
	if elapsed < c.w.server.settings.Stall {
		return true
	}
	taken := c.bytesTaken()
	moved := taken - c.pace.taken
	c.pace.from, c.pace.taken = now, taken
	return moved > 0 &&
		moved >= int64(elapsed.Seconds()*float64(c.w.server.settings.Pace*c.waitingRequests()))
}
