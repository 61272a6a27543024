package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	delayMost  = 60_000 // milliseconds
	answerMost = 256 << 10

	connectTimeout = 10 * time.Second
	answerTimeout  = 70 * time.Second // a response takes at most a minute
)

// newClient makes the client side. It ignores environment variables.
func newClient(defaultPool bool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
	if !defaultPool {
		// With two idle connections to a host, the default, nearly each request would open
		// one.
		transport.MaxIdleConns = 0 // no limit
		transport.MaxIdleConnsPerHost = math.MaxInt
	}
	return &http.Client{Transport: transport, Timeout: answerTimeout}
}

// relay requests the same delay from the upstream and forwards its response.
type relay struct {
	upstream *url.URL
	client   *http.Client
}

func newRelay(upstream *url.URL, client *http.Client) http.Handler {
	r := relay{upstream, client}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{delay}", r.answer)
	mux.HandleFunc("/{delay}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "GET, HEAD")
		answerError(w, http.StatusMethodNotAllowed)
	})
	mux.HandleFunc("/",
		func(w http.ResponseWriter, _ *http.Request) { answerError(w, http.StatusNotFound) })
	return mux
}

func (r relay) answer(w http.ResponseWriter, request *http.Request) {
	delay, err := parseDelay(request.PathValue("delay"))
	if err != nil {
		answerError(w, http.StatusBadRequest)
		return
	}
	said, err := r.ask(request, delay)
	if err != nil {
		answerError(w, http.StatusBadGateway)
		return
	}
	// Spring's spelling, so all relays send the same bytes.
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	fmt.Fprintf(w, "Relay:%s", said)
}

// parseDelay reads a whole number of milliseconds.
func parseDelay(text string) (uint64, error) {
	delay, err := strconv.ParseUint(text, 10, 32)
	if err != nil || len(text) > 5 || delay > delayMost {
		return 0, fmt.Errorf("not a whole number from 0 to %d: %q", delayMost, text)
	}
	return delay, nil
}

// ask returns the response of the upstream, which is not empty.
func (r relay) ask(request *http.Request, delay uint64) ([]byte, error) {
	target := r.upstream.JoinPath(strconv.FormatUint(delay, 10))
	question, err := http.NewRequestWithContext(request.Context(), http.MethodGet, target.String(),
		nil)
	if err != nil {
		return nil, err
	}
	answer, err := r.client.Do(question)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, answerMost+1))
	switch {
	case err != nil:
		return nil, err
	case len(said) == 0:
		return nil, errors.New("an empty answer")
	case len(said) > answerMost:
		return nil, errors.New("an answer without end")
	}
	return said, nil
}

// answerError sends a status, in the form of all errors.
func answerError(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":"%s"}`, http.StatusText(status))
}
