// Intrusive lists of clients: an entry is a part of its client, so that joining and leaving a list
// allocates nothing.

package proxy

import "iter"

// listEntry is a client's position in a list. The zero value is in no list.
type listEntry struct {
	next, prev *listEntry
	client     *client
}

// list is a linked list of clients. The zero value is empty.
type list struct{ head listEntry }

func (l *list) empty() bool { return l.head.next == nil || l.head.next == &l.head }

func (l *list) push(p *listEntry, c *client) {
	if l.head.next == nil {
		l.head.next, l.head.prev = &l.head, &l.head
	}
	p.client = c
	p.next, p.prev = &l.head, l.head.prev
	l.head.prev.next = p
	l.head.prev = p
}

// first returns the client that was pushed first, or nil.
func (l *list) first() *client {
	if l.empty() {
		return nil
	}
	return l.head.next.client
}

// clients iterates from the first to the last. The current client may be removed meanwhile.
func (l *list) clients() iter.Seq[*client] {
	return func(yield func(*client) bool) {
		if l.empty() {
			return
		}
		for p := l.head.next; p != &l.head; {
			next := p.next
			if !yield(p.client) {
				return
			}
			p = next
		}
	}
}

// remove takes an entry out of its list, and reports whether it was in one.
func (p *listEntry) remove() bool {
	if p.next == nil {
		return false
	}
	p.prev.next, p.next.prev = p.next, p.prev
	p.next, p.prev = nil, nil
	return true
}
