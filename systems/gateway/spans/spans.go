// Package spans sends what the gateway tells of requests to a collector of OpenTelemetry (OTLP/HTTP 1.x, as JSON).
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
	tries   = 3               // of a batch, with waits between that double
	most    = 1 << 20         // bytes of an answer that are read
)

// Exporter sends spans to one collector. It is used by one goroutine.
type Exporter struct {
	to      string
	head    []byte
	log     func(line string)
	wait    time.Duration // before the second try
	client  http.Client
	failing bool // the last batch did not arrive
}

// New makes one for an address that Address has let through. It logs when batches begin to fail, and when they arrive again.
func New(to, service string, log func(line string)) *Exporter {
	name, _ := json.Marshal(service) // a string always can be
	return &Exporter{
		to: to, log: log, wait: time.Second,
		head: []byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":` + string(name) + `}}]},"scopeSpans":[{"scope":{"name":"gateway"},"spans":[`),
		client: http.Client{
			Timeout:       timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Address is where spans go: `/v1/traces` of a collector whose address says no more.
func Address(text string) (string, error) {
	at, err := url.Parse(text)
	switch {
	case err != nil:
		return "", err
	case at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "":
		return "", errors.New("it is no address of http or https")
	case at.User != nil:
		return "", errors.New("it has a name or a password in it, which logs would show")
	}
	if at.Path == "" || at.Path == "/" {
		at.Path = "/v1/traces"
	}
	return at.String(), nil
}

// Send brings n spans, each as JSON with a comma behind, to the collector, and returns how many of them were lost.
func (e *Exporter) Send(spans []byte, n int) (lost int) {
	text := append(append(bytes.Clone(e.head), bytes.TrimSuffix(spans, []byte(","))...), "]}]}]}"...)
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

// post sends a batch once. again reports whether it may be sent once more (OTLP 1.x, "Failures" of OTLP/HTTP).
func (e *Exporter) post(text []byte) (rejected int, again bool, err error) {
	response, err := e.client.Post(e.to, "application/json", bytes.NewReader(text))
	if err != nil {
		return 0, true, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, most))
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, true, fmt.Errorf("%s answers %s", e.to, response.Status)
	default:
		return 0, false, fmt.Errorf("%s answers %s", e.to, response.Status)
	}
	var partial struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage // a string, as JSON has 64 bits, but some write a number
		}
	}
	if err == nil && json.Unmarshal(said, &partial) == nil {
		rejected, _ = strconv.Atoi(string(bytes.Trim(partial.PartialSuccess.RejectedSpans, `"`)))
	}
	return max(rejected, 0), false, nil
}
