// Limits the requests in flight to an upstream. A request needs a slot, or waits in a queue of
// bounded length and time; beyond that it is shed with 503. Rules keep slow uploads, slow readers
// and single clients from taking all slots (shares.go, slow_readers.go). Start reading at
// limiter.acquire and limiter.grantNext.

package proxy

import (
	"sync"
	"sync/atomic"
)

// limiter bounds how many requests are in flight to an upstream, over all workers. Each takes a
// slot. A request that finds none waits in a bounded queue, first come first served. Requests whose
// body is incomplete may take half of the slots at most: clients that send slowly could otherwise
// take all of them. Complete requests in the queue overtake them.
type limiter struct {
	connections atomic.Int64 // to the servers, idle ones included

	mu           sync.Mutex
	total        int
	free         int
	lagging      int // slots whose client reads its response too slowly
	stalled      int // those of them whose response waits for the client
	shares       Shares
	holders      holders // of slots
	waiting      holders // of queue positions
	uploading    int     // slots of requests with an incomplete body
	maxUploading int     // limit of uploading
	// complete requests, requests with an incomplete body, and clients at their share
	queue     [3]list
	arrivals  uint64 // numbers the requests in the order of arrival
	queued    int    // length of the three queues
	maxQueued int    // limit of queued
	retries   retryBudget
}

// retryBudget limits retries to a share of requests, so that retries do not multiply a failure.
type retryBudget struct {
	left, most, part float64
}

// minRetryBudget is how many retries are allowed before any request has earned one.
const minRetryBudget = 10

func newLimiter(settings UpstreamSettings) *limiter {
	return &limiter{
		total:        settings.Most,
		free:         settings.Most,
		shares:       settings.Shares,
		holders:      newHolders(),
		waiting:      newHolders(),
		maxUploading: atLeastHalf(settings.Most),
		maxQueued:    settings.Queue,
		retries:      newRetryBudget(settings),
	}
}

// atLeastHalf is how many slots requests with an incomplete body may take: one at least.
func atLeastHalf(slots int) int { return max(slots/2, 1) }

func newRetryBudget(settings UpstreamSettings) retryBudget {
	if settings.Retries == 0 {
		return retryBudget{}
	}
	most := float64(max(settings.Most, minRetryBudget))
	return retryBudget{minRetryBudget, most, settings.Retries}
}

// outcome is the result of acquire.
type outcome uint8

const (
	granted outcome = iota
	queued
	shed
)

func (l *limiter) acquire(c *client) outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retries.left = min(l.retries.left+l.retries.part, l.retries.most)
	switch {
	case l.free > 0 && l.mayGrant(c):
		l.grant(c)
		return granted
	// A request that waits only for its own body may do so although the queue is full.
	case l.queued >= l.maxQueued && !(c.uploading && l.free > 0 && l.queued < l.maxUploading),
		l.atQueueShare(c):
		return shed
	}
	l.queued++
	l.waiting.add(c, 1)
	l.enqueue(c)
	return queued
}

// mayGrant reports whether a client may take a free slot.
func (l *limiter) mayGrant(c *client) bool {
	return !(c.uploading && l.uploading >= l.maxUploading) && !l.atShare(c)
}

// grant gives a client a slot. The caller holds the lock.
func (l *limiter) grant(c *client) {
	l.free--
	l.holders.add(c, 1)
	if c.uploading {
		l.uploading++
	}
}

// enqueue adds a client to the end of its queue. The caller holds the lock.
func (l *limiter) enqueue(c *client) {
	l.arrivals++
	c.queuePosition = l.arrivals
	queue := &l.queue[0]
	switch {
	case l.atShare(c):
		queue = &l.queue[2]
	case c.uploading:
		queue = &l.queue[1]
	}
	queue.push(&c.wait, c)
}

// tryAcquire takes a slot if one is free, without waiting.
func (l *limiter) tryAcquire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free <= 0 {
		return false
	}
	l.free--
	return true
}

// leaveQueue removes a client from the queue. False means that it has just been granted a slot, and
// its worker is about to be notified.
func (l *limiter) leaveQueue(c *client) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.wait.remove() {
		return false
	}
	l.queued--
	l.waiting.add(c, -1)
	return true
}

