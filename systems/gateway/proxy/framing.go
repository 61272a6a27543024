package proxy

import (
	"encoding/binary"
	"time"

	"faceoff/systems/gateway/h2"
)

// framing is a connection that carries HTTP/2, whichever end of it the gateway is: what frames say of the connection, and what is
// to be sent over it.
type framing struct {
	conn     *conn
	party    party
	reader   *h2.Reader
	writer   h2.Writer
	streams  map[uint32]*flow
	bearable int  // how often a second the other end may say what nothing follows from
	serves   bool // the other end does
	connects bool // it may be asked for WebSocket
	agreed   bool // the other end's first settings were read
	forget   bool // it wants to hear that no table is kept
	over     bool
	blocked  []*flow
	frames   []byte // to be sent before the worker sleeps
	listed   bool   // among the worker's framings that have any
	held     bool   // nothing is read, as too much is to be sent
	window   int64  // bytes of bodies that may be sent
	initial  int64  // the same, of a stream that begins
	room     int64  // bytes of bodies that the other end may send
	owed     int64  // bytes that it may send in addition, which it was not told yet
	most     uint32 // streams that it lets be open at once
	trouble  int    // what it does rarely, within a second
	counted  time.Duration
	block    []byte // fields whose end has not come yet
	blockOf  uint32 // the stream that they are of; zero for none
	blockEnd bool   // it ends with them
	pieces   int    // that they came in
}

// party is whom a connection is with: a client or a server.
type party interface {
	write()                                               // sends what the event has left
	unopened(stream uint32) bool                          // no such stream was ever opened
	late(stream uint32) error                             // bytes came on a stream that is over
	farewell(last uint32)                                 // no stream above this one is served at the other end
	takeHead(stream uint32, end bool, block []byte) error // fields are there, whole
}

const (
	// sessionRoom is how much of bodies the other end may send over a connection before any of it is on its way. Each of the
	// streams has h2.Window, and as much on its way.
	sessionRoom = 4 * h2.Window

	// mostFrames is how much may wait to be sent before nothing more is read, from the other end or for it.
	mostFrames = 64 << 10
)

// begin makes a place for frames, which are sent before the worker sleeps.
func (f *framing) begin() {
	w := f.conn.w
	if f.frames == nil {
		f.frames = w.buffers.take(readSize)
	}
	if !f.listed {
		f.listed = true
		w.framings = append(w.framings, f)
	}
}

// writeFramings sends what the event has left.
func (w *worker) writeFramings() {
	for i := 0; i < len(w.framings); i++ {
		f := w.framings[i]
		f.listed = false
		if f.conn.open {
			f.party.write()
		}
	}
	clear(w.framings)
	w.framings = w.framings[:0]
}

// full reports whether nothing more of bodies should be written now.
func (f *framing) full() bool { return f.conn.pending() || f.clogged() }

// clogged reports whether nothing should be read now. That the other end takes nothing is no reason, as it may wait for the same.
func (f *framing) clogged() bool { return len(f.frames) >= mostFrames }

// emit sends the frames that there are, where the connection takes any.
func (f *framing) emit() state {
	if f.conn.pending() || len(f.frames) == 0 {
		return fine
	}
	frames := f.frames
	f.frames = nil
	state := f.conn.send(frames)
	f.conn.w.buffers.give(frames)
	return state
}

// resume has those streams looked at that could not send: who was first the last time comes last, or would have all of each window.
func (f *framing) resume() {
	if f.full() || f.window <= 0 {
		return
	}
	for i := range f.blocked {
		st := f.blocked[(i+1)%len(f.blocked)]
		st.blocked = false
		st.end.look()
	}
	clear(f.blocked)
	f.blocked = f.blocked[:0]
}

// understand takes the frames that are there.
func (f *framing) understand() error {
	in := &f.conn.in
	for f.conn.open && !f.over {
		got, n, err := h2.Cut(in.data)
		if err != nil || n == 0 {
			return err
		}
		in.took(n)
		if err := f.take(&got); err != nil {
			return err
		}
	}
	return nil
}

func protocol(reason string) error { return &h2.Fault{Code: h2.ProtocolError, Reason: reason} }

func size(reason string) error { return &h2.Fault{Code: h2.FrameSizeError, Reason: reason} }

