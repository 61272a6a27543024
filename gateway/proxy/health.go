// Active health checks: a goroutine per server requests a path at an interval. It uses net/http, as
// it is far from the hot path.

package proxy

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Health is how servers are checked.
type Health struct {
	Path     string
	Every    time.Duration
	Within   time.Duration
	Up, Down int // consecutive good and bad checks that change the state
}

// startHealthChecks checks each server until the upstream leaves the table.
func (u *Upstream) startHealthChecks(log func(format string, args ...any)) {
	if u.Health == nil {
		return
	}
	started := map[*server]bool{}
	for _, s := range u.servers {
		if !started[s] {
			started[s] = true
			go u.checkHealth(s, log)
		}
	}
}

// checkHealth keeps the state of one server up to date. A server starts as healthy.
func (u *Upstream) checkHealth(s *server, log func(format string, args ...any)) {
	h := u.Health
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!u.HTTP2)
	protocols.SetHTTP2(u.HTTP2)
	protocols.SetUnencryptedHTTP2(u.HTTP2)
	transport := &http.Transport{
		Protocols:         protocols,
		DisableKeepAlives: true, // this also checks that it accepts connections
		TLSClientConfig:   u.secure.Clone(),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.address.String())
		},
	}
	defer transport.CloseIdleConnections()
	ticker := time.NewTicker(h.Every)
	defer ticker.Stop()
	row := 0
	for {
		select {
		case <-u.ended:
			return
		case <-ticker.C:
		}
		well := u.isHealthy(transport, s)
		if well != s.down.Load() {
			row = 0 // this confirms the current state
			continue
		}
		row++
		switch {
		case well && row >= h.Up:
			s.until.Store(time.Now().UnixNano()) // it ramps up from now on
			s.down.Store(false)
			log("%s is healthy again", s.address)
			row = 0
		case !well && row >= h.Down:
			s.down.Store(true)
			log("%s is unhealthy", s.address)
			row = 0
		}
	}
}

// isHealthy reports whether a server responds with 2xx or 3xx in time.
func (u *Upstream) isHealthy(transport *http.Transport, s *server) bool {
	ctx, cancel := context.WithTimeout(context.Background(), u.Health.Within)
	defer cancel()
	scheme := "http://"
	if u.secure != nil {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(ctx, "GET", scheme+s.address.String()+u.Health.Path,
		nil)
	if err != nil {
		return false
	}
	if u.Host != nil {
		request.Host = string(u.Host)
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode >= 200 && answer.StatusCode < 400
}
