package proxy

import (
	"sync"
	"sync/atomic"
)

// places bound how many requests are in flight to an upstream, whichever worker they came to. Who finds none waits in
// one queue, first come first served, which is bounded too.
type places struct {
	connections atomic.Int64 // to the upstream's servers, idle ones among them

	mu     sync.Mutex
	free   int
	queue  list
	long   int // the queue
	most   int // that it may be
	repeat budget
}

// budget is how many requests may be sent again: a part of those that came, so that trouble is not multiplied.
type budget struct {
	left, most, part float64
}

// leastBudget is how many may be sent again however few have come.
const leastBudget = 10

func newPlaces(settings UpstreamSettings) *places {
	p := &places{free: settings.Most, most: settings.Queue}
	p.repeat = newBudget(settings)
	return p
}

func newBudget(settings UpstreamSettings) budget {
	if settings.Retries == 0 {
		return budget{}
	}
	most := float64(max(settings.Most, leastBudget))
	return budget{leastBudget, most, settings.Retries}
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
	p.repeat.left = min(p.repeat.left+p.repeat.part, p.repeat.most)
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

// takeAtOnce is take for whom it is not worth waiting.
func (p *places) takeAtOnce() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free <= 0 {
		return false
	}
	p.free--
	return true
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
	p.free++
	next := p.admit()
	p.mu.Unlock()
	switch {
	case next == nil:
	case next.w == by:
		by.later(next)
	default:
		next.w.post(next)
	}
}

// admit takes who has waited longest out of the queue, with a place; nil where there is none of either. The caller holds
// the lock, and tells the client's worker afterwards.
func (p *places) admit() *client {
	if p.free <= 0 { // as there were made fewer, it may be below
		return nil
	}
	next := p.queue.first()
	if next != nil {
		p.free--
		p.long--
		next.wait.remove()
		next.granted.Store(true)
	}
	return next
}

// again reports whether a request may be sent again, and counts it.
func (p *places) again() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.repeat.left < 1 {
		return false
	}
	p.repeat.left--
	return true
}

// resize changes how many places there are. Those taken stay taken, and those added go to who waits.
func (p *places) resize(before int, after UpstreamSettings) {
	p.mu.Lock()
	p.free += after.Most - before
	p.most = after.Queue
	left := p.repeat.left
	p.repeat = newBudget(after)
	p.repeat.left = min(left, p.repeat.most)
	var admitted []*client
	for next := p.admit(); next != nil; next = p.admit() {
		admitted = append(admitted, next)
	}
	p.mu.Unlock()
	for _, c := range admitted {
		c.w.post(c)
	}
}