// take takes a frame (RFC 9113, 6).
func (f *framing) take(got *h2.Frame) error {
	if f.blockOf != 0 && (got.Type != h2.Continuation || got.Stream != f.blockOf) {
		return protocol("another frame within the fields of a head")
	}
	if !f.agreed && got.Type != h2.Settings {
		return protocol("the first frame is not one of settings")
	}
	switch got.Type {
	case h2.Data:
		return f.takeData(got)
	case h2.Headers:
		return f.takeHeaders(got)
	case h2.Continuation:
		return f.takeContinuation(got)
	case h2.Reset:
		return f.takeReset(got)
	case h2.Settings:
		return f.takeSettings(got)
	case h2.WindowUpdate:
		return f.takeWindow(got)
	case h2.PushPromise:
		return protocol("a promise, where none is allowed")
	case h2.Ping:
		if got.Stream != 0 {
			return protocol("PING on a stream")
		}
		if len(got.Payload) != 8 {
			return size("PING is not of 8 bytes")
		}
		if got.Flags&h2.Ack == 0 {
			f.begin()
			f.frames = append(h2.AppendFrame(f.frames, 8, h2.Ping, h2.Ack, 0), got.Payload...)
		}
	case h2.GoAway:
		if got.Stream != 0 {
			return protocol("GOAWAY on a stream")
		}
		if len(got.Payload) < 8 {
			return size("GOAWAY is not of 8 bytes")
		}
		f.party.farewell(binary.BigEndian.Uint32(got.Payload) & h2.MaxWindow)
	case h2.Priority:
		if got.Stream == 0 {
			return protocol("PRIORITY of the connection")
		}
		if len(got.Payload) != 5 {
			return size("PRIORITY is not of 5 bytes")
		}
	}
	return f.troubled() // nobody says what is not known, or PRIORITY, often
}

// troubled counts what the other end does rarely.
func (f *framing) troubled() error {
	if now := f.conn.w.wheel.now; now-f.counted >= time.Second {
		f.counted, f.trouble = now, 0
	}
	if f.trouble++; f.trouble > f.bearable {
		return &h2.Fault{Code: h2.EnhanceYourCalm, Reason: "too much that nothing follows from"}
	}
	return nil
}

// reset ends a stream.
func (f *framing) reset(stream uint32, code h2.Code) {
	f.begin()
	f.frames = h2.AppendReset(f.frames, stream, code)
}

// credit lets the other end send as much again, over the connection.
func (f *framing) credit(n int64) {
	if f.owed += n; f.owed >= sessionRoom/2 && !f.over {
		f.begin()
		f.frames = h2.AppendWindow(f.frames, 0, uint32(f.owed))
		f.room += f.owed
		f.owed = 0
	}
}

func (f *framing) takeHeaders(got *h2.Frame) error {
	if got.Stream%2 == 0 {
		return protocol("a stream that is none of a client's")
	}
	block, err := got.Content()
	if err != nil {
		return err
	}
	end := got.Flags&h2.EndStream != 0
	if got.Flags&h2.EndHeaders != 0 {
		return f.party.takeHead(got.Stream, end, block)
	}
	f.blockOf, f.blockEnd, f.pieces = got.Stream, end, 1
	f.block = append(f.block[:0], block...)
	return nil
}

func (f *framing) takeContinuation(got *h2.Frame) error {
	if f.blockOf == 0 {
		return protocol("CONTINUATION of nothing")
	}
	long := len(f.block)+len(got.Payload) > f.conn.w.server.settings.MaxHead+h2.MaxFrame
	// A server's answer that is too long is no reason to end all others, so that it is read: what fields come after build on it.
	if f.pieces++; f.pieces > h2.MaxPieces || (long && !f.serves) {
		return &h2.Fault{Code: h2.EnhanceYourCalm, Reason: "a head is too long"}
	}
	f.block = append(f.block, got.Payload...)
	if got.Flags&h2.EndHeaders == 0 {
		return nil
	}
	stream, block := f.blockOf, f.block
	f.blockOf, f.block = 0, nil
	return f.party.takeHead(stream, f.blockEnd, block)
}

