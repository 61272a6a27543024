// Package admin answers questions about a running gateway, on loopback.
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

	"faceoff/systems/gateway/proxy"
)

// Source is what is asked.
type Source interface {
	Counts() []proxy.Count
	Ready() bool
}

// Serve answers on an address until the function it returns is called. inForce is the configuration as YAML.
func Serve(on netip.AddrPort, source Source, inForce func() ([]byte, error)) (stop func(), err error) {
	listener, err := net.Listen("tcp", on.String())
	if err != nil {
		return nil, fmt.Errorf("listening for the administrator: %w", err)
	}
	server := &http.Server{Handler: Handler(source, inForce), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // it ends when it is closed
	return func() { server.Close() }, nil
}

// Ask asks the administrator at an address whether clients are let in.
//
// An error says that they are not, or that nobody answers there.
func Ask(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/ready", nil)
	if err != nil {
		return fmt.Errorf("%q is no address of an administrator\n  hint: write the one that the file has in `admin`, such as 127.0.0.1:9901", address)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the administrator at %s does not answer: %w\n  hint: is it running, with this address in `admin`?", address, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the gateway at %s is not ready: it answers %s\n  hint: it may be stopping", address, response.Status)
	}
	return nil
}

// Handler answers /health (it runs), /ready (it lets clients in), /config (what is in force), /metrics (as Prometheus reads them) and /debug/pprof/.
func Handler(source Source, inForce func() ([]byte, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
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
		_, _ = w.Write(text) // who has gone needs no answer
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, text(source.Counts()))
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page in somebody's browser can have a name of its own lead here, and would read what it says.
		if !local(r.Host) {
			http.Error(w, "ask at localhost or a loopback address", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// local reports whether a Host field names this machine, or is not there: a browser always sends one.
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

// text writes counts as Prometheus reads them. Those of one name stand together, below its help.
func text(counts []proxy.Count) string {
	var all strings.Builder
	told := map[string]bool{}
	for _, first := range counts {
		if told[first.Name] {
			continue
		}
		told[first.Name] = true
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
