package proxy

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Health is how servers are asked how they are.
type Health struct {
	Path     string
	Every    time.Duration
	Within   time.Duration
	Up, Down int // right and wrong answers in a row that change the opinion
}

// watch asks each server, until the upstream is no longer in a table.
func (u *Upstream) watch(log func(format string, args ...any)) {
	if u.Health == nil {
		return
	}
	asked := map[*server]bool{}
	for _, s := range u.servers {
		if !asked[s] {
			asked[s] = true
			go u.ask(s, log)
		}
	}
}

// ask forms an opinion of one server. It begins with a good one.
func (u *Upstream) ask(s *server, log func(format string, args ...any)) {
	h := u.Health
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!u.Framed)
	protocols.SetHTTP2(u.Framed)
	protocols.SetUnencryptedHTTP2(u.Framed)
	transport := &http.Transport{
		Protocols:         protocols,
		DisableKeepAlives: true, // it is asked whether it lets anybody in, too
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
		well := u.well(transport, s)
		if well != s.down.Load() {
			row = 0 // as it was thought to be
			continue
		}
		row++
		switch {
		case well && row >= h.Up:
			s.until.Store(time.Now().UnixNano()) // it comes back now
			s.down.Store(false)
			log("%s is well again", s.address)
			row = 0
		case !well && row >= h.Down:
			s.down.Store(true)
			log("%s is not well", s.address)
			row = 0
		}
	}
}

// well reports whether a server gives a good answer in time.
func (u *Upstream) well(transport *http.Transport, s *server) bool {
	ctx, cancel := context.WithTimeout(context.Background(), u.Health.Within)
	defer cancel()
	scheme := "http://"
	if u.secure != nil {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(ctx, "GET", scheme+s.address.String()+u.Health.Path, nil)
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
