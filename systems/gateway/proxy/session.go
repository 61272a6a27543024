package proxy

import (
	"encoding/binary"
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

func protocol(reason string) error { return &h2.Fault{Code: h2.ProtocolError, Reason: reason} }

func size(reason string) error { return &h2.Fault{Code: h2.FrameSizeError, Reason: reason} }

// take takes a frame (RFC 9113, 6).
func (s *session) take(f *h2.Frame) error {
	if s.blockOf != 0 && (f.Type != h2.Continuation || f.Stream != s.blockOf) {
		return protocol("another frame within the fields of a request")
	}
	if !s.agreed && f.Type != h2.Settings {
		return protocol("the first frame is not one of settings")
	}
	switch f.Type {
	case h2.Data:
		return s.takeData(f)
	case h2.Headers:
		return s.takeHeaders(f)
	case h2.Continuation:
		return s.takeContinuation(f)
	case h2.Reset:
		return s.takeReset(f)
	case h2.Settings:
		return s.takeSettings(f)
	case h2.WindowUpdate:
		return s.takeWindow(f)
	case h2.PushPromise:
		return protocol("a client promises nothing")
	case h2.Ping:
		if f.Stream != 0 {
			return protocol("PING on a stream")
		}
		if len(f.Payload) != 8 {
			return size("PING is not of 8 bytes")
		}
		if f.Flags&h2.Ack == 0 {
			s.begin()
			s.frames = append(h2.AppendFrame(s.frames, 8, h2.Ping, h2.Ack, 0), f.Payload...)
		}
	case h2.GoAway:
		if f.Stream != 0 {
			return protocol("GOAWAY on a stream")
		}
		if len(f.Payload) < 8 {
			return size("GOAWAY is not of 8 bytes")
		}
		s.leave()
	case h2.Priority:
		if f.Stream == 0 {
			return protocol("PRIORITY of the connection")
		}
		if len(f.Payload) != 5 {
			return size("PRIORITY is not of 5 bytes")
		}
	}
	return s.troubled() // nobody says what is not known, or PRIORITY, often
}

// troubled counts what a client does rarely.
func (s *session) troubled() error {
	if now := s.client.w.wheel.now; now-s.counted >= time.Second {
		s.counted, s.trouble = now, 0
	}
	if s.trouble++; s.trouble > mostTrouble {
		return &h2.Fault{Code: h2.EnhanceYourCalm, Reason: "too much that nothing follows from"}
	}
	return nil
}

// reset ends a stream that is none here.
func (s *session) reset(stream uint32, code h2.Code) {
	s.begin()
	s.frames = h2.AppendReset(s.frames, stream, code)
}

// credit lets the client send as much again, over the connection.
func (s *session) credit(n int64) {
	if s.owed += n; s.owed >= sessionRoom/2 && !s.over {
		s.begin()
		s.frames = h2.AppendWindow(s.frames, 0, uint32(s.owed))
		s.room += s.owed
		s.owed = 0
	}
}

// idle reports whether a stream was never opened.
func (s *session) idle(stream uint32) bool { return stream > s.highest || stream%2 == 0 }

func (s *session) takeHeaders(f *h2.Frame) error {
	if f.Stream%2 == 0 {
		return protocol("a stream that is none of a client's")
	}
	block, err := f.Content()
	if err != nil {
		return err
	}
	end := f.Flags&h2.EndStream != 0
	if f.Flags&h2.EndHeaders != 0 {
		return s.takeHead(f.Stream, end, block)
	}
	s.blockOf, s.blockEnd, s.pieces = f.Stream, end, 1
	s.block = append(s.block[:0], block...)
	return nil
}

func (s *session) takeContinuation(f *h2.Frame) error {
	if s.blockOf == 0 {
		return protocol("CONTINUATION of nothing")
	}
	if s.pieces++; s.pieces > mostPieces || len(s.block)+len(f.Payload) > s.client.w.server.settings.MaxHead+h2.MaxFrame {
		return &h2.Fault{Code: h2.EnhanceYourCalm, Reason: "the head of the request is too long"}
	}
	s.block = append(s.block, f.Payload...)
	if f.Flags&h2.EndHeaders == 0 {
		return nil
	}
	stream, block := s.blockOf, s.block
	s.blockOf, s.block = 0, nil
	return s.takeHead(stream, s.blockEnd, block)
}

// takeHead takes the fields of a request, or those after one.
func (s *session) takeHead(stream uint32, end bool, block []byte) error {
	c := s.streams[stream]
	fresh := c == nil && stream > s.highest
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
	case c == nil || c.stream.ended: // of one that is over; on its way, perhaps, when it was
		if c != nil {
			c.stream.fail(h2.StreamClosed)
		} else {
			s.reset(stream, h2.StreamClosed)
		}
		return s.troubled()
	case !end || head.Malformed != "" || head.Large || c.stream.left > 0:
		c.stream.fail(h2.ProtocolError)
		return s.troubled()
	}
	c.stream.finishBody(head.Text)
	return nil
}

