// Command proxy-gin is a reverse proxy on gin and httputil.ReverseProxy whose resources are bounded
// by the process's descriptor limit. README.md explains its decisions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	readHeaderTimeout = 30 * time.Second // from accept, or from the first byte of a later request
	idleTimeout       = 60 * time.Second // of a keep-alive client
	stopTimeout       = 5 * time.Second  // for the requests in flight when the process stops
)

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "proxy-gin: %v\n", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, s, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "proxy-gin: %v\n", err)
		os.Exit(1)
	}
}

// settings are the command-line flags.
type settings struct {
	listen          string
	upstream        *url.URL
	upstreamTimeout time.Duration // until the head of the upstream's response
	wait            time.Duration // for a slot among the outbound requests
	unbounded       bool
}

// parse reads the arguments. Usage goes to usage, and an invalid setting is an error.
func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	var upstream string
	flags := flag.NewFlagSet("proxy-gin", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to listen on")
	flags.StringVar(&upstream, "upstream", "",
		"`URL` of the upstream, such as http://127.0.0.1:18080 (required)")
	flags.DurationVar(&s.upstreamTimeout, "upstream-timeout", 10*time.Second,
		"maximum wait for the head of the upstream's response")
	flags.DurationVar(&s.wait, "wait", 250*time.Millisecond,
		"maximum wait for a slot among the outbound requests")
	flags.BoolVar(&s.unbounded, "unbounded", false, "limit nothing")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.upstreamTimeout <= 0 {
		return s, fmt.Errorf("-upstream-timeout is %v: it must be more than zero",
			s.upstreamTimeout)
	}
	if s.wait < 0 {
		return s, fmt.Errorf("-wait is %v: it must not be negative", s.wait)
	}
	var err error
	if s.upstream, err = parseUpstream(upstream); err != nil {
		return s, fmt.Errorf("-upstream: %w", err)
	}
	return s, nil
}

func parseUpstream(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("missing: give a URL such as http://127.0.0.1:18080")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		(u.Path != "" && u.Path != "/") ||
		u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, fmt.Errorf("%q is not of the form http://host:port", text)
	}
	return u, nil
}

// run serves until ctx is done, then lets the requests in flight finish.
func run(ctx context.Context, s settings, stderr io.Writer) error {
	logger := log.New(&throttle{to: stderr}, "proxy-gin: ", log.LstdFlags)

	var bounds *shares // nil: unbounded
	if !s.unbounded {
		limit, err := descriptorLimit()
		if err != nil {
			return err
		}
		divided, err := divide(limit)
		if err != nil {
			return err
		}
		bounds = &divided
	}

	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	if bounds != nil {
		logger.Printf("listening on %s; descriptors: %d inbound, %d outbound, %d kept back",
			listener.Addr(), bounds.inbound, bounds.outbound, reserved)
	} else {
		logger.Printf("listening on %s; unbounded", listener.Addr())
	}
	return serve(ctx, listener, s, bounds, logger)
}

// serve serves clients on listener, which it closes, until ctx is done. Without bounds nothing is
// limited.
func serve(
	ctx context.Context,
	listener net.Listener,
	s settings,
	bounds *shares,
	logger *log.Logger,
) error {
	server := &http.Server{
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          logger,
	}
	if bounds == nil {
		server.Handler = newProxy(s, 0, nil, logger)
	} else {
		d := newLimitListener(listener, bounds.inbound, minIdle)
		server.Handler = newProxy(s, bounds.outbound, d.crowded, logger)
		server.ConnState = d.observe
		listener = d
	}

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		logger.Printf("cutting the connections still open after %v", stopTimeout)
		return server.Close()
	}
	return nil
}
