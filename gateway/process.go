// Starting and stopping: opens the listeners, log and exporter that the configuration asks for,
// serves until it is stopped, and closes everything in reverse order. run in main.go drives it.

package main

import (
	"context"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/gateway/admin"
	"faceoff/gateway/config"
	"faceoff/gateway/proxy"
	"faceoff/gateway/route"
	"faceoff/gateway/spans"
)

// process is the running gateway: its server, and what must be closed with it. Call start, serve,
// stop and close in this order.
type process struct {
	settings   settings
	config     *config.Config // as it was at the start
	limit      uint64         // descriptors
	cores      int
	logger     *log.Logger
	supervisor supervisor
	hangup     chan os.Signal // SIGHUP
	lines      *logFile       // nil without an access log
	server     *proxy.Server
	reloader   *reloader
	closers    []func() // run by close, the last one first
}

// newProcess reads the versions of the configuration's files first, so that a later change is
// noticed.
func newProcess(s settings, c *config.Config, limit uint64, cores int, stderr io.Writer) *process {
	p := &process{
		settings: s,
		config:   c,
		limit:    limit,
		cores:    cores,
		hangup:   make(chan os.Signal, 1),
	}
	p.reloader = &reloader{
		inForce:  new(atomic.Pointer[config.Config]),
		settings: s,
		limit:    limit,
		cores:    cores,
		began:    c,
		files:    c.Files,
		seen:     versions(c.Files),
	}
	p.reloader.inForce.Store(c)
	if memory := memoryLimit(os.ReadFile); memory > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory / 10 * 9) // the rest is for memory that Go does not count
	}
	signal.Notify(p.hangup, syscall.SIGHUP)
	p.onClose(func() { signal.Stop(p.hangup) })
	throttled := newLogThrottle(stderr)
	p.onClose(throttled.Close)
	p.logger = log.New(throttled, "gateway: ", log.LstdFlags)
	p.reloader.logger = p.logger
	p.supervisor = newSupervisor(p.logger)
	p.onClose(p.supervisor.close)
	return p
}

func (p *process) onClose(closer func()) { p.closers = append(p.closers, closer) }

func (p *process) close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
}

func (p *process) log(line string) { p.logger.Print(line) }

// start opens the listeners and accepts clients.
func (p *process) start() error {
	if err := p.openOutputs(); err != nil {
		return err
	}
	if err := p.startServer(); err != nil {
		return err
	}
	if c := p.config; c.Admin.IsValid() {
		stop, err := admin.Serve(c.Admin, p.server,
			func() ([]byte, error) { return p.reloader.inForce.Load().Text() })
		if err != nil {
			return err
		}
		p.onClose(stop)
	}
	keys := &keyRefresher{logger: p.logger}
	keys.follow(p.config.Routes)
	p.onClose(keys.stop)
	p.reloader.keys, p.reloader.server, p.reloader.lines = keys, p.server, p.lines
	return nil
}

// openOutputs opens the access log and the span exporter, if they are configured.
func (p *process) openOutputs() error {
	c := p.config
	if c.Access != "" {
		lines, err := openLogFile(c.Access)
		if err != nil {
			return err
		}
		p.lines = lines
		c.Server.Access = proxy.NewAccess(lines)
		p.onClose(c.Server.Access.Close)
	}
	if c.Spans.To != "" {
		exporter := spans.New(c.Spans.To, c.Spans.Service, p.log)
		c.Server.Spans = proxy.NewSpans(exporter.Send)
		p.onClose(c.Server.Spans.Close)
	}
	return nil
}

// startServer opens the listeners for clients and starts the workers.
func (p *process) startServer() error {
	c := p.config
	listener, err := proxy.Listen(c.Listen)
	if err != nil {
		return err
	}
	p.server, err = proxy.New(c.Server, table(c, nil, c.Server.Workers), listener, p.log)
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
		p.server.Secure(listener, c.TLS)
	}
	p.server.Start()
	p.logger.Printf("listening on %s with %d workers; descriptors: %d inbound, %d outbound", bound,
		c.Server.Workers, c.Shares.Inbound, c.Shares.Outbound)
	return nil
}

// serve reloads the configuration when asked to, until ctx is done or a worker fails. It returns
// the worker's error.
func (p *process) serve(ctx context.Context) error {
	var check <-chan time.Time
	if p.config.Watch > 0 {
		ticker := time.NewTicker(p.config.Watch)
		defer ticker.Stop()
		check = ticker.C
	}
	p.supervisor.ready()
	for {
		select {
		case <-p.hangup:
			p.supervisor.reloading()
			p.reloader.reload(ctx)
			p.supervisor.ready()
		case <-check:
			p.reloader.reloadIfChanged(ctx)
		case err := <-p.server.Errors():
			now, cancel := context.WithTimeout(ctx, 0)
			defer cancel()
			_ = p.server.Stop(now) // cuts open connections
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// stop lets the requests in flight finish, for `timeouts.stop` at most.
func (p *process) stop() {
	p.supervisor.stopping()
	ending, cancel := context.WithTimeout(context.Background(), p.config.Stop)
	defer cancel()
	if err := p.server.Stop(ending); err != nil {
		p.logger.Printf("cut the connections still open after %v", p.config.Stop)
	}
}

// table builds the routing table of a configuration. Upstreams that have not changed keep their
// connections and their requests in flight.
func table(c *config.Config, before *proxy.Table, workers int) *proxy.Table {
	t := &proxy.Table{Routes: route.NewTable(c.Routes)}
	if before != nil {
		t.Routes.Keep(
			before.Routes,
			func(now, then int) bool { return c.Upstreams[now].Name == before.Upstreams[then].Name },
		)
	}
	for _, settings := range c.Upstreams {
		t.Upstreams = append(t.Upstreams, before.Keep(settings, workers))
	}
	return t
}
