package proxy

import (
	"bytes"
	"time"

	"faceoff/systems/gateway/cache"
	"faceoff/systems/gateway/wire"
)

// memory is what an exchange has of what is stored.
type memory struct {
	store *cache.Store // nil where the route has none
	key   string
	wish  cache.Wish
	asked []byte       // the head of the request, as it came
	sent  time.Time    // when it did
	why   string       // the upstream is asked, as Cache-Status has it
	entry *cache.Entry // that the upstream is asked about
	draft *cache.Draft // of the upstream's answer

	hit  *cache.Entry // that is the answer,
	text []byte       // what of it was not shown yet,
	in   intake       // and what was
	head int          // bytes of the text that are to be shown at once
}

// recall answers a request by what is stored. False means that the upstream is to be asked.
func (c *client) recall() bool {
	w, r := c.w, &c.w.request
	m := &memory{store: c.route.Cache, wish: cache.WishOf(r), key: c.cacheKey(r), sent: time.Now()}
	c.memory = m
	switch {
	case m.wish.Unsafe:
		m.why = "method"
		return false
	case m.store == nil:
		return false
	case m.wish.Bypass:
		m.why = "bypass"
		return false
	}
	entry, other := m.store.Find(m.key, r)
	switch {
	case entry != nil && entry.Serves(&m.wish, m.sent):
		w.metrics.hits.Add(1)
		c.skipHead()
		c.phase = exchanging
		m.show(entry, r)
		c.pump()
		return true
	case m.wish.Only: // 5.2.1.7
		c.skipHead()
		c.fail(504, "nothing is stored that answers the request")
		return true
	case entry == nil && other:
		m.why = "vary-miss"
	case entry == nil:
		m.why = "uri-miss"
	case m.wish.NoCache():
		m.why = "request"
	default:
		m.why = "stale"
	}
	if entry != nil && entry.Validators() {
		m.entry = entry
	}
	m.asked = bytes.Clone(c.in.data[:c.head])
	return false
}

// cacheKey is what a request asks for, as far as its fields do not tell.
func (c *client) cacheKey(r *wire.Request) string {
	w := c.w
	to := append(w.added[:0], c.scheme...)
	to = append(to, "://"...)
	to = append(to, bytes.ToLower(r.Host)...)
	to = append(to, r.Path...)
	to = append(to, r.Query...)
	if c.trusted { // the upstream is told what they say
		for i := range r.List {
			switch id := r.List[i].ID; id {
			case wire.XForwardedHost, wire.XForwardedProto, wire.Forwarded:
				to = append(append(to, '\n', byte(id)), r.List[i].Value...)
			}
		}
	}
	w.added = to
	return string(to)
}

// show begins to answer by an entry.
func (m *memory) show(e *cache.Entry, r *wire.Request) {
	m.hit = e
	m.text, m.head = e.Answer(r)
}

// fill shows the next part, the head as a whole. False means that there is none.
func (m *memory) fill() bool {
	n := min(m.head+readSize, len(m.text))
	m.in.data, m.text, m.head = m.text[:n], m.text[n:], 0
	return n > 0
}

// stored reports whether the answer is one that is stored.
func (c *client) stored() bool { return c.memory != nil && c.memory.hit != nil }

// answerIntake is where the answer comes from.
func (c *client) answerIntake() *intake {
	if c.stored() {
		return &c.memory.in
	}
	return &c.link.in
}

// fillAnswer reads more of the answer.
func (c *client) fillAnswer() state {
	if !c.stored() {
		return c.link.fill(c.w.upScratch, readSize)
	}
	if c.memory.fill() {
		return fine
	}
	c.close() // what is stored has its length, so that this cannot be
	return later
}

// consult takes note of the final answer of the upstream, whose head was read. No means that what is stored is the answer instead, undecided that the exchange
// is over.
func (c *client) consult(r *wire.Response) decision {
	w, m := c.w, c.memory
	switch {
	case m.wish.Unsafe:
		if r.Status < 400 { // 4.4
			for _, store := range c.table.Routes.Caches() {
				store.Drop(m.key)
			}
		}
		return yes
	case m.store == nil || m.wish.Bypass:
		return yes
	}
	if _, err := w.asked.Parse(m.asked); err != nil {
		return yes // it was read before, so that this cannot be
	}
	if r.Status == 304 && m.entry != nil {
		e := m.store.Renew(m.entry, r, m.sent, time.Now())
		if e == nil {
			c.misspoke(&wire.Refusal{Reason: "it says that another answer still holds"})
			return undecided
		}
		w.metrics.renewed.Add(1)
		c.spent = r.Close
		c.link.server.answered()
		c.detach(true)
		m.show(e, &w.asked)
		m.fill()
		return no
	}
	if m.entry != nil && r.Status < 500 {
		m.store.Remove(m.entry)
	}
	m.draft = m.store.Begin(m.key, &w.asked, r, m.sent, time.Now(), c.marked().Request.Drop)
	return yes
}

// note takes over what has come of an answer that is to be stored.
func (c *client) note(content []byte) {
	if m := c.memory; m != nil && m.draft != nil && !m.draft.Add(content) {
		m.draft.Cancel()
		m.draft = nil
	}
}

// keepAnswer stores an answer that is whole.
func (c *client) keepAnswer() {
	if m := c.memory; m != nil && m.draft != nil {
		m.draft.Finish()
		m.draft = nil
	}
}

// dropDraft gives up what was to be stored.
func (c *client) dropDraft() {
	if m := c.memory; m != nil && m.draft != nil {
		m.draft.Cancel()
		m.draft = nil
	}
}

// tellCache adds to an answer where it comes from (RFC 9111, 5.1; RFC 9211).
func (c *client) tellCache(o *wire.Inbound) {
	w, m := c.w, c.memory
	to := append(w.added[:0], o.Lines...)
	left := int64(0)
	if m.hit != nil {
		now := time.Now()
		left = int64(m.hit.Left(now) / time.Second)
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
	w.added = append(to, "\r\n"...)
	o.Lines = w.added
}
