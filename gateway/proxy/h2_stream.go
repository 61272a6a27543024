// HTTP/2 streams of both roles: windows, and received bytes in the form of HTTP/1.1. clientStream
// and upstreamStream embed h2Stream.

package proxy

import (
	"bytes"
	"slices"

	"faceoff/gateway/h2"
	"faceoff/gateway/wire"
)

// h2Stream is what the streams of clients and of servers share: flow control, and received bytes.
type h2Stream struct {
	h2Conn      *h2Conn
	conn        *conn // that the stream acts as
	owner       streamOwner
	id          uint32
	blocked     bool   // it waits for a window
	ended       bool   // the peer has sent everything
	raw         bool   // the bytes are those of a tunnel, not of a body
	endSent     bool   // the gateway has sent everything
	sendWindow  int64  // bytes that may be sent
	recvWindow  int64  // bytes that the peer may send
	unannounced int64  // bytes to add to recvWindow with the next update
	unread      int64  // received bytes that count against the connection's window
	remaining   int64  // of a body with a length; negative without one
	head        []byte // of the response or request, in the form of HTTP/1.1
	inbox       []byte // received bytes of the body
	tail        []byte // trailers with their empty line, for a body without a length
}

// streamOwner is the request that a stream belongs to.
type streamOwner interface {
	schedule()              // lets the worker run it after the current frame
	fail(code h2.Code)      // ends the stream because of the peer's error
	peerReset(code h2.Code) // the peer has reset it, or is gone
}

// add stores more of the body.
func (st *h2Stream) add(content []byte) {
	if len(content) == 0 {
		return
	}
	if st.inbox == nil {
		st.inbox = st.conn.w.buffers.get(len(content))
	}
	st.inbox = append(st.inbox, content...)
	if st.remaining >= 0 {
		st.remaining -= int64(len(content))
	}
	st.notify()
}

// finishBody ends the body with trailers, which include the empty line after them.
func (st *h2Stream) finishBody(trailers []byte) {
	st.ended = true
	if st.remaining < 0 && !st.raw {
		st.tail = bytes.Clone(trailers)
	}
	st.notify()
}

// notify lets the owner read.
func (st *h2Stream) notify() {
	st.conn.readable = true
	st.owner.schedule()
}

// fill does for a stream what conn.fill does for a socket. It provides the bytes in the form of
// HTTP/1.1.
func (st *h2Stream) fill(in *intake) state {
	w := st.conn.w
	st.conn.readable = false
	if len(st.head)+len(st.inbox) == 0 && st.tail == nil {
		if st.raw && st.ended {
			return ended
		}
		return later
	}
	fresh := st.inbox
	if (st.remaining < 0 && !st.raw) || len(st.head) > 0 {
		fresh = append(
			w.buffers.get(len(st.head)+len(st.inbox)+wire.ChunkOverhead+len(st.tail)+3),
			st.head...)
		if st.remaining < 0 && !st.raw { // one chunk for all: the frames may be as small as a byte
			fresh = wire.AppendChunk(fresh, st.inbox)
			if st.tail != nil {
				fresh = append(append(fresh, "0\r\n"...), st.tail...)
			}
		} else {
			fresh = append(fresh, st.inbox...)
		}
		w.buffers.put(st.inbox)
		w.buffers.put(st.head)
	}
	st.head, st.inbox, st.tail = nil, nil, nil
	if len(in.data) == 0 {
		in.drop(w)
	} else {
		both := append(append(w.buffers.get(len(in.data)+len(fresh)), in.data...), fresh...)
		w.buffers.put(in.own)
		w.buffers.put(fresh)
		fresh = both
	}
	in.data, in.own = fresh, fresh
	st.updateWindow()
	st.conn.readable = st.raw && st.ended // its end is read next
	return fine
}

// updateWindow lets the peer send as many bytes as were read: for the connection at once, as other
// streams share it, for the stream when an update is worth a frame.
func (st *h2Stream) updateWindow() {
	st.releaseConnWindow()
	if st.unannounced < h2.Window/2 || st.ended {
		return
	}
	f := st.h2Conn
	f.queueWrite()
	f.frames = h2.AppendWindow(f.frames, st.id, uint32(st.unannounced))
	st.recvWindow += st.unannounced
	st.unannounced = 0
}

// releaseConnWindow returns the stream's unread bytes to the connection's window.
func (st *h2Stream) releaseConnWindow() {
	if st.unread > 0 {
		st.h2Conn.creditConn(st.unread)
		st.unread = 0
	}
}

// sendData sends what the windows allow of a body, and returns the rest. last means that the body
// ends with these bytes.
func (st *h2Stream) sendData(bytes []byte, last bool) []byte {
	f := st.h2Conn
	for len(bytes) > 0 {
		n := min(int64(len(bytes)), st.sendWindow, f.sendWindow, h2.MaxFrame)
		if n <= 0 || f.sendPaused() {
			st.block()
			return bytes
		}
		flags := uint8(0)
		if last && n == int64(len(bytes)) {
			flags, st.endSent = h2.EndStream, true
		}
		f.queueWrite()
		f.frames = append(h2.AppendFrame(f.frames, int(n), h2.Data, flags, st.id), bytes[:n]...)
		st.sendWindow -= n
		f.sendWindow -= n
		bytes = bytes[n:]
	}
	return nil
}

// block makes the stream wait until it may send.
func (st *h2Stream) block() {
	f := st.h2Conn
	if !st.blocked {
		st.blocked = true
		f.blocked = append(f.blocked, st)
	}
	if f.sendPaused() {
		f.queueWrite()
	}
}

// sendEnd ends the stream, with trailers given as lines.
func (st *h2Stream) sendEnd(trailers []byte) {
	f := st.h2Conn
	st.endSent = true
	f.queueWrite()
	if len(trailers) > 2 {
		f.frames = f.writer.AppendTrailers(f.frames, st.id, trailers)
	} else {
		f.frames = h2.AppendFrame(f.frames, 0, h2.Data, h2.EndStream, st.id)
	}
}

// discard drops received bytes, and stops waiting for a window.
func (st *h2Stream) discard() {
	w, f := st.conn.w, st.h2Conn
	if i := slices.Index(f.blocked, st); st.blocked && i >= 0 {
		f.blocked = slices.Delete(f.blocked, i, i+1)
	}
	w.buffers.put(st.head)
	w.buffers.put(st.inbox)
	st.head, st.inbox, st.tail = nil, nil, nil
}
