package proxy

import (
	"errors"

	"faceoff/systems/gateway/h2"
)

// session is what a client has whose connection carries HTTP/2. Each request on it is a client of its own, whose bytes
// come from and go to frames instead of a socket.
type session struct {
	framing
	client  *client // the connection
	last    uint32  // the highest stream that was served
	highest uint32  // the highest that was opened
	greeted bool    // the preface was read
	leaving bool    // no further stream is served
}

// mostTrouble is how many requests a second a client may take back, and how often it may say what nothing follows from: each
// costs work, and it pays nothing.
const mostTrouble = 200

// frame goes on in HTTP/2 over a connection.
func (c *client) frame() {
	settings := &c.w.server.settings
	s := &session{client: c}
	s.framing = framing{
		conn: &c.conn, party: s, reader: h2.NewReader(settings.MaxHead), streams: map[uint32]*flow{}, bearable: mostTrouble,
		window: h2.Window, initial: h2.Window, room: sessionRoom,
	}
	c.session, c.phase, c.fresh = s, framed, false
	c.w.metrics.sessions.Add(1)
	s.begin()
	s.frames = h2.AppendSettings(s.frames,
		h2.Setting{ID: h2.MaxConcurrentStreams, Value: uint32(settings.Streams)}, h2.Setting{ID: h2.MaxHeaderListSize, Value: uint32(settings.MaxHead)},
		h2.Setting{ID: h2.EnableConnect, Value: 1})
	s.frames = h2.AppendWindow(s.frames, 0, sessionRoom-h2.Window)
	c.w.later(&c.conn)
}

func (s *session) write() {
	c := s.client
	if c.phase != framed {
		return
	}
	if !c.pending() {
		c.moved += int64(len(s.frames))
	}
	if s.emit() == broken {
		c.close()
		return
	}
	if s.held && !s.clogged() { // also where the client takes nothing now: it may wait for the same
		s.held = false
		c.w.later(&c.conn)
	}
	if !c.pending() {
		s.resume()
		if s.leaving && len(s.streams) == 0 {
			c.goodbye()
			return
		}
	}
	s.limit()
}

// limit sets the time limit that is the connection's: while it is to take something, or has no request.
func (s *session) limit() {
	c := s.client
	switch {
	case !c.open || c.phase != framed:
	case c.pending():
		c.rest.remove()
		if !c.pace.watched {
			c.w.wheel.start(&c.timer, c.w.server.settings.Stall)
		}
		c.watchPace()
	case len(s.streams) > 0:
		c.pace.watched = false
		c.rest.remove()
		c.w.wheel.stop(&c.timer)
	case c.rest.next == nil:
		c.pace.watched = false
		c.becomeQuiet(c.w.server.settings.IdleTimeout)
	}
}

func (s *session) expired() {
	c := s.client
	switch {
	case !c.pending():
		s.leave()
	case c.keepsPace():
		c.w.wheel.start(&c.timer, c.w.server.settings.Stall)
	default:
		c.w.metrics.slow.Add(1)
		c.close()
	}
}

// leave lets the client know that no further request is served. The connection ends after those under way.
func (s *session) leave() {
	if s.leaving || s.over {
		return
	}
	s.leaving = true
	s.begin()
	s.frames = h2.AppendGoAway(s.frames, s.last, h2.NoError)
}

// end gives up all requests, as the connection is gone.
func (s *session) end() {
	if s.over {
		return
	}
	s.over = true
	for _, st := range s.streams {
		st.end.quit(h2.Cancel)
	}
	s.client.w.buffers.give(s.frames)
	s.frames, s.block = nil, nil
}

// ready is told by the worker that something about the connection has changed.
func (s *session) ready() {
	c := s.client
	if c.flush() == broken {
		c.close()
		return
	}
	if !c.pending() {
		if len(s.frames) > 0 || s.leaving {
			s.begin()
		}
		s.resume()
	}
	s.read()
	s.limit()
}

// read reads frames, as many as come in a few turns.
func (s *session) read() {
	c, w := s.client, s.client.w
	for turn := 0; ; turn++ {
		if err := s.understand(); err != nil {
			s.fail(err)
		}
		if !c.open || c.phase != framed {
			return
		}
		if s.clogged() {
			s.held = true
			s.begin()
			break
		}
		if turn >= turnsEach {
			w.later(&c.conn)
			break
		}
		switch c.fill(w.inScratch, readSize) {
		case later:
			c.in.keep(w)
			return
		case ended, broken:
			c.close()
			return
		}
	}
	c.in.keep(w)
}

// fail tells the client what it did wrong, and ends the connection.
func (s *session) fail(err error) {
	fault, ok := errors.AsType[*h2.Fault](err)
	if !ok {
		fault = &h2.Fault{Code: h2.InternalError}
	}
	c := s.client
	c.w.metrics.refused.Add(1)
	s.begin()
	farewell := h2.AppendGoAway(s.frames, s.last, fault.Code)
	s.frames = nil
	s.end()
	if c.pending() || c.send(farewell) != fine {
		c.close()
		return
	}
	c.w.buffers.give(farewell)
	c.goodbye()
}

// understand takes the frames that are there, and the preface before them.
func (s *session) understand() error {
	in := &s.client.in
	if !s.greeted {
		switch prior(in.data) {
		case undecided:
			return nil
		case no:
			return &h2.Fault{Code: h2.ProtocolError, Reason: "it does not begin as HTTP/2 does"}
		}
		in.took(len(h2.Preface))
		s.greeted = true
	}
	return s.framing.understand()
}

// unopened reports whether a stream was never opened.
func (s *session) unopened(stream uint32) bool { return stream > s.highest || stream%2 == 0 }

// late is told of bytes on a stream that is over: on their way, perhaps, when it was.
func (s *session) late(stream uint32) error {
	s.reset(stream, h2.StreamClosed)
	return nil
}

// farewell is told that the client asks for nothing more.
func (s *session) farewell(uint32) { s.leave() }

// takeHead takes the fields of a request, or those after one.
func (s *session) takeHead(stream uint32, end bool, block []byte) error {
	st := s.streams[stream]
	fresh := st == nil && stream > s.highest
	// All are read, whatever becomes of them, as the next ones build on them.
	head, err := s.reader.Read(block, fresh, end)
	if err != nil {
		return err
	}
	switch {
	case fresh:
		s.highest = stream
		if s.leaving {
			return s.troubled() // it was told so, and will see it
		}
		s.last = stream
		switch {
		case head.Malformed != "":
			s.client.w.metrics.refused.Add(1)
			s.reset(stream, h2.ProtocolError)
			return s.troubled()
		case len(s.streams) >= s.client.w.server.settings.Streams:
			s.reset(stream, h2.RefusedStream)
			return s.troubled()
		}
		s.open(stream, &head, end)
		return nil
	case st == nil: // of one that is over; on its way, perhaps, when it was
		s.reset(stream, h2.StreamClosed)
		return s.troubled()
	case st.ended:
		st.end.fail(h2.StreamClosed)
		return s.troubled()
	case !end || head.Malformed != "" || head.Large || st.left > 0:
		st.end.fail(h2.ProtocolError)
		return s.troubled()
	}
	st.finishBody(head.Text)
	return nil
}

// decision is the answer to a question that more bytes may be needed for.
type decision uint8

const (
	undecided decision = iota
	yes
	no
)

// prior decides whether a connection begins as HTTP/2 does.
func prior(text []byte) decision {
	n := min(len(text), len(h2.Preface))
	switch {
	case string(text[:n]) != h2.Preface[:n]:
		return no
	case n < len(h2.Preface):
		return undecided
	}
	return yes
}
