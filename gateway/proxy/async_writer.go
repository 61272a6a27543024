// Delivers log lines and spans from a goroutine of its own, so that a slow disk or collector never
// blocks a worker. What cannot be delivered in time is dropped and counted.

package proxy

import (
	"sync/atomic"
	"time"
)

// asyncWriter delivers what workers report about requests, in blocks, from a goroutine of its own.
// It never blocks a worker: a block that finds the queue full is dropped and counted.
type asyncWriter struct {
	blocks  chan block
	ended   chan struct{}
	dropped atomic.Int64
}

// block holds a worker's entries for several requests.
type block struct {
	text    []byte
	entries int
}

const (
	// A worker hands over a block of this size, or what it has before it sleeps.
	blockSize = 16 << 10
	maxBlocks = 256 // queued for delivery

	closeTimeout = time.Second // for delivering the rest when the gateway stops
)

// open starts the delivery of blocks, one at a time. deliver returns how many entries were lost.
// With a patience above zero, a block waits that long for others, up to most bytes.
func (o *asyncWriter) open(
	patience time.Duration,
	most int,
	deliver func(text []byte, entries int) (lost int),
) {
	o.blocks, o.ended = make(chan block, maxBlocks), make(chan struct{})
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

func (o *asyncWriter) gather(b *block, patience time.Duration, most int) {
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

// Close waits until everything is delivered, closeTimeout at most. No worker may be running.
func (o *asyncWriter) Close() {
	close(o.blocks)
	select {
	case <-o.ended:
	case <-time.After(closeTimeout):
	}
}

// logBuffer holds a worker's entries that it has not handed over yet.
type logBuffer block

// add stores text to which an entry was appended, and hands it over if it fills a block.
func (p *logBuffer) add(text []byte, o *asyncWriter) {
	p.text = text
	if p.entries++; len(p.text) >= blockSize {
		p.flushLogs(o)
	}
}

func (p *logBuffer) flushLogs(o *asyncWriter) {
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
