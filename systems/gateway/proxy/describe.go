package proxy

import (
	"time"

	"faceoff/systems/gateway/guard"
	"faceoff/systems/gateway/openapi"
	"faceoff/systems/gateway/wire"
)

// mostGathered is how many bytes of bodies a worker reads whole at a time, to hold them against a document. What is made of them to do so takes some
// times as much.
const mostGathered = 32 << 20

// checks is what an exchange has of the document that it is held against.
type checks struct {
	operation *openapi.Operation
	schema    *openapi.Schema // what the request's body must be like
	body      wire.Reader     // it, as it comes
	measured  int             // bytes of it that lie behind the head
	content   []byte          // what it has
	until     time.Duration   // it may come, by the worker's clock
	invited   bool            // the client was told to go on sending it
	reserved  int64           // bytes of mostGathered,
	held      bool            // some of them for the answer
	seen      bool            // the answer was looked at
}

// describe holds a request against its route's document. False means that it is answered, or that its body is to be here first.
func (c *client) describe() bool {
	w, r := c.w, &c.w.request
	path := r.Path
	if c.route.Rewrites() {
		w.path = c.route.AppendPath(w.path[:0], r.Path)
		path = w.path
	}
	operation, schema, problem := c.route.OpenAPI.Request(r, path)
	if problem != nil {
		c.mismatch(problem)
		return false
	}
	c.checks = &checks{operation: operation, schema: schema}
	if schema == nil {
		return true
	}
	c.checks.body.Start(r.Body)
	c.checks.until = w.wheel.now + w.server.settings.BodyTimeout
	c.phase = gathering
	c.gather()
	return false
}

// mismatch answers a request that is not as the document says.
func (c *client) mismatch(problem *openapi.Problem) {
	c.w.metrics.invalid.Add(1)
	c.skipHead()
	c.tell(problem.Status, openapi.NotAsDescribed, problem)
}

// reserve sets bytes aside for a body that is read whole.
func (c *client) reserve(n int64) bool {
	if c.w.gathered > 0 && c.w.gathered+n > mostGathered {
		return false
	}
	c.w.gathered += n
	c.checks.reserved += n
	return true
}

// release gives them back.
func (c *client) release() {
	if g := c.checks; g != nil {
		c.w.gathered -= g.reserved
		g.reserved, g.content = 0, nil
	}
}

// gather reads the body of a request until it is here whole.
func (c *client) gather() {
	w, g := c.w, c.checks
	if c.pending() && c.flush() == broken {
		c.abandon()
		return
	}
	for turn := 0; c.open; turn++ {
		if err := c.gatherMore(); err != nil {
			c.skipHead()
			c.phase = exchanging             // as more is known of it than of a request that is not understood
			if err != error(tooManyBodies) { //nolint:errorlint // gatherMore returns it unwrapped
				c.refuse(err)
				return
			}
			w.metrics.shed.Add(1)
			c.fail(tooManyBodies.Status, tooManyBodies.Reason)
			return
		}
		if g.body.Done() {
			c.weigh()
			return
		}
		if c.expects {
			c.invite()
			continue
		}
		if turn >= turnsEach {
			c.in.keep(w)
			w.later(&c.conn)
			return
		}
		before := len(c.in.data)
		switch c.fill(w.inScratch, readSize) {
		case fine:
			c.moved += int64(len(c.in.data) - before)
		case later:
			c.in.keep(w)
			w.wheel.start(&c.timer, c.untilLook())
			c.watchPace()
			return
		case ended, broken:
			c.abandon()
			return
		}
	}
}

// overdue reports whether a body that is read whole has had its time. Its client may keep pace all the while.
func (c *client) overdue() bool { return c.phase == gathering && c.w.wheel.now >= c.checks.until }

// untilLook is how long a client that is waited for is left alone.
func (c *client) untilLook() time.Duration {
	if c.phase == gathering {
		return min(c.w.server.settings.Stall, c.checks.until-c.w.wheel.now)
	}
	return c.w.server.settings.Stall
}

var tooManyBodies = &wire.Refusal{Status: 503, Reason: "too many bodies are read at a time"}

