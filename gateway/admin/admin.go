// Package admin serves health, metrics, the configuration and profiles of a running gateway, on
// loopback only.
//
// Start reading at Handler.
package admin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"faceoff/gateway/proxy"
)

// Source provides the state that is served.
type Source interface {
	Counts() []proxy.Count
	Ready() bool
}

// Serve listens on an address until the returned function is called. inForce returns the
// configuration as YAML.
func Serve(
	on netip.AddrPort,
	source Source,
	inForce func() ([]byte, error),
) (stop func(), err error) {
	listener, err := net.Listen("tcp", on.String())
	if err != nil {
		return nil, fmt.Errorf("opening the admin listener: %w", err)
	}
	server := &http.Server{
		Handler:           Handler(source, inForce),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
	}
	go func() { _ = server.Serve(listener) }() // it ends when the server is closed
	return func() { server.Close() }, nil
}

// CheckReady asks the admin listener at an address whether the gateway accepts clients.
//
// It returns an error if it does not, or if nothing listens there.
func CheckReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/ready", nil)
	if err != nil {
		return fmt.Errorf(
			"%q is not an admin address\n  hint: write the address that the configuration has in `admin`, such as 127.0.0.1:9901",
			address,
		)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf(
			"the admin listener at %s does not respond: %w\n  hint: check that the gateway runs with this address in `admin`",
			address,
			err,
		)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf(
			"the gateway at %s is not ready: it responds %s\n  hint: it may be stopping",
			address,
			response.Status,
		)
	}
	return nil
}

// Handler serves /health (the process runs), /ready (clients are accepted), /config (the
// configuration in force), /metrics (for Prometheus) and /debug/pprof/.
func Handler(source Source, inForce func() ([]byte, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health",
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if !source.Ready() {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, _ *http.Request) {
		text, err := inForce()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(text) // it fails only if the client is gone
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, text(source.Counts()))
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// DNS rebinding: a web page could point a host name at loopback and read the response.
		if !local(r.Host) {
			http.Error(w, "use localhost or a loopback address", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// local reports whether a Host field names this machine or is absent. A browser always sends one.
func local(host string) bool {
	if host == "" {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || (err == nil && address.IsLoopback())
}

// text writes metrics in the text format of Prometheus. Metrics with the same name share one help
// line.
func text(counts []proxy.Count) string {
	var all strings.Builder
	described := map[string]bool{}
	for _, first := range counts {
		if described[first.Name] {
			continue
		}
		described[first.Name] = true
		kind := "counter"
		if first.Gauge {
			kind = "gauge"
		}
		fmt.Fprintf(&all, "# HELP %s %s\n# TYPE %s %s\n", first.Name, first.Help, first.Name, kind)
		for _, c := range counts {
			if c.Name != first.Name {
				continue
			}
			if c.Labels == "" {
				fmt.Fprintf(&all, "%s %d\n", c.Name, c.Value)
			} else {
				fmt.Fprintf(&all, "%s{%s} %d\n", c.Name, c.Labels, c.Value)
			}
		}
	}
	return all.String()
}
