// Command gateway is a reverse proxy to put before services: event loops of its own over HTTP/1.1, bounded by design.
// See README.md for its decisions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/systems/gateway/admin"
	"faceoff/systems/gateway/config"
	"faceoff/systems/gateway/proxy"
	"faceoff/systems/gateway/route"
	"faceoff/systems/gateway/spans"
)

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, s, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
		os.Exit(1)
	}
}

// settings is what the command line says.
type settings struct {
	config string
	access string
	set    []string
	check  bool
	ready  string
}

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.config, "config", "", "`file` that says what to do (required)")
	flags.StringVar(&s.access, "access", "", "`file` for lines about requests, instead of the one that the configuration names")
	flags.Func("set", "`place=value` instead of what the file says, such as upstreams.products.retries=0%; once or several times", func(setting string) error {
		s.set = append(s.set, setting)
		return nil
	})
	flags.BoolVar(&s.check, "check", false, "read the file, say what is wrong with it, and end")
	flags.StringVar(&s.ready, "ready", "", "ask the gateway with this `admin` address whether it lets clients in, and end: with 0 where it does. For probes of containers, which cannot reach loopback from outside")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.config == "" && s.ready == "" {
		return s, errors.New("no configuration\n  hint: name a file with -config; README.md shows one")
	}
	return s, nil
}

// run serves until ctx is done, then lets the requests in flight finish. SIGHUP has it read its file again, and so has a
// change of it where that is asked for.
func run(ctx context.Context, s settings, stderr io.Writer) error {
	if s.ready != "" {
		return admin.Ask(ctx, s.ready)
	}
	limit, err := descriptorLimit()
	if err != nil {
		return err
	}
	cores := runtime.GOMAXPROCS(0) // by affinity and control group
	c, err := config.Read(ctx, s.config, limit, cores, s.set...)
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil || s.check {
		return err
	}
	seen := versions(c.Files)
	if memory := memoryLimit(os.ReadFile); memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 10 * 9) // the rest is for what Go does not count
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	throttled := newThrottle(stderr)
	defer throttled.Close()
	logger := log.New(throttled, "gateway: ", log.LstdFlags)
	if s.access != "" {
		c.Access = s.access
	}
	supervisor := supervised(logger)
	defer supervisor.close()
	var lines *file
	if c.Access != "" {
		if lines, err = openFile(c.Access); err != nil {
			return err
		}
		c.Server.Access = proxy.NewAccess(lines)
		defer c.Server.Access.Close()
	}
	if c.Spans.To != "" {
		exporter := spans.New(c.Spans.To, c.Spans.Service, func(line string) { logger.Print(line) })
		c.Server.Spans = proxy.NewSpans(exporter.Send)
		defer c.Server.Spans.Close()
	}
	listener, err := proxy.Listen(c.Listen)
	if err != nil {
		return err
	}
	server, err := proxy.New(c.Server, table(c, nil, c.Server.Workers), listener, func(line string) { logger.Print(line) })
	if err != nil {
		return err
	}
	bound, err := proxy.Bound(listener)
	if err != nil {
		return err
	}
	if c.TLS != nil {
		listener, err := net.Listen("tcp", c.ListenTLS.String())
		if err != nil {
			return err
		}
		server.Secure(listener, c.TLS)
	}
	server.Start()
	logger.Printf("listening on %s with %d workers; descriptors: %d inbound, %d outbound", bound, c.Server.Workers, c.Shares.Inbound, c.Shares.Outbound)

	var inForce atomic.Pointer[config.Config]
	inForce.Store(c)
	if c.Admin.IsValid() {
		stop, err := admin.Serve(c.Admin, server, func() ([]byte, error) { return inForce.Load().Text() })
		if err != nil {
			return err
		}
		defer stop()
	}
	keys := &ring{logger: logger}
	keys.follow(c.Routes)
	defer keys.stop()
	r := &reloader{inForce: &inForce, keys: keys, settings: s, limit: limit, cores: cores, began: c, server: server, lines: lines, logger: logger, files: c.Files, seen: seen}
	var look <-chan time.Time
	if c.Watch > 0 {
		ticker := time.NewTicker(c.Watch)
		defer ticker.Stop()
		look = ticker.C
	}
	supervisor.ready()
	for {
		select {
		case <-reload:
			supervisor.reloading()
			r.reload(ctx)
			supervisor.ready()
			continue
		case <-look:
			r.look(ctx)
			continue
		case err := <-server.Errors():
			now, cancel := context.WithTimeout(ctx, 0)
			defer cancel()
			_ = server.Stop(now) // which cuts what is open
			return err
		case <-ctx.Done():
		}
		break
	}
	supervisor.stopping()
	ending, cancel := context.WithTimeout(context.Background(), c.Stop)
	defer cancel()
	if err := server.Stop(ending); err != nil {
		logger.Printf("cut the connections still open after %v", c.Stop)
	}
	return nil
}

// table makes what a configuration says. Upstreams that have not changed go on as they are, with their connections and
// what is in flight.
func table(c *config.Config, before *proxy.Table, workers int) *proxy.Table {
	t := &proxy.Table{Routes: route.NewTable(c.Routes)}
	if before != nil {
		t.Routes.Keep(before.Routes, func(now, then int) bool { return c.Upstreams[now].Name == before.Upstreams[then].Name })
	}
	for _, settings := range c.Upstreams {
		t.Upstreams = append(t.Upstreams, before.Keep(settings, workers))
	}
	return t
}

// descriptorLimit is the process's own limit. The Go runtime has raised the soft limit to the hard one by now, so both
// must be set to hold this process to a lower number.
func descriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the descriptor limit: %w", err)
	}
	return limit.Cur, nil
}