func (f *framing) takeData(got *h2.Frame) error {
	content, err := got.Content()
	if err != nil {
		return err
	}
	n, end := int64(len(got.Payload)), got.Flags&h2.EndStream != 0
	if f.party.unopened(got.Stream) {
		return protocol("DATA on a stream that was not opened")
	}
	if f.room -= n; f.room < 0 {
		return &h2.Fault{Code: h2.FlowControlError, Reason: "more was sent than the connection allows"}
	}
	st := f.streams[got.Stream]
	if st == nil { // of one that is over; on its way, perhaps, when it was
		f.credit(n)
		return f.party.late(got.Stream)
	}
	if f.serves { // one of its answers that is slowly read is to hold up no other
		f.credit(n)
	} else {
		st.unread += n
	}
	st.owed += n
	if st.room -= n; st.room < 0 {
		return &h2.Fault{Code: h2.FlowControlError, Reason: "more was sent than the stream allows"}
	}
	switch {
	case st.ended:
		st.end.fail(h2.StreamClosed)
		return f.troubled()
	case st.left >= 0 && (int64(len(content)) > st.left || (end && int64(len(content)) < st.left)):
		st.end.fail(h2.ProtocolError) // 8.1.1
		return f.troubled()
	}
	st.add(content)
	if end {
		st.finishBody([]byte("\r\n"))
	}
	if len(content) == 0 && !end {
		if st.inbox == nil {
			st.allow() // of nothing but padding, nothing would be read
		}
		return f.troubled()
	}
	return nil
}

func (f *framing) takeReset(got *h2.Frame) error {
	if f.party.unopened(got.Stream) {
		return protocol("RST_STREAM of a stream that was not opened")
	}
	if len(got.Payload) != 4 {
		return size("RST_STREAM is not of 4 bytes")
	}
	if st := f.streams[got.Stream]; st != nil {
		st.end.quit(h2.Code(binary.BigEndian.Uint32(got.Payload)))
	}
	return f.troubled()
}

func (f *framing) takeSettings(got *h2.Frame) error {
	switch {
	case got.Stream != 0:
		return protocol("SETTINGS on a stream")
	case got.Flags&h2.Ack != 0 && len(got.Payload) > 0, len(got.Payload)%6 != 0:
		return size("SETTINGS are not of 6 bytes each")
	case got.Flags&h2.Ack != 0:
		return f.troubled()
	}
	for p := got.Payload; len(p) > 0; p = p[6:] {
		value := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case h2.HeaderTableSize:
			f.forget = f.forget || value < h2.TableSize
		case h2.EnablePush:
			if value > 1 || (f.serves && value > 0) {
				return protocol("ENABLE_PUSH is neither 0 nor 1, or 1 of a server")
			}
		case h2.EnableConnect:
			if value > 1 && f.serves { // of clients it means nothing (RFC 8441, 3)
				return protocol("ENABLE_CONNECT_PROTOCOL is neither 0 nor 1")
			}
			f.connects = value == 1
		case h2.MaxConcurrentStreams:
			f.most = value
		case h2.InitialWindowSize:
			if value > h2.MaxWindow {
				return &h2.Fault{Code: h2.FlowControlError, Reason: "a window that is too large"}
			}
			more := int64(value) - f.initial
			f.initial = int64(value)
			for _, st := range f.streams {
				if st.window += more; st.window > h2.MaxWindow {
					return &h2.Fault{Code: h2.FlowControlError, Reason: "a window that is too large"}
				}
			}
			f.resume()
		case h2.MaxFrameSize:
			if value < h2.MaxFrame || value >= 1<<24 {
				return protocol("MAX_FRAME_SIZE is out of bounds")
			}
		}
	}
	f.agreed = true
	f.begin()
	f.frames = h2.AppendFrame(f.frames, 0, h2.Settings, h2.Ack, 0)
	return f.troubled()
}

func (f *framing) takeWindow(got *h2.Frame) error {
	if len(got.Payload) != 4 {
		return size("WINDOW_UPDATE is not of 4 bytes")
	}
	more := int64(binary.BigEndian.Uint32(got.Payload) & h2.MaxWindow)
	if got.Stream == 0 {
		if f.window += more; more == 0 || f.window > h2.MaxWindow {
			return windowFault(more)
		}
		f.resume()
		return nil
	}
	if f.party.unopened(got.Stream) {
		return protocol("WINDOW_UPDATE of a stream that was not opened")
	}
	st := f.streams[got.Stream]
	if st == nil {
		return nil
	}
	if st.window += more; more == 0 || st.window > h2.MaxWindow {
		st.end.fail(windowFault(more).Code)
		return f.troubled()
	}
	if st.blocked {
		st.end.look()
	}
	return nil
}

func windowFault(more int64) *h2.Fault {
	if more == 0 {
		return &h2.Fault{Code: h2.ProtocolError, Reason: "a window grows by nothing"}
	}
	return &h2.Fault{Code: h2.FlowControlError, Reason: "a window that is too large"}
}
