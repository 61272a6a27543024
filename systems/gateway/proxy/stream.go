package proxy

import (
	"faceoff/systems/gateway/h2"
	"faceoff/systems/gateway/openapi"
	"faceoff/systems/gateway/wire"
)

// stream is what a client has that is one request of a session, instead of a socket.
type stream struct {
	flow
	session  *session
	client   *client
	ending   bool // what is sent now is all of the answer
	gone     bool // the client has ended it
	code     h2.Code
	key      string // of a request for WebSocket, for its server
	trailers []byte // of the answer, as lines
}

// open begins a request.
func (s *session) open(id uint32, head *h2.Head, end bool) {
	of, w := s.client, s.client.w
	c := &client{peer: of.peer, address: of.address, scheme: of.scheme, trusted: of.trusted}
	c.w, c.fd, c.open, c.writable, c.side, c.timer.owner = w, -1, true, true, c, c
	st := &stream{session: s, client: c, code: h2.InternalError}
	st.flow = flow{framing: &s.framing, conn: &c.conn, end: st, id: id, ended: end, window: s.initial, room: h2.Window, left: head.Length}
	c.stream, c.carried = st, st
	s.streams[id] = &st.flow
	s.limit()
	if head.Large {
		c.refuse(&wire.Refusal{Status: 431, Reason: "the head of the request is too long"})
		return
	}
	c.in.data = head.Text
	if head.Tunnel {
		st.raw, st.key, c.readable = true, newKey(), end
		c.in.data = withKey(head.Text, st.key)
	}
	if c.read(); c.open && c.phase == reading {
		st.fail(h2.InternalError) // a head that is whole is read whole, so that this cannot be
	}
}

// look has the client looked at.
func (st *stream) look() {
	if st.client.open {
		st.client.w.later(&st.client.conn)
	}
}

// push sends what may be sent of an answer's body, and returns the rest.
func (st *stream) push(bytes []byte) []byte { return st.give(bytes, st.ending) }

// flush is that of a connection.
func (st *stream) flush() state {
	c := st.client
	if c.out == nil {
		if st.session.full() && !st.said {
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

// head sends the head of an answer. last tells that there is no body.
func (st *stream) head(r *wire.Response, o *wire.Inbound, last bool) {
	s := st.session
	s.begin()
	s.frames = s.writer.AppendAnswer(s.frames, st.id, r, o, s.forget, last)
	s.forget, st.said = false, last
}

// goOn lets the client send its body.
func (st *stream) goOn() {
	s, a := st.session, &st.session.writer
	s.begin()
	a.Begin(s.frames, 100, s.forget)
	s.frames = a.End(st.id, false)
	s.forget = false
}

// error sends the head of an answer in the gateway's own name, with a problem where there is one, and returns its body.
func (st *stream) error(to []byte, status int, message string, p *openapi.Problem, head bool, o *wire.Inbound) []byte {
	s, a := st.session, &st.session.writer
	kind, body := "application/json", appendErrorBody(to, message)
	if p != nil {
		kind, body = problemKind, append(to, p.Body()...)
	}
	head = head || bare(status)
	var digits [20]byte
	s.begin()
	a.Begin(s.frames, status, s.forget)
	a.Field([]byte("date"), o.Date)
	if !bare(status) {
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
	s.forget, st.said, st.ending = false, head, true
	if head {
		return to
	}
	return body
}

// finish ends an answer that is sent, and the stream with it.
func (st *stream) finish() {
	if !st.said {
		st.flow.finish(st.trailers)
	}
	st.client.close()
}

// fail ends a stream for what the client did.
func (st *stream) fail(code h2.Code) {
	st.code = code
	st.client.w.metrics.refused.Add(1)
	st.client.close()
}

// quit gives the request up, as the client has ended the stream.
func (st *stream) quit(h2.Code) {
	st.gone = true
	st.client.abandon()
}

// close gives back what the stream holds, and tells the client where that does not know it is over.
func (st *stream) close() {
	c, s := st.client, st.session
	c.open = false
	c.w.wheel.forget(&c.timer)
	c.in.drop(c.w)
	c.dropOut()
	st.drop()
	delete(s.streams, st.id)
	switch {
	case st.gone:
	case !st.said:
		s.reset(st.id, st.code)
	case !st.ended:
		s.reset(st.id, h2.NoError) // 8.1: the rest of the request is not needed
	}
	st.release()
	if s.over {
		return
	}
	if c.w.stopping || c.w.server.crowded.Load() {
		s.leave()
	}
	if len(s.streams) == 0 && s.leaving {
		s.begin() // and there the connection ends
	}
	s.limit()
}
