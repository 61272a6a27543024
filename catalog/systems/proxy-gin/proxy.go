// The handler: takes an outbound slot for each request and forwards it with httputil.ReverseProxy.
// Start reading at proxy.handle.

package main

import (
	"context"
	"errors"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

const (
	// prefix is removed from a path before it goes to the upstream.
	prefix = "/product"

	// whole is the beginning of paths that go to the upstream as they are.
	whole = "/v1"

	// flushAfter is how long a part of a body that does not fill a buffer may be kept. A short
	// response that arrives in one piece is written once, head and body together.
	flushAfter = time.Millisecond

	// outboundIdle is how long an unused upstream connection is kept. It is shorter than servers
	// usually keep theirs, so that a request seldom meets a closed connection.
	outboundIdle = 15 * time.Second
)

// proxy forwards requests below prefix or whole to the upstream.
type proxy struct {
	forward *httputil.ReverseProxy
	slots   chan struct{} // one slot per outbound request in flight; nil: unbounded
	wait    time.Duration
	crowded func() bool // whether responses should close their connection
	logger  *log.Logger
}

// newProxy creates the handler. At most outbound requests are in flight to the upstream; zero is no
// limit. A nil crowded means never.
func newProxy(s settings, outbound int, crowded func() bool, logger *log.Logger) http.Handler {
	if crowded == nil {
		crowded = func() bool { return false }
	}
	p := &proxy{wait: s.wait, crowded: crowded, logger: logger}
	if outbound > 0 {
		p.slots = make(chan struct{}, outbound)
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:        rewriteTo(s.upstream),
		Transport:      noTrailers{newTransport(s.upstreamTimeout, outbound)},
		FlushInterval:  flushAfter,
		BufferPool:     &buffers,
		ErrorLog:       logger,
		ModifyResponse: p.modify,
		ErrorHandler:   p.failed,
	}

	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.RedirectTrailingSlash = false // "/product" is a path of its own
	router.UseRawPath = true             // an encoded slash must not end the prefix
	router.Use(p.recovery)
	router.NoRoute(
		func(c *gin.Context) { p.answerError(c.Writer, http.StatusNotFound, "not found") },
	)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
		"TRACE"} {
		router.Handle(method, prefix, p.handle)
		router.Handle(method, prefix+"/*rest", p.handle)
		router.Handle(method, whole+"/*rest", p.handle)
	}
	return router
}

// newTransport creates the client side: it keeps connections, decodes and follows nothing, and
// ignores proxies from the environment.
func newTransport(timeout time.Duration, outbound int) *http.Transport {
	keep := outbound
	if outbound == 0 {
		keep = math.MaxInt // zero would mean two
	}
	dialer := &net.Dialer{Timeout: timeout}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &impatient{conn, timeout}, nil
		},
		MaxConnsPerHost:       outbound, // zero: no limit
		MaxIdleConnsPerHost:   keep,
		IdleConnTimeout:       outboundIdle,
		ResponseHeaderTimeout: timeout,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
}

// handle forwards one request once it has a slot.
func (p *proxy) handle(c *gin.Context) {
	if p.slots != nil {
		if !p.acquireSlot(c.Request.Context()) {
			c.Writer.Header().Set("Retry-After", "1")
			p.answerError(c.Writer, http.StatusServiceUnavailable, "too many requests in flight")
			return
		}
		defer func() { <-p.slots }()
	}
	// ReverseProxy would pass on upgrades and TE: trailers.
	c.Request.Header.Del("Upgrade")
	c.Request.Header.Del("Te")
	if c.Request.ContentLength != 0 {
		// Otherwise net/http discards the rest of a body once the response begins.
		if err := http.NewResponseController(c.Writer).EnableFullDuplex(); err != nil {
			p.logger.Printf("streaming both ways at once: %v", err)
		}
	}
	// A nil value stops net/http from guessing a type.
	c.Writer.Header()["Content-Type"] = nil
	p.forward.ServeHTTP(c.Writer, c.Request)
}

