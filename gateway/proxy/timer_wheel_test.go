// The timing wheel against random timers, and the buffers of a worker.

package proxy

import (
	"math/rand/v2"
	"testing"
	"time"
)

// alarm records when it expired.
type alarm struct {
	timer
	wheel *wheel
	at    []time.Duration
	then  func()
}

func (a *alarm) expired() {
	a.at = append(a.at, a.wheel.now)
	if a.then != nil {
		a.then()
	}
}

func TestTimersExpireInTimeAndOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	w := newWheel()
	alarms := make([]*alarm, 200)
	due := make([]time.Duration, len(alarms)) // zero: not set
	for i := range alarms {
		alarms[i] = &alarm{wheel: w}
		alarms[i].owner = alarms[i]
	}
	for range 20000 {
		i := random.IntN(len(alarms))
		switch random.IntN(4) {
		case 0:
			w.stop(&alarms[i].timer)
			due[i] = 0
		case 1:
			w.forget(&alarms[i].timer)
			due[i] = 0
		default:
			after := time.Duration(random.Int64N(int64(90 * time.Second)))
			w.start(&alarms[i].timer, after)
			due[i] = w.now + after
		}
		w.advance(w.now + time.Duration(random.Int64N(int64(200*time.Millisecond))))
		for i, a := range alarms {
			switch {
			case len(a.at) > 1 || (len(a.at) == 1 && (due[i] == 0 || a.at[0] < due[i])):
				t.Fatalf("alarm %d, due at %v, expired at %v", i, due[i], a.at)
			case len(a.at) == 1:
				due[i], a.at = 0, nil
			case due[i] != 0 && w.now > due[i]+2*tick:
				t.Fatalf("alarm %d, due at %v, has not expired at %v", i, due[i], w.now)
			}
		}
	}
	w.advance(w.now + 3*time.Minute)
	w.advance(w.now + 3*time.Minute)
	if w.set != 0 {
		t.Errorf("%d timers are left", w.set)
	}
}

func TestExpiredTimersMayChangeOthers(t *testing.T) {
	w := newWheel()
	first, second, third := &alarm{wheel: w}, &alarm{wheel: w}, &alarm{wheel: w}
	for _, a := range []*alarm{first, second, third} {
		a.owner = a
		w.start(&a.timer, time.Second)
	}
	first.then = func() {
		w.forget(&second.timer)
		w.start(&first.timer, time.Second)
	}
	w.advance(1100 * time.Millisecond)
	w.advance(2300 * time.Millisecond)
	if len(first.at) != 2 || len(second.at) != 0 || len(third.at) != 1 {
		t.Errorf("%v, %v, %v", first.at, second.at, third.at)
	}
}

func TestBuffersAreReused(t *testing.T) {
	var b buffers
	for _, n := range []int{0, 1, 511, 512, 513, 5000, 1 << 20, 1 << 22} {
		buffer := b.get(n)
		if len(buffer) != 0 || cap(buffer) < n || cap(buffer) > max(512, 2*n) {
			t.Errorf("for %d bytes: %d of %d", n, len(buffer), cap(buffer))
		}
		b.put(append(buffer, make([]byte, n)...))
		if again := b.get(n); n <= 1<<20 && cap(again) != cap(buffer) {
			t.Errorf("for %d bytes a buffer of %d and then one of %d", n, cap(buffer), cap(again))
		}
	}
	b.put(nil)
	b.put(make([]byte, 700)) // no power of two
	if got := b.get(700); cap(got) != 1024 {
		t.Errorf("a buffer of %d", cap(got))
	}
}
