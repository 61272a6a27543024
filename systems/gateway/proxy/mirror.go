package proxy

import "faceoff/systems/gateway/wire"

// shadow is a copy of a request on its way to another upstream. Nobody waits for its answer, which is read and thrown
// away.
type shadow struct {
	kind    wire.Method
	answer  wire.Reader
	reading bool // the body of the answer
	spent   bool // the connection cannot be used again
}

// mirror sends a copy of a request. Where there is no place at once, there is no copy.
func (w *worker) mirror(u *Upstream, request []byte, kind wire.Method) {
	if !u.places.takeAtOnce() {
		w.metrics.unmirrored.Add(1)
		return
	}
	s := u.pick(nil)
	if s == nil {
		w.metrics.unmirrored.Add(1)
		u.places.release(w, false)
		return
	}
	l := w.idle(u, s)
	if l == nil {
		var err error
		if l, err = w.connect(u, s); err != nil {
			u.failed(s)
			w.metrics.unmirrored.Add(1)
			u.places.release(w, false)
			return
		}
	}
	if l.connecting {
		l.queue(request)
	}
	s.inFlight.Add(1)
	l.shadow = &shadow{kind: kind}
	w.metrics.mirrored.Add(1)
	w.wheel.start(&l.timer, u.Answer)
	if !l.connecting && l.send(request) == broken {
		l.endShadow(false)
	}
}

// follow reads what came for a shadow.
func (l *link) follow() {
	if l.connecting {
		if !l.writable && !l.hung {
			return
		}
		if connected(l.fd) != nil {
			l.upstream.failed(l.server)
			l.endShadow(false)
			return
		}
		l.connecting = false
	}
	w, s := l.w, l.shadow
	if l.flush() == broken {
		l.endShadow(false)
		return
	}
	for turn := 0; ; turn++ {
		whole, err := s.take(w, &l.in)
		switch {
		case err != nil:
			l.endShadow(false)
			return
		case whole:
			l.server.answered()
			l.endShadow(!s.spent && !l.pending())
			return
		case len(l.in.data) >= w.server.settings.MaxHead+readSize:
			l.endShadow(false)
			return
		}
		if turn >= turnsEach {
			l.in.keep(w)
			w.later(&l.conn)
			return
		}
		switch l.fill(w.upScratch, readSize) {
		case later:
			l.in.keep(w)
			return
		case ended, broken:
			l.endShadow(false)
			return
		}
	}
}

// take understands what is there of an answer.
func (s *shadow) take(w *worker, in *intake) (whole bool, err error) {
	r := &w.response
	for !s.reading {
		n, err := r.Parse(in.data, s.kind)
		if err != nil || n == 0 {
			return false, err
		}
		in.took(n)
		if r.Status >= 200 {
			s.reading, s.spent = true, r.Close
			s.answer.Start(r.Body)
		} else if r.Status == 101 {
			s.spent = true
			return true, nil
		}
	}
	for !s.answer.Done() {
		_, taken, _, err := s.answer.Next(in.data)
		if err != nil || taken == 0 {
			return false, err
		}
		in.took(taken)
	}
	return true, nil
}

// endShadow gives the place back, and keeps the connection where it can be used again.
func (l *link) endShadow(whole bool) {
	u := l.upstream
	l.shadow = nil
	l.server.inFlight.Add(-1)
	if whole {
		l.rest()
	} else {
		l.close()
	}
	u.places.release(l.w, false)
}
