// Command gateway is an HTTP reverse proxy with one event loop per core and a bound on every
// resource. README.md describes its use, and docs/design.md its design.
//
// Start reading at run, then package config for the file and package proxy for the data plane.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"faceoff/gateway/admin"
	"faceoff/gateway/config"
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

// settings are the command-line flags.
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
	flags.StringVar(&s.config, "config", "", "configuration `file` (required)")
	flags.StringVar(&s.access, "access", "",
		"`file` for the access log; overrides that of the configuration")
	flags.Func(
		"set",
		"`path=value` that overrides the configuration, such as upstreams.products.retries=0%; may be repeated",
		func(setting string) error {
			s.set = append(s.set, setting)
			return nil
		},
	)
	flags.BoolVar(&s.check, "check", false,
		"check the configuration, report its problems, and exit")
	flags.StringVar(
		&s.ready,
		"ready",
		"",
		"check the gateway with this `admin` address, and exit with 0 if it accepts clients; for probes within containers",
	)
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.config == "" && s.ready == "" {
		return s, errors.New(
			"no configuration\n  hint: name a file with -config; README.md shows one",
		)
	}
	return s, nil
}

// run serves until ctx is done, then lets the requests in flight finish. SIGHUP reloads the
// configuration, and so does a change of its files if it sets `watch`.
func run(ctx context.Context, s settings, stderr io.Writer) error {
	if s.ready != "" {
		return admin.CheckReady(ctx, s.ready)
	}
	limit, err := descriptorLimit()
	if err != nil {
		return err
	}
	cores := runtime.GOMAXPROCS(0) // respects affinity and cgroup limits
	c, err := config.Read(ctx, s.config, limit, cores, s.set...)
	if ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil || s.check {
		return err
	}
	if s.access != "" {
		c.Access = s.access
	}
	p := newProcess(s, c, limit, cores, stderr)
	defer p.close()
	if err := p.start(); err != nil {
		return err
	}
	if err := p.serve(ctx); err != nil {
		return err
	}
	p.stop()
	return nil
}

// descriptorLimit returns the process's soft limit. The Go runtime has raised it to the hard limit,
// so set both to limit this process.
func descriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the descriptor limit: %w", err)
	}
	return limit.Cur, nil
}
