// HTTP/2 connections of both roles: reading frames, flow control, and limits against abusive peers.
// What differs between clients and servers is in h2Role. Start reading at h2Conn.handleFrame.

package proxy

import (
	"encoding/binary"
	"time"

	"faceoff/gateway/h2"
)

// h2Conn is a connection that carries HTTP/2, to a client or to a server: its flow control, and the
// frames to be sent.
type h2Conn struct {
	conn            *conn
	role            h2Role
	reader          *h2.Reader
	writer          h2.Writer
	streams         map[uint32]*h2Stream
	maxNoOps        int // per second, that the peer may send
	peerIsServer    bool
	extendedConnect bool // the peer supports WebSocket over HTTP/2
	settingsRead    bool // the peer's first settings were read
	resetTable      bool // the peer wants an HPACK table size update
	closed          bool
	blocked         []*h2Stream
	frames          []byte // to be sent before the worker sleeps
	scheduled       bool   // in the worker's list of connections with frames to send
	readsPaused     bool   // too much waits to be sent
	sendWindow      int64  // bytes of bodies that may be sent
	initialWindow   int64  // sendWindow of a new stream
	recvWindow      int64  // bytes of bodies that the peer may send
	unannounced     int64  // bytes to add to recvWindow with the next update
	maxStreams      uint32 // that the peer allows at once
	noOps           int    // frames without effect within the current second
	noOpsSince      time.Duration
	block           []byte // header block that is not complete yet
	blockStream     uint32 // the stream that it is for; zero for none
	blockEnd        bool   // the stream ends with it
	fragments       int    // of the block so far
}

// h2Role is the part of a connection that differs between clients and servers.
type h2Role interface {
	writeQueued()                   // sends what the event has left
	neverOpened(stream uint32) bool // the stream was never opened
	// Data arrived on a stream that is over.
	dataAfterEnd(stream uint32) error
	// The peer serves no stream above this one.
	goAway(last uint32)
	receiveHeaders(stream uint32, end bool, block []byte) error // a complete header block arrived
}

const (
	// sessionRoom is how many bytes of bodies the peer may send over a connection before an update.
	// Each stream has h2.Window.
	sessionRoom = 4 * h2.Window

	// maxQueuedFrames is how many bytes may wait to be sent before reading pauses.
	maxQueuedFrames = 64 << 10
)

// queueWrite prepares a buffer for frames, which are sent before the worker sleeps.
func (f *h2Conn) queueWrite() {
	w := f.conn.w
	if f.frames == nil {
		f.frames = w.buffers.get(readSize)
	}
	if !f.scheduled {
		f.scheduled = true
		w.pendingH2 = append(w.pendingH2, f)
	}
}

// flushH2 sends the frames that this turn has queued.
func (w *worker) flushH2() {
	for i := 0; i < len(w.pendingH2); i++ {
		f := w.pendingH2[i]
		f.scheduled = false
		if f.conn.open {
			f.role.writeQueued()
		}
	}
	clear(w.pendingH2)
	w.pendingH2 = w.pendingH2[:0]
}

// sendPaused reports whether no more body bytes should be queued now.
func (f *h2Conn) sendPaused() bool { return f.conn.pending() || f.queueFull() }

// queueFull reports whether reading should pause. A peer that reads nothing is no reason: it may be
// waiting for the gateway to read.
func (f *h2Conn) queueFull() bool { return len(f.frames) >= maxQueuedFrames }

// writeFrames sends the queued frames, unless earlier output is pending.
func (f *h2Conn) writeFrames() state {
	if f.conn.pending() || len(f.frames) == 0 {
		return fine
	}
	frames := f.frames
	f.frames = nil
	state := f.conn.send(frames)
	f.conn.w.buffers.put(frames)
	return state
}

// resumeBlocked lets streams send that were blocked. The order rotates, or the first stream would
// always use up the windows.
func (f *h2Conn) resumeBlocked() {
	if f.sendPaused() || f.sendWindow <= 0 {
		return
	}
	for i := range f.blocked {
		st := f.blocked[(i+1)%len(f.blocked)]
		st.blocked = false
		st.owner.schedule()
	}
	clear(f.blocked)
	f.blocked = f.blocked[:0]
}

// readFrames handles the frames that have arrived.
func (f *h2Conn) readFrames() error {
	in := &f.conn.in
	for f.conn.open && !f.closed {
		got, n, err := h2.ParseFrame(in.data)
		if err != nil || n == 0 {
			return err
		}
		in.consume(n)
		if err := f.handleFrame(&got); err != nil {
			return err
		}
	}
	return nil
}

func protocol(reason string) error { return &h2.Fault{Code: h2.ProtocolError, Reason: reason} }

func size(reason string) error { return &h2.Fault{Code: h2.FrameSizeError, Reason: reason} }

