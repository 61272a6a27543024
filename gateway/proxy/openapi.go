// Connects an exchange to package openapi: buffers bodies of bounded size and validates them before
// they are passed on. Start reading at client.validateRequest and client.validateResponse.

package proxy

import (
	"time"

	"faceoff/gateway/guard"
	"faceoff/gateway/openapi"
	"faceoff/gateway/wire"
)

// maxBufferedBodies is how many bytes of bodies a worker may hold at a time to validate them. The
// parsed values take a multiple of that.
const maxBufferedBodies = 32 << 20

// validation is the state of checking an exchange against its OpenAPI document.
type validation struct {
	operation        *openapi.Operation
	schema           *openapi.Schema // of the request's body
	body             wire.Reader     // parses the framing of the body
	measured         int             // bytes of the body after the head
	content          []byte          // the body without its framing
	until            time.Duration   // when the body must be complete, by the worker's clock
	continueSent     bool            // 100 Continue was sent
	reserved         int64           // bytes of maxBufferedBodies
	reservedResponse bool            // they include room for the response
	seen             bool            // the response was checked
}

// validateRequest checks a request against its route's document. False means that the request was
// answered, or waits for its body.
func (c *client) validateRequest() bool {
	w, r := c.w, &c.w.request
	path := r.Path
	if c.route.Rewrites() {
		w.path = c.route.AppendPath(w.path[:0], r.Path)
		path = w.path
	}
	operation, schema, problem := c.route.OpenAPI.Request(r, path)
	if problem != nil {
		c.rejectInvalid(problem)
		return false
	}
	c.validation = &validation{operation: operation, schema: schema}
	if schema == nil {
		return true
	}
	c.validation.body.Start(r.Body)
	c.validation.until = w.wheel.now + w.server.settings.BodyTimeout
	c.phase = bufferingBody
	c.bufferBody()
	return false
}

// rejectInvalid responds to a request that does not match its document.
func (c *client) rejectInvalid(problem *openapi.Problem) {
	c.w.metrics.invalid.Add(1)
	c.skipHead()
	c.respond(problem.Status, openapi.NotAsDescribed, problem)
}

// reserve reserves memory for a body that is buffered.
func (c *client) reserve(n int64) bool {
	if c.w.bufferedBodies > 0 && c.w.bufferedBodies+n > maxBufferedBodies {
		return false
	}
	c.w.bufferedBodies += n
	c.validation.reserved += n
	return true
}

// release releases the reserved memory.
func (c *client) release() {
	if g := c.validation; g != nil {
		c.w.bufferedBodies -= g.reserved
		g.reserved, g.content = 0, nil
	}
}

// bufferBody reads the body of a request until it is complete.
func (c *client) bufferBody() {
	w, g := c.w, c.validation
	if c.pending() && c.flush() == broken {
		c.abandon()
		return
	}
	for turn := 0; c.open; turn++ {
		if err := c.bufferBodyPart(); err != nil {
			c.skipHead()
			// The request was parsed, so the error is reported as one of an exchange.
			c.phase = exchanging
			if err != error(tooManyBodies) { //nolint:errorlint // gatherMore returns it unwrapped
				c.rejectRequest(err)
				return
			}
			w.metrics.shed.Add(1)
			c.respondError(tooManyBodies.Status, tooManyBodies.Reason)
			return
		}
		if g.body.Done() {
			c.validateBody()
			return
		}
		if c.expectsContinue {
			c.sendContinue()
			continue
		}
		if turn >= readsPerTurn {
			c.in.keep(w)
			w.schedule(&c.conn)
			return
		}
		before := len(c.in.data)
		switch c.fill(w.inScratch, readSize) {
		case fine:
			c.bytesMoved += int64(len(c.in.data) - before)
		case later:
			c.in.keep(w)
			w.wheel.start(&c.timer, c.nextCheck())
			c.watchPace()
			return
		case ended, broken:
			c.abandon()
			return
		}
	}
}

// overdue reports whether the time for the body is over, however fast the client sends.
func (c *client) overdue() bool {
	return c.phase == bufferingBody && c.w.wheel.now >= c.validation.until
}

