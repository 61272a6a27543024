// Command strings-gokit is the string service on go-kit. See README.md for its decisions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const (
	readHeaderTimeout = 30 * time.Second
	idleTimeout       = 60 * time.Second // of a keep-alive client
	stopTimeout       = 5 * time.Second  // for the requests in flight after SIGTERM
)

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "strings-gokit: %v\n", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "strings-gokit: %v\n", err)
		os.Exit(1)
	}
}

type settings struct {
	listen string
	log    string
}

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("strings-gokit", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to listen on")
	flags.StringVar(&s.log, "log", "sync", "a line for each call: none, `sync` or async")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return s, nil
}

// run serves until ctx is done, then lets the requests in flight finish.
func run(ctx context.Context, s settings) error {
	log, err := newRequestLog(s.log, os.Stderr)
	if err != nil {
		return err
	}
	defer log.flush()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	service := newService(registry, log)
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newHandler(service, registry),
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
	stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		return server.Close()
	}
	return nil
}

// newService returns the service in its middleware: logging, if there is a log, in instrumenting.
func newService(registry *prometheus.Registry, log *requestLog) stringService {
	var service stringService = plainService{}
	if log != nil {
		service = loggingMiddleware{log, service}
	}
	return newInstrumentingMiddleware(registry, service)
}