// handleFrame handles one frame (RFC 9113, 6).
func (f *h2Conn) handleFrame(got *h2.Frame) error {
	if f.blockStream != 0 && (got.Type != h2.Continuation || got.Stream != f.blockStream) {
		return protocol("another frame within a header block")
	}
	if !f.settingsRead && got.Type != h2.Settings {
		return protocol("the first frame is not SETTINGS")
	}
	switch got.Type {
	case h2.Data:
		return f.handleData(got)
	case h2.Headers:
		return f.handleHeaders(got)
	case h2.Continuation:
		return f.handleContinuation(got)
	case h2.Reset:
		return f.handleReset(got)
	case h2.Settings:
		return f.handleSettings(got)
	case h2.WindowUpdate:
		return f.handleWindowUpdate(got)
	case h2.PushPromise:
		return protocol("PUSH_PROMISE is not allowed")
	case h2.Ping:
		if got.Stream != 0 {
			return protocol("PING on a stream")
		}
		if len(got.Payload) != 8 {
			return size("PING is not of 8 bytes")
		}
		if got.Flags&h2.Ack == 0 {
			f.queueWrite()
			f.frames = append(h2.AppendFrame(f.frames, 8, h2.Ping, h2.Ack, 0), got.Payload...)
		}
	case h2.GoAway:
		if got.Stream != 0 {
			return protocol("GOAWAY on a stream")
		}
		if len(got.Payload) < 8 {
			return size("GOAWAY is not of 8 bytes")
		}
		f.role.goAway(binary.BigEndian.Uint32(got.Payload) & h2.MaxWindow)
	case h2.Priority:
		if got.Stream == 0 {
			return protocol("PRIORITY of the connection")
		}
		if len(got.Payload) != 5 {
			return size("PRIORITY is not of 5 bytes")
		}
	}
	return f.countNoOp() // unknown frames and PRIORITY are rare
}

// countNoOp counts a frame without effect. Too many end the connection.
func (f *h2Conn) countNoOp() error {
	if now := f.conn.w.wheel.now; now-f.noOpsSince >= time.Second {
		f.noOpsSince, f.noOps = now, 0
	}
	if f.noOps++; f.noOps > f.maxNoOps {
		return &h2.Fault{Code: h2.EnhanceYourCalm, Reason: "too many frames without effect"}
	}
	return nil
}

// reset sends RST_STREAM.
func (f *h2Conn) reset(stream uint32, code h2.Code) {
	f.queueWrite()
	f.frames = h2.AppendReset(f.frames, stream, code)
}

// creditConn returns n bytes to the connection's window.
func (f *h2Conn) creditConn(n int64) {
	if f.unannounced += n; f.unannounced >= sessionRoom/2 && !f.closed {
		f.queueWrite()
		f.frames = h2.AppendWindow(f.frames, 0, uint32(f.unannounced))
		f.recvWindow += f.unannounced
		f.unannounced = 0
	}
}

func (f *h2Conn) handleHeaders(got *h2.Frame) error {
	if got.Stream%2 == 0 {
		return protocol("an even stream number")
	}
	block, err := got.Content()
	if err != nil {
		return err
	}
	end := got.Flags&h2.EndStream != 0
	if got.Flags&h2.EndHeaders != 0 {
		return f.role.receiveHeaders(got.Stream, end, block)
	}
	f.blockStream, f.blockEnd, f.fragments = got.Stream, end, 1
	f.block = append(f.block[:0], block...)
	return nil
}

func (f *h2Conn) handleContinuation(got *h2.Frame) error {
	if f.blockStream == 0 {
		return protocol("CONTINUATION without HEADERS")
	}
	long := len(f.block)+len(got.Payload) > f.conn.w.server.settings.MaxHead+h2.MaxFrame
	// A server's head that is too long is still decoded: the other streams of its connection depend
	// on the HPACK state.
	if f.fragments++; f.fragments > h2.MaxFragments || (long && !f.peerIsServer) {
		return &h2.Fault{Code: h2.EnhanceYourCalm, Reason: "a head is too long"}
	}
	f.block = append(f.block, got.Payload...)
	if got.Flags&h2.EndHeaders == 0 {
		return nil
	}
	stream, block := f.blockStream, f.block
	f.blockStream, f.block = 0, nil
	return f.role.receiveHeaders(stream, f.blockEnd, block)
}

