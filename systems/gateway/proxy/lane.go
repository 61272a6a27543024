package proxy

import (
	"time"

	"faceoff/systems/gateway/h2"
	"faceoff/systems/gateway/wire"
)

// lane is what a link has that is one request over a trunk, instead of a socket.
type lane struct {
	flow
	trunk   *trunk
	link    *link
	at      int           // place among the trunk's
	body    wire.Reader   // the request's, as it is given here
	ahead   int           // bytes of its content that come next
	asked   time.Duration // when the request went, by the worker's clock
	bare    bool          // its answer has no body
	accept  string        // of a request for WebSocket, what its client waits for
	headed  bool          // the head of the final answer has come
	gone    bool          // the stream is over, whatever was said
	refused bool          // the server did nothing about the request
	fault   string        // why the answer cannot be understood
}

// look has whose request it is looked at.
func (n *lane) look() {
	switch l := n.link; {
	case l.client != nil:
		l.w.later(&l.client.conn)
	case l.shadow != nil:
		n.trunk.shadows = append(n.trunk.shadows, l)
	case !l.open && (n.ended || n.gone) && n.trunk.streams[n.id] == &n.flow:
		delete(n.trunk.streams, n.id)
		n.trunk.ending--
	}
}

// fill is that of a connection.
func (n *lane) fill(in *intake) state {
	state := n.flow.fill(in)
	if n.ended && !n.headed && !n.gone {
		n.misspeak("it ended before it began")
	}
	if n.gone {
		n.link.readable = true // so that it is seen after what came
		if state == later {
			return broken
		}
	}
	return state
}

// push sends what may be sent of a request, as HTTP/1.1 has it, and returns the rest.
func (n *lane) push(text []byte) []byte {
	if n.gone {
		return text
	}
	if n.id == 0 {
		text = n.begin(text)
	}
	for len(text) > 0 {
		if n.ahead == 0 {
			content, taken, trailers, err := n.body.Next(text)
			if err != nil || taken == 0 { // it is the gateway's own, so that this cannot be
				n.fail(h2.InternalError)
				return nil
			}
			text, n.ahead = text[taken-len(content):], len(content)
			if trailers != nil {
				n.flow.finish(trailers)
				return nil
			}
			continue
		}
		rest := n.give(text[:n.ahead], n.body.Done())
		text, n.ahead = text[n.ahead-len(rest):], len(rest)
		if len(rest) > 0 {
			return text
		}
	}
	return nil
}

// begin opens the stream with the head that the request begins with, and returns what follows it.
func (n *lane) begin(text []byte) []byte {
	t := n.trunk
	n.id, n.window, n.asked = t.next, t.initial, n.link.w.wheel.now
	t.next += 2
	t.streams[n.id] = &n.flow
	t.framing.begin()
	var asked h2.Asked
	connects := t.connects && n.link.client != nil && n.link.client.upgrade
	t.frames, asked = t.writer.AppendRequest(t.frames, n.id, text, t.link.secure != nil, t.forget, connects)
	t.forget = false
	if asked.Key != "" {
		n.accept = acceptOf(asked.Key)
	}
	n.body.Start(asked.Body)
	n.said, n.bare = n.body.Done(), asked.Bare
	return text[asked.Taken:]
}

// flush is that of a connection.
func (n *lane) flush() state {
	l := n.link
	switch {
	case l.out == nil:
		return fine
	case n.gone:
		return broken
	}
	rest := n.push(l.out[l.sent:])
	l.sent = len(l.out) - len(rest)
	if len(rest) > 0 {
		return later
	}
	l.dropOut()
	return fine
}

// fail ends the stream for what the server did.
func (n *lane) fail(code h2.Code) {
	if n.gone {
		return
	}
	n.trunk.reset(n.id, code)
	n.gone = true
	if n.fault == "" {
		n.fault = "the stream broke the rules"
	}
	n.news()
}

// misspeak ends the stream, as its answer cannot be understood.
func (n *lane) misspeak(why string) {
	n.fault = why
	n.fail(h2.ProtocolError)
}

// quit is told that the server has ended the stream, or is gone. What came before is still read.
func (n *lane) quit(code h2.Code) {
	if n.gone {
		return
	}
	n.gone = true
	n.refused = !n.headed && (n.id == 0 || code == h2.RefusedStream)
	n.news()
}

// close gives back what the lane holds, and tells the server where that still works for it.
func (n *lane) close() {
	l, t := n.link, n.trunk
	if !l.open {
		return
	}
	l.open, l.client = false, nil
	l.w.wheel.forget(&l.timer)
	l.in.drop(l.w)
	l.dropOut()
	n.drop()
	switch {
	case n.id == 0 || t.over:
	case n.gone || (n.ended && n.said):
		delete(t.streams, n.id)
	case n.said && n.headed && n.left == 0: // its end is on its way, and until then the server counts it
		t.ending++
	default:
		delete(t.streams, n.id)
		t.reset(n.id, h2.Cancel)
		if !n.raw { // through a tunnel nothing need come
			t.doubt(n.asked)
		}
	}
	t.leave(n)
}
