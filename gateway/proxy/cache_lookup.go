// Connects an exchange to package cache: the lookup before a slot is taken, validation of stale
// responses, and storing of new ones. Start reading at client.cacheLookup.

package proxy

import (
	"bytes"
	"time"

	"faceoff/gateway/cache"
	"faceoff/gateway/wire"
)

// cacheState is what an exchange knows about the cache.
type cacheState struct {
	store       *cache.Store // nil if the route has none
	key         string
	directives  cache.RequestDirectives
	requestHead []byte       // head of the request as received
	sent        time.Time    // when the request was sent
	why         string       // why the upstream is asked, in the words of Cache-Status
	entry       *cache.Entry // the stored response that the upstream is asked to validate
	draft       *cache.Draft // the upstream's response, while it is being stored

	hit  *cache.Entry // the stored response that is sent
	text []byte       // the rest of it
	in   intake       // the part of it that is being sent
	head int          // length of its head, which is sent in one piece
}

// cacheLookup responds from the cache. False means that the request goes to the upstream.
func (c *client) cacheLookup() bool {
	w, r := c.w, &c.w.request
	m := &cacheState{
		store:      c.route.Cache,
		directives: cache.ReadRequestDirectives(r),
		key:        c.cacheKey(r),
		sent:       time.Now(),
	}
	c.cached = m
	switch {
	case m.directives.Unsafe:
		m.why = "method"
		return false
	case m.store == nil:
		return false
	case m.directives.Bypass:
		m.why = "bypass"
		return false
	}
	entry, other := m.store.Find(m.key, r)
	switch {
	case entry != nil && entry.Serves(&m.directives, m.sent):
		w.metrics.hits.Add(1)
		c.skipHead()
		c.phase = exchanging
		m.serve(entry, r)
		c.pump()
		return true
	case m.directives.Only: // 5.2.1.7
		c.skipHead()
		c.respondError(504, "there is no stored response for the request")
		return true
	case entry == nil && other:
		m.why = "vary-miss"
	case entry == nil:
		m.why = "uri-miss"
	case m.directives.NoCache():
		m.why = "request"
	default:
		m.why = "stale"
	}
	if entry != nil && entry.Validators() {
		m.entry = entry
	}
	m.requestHead = bytes.Clone(c.in.data[:c.head])
	return false
}

// cacheKey identifies what a request asks for, except for the fields that Vary names.
func (c *client) cacheKey(r *wire.Request) string {
	w := c.w
	to := append(w.extraLines[:0], c.scheme...)
	to = append(to, "://"...)
	to = append(to, bytes.ToLower(r.Host)...)
	to = append(to, r.Path...)
	to = append(to, r.Query...)
	if c.trusted { // these fields go to the upstream as well
		for i := range r.List {
			switch id := r.List[i].ID; id {
			case wire.XForwardedHost, wire.XForwardedProto, wire.Forwarded, wire.ClaimedURL:
				to = append(append(to, '\n', byte(id)), r.List[i].Value...)
			}
		}
	}
	w.extraLines = to
	return string(to)
}

// serve starts a response from a stored one.
func (m *cacheState) serve(e *cache.Entry, r *wire.Request) {
	m.hit = e
	m.text, m.head = e.Answer(r)
}

// fill provides the next part, the head in one piece. False means that there is no more.
func (m *cacheState) fill() bool {
	n := min(m.head+readSize, len(m.text))
	m.in.data, m.text, m.head = m.text[:n], m.text[n:], 0
	return n > 0
}

// servesStored reports whether the response comes from the cache.
func (c *client) servesStored() bool { return c.cached != nil && c.cached.hit != nil }

// responseIntake returns the buffer that the response is read from.
func (c *client) responseIntake() *intake {
	if c.servesStored() {
		return &c.cached.in
	}
	return &c.upstreamConn.in
}

// fillResponse reads more of the response.
func (c *client) fillResponse() state {
	if !c.servesStored() {
		return c.upstreamConn.fill(c.w.upScratch, readSize)
	}
	if c.cached.fill() {
		return fine
	}
	c.close() // impossible: a stored response has a length
	return later
}

// cacheResponse handles the head of the upstream's final response. No means that the stored
// response is sent instead, undecided that the exchange is over.
func (c *client) cacheResponse(r *wire.Response) decision {
	w, m := c.w, c.cached
	switch {
	case m.directives.Unsafe:
		if r.Status < 400 { // 4.4
			for _, store := range c.table.Routes.Caches() {
				store.Drop(m.key)
			}
		}
		return yes
	case m.store == nil || m.directives.Bypass:
		return yes
	}
	if _, err := w.storedRequest.Parse(m.requestHead); err != nil {
		return yes // impossible: it was parsed before
	}
	if r.Status == 304 && m.entry != nil {
		e := m.store.Renew(m.entry, r, m.sent, time.Now())
		if e == nil {
			c.badResponse(
				&wire.Refusal{Reason: "it validated another response than the stored one"},
			)
			return undecided
		}
		w.metrics.renewed.Add(1)
		c.noReuse = r.Close
		c.upstreamConn.server.recordSuccess()
		c.detach(true)
		m.serve(e, &w.storedRequest)
		m.fill()
		return no
	}
	if m.entry != nil && r.Status < 500 {
		m.store.Remove(m.entry)
	}
	m.draft = m.store.Begin(m.key, &w.storedRequest, r, m.sent, time.Now(),
		c.headerEdits().Request.Drop)
	return yes
}

// storeContent adds bytes of the response to the entry being stored.
func (c *client) storeContent(content []byte) {
	if m := c.cached; m != nil && m.draft != nil && !m.draft.Add(content) {
		m.draft.Cancel()
		m.draft = nil
	}
}

// commitStore stores a complete response.
func (c *client) commitStore() {
	if m := c.cached; m != nil && m.draft != nil {
		m.draft.Finish()
		m.draft = nil
	}
}

// cancelStore gives up storing the response.
func (c *client) cancelStore() {
	if m := c.cached; m != nil && m.draft != nil {
		m.draft.Cancel()
		m.draft = nil
	}
}

// appendCacheStatus adds Age and Cache-Status to a response (RFC 9111, 5.1; RFC 9211).
func (c *client) appendCacheStatus(o *wire.Inbound) {
	w, m := c.w, c.cached
	to := append(w.extraLines[:0], o.Lines...)
	left := int64(0)
	if m.hit != nil {
		now := time.Now()
		left = int64(m.hit.Remaining(now) / time.Second)
		to = append(to, "Age: "...)
		to = wire.AppendDecimal(to, int64(m.hit.Age(now)/time.Second))
		to = append(to, "\r\n"...)
	}
	to = append(to, "Cache-Status: "...)
	if via := w.server.settings.Via; via != "" {
		to = append(to, via...)
	} else {
		to = append(to, "gateway"...)
	}
	switch {
	case m.why == "":
		to = append(to, "; hit; ttl="...)
		if left < 0 {
			to = append(to, '-')
			left = -left
		}
		to = wire.AppendDecimal(to, left)
	case m.hit != nil:
		to = append(append(append(to, "; fwd="...), m.why...), "; fwd-status=304"...)
	default:
		to = append(append(to, "; fwd="...), m.why...)
		if m.draft != nil {
			to = append(to, "; stored"...)
		}
	}
	w.extraLines = append(to, "\r\n"...)
	o.Lines = w.extraLines
}
