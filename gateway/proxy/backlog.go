// Buffers responses for slow readers, in memory and then in a temporary file. The upstream can
// finish and free its slot while the client still reads. Start reading at client.sendOrBuffer and
// client.drain.

package proxy

import (
	"os"
	"syscall"
)

// backlog is the part of a response that the client has not taken yet, in order. It lets the
// upstream finish and free its slot although the client reads slowly. The bytes are in memory or in
// the worker's spill file. The zero value is empty.
type backlog struct {
	segments []segment
	first    int // index of the first remaining segment
	size     int64
	memory   int64 // bytes reserved in memory
	spilled  int64 // bytes reserved in the spill file
}

// segment is up to segmentSize bytes of a response.
type segment struct {
	own   []byte // nil if the bytes are in the spill file
	block int    // where they are in the spill file
	n     int    // how many bytes there are
}

const (
	segmentSize = 16 << 10

	// answerPart limits one response to this fraction of the memory and of the spill file.
	answerPart = 32
)

func (b *backlog) empty() bool { return b.first == len(b.segments) }

// mayBuffer reports whether more of the response may be read from the upstream although the client
// does not take it.
func (c *client) mayBuffer() bool {
	if !c.responding || c.tunnel || c.upstreamConn == nil {
		return false
	}
	return c.memoryLeft() || c.w.spill.has(&c.backlog)
}

// memoryLeft reports whether the response may take one more segment of memory.
func (c *client) memoryLeft() bool {
	s := c.w.server
	buffer := s.settings.Buffer
	return c.backlog.memory+segmentSize <= buffer/answerPart &&
		s.bufferedBytes.Load()+segmentSize <= buffer
}

// sendOrBuffer sends bytes of the response, after those that the client has not taken.
func (c *client) sendOrBuffer(bytes []byte, last bool) state {
	if !c.pending() && c.backlog.empty() {
		if c.stream != nil {
			c.stream.ending = last
		}
		return c.send(bytes)
	}
	c.appendBacklog(bytes)
	return later
}

// appendBacklog stores bytes of the response. It does not check the limits: callers check mayBuffer
// before they read more.
func (c *client) appendBacklog(bytes []byte) {
	b, w := &c.backlog, c.w
	for len(bytes) > 0 {
		if b.empty() || b.segments[len(b.segments)-1].n == segmentSize {
			b.segments = append(b.segments, c.newSegment())
		}
		last := &b.segments[len(b.segments)-1]
		n := min(segmentSize-last.n, len(bytes))
		if last.own != nil {
			last.own = append(last.own, bytes[:n]...)
		} else if err := w.spill.writeBlock(last.block, last.n, bytes[:n]); err != nil {
			w.server.logf("writing to the spill file: %v", err)
			w.spill.broken = true
			if last.n == 0 { // use memory instead
				c.giveSegment(last)
				b.segments = b.segments[:len(b.segments)-1]
			} else {
				b.segments = append(b.segments, c.newSegment())
			}
			continue
		}
		last.n += n
		b.size += int64(n)
		bytes = bytes[n:]
	}
}

// newSegment reserves memory, or a block of the spill file if no memory is left.
func (c *client) newSegment() segment {
	b := &c.backlog
	if !c.memoryLeft() && c.w.spill.has(b) {
		b.spilled += segmentSize
		return segment{block: c.w.spill.take()}
	}
	b.memory += segmentSize
	c.w.server.bufferedBytes.Add(segmentSize)
	return segment{own: c.w.buffers.get(segmentSize)}
}

// drain sends as much of the backlog as the client takes now.
func (c *client) drain() state {
	for {
		if state := c.flush(); state != fine || c.backlog.empty() {
			return state
		}
		b := &c.backlog
		one := b.segments[b.first]
		b.segments[b.first] = segment{}
		b.first++
		b.size -= int64(one.n)
		if b.empty() {
			b.segments, b.first = nil, 0
		}
		bytes, err := one.own, error(nil)
		if bytes == nil {
			bytes, err = c.w.spill.readBlock(one.block, one.n)
		}
		if c.stream != nil {
			c.stream.ending = c.responseDone && b.empty() && len(c.stream.trailers) == 0
		}
		state := broken
		if err != nil {
			c.w.server.logf("reading from the spill file: %v", err)
		} else {
			state = c.send(bytes)
		}
		c.giveSegment(&one)
		if state == broken {
			return broken
		}
	}
}

func (c *client) giveSegment(one *segment) {
	if one.own != nil {
		c.w.buffers.put(one.own)
		c.backlog.memory -= segmentSize
		c.w.server.bufferedBytes.Add(-segmentSize)
		return
	}
	c.w.spill.give(one.block)
	c.backlog.spilled -= segmentSize
}

// dropBacklog releases the backlog of a client that is gone.
func (c *client) dropBacklog() {
	b := &c.backlog
	for i := b.first; i < len(b.segments); i++ {
		c.giveSegment(&b.segments[i])
	}
	*b = backlog{}
}

// spill is a worker's temporary file for responses, in blocks of segmentSize. It has no name and
// vanishes with the process.
type spill struct {
	file   *os.File
	most   int // in blocks
	next   int // the first block that was never used
	spare  []int
	used   int
	broken bool   // writing has failed
	block  []byte // scratch for reading a block
}

// openSpill creates a temporary file of at most size bytes in a folder.
func openSpill(folder string, size int64) (spill, error) {
	fd, err := syscall.Open(folder, syscall.O_RDWR|syscall.O_CLOEXEC|tmpFile, 0o600)
	if err == nil {
		return spill{file: os.NewFile(uintptr(fd), folder), most: int(size / segmentSize)}, nil
	}
	file, err := os.CreateTemp(folder, "gateway-*") // the file system has no O_TMPFILE
	if err != nil {
		return spill{}, err
	}
	return spill{file: file, most: int(size / segmentSize)}, os.Remove(file.Name())
}

const tmpFile = 0o20000000 | syscall.O_DIRECTORY // O_TMPFILE

// has reports whether a response may take one more block.
func (s *spill) has(b *backlog) bool {
	return s.used < s.most && !s.broken &&
		b.spilled+segmentSize <= int64(s.most)*segmentSize/answerPart
}

// take reserves a block. The caller has checked has.
func (s *spill) take() (block int) {
	s.used++
	if last := len(s.spare) - 1; last >= 0 {
		block, s.spare = s.spare[last], s.spare[:last]
		return block
	}
	s.next++
	return s.next - 1
}

// give releases a block. When the last one is released, the file is truncated.
func (s *spill) give(block int) {
	s.spare = append(s.spare, block)
	if s.used--; s.used == 0 {
		s.spare, s.next = s.spare[:0], 0
		_ = s.file.Truncate(0) // on failure the file keeps its blocks, no more
	}
}

func (s *spill) writeBlock(block, at int, bytes []byte) error {
	_, err := s.file.WriteAt(bytes, int64(block)*segmentSize+int64(at))
	return err
}

// readBlock returns the first n bytes of a block. They are valid until the next call.
func (s *spill) readBlock(block, n int) ([]byte, error) {
	if s.block == nil {
		s.block = make([]byte, segmentSize)
	}
	_, err := s.file.ReadAt(s.block[:n], int64(block)*segmentSize)
	return s.block[:n], err
}

func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
	}
}
