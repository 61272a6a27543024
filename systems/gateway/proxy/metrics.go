package proxy

import "sync/atomic"

// Metrics are a worker's counts. It alone writes them; anybody may read.
type Metrics struct {
	accepted, sessions, requests, answers1xx, answers2xx, answers3xx, answers4xx, answers5xx,
	shed, denied, faults, refused, abandoned, connects, unreachable, brokeOff, misspoke, stalled, slow, repeated, mirrored, unmirrored, pressed, unpressed, invalid, invalidAnswers, unchecked, hits, renewed atomic.Int64
}

// answer counts a final answer by the class of its status.
func (m *Metrics) answer(status int) {
	switch status / 100 {
	case 1:
		m.answers1xx.Add(1)
	case 2:
		m.answers2xx.Add(1)
	case 3:
		m.answers3xx.Add(1)
	case 4:
		m.answers4xx.Add(1)
	default:
		m.answers5xx.Add(1)
	}
}

// Count is a sum over all workers.
type Count struct {
	Name, Labels, Help string
	Value              int64
	Gauge              bool
}

// storedBytes is how much is stored of answers.
func (s *Server) storedBytes() (n int64) {
	for _, store := range s.table.Load().Routes.Caches() {
		n += store.Used()
	}
	return n
}

// Counts are what has happened since the start, and what is.
func (s *Server) Counts() []Count {
	sum := func(of func(*Metrics) *atomic.Int64) (n int64) {
		for _, w := range s.workers {
			n += of(&w.metrics).Load()
		}
		return n
	}
	const answers, upstream = "gateway_answers_total", "gateway_upstream_failures_total"
	const invalidHelp = "Requests and answers that are not as their document says."
	answersHelp, upstreamHelp := "Answers by class of status, the gateway's own among them.", "Requests that failed before or within an answer."
	counts := []Count{
		{"gateway_connections_total", "", "Clients that were let in.", sum(func(m *Metrics) *atomic.Int64 { return &m.accepted }), false},
		{"gateway_connections", "", "Clients that are connected.", s.clients.Load(), true},
		{"gateway_http2_connections_total", "", "Clients that speak HTTP/2.", sum(func(m *Metrics) *atomic.Int64 { return &m.sessions }), false},
		{"gateway_handshakes_refused_total", "", "Clients with which no TLS could be agreed upon.", s.refusedHandshakes.Load(), false},
		{"gateway_requests_total", "", "Requests whose head was read.", sum(func(m *Metrics) *atomic.Int64 { return &m.requests }), false},
		{answers, `class="1xx"`, answersHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.answers1xx }), false},
		{answers, `class="2xx"`, answersHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.answers2xx }), false},
		{answers, `class="3xx"`, answersHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.answers3xx }), false},
		{answers, `class="4xx"`, answersHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.answers4xx }), false},
		{answers, `class="5xx"`, answersHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.answers5xx }), false},
		{"gateway_shed_total", "", "Requests for which there was no place in time.", sum(func(m *Metrics) *atomic.Int64 { return &m.shed }), false},
		{"gateway_denied_total", "", "Requests that their route does not let in: not from there, too many, too large, or without a token.", sum(func(m *Metrics) *atomic.Int64 { return &m.denied }), false},
		{"gateway_invalid_total", `side="request"`, invalidHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.invalid }), false},
		{"gateway_invalid_total", `side="answer"`, invalidHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.invalidAnswers }), false},
		{"gateway_unchecked_answers_total", "", "Answers that were not held against their document, as they were too long or too much, without a length, or too many at a time.", sum(func(m *Metrics) *atomic.Int64 { return &m.unchecked }), false},
		{"gateway_faults_total", "", "Requests that were delayed, answered wrongly or broken off on purpose.", sum(func(m *Metrics) *atomic.Int64 { return &m.faults }), false},
		{"gateway_refused_total", "", "Requests that were malformed, ambiguous or too late.", sum(func(m *Metrics) *atomic.Int64 { return &m.refused }), false},
		{"gateway_abandoned_total", "", "Requests whose client went before its answer.", sum(func(m *Metrics) *atomic.Int64 { return &m.abandoned }), false},
		{"gateway_slow_clients_total", "", "Requests that were given up as their client sent, or took, too little in time.", sum(func(m *Metrics) *atomic.Int64 { return &m.slow }), false},
		{"gateway_repeated_total", "", "Requests sent again as their connection had ended before a byte of an answer, or could not be made.", sum(func(m *Metrics) *atomic.Int64 { return &m.repeated }), false},
		{"gateway_mirrored_total", "", "Copies of requests that were sent to another upstream.", sum(func(m *Metrics) *atomic.Int64 { return &m.mirrored }), false},
		{"gateway_unmirrored_total", "", "Copies of requests for which there was no place or no server.", sum(func(m *Metrics) *atomic.Int64 { return &m.unmirrored }), false},
		{"gateway_compressed_total", "", "Answers that were compressed.", sum(func(m *Metrics) *atomic.Int64 { return &m.pressed }), false},
		{"gateway_uncompressed_total", "", "Answers that were not, as too many others were at that time.", sum(func(m *Metrics) *atomic.Int64 { return &m.unpressed }), false},
		{"gateway_cache_hits_total", "", "Requests that were answered by what is stored, without asking the upstream.", sum(func(m *Metrics) *atomic.Int64 { return &m.hits }), false},
		{"gateway_cache_renewed_total", "", "Requests that were answered by what is stored, as the upstream said that it still holds.", sum(func(m *Metrics) *atomic.Int64 { return &m.renewed }), false},
		{"gateway_cache_bytes", "", "What is stored.", s.storedBytes(), true},
		{"gateway_upstream_connections_total", "", "Connections made to upstreams.", sum(func(m *Metrics) *atomic.Int64 { return &m.connects }), false},
		{upstream, `cause="unreachable"`, upstreamHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.unreachable }), false},
		{upstream, `cause="broke_off"`, upstreamHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.brokeOff }), false},
		{upstream, `cause="malformed"`, upstreamHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.misspoke }), false},
		{upstream, `cause="too_slow"`, upstreamHelp, sum(func(m *Metrics) *atomic.Int64 { return &m.stalled }), false},
	}
	if a := s.settings.Access; a != nil {
		counts = append(counts, Count{"gateway_access_lines_dropped_total", "", "Lines about requests that could not be written in time.", a.dropped.Load(), false})
	}
	if spans := s.settings.Spans; spans != nil {
		counts = append(counts, Count{"gateway_spans_dropped_total", "", "Spans that did not come to the collector.", spans.dropped.Load(), false})
	}
	for _, u := range s.table.Load().Upstreams {
		u.places.mu.Lock()
		used, coming, waiting := u.Most-u.places.free, u.places.coming, u.places.long
		u.places.mu.Unlock()
		counts = append(counts,
			Count{"gateway_upstream_requests", `upstream="` + u.Name + `"`, "Requests in flight to an upstream.", int64(used), true},
			Count{"gateway_upstream_coming", `upstream="` + u.Name + `"`, "Requests in flight whose body is not here whole.", int64(coming), true},
			Count{"gateway_upstream_waiting", `upstream="` + u.Name + `"`, "Requests that wait for a place.", int64(waiting), true})
	}
	return counts
}
