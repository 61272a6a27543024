// HTTP/2 to servers. h2_conn.go handles frames and flow control for both sides; this file has what
// only a client does: the preface, opening streams within the server's limit, and GOAWAY. Start
// reading at upstreamH2.open.

package proxy

import (
	"errors"
	"slices"
	"time"

	"faceoff/gateway/h2"
)

// upstreamH2 is the HTTP/2 state of a connection to a server. Each request on it is an upstreamConn
// of its own, whose bytes travel in frames instead of over a socket.
type upstreamH2 struct {
	h2Conn
	upstreamConn    *upstreamConn // of the connection
	active          []*upstreamStream
	ending          int    // streams that are over here, but not at the server
	next            uint32 // the next stream to open
	prefaceDone     bool   // the preface was sent
	acceptsRequests bool   // the server's settings have arrived
	draining        bool   // it takes no further request
	registered      bool   // listed in server.h2Conns
	lastRead        time.Duration
	readyMirrors    []*upstreamConn // with events to handle
}

const (
	// maxStreamsPerConn limits the requests at a time over one connection, if the server allows
	// more.
	maxStreamsPerConn = 100

	// maxServerNoOps is how many frames without effect a server may send per second. They include
	// the ends of responses that were given up.
	maxServerNoOps = 100_000
)

// startH2 makes a new connection use HTTP/2.
func (uc *upstreamConn) startH2() *upstreamH2 {
	h := &upstreamH2{upstreamConn: uc, next: 1}
	h.h2Conn = h2Conn{
		conn:          &uc.conn,
		role:          h,
		reader:        h2.NewReader(uc.w.server.settings.MaxHead),
		streams:       map[uint32]*h2Stream{},
		maxNoOps:      maxServerNoOps,
		peerIsServer:  true,
		maxStreams:    uc.server.streams.Load(),
		sendWindow:    h2.Window,
		initialWindow: h2.Window,
		recvWindow:    sessionRoom,
	}
	uc.h2 = h
	uc.w.wheel.start(&uc.timer, uc.upstream.Connect)
	return h
}

// hasRoom reports whether the connection takes another request now.
func (h *upstreamH2) hasRoom() bool {
	return !h.exhausted() && len(h.active)+h.ending < int(min(h.maxStreams, maxStreamsPerConn))
}

// exhausted reports whether the connection will never take another request: stream numbers are used
// up, or it is draining.
func (h *upstreamH2) exhausted() bool { return h.draining || h.next >= h2.MaxWindow }

// open creates the upstreamConn for a request.
func (h *upstreamH2) open() *upstreamConn {
	of := h.upstreamConn
	w := of.w
	uc := &upstreamConn{
		upstream:   of.upstream,
		server:     of.server,
		connecting: !h.acceptsRequests,
		reused:     of.reused,
	}
	uc.w, uc.fd, uc.handler, uc.timer.owner, uc.open, uc.writable = w, -1, uc, uc, true,
		h.acceptsRequests
	st := &upstreamStream{h2: h, upstreamConn: uc, at: len(h.active)}
	st.h2Stream = h2Stream{h2Conn: &h.h2Conn, conn: &uc.conn, owner: st, recvWindow: h2.Window}
	uc.stream, uc.overH2 = st, st
	h.active = append(h.active, st)
	if !h.registered {
		h.registered = true
		of.server.h2Conns[w.id] = append(of.server.h2Conns[w.id], h)
	}
	return uc
}

// stopOffering takes the connection out of server.h2Conns until the next request.
func (h *upstreamH2) stopOffering() {
	if !h.registered {
		return
	}
	h.registered = false
	all := &h.upstreamConn.server.h2Conns[h.upstreamConn.w.id]
	if i := slices.Index(*all, h); i >= 0 {
		*all = slices.Delete(*all, i, i+1)
	}
}

// removeStream removes a stream that is over.
func (h *upstreamH2) removeStream(st *upstreamStream) {
	last := h.active[len(h.active)-1]
	h.active[st.at], last.at = last, st.at
	h.active[len(h.active)-1] = nil
	h.active = h.active[:len(h.active)-1]
	switch {
	case h.closed || len(h.active) > 0:
	case !h.acceptsRequests || h.exhausted():
		h.upstreamConn.close()
	default:
		h.stopOffering()
		h.upstreamConn.keepIdle()
	}
}

