// A slow reader may hold its slot for long: until the upstream has sent everything beyond the
// backlog. That does no harm while slots are free. When slots are short and more than half of them
// wait for slow readers, the slowest readers are cut until half are left.
//
// Start reading at worker.cutSlowReaders.

package proxy

import (
	"cmp"
	"slices"
	"time"

	"faceoff/gateway/h2"
)

// lag tracks a client that reads its response slower than it arrives. The zero value is for a
// client that keeps up.
type lag struct {
	on    bool
	full  bool          // the backlog is full
	since time.Duration // when the current measurement began
	taken int64         // bytes that the client had taken then
}

const (
	// maxWeighed is how many slow readers a worker examines per turn.
	maxWeighed = 256

	// extraQueueTime is how much longer a request waits while slow readers have more than half of
	// the slots. Their responses will soon be complete, or cut.
	extraQueueTime = 2 * minIdle
)

// slowReader is a client that may be cut, with its rate in bytes per second.
type slowReader struct {
	client *client
	rate   float64
}

// markLagging records that the client reads slower than the response arrives. With a full backlog,
// its slot waits for it.
func (c *client) markLagging(full bool) {
	if !c.hasSlot {
		return
	}
	if !c.lag.on {
		c.lag.on = true
		c.upstream.limiter.countLagging(1, 0)
	}
	if full && !c.lag.full {
		c.lag = lag{true, true, c.w.wheel.now, c.bytesTaken()}
		c.w.slow.push(&c.slow, c)
		c.upstream.limiter.countLagging(0, 1)
	}
}

// clearLagging records that the client has caught up or has no slot any more.
func (c *client) clearLagging() {
	if !c.lag.on {
		return
	}
	full := 0
	if c.lag.full {
		full = 1
		c.slow.remove()
	}
	c.lag = lag{}
	c.upstream.limiter.countLagging(-1, -full)
}

// bytesTaken is how many bytes the client has sent and received. Bytes in the kernel's buffer, or
// here, do not count.
func (c *client) bytesTaken() int64 {
	return c.bytesMoved - c.backlog.size - int64(len(c.out)-c.sent) - unsent(c.fd)
}

// rate returns the bytes per second that the client reads. It is false until enough time has passed
// to measure it.
func (c *client) rate() (float64, bool) {
	now := c.w.wheel.now
	elapsed := now - c.lag.since
	if elapsed < minIdle {
		return 0, false
	}
	taken := c.bytesTaken()
	rate := float64(taken-c.lag.taken) / elapsed.Seconds()
	if elapsed >= c.w.server.settings.Stall { // the rate may have dropped since
		c.lag.since, c.lag.taken = now, taken
	}
	return rate, true
}

// cutSlowReaders frees slots for waiting requests.
func (w *worker) cutSlowReaders() {
	if w.slow.empty() {
		return
	}
	all := w.slowest()
	for _, one := range all {
		if one.client.lag.full && one.client.upstream.limiter.shortOfSlots() {
			one.client.cut()
		}
	}
	clear(all)
}

// slowest returns readers that may be cut, the slowest first.
func (w *worker) slowest() []slowReader {
	least := float64(w.server.settings.Busy)
	all, seen := w.readers[:0], 0
	for c := range w.slow.clients() {
		if seen == maxWeighed {
			break
		}
		seen++
		if !c.upstream.limiter.shortOfSlots() {
			continue
		}
		if rate, known := c.rate(); known && rate < least {
			all = append(all, slowReader{c, rate})
		}
	}
	for range seen { // the next turn starts with others
		c := w.slow.first()
		c.slow.remove()
		w.slow.push(&c.slow, c)
	}
	slices.SortFunc(all, func(a, b slowReader) int { return cmp.Compare(a.rate, b.rate) })
	w.readers = all
	return all
}

// cut ends a response whose client reads too slowly while other requests need its slot.
func (c *client) cut() {
	c.w.metrics.cut.Add(1)
	c.record.error = "read too slowly while others waited"
	if c.stream != nil {
		c.stream.code = h2.EnhanceYourCalm
	}
	c.close()
}
