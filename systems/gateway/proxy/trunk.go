package proxy

import (
	"errors"
	"slices"
	"time"

	"faceoff/systems/gateway/h2"
)

// trunk is what a connection to a server has that carries HTTP/2. Each request on it has a link of its own, whose bytes go to
// and come from frames instead of a socket.
type trunk struct {
	framing
	link    *link // the connection
	lanes   []*lane
	ending  int    // streams that are over here, but for their end
	next    uint32 // the stream that is opened next
	greeted bool   // the preface was sent
	carries bool   // requests are sent, as the server has said how many it lets
	leaving bool   // it carries no further request
	offered bool   // among those of its server that carry some
	heard   time.Duration
	shadows []*link // that are to be looked at
}

const (
	// mostLanes is how many requests are under way over one connection to a server, unless the server lets fewer.
	mostLanes = 100

	// mostTroubleOfServers is how often a second a server may say what nothing follows from: the ends of answers that nobody waits
	// for are among it.
	mostTroubleOfServers = 100_000
)

// carry has a connection that is being made carry HTTP/2.
func (l *link) carry() *trunk {
	t := &trunk{link: l, next: 1}
	t.framing = framing{
		conn: &l.conn, party: t, reader: h2.NewReader(l.w.server.settings.MaxHead), streams: map[uint32]*flow{}, bearable: mostTroubleOfServers,
		serves: true, most: l.server.streams.Load(), window: h2.Window, initial: h2.Window, room: sessionRoom,
	}
	l.trunk = t
	l.w.wheel.start(&l.timer, l.upstream.Connect)
	return t
}

// takes reports whether the connection may carry a further request.
func (t *trunk) takes() bool {
	return !t.spent() && len(t.lanes)+t.ending < int(min(t.most, mostLanes))
}

// spent reports whether the connection will never carry a further request: there are no streams left, or none is wanted.
func (t *trunk) spent() bool { return t.leaving || t.next >= h2.MaxWindow }

// open makes a link for a request.
func (t *trunk) open() *link {
	of := t.link
	w := of.w
	l := &link{upstream: of.upstream, server: of.server, connecting: !t.carries, used: of.used}
	l.w, l.fd, l.side, l.timer.owner, l.open, l.writable = w, -1, l, l, true, t.carries
	n := &lane{trunk: t, link: l, at: len(t.lanes)}
	n.flow = flow{framing: &t.framing, conn: &l.conn, end: n, room: h2.Window}
	l.lane, l.carried = n, n
	t.lanes = append(t.lanes, n)
	if !t.offered {
		t.offered = true
		of.server.trunks[w.id] = append(of.server.trunks[w.id], t)
	}
	return l
}

// withdraw offers the connection to requests no more, until one is opened.
func (t *trunk) withdraw() {
	if !t.offered {
		return
	}
	t.offered = false
	all := &t.link.server.trunks[t.link.w.id]
	if i := slices.Index(*all, t); i >= 0 {
		*all = slices.Delete(*all, i, i+1)
	}
}

// leave takes a lane out that is over.
func (t *trunk) leave(n *lane) {
	last := t.lanes[len(t.lanes)-1]
	t.lanes[n.at], last.at = last, n.at
	t.lanes[len(t.lanes)-1] = nil
	t.lanes = t.lanes[:len(t.lanes)-1]
	switch {
	case t.over || len(t.lanes) > 0:
	case !t.carries || t.spent():
		t.link.close()
	default:
		t.withdraw()
		t.link.rest()
	}
}

// ready is told by the worker that something about the connection has changed.
func (t *trunk) ready() {
	l := t.link
	if l.connecting {
		if !l.writable && !l.hung {
			return
		}
		if err := connected(l.fd); err != nil {
			t.unreachable(err.Error())
			return
		}
		l.connecting = false
	}
	if !t.greeted {
		t.greet()
	}
	if l.flush() == broken {
		t.lose()
	} else {
		if !l.pending() {
			if len(t.frames) > 0 {
				t.begin()
			}
			t.resume()
		}
		t.read()
	}
	t.follow()
}

// greet begins HTTP/2 (RFC 9113, 3.4). Requests wait for what the server says of itself: a turn of each connection, for which none
// is sent that it refuses, or whose fate nobody knows where it speaks no HTTP/2.
func (t *trunk) greet() {
	t.greeted = true
	t.begin()
	t.frames = append(t.frames, h2.Preface...)
	t.frames = h2.AppendSettings(t.frames,
		h2.Setting{ID: h2.EnablePush, Value: 0}, h2.Setting{ID: h2.MaxHeaderListSize, Value: uint32(t.link.w.server.settings.MaxHead)})
	t.frames = h2.AppendWindow(t.frames, 0, sessionRoom-h2.Window)
}

// admit has the requests sent that have waited, as many as the server lets. Others go to another connection.
func (t *trunk) admit() {
	l, w := t.link, t.link.w
	t.carries, t.heard = true, w.wheel.now
	w.wheel.stop(&l.timer)
	l.server.streams.Store(min(t.most, mostLanes))
	for i, n := range slices.Clone(t.lanes) {
		switch {
		case !n.gone && i < int(t.most):
			n.link.connecting, n.link.writable = false, true
			n.look()
		case n.link.client != nil:
			n.link.client.move()
		case n.link.shadow != nil:
			n.link.endShadow(false)
		}
	}
}

