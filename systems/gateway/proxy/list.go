package proxy

import "iter"

// place is where in a list a client stands. The zero value is nowhere.
type place struct {
	next, prev *place
	client     *client
}

// list is a ring of clients. The zero value is empty.
type list struct{ head place }

func (l *list) empty() bool { return l.head.next == nil || l.head.next == &l.head }

func (l *list) push(p *place, c *client) {
	if l.head.next == nil {
		l.head.next, l.head.prev = &l.head, &l.head
	}
	p.client = c
	p.next, p.prev = &l.head, l.head.prev
	l.head.prev.next = p
	l.head.prev = p
}

// first is the client that was pushed first, nil where there is none.
func (l *list) first() *client {
	if l.empty() {
		return nil
	}
	return l.head.next.client
}

// all goes from the first to the last. The client it has given may leave.
func (l *list) all() iter.Seq[*client] {
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

// remove takes a place out of whatever list it is in. It reports whether it was in one.
func (p *place) remove() bool {
	if p.next == nil {
		return false
	}
	p.prev.next, p.next.prev = p.next, p.prev
	p.next, p.prev = nil, nil
	return true
}
