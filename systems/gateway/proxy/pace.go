package proxy

import "time"

// pace is how fast a client is that is waited for: to send a body, or to take an answer. Without it, one that moves a
// byte now and then could keep what it holds for as long as it likes.
type pace struct {
	watched bool
	from    time.Duration
	taken   int64 // bytes until then
}

// awaited reports whether the exchange waits for the client, and for nobody else.
func (c *client) awaited() bool {
	if c.tunnel {
		return false // either side may be silent there
	}
	return c.pending() || c.phase == gathering || (!c.body.Done() && !c.deaf && !c.expects && c.link != nil && !c.link.connecting && !c.link.pending())
}

// behind reports whether a stream waits for the connection that carries it, whose own pace is watched.
func (c *client) behind() bool {
	return c.stream != nil && c.stream.blocked && c.stream.framing.conn.pending()
}

// watchPace looks, at the end of an event, whether the client keeps pace. It closes one that does not.
func (c *client) watchPace() {
	switch {
	case !c.awaited() || c.behind():
		c.pace.watched = false
	case !c.pace.watched:
		c.pace = pace{true, c.w.wheel.now, c.moved - unsent(c.fd)}
	case !c.keepsPace():
		c.tooSlow()
		return
	}
	if c.answered && c.open {
		c.w.wheel.start(&c.timer, c.w.server.settings.Stall)
	}
}

// keepsPace compares what has moved since the last look with what should have. What lies in the kernel's buffer has not
// moved: an answer that waits there shows no other sign of progress for a long time.
func (c *client) keepsPace() bool {
	now := c.w.wheel.now
	elapsed := now - c.pace.from
	if elapsed < c.w.server.settings.Stall {
		return true
	}
	taken := c.moved - unsent(c.fd)
	moved := taken - c.pace.taken
	c.pace.from, c.pace.taken = now, taken
	return moved > 0 && moved >= int64(elapsed.Seconds()*float64(c.w.server.settings.Pace))
}