// nextCheck is how long a client may take until its rate is checked.
func (c *client) nextCheck() time.Duration {
	if c.phase == bufferingBody {
		return min(c.w.server.settings.Stall, c.validation.until-c.w.wheel.now)
	}
	return c.w.server.settings.Stall
}

var tooManyBodies = &wire.Refusal{Status: 503, Reason: "too many bodies are buffered"}

// bufferBodyPart stores what has arrived of the body. Memory is reserved as bytes arrive, so that a
// large Content-Length alone reserves nothing.
func (c *client) bufferBodyPart() error {
	g, most := c.validation, c.route.OpenAPI.Most
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
		// Chunks of one byte would take six bytes each.
		if int64(len(g.content)) > most || int64(g.measured) > 2*most+readSize {
			return &wire.Refusal{Status: 413, Reason: guard.TooLarge}
		}
	}
	return nil
}

// sendContinue sends 100 Continue.
func (c *client) sendContinue() {
	c.expectsContinue, c.validation.continueSent = false, true
	if c.stream != nil {
		c.stream.sendContinue()
		return
	}
	if c.send([]byte("HTTP/1.1 100 Continue\r\n\r\n")) == broken {
		c.abandon()
	}
}

// validateBody checks a complete body against its schema, and continues with the request.
func (c *client) validateBody() {
	w, g := c.w, c.validation
	faults := g.schema.Check(g.content, c.route.OpenAPI.Values)
	g.content = nil
	c.phase, c.pace = reading, pace{}
	if len(faults) > 0 {
		c.rejectInvalid(openapi.Mismatch(faults))
	} else if _, err := w.request.Parse(c.in.data); err != nil {
		c.rejectRequest(err) // impossible: it was parsed before
	} else {
		c.injectFault()
	}
	if c.open && c.phase == reading { // it was answered at once
		w.schedule(&c.conn)
	}
	if c.open {
		c.in.keep(w)
	}
}

// validateResponse checks the final response, whose head takes n bytes, against the document. It is
// undecided until the body is complete; no means that the client got an error response.
func (c *client) validateResponse(n int) decision {
	w, uc, v := c.w, c.upstreamConn, c.validation
	if v.seen {
		return yes
	}
	schema, problem := v.operation.Answer(&w.response)
	detail := ""
	if problem == nil && schema != nil {
		content, whole := c.bufferedResponse(uc.in.data[n:])
		switch whole {
		case undecided:
			c.requestSent = false // the head has arrived; the body may take its time
			return undecided
		case no:
			w.metrics.unchecked.Add(1)
		case yes:
			if faults := schema.Check(content, c.route.OpenAPI.Values); len(faults) > 0 {
				problem, detail = openapi.MismatchOfAnswer(), ": "+faults[0].Pointer+" "+faults[0].Detail
			}
		}
	}
	v.seen = true
	if problem == nil {
		return yes
	}
	w.metrics.invalidAnswers.Add(1)
	w.server.logf("the response of %s: %s%s", uc.server.address, problem.Detail, detail)
	c.respond(502, openapi.AnswerOtherwise, problem)
	return no
}

// bufferedResponse returns the body of a response from the bytes after its head. No means that the
// body cannot be buffered.
func (c *client) bufferedResponse(text []byte) ([]byte, decision) {
	g, body, most := c.validation, c.w.response.Body, c.route.OpenAPI.Most
	if body.Kind == wire.UntilEnd || (body.Kind == wire.Sized && body.Length > most) ||
		int64(len(text)) > 2*most+readSize {
		return nil, no
	}
	if !g.reservedResponse && !c.reserve(most) {
		return nil, no
	}
	g.reservedResponse = true
	if body.Kind == wire.Sized && int64(len(text)) < body.Length {
		return nil, undecided
	}
	var reader wire.Reader
	reader.Start(body)
	var content []byte
	for !reader.Done() {
		part, taken, _, err := reader.Next(text)
		if err != nil {
			return nil, no // the error is reported when it is passed on
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