// read reads all frames that are there. How much that can be, the windows decide.
func (t *trunk) read() {
	l := t.link
	for {
		if err := t.understand(); err != nil && l.open {
			t.blame(err)
		}
		if l.open && t.agreed && !t.carries {
			l.in.keep(l.w) // those that go elsewhere use the scratch
			t.admit()
		}
		if !l.open {
			return
		}
		if t.clogged() {
			t.held = true
			t.begin()
			l.in.keep(l.w)
			return
		}
		switch l.fill(l.w.upScratch, readSize) {
		case fine:
			t.heard = l.w.wheel.now
		case later:
			l.in.keep(l.w)
			return
		case ended, broken:
			t.lose()
			return
		}
	}
}

// lose gives up the connection, which is gone.
func (t *trunk) lose() {
	if t.carries {
		t.link.retire()
	} else {
		t.unreachable("it broke off before it had begun")
	}
}

func (t *trunk) write() {
	l := t.link
	if t.emit() == broken {
		t.lose()
		t.follow()
		return
	}
	if !l.pending() {
		t.resume()
	}
	if t.held && !t.clogged() { // also where the server takes nothing now: it may wait for the same
		t.held = false
		t.ready()
	}
	t.follow()
}

// follow looks at the copies that there is news for.
func (t *trunk) follow() {
	for len(t.shadows) > 0 {
		l := t.shadows[0]
		t.shadows = t.shadows[1:]
		if l.shadow != nil {
			l.follow()
		}
	}
}

// blame ends a connection whose server breaks the rules.
func (t *trunk) blame(err error) {
	fault, ok := errors.AsType[*h2.Fault](err)
	if !ok {
		fault = &h2.Fault{Code: h2.InternalError}
	}
	l := t.link
	l.w.metrics.misspoke.Add(1)
	l.w.server.logf("%s in HTTP/2: %v", l.server.address, err)
	t.begin()
	t.frames = h2.AppendGoAway(t.frames, 0, fault.Code)
	_ = t.emit() // it may be gone
	t.lose()
}

// unreachable is told that the connection could not be made, so that none of its requests was sent.
func (t *trunk) unreachable(why string) {
	lanes := slices.Clone(t.lanes)
	t.link.close()
	for _, n := range lanes {
		switch l := n.link; {
		case l.client != nil:
			l.client.unreachable(why)
		case l.shadow != nil:
			l.upstream.failed(l.server)
			l.endShadow(false)
		}
	}
}

// end gives up what is under way, as the connection is gone.
func (t *trunk) end() {
	if t.over {
		return
	}
	t.over, t.leaving = true, true
	t.withdraw()
	for _, n := range t.lanes {
		n.quit(h2.InternalError)
	}
	t.link.w.buffers.give(t.frames)
	t.frames, t.block = nil, nil
}

// doubt has a connection carry no further request over which nothing came for half as long as an answer may take, although one
// was waited for since.
func (t *trunk) doubt(since time.Duration) {
	if l := t.link; l.w.wheel.now-max(since, t.heard) >= l.upstream.Answer/2 {
		t.leaving = true
	}
}

// unopened reports whether a stream was never opened.
func (t *trunk) unopened(stream uint32) bool { return stream >= t.next || stream%2 == 0 }

// late is told of bytes on a stream that is over: on their way when it was given up.
func (t *trunk) late(uint32) error { return t.troubled() }

// farewell is told that the server serves no stream above the last. Those may be sent again, whatever they ask (RFC 9113, 8.7).
func (t *trunk) farewell(last uint32) {
	t.leaving = true
	for _, n := range t.lanes {
		if n.id == 0 || n.id > last {
			n.quit(h2.RefusedStream)
		}
	}
	if len(t.lanes) == 0 {
		t.link.retire()
	}
}

// takeHead takes the fields of an answer, or those after one.
func (t *trunk) takeHead(stream uint32, end bool, block []byte) error {
	if t.unopened(stream) {
		return protocol("an answer on a stream that was not opened")
	}
	var n *lane
	if st := t.streams[stream]; st != nil {
		n = st.end.(*lane)
	}
	// All are read, whatever becomes of them, as the next ones build on them.
	if n == nil || n.gone || n.headed {
		head, err := t.reader.Read(block, false, end)
		switch {
		case err != nil:
			return err
		case n == nil || n.gone:
			return t.troubled()
		case !end || n.ended || head.Malformed != "" || head.Large || n.left > 0:
			n.misspeak("what follows an answer is no trailers")
			return t.troubled()
		}
		n.finishBody(head.Text)
		return nil
	}
	head, err := t.reader.ReadAnswer(block, n.bare, end, n.accept)
	switch {
	case err != nil:
		return err
	case head.Malformed != "":
		n.misspeak(head.Malformed)
		return t.troubled()
	case head.Large || len(n.heads)+len(head.Text) > t.link.w.server.settings.MaxHead+h2.MaxFrame:
		n.misspeak("the head of the answer is too long")
		return t.troubled()
	}
	if n.heads == nil {
		n.heads = t.link.w.buffers.take(len(head.Text))
	}
	n.heads = append(n.heads, head.Text...)
	if head.Status < 200 {
		n.news()
		return t.troubled()
	}
	n.headed, n.left, n.raw, t.link.used = true, head.Length, head.Tunnel, true
	if end {
		n.finishBody(nil)
	} else {
		n.news()
	}
	return nil
}
