// Timeouts. Every request extends some, so extending must be cheap: it stores a time, and the timer
// moves in the wheel only when it is examined.

package proxy

import "time"

const (
	tick  = 32 * time.Millisecond // precision of timeouts
	slots = 1024                  // of the wheel: a little more than half a minute
)

// timer is embedded in what has a timeout. The zero value is not set.
type timer struct {
	next, prev *timer
	due        time.Duration // since the worker's start; zero if not set
	at         time.Duration // when it is examined, which may be sooner
	owner      expirer
}

type expirer interface{ expired() }

// wheel is a timing wheel. Extending a timer, as every request does, only stores the new time: the
// timer is moved when it is examined.
type wheel struct {
	heads [slots]timer // of linked lists
	now   time.Duration
	done  int64 // the last tick that was examined
	set   int   // number of timers in the lists
}

func newWheel() *wheel {
	w := &wheel{}
	for i := range w.heads {
		w.heads[i].next, w.heads[i].prev = &w.heads[i], &w.heads[i]
	}
	return w
}

func (w *wheel) start(t *timer, after time.Duration) {
	t.due = w.now + after
	if t.next != nil {
		if t.at <= t.due {
			return
		}
		w.unlink(t)
	}
	w.link(t)
}

func (w *wheel) stop(t *timer) { t.due = 0 }

// forget removes a timer for good, so that its owner can be freed.
func (w *wheel) forget(t *timer) {
	t.due = 0
	if t.next != nil {
		w.unlink(t)
	}
}

func (w *wheel) link(t *timer) {
	place := max(int64(t.due/tick)+1, w.done+1)
	place = min(place, w.done+slots-1)
	t.at = time.Duration(place) * tick
	head := &w.heads[place%slots]
	t.next, t.prev = head, head.prev
	head.prev.next = t
	head.prev = t
	w.set++
}

func (w *wheel) unlink(t *timer) {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
	w.set--
}

// advance examines the timers of all ticks up to now.
func (w *wheel) advance(now time.Duration) {
	w.now = now
	last := int64(now / tick)
	if last-w.done > slots {
		w.done = last - slots // once around the wheel is enough
	}
	for w.done < last {
		w.done++
		head := &w.heads[w.done%slots]
		// Expired timers may set and remove others, so the list is detached first and emptied from
		// its front.
		var turn timer
		if head.next == head {
			continue
		}
		turn.next, turn.prev = head.next, head.prev
		turn.next.prev, turn.prev.next = &turn, &turn
		head.next, head.prev = head, head
		for turn.next != &turn {
			t := turn.next
			w.unlink(t)
			switch {
			case t.due == 0:
			case t.due <= now:
				t.due = 0
				t.owner.expired()
			default:
				w.link(t)
			}
		}
	}
}
