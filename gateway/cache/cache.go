// Package cache stores responses and decides whether they may be reused, as a shared cache by RFC
// 9111. It does no I/O.
//
// Start reading at Store.Find and Store.Begin. Sections in comments are those of RFC 9111.
package cache

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"faceoff/gateway/wire"
)

// Limits bound what is stored.
type Limits struct {
	Size   int64 // of all responses, in bytes
	Object int64 // of the body of one response
}

// Store holds the stored responses, for all workers. The least recently used ones are evicted
// first.
type Store struct {
	Limits

	mu      sync.Mutex
	entries map[string][]*Entry // by key; the newest is last
	recent  list.List           // of entries, most recently used first
	used    int64               // bytes of entries
	coming  int64               // bytes reserved for drafts
}

// maxVariants is how many responses there may be for a key.
const maxVariants = 16

// New creates a store.
func New(limits Limits) *Store { return &Store{Limits: limits, entries: map[string][]*Entry{}} }

// Find returns the entry for a request. other reports that there are entries for its key, but none
// that matches.
func (s *Store) Find(key string, r *wire.Request) (e *Entry, other bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.entries[key]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].matchesVary(r) {
			s.recent.MoveToFront(all[i].position)
			return all[i], true
		}
	}
	return nil, len(all) > 0
}

// Used returns how many bytes are stored.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Drop removes the entries of a key (4.4).
func (s *Store) Drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range slices.Clone(s.entries[key]) {
		s.remove(e)
	}
}

// Remove removes an entry if it is still stored.
func (s *Store) Remove(e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(e)
}

func (s *Store) remove(e *Entry) {
	all := s.entries[e.key]
	i := slices.Index(all, e)
	if i < 0 {
		return
	}
	s.used -= e.size()
	s.recent.Remove(e.position)
	if len(all) == 1 {
		delete(s.entries, e.key)
	} else {
		s.entries[e.key] = slices.Delete(all, i, i+1)
	}
}

// put stores an entry, and removes those that its request would have found. The caller holds the
// lock.
func (s *Store) put(e *Entry) {
	size := e.size()
	if size > s.Size-s.coming {
		return
	}
	for _, other := range slices.Clone(s.entries[e.key]) {
		if slices.Equal(other.vary, e.vary) || len(s.entries[e.key]) >= maxVariants {
			s.remove(other)
		}
	}
	s.makeRoom(size)
	s.used += size
	e.position = s.recent.PushFront(e)
	s.entries[e.key] = append(s.entries[e.key], e)
}

// makeRoom evicts the least recently used entries until there is room. The caller holds the lock.
func (s *Store) makeRoom(n int64) {
	for s.used+s.coming+n > s.Size {
		last := s.recent.Back()
		if last == nil {
			return
		}
		s.remove(last.Value.(*Entry))
	}
}

// Renew stores an entry again after the upstream has validated it, and returns the updated entry.
// It returns nil if the upstream validated another response.
func (s *Store) Renew(e *Entry, r *wire.Response, sent, now time.Time) *Entry {
	after := e.renewed(r, sent, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(e)
	control := readCacheControl(&r.Fields)
	if after != nil && !control.noStore && !control.private {
		s.put(after)
	}
	return after
}

// Draft is a response that becomes an entry once its body is complete.
type Draft struct {
	store   *Store
	entry   *Entry
	head    []byte // of the entry, without its end
	body    []byte
	most    int64 // largest size of the body
	claimed int64
}

// lengthLine bounds the Content-Length line and the end of the head.
const lengthLine = 64

// Begin starts to store a response whose head was read. It returns nil if the response may not be
// stored or there is no room. request is the request as received.
func (s *Store) Begin(
	key string,
	request *wire.Request,
	r *wire.Response,
	sent, now time.Time,
	own []string,
) *Draft {
	d := &Draft{store: s, most: s.Object}
	switch r.Body.Kind {
	case wire.UntilEnd: // it might be truncated
		return nil
	case wire.Sized:
		if d.most = r.Body.Length; d.most > s.Object {
			return nil
		}
	case wire.None:
		d.most = 0
	}
	if d.entry = newEntry(key, request, r, sent, now, own); d.entry == nil {
		return nil
	}
	d.head = d.entry.appendHead(r)
	d.claimed = d.most + int64(len(d.head)+lengthLine) + d.entry.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.claimed+s.coming > s.Size/2 {
		return nil // too many others are being stored
	}
	s.makeRoom(d.claimed)
	s.coming += d.claimed
	return d
}

// Add adds to the body. False means that the body is too long and will not be stored.
func (d *Draft) Add(content []byte) bool {
	if int64(len(d.body)+len(content)) > d.most {
		return false
	}
	d.body = append(d.body, content...)
	return true
}

// Finish stores the response, whose body is complete.
func (d *Draft) Finish() {
	e := d.entry
	e.finish(d.head, d.body)
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.coming -= d.claimed
	d.store.put(e)
}

// Cancel releases the reserved room.
func (d *Draft) Cancel() {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.coming -= d.claimed
}
