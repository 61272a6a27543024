// Command proxy-fasthttp is a reverse proxy on fasthttp whose resources are bounded by the
// process's descriptor limit. README.md explains its decisions.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	requestTimeout  = 30 * time.Second // for a client's whole request
	idleTimeout     = 60 * time.Second // of a keep-alive client
	upstreamTimeout = 10 * time.Second // to connect, to send a request, and for its response, each
	// shorter than servers usually keep theirs, so that a request seldom meets a closed connection
	upstreamIdle = 15 * time.Second
	placeTimeout = 250 * time.Millisecond
	stopTimeout  = 5 * time.Second
)

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "proxy-fasthttp: %v\n", err)
		os.Exit(2)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	if err := run(s, stop, log.New(os.Stderr, "proxy-fasthttp: ", log.LstdFlags)); err != nil {
		fmt.Fprintf(os.Stderr, "proxy-fasthttp: %v\n", err)
		os.Exit(1)
	}
}

// settings are the command-line flags.
type settings struct {
	listen   string
	upstream string // host:port
	streamed bool
}

// parse reads the arguments; usage goes to usage.
func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	var upstream string
	flags := flag.NewFlagSet("proxy-fasthttp", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to listen on")
	flags.StringVar(&upstream, "upstream", "",
		"`URL` of the upstream, such as http://127.0.0.1:18080 (required)")
	flags.BoolVar(&s.streamed, "streamed", false, "pass bodies on as they come instead of whole")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	u, err := url.Parse(upstream)
	if err != nil {
		return s, fmt.Errorf("-upstream: %w", err)
	}
	if u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" || u.User != nil ||
		(u.Path != "" && u.Path != "/") ||
		u.RawQuery != "" ||
		u.Fragment != "" {
		return s, fmt.Errorf("-upstream: %q is not of the form http://host:port", upstream)
	}
	s.upstream = u.Host
	return s, nil
}

// run serves until a signal arrives on stop, then lets the requests in flight finish.
func run(s settings, stop <-chan os.Signal, logger *log.Logger) error {
	limit, err := descriptorLimit()
	if err != nil {
		return err
	}
	bounds, err := divide(limit)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	logger.Printf("listening on %s; descriptors: %d inbound, %d outbound, %d kept back",
		listener.Addr(), bounds.inbound, bounds.outbound, reserved)

	server := newServer(s, bounds, logger)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-stop:
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown() }()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopTimeout):
		logger.Printf("leaving the connections still open after %v", stopTimeout)
		return nil
	}
}

func newServer(s settings, bounds shares, logger *log.Logger) *fasthttp.Server {
	p := &proxy{
		host: s.upstream,
		client: &fasthttp.HostClient{
			Addr: s.upstream,
			Dial: func(address string) (net.Conn, error) {
				return fasthttp.DialTimeout(address, upstreamTimeout)
			},
			MaxConns:                 bounds.outbound,
			MaxConnWaitTimeout:       placeTimeout,
			MaxIdleConnDuration:      upstreamIdle,
			ReadTimeout:              upstreamTimeout,
			WriteTimeout:             upstreamTimeout,
			StreamResponseBody:       s.streamed,
			NoDefaultUserAgentHeader: true,
			DisablePathNormalizing:   true,
		},
		logger: logger,
	}
	return &fasthttp.Server{
		Handler:                      p.handle,
		Concurrency:                  bounds.inbound,
		ReadTimeout:                  requestTimeout,
		IdleTimeout:                  idleTimeout,
		StreamRequestBody:            s.streamed,
		DisablePreParseMultipartForm: true, // pass bodies on unchanged
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true,
		NoDefaultContentType:         true,
		CloseOnShutdown:              true,
		Logger:                       logger,
	}
}