// gatherMore takes over what has come of the body. Bytes are set aside as they come: who says that many will holds up nobody by that.
func (c *client) gatherMore() error {
	g, most := c.checks, c.route.OpenAPI.Most
	for !g.body.Done() {
		content, taken, _, err := g.body.Next(c.in.data[c.head+g.measured:])
		if err != nil {
			return err
		}
		if taken == 0 {
			return nil
		}
		if !c.reserve(int64(taken)) {
			return tooManyBodies
		}
		g.measured += taken
		g.content = append(g.content, content...)
		if int64(len(g.content)) > most || int64(g.measured) > 2*most+readSize { // chunks of a byte would take six
			return &wire.Refusal{Status: 413, Reason: guard.TooLarge}
		}
	}
	return nil
}

// invite lets a client send its body that waits to be told so.
func (c *client) invite() {
	c.expects, c.checks.invited = false, true
	if c.stream != nil {
		c.stream.goOn()
		return
	}
	if c.send([]byte("HTTP/1.1 100 Continue\r\n\r\n")) == broken {
		c.abandon()
	}
}

// weigh holds a body that is here whole against its schema, and goes on with the request.
func (c *client) weigh() {
	w, g := c.w, c.checks
	faults := g.schema.Check(g.content, c.route.OpenAPI.Values)
	g.content = nil
	c.phase, c.pace = reading, pace{}
	if len(faults) > 0 {
		c.mismatch(openapi.Mismatch(faults))
	} else if _, err := w.request.Parse(c.in.data); err != nil {
		c.refuse(err) // it was read before, so that this cannot be
	} else {
		c.venture()
	}
	if c.open && c.phase == reading { // it was answered at once
		w.later(&c.conn)
	}
	if c.open {
		c.in.keep(w)
	}
}

// inspect holds the final answer, whose head was read and takes n bytes, against the document. Until its body is here whole it is undecided; no means
// that the client was told so instead.
func (c *client) inspect(n int) decision {
	w, l, g := c.w, c.link, c.checks
	if g.seen {
		return yes
	}
	schema, problem := g.operation.Answer(&w.response)
	detail := ""
	if problem == nil && schema != nil {
		content, whole := c.wholeAnswer(l.in.data[n:])
		switch whole {
		case undecided:
			c.asked = false // the head is here, and the body may take its time
			return undecided
		case no:
			w.metrics.unchecked.Add(1)
		case yes:
			if faults := schema.Check(content, c.route.OpenAPI.Values); len(faults) > 0 {
				problem, detail = openapi.MismatchOfAnswer(), ": "+faults[0].Pointer+" "+faults[0].Detail
			}
		}
	}
	g.seen = true
	if problem == nil {
		return yes
	}
	w.metrics.invalidAnswers.Add(1)
	w.server.logf("the answer of %s: %s%s", l.server.address, problem.Detail, detail)
	c.tell(502, openapi.AnswerOtherwise, problem)
	return no
}

// wholeAnswer is the content of an answer, from what lies behind its head; no where it cannot be waited for.
func (c *client) wholeAnswer(text []byte) ([]byte, decision) {
	g, body, most := c.checks, c.w.response.Body, c.route.OpenAPI.Most
	if body.Kind == wire.UntilEnd || (body.Kind == wire.Sized && body.Length > most) || int64(len(text)) > 2*most+readSize {
		return nil, no
	}
	if !g.held && !c.reserve(most) {
		return nil, no
	}
	g.held = true
	if body.Kind == wire.Sized && int64(len(text)) < body.Length {
		return nil, undecided
	}
	var reader wire.Reader
	reader.Start(body)
	var content []byte
	for !reader.Done() {
		part, taken, _, err := reader.Next(text)
		if err != nil {
			return nil, no // it is told where it is passed on
		}
		if taken == 0 {
			return nil, undecided
		}
		content, text = append(content, part...), text[taken:]
		if int64(len(content)) > most {
			return nil, no
		}
	}
	if openapi.Values(content) > c.route.OpenAPI.Values {
		return nil, no
	}
	return content, yes
}
