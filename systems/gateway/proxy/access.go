package proxy

import (
	"io"
	"time"

	"faceoff/systems/gateway/wire"
)

// Access is where a line for each request goes.
type Access struct{ outlet }

// NewAccess begins to write to a place, which nobody else writes to.
func NewAccess(to io.Writer) *Access {
	a := &Access{}
	a.open(0, 0, func(text []byte, lines int) int {
		if _, err := to.Write(text); err != nil {
			return lines
		}
		return 0
	})
	return a
}

// account is what a line, and a span, tell of an exchange beside its outcome.
type account struct {
	on     bool // a line is wanted
	begun  time.Duration
	status int
	said   int64  // bytes, of heads too, that went to the client
	asked  []byte // the method and the target, as JSON has them
	error  string // why it was the gateway that answered
	span   []byte // the beginning of a span, empty where none is wanted
	start  int64  // of the span, since 1970 in ns
}

// blankAccount begins one, in the memory of the last.
func (c *client) blankAccount() {
	c.account = account{begun: c.w.wheel.now, asked: c.account.asked[:0], span: c.account.span[:0]}
}

// openAccount notes what was asked, before the bytes are gone.
func (c *client) openAccount() {
	w := c.w
	c.blankAccount()
	if w.server.settings.Access == nil || (c.route != nil && c.route.Quiet) {
		return
	}
	r := &w.request
	asked := append(c.account.asked, `"method":"`...)
	asked = append(asked, r.Method...) // a token has nothing to escape
	asked = append(asked, `","host":"`...)
	asked = append(asked, r.Host...) // nor has a host
	asked = append(asked, `","path":"`...)
	asked = appendJSON(asked, r.Path)
	asked = appendJSON(asked, r.Query)
	asked = append(asked, '"')
	c.account.on, c.account.asked = true, asked
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
	c.blankAccount()
	c.account.on = c.w.server.settings.Access != nil
}

// closeAccount writes the line, and the span.
func (c *client) closeAccount() {
	c.closeSpan()
	a := &c.account
	if !a.on {
		return
	}
	a.on = false
	w := c.w
	now := time.Now().UTC()
	to := append(w.lines.text, `{"time":"`...)
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
	w.lines.add(append(to, "}\n"...), &w.server.settings.Access.outlet)
}
