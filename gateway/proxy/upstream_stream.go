// One request over HTTP/2 to a server. It replaces the socket below an upstreamConn: fill, push and
// flush work on the frames of its stream.

package proxy

import (
	"time"

	"faceoff/gateway/h2"
	"faceoff/gateway/wire"
)

// upstreamStream is one request over an upstreamH2. It takes the place of a socket.
type upstreamStream struct {
	h2Stream
	h2           *upstreamH2
	upstreamConn *upstreamConn
	at           int           // index in upstreamH2.active
	body         wire.Reader   // parses the request's framing
	contentLeft  int           // bytes of a body that come next
	sentAt       time.Duration // when the request was sent, by the worker's clock
	bodiless     bool          // the response has no body
	accept       string        // Sec-WebSocket-Accept for the client, of a WebSocket request
	headRead     bool          // the head of the final response has arrived
	over         bool          // the stream has ended, for whatever reason
	refused      bool          // the server did not process the request
	fault        string        // why the response is invalid
}

// schedule lets the worker run the request.
func (st *upstreamStream) schedule() {
	switch uc := st.upstreamConn; {
	case uc.client != nil:
		uc.w.schedule(&uc.client.conn)
	case uc.mirror != nil:
		st.h2.readyMirrors = append(st.h2.readyMirrors, uc)
	case !uc.open && (st.ended || st.over) && st.h2.streams[st.id] == &st.h2Stream:
		delete(st.h2.streams, st.id)
		st.h2.ending--
	}
}

// fill does for a stream what conn.fill does for a socket.
func (st *upstreamStream) fill(in *intake) state {
	state := st.h2Stream.fill(in)
	if st.ended && !st.headRead && !st.over {
		st.failMalformed("it ended without a response")
	}
	if st.over {
		st.upstreamConn.readable = true // so that the end is read after the received bytes
		if state == later {
			return broken
		}
	}
	return state
}

// push sends what the windows allow of a request in the form of HTTP/1.1, and returns the rest.
func (st *upstreamStream) push(text []byte) []byte {
	if st.over {
		return text
	}
	if st.id == 0 {
		text = st.begin(text)
	}
	for len(text) > 0 {
		if st.contentLeft == 0 {
			content, taken, trailers, err := st.body.Next(text)
			if err != nil || taken == 0 { // impossible: the gateway wrote it
				st.fail(h2.InternalError)
				return nil
			}
			text, st.contentLeft = text[taken-len(content):], len(content)
			if trailers != nil {
				st.h2Stream.sendEnd(trailers)
				return nil
			}
			continue
		}
		rest := st.sendData(text[:st.contentLeft], st.body.Done())
		text, st.contentLeft = text[st.contentLeft-len(rest):], len(rest)
		if len(rest) > 0 {
			return text
		}
	}
	return nil
}

// begin opens the stream with the request's head, and returns what follows it.
func (st *upstreamStream) begin(text []byte) []byte {
	h := st.h2
	st.id, st.sendWindow, st.sentAt = h.next, h.initialWindow, st.upstreamConn.w.wheel.now
	h.next += 2
	h.streams[st.id] = &st.h2Stream
	h.h2Conn.queueWrite()
	var sent h2.SentRequest
	connects := h.extendedConnect && st.upstreamConn.client != nil &&
		len(st.upstreamConn.client.upgrade) > 0
	h.frames, sent = h.writer.AppendRequest(h.frames, st.id, text, h.upstreamConn.secure != nil,
		h.resetTable, connects)
	h.resetTable = false
	if sent.Key != "" {
		st.accept = acceptOf(sent.Key)
	}
	st.body.Start(sent.Body)
	st.endSent, st.bodiless = st.body.Done(), sent.Bare
	return text[sent.Taken:]
}

// flush does for a stream what conn.flush does for a socket.
func (st *upstreamStream) flush() state {
	uc := st.upstreamConn
	switch {
	case uc.out == nil:
		return fine
	case st.over:
		return broken
	}
	rest := st.push(uc.out[uc.sent:])
	uc.sent = len(uc.out) - len(rest)
	if len(rest) > 0 {
		return later
	}
	uc.dropOut()
	return fine
}

// fail ends the stream because of the server's error.
func (st *upstreamStream) fail(code h2.Code) {
	if st.over {
		return
	}
	st.h2.reset(st.id, code)
	st.over = true
	if st.fault == "" {
		st.fault = "the stream violates the protocol"
	}
	st.notify()
}

// failMalformed ends the stream because its response is invalid.
func (st *upstreamStream) failMalformed(why string) {
	st.fault = why
	st.fail(h2.ProtocolError)
}

// peerReset is called when the server has reset the stream or is gone. What it sent before is still
// read.
func (st *upstreamStream) peerReset(code h2.Code) {
	if st.over {
		return
	}
	st.over = true
	st.refused = !st.headRead && (st.id == 0 || code == h2.RefusedStream)
	st.notify()
}

// close releases what the stream holds, and resets it if the server must know.
func (st *upstreamStream) close() {
	uc, h := st.upstreamConn, st.h2
	if !uc.open {
		return
	}
	uc.open, uc.client = false, nil
	uc.w.wheel.forget(&uc.timer)
	uc.in.drop(uc.w)
	uc.dropOut()
	st.discard()
	switch {
	case st.id == 0 || h.closed:
	case st.over || (st.ended && st.endSent):
		delete(h.streams, st.id)
	// Its end is on its way; until then the server counts it.
	case st.endSent && st.headRead && st.remaining == 0:
		h.ending++
	default:
		delete(h.streams, st.id)
		h.reset(st.id, h2.Cancel)
		if !st.raw { // a tunnel may be silent
			h.drainIfSilent(st.sentAt)
		}
	}
	h.removeStream(st)
}
