// Compresses responses with compressors that a worker reuses, up to a bounded number at a time.

package proxy

import (
	"faceoff/gateway/compress"
	"faceoff/gateway/wire"
)

// maxCompressors is how many responses a worker compresses at a time. Each takes a megabyte.
// Further responses are sent uncompressed.
const maxCompressors = 32

// chooseCompression decides whether the response whose head was read is compressed, and reserves a
// compressor. A compressed response is sent in chunks.
func (c *client) chooseCompression(rules *compress.Rules, r *wire.Response) {
	if c.variesByEncoding = rules.Fits(r); !c.variesByEncoding || !c.acceptsGzip {
		return
	}
	w := c.w
	last := len(w.idleCompressors) - 1
	switch {
	case last >= 0:
		c.compressor, w.idleCompressors = w.idleCompressors[last], w.idleCompressors[:last]
	case w.compressing < maxCompressors:
		c.compressor = &compress.Compressor{}
	default:
		w.metrics.uncompressed.Add(1)
		return
	}
	w.compressing++
	c.compressed = true
	w.metrics.compressed.Add(1)
	c.compressor.Begin()
	r.Body = wire.Body{Kind: wire.Chunked}
}

// releaseCompressor keeps a compressor for the next response.
func (c *client) releaseCompressor() {
	w := c.w
	w.compressing--
	w.idleCompressors = append(w.idleCompressors, c.compressor)
	c.compressor = nil
}

// appendCompressionFields adds and drops the fields of a response that compression affects.
func (c *client) appendCompressionFields(o *wire.Inbound, r *wire.Response) {
	w := c.w
	w.extraLines = append(w.extraLines[:0], o.Lines...)
	if c.compressed {
		w.extraLines = compress.AppendLines(w.extraLines, r)
		w.dropNames = append(append(w.dropNames[:0], o.Drop...), compress.Dropped()...)
		o.Drop = w.dropNames
	} else {
		w.extraLines = append(w.extraLines, compress.Vary...)
	}
	o.Lines = w.extraLines
}

// encodeCompressed is encode for a compressed response. It flushes every time, so that the client
// can read what has arrived.
func (c *client) encodeCompressed() error {
	in := c.responseIntake()
	for !c.responseBody.Done() && len(in.data) > 0 {
		content, taken, trailers, err := c.responseBody.Next(in.data)
		if err != nil {
			return err
		}
		if taken == 0 {
			break
		}
		c.storeContent(content)
		c.compressor.Add(content)
		in.consume(taken)
		if c.responseBody.Done() {
			return c.endCompressed(trailers)
		}
	}
	c.appendBody(c.compressor.Take())
	return nil
}

// endCompressed writes the end of a compressed response and its trailers.
func (c *client) endCompressed(trailers []byte) error {
	w := c.w
	c.appendBody(c.compressor.End())
	c.releaseCompressor()
	var err error
	switch {
	case c.stream != nil && trailers != nil:
		c.stream.trailers, err = wire.AppendTrailers(nil, trailers, &w.trailers,
			c.headerEdits().Answer.Drop)
	case c.framing == wire.Chunked:
		w.out, err = wire.AppendLastChunk(w.out, trailers, &w.trailers, c.headerEdits().Answer.Drop)
	}
	return err
}

// appendBody writes bytes of the response's body to the scratch buffer, in the framing chosen.
func (c *client) appendBody(content []byte) {
	if c.framing == wire.Chunked {
		c.w.out = wire.AppendChunk(c.w.out, content)
	} else {
		c.w.out = append(c.w.out, content...)
	}
}
