// One request over HTTP/2 from a client. It replaces the socket below a client: fill, push and
// flush work on the frames of its stream.

package proxy

import (
	"faceoff/gateway/h2"
	"faceoff/gateway/openapi"
	"faceoff/gateway/wire"
)

// clientStream is one request of a clientH2. It takes the place of a socket.
type clientStream struct {
	h2Stream
	session  *clientH2
	client   *client
	ending   bool // the bytes being sent are the last of the response
	gone     bool // the client has reset it
	code     h2.Code
	key      string // Sec-WebSocket-Key for the server, of a WebSocket request
	trailers []byte // of the response, as lines
	sent     int64  // position in the connection's output after this stream's last bytes
}

// open starts a request.
func (s *clientH2) open(id uint32, head *h2.Head, end bool) {
	of, w := s.client, s.client.w
	c := &client{
		peer:    of.peer,
		from:    of.peer,
		address: of.address,
		scheme:  of.scheme,
		trusted: of.trusted,
	}
	c.w, c.fd, c.open, c.writable, c.handler, c.timer.owner = w, -1, true, true, c, c
	st := &clientStream{session: s, client: c, code: h2.InternalError}
	st.h2Stream = h2Stream{
		h2Conn:     &s.h2Conn,
		conn:       &c.conn,
		owner:      st,
		id:         id,
		ended:      end,
		sendWindow: s.initialWindow,
		recvWindow: h2.Window,
		remaining:  head.Length,
	}
	c.stream, c.overH2 = st, st
	s.streams[id] = &st.h2Stream
	s.updateTimer()
	if head.Large {
		c.rejectRequest(&wire.Refusal{Status: 431, Reason: "the head of the request is too long"})
		return
	}
	c.in.data = head.Text
	if head.Tunnel {
		st.raw, st.key, c.readable = true, newKey(), end
		c.in.data = withKey(head.Text, st.key)
	}
	if c.readRequests(); c.open && c.phase == reading {
		st.fail(h2.InternalError) // impossible: a complete head is always parsed
	}
}

// schedule lets the worker run the client.
func (st *clientStream) schedule() {
	if st.client.open {
		st.client.w.schedule(&st.client.conn)
	}
}

// push sends what the windows allow of a response's body, and returns the rest.
func (st *clientStream) push(bytes []byte) []byte {
	rest := st.sendData(bytes, st.ending)
	if s := st.session; len(rest) < len(bytes) || st.sent == 0 {
		st.sent = s.client.bytesMoved + int64(len(s.frames))
	}
	return rest
}

// flush does for a stream what conn.flush does for a socket.
func (st *clientStream) flush() state {
	c := st.client
	if c.out == nil {
		if st.session.sendPaused() && !st.endSent {
			st.block()
			return later
		}
		return fine
	}
	rest := st.push(c.out[c.sent:])
	c.sent = len(c.out) - len(rest)
	if len(rest) > 0 {
		return later
	}
	c.dropOut()
	return fine
}

// sendHead sends the head of a response. last means that no body follows.
func (st *clientStream) sendHead(r *wire.Response, o *wire.Inbound, last bool) {
	s := st.session
	s.queueWrite()
	s.frames = s.writer.AppendResponse(s.frames, st.id, r, o, s.resetTable, last)
	s.resetTable, st.endSent = false, last
}

// sendContinue asks the client to send its body.
func (st *clientStream) sendContinue() {
	s, a := st.session, &st.session.writer
	s.queueWrite()
	a.Begin(s.frames, 100, s.resetTable)
	s.frames = a.End(st.id, false)
	s.resetTable = false
}

// sendErrorHead sends the head of an error response, and returns its body.
func (st *clientStream) sendErrorHead(
	to []byte,
	status int,
	message string,
	p *openapi.Problem,
	head bool,
	o *wire.Inbound,
) []byte {
	s, a := st.session, &st.session.writer
	kind, body := "application/json", appendErrorBody(to, message)
	if p != nil {
		kind, body = problemKind, append(to, p.Body()...)
	}
	head = head || bodiless(status)
	var digits [20]byte
	s.queueWrite()
	a.Begin(s.frames, status, s.resetTable)
	a.Field([]byte("date"), o.Date)
	if !bodiless(status) {
		a.Field([]byte("content-type"), []byte(kind))
		a.Field([]byte("content-length"), wire.AppendDecimal(digits[:0], int64(len(body))))
	}
	switch status {
	case 401:
		a.Field([]byte("www-authenticate"), []byte("Bearer"))
	case 429, 503:
		a.Field([]byte("retry-after"), []byte("1"))
	}
	if p != nil && p.Allow != "" {
		a.Field([]byte("allow"), []byte(p.Allow))
	}
	a.Lines(o.Lines)
	s.frames = a.End(st.id, head)
	s.resetTable, st.endSent, st.ending = false, head, true
	if head {
		return to
	}
	return body
}

// finish ends a response that is sent, and the stream with it.
func (st *clientStream) finish() {
	if !st.endSent {
		st.h2Stream.sendEnd(st.trailers)
	}
	st.client.close()
}

// fail ends a stream because of a client's error.
func (st *clientStream) fail(code h2.Code) {
	st.code = code
	st.client.w.metrics.refused.Add(1)
	st.client.close()
}

// peerReset gives up a request whose stream the client has reset.
func (st *clientStream) peerReset(h2.Code) {
	st.gone = true
	st.client.abandon()
}

// close releases what the stream holds, and resets it if the client does not know that it is over.
func (st *clientStream) close() {
	c, s := st.client, st.session
	c.open = false
	c.w.wheel.forget(&c.timer)
	c.in.drop(c.w)
	c.dropOut()
	st.discard()
	delete(s.streams, st.id)
	if !st.ended {
		s.noteCut(st.id)
	}
	switch {
	case st.gone:
	case !st.endSent:
		s.reset(st.id, st.code)
	case !st.ended:
		s.reset(st.id, h2.NoError) // 8.1: the rest of the request is not needed
	}
	st.releaseConnWindow()
	if s.closed {
		return
	}
	if c.w.stopping || c.w.server.crowded.Load() {
		s.drain()
	}
	if len(s.streams) == 0 && s.draining {
		s.queueWrite() // the connection ends there
	}
	s.updateTimer()
}
