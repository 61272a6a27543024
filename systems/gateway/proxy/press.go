package proxy

import (
	"faceoff/systems/gateway/press"
	"faceoff/systems/gateway/wire"
)

// mostPresses is how many answers a worker compresses at a time. Each takes a megabyte, and further ones go as they are.
const mostPresses = 32

// choose decides whether the answer whose head was read is compressed, and takes a press for it. What it has then is told in chunks.
func (c *client) choose(rules *press.Rules, r *wire.Response) {
	if c.varies = rules.Fits(r); !c.varies || !c.presses {
		return
	}
	w := c.w
	last := len(w.presses) - 1
	switch {
	case last >= 0:
		c.press, w.presses = w.presses[last], w.presses[:last]
	case w.pressing < mostPresses:
		c.press = &press.Press{}
	default:
		w.metrics.unpressed.Add(1)
		return
	}
	w.pressing++
	c.shrunk = true
	w.metrics.pressed.Add(1)
	c.press.Begin()
	r.Body = wire.Body{Kind: wire.Chunked}
}

// putBack gives a press to the next answer.
func (c *client) putBack() {
	w := c.w
	w.pressing--
	w.presses = append(w.presses, c.press)
	c.press = nil
}

// pressed adds to the head of an answer what compressing it means.
func (c *client) pressed(o *wire.Inbound, r *wire.Response) {
	w := c.w
	w.added = append(w.added[:0], o.Lines...)
	if c.shrunk {
		w.added = press.AppendLines(w.added, r)
		w.drop = append(append(w.drop[:0], o.Drop...), press.Dropped()...)
		o.Drop = w.drop
	} else {
		w.added = append(w.added, press.Vary...)
	}
	o.Lines = w.added
}

// encodePressed is encode of an answer that is compressed. So that the client can read what there is, nothing is kept for more.
func (c *client) encodePressed() error {
	in := c.answerIntake()
	for !c.answer.Done() && len(in.data) > 0 {
		content, taken, trailers, err := c.answer.Next(in.data)
		if err != nil {
			return err
		}
		if taken == 0 {
			break
		}
		c.note(content)
		c.press.Add(content)
		in.took(taken)
		if c.answer.Done() {
			return c.endPressed(trailers)
		}
	}
	c.write(c.press.Take())
	return nil
}

// endPressed writes the end of an answer that is compressed, and the trailers after it.
func (c *client) endPressed(trailers []byte) error {
	w := c.w
	c.write(c.press.End())
	c.putBack()
	var err error
	switch {
	case c.stream != nil && trailers != nil:
		c.stream.trailers, err = wire.AppendTrailers(nil, trailers, &w.trailers, c.marked().Answer.Drop)
	case c.framing == wire.Chunked:
		w.out, err = wire.AppendLastChunk(w.out, trailers, &w.trailers, c.marked().Answer.Drop)
	}
	return err
}

// write puts bytes of the answer's body into the worker's scratch, as the client is told its end.
func (c *client) write(content []byte) {
	if c.framing == wire.Chunked {
		c.w.out = wire.AppendChunk(c.w.out, content)
	} else {
		c.w.out = append(c.w.out, content...)
	}
}