// ready handles an event on the connection.
func (h *upstreamH2) ready() {
	uc := h.upstreamConn
	if uc.connecting {
		if !uc.writable && !uc.peerClosed {
			return
		}
		if err := connected(uc.fd); err != nil {
			h.unreachable(err.Error())
			return
		}
		uc.connecting = false
	}
	if !h.prefaceDone {
		h.sendPreface()
	}
	if uc.flush() == broken {
		h.connectionLost()
	} else {
		if !uc.pending() {
			if len(h.frames) > 0 {
				h.queueWrite()
			}
			h.resumeBlocked()
		}
		h.readAvailable()
	}
	h.pumpMirrors()
}

// sendPreface starts HTTP/2 (RFC 9113, 3.4). Requests wait one round trip for the server's
// settings. So none is refused for exceeding a limit, and none is lost if the server does not
// support HTTP/2.
func (h *upstreamH2) sendPreface() {
	h.prefaceDone = true
	h.queueWrite()
	h.frames = append(h.frames, h2.Preface...)
	h.frames = h2.AppendSettings(h.frames,
		h2.Setting{ID: h2.EnablePush, Value: 0},
		h2.Setting{ID: h2.MaxHeaderListSize, Value: uint32(h.upstreamConn.w.server.settings.MaxHead)})
	h.frames = h2.AppendWindow(h.frames, 0, sessionRoom-h2.Window)
}

// sendWaiting sends the requests that have waited, as many as the server allows. The others go to
// another connection.
func (h *upstreamH2) sendWaiting() {
	uc, w := h.upstreamConn, h.upstreamConn.w
	h.acceptsRequests, h.lastRead = true, w.wheel.now
	w.wheel.stop(&uc.timer)
	uc.server.streams.Store(min(h.maxStreams, maxStreamsPerConn))
	uc.server.noWebSocket.Store(!h.extendedConnect)
	for i, st := range slices.Clone(h.active) {
		switch {
		case !st.over && !h.extendedConnect && st.upstreamConn.client != nil &&
			st.upstreamConn.client.asksWebSocket():
			st.upstreamConn.client.retryOtherConn()
		case !st.over && i < int(h.maxStreams):
			st.upstreamConn.connecting, st.upstreamConn.writable = false, true
			st.schedule()
		case st.upstreamConn.client != nil:
			st.upstreamConn.client.retryOtherConn()
		case st.upstreamConn.mirror != nil:
			st.upstreamConn.endMirror(false)
		}
	}
}

// readAvailable reads all frames that have arrived. Flow control bounds how many that can be.
func (h *upstreamH2) readAvailable() {
	uc := h.upstreamConn
	for {
		if err := h.readFrames(); err != nil && uc.open {
			h.endForProtocolError(err)
		}
		if uc.open && h.settingsRead && !h.acceptsRequests {
			uc.in.keep(uc.w) // requests that move to another connection use the scratch buffer
			h.sendWaiting()
		}
		if !uc.open {
			return
		}
		if h.queueFull() {
			h.readsPaused = true
			h.queueWrite()
			uc.in.keep(uc.w)
			return
		}
		switch uc.fill(uc.w.upScratch, readSize) {
		case fine:
			h.lastRead = uc.w.wheel.now
		case later:
			uc.in.keep(uc.w)
			return
		case ended, broken:
			h.connectionLost()
			return
		}
	}
}

// connectionLost gives up a connection that is gone.
func (h *upstreamH2) connectionLost() {
	if h.acceptsRequests {
		h.upstreamConn.retire()
	} else {
		h.unreachable("it closed the connection before its settings arrived")
	}
}

func (h *upstreamH2) writeQueued() {
	uc := h.upstreamConn
	if h.writeFrames() == broken {
		h.connectionLost()
		h.pumpMirrors()
		return
	}
	if !uc.pending() {
		h.resumeBlocked()
	}
	// even if the server reads nothing now: it may be waiting for the gateway to read
	if h.readsPaused && !h.queueFull() {
		h.readsPaused = false
		h.ready()
	}
	h.pumpMirrors()
}

// pumpMirrors handles events of mirrored requests.
func (h *upstreamH2) pumpMirrors() {
	for len(h.readyMirrors) > 0 {
		uc := h.readyMirrors[0]
		h.readyMirrors = h.readyMirrors[1:]
		if uc.mirror != nil {
			uc.pumpMirror()
		}
	}
}

