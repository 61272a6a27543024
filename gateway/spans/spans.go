// Package spans sends spans to an OpenTelemetry collector (OTLP/HTTP 1.x, as JSON).
//
// Start reading at Exporter.Send.
package spans

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	timeout = 5 * time.Second // for one request
	tries   = 3               // of a batch; the waits in between double
	most    = 1 << 20         // in bytes, of a response
)

// Exporter sends spans to one collector. One goroutine uses it.
type Exporter struct {
	to      string
	head    []byte
	log     func(line string)
	wait    time.Duration // before the second try
	client  http.Client
	failing bool // the last batch failed
}

// New creates an exporter for an address from Address. It logs when batches begin to fail, and when
// they succeed again.
func New(to, service string, log func(line string)) *Exporter {
	name, _ := json.Marshal(service) // a string never fails
	return &Exporter{
		to:   to,
		log:  log,
		wait: time.Second,
		head: []byte(`{"resourceSpans":[{"resource":{"attributes":[` +
			`{"key":"service.name","value":{"stringValue":` + string(name) + `}}]},` +
			`"scopeSpans":[{"scope":{"name":"gateway"},"spans":[`),
		client: http.Client{
			Timeout:       timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Address returns the URL for spans: `/v1/traces` if the collector's address has no path.
func Address(text string) (string, error) {
	at, err := url.Parse(text)
	switch {
	case err != nil:
		return "", err
	case at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "":
		return "", errors.New("it is not an http or https URL")
	case at.User != nil:
		return "", errors.New("it contains credentials, which logs would show")
	}
	if at.Path == "" || at.Path == "/" {
		at.Path = "/v1/traces"
	}
	return at.String(), nil
}

// Send sends n spans, each as JSON followed by a comma, and returns how many were lost.
func (e *Exporter) Send(spans []byte, n int) (lost int) {
	text := append(
		append(bytes.Clone(e.head), bytes.TrimSuffix(spans, []byte(","))...),
		"]}]}]}"...)
	wait := e.wait
	for try := 1; ; try++ {
		rejected, again, err := e.post(text)
		if err == nil {
			if e.failing {
				e.failing = false
				e.log("spans arrive again")
			}
			return min(rejected, n)
		}
		if try == tries || !again {
			if !e.failing {
				e.failing = true
				e.log(fmt.Sprintf("spans do not arrive: %v", err))
			}
			return n
		}
		time.Sleep(wait)
		wait *= 2
	}
}

// post sends a batch once. again reports whether it may be retried (OTLP 1.x, "Failures" of
// OTLP/HTTP).
func (e *Exporter) post(text []byte) (rejected int, again bool, err error) {
	response, err := e.client.Post(e.to, "application/json", bytes.NewReader(text))
	if err != nil {
		return 0, true, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests,
		http.StatusBadGateway,
		http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return 0, true, fmt.Errorf("%s responds %s", e.to, response.Status)
	default:
		return 0, false, fmt.Errorf("%s responds %s", e.to, response.Status)
	}
	var partial struct {
		PartialSuccess struct {
			// A string, as JSON has 64-bit integers; some write a number.
			RejectedSpans json.RawMessage
		}
	}
	if err == nil && json.Unmarshal(body, &partial) == nil {
		rejected, _ = strconv.Atoi(string(bytes.Trim(partial.PartialSuccess.RejectedSpans, `"`)))
	}
	return max(rejected, 0), false, nil
}
