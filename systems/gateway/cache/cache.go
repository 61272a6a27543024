// Package cache keeps answers and decides whether they may be sent again, as a shared cache by RFC 9111. Sections in comments are its own. It does no I/O.
package cache

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"faceoff/systems/gateway/wire"
)

// Limits are how much is stored.
type Limits struct {
	Size   int64 // bytes, of all answers
	Object int64 // of the body of one
}

// Store is what is stored, for all workers. What was not used for longest gives way.
type Store struct {
	Limits

	mu      sync.Mutex
	entries map[string][]*Entry // by key; the last came last
	recent  list.List           // of entries; the first was used last
	used    int64               // bytes, of entries
	coming  int64               // and of answers that are about to become some
}

// mostVariants is how many answers there may be for a key.
const mostVariants = 16

// New makes a store.
func New(limits Limits) *Store { return &Store{Limits: limits, entries: map[string][]*Entry{}} }

// Find is the entry for a request. other tells that there are some for its key, but none for it.
func (s *Store) Find(key string, r *wire.Request) (e *Entry, other bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.entries[key]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].fits(r) {
			s.recent.MoveToFront(all[i].place)
			return all[i], true
		}
	}
	return nil, len(all) > 0
}

// Used is how many bytes are stored.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Drop forgets what is stored for a key (4.4).
func (s *Store) Drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range slices.Clone(s.entries[key]) {
		s.remove(e)
	}
}

// Remove forgets an entry, if it is still there.
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
	s.recent.Remove(e.place)
	if len(all) == 1 {
		delete(s.entries, e.key)
	} else {
		s.entries[e.key] = slices.Delete(all, i, i+1)
	}
}

// put stores an entry in place of those that a request for it would have got. The caller holds the lock.
func (s *Store) put(e *Entry) {
	size := e.size()
	if size > s.Size-s.coming {
		return
	}
	for _, other := range slices.Clone(s.entries[e.key]) {
		if slices.Equal(other.vary, e.vary) || len(s.entries[e.key]) >= mostVariants {
			s.remove(other)
		}
	}
	s.makeRoom(size)
	s.used += size
	e.place = s.recent.PushFront(e)
	s.entries[e.key] = append(s.entries[e.key], e)
}

// makeRoom forgets what was not used for longest, until there is room for more. The caller holds the lock.
func (s *Store) makeRoom(n int64) {
	for s.used+s.coming+n > s.Size {
		last := s.recent.Back()
		if last == nil {
			return
		}
		s.remove(last.Value.(*Entry))
	}
}

// Renew stores an entry again that the upstream has said still holds, and returns it as it is then; nil where that was said of another.
func (s *Store) Renew(e *Entry, r *wire.Response, sent, now time.Time) *Entry {
	after := e.renewed(r, sent, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(e)
	said := read(&r.Fields)
	if after != nil && !said.noStore && !said.private {
		s.put(after)
	}
	return after
}

// Draft is an answer that becomes an entry once its body is here.
type Draft struct {
	store   *Store
	entry   *Entry
	head    []byte // the entry's, without its end
	body    []byte
	most    int64 // bytes of it
	claimed int64
}

// lengthLine is how long a field with a length can be, and the end of a head.
const lengthLine = 64

// Begin begins an entry for an answer, whose head was read; nil where it may not be stored, or there is no room. asked is the request as it came.
func (s *Store) Begin(key string, asked *wire.Request, r *wire.Response, sent, now time.Time, own []string) *Draft {
	d := &Draft{store: s, most: s.Object}
	switch r.Body.Kind {
	case wire.UntilEnd: // nobody knows whether that is whole
		return nil
	case wire.Sized:
		if d.most = r.Body.Length; d.most > s.Object {
			return nil
		}
	case wire.None:
		d.most = 0
	}
	if d.entry = newEntry(key, asked, r, sent, now, own); d.entry == nil {
		return nil
	}
	d.head = d.entry.compose(r)
	d.claimed = d.most + int64(len(d.head)+lengthLine) + d.entry.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.claimed+s.coming > s.Size/2 {
		return nil // as many others are about to be stored
	}
	s.makeRoom(d.claimed)
	s.coming += d.claimed
	return d
}

// Add takes more of the body. False means that it is too long, and nothing becomes of it.
func (d *Draft) Add(content []byte) bool {
	if int64(len(d.body)+len(content)) > d.most {
		return false
	}
	d.body = append(d.body, content...)
	return true
}

// Finish stores the answer, whose body is whole.
func (d *Draft) Finish() {
	e := d.entry
	e.seal(d.head, d.body)
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.coming -= d.claimed
	d.store.put(e)
}

// Cancel gives back the room that was meant for the answer.
func (d *Draft) Cancel() {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.coming -= d.claimed
}
