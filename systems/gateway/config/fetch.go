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
	fetchMost    = 1 << 20 // bytes
)

var errNoURL = errors.New("it is no URL")

// Fetch gets what stands at a URL that Trustworthy lets through, for as long as ctx lets it.
func Fetch(ctx context.Context, url string) ([]byte, error) {
	client := &http.Client{
		Timeout: fetchTimeout,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 5 {
				return errors.New("it redirects without end")
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
		return nil, fmt.Errorf("the answer is %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, fetchMost+1))
	if err == nil && len(text) > fetchMost {
		err = fmt.Errorf("it has more than %d bytes", fetchMost)
	}
	return text, err
}

// Trustworthy is what speaks against keys from a URL: over plain HTTP anybody on the way could put others in their place.
func Trustworthy(at *url.URL) error {
	if at.Hostname() == "" {
		return errNoURL
	}
	if at.User != nil {
		return errors.New("it has a name or a password in it, which logs would show")
	}
	if at.Scheme == "https" {
		return nil
	}
	if address := net.ParseIP(at.Hostname()); at.Scheme == "http" && address != nil && address.IsLoopback() {
		return nil
	}
	return errors.New("it is neither https nor on loopback")
}
