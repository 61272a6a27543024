// Command shop is three services of a shop in one process, each at its own address: orders, which
// calls stock, and reviews, with two servers, one of which fails. See README.md for its decisions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
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
	first, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "shop: %v\n", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, first); err != nil {
		fmt.Fprintf(os.Stderr, "shop: %v\n", err)
		os.Exit(1)
	}
}

// parse reads the arguments: the address of the first service. Usage goes to usage, and an invalid
// setting is an error.
func parse(args []string, usage io.Writer) (netip.AddrPort, error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(usage)
	listen := flags.String("listen", "127.0.0.1:8080",
		"`address` of orders; stock and the two servers of reviews have the addresses that follow, and the same port")
	if err := flags.Parse(args); err != nil {
		return netip.AddrPort{}, err
	}
	if flags.NArg() > 0 {
		return netip.AddrPort{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	first, err := netip.ParseAddrPort(*listen)
	if err != nil || !first.Addr().Is4() || !first.Addr().IsLoopback() || first.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf(
			"-listen: %q is not a port of 127.0.0.0/8\n  hint: write for example 127.0.0.1:8080; in a container, have it use the machine's own network", *listen)
	}
	return first, nil
}

// run serves until ctx is done, then lets the requests in flight finish.
func run(ctx context.Context, first netip.AddrPort) error {
	ending, end := context.WithCancel(context.Background()) // of requests that would never finish
	defer end()
	var servers []*http.Server
	defer func() {
		for _, server := range servers {
			server.Close()
		}
	}()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // with a client that begins with it
	handlers := services(first, ending)
	failed := make(chan error, len(handlers))
	address := first.Addr()
	for _, handler := range handlers {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(address, first.Port()).String())
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, Protocols: protocols,
			ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout}
		servers = append(servers, server)
		go func() { failed <- server.Serve(listener) }()
		address = address.Next()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(ctx); err != nil {
			break // the rest is aborted
		}
	}
	return nil
}
