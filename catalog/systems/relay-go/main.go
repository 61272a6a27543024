// Command relay-go forwards the response of an upstream, with net/http alone. See README.md for its
// decisions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
	stopTimeout       = 5 * time.Second  // for the requests in flight after SIGTERM
)

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "relay-go: %v\n", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "relay-go: %v\n", err)
		os.Exit(1)
	}
}

// settings are the flags of the command line.
type settings struct {
	listen      string
	upstream    *url.URL
	defaultPool bool
}

// parse reads the arguments. Usage goes to usage, and an invalid setting is an error.
func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("relay-go", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to listen on")
	upstream := flags.String("upstream", "",
		"`URL` of the upstream, such as http://127.0.0.1:18080 (required)")
	flags.BoolVar(&s.defaultPool, "default-pool", false,
		"keep as few idle connections as http.DefaultTransport does")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	s.upstream, err = url.Parse(*upstream)
	if err != nil || s.upstream.Scheme != "http" || s.upstream.Hostname() == "" {
		return s, fmt.Errorf("-upstream: %q is not of the form http://host:port", *upstream)
	}
	return s, nil
}

// run serves until ctx is done, then lets the requests in flight finish.
func run(ctx context.Context, s settings) error {
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newRelay(s.upstream, newClient(s.defaultPool)),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
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
	if server.Shutdown(ctx) != nil {
		return server.Close()
	}
	return nil
}