// endForProtocolError ends a connection whose server violates the protocol.
func (h *upstreamH2) endForProtocolError(err error) {
	fault, ok := errors.AsType[*h2.Fault](err)
	if !ok {
		fault = &h2.Fault{Code: h2.InternalError}
	}
	uc := h.upstreamConn
	uc.w.metrics.malformed.Add(1)
	uc.w.server.logf("%s in HTTP/2: %v", uc.server.address, err)
	h.queueWrite()
	h.frames = h2.AppendGoAway(h.frames, 0, fault.Code)
	_ = h.writeFrames() // it may be gone
	h.connectionLost()
}

// unreachable handles a connection that could not be made. None of its requests was sent.
func (h *upstreamH2) unreachable(why string) {
	streams := slices.Clone(h.active)
	h.upstreamConn.close()
	for _, st := range streams {
		switch uc := st.upstreamConn; {
		case uc.client != nil:
			uc.client.unreachable(why)
		case uc.mirror != nil:
			uc.upstream.recordFailure(uc.server)
			uc.endMirror(false)
		}
	}
}

// end gives up all requests because the connection is gone.
func (h *upstreamH2) end() {
	if h.closed {
		return
	}
	h.closed, h.draining = true, true
	h.stopOffering()
	for _, st := range h.active {
		st.peerReset(h2.InternalError)
	}
	h.upstreamConn.w.buffers.put(h.frames)
	h.frames, h.block = nil, nil
}

// drainIfSilent stops using a connection on which nothing arrived for half of the response timeout,
// although a response was due.
func (h *upstreamH2) drainIfSilent(since time.Duration) {
	if uc := h.upstreamConn; uc.w.wheel.now-max(since, h.lastRead) >= uc.upstream.Answer/2 {
		h.draining = true
	}
}

// neverOpened reports whether a stream was never opened.
func (h *upstreamH2) neverOpened(stream uint32) bool { return stream >= h.next || stream%2 == 0 }

// dataAfterEnd ignores data on a stream that was given up. The server may have sent it before.
func (h *upstreamH2) dataAfterEnd(uint32) error { return h.countNoOp() }

// goAway is called when the server serves no stream above the last. Such requests may be retried,
// whatever their method (RFC 9113, 8.7).
func (h *upstreamH2) goAway(last uint32) {
	h.draining = true
	for _, st := range h.active {
		if st.id == 0 || st.id > last {
			st.peerReset(h2.RefusedStream)
		}
	}
	if len(h.active) == 0 {
		h.upstreamConn.retire()
	}
}

// receiveHeaders handles the fields of a response, or its trailers.
func (h *upstreamH2) receiveHeaders(stream uint32, end bool, block []byte) error {
	if h.neverOpened(stream) {
		return protocol("HEADERS on a stream that was not opened")
	}
	var st *upstreamStream
	if found := h.streams[stream]; found != nil {
		st = found.owner.(*upstreamStream)
	}
	// Every block is decoded, even if it is then ignored: HPACK state depends on it.
	if st == nil || st.over || st.headRead {
		head, err := h.reader.Read(block, false, end)
		switch {
		case err != nil:
			return err
		case st == nil || st.over:
			return h.countNoOp()
		case !end || st.ended || head.Malformed != "" || head.Large || st.remaining > 0:
			st.failMalformed("the trailers are invalid")
			return h.countNoOp()
		}
		st.finishBody(head.Text)
		return nil
	}
	head, err := h.reader.ReadResponse(block, st.bodiless, end, st.accept)
	switch {
	case err != nil:
		return err
	case head.Malformed != "":
		st.failMalformed(head.Malformed)
		return h.countNoOp()
	case head.Large ||
		len(st.head)+len(head.Text) > h.upstreamConn.w.server.settings.MaxHead+h2.MaxFrame:
		st.failMalformed("the head of the response is too long")
		return h.countNoOp()
	}
	if st.head == nil {
		st.head = h.upstreamConn.w.buffers.get(len(head.Text))
	}
	st.head = append(st.head, head.Text...)
	if head.Status < 200 {
		st.notify()
		return h.countNoOp()
	}
	st.headRead, st.remaining, st.raw, h.upstreamConn.reused = true, head.Length, head.Tunnel, true
	if end {
		st.finishBody(nil)
	} else {
		st.notify()
	}
	return nil
}