// acquireSlot waits up to p.wait. False means that there was no slot, or no client any more.
func (p *proxy) acquireSlot(ctx context.Context) bool {
	select {
	case p.slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// rewriteTo returns what ReverseProxy does to each request: it removes the prefix, sets the
// upstream's address and Host, and adds forwarding fields.
func rewriteTo(upstream *url.URL) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) {
		// The router matched the escaped path, so both forms begin with the prefix, if either does.
		r.Out.URL.Path = strings.TrimPrefix(r.Out.URL.Path, prefix)
		r.Out.URL.RawPath = strings.TrimPrefix(r.Out.URL.RawPath, prefix)
		r.SetURL(upstream)
		r.Out.URL.RawQuery = r.In.URL.RawQuery // ReverseProxy drops what it cannot parse

		// ReverseProxy removed these; the values of earlier proxies are kept and extended.
		for _, name := range []string{"Forwarded", "X-Forwarded-For"} {
			if values := r.In.Header[name]; values != nil {
				r.Out.Header[name] = values
			}
		}
		r.SetXForwarded()
		r.Out.Trailer = nil
	}
}

// modify checks each response of the upstream before it is passed on.
func (p *proxy) modify(answer *http.Response) error {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return errors.New("the upstream switched protocols without being asked")
	}
	if p.crowded() {
		answer.Header.Set("Connection", "close")
	}
	return nil
}

// failed responds to a request without a response from the upstream.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the client is gone
		panic(http.ErrAbortHandler)
	}
	p.logger.Printf("%s %s: %v", r.Method, r.URL.Path, err)
	if timedOut(err) {
		p.answerError(w, http.StatusGatewayTimeout, "the upstream did not answer in time")
		return
	}
	p.answerError(w, http.StatusBadGateway, "the upstream could not be reached or broke off")
}

// timedOut reports whether a connected upstream was too slow. A timeout while connecting counts as
// unreachable.
func timedOut(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return false
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// answerError sends a response of the proxy itself.
func (p *proxy) answerError(w http.ResponseWriter, status int, message string) {
	body := `{"error":"` + message + `"}`
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if p.crowded() {
		header.Set("Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // it fails only if the client is gone
}

// recovery responds 500 after a panic. gin's own would also swallow http.ErrAbortHandler, and so
// make a truncated body look complete.
func (p *proxy) recovery(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if cause != http.ErrAbortHandler { //nolint:errorlint // net/http panics with it unwrapped
			p.logger.Printf("panic: %v\n%s", cause, debug.Stack())
		}
		if cause == http.ErrAbortHandler || c.Writer.Written() { //nolint:errorlint // the same
			panic(http.ErrAbortHandler) // net/http cuts the connection
		}
		p.answerError(c.Writer, http.StatusInternalServerError, "internal error")
	}()
	c.Next()
}

// noTrailers hides the trailers of a response, which are not passed on.
type noTrailers struct{ http.RoundTripper }

func (t noTrailers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err == nil && answer.ContentLength < 0 {
		// At its end the body sets the trailers of the original, not of the copy.
		bare := *answer
		bare.Trailer = nil
		return &bare, nil
	}
	return answer, err
}

// impatient is a connection on which a write without progress fails. The transport's timeout begins
// only once the request has been written.
type impatient struct {
	net.Conn
	timeout time.Duration
}

func (c *impatient) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// bufferPool holds the buffers through which bodies are copied.
type bufferPool struct{ pool sync.Pool }

const bufferSize = 32 << 10

var buffers = bufferPool{sync.Pool{New: func() any { return new([bufferSize]byte) }}}

func (b *bufferPool) Get() []byte       { return b.pool.Get().(*[bufferSize]byte)[:] }
func (b *bufferPool) Put(buffer []byte) { b.pool.Put((*[bufferSize]byte)(buffer)) }
