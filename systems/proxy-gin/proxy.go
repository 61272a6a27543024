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
	// prefix is what is taken off a path before it goes to the upstream.
	prefix = "/product"

	// whole is the beginning of paths that go to the upstream as they are.
	whole = "/v1"

	// flushAfter is how long a part of a body that does not fill a buffer may stay here.
	// A short answer that comes whole is written once, head and body together.
	flushAfter = time.Millisecond

	// outboundIdle is how long an unused upstream connection is kept. It is shorter than
	// the usual servers keep theirs, so that a request seldom meets one just closed.
	outboundIdle = 15 * time.Second
)

// proxy forwards what is under prefix or whole to the upstream.
type proxy struct {
	forward *httputil.ReverseProxy
	places  chan struct{} // one for each outbound request in flight; nil: unbounded
	wait    time.Duration
	crowded func() bool // whether answers should end their connection
	logger  *log.Logger
}

// newProxy makes the handler. At most outbound requests are in flight to the upstream,
// zero meaning any number; a nil crowded means never.
func newProxy(s settings, outbound int, crowded func() bool, logger *log.Logger) http.Handler {
	if crowded == nil {
		crowded = func() bool { return false }
	}
	p := &proxy{wait: s.wait, crowded: crowded, logger: logger}
	if outbound > 0 {
		p.places = make(chan struct{}, outbound)
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
	router.UseRawPath = true             // so that an encoded slash does not end the prefix
	router.Use(p.recovery)
	router.NoRoute(func(c *gin.Context) { p.answerError(c.Writer, http.StatusNotFound, "not found") })
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		router.Handle(method, prefix, p.handle)
		router.Handle(method, prefix+"/*rest", p.handle)
		router.Handle(method, whole+"/*rest", p.handle)
	}
	return router
}

// newTransport makes the client side: connections are kept, nothing is decoded or
// followed, and no environment variable leads elsewhere.
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

// handle forwards one request once it has a place.
func (p *proxy) handle(c *gin.Context) {
	if p.places != nil {
		if !p.takePlace(c.Request.Context()) {
			c.Writer.Header().Set("Retry-After", "1")
			p.answerError(c.Writer, http.StatusServiceUnavailable, "too many requests in flight")
			return
		}
		defer func() { <-p.places }()
	}
	// ReverseProxy would pass on an upgrade and the wish for trailers.
	c.Request.Header.Del("Upgrade")
	c.Request.Header.Del("Te")
	if c.Request.ContentLength != 0 {
		// Otherwise net/http swallows what is left of a body once the answer begins.
		if err := http.NewResponseController(c.Writer).EnableFullDuplex(); err != nil {
			p.logger.Printf("streaming both ways at once: %v", err)
		}
	}
	// A nil value keeps net/http from guessing a type that the upstream did not give.
	c.Writer.Header()["Content-Type"] = nil
	p.forward.ServeHTTP(c.Writer, c.Request)
}

// takePlace waits up to p.wait; false means that there was no place, or no client any more.
func (p *proxy) takePlace(ctx context.Context) bool {
	select {
	case p.places <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case p.places <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// rewriteTo returns what ReverseProxy does to each request: prefix off, upstream's address
// and Host on, forwarding headers added.
func rewriteTo(upstream *url.URL) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) {
		// The router matched the escaped path, so both forms begin with the prefix, if either does.
		r.Out.URL.Path = strings.TrimPrefix(r.Out.URL.Path, prefix)
		r.Out.URL.RawPath = strings.TrimPrefix(r.Out.URL.RawPath, prefix)
		r.SetURL(upstream)
		r.Out.URL.RawQuery = r.In.URL.RawQuery // ReverseProxy drops what it cannot parse

		// ReverseProxy removed these; what earlier proxies said is kept and added to.
		for _, name := range []string{"Forwarded", "X-Forwarded-For"} {
			if values := r.In.Header[name]; values != nil {
				r.Out.Header[name] = values
			}
		}
		r.SetXForwarded()
		r.Out.Trailer = nil
	}
}

// modify looks at each answer of the upstream before it is passed on.
func (p *proxy) modify(answer *http.Response) error {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return errors.New("the upstream switched protocols, which nobody asked for")
	}
	if p.crowded() {
		answer.Header.Set("Connection", "close")
	}
	return nil
}

// failed answers a request that got no answer from the upstream.
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

// timedOut reports whether a connected upstream was too slow. One that could not be
// connected to in time counts as unreachable.
func timedOut(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return false
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// answerError answers in the proxy's own name.
func (p *proxy) answerError(w http.ResponseWriter, status int, message string) {
	body := `{"error":"` + message + `"}`
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if p.crowded() {
		header.Set("Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // a client that is gone needs no answer
}

// recovery answers 500 after a panic. gin's own would swallow http.ErrAbortHandler too and
// so turn a body that broke off into one that looks whole.
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

// noTrailers hides the trailers of an answer, which are not passed on.
type noTrailers struct{ http.RoundTripper }

func (t noTrailers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err == nil && answer.ContentLength < 0 {
		// The body fills in the original's trailers when it ends, not the copy's.
		bare := *answer
		bare.Trailer = nil
		return &bare, nil
	}
	return answer, err
}

// impatient is a connection on which a write that makes no progress fails, as the
// transport's timeout begins only once the request has been written.
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
