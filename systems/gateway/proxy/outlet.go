package proxy

import (
	"sync/atomic"
	"time"
)

// outlet is where workers leave what they tell of requests, in blocks. It never holds a worker up: what cannot be delivered in time is dropped and
// counted.
type outlet struct {
	blocks  chan block
	ended   chan struct{}
	dropped atomic.Int64
}

// block is what one worker tells of several requests.
type block struct {
	text    []byte
	entries int
}

const (
	blockSize = 16 << 10 // a worker hands on what it has when it is as much, or when it goes to sleep
	blocksLet = 256      // waiting to be delivered

	lastWords = time.Second // that delivering the last of it may take, as the gateway is to end
)

// open has blocks delivered, one at a time. deliver returns how many entries were lost. A block waits for others, until they come to most bytes, or for
// as long as patience says.
func (o *outlet) open(patience time.Duration, most int, deliver func(text []byte, entries int) (lost int)) {
	o.blocks, o.ended = make(chan block, blocksLet), make(chan struct{})
	go func() {
		defer close(o.ended)
		for b := range o.blocks {
			if patience > 0 {
				o.gather(&b, patience, most)
			}
			o.dropped.Add(int64(deliver(b.text, b.entries)))
		}
	}()
}

func (o *outlet) gather(b *block, patience time.Duration, most int) {
	over := time.NewTimer(patience)
	defer over.Stop()
	for len(b.text) < most {
		select {
		case more, open := <-o.blocks:
			if !open {
				return
			}
			b.text = append(b.text, more.text...)
			b.entries += more.entries
		case <-over.C:
			return
		}
	}
}

// Close waits until all is delivered, or some of it was not taken for as long as is let. No worker may be running.
func (o *outlet) Close() {
	close(o.blocks)
	select {
	case <-o.ended:
	case <-time.After(lastWords):
	}
}

// pile is what a worker has for an outlet, and has not handed on yet.
type pile block

// add takes text that had an entry appended, and hands it on where it is enough.
func (p *pile) add(text []byte, o *outlet) {
	p.text = text
	if p.entries++; len(p.text) >= blockSize {
		p.handOn(o)
	}
}

func (p *pile) handOn(o *outlet) {
	if p.entries == 0 {
		return
	}
	select {
	case o.blocks <- block(*p):
		p.text = make([]byte, 0, blockSize+1<<10)
	default:
		o.dropped.Add(int64(p.entries))
		p.text = p.text[:0]
	}
	p.entries = 0
}
