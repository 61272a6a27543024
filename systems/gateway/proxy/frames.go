package proxy

import (
	"encoding/binary"
	"time"

	"faceoff/systems/gateway/h2"
)

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
