package proxy

import (
	"errors"
	"time"

	"faceoff/systems/gateway/h2"
)

// session is what a client has whose connection carries HTTP/2. Each request on it is a client of its own, whose bytes
// come from and go to frames instead of a socket.
type session struct {
	client   *client // the connection
	reader   *h2.Reader
	answer   h2.Answer
	streams  map[uint32]*client
	last     uint32 // the highest stream that was served
	highest  uint32 // the highest that was opened
	greeted  bool   // the preface was read
	agreed   bool   // the client's first settings as well
	leaving  bool   // no further stream is served
	over     bool
	forget   bool // the client wants to hear that no table is kept
	blocked  []*client
	frames   []byte // to be sent before the worker sleeps
	listed   bool   // among the worker's sessions that have any
	held     bool   // nothing is read, as too much is to be sent
	window   int64  // bytes of bodies that may be sent
	initial  int64  // the same, of a stream that begins
	room     int64  // bytes of bodies that the client may send
	owed     int64  // bytes that it may send in addition, which it was not told yet
	trouble  int    // what a client does rarely, within a second
	counted  time.Duration
	block    []byte // fields whose end has not come yet
	blockOf  uint32 // the stream that they are of; zero for none
	blockEnd bool   // it ends with them
	pieces   int    // that they came in
}

const (
	// sessionRoom is how much of bodies a client may send over a connection before any of it is on its way to upstreams.
	// Each of its streams has h2.Window, and as much on its way.
	sessionRoom = 4 * h2.Window

	// mostFrames is how much may wait to be sent before nothing more is read, from the client or for it.
	mostFrames = 64 << 10

	// mostTrouble is how many requests a second a client may take back, and how often it may say what nothing follows from:
	// each costs work, and it pays nothing.
	mostTrouble = 200

	// mostPieces is how many frames a head may come in.
	mostPieces = 16
)

// frame goes on in HTTP/2 over a connection.
func (c *client) frame() {
	settings := &c.w.server.settings
	s := &session{
		client: c, reader: h2.NewReader(settings.MaxHead), streams: map[uint32]*client{},
		window: h2.Window, initial: h2.Window, room: sessionRoom,
	}
	c.session, c.phase, c.fresh = s, framed, false
	c.w.metrics.sessions.Add(1)
	s.begin()
	s.frames = h2.AppendSettings(s.frames,
		h2.Setting{ID: h2.MaxConcurrentStreams, Value: uint32(settings.Streams)}, h2.Setting{ID: h2.MaxHeaderListSize, Value: uint32(settings.MaxHead)})
	s.frames = h2.AppendWindow(s.frames, 0, sessionRoom-h2.Window)
	c.w.later(c)
}

// begin makes a place for frames, which are sent before the worker sleeps.
func (s *session) begin() {
	if s.frames == nil {
		s.frames = s.client.w.buffers.take(readSize)
	}
	if !s.listed {
		s.listed = true
		s.client.w.sessions = append(s.client.w.sessions, s)
	}
}

// full reports whether nothing more should be written now.
func (s *session) full() bool { return s.client.pending() || len(s.frames) >= mostFrames }

// writeSessions sends what the event has left.
func (w *worker) writeSessions() {
	for i := 0; i < len(w.sessions); i++ {
		s := w.sessions[i]
		s.listed = false
		if s.client.open {
			s.write()
		}
	}
	clear(w.sessions)
	w.sessions = w.sessions[:0]
}

func (s *session) write() {
	c := s.client
	if c.phase == framed && !c.pending() && len(s.frames) > 0 {
		frames := s.frames
		s.frames = nil
		c.moved += int64(len(frames))
		state := c.send(frames)
		c.w.buffers.give(frames)
		if state == broken {
			c.close()
			return
		}
	}
	if c.phase != framed {
		return
	}
	if !c.pending() {
		s.resume()
		if s.held {
			s.held = false
			c.w.later(c)
		}
		if s.leaving && len(s.streams) == 0 {
			c.goodbye()
			return
		}
	}
	s.limit()
}

// resume has those streams looked at that could not send.
func (s *session) resume() {
	if s.full() || s.window <= 0 {
		return
	}
	for _, c := range s.blocked {
		c.stream.blocked = false
		if c.open {
			c.w.later(c)
		}
	}
	clear(s.blocked)
	s.blocked = s.blocked[:0]
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
		c.w.metrics.stalled.Add(1)
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
	for _, c := range s.streams {
		c.stream.gone = true
		c.abandon()
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
		if s.full() {
			s.held = true
			s.begin()
			break
		}
		if turn >= turnsEach {
			w.later(c)
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

// understand takes the frames that are there.
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
	for s.client.open && s.client.phase == framed {
		f, n, err := h2.Cut(in.data)
		if err != nil || n == 0 {
			return err
		}
		in.took(n)
		if err := s.take(&f); err != nil {
			return err
		}
	}
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
