// Metrics. Each worker counts for itself, and Counts adds them up.

package proxy

import "sync/atomic"

// Metrics are a worker's counters. Only the worker writes them.
type Metrics struct {
	accepted, sessions, requests, answers1xx, answers2xx, answers3xx, answers4xx,
	answers5xx, shed, denied, faults, refused, abandoned, connects,
	unreachable, brokeOff, malformed, stalled, slow, repeated, mirrored,
	unmirrored, compressed, uncompressed, invalid, invalidAnswers, unchecked, hits,
	renewed, cut atomic.Int64
}

// countResponse counts a final response by the class of its status.
func (m *Metrics) countResponse(status int) {
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

// Count is a metric, summed over all workers.
type Count struct {
	Name, Labels, Help string
	Value              int64
	Gauge              bool
}

// storedBytes returns the size of all cached responses.
func (s *Server) storedBytes() (n int64) {
	for _, store := range s.table.Load().Routes.Caches() {
		n += store.Used()
	}
	return n
}

// metric is how a Count is computed. help is shown by Prometheus.
type metric struct {
	name, labels, help string
	gauge              bool
	value              func(s *Server) int64
}

// total sums a counter over all workers.
func total(of func(*Metrics) *atomic.Int64) func(s *Server) int64 {
	return func(s *Server) (n int64) {
		for _, w := range s.workers {
			n += of(&w.metrics).Load()
		}
		return n
	}
}

const (
	invalidHelp  = "Requests and responses that do not match their OpenAPI document."
	answersHelp  = "Responses by class of status, including the gateway's own."
	upstreamHelp = "Requests that failed before or during the response."
)

// serverMetrics are the metrics that every gateway has.
var serverMetrics = []metric{
	{"gateway_connections_total", "", "Connections accepted from clients.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.accepted })},
	{"gateway_connections", "", "Open connections of clients.", true,
		func(s *Server) int64 { return s.clients.Load() }},
	{"gateway_http2_connections_total", "", "Connections of clients that use HTTP/2.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.sessions })},
	{"gateway_handshakes_refused_total", "", "TLS handshakes with clients that failed.", false,
		func(s *Server) int64 { return s.refusedHandshakes.Load() }},
	{"gateway_requests_total", "", "Requests whose head was parsed.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.requests })},
	{"gateway_answers_total", `class="1xx"`, answersHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.answers1xx })},
	{"gateway_answers_total", `class="2xx"`, answersHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.answers2xx })},
	{"gateway_answers_total", `class="3xx"`, answersHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.answers3xx })},
	{"gateway_answers_total", `class="4xx"`, answersHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.answers4xx })},
	{"gateway_answers_total", `class="5xx"`, answersHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.answers5xx })},
	{"gateway_shed_total", "", "Requests that found no slot or no healthy server in time.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.shed })},
	{"gateway_denied_total", "",
		"Requests refused by their route's guard: address, rate, size or token.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.denied })},
	{"gateway_invalid_total", `side="request"`, invalidHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.invalid })},
	{"gateway_invalid_total", `side="answer"`, invalidHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.invalidAnswers })},
	{"gateway_unchecked_answers_total", "",
		"Responses that were not validated: too large, of unknown length, or too many at a time.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.unchecked })},
	{"gateway_faults_total", "", "Requests with an injected fault.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.faults })},
	{"gateway_refused_total", "", "Requests that were malformed, ambiguous or too slow.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.refused })},
	{"gateway_abandoned_total", "",
		"Requests whose client closed before the end of the response.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.abandoned })},
	{"gateway_slow_clients_total", "",
		"Requests given up because the client sent or read too slowly.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.slow })},
	{"gateway_cut_total", "",
		"Responses cut because the client read too slowly while slots were short.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.cut })},
	{"gateway_held_bytes", "", "Memory for responses that clients have not read yet.", true,
		func(s *Server) int64 { return s.bufferedBytes.Load() }},
	{"gateway_repeated_total", "",
		"Requests retried because their connection failed before the response.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.repeated })},
	{"gateway_mirrored_total", "", "Copies of requests sent to another upstream.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.mirrored })},
	{"gateway_unmirrored_total", "", "Copies of requests that found no slot or no server.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.unmirrored })},
	{"gateway_compressed_total", "", "Responses that were compressed.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.compressed })},
	{"gateway_uncompressed_total", "",
		"Responses sent uncompressed because too many others were being compressed.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.uncompressed })},
	{"gateway_cache_hits_total", "",
		"Requests answered from the cache without asking the upstream.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.hits })},
	{"gateway_cache_renewed_total", "",
		"Requests answered from the cache after the upstream validated the response.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.renewed })},
	{"gateway_cache_bytes", "", "Size of the cached responses.", true,
		func(s *Server) int64 { return s.storedBytes() }},
	{"gateway_upstream_connections_total", "", "Connections made to upstreams.", false,
		total(func(m *Metrics) *atomic.Int64 { return &m.connects })},
	{"gateway_upstream_failures_total", `cause="unreachable"`, upstreamHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.unreachable })},
	{"gateway_upstream_failures_total", `cause="broke_off"`, upstreamHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.brokeOff })},
	{"gateway_upstream_failures_total", `cause="malformed"`, upstreamHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.malformed })},
	{"gateway_upstream_failures_total", `cause="too_slow"`, upstreamHelp, false,
		total(func(m *Metrics) *atomic.Int64 { return &m.stalled })},
}

// Counts returns all metrics.
func (s *Server) Counts() []Count {
	var counts []Count
	for _, m := range serverMetrics {
		counts = append(counts, Count{m.name, m.labels, m.help, m.value(s), m.gauge})
	}
	if a := s.settings.Access; a != nil {
		counts = append(counts, Count{"gateway_access_lines_dropped_total", "",
			"Access log lines that could not be written in time.", a.dropped.Load(), false})
	}
	if spans := s.settings.Spans; spans != nil {
		counts = append(counts, Count{"gateway_spans_dropped_total", "",
			"Spans that did not reach the collector.", spans.dropped.Load(), false})
	}
	for _, u := range s.table.Load().Upstreams {
		counts = append(counts, u.counts()...)
	}
	return counts
}

// counts returns the metrics of one upstream.
func (u *Upstream) counts() []Count {
	l := u.limiter
	l.mu.Lock()
	used, uploading, stalled, queued := u.Most-l.free, l.uploading, l.stalled, l.queued
	l.mu.Unlock()
	labels := `upstream="` + u.Name + `"`
	return []Count{
		{"gateway_upstream_requests", labels, "Requests in flight to an upstream.", int64(used), true},
		{"gateway_upstream_coming", labels, "Requests in flight whose body is incomplete.",
			int64(uploading), true},
		{"gateway_upstream_slow", labels, "Requests in flight whose client reads too slowly.",
			int64(stalled), true},
		{"gateway_upstream_waiting", labels, "Requests that wait for a slot.", int64(queued), true},
	}
}
