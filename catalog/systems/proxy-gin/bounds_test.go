// Slots and idle connections under more clients than there is room for.

package main

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDescriptorsAreDivided(t *testing.T) {
	for limit, want := range map[uint64]shares{
		64:             {inbound: 22, outbound: 10},
		256:            {inbound: 150, outbound: 74},
		65536:          {inbound: 65504 - 16384, outbound: 16384},
		math.MaxUint64: {inbound: 1<<20 - 32 - 16384, outbound: 16384},
	} {
		got, err := divide(limit)
		if err != nil || got != want {
			t.Errorf("%d: %+v, %v, want %+v", limit, got, err, want)
		}
	}
	if _, err := divide(63); err == nil || !strings.Contains(err.Error(), "ulimit") {
		t.Errorf("63: %v", err)
	}
}

// gauge counts concurrent operations, and their maximum.
type gauge struct{ now, most atomic.Int32 }

// enter begins an operation, and returns a function that ends it.
func (g *gauge) enter() func() {
	now := g.now.Add(1)
	for most := g.most.Load(); now > most &&
		!g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
	return func() { g.now.Add(-1) }
}

func TestRequestsBeyondOutboundSlotsAreShed(t *testing.T) {
	const slots, clients = 4, 20
	var flying gauge
	release := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		defer flying.enter()()
		receive(t, release, "the release")
	})
	p := startProxy(t, upstream,
		func(s *settings, b *shares) { s.wait, b.outbound = 20*time.Millisecond, slots })

	shed := make(chan *http.Response, clients)
	statuses := make(chan int, clients)
	for range clients {
		c := connect(t, p.address)
		go func() {
			response := c.get("/product/")
			statuses <- response.StatusCode
			if response.StatusCode != 200 {
				shed <- response
			}
		}()
	}
	for range clients - slots {
		response := receive(t, shed, "a request that is shed")
		if got := response.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After %q", got)
		}
		wantError(t, response, http.StatusServiceUnavailable)
	}
	close(release)
	answered := 0
	for range clients {
		if receive(t, statuses, "a response") == 200 {
			answered++
		}
	}
	if n := flying.most.Load(); answered != slots || n != slots {
		t.Errorf("%d answered, %d at once, want %d", answered, n, slots)
	}
}

func TestRequestWaitsForOutboundSlot(t *testing.T) {
	var flying gauge
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		defer flying.enter()()
		time.Sleep(5 * time.Millisecond)
	})
	p := startProxy(t, upstream, func(_ *settings, b *shares) { b.outbound = 1 })
	var clients sync.WaitGroup
	for range 10 {
		c := connect(t, p.address)
		clients.Go(func() {
			if response := c.get("/product/"); response.StatusCode != 200 {
				t.Errorf("status %d", response.StatusCode)
			}
		})
	}
	clients.Wait()
	if n := flying.most.Load(); n != 1 {
		t.Errorf("%d requests at once, want 1", n)
	}
}

func TestMoreKeepAliveClientsThanSlotsAreServed(t *testing.T) {
	const slots, clients, turns = 4, 60, 5
	upstream := startUpstream(t,
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	p := startProxy(t, upstream, func(_ *settings, b *shares) { b.inbound = slots })
	var ended atomic.Int32
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var c *client
			for range turns {
				if c == nil {
					c = connect(t, p.address)
				}
				response := c.get("/product/")
				if got := body(t, response); got != "ok" {
					t.Errorf("body %q", got)
				}
				if response.Close {
					ended.Add(1)
					c = nil
				}
			}
		})
	}
	all.Wait()
	if ended.Load() == 0 {
		t.Error("no response closed its connection")
	}
}

func TestConnectionsAreKeptWithASlotEach(t *testing.T) {
	const slots = 4
	upstream := startUpstream(t,
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	p := startProxy(t, upstream, func(_ *settings, b *shares) { b.inbound = slots })
	var clients []*client
	for range slots {
		clients = append(clients, connect(t, p.address))
	}
	for range 10 {
		for _, c := range clients {
			response := c.get("/product/")
			body(t, response)
			if response.Close {
				t.Fatal("a response closed its connection although no client waited")
			}
		}
	}
}

func TestIdleConnectionsAreClosedForNewOnes(t *testing.T) {
	const slots = 4
	upstream := startUpstream(t,
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	p := startProxy(t, upstream, func(_ *settings, b *shares) { b.inbound = slots })
	for i := range slots {
		c := connect(t, p.address)
		if i%2 == 0 { // half of them never send a byte, half have sent a request
			body(t, c.get("/product/"))
		}
	}
	for range slots + 1 {
		if got := body(t, connect(t, p.address).get("/product/")); got != "ok" {
			t.Errorf("body %q", got)
		}
	}
}

func TestLogIsThrottled(t *testing.T) {
	var written syncBuffer
	log := &throttle{to: &written}
	for range 5 * linesPerSecond {
		fmt.Fprintln(log, "line")
	}
	if n := strings.Count(written.String(), "line\n"); n < linesPerSecond || n == 5*linesPerSecond {
		t.Errorf("%d lines written", n)
	}
	log.mu.Lock()
	log.since = log.since.Add(-time.Second)
	log.mu.Unlock()
	fmt.Fprintln(log, "later")
	if got := written.String(); !strings.Contains(got, "more lines omitted\nlater\n") {
		t.Errorf("written at the end: %s", got)
	}
}