// release returns the slot of a client, or of a mirrored request if the client is nil.
func (l *limiter) release(by *worker, c *client) {
	l.mu.Lock()
	l.free++
	if c != nil {
		l.holders.add(c, -1)
		if c.uploading { // the body never became complete
			l.uploading--
		}
	}
	l.unlock(by)
}

// uploadDone records that the body of a request with a slot is complete.
func (l *limiter) uploadDone(by *worker) {
	l.mu.Lock()
	l.uploading--
	l.unlock(by)
}

// queuedUploadDone records that the body of a queued request is complete.
func (l *limiter) queuedUploadDone(c *client) {
	l.mu.Lock()
	if !c.wait.remove() { // it has just been granted a slot
		l.mu.Unlock()
		return
	}
	c.uploading = false
	l.enqueue(c)
	l.unlock(c.w)
}

// unlock grants a free slot to a queued client, and releases the lock.
func (l *limiter) unlock(by *worker) {
	next := l.grantNext()
	l.mu.Unlock()
	by.notifyGranted(next)
}

// notifyGranted runs a client that was granted a slot, on its own worker. It ignores nil.
func (w *worker) notifyGranted(next *client) {
	switch {
	case next == nil:
	case next.w == w:
		w.schedule(&next.conn)
	default:
		next.w.post(next)
	}
}

// grantNext takes the client that has waited longest out of the queue and gives it a slot. It
// returns nil if there is no client or no slot. The caller holds the lock, and notifies the
// client's worker afterwards.
func (l *limiter) grantNext() *client {
	if l.free <= 0 { // it is negative after a reload with fewer slots
		return nil
	}
	next := l.first()
	for next != nil && l.atShare(next) { // reached while it waited
		next.wait.remove()
		l.queue[2].push(&next.wait, next)
		next = l.first()
	}
	if next == nil {
		next = l.firstBelowShare()
	}
	if next != nil {
		l.grant(next)
		l.queued--
		l.waiting.add(next, -1)
		next.wait.remove()
		next.granted.Store(true)
	}
	return next
}

// first returns the client below its share that has waited longest, or nil.
func (l *limiter) first() *client {
	next := l.queue[0].first()
	if other := l.queue[1].first(); other != nil && l.uploading < l.maxUploading &&
		(next == nil || other.queuePosition < next.queuePosition) {
		next = other
	}
	return next
}

// firstBelowShare returns the first client of the third queue that is below its share now, or nil.
func (l *limiter) firstBelowShare() *client {
	seen := 0
	for c := range l.queue[2].clients() {
		if l.mayGrant(c) {
			return c
		}
		if seen++; seen == maxWeighed {
			break
		}
	}
	return nil
}

// countLagging adds to the counts of slow readers.
func (l *limiter) countLagging(lagging, stalled int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lagging += lagging
	l.stalled += stalled
}

// mostlyLagging reports whether slow readers have more than half of the slots.
func (l *limiter) mostlyLagging() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lagging > l.total/2
}

// shortOfSlots reports whether more than half of the slots wait for slow readers, while a request
// waits or few slots are free.
func (l *limiter) shortOfSlots() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stalled > l.total/2 && (l.queued > 0 || l.free < l.total/8)
}

// takeRetry reports whether a request may be retried, and counts it.
func (l *limiter) takeRetry() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retries.left < 1 {
		return false
	}
	l.retries.left--
	return true
}

// resize changes the number of slots. Taken slots stay taken, and new ones go to queued clients.
func (l *limiter) resize(before int, after UpstreamSettings) {
	l.mu.Lock()
	l.free += after.Most - before
	l.total, l.shares = after.Most, after.Shares
	l.maxUploading = atLeastHalf(after.Most)
	l.maxQueued = after.Queue
	left := l.retries.left
	l.retries = newRetryBudget(after)
	l.retries.left = min(left, l.retries.most)
	var admitted []*client
	for next := l.grantNext(); next != nil; next = l.grantNext() {
		admitted = append(admitted, next)
	}
	l.mu.Unlock()
	for _, c := range admitted {
		c.w.post(c)
	}
}
