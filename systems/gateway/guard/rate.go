package guard

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"faceoff/systems/gateway/wire"
)

// Rate lets so many requests a second through for each key, and a burst at once after a pause: a bucket that fills
// steadily. All workers share it.
type Rate struct {
	Limits
	seeds  [2]maphash.Seed
	shards [shards]shard
}

// digest stands for a key: however long keys are that somebody makes up, they take no more room. That two have the same is as
// good as impossible, and then they share a bucket.
type digest [2]uint64

// Limits are what the configuration says of a rate.
type Limits struct {
	Each  float64 // requests a second
	Burst float64
	Key   string // a field, in lower case; empty: where the request comes from
}

const (
	shards = 64

	// mostKeys is how many keys a shard knows. Beyond, some are forgotten: rather those that could have a whole burst by now.
	mostKeys = 2048

	// mostLooked is how many are looked at for that.
	mostLooked = 8
)

type shard struct {
	mu      sync.Mutex
	buckets map[digest]*bucket
	_       [40]byte // on a line of the cache of its own
}

type bucket struct {
	left float64
	at   time.Time
}

// NewRate makes a rate that nothing was taken of.
func NewRate(limits Limits) *Rate {
	rate := &Rate{Limits: limits, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range rate.shards {
		rate.shards[i].buckets = map[digest]*bucket{}
	}
	return rate
}

// take takes one for a request, and reports whether there was one. Requests without the field share one bucket.
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
		if len(s.buckets) >= mostKeys {
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

// forget makes room for a key: of a few, which the map gives in no order, those go of whom nothing is to be known, or
// else one. A look at all would make each key that is made up cost as much as all that are known.
func (s *shard) forget(now time.Time, limits *Limits) {
	looked := 0
	for key, b := range s.buckets {
		if looked++; looked > mostLooked {
			return
		}
		b.fill(now, limits)
		if b.left >= limits.Burst || (looked == mostLooked && len(s.buckets) >= mostKeys) {
			delete(s.buckets, key)
		}
	}
}
