// Rate limits: a token bucket per key, in shards with a lock each. The number of keys is bounded,
// so that invented keys cannot use up memory.

package guard

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"faceoff/gateway/wire"
)

// Rate is a token bucket per key: a steady rate of requests, and a burst after a pause. All workers
// share it.
type Rate struct {
	Limits
	seeds  [2]maphash.Seed
	shards [shards]shard
}

// digest stands for a key, so that long keys take no more memory. A collision is practically
// impossible; two such keys would share a bucket.
type digest [2]uint64

// Limits are the configuration of a rate.
type Limits struct {
	Each  float64 // requests per second
	Burst float64
	Key   string // a field, in lower case; empty: the client's address
}

const (
	shards = 64

	// maxKeys is how many keys a shard holds. Beyond it keys are evicted, full buckets first.
	maxKeys = 2048

	// maxExamined is how many keys are examined for an eviction.
	maxExamined = 8
)

type shard struct {
	mu      sync.Mutex
	buckets map[digest]*bucket
	_       [40]byte // pads the shard to a cache line
}

type bucket struct {
	left float64
	at   time.Time
}

// NewRate creates a rate with full buckets.
func NewRate(limits Limits) *Rate {
	rate := &Rate{Limits: limits, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range rate.shards {
		rate.shards[i].buckets = map[digest]*bucket{}
	}
	return rate
}

// take reports whether a request is within the rate, and counts it. Requests without the field
// share one bucket.
func (rate *Rate) take(r *wire.Request, from netip.Addr, now time.Time) bool {
	var scratch [64]byte
	key := scratch[:0]
	if rate.Key == "" {
		address := from.As16()
		key = append(key, address[:]...)
	} else {
		key = append(key, r.Only(rate.Key)...)
	}
	of := digest{maphash.Bytes(rate.seeds[0], key), maphash.Bytes(rate.seeds[1], key)}
	return rate.shards[of[0]%shards].take(of, now, &rate.Limits)
}

func (s *shard) take(key digest, now time.Time, limits *Limits) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[key]
	if b != nil {
		b.fill(now, limits)
	} else {
		if len(s.buckets) >= maxKeys {
			s.forget(now, limits)
		}
		b = &bucket{limits.Burst, now}
		s.buckets[key] = b
	}
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

func (b *bucket) fill(now time.Time, limits *Limits) {
	if pause := now.Sub(b.at); pause > 0 {
		b.left, b.at = min(b.left+pause.Seconds()*limits.Each, limits.Burst), now
	}
}

// forget makes room for a key. It examines a few keys in the map's random order, and evicts those
// with full buckets, or else one of them. Examining all keys would make each invented key as
// expensive as all known ones together.
func (s *shard) forget(now time.Time, limits *Limits) {
	examined := 0
	for key, b := range s.buckets {
		if examined++; examined > maxExamined {
			return
		}
		b.fill(now, limits)
		if b.left >= limits.Burst || (examined == maxExamined && len(s.buckets) >= maxKeys) {
			delete(s.buckets, key)
		}
	}
}
