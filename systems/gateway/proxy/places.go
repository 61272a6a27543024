package proxy

import (
	"sync"
	"sync/atomic"
)

// places bound how many requests are in flight to an upstream, whichever worker they came to. Who finds none waits in
// one queue, first come first served, which is bounded too. Requests whose body is still coming have half of the places at most, or clients that send
// slowly could have them all; others in the queue pass them by.
type places struct {
	connections atomic.Int64 // to the upstream's servers, idle ones among them

	mu         sync.Mutex
	free       int
	coming     int     // those taken by requests whose body is still coming,
	mostComing int     // and how many that may be
	queue      [2]list // of requests that are here whole, and of those whose body is still coming,
	turns      uint64  // which tell who of them came first
	long       int     // both
	most       int     // that they may be
	repeat     budget
}

// budget is how many requests may be sent again: a part of those that came, so that trouble is not multiplied.
type budget struct {
	left, most, part float64
}

// leastBudget is how many may be sent again however few have come.
const leastBudget = 10

func newPlaces(settings UpstreamSettings) *places {
	return &places{free: settings.Most, mostComing: halfOf(settings.Most), most: settings.Queue, repeat: newBudget(settings)}
}

// halfOf is how many places requests may have whose body is still coming: one at least.
func halfOf(places int) int { return max(places/2, 1) }

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
	case p.free > 0 && !(c.coming && p.coming >= p.mostComing):
		p.grant(c)
		return granted
	// Who waits for nothing but its own body does so even where nobody waits for places.
	case p.long >= p.most && !(c.coming && p.free > 0 && p.long < p.mostComing):
		return shed
	}
	p.long++
	p.enqueue(c)
	return queued
}

// grant gives a client a place. The caller holds the lock.
func (p *places) grant(c *client) {
	p.free--
	if c.coming {
		p.coming++
	}
}

// enqueue has a client wait behind all others. The caller holds the lock.
func (p *places) enqueue(c *client) {
	p.turns++
	c.turn = p.turns
	queue := &p.queue[0]
	if c.coming {
		queue = &p.queue[1]
	}
	queue.push(&c.wait, c)
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

// release gives a place back, to whom has waited longest. coming tells that the request's body never came whole.
func (p *places) release(by *worker, coming bool) {
	if coming {
		p.change(by, 1, 1)
	} else {
		p.change(by, 1, 0)
	}
}

// arrived is told that the body of a request which has a place is here whole.
func (p *places) arrived(by *worker) { p.change(by, 0, 1) }

// arrivedWaiting is told that the body of a request is here whole that waits.
func (p *places) arrivedWaiting(c *client) {
	p.mu.Lock()
	var next *client
	if c.wait.remove() { // else it was granted a place meanwhile, which its worker is about to be told
		c.coming = false
		p.enqueue(c)
		next = p.admit()
	}
	p.mu.Unlock()
	c.w.tell(next)
}

// change gives places back, and what requests had of them whose body was still coming.
func (p *places) change(by *worker, free, coming int) {
	p.mu.Lock()
	p.free += free
	p.coming -= coming
	next := p.admit()
	p.mu.Unlock()
	by.tell(next)
}

// tell has a client looked at that was granted a place, whosever it is; nil is none.
func (w *worker) tell(next *client) {
	switch {
	case next == nil:
	case next.w == w:
		w.later(&next.conn)
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
	next := p.queue[0].first()
	if other := p.queue[1].first(); other != nil && p.coming < p.mostComing && (next == nil || other.turn < next.turn) {
		next = other
	}
	if next != nil {
		p.grant(next)
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
	p.mostComing = halfOf(after.Most)
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
