package proxy

import "sync"

// places bound how many requests are in flight to an upstream, whichever worker they came to. Who finds none waits in
// one queue, first come first served, which is bounded too.
type places struct {
	mu    sync.Mutex
	free  int
	queue list
	long  int // the queue
	most  int // that it may be
}

// outcome is what came of asking for a place.
type outcome uint8

const (
	granted outcome = iota
	queued
	shed
)

func (p *places) take(c *client) outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.free > 0:
		p.free--
		return granted
	case p.long >= p.most:
		return shed
	}
	p.long++
	p.queue.push(&c.wait, c)
	return queued
}

// giveUp takes a client out of the queue. False means that it was granted a place meanwhile, which its worker is about
// to be told.
func (p *places) giveUp(c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !c.wait.remove() {
		return false
	}
	p.long--
	return true
}

// release gives a place back, to whom has waited longest.
func (p *places) release(by *worker) {
	p.mu.Lock()
	next := p.queue.first()
	if next == nil {
		p.free++
	} else {
		next.wait.remove()
		next.granted.Store(true)
		p.long--
	}
	p.mu.Unlock()
	switch {
	case next == nil:
	case next.w == by:
		by.later(next)
	default:
		next.w.post(next)
	}
}

// resize changes how many places there are. Those taken stay taken.
func (p *places) resize(by, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += by
	p.most = most
}
