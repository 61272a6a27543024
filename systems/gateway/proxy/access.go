package proxy

import (
	"io"
	"sync/atomic"
	"time"

	"faceoff/systems/gateway/wire"
)

// Access is where a line for each request goes. Writing never holds a worker up: what the writer cannot take in time is
// dropped and counted.
type Access struct {
	blocks  chan block
	ended   chan struct{}
	dropped atomic.Int64
}

// block is lines of one worker.
type block struct {
	text  []byte
	lines int
}

const (
	blockSize = 16 << 10 // a worker hands its lines on when they are as many, or when it goes to sleep
	blocksLet = 256      // waiting for the writer

	lastLines = time.Second // that whoever reads the lines may take for the last of them, as the gateway is to end
)

// NewAccess begins to write to a place, which nobody else writes to.
func NewAccess(to io.Writer) *Access {
	a := &Access{blocks: make(chan block, blocksLet), ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		for b := range a.blocks {
			if _, err := to.Write(b.text); err != nil {
				a.dropped.Add(int64(b.lines))
			}
		}
	}()
	return a
}

// Close waits until all lines are written, or some of them were not taken for as long as is let. No worker may be running.
func (a *Access) Close() {
	close(a.blocks)
	select {
	case <-a.ended:
	case <-time.After(lastLines):
	}
}

// handOn gives a worker's lines to the writer.
func (w *worker) handOn() {
	if w.lines == 0 {
		return
	}
	access := w.server.settings.Access
	select {
	case access.blocks <- block{w.line, w.lines}:
		w.line = make([]byte, 0, blockSize+1<<10)
	default:
		access.dropped.Add(int64(w.lines))
		w.line = w.line[:0]
	}
	w.lines = 0
}

// account is what a line tells of an exchange beside its outcome.
type account struct {
	on     bool
	begun  time.Duration
	status int
	said   int64  // bytes, of heads too, that went to the client
	asked  []byte // the method and the target, as JSON has them
	error  string // why it was the gateway that answered
}

// openAccount notes what was asked, before the bytes are gone. It does nothing where no line is wanted.
func (c *client) openAccount() {
	w := c.w
	if w.server.settings.Access == nil || (c.route != nil && c.route.Quiet) {
		return
	}
	r := &w.request
	asked := append(c.account.asked[:0], `"method":"`...)
	asked = append(asked, r.Method...) // a token has nothing to escape
	asked = append(asked, `","host":"`...)
	asked = append(asked, r.Host...) // nor has a host
	asked = append(asked, `","path":"`...)
	asked = appendJSON(asked, r.Path)
	asked = appendJSON(asked, r.Query)
	asked = append(asked, '"')
	c.account = account{on: true, begun: w.wheel.now, asked: asked}
}

// appendJSON writes what a target may consist of within a JSON string.
func appendJSON(to, text []byte) []byte {
	for _, b := range text {
		if b == '"' || b == '\\' {
			to = append(to, '\\')
		}
		to = append(to, b)
	}
	return to
}

// refuseAccount opens the account of a request that was not understood.
func (c *client) refuseAccount() {
	if c.w.server.settings.Access != nil {
		c.account = account{on: true, begun: c.w.wheel.now, asked: c.account.asked[:0]}
	}
}

// closeAccount writes the line.
func (c *client) closeAccount() {
	a := &c.account
	if !a.on {
		return
	}
	a.on = false
	w := c.w
	now := time.Now().UTC()
	to := append(w.line, `{"time":"`...)
	to = now.AppendFormat(to, "2006-01-02T15:04:05.000Z")
	to = append(to, `","client":"`...)
	to = append(to, c.address...)
	to = append(to, '"')
	if len(a.asked) > 0 {
		to = append(to, ',')
		to = append(to, a.asked...)
	}
	to = append(to, `,"status":`...)
	to = wire.AppendDecimal(to, int64(a.status))
	to = append(to, `,"bytes":`...)
	to = wire.AppendDecimal(to, a.said)
	to = append(to, `,"us":`...)
	to = wire.AppendDecimal(to, int64((time.Since(w.started)-a.begun)/time.Microsecond))
	if c.upstream != nil {
		to = append(to, `,"upstream":"`...)
		to = append(to, c.upstream.Name...)
		to = append(to, '"')
	}
	if m := c.marked(); len(m.ID) > 0 || len(m.Trace) > 0 {
		to = append(to, `,"id":"`...)
		to = append(to, m.ID...)
		to = append(to, `","trace":"`...)
		to = append(to, m.Trace...)
		to = append(to, '"')
	}
	if a.error != "" {
		to = append(to, `,"error":"`...)
		to = append(to, a.error...)
		to = append(to, '"')
	}
	w.line = append(to, "}\n"...)
	if w.lines++; len(w.line) >= blockSize {
		w.handOn()
	}
}
