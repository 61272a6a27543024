// Fetches what the configuration names by URL: bounded in size, time and redirects, and over HTTPS
// or loopback only.

package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	fetchTimeout = 5 * time.Second
	fetchMost    = 1 << 20 // in bytes
)

var errNoURL = errors.New("it is not a URL")

// Fetch downloads a URL that Trustworthy accepts. ctx bounds the time.
func Fetch(ctx context.Context, url string) ([]byte, error) {
	client := &http.Client{
		Timeout: fetchTimeout,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 5 {
				return errors.New("it has too many redirects")
			}
			return Trustworthy(r.URL)
		},
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the response is %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, fetchMost+1))
	if err == nil && len(text) > fetchMost {
		err = fmt.Errorf("it has more than %d bytes", fetchMost)
	}
	return text, err
}

// Trustworthy returns why keys must not come from a URL: over plain HTTP they could be replaced in
// transit.
func Trustworthy(at *url.URL) error {
	if at.Hostname() == "" {
		return errNoURL
	}
	if at.User != nil {
		return errors.New("it contains credentials, which logs would show")
	}
	if at.Scheme == "https" {
		return nil
	}
	if address := net.ParseIP(at.Hostname()); at.Scheme == "http" && address != nil &&
		address.IsLoopback() {
		return nil
	}
	return errors.New("it is neither https nor on loopback")
}
