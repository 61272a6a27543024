// Command bank-go keeps the accounts of a bank in PostgreSQL, with gorilla/mux and lib/pq.
// See README.md for its decisions.
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
)

const (
	readHeaderTimeout = 30 * time.Second // from accept, or from the first byte of a later request
	idleTimeout       = 60 * time.Second // of a keep-alive client
	stopTimeout       = 5 * time.Second  // for the requests in flight after SIGTERM
)

func main() {
	s, err := parse(os.Args[1:], os.Getenv("DATABASE_URL"), os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "bank-go: %v\n", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "bank-go: %v\n", err)
		os.Exit(1)
	}
}

// settings are the flags of the command line and the environment.
type settings struct {
	listen   string
	database string
	keep     keep
	pool     int
	// noOverdraft refuses transfers of more than the payer has.
	noOverdraft bool
}

// keep is the way to get a connection to the database.
type keep string

const (
	keepDefault keep = "default"  // default of database/sql: no limit, two kept
	keepPerCall keep = "per-call" // opened for each call, closed after it
	keepPool    keep = "pool"     // a fixed number, all kept
	keepPgx     keep = "pgx"      // pgx with its default pool
)

// parse reads the arguments. Usage goes to usage, and an invalid setting is an error.
func parse(args []string, database string, usage io.Writer) (settings, error) {
	s := settings{database: database}
	flags := flag.NewFlagSet("bank-go", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to listen on")
	connections := flags.String("connections", string(keepDefault),
		"`how` connections to the database are kept: default, per-call, pool or pgx")
	flags.IntVar(&s.pool, "pool", 0, "`number` of connections of a pool")
	flags.BoolVar(&s.noOverdraft, "no-overdraft", false,
		"refuse a transfer of more than the payer has")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.keep = keep(*connections)
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case s.database == "":
		return s, errors.New(
			"DATABASE_URL is not set: write it like postgres://user:password@host/name")
	case s.keep != keepDefault && s.keep != keepPerCall && s.keep != keepPool && s.keep != keepPgx:
		return s, fmt.Errorf("-connections: %q is none of default, per-call, pool, pgx", s.keep)
	case s.keep == keepPool && s.pool < 1:
		return s, errors.New("-pool: a pool has one connection or more")
	case s.keep != keepPool && s.pool != 0:
		return s, errors.New("-pool goes with -connections pool")
	}
	return s, nil
}

// run serves until ctx is done, then lets the requests in flight finish.
func run(ctx context.Context, s settings) error {
	store, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer store.close()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newBank(store),
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
