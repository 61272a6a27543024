// HTTP/2 from clients. h2_conn.go handles frames and flow control for both sides; this file has
// what only a server does. Each stream is a client of its own (client_stream.go), so that slots,
// timeouts and routes work as over HTTP/1.1.

package proxy

import (
	"errors"
	"slices"

	"faceoff/gateway/h2"
)

// clientH2 is the HTTP/2 state of a client's connection. Each request on it is a client of its own,
// whose bytes travel in frames instead of over a socket.
type clientH2 struct {
	h2Conn
	client      *client // of the connection
	last        uint32  // the highest stream that was served
	highest     uint32  // the highest stream that was opened
	prefaceDone bool    // the preface was read
	draining    bool    // no further stream is served
	// streams that ended before the client had sent everything; more of it may arrive
	cutStreams []uint32
	skipped    []streamRange // streams below the highest that were never opened
}

// streamRange is a range of streams, both ends included.
type streamRange struct{ from, to uint32 }

const (
	// maxCut is how many streams that ended early are remembered. Only a client that breaks the
	// rules can exceed it.
	maxCut = 256

	// maxSkipped is how many ranges of skipped streams are remembered. Well-behaved clients skip
	// none.
	maxSkipped = 16
)

// noteCut remembers a stream on which more may arrive although it is over.
func (s *clientH2) noteCut(stream uint32) {
	if len(s.cutStreams) >= maxCut {
		s.cutStreams = s.cutStreams[:copy(s.cutStreams, s.cutStreams[maxCut/2:])]
	}
	s.cutStreams = append(s.cutStreams, stream)
}

// noteOpened records that a stream was opened, which closes lower ones that never were (RFC 9113,
// 5.1.1).
func (s *clientH2) noteOpened(stream uint32) {
	if next := s.highest + 1 + s.highest%2; stream > next {
		if len(s.skipped) >= maxSkipped {
			s.skipped = s.skipped[:copy(s.skipped, s.skipped[1:])]
		}
		s.skipped = append(s.skipped, streamRange{next, stream - 2})
	}
	s.highest = stream
}

// headersFault returns the error for HEADERS on a stream that is closed, or that was never opened
// and no longer can be (RFC 9113, 5.1). It is nil if the client may have sent them before it knew
// that the stream is over.
func (s *clientH2) headersFault(stream uint32) error {
	if slices.Contains(s.cutStreams, stream) {
		return nil
	}
	for _, row := range s.skipped {
		if row.from <= stream && stream <= row.to {
			return protocol("a stream below others that were opened")
		}
	}
	return &h2.Fault{Code: h2.StreamClosed, Reason: "HEADERS on a closed stream"}
}

// maxClientNoOps is how many frames without effect, such as resets, a client may send per second.
// Each costs the gateway work and the client nothing.
const maxClientNoOps = 200

// startH2 switches a connection to HTTP/2.
func (c *client) startH2() {
	settings := &c.w.server.settings
	s := &clientH2{client: c}
	s.h2Conn = h2Conn{
		conn:          &c.conn,
		role:          s,
		reader:        h2.NewReader(settings.MaxHead),
		streams:       map[uint32]*h2Stream{},
		maxNoOps:      maxClientNoOps,
		sendWindow:    h2.Window,
		initialWindow: h2.Window,
		recvWindow:    sessionRoom,
	}
	c.session, c.phase, c.fresh = s, speakingH2, false
	c.w.metrics.sessions.Add(1)
	s.queueWrite()
	s.frames = h2.AppendSettings(s.frames,
		h2.Setting{ID: h2.MaxConcurrentStreams, Value: uint32(settings.Streams)},
		h2.Setting{ID: h2.MaxHeaderListSize, Value: uint32(settings.MaxHead)},
		h2.Setting{ID: h2.EnableConnect, Value: 1})
	s.frames = h2.AppendWindow(s.frames, 0, sessionRoom-h2.Window)
	c.w.schedule(&c.conn)
}

func (s *clientH2) writeQueued() {
	c := s.client
	if c.phase != speakingH2 {
		return
	}
	if !c.pending() {
		c.bytesMoved += int64(len(s.frames))
	}
	if s.writeFrames() == broken {
		c.close()
		return
	}
	// even if the client reads nothing now: it may be waiting for the gateway to read
	if s.readsPaused && !s.queueFull() {
		s.readsPaused = false
		c.w.schedule(&c.conn)
	}
	if !c.pending() {
		s.resumeBlocked()
		if s.draining && len(s.streams) == 0 {
			c.closeGracefully()
			return
		}
	}
	s.updateTimer()
}

// updateTimer sets the timeout of the connection itself: while the client must read, or while there
// is no request.
func (s *clientH2) updateTimer() {
	c := s.client
	switch {
	case !c.open || c.phase != speakingH2:
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
		c.becomeIdle(c.w.server.settings.IdleTimeout)
	}
}

func (s *clientH2) expired() {
	c := s.client
	switch {
	case !c.pending():
		s.drain()
	case c.keepsPace():
		c.w.wheel.start(&c.timer, c.w.server.settings.Stall)
	default:
		c.w.metrics.slow.Add(1)
		c.close()
	}
}

