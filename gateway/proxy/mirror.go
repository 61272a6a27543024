// Copies of requests to another upstream, to test it with real traffic. A copy never delays its
// original: it needs a free slot at once, and its response is discarded.

package proxy

import "faceoff/gateway/wire"

// mirrorRequest is a copy of a request that goes to another upstream. Its response is read and
// discarded.
type mirrorRequest struct {
	kind    wire.Method
	answer  wire.Reader
	reading bool // the head of the response was read
	spent   bool // the connection cannot be reused
}

// mirror sends a copy of a request, unless no slot is free at once.
func (w *worker) mirror(u *Upstream, request []byte, kind wire.Method) {
	if !u.limiter.tryAcquire() {
		w.metrics.unmirrored.Add(1)
		return
	}
	s := u.pick(nil)
	if s == nil {
		w.metrics.unmirrored.Add(1)
		u.limiter.release(w, nil)
		return
	}
	uc := w.idle(u, s)
	if uc == nil {
		var err error
		if uc, err = w.connect(u, s, false); err != nil {
			u.recordFailure(s)
			w.metrics.unmirrored.Add(1)
			u.limiter.release(w, nil)
			return
		}
	}
	if uc.connecting {
		uc.queue(request)
	}
	s.inFlight.Add(1)
	uc.mirror = &mirrorRequest{kind: kind}
	w.metrics.mirrored.Add(1)
	w.wheel.start(&uc.timer, u.Answer)
	if !uc.connecting && uc.send(request) == broken {
		uc.endMirror(false)
	}
}

// pumpMirror reads the response to a mirrored request.
func (uc *upstreamConn) pumpMirror() {
	if uc.connecting {
		if !uc.writable && !uc.peerClosed {
			return
		}
		if connected(uc.fd) != nil {
			uc.upstream.recordFailure(uc.server)
			uc.endMirror(false)
			return
		}
		uc.connecting = false
	}
	w, s := uc.w, uc.mirror
	if uc.flush() == broken {
		uc.endMirror(false)
		return
	}
	for turn := 0; ; turn++ {
		whole, err := s.take(w, &uc.in)
		switch {
		case err != nil:
			uc.endMirror(false)
			return
		case whole:
			uc.server.recordSuccess()
			uc.endMirror(!s.spent && !uc.pending())
			return
		case len(uc.in.data) >= w.server.settings.MaxHead+readSize:
			uc.endMirror(false)
			return
		}
		if turn >= readsPerTurn {
			uc.in.keep(w)
			w.schedule(&uc.conn)
			return
		}
		switch uc.fill(w.upScratch, readSize) {
		case later:
			uc.in.keep(w)
			return
		case ended, broken:
			uc.endMirror(false)
			return
		}
	}
}

// take parses what has arrived of the response.
func (s *mirrorRequest) take(w *worker, in *intake) (whole bool, err error) {
	r := &w.response
	for !s.reading {
		n, err := r.Parse(in.data, s.kind)
		if err != nil || n == 0 {
			return false, err
		}
		in.consume(n)
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
		in.consume(taken)
	}
	return true, nil
}

// endMirror releases the slot, and keeps the connection open if it can be reused.
func (uc *upstreamConn) endMirror(whole bool) {
	u := uc.upstream
	uc.mirror = nil
	uc.server.inFlight.Add(-1)
	if whole {
		uc.keepIdle()
	} else {
		uc.close()
	}
	u.limiter.release(uc.w, nil)
}