func (f *h2Conn) handleData(got *h2.Frame) error {
	content, err := got.Content()
	if err != nil {
		return err
	}
	n, end := int64(len(got.Payload)), got.Flags&h2.EndStream != 0
	if f.role.neverOpened(got.Stream) {
		return protocol("DATA on a stream that was not opened")
	}
	if f.recvWindow -= n; f.recvWindow < 0 {
		return &h2.Fault{
			Code:   h2.FlowControlError,
			Reason: "more was sent than the connection allows",
		}
	}
	st := f.streams[got.Stream]
	if st == nil { // the stream is over; the data may have been sent before
		f.creditConn(n)
		return f.role.dataAfterEnd(got.Stream)
	}
	if f.peerIsServer { // a slow reader must not hold up the server's other responses
		f.creditConn(n)
	} else {
		st.unread += n
	}
	st.unannounced += n
	if st.recvWindow -= n; st.recvWindow < 0 {
		return &h2.Fault{Code: h2.FlowControlError, Reason: "more was sent than the stream allows"}
	}
	switch {
	case st.ended:
		st.owner.fail(h2.StreamClosed)
		return f.countNoOp()
	case st.remaining >= 0 &&
		(int64(len(content)) > st.remaining || (end && int64(len(content)) < st.remaining)):
		st.owner.fail(h2.ProtocolError) // 8.1.1
		return f.countNoOp()
	}
	st.add(content)
	if end {
		st.finishBody([]byte("\r\n"))
	}
	if len(content) == 0 && !end {
		if st.inbox == nil {
			st.updateWindow() // it was only padding, which no reader consumes
		}
		return f.countNoOp()
	}
	return nil
}

func (f *h2Conn) handleReset(got *h2.Frame) error {
	if f.role.neverOpened(got.Stream) {
		return protocol("RST_STREAM of a stream that was not opened")
	}
	if len(got.Payload) != 4 {
		return size("RST_STREAM is not of 4 bytes")
	}
	if st := f.streams[got.Stream]; st != nil {
		st.owner.peerReset(h2.Code(binary.BigEndian.Uint32(got.Payload)))
	}
	return f.countNoOp()
}

func (f *h2Conn) handleSettings(got *h2.Frame) error {
	switch {
	case got.Stream != 0:
		return protocol("SETTINGS on a stream")
	case got.Flags&h2.Ack != 0 && len(got.Payload) > 0, len(got.Payload)%6 != 0:
		return size("SETTINGS are not of 6 bytes each")
	case got.Flags&h2.Ack != 0:
		return f.countNoOp()
	}
	for p := got.Payload; len(p) > 0; p = p[6:] {
		value := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case h2.HeaderTableSize:
			f.resetTable = f.resetTable || value < h2.TableSize
		case h2.EnablePush:
			if value > 1 || (f.peerIsServer && value > 0) {
				return protocol("ENABLE_PUSH is neither 0 nor 1, or 1 of a server")
			}
		case h2.EnableConnect:
			if value > 1 && f.peerIsServer { // from clients it has no meaning (RFC 8441, 3)
				return protocol("ENABLE_CONNECT_PROTOCOL is neither 0 nor 1")
			}
			f.extendedConnect = value == 1
		case h2.MaxConcurrentStreams:
			f.maxStreams = value
		case h2.InitialWindowSize:
			if value > h2.MaxWindow {
				return windowTooLarge
			}
			more := int64(value) - f.initialWindow
			f.initialWindow = int64(value)
			for _, st := range f.streams {
				if st.sendWindow += more; st.sendWindow > h2.MaxWindow {
					return windowTooLarge
				}
			}
			f.resumeBlocked()
		case h2.MaxFrameSize:
			if value < h2.MaxFrame || value >= 1<<24 {
				return protocol("MAX_FRAME_SIZE is out of bounds")
			}
		}
	}
	f.settingsRead = true
	f.queueWrite()
	f.frames = h2.AppendFrame(f.frames, 0, h2.Settings, h2.Ack, 0)
	return f.countNoOp()
}

func (f *h2Conn) handleWindowUpdate(got *h2.Frame) error {
	if len(got.Payload) != 4 {
		return size("WINDOW_UPDATE is not of 4 bytes")
	}
	more := int64(binary.BigEndian.Uint32(got.Payload) & h2.MaxWindow)
	if got.Stream == 0 {
		if f.sendWindow += more; more == 0 || f.sendWindow > h2.MaxWindow {
			return windowFault(more)
		}
		f.resumeBlocked()
		return nil
	}
	if f.role.neverOpened(got.Stream) {
		return protocol("WINDOW_UPDATE of a stream that was not opened")
	}
	st := f.streams[got.Stream]
	if st == nil {
		return nil
	}
	if st.sendWindow += more; more == 0 || st.sendWindow > h2.MaxWindow {
		st.owner.fail(windowFault(more).Code)
		return f.countNoOp()
	}
	if st.blocked {
		st.owner.schedule()
	}
	return nil
}

var windowTooLarge = &h2.Fault{
	Code:   h2.FlowControlError,
	Reason: "a window that is too large",
}

// windowFault returns the error for an update that leaves a window invalid.
func windowFault(more int64) *h2.Fault {
	if more == 0 {
		return &h2.Fault{Code: h2.ProtocolError, Reason: "WINDOW_UPDATE of zero"}
	}
	return windowTooLarge
}