// drain tells the client that no further request is served. The connection ends after the current
// ones.
func (s *clientH2) drain() {
	if s.draining || s.closed {
		return
	}
	s.draining = true
	s.queueWrite()
	s.frames = h2.AppendGoAway(s.frames, s.last, h2.NoError)
}

// end gives up all requests because the connection is gone.
func (s *clientH2) end() {
	if s.closed {
		return
	}
	s.closed = true
	for _, st := range s.streams {
		st.owner.peerReset(h2.Cancel)
	}
	s.client.w.buffers.put(s.frames)
	s.frames, s.block = nil, nil
}

// ready handles an event on the connection.
func (s *clientH2) ready() {
	c := s.client
	if c.flush() == broken {
		c.close()
		return
	}
	if !c.pending() {
		if len(s.frames) > 0 || s.draining {
			s.queueWrite()
		}
		s.resumeBlocked()
	}
	s.readAvailable()
	s.updateTimer()
}

// readAvailable reads frames, for a bounded number of reads.
func (s *clientH2) readAvailable() {
	c, w := s.client, s.client.w
	for turn := 0; ; turn++ {
		if err := s.readFrames(); err != nil {
			s.fail(err)
		}
		if !c.open || c.phase != speakingH2 {
			return
		}
		if s.queueFull() {
			s.readsPaused = true
			s.queueWrite()
			break
		}
		if turn >= readsPerTurn {
			w.schedule(&c.conn)
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

// fail reports a protocol error to the client and ends the connection.
func (s *clientH2) fail(err error) {
	fault, ok := errors.AsType[*h2.Fault](err)
	if !ok {
		fault = &h2.Fault{Code: h2.InternalError}
	}
	c := s.client
	c.w.metrics.refused.Add(1)
	s.queueWrite()
	farewell := h2.AppendGoAway(s.frames, s.last, fault.Code)
	s.frames = nil
	s.end()
	if c.pending() || c.send(farewell) != fine {
		c.close()
		return
	}
	c.w.buffers.put(farewell)
	c.closeGracefully()
}

// readFrames handles the frames that have arrived, after the preface.
func (s *clientH2) readFrames() error {
	in := &s.client.in
	if !s.prefaceDone {
		switch isPreface(in.data) {
		case undecided:
			return nil
		case no:
			return &h2.Fault{Code: h2.ProtocolError, Reason: "the connection preface is invalid"}
		}
		in.consume(len(h2.Preface))
		s.prefaceDone = true
	}
	return s.h2Conn.readFrames()
}

// neverOpened reports whether a stream was never opened.
func (s *clientH2) neverOpened(stream uint32) bool { return stream > s.highest || stream%2 == 0 }

// dataAfterEnd answers data on a stream that is over. The client may have sent it before it knew.
func (s *clientH2) dataAfterEnd(stream uint32) error {
	s.reset(stream, h2.StreamClosed)
	return nil
}

// goAway is called when the client will send no further request.
func (s *clientH2) goAway(uint32) { s.drain() }

// receiveHeaders handles the fields of a request, or its trailers.
func (s *clientH2) receiveHeaders(stream uint32, end bool, block []byte) error {
	st := s.streams[stream]
	fresh := st == nil && stream > s.highest
	// Every block is decoded, even if it is then ignored: HPACK state depends on it.
	head, err := s.reader.Read(block, fresh, end)
	if err != nil {
		return err
	}
	switch {
	case fresh:
		return s.openRequest(stream, end, &head)
	case st == nil:
		if err := s.headersFault(stream); err != nil {
			return err
		}
		s.reset(stream, h2.StreamClosed)
		return s.countNoOp()
	case st.ended:
		st.owner.fail(h2.StreamClosed)
		return s.countNoOp()
	case !end || head.Malformed != "" || head.Large || st.remaining > 0:
		st.owner.fail(h2.ProtocolError)
		return s.countNoOp()
	}
	st.finishBody(head.Text)
	return nil
}

// openRequest opens a stream, or refuses to serve it.
func (s *clientH2) openRequest(stream uint32, end bool, head *h2.Head) error {
	s.noteOpened(stream)
	code := h2.NoError
	switch {
	case s.draining: // the client has been sent GOAWAY
	case head.Malformed != "":
		s.client.w.metrics.refused.Add(1)
		code = h2.ProtocolError
	case len(s.streams) >= s.client.w.server.settings.Streams:
		code = h2.RefusedStream
	default:
		s.last = stream
		s.open(stream, head, end)
		return nil
	}
	if !end {
		s.noteCut(stream)
	}
	if code != h2.NoError {
		s.last = stream
		s.reset(stream, code)
	}
	return s.countNoOp()
}

// decision is yes, no, or undecided until more bytes arrive.
type decision uint8

const (
	undecided decision = iota
	yes
	no
)

// isPreface decides whether a connection begins with the HTTP/2 preface.
func isPreface(text []byte) decision {
	n := min(len(text), len(h2.Preface))
	switch {
	case string(text[:n]) != h2.Preface[:n]:
		return no
	case n < len(h2.Preface):
		return undecided
	}
	return yes
}