func (s *session) takeData(f *h2.Frame) error {
	content, err := f.Content()
	if err != nil {
		return err
	}
	n, end := int64(len(f.Payload)), f.Flags&h2.EndStream != 0
	if s.idle(f.Stream) {
		return protocol("DATA on a stream that was not opened")
	}
	if s.room -= n; s.room < 0 {
		return &h2.Fault{Code: h2.FlowControlError, Reason: "more was sent than the connection allows"}
	}
	c := s.streams[f.Stream]
	if c == nil { // of one that is over; on its way, perhaps, when it was
		s.credit(n)
		s.reset(f.Stream, h2.StreamClosed)
		return nil
	}
	st := c.stream
	st.owed += n
	if st.room -= n; st.room < 0 {
		return &h2.Fault{Code: h2.FlowControlError, Reason: "more was sent than the stream allows"}
	}
	switch {
	case st.ended:
		st.fail(h2.StreamClosed)
		return s.troubled()
	case st.left >= 0 && (int64(len(content)) > st.left || (end && int64(len(content)) < st.left)):
		st.fail(h2.ProtocolError) // 8.1.1
		return s.troubled()
	}
	st.add(content)
	if end {
		st.finishBody([]byte("\r\n"))
	}
	if len(content) == 0 && !end {
		return s.troubled()
	}
	return nil
}

func (s *session) takeReset(f *h2.Frame) error {
	if s.idle(f.Stream) {
		return protocol("RST_STREAM of a stream that was not opened")
	}
	if len(f.Payload) != 4 {
		return size("RST_STREAM is not of 4 bytes")
	}
	if c := s.streams[f.Stream]; c != nil {
		c.stream.gone = true
		c.abandon()
	}
	return s.troubled()
}

func (s *session) takeSettings(f *h2.Frame) error {
	switch {
	case f.Stream != 0:
		return protocol("SETTINGS on a stream")
	case f.Flags&h2.Ack != 0 && len(f.Payload) > 0, len(f.Payload)%6 != 0:
		return size("SETTINGS are not of 6 bytes each")
	case f.Flags&h2.Ack != 0:
		return s.troubled()
	}
	for p := f.Payload; len(p) > 0; p = p[6:] {
		value := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case h2.HeaderTableSize:
			s.forget = s.forget || value < h2.TableSize
		case h2.EnablePush:
			if value > 1 {
				return protocol("ENABLE_PUSH is neither 0 nor 1")
			}
		case h2.InitialWindowSize:
			if value > h2.MaxWindow {
				return &h2.Fault{Code: h2.FlowControlError, Reason: "a window that is too large"}
			}
			more := int64(value) - s.initial
			s.initial = int64(value)
			for _, c := range s.streams {
				if c.stream.window += more; c.stream.window > h2.MaxWindow {
					return &h2.Fault{Code: h2.FlowControlError, Reason: "a window that is too large"}
				}
			}
			s.resume()
		case h2.MaxFrameSize:
			if value < h2.MaxFrame || value >= 1<<24 {
				return protocol("MAX_FRAME_SIZE is out of bounds")
			}
		}
	}
	s.agreed = true
	s.begin()
	s.frames = h2.AppendFrame(s.frames, 0, h2.Settings, h2.Ack, 0)
	return s.troubled()
}

func (s *session) takeWindow(f *h2.Frame) error {
	if len(f.Payload) != 4 {
		return size("WINDOW_UPDATE is not of 4 bytes")
	}
	more := int64(binary.BigEndian.Uint32(f.Payload) & h2.MaxWindow)
	if f.Stream == 0 {
		if s.window += more; more == 0 || s.window > h2.MaxWindow {
			return windowFault(more)
		}
		s.resume()
		return nil
	}
	if s.idle(f.Stream) {
		return protocol("WINDOW_UPDATE of a stream that was not opened")
	}
	c := s.streams[f.Stream]
	if c == nil {
		return nil
	}
	st := c.stream
	if st.window += more; more == 0 || st.window > h2.MaxWindow {
		st.fail(windowFault(more).Code)
		return s.troubled()
	}
	if st.blocked {
		c.w.later(c)
	}
	return nil
}

func windowFault(more int64) *h2.Fault {
	if more == 0 {
		return &h2.Fault{Code: h2.ProtocolError, Reason: "a window grows by nothing"}
	}
	return &h2.Fault{Code: h2.FlowControlError, Reason: "a window that is too large"}
}
