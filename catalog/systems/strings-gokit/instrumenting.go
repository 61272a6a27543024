package main

import (
	"strconv"
	"time"

	"github.com/go-kit/kit/metrics"
	kitprometheus "github.com/go-kit/kit/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
)

// instrumentingMiddleware counts the calls of the service and sums up how long they take.
type instrumentingMiddleware struct {
	requests metrics.Counter
	latency  metrics.Histogram
	next     stringService
}

func newInstrumentingMiddleware(registry *prometheus.Registry,
	next stringService) instrumentingMiddleware {
	labels := []string{"method", "error"}
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "string_service_request_count",
		Help: "Number of requests received.",
	}, labels)
	latency := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: "string_service_request_latency_seconds",
		Help: "Total duration of requests in seconds.",
	}, labels)
	registry.MustRegister(requests, latency)
	return instrumentingMiddleware{kitprometheus.NewCounter(requests),
		kitprometheus.NewSummary(latency), next}
}

func (m instrumentingMiddleware) Uppercase(text string) (v string, err error) {
	defer func(began time.Time) { m.observe("uppercase", err, began) }(time.Now())
	return m.next.Uppercase(text)
}

func (m instrumentingMiddleware) Count(text string) (v int, err error) {
	defer func(began time.Time) { m.observe("count", err, began) }(time.Now())
	return m.next.Count(text)
}

func (m instrumentingMiddleware) Generate(size, work int) (text string, crc uint32, err error) {
	defer func(began time.Time) { m.observe("generate", err, began) }(time.Now())
	return m.next.Generate(size, work)
}

func (m instrumentingMiddleware) observe(method string, err error, began time.Time) {
	labels := []string{"method", method, "error", strconv.FormatBool(err != nil)}
	m.requests.With(labels...).Add(1)
	m.latency.With(labels...).Observe(time.Since(began).Seconds())
}
