// Connections to servers: reuse of idle ones, new ones within the connection limit, and their end.
// Start reading at worker.idle and worker.connect.

package proxy

// upstreamConn is a connection to a server, which serves one request at a time. With HTTP/2 it is
// either the connection itself, or one request over it.
type upstreamConn struct {
	conn
	h2         *upstreamH2     // set if this is an HTTP/2 connection
	stream     *upstreamStream // set if this is a request over one
	upstream   *Upstream
	server     *server
	client     *client        // nil while it is idle
	mirror     *mirrorRequest // a mirrored request, instead of a client
	connecting bool
	plain      bool   // HTTP/1.1, although the upstream uses HTTP/2
	dialing    bool   // the TLS handshake runs in another goroutine
	abandoned  bool   // it was closed during the handshake
	cancelDial func() // ends the handshake
	reused     bool   // it has carried a request before
}

// idle returns the idle connection that was used most recently, or nil. With HTTP/2 it is one with
// room for a request.
func (w *worker) idle(u *Upstream, s *server) *upstreamConn {
	if u.HTTP2 {
		for _, h := range s.h2Conns[w.id] {
			if h.hasRoom() {
				return h.open()
			}
		}
	}
	for {
		spare := s.idle[w.id]
		if len(spare) == 0 {
			return nil
		}
		uc := spare[len(spare)-1]
		spare[len(spare)-1] = nil
		s.idle[w.id] = spare[:len(spare)-1]
		u.kept[w.id]--
		w.wheel.stop(&uc.timer)
		switch {
		case uc.h2 == nil:
			return uc
		case uc.h2.hasRoom():
			return uc.h2.open()
		}
		uc.close()
	}
}

// connect starts a new connection. If plain, it is for HTTP/1.1, although the upstream uses HTTP/2.
// At the limit, one of this worker's idle connections is closed first.
func (w *worker) connect(u *Upstream, s *server, plain bool) (*upstreamConn, error) {
	if u.limiter.connections.Load() >= int64(u.Connections) {
		w.closeOneIdle(u)
	}
	uc := &upstreamConn{
		upstream:   u,
		server:     s,
		connecting: true,
		plain:      plain,
		dialing:    u.secure != nil,
	}
	if uc.dialing {
		w.dialTLS(uc)
	} else if fd, err := dial(s.address); err != nil {
		return nil, err
	} else if err := w.join(&uc.conn, fd, uc); err != nil {
		return nil, err
	}
	u.limiter.connections.Add(1)
	w.metrics.connects.Add(1)
	if u.HTTP2 && !plain {
		return uc.startH2().open(), nil
	}
	return uc, nil
}

func (w *worker) closeOneIdle(u *Upstream) {
	for _, s := range u.servers {
		if spare := s.idle[w.id]; len(spare) > 0 {
			spare[0].retire()
			return
		}
	}
}

// keepIdle keeps a connection for another request, unless there are enough.
func (uc *upstreamConn) keepIdle() {
	if uc.stream != nil || uc.plain {
		uc.close()
		return
	}
	w, u := uc.w, uc.upstream
	uc.client = nil
	uc.reused = true
	// unsolicited bytes must not become the response to the next request
	if uc.readable && uc.h2 == nil && uc.fill(w.upScratch, readSize) != later {
		uc.close()
		return
	}
	uc.in.keep(w)
	if u.kept[w.id] >= u.Keep || w.stopping || u.retired() || uc.peerClosed ||
		(len(uc.in.data) > 0 && uc.h2 == nil) {
		uc.close()
		return
	}
	u.kept[w.id]++
	uc.server.idle[w.id] = append(uc.server.idle[w.id], uc)
	w.wheel.start(&uc.timer, u.KeepFor)
}

// ready handles an event on the connection.
func (uc *upstreamConn) ready() {
	if uc.client != nil {
		uc.client.proceed()
		return
	}
	if uc.mirror != nil {
		uc.pumpMirror()
		return
	}
	if uc.h2 != nil {
		uc.h2.ready()
		return
	}
	if uc.readable || uc.peerClosed { // an idle server sends nothing, but it may close
		if uc.secure != nil && !uc.peerClosed && uc.fill(uc.w.upScratch, readSize) == later {
			uc.in.drop(uc.w) // or send TLS messages
			return
		}
		uc.retire()
	}
}

// proceed continues a mirrored request after its turn was used up.
func (uc *upstreamConn) proceed() {
	if uc.open && uc.mirror != nil {
		uc.pumpMirror()
	}
}

func (uc *upstreamConn) expired() {
	switch {
	case uc.mirror != nil:
		uc.endMirror(false)
	case uc.h2 != nil && !uc.h2.acceptsRequests:
		uc.h2.unreachable("no response in time")
	case uc.client == nil:
		uc.retire()
	}
}

// shut tells the server that no more bytes come through a tunnel.
func (uc *upstreamConn) shut() {
	if st := uc.stream; st != nil {
		if !st.over { // nothing may be sent on a stream that is over
			st.sendEnd(nil)
		}
		return
	}
	uc.conn.shut()
}

// retire closes an idle connection.
func (uc *upstreamConn) retire() {
	spare := uc.server.idle[uc.w.id]
	for i, other := range spare {
		if other == uc {
			uc.server.idle[uc.w.id] = append(spare[:i], spare[i+1:]...)
			uc.upstream.kept[uc.w.id]--
			break
		}
	}
	uc.close()
}

// closeUnused closes idle connections of upstreams that have left the table.
func (w *worker) closeUnused() {
	for _, c := range w.conns {
		if c == nil {
			continue
		}
		if uc, ok := c.handler.(*upstreamConn); ok && uc.client == nil && uc.mirror == nil &&
			(uc.h2 == nil || len(uc.h2.active) == 0) &&
			uc.upstream.retired() {
			uc.retire()
		}
	}
}

// close ends the connection. It may be called twice.
func (uc *upstreamConn) close() {
	if uc.stream != nil {
		uc.stream.close()
		return
	}
	if uc.h2 != nil {
		uc.h2.end()
	}
	if uc.dialing && !uc.abandoned {
		uc.abandoned = true
		uc.cancelDial()
		uc.upstream.limiter.connections.Add(-1)
		uc.w.wheel.forget(&uc.timer)
		uc.dropOut()
		return
	}
	if uc.open {
		uc.upstream.limiter.connections.Add(-1)
	}
	uc.conn.close()
}
