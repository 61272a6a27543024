package proxy

import "time"

const (
	tick  = 32 * time.Millisecond // how exact a time limit is
	slots = 1024                  // of the wheel, a little more than half a minute
)

// timer is part of whatever has a time limit. The zero value is not set.
type timer struct {
	next, prev *timer
	due        time.Duration // since the worker's start; zero where it is not set
	at         time.Duration // when it is looked at, which may be sooner
	owner      expirer
}

type expirer interface{ expired() }

// wheel keeps timers. Setting one later, as each request does, only writes the new instant down: a timer is moved when
// it is looked at.
type wheel struct {
	heads [slots]timer // of rings
	now   time.Duration
	done  int64 // the last tick that was looked at
	set   int   // how many timers lie in the rings
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

// forget takes a timer out for good, so that what it is part of can be freed.
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

// advance looks at the timers of all ticks up to now.
func (w *wheel) advance(now time.Duration) {
	w.now = now
	last := int64(now / tick)
	if last-w.done > slots {
		w.done = last - slots // each ring once is enough
	}
	for w.done < last {
		w.done++
		head := &w.heads[w.done%slots]
		// What expires may set and forget timers, so that the ring is taken apart from its front, as it was.
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
