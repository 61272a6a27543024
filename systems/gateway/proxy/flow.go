package proxy

import (
	"bytes"
	"slices"

	"faceoff/systems/gateway/h2"
	"faceoff/systems/gateway/wire"
)

// flow is what a stream has at either end: how much may be sent of it, and what came.
type flow struct {
	framing *framing
	conn    *conn // whose bytes the stream carries, in place of a descriptor
	end     end
	id      uint32
	blocked bool   // among those that could not send
	ended   bool   // the other end has said all
	raw     bool   // what comes is no body, but a tunnel's
	said    bool   // the gateway has
	window  int64  // bytes that may be sent
	room    int64  // bytes that the other end may send
	owed    int64  // bytes of it that were not allowed anew
	unread  int64  // bytes of the connection's window that came and were not read
	left    int64  // of a body whose length was told; negative for others
	heads   []byte // what came before the body, as HTTP/1.1 has it
	inbox   []byte // what came of the body
	tail    []byte // the trailers after it with their empty line, where its length was not told
}

// end is whose stream it is.
type end interface {
	look()             // has it looked at once the connection's bytes are no longer in use
	fail(code h2.Code) // ends the stream for what the other end did
	quit(code h2.Code) // the other end has ended it, or is gone
}

// add takes more of the body.
func (st *flow) add(content []byte) {
	if len(content) == 0 {
		return
	}
	if st.inbox == nil {
		st.inbox = st.conn.w.buffers.take(len(content))
	}
	st.inbox = append(st.inbox, content...)
	if st.left >= 0 {
		st.left -= int64(len(content))
	}
	st.news()
}

// finishBody ends the body, by trailers with the empty line after them.
func (st *flow) finishBody(trailers []byte) {
	st.ended = true
	if st.left < 0 && !st.raw {
		st.tail = bytes.Clone(trailers)
	}
	st.news()
}

// news has whose stream it is read.
func (st *flow) news() {
	st.conn.readable = true
	st.end.look()
}

// fill is that of a connection. What came is given on as HTTP/1.1 has it.
func (st *flow) fill(in *intake) state {
	w := st.conn.w
	st.conn.readable = false
	if len(st.heads)+len(st.inbox) == 0 && st.tail == nil {
		if st.raw && st.ended {
			return ended
		}
		return later
	}
	fresh := st.inbox
	if (st.left < 0 && !st.raw) || len(st.heads) > 0 {
		fresh = append(w.buffers.take(len(st.heads)+len(st.inbox)+wire.ChunkOverhead+len(st.tail)+3), st.heads...)
		if st.left < 0 && !st.raw { // all as one chunk: in its frames, it could come byte by byte
			fresh = wire.AppendChunk(fresh, st.inbox)
			if st.tail != nil {
				fresh = append(append(fresh, "0\r\n"...), st.tail...)
			}
		} else {
			fresh = append(fresh, st.inbox...)
		}
		w.buffers.give(st.inbox)
		w.buffers.give(st.heads)
	}
	st.heads, st.inbox, st.tail = nil, nil, nil
	if len(in.data) == 0 {
		in.drop(w)
	} else {
		both := append(append(w.buffers.take(len(in.data)+len(fresh)), in.data...), fresh...)
		w.buffers.give(in.own)
		w.buffers.give(fresh)
		fresh = both
	}
	in.data, in.own = fresh, fresh
	st.allow()
	st.conn.readable = st.raw && st.ended // its end is to be read, too
	return fine
}

// allow lets the other end send as much again as was read. Over the connection at once, as it carries others; over the stream where
// it is worth a frame.
func (st *flow) allow() {
	st.release()
	if st.owed < h2.Window/2 || st.ended {
		return
	}
	f := st.framing
	f.begin()
	f.frames = h2.AppendWindow(f.frames, st.id, uint32(st.owed))
	st.room += st.owed
	st.owed = 0
}

// release gives back what the stream holds of the connection's window.
func (st *flow) release() {
	if st.unread > 0 {
		st.framing.credit(st.unread)
		st.unread = 0
	}
}

// give sends what may be sent of a body, and returns the rest. last tells that nothing follows these bytes.
func (st *flow) give(bytes []byte, last bool) []byte {
	f := st.framing
	for len(bytes) > 0 {
		n := min(int64(len(bytes)), st.window, f.window, h2.MaxFrame)
		if n <= 0 || f.full() {
			st.block()
			return bytes
		}
		flags := uint8(0)
		if last && n == int64(len(bytes)) {
			flags, st.said = h2.EndStream, true
		}
		f.begin()
		f.frames = append(h2.AppendFrame(f.frames, int(n), h2.Data, flags, st.id), bytes[:n]...)
		st.window -= n
		f.window -= n
		bytes = bytes[n:]
	}
	return nil
}

// block has the stream wait until it may send.
func (st *flow) block() {
	f := st.framing
	if !st.blocked {
		st.blocked = true
		f.blocked = append(f.blocked, st)
	}
	if f.full() {
		f.begin()
	}
}

// finish says that what was sent is all, but for trailers, as lines.
func (st *flow) finish(trailers []byte) {
	f := st.framing
	st.said = true
	f.begin()
	if len(trailers) > 2 {
		f.frames = f.writer.AppendTrailers(f.frames, st.id, trailers)
	} else {
		f.frames = h2.AppendFrame(f.frames, 0, h2.Data, h2.EndStream, st.id)
	}
}

// drop gives back what came and was not read, and waits for nothing more.
func (st *flow) drop() {
	w, f := st.conn.w, st.framing
	if i := slices.Index(f.blocked, st); st.blocked && i >= 0 {
		f.blocked = slices.Delete(f.blocked, i, i+1)
	}
	w.buffers.give(st.heads)
	w.buffers.give(st.inbox)
	st.heads, st.inbox, st.tail = nil, nil, nil
}
