package proxy

import "syscall"

// link is a connection to a server, which serves one client at a time; or in HTTP/2 one request over such a connection, or the
// connection, which serves those.
type link struct {
	conn
	trunk      *trunk // of the connection
	lane       *lane  // of the request
	upstream   *Upstream
	server     *server
	client     *client // nil while it is idle
	shadow     *shadow // instead of a client, a copy of a request
	connecting bool
	shaking    bool   // as part of that, hands, elsewhere
	dropped    bool   // nobody waits for it any more
	giveUp     func() // ends that handshake
	used       bool   // it has carried a request before
}

// idle gives the connection to a server that was used last, nil without one. In HTTP/2 it is one with room for a request.
func (w *worker) idle(u *Upstream, s *server) *link {
	if u.Framed {
		for _, t := range s.trunks[w.id] {
			if t.takes() {
				return t.open()
			}
		}
	}
	for {
		spare := s.idle[w.id]
		if len(spare) == 0 {
			return nil
		}
		l := spare[len(spare)-1]
		spare[len(spare)-1] = nil
		s.idle[w.id] = spare[:len(spare)-1]
		u.kept[w.id]--
		w.wheel.stop(&l.timer)
		switch {
		case l.trunk == nil:
			return l
		case l.trunk.takes():
			return l.trunk.open()
		}
		l.close()
	}
}

// connect begins a new connection. Where there are as many as there may be, one of this worker's idle ones, to another
// server, gives way.
func (w *worker) connect(u *Upstream, s *server) (*link, error) {
	if u.places.connections.Load() >= int64(u.Connections) {
		w.makeRoom(u)
	}
	l := &link{upstream: u, server: s, connecting: true, shaking: u.secure != nil}
	if l.shaking {
		w.shake(l)
	} else if fd, err := dial(s.address); err != nil {
		return nil, err
	} else if err := w.join(&l.conn, fd, l); err != nil {
		return nil, err
	}
	u.places.connections.Add(1)
	w.metrics.connects.Add(1)
	if u.Framed {
		return l.carry().open(), nil
	}
	return l, nil
}

func (w *worker) makeRoom(u *Upstream) {
	for _, s := range u.servers {
		if spare := s.idle[w.id]; len(spare) > 0 {
			spare[0].retire()
			return
		}
	}
}

// rest keeps a connection for later, unless there are enough.
func (l *link) rest() {
	if l.lane != nil {
		l.close()
		return
	}
	w, u := l.w, l.upstream
	l.client = nil
	l.used = true
	if l.readable && l.trunk == nil && l.fill(w.upScratch, readSize) != later { // what it says unasked must not become the next one's answer
		l.close()
		return
	}
	l.in.keep(w)
	if u.kept[w.id] >= u.Keep || w.stopping || u.over() || l.hung || (len(l.in.data) > 0 && l.trunk == nil) {
		l.close()
		return
	}
	u.kept[w.id]++
	l.server.idle[w.id] = append(l.server.idle[w.id], l)
	w.wheel.start(&l.timer, u.KeepFor)
}

// ready is told by the worker that something has changed.
func (l *link) ready() {
	if l.client != nil {
		l.client.proceed()
		return
	}
	if l.shadow != nil {
		l.follow()
		return
	}
	if l.trunk != nil {
		l.trunk.ready()
		return
	}
	if l.readable || l.hung { // a server says nothing unasked but farewell
		if l.secure != nil && !l.hung && l.fill(l.w.upScratch, readSize) == later {
			l.in.drop(l.w) // but TLS does
			return
		}
		l.retire()
	}
}

// proceed goes on with a copy's answer that takes more than one turn.
func (l *link) proceed() {
	if l.open && l.shadow != nil {
		l.follow()
	}
}

func (l *link) expired() {
	switch {
	case l.shadow != nil:
		l.endShadow(false)
	case l.trunk != nil && !l.trunk.carries:
		l.trunk.unreachable("no answer in time")
	case l.client == nil:
		l.retire()
	}
}

// shut tells the server that nothing more comes through a tunnel.
func (l *link) shut() {
	if n := l.lane; n != nil {
		if !n.gone { // over a stream that is over nothing may be sent
			n.finish(nil)
		}
		return
	}
	_ = syscall.Shutdown(l.fd, syscall.SHUT_WR) // an upstream that is gone is noticed by reading
}

// retire closes an idle connection.
func (l *link) retire() {
	spare := l.server.idle[l.w.id]
	for i, other := range spare {
		if other == l {
			l.server.idle[l.w.id] = append(spare[:i], spare[i+1:]...)
			l.upstream.kept[l.w.id]--
			break
		}
	}
	l.close()
}

// dropKept closes what is kept for upstreams that are in no table any more.
func (w *worker) dropKept() {
	for _, c := range w.conns {
		if c == nil {
			continue
		}
		if l, ok := c.side.(*link); ok && l.client == nil && l.shadow == nil && (l.trunk == nil || len(l.trunk.lanes) == 0) && l.upstream.over() {
			l.retire()
		}
	}
}

// close ends the connection. It may be called twice.
func (l *link) close() {
	if l.lane != nil {
		l.lane.close()
		return
	}
	if l.trunk != nil {
		l.trunk.end()
	}
	if l.shaking && !l.dropped {
		l.dropped = true
		l.giveUp()
		l.upstream.places.connections.Add(-1)
		l.w.wheel.forget(&l.timer)
		l.dropOut()
		return
	}
	if l.open {
		l.upstream.places.connections.Add(-1)
	}
	l.conn.close()
}
