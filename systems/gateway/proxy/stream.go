package proxy

import (
	"bytes"

	"faceoff/systems/gateway/h2"
	"faceoff/systems/gateway/wire"
)

// stream is what a client has that is one request of a session, instead of a socket.
type stream struct {
	session  *session
	client   *client
	id       uint32
	blocked  bool // among those that could not send
	ended    bool // the client has said all
	ending   bool // what is sent now is all of the answer
	said     bool // the end of the answer was sent
	gone     bool // the client has ended it
	code     h2.Code
	window   int64  // bytes that may be sent
	room     int64  // bytes that the client may send
	owed     int64  // bytes of it that were not allowed anew
	left     int64  // of a body whose length was told; negative for others
	inbox    []byte // what came of the body
	tail     []byte // the trailers after it with their empty line, where its length was not told
	trailers []byte // of the answer, as lines
}

// open begins a request.
func (s *session) open(id uint32, head *h2.Head, end bool) {
	of, w := s.client, s.client.w
	c := &client{peer: of.peer, address: of.address, scheme: of.scheme, trusted: of.trusted}
	c.w, c.fd, c.open, c.writable, c.side, c.timer.owner = w, -1, true, true, c, c
	c.stream = &stream{session: s, client: c, id: id, ended: end, code: h2.InternalError, window: s.initial, room: h2.Window, left: head.Length}
	s.streams[id] = c
	s.limit()
	if head.Large {
		c.refuse(&wire.Refusal{Status: 431, Reason: "the head of the request is too long"})
		return
	}
	c.in.data = head.Text
	if c.read(); c.open && c.phase == reading {
		c.stream.fail(h2.InternalError) // a head that is whole is read whole, so that this cannot be
	}
}

// add takes more of the body.
func (st *stream) add(content []byte) {
	c := st.client
	if len(content) == 0 {
		return
	}
	if st.inbox == nil {
		st.inbox = c.w.buffers.take(len(content))
	}
	st.inbox = append(st.inbox, content...)
	if st.left >= 0 {
		st.left -= int64(len(content))
	}
	st.news()
}

// finishBody ends the body, by trailers with the empty line after them.
func (st *stream) finishBody(trailers []byte) {
	st.ended = true
	if st.left < 0 {
		st.tail = bytes.Clone(trailers)
	}
	st.news()
}

// news has the client looked at, once the connection's bytes are no longer in use.
func (st *stream) news() {
	st.client.readable = true
	st.client.w.later(st.client)
}

// fill is that of a connection. What came is given on as HTTP/1.1 has it.
func (st *stream) fill(in *intake) state {
	c := st.client
	c.readable = false
	if len(st.inbox) == 0 && st.tail == nil {
		return later
	}
	fresh := st.inbox
	if st.left < 0 { // all as one chunk: in its frames, it could come byte by byte
		fresh = wire.AppendChunk(c.w.buffers.take(len(st.inbox)+wire.ChunkOverhead+len(st.tail)+3), st.inbox)
		if st.tail != nil {
			fresh = append(append(fresh, "0\r\n"...), st.tail...)
		}
		c.w.buffers.give(st.inbox)
	}
	st.inbox, st.tail = nil, nil
	if len(in.data) == 0 {
		in.drop(c.w)
	} else {
		both := append(append(c.w.buffers.take(len(in.data)+len(fresh)), in.data...), fresh...)
		c.w.buffers.give(in.own)
		c.w.buffers.give(fresh)
		fresh = both
	}
	in.data, in.own = fresh, fresh
	if s := st.session; st.owed >= h2.Window/2 && !st.ended {
		s.begin()
		s.frames = h2.AppendWindow(s.frames, st.id, uint32(st.owed))
		s.credit(st.owed)
		st.room += st.owed
		st.owed = 0
	}
	return fine
}

// push sends what may be sent of an answer's body, and returns the rest.
func (st *stream) push(bytes []byte) []byte {
	s := st.session
	for len(bytes) > 0 {
		n := min(int64(len(bytes)), st.window, s.window, h2.MaxFrame)
		if n <= 0 || s.full() {
			st.block()
			return bytes
		}
		flags := uint8(0)
		if st.ending && n == int64(len(bytes)) {
			flags, st.said = h2.EndStream, true
		}
		s.begin()
		s.frames = append(h2.AppendFrame(s.frames, int(n), h2.Data, flags, st.id), bytes[:n]...)
		st.window -= n
		s.window -= n
		bytes = bytes[n:]
	}
	return nil
}

// block has the stream wait until it may send.
func (st *stream) block() {
	if !st.blocked {
		st.blocked = true
		st.session.blocked = append(st.session.blocked, st.client)
	}
	if s := st.session; s.full() {
		s.begin()
	}
}

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
	s.frames = s.answer.AppendAnswer(s.frames, st.id, r, o, s.forget, last)
	s.forget, st.said = false, last
}

// error sends the head of an answer in the gateway's own name, and returns its body.
func (st *stream) error(to []byte, status int, message string, head bool, o *wire.Inbound) []byte {
	s, a := st.session, &st.session.answer
	body := appendErrorBody(to, message)
	head = head || bare(status)
	var digits [20]byte
	s.begin()
	a.Begin(s.frames, status, s.forget)
	a.Field([]byte("date"), o.Date)
	if !bare(status) {
		a.Field([]byte("content-type"), []byte("application/json"))
		a.Field([]byte("content-length"), wire.AppendDecimal(digits[:0], int64(len(body))))
	}
	switch status {
	case 401:
		a.Field([]byte("www-authenticate"), []byte("Bearer"))
	case 429, 503:
		a.Field([]byte("retry-after"), []byte("1"))
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
	s := st.session
	if !st.said {
		st.said = true
		s.begin()
		if len(st.trailers) > 2 {
			s.frames = s.answer.AppendTrailers(s.frames, st.id, st.trailers)
		} else {
			s.frames = h2.AppendFrame(s.frames, 0, h2.Data, h2.EndStream, st.id)
		}
	}
	st.client.close()
}

// fail ends a stream for what the client did.
func (st *stream) fail(code h2.Code) {
	st.code = code
	st.client.w.metrics.refused.Add(1)
	st.client.close()
}

// close gives back what the stream holds, and tells the client where that does not know it is over.
func (st *stream) close() {
	c, s := st.client, st.session
	c.open = false
	c.w.wheel.forget(&c.timer)
	c.in.drop(c.w)
	c.dropOut()
	c.w.buffers.give(st.inbox)
	st.inbox = nil
	delete(s.streams, st.id)
	switch {
	case st.gone:
	case !st.said:
		s.reset(st.id, st.code)
	case !st.ended:
		s.reset(st.id, h2.NoError) // 8.1: the rest of the request is not needed
	}
	s.credit(st.owed)
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
