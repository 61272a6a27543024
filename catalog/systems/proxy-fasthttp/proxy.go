// The handler: forwards each request with fasthttp's HostClient. Start reading at proxy.handle.

package main

import (
	"bytes"
	"errors"
	"log"
	"strings"

	"github.com/valyala/fasthttp"
)

// hopByHop lists the fields of one connection, which are not passed on (RFC 9110, section 7.6.1),
// in addition to those that Connection names.
var hopByHop = []string{
	"Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade",
	"Connection",
}

// prefix is removed from a path before it goes to the upstream.
const prefix = "/product"

// proxy forwards requests below prefix, without it, and below /v1.
type proxy struct {
	client *fasthttp.HostClient
	host   string
	logger *log.Logger
}

// handle forwards the client's request, and reads the response into the client's: neither is
// copied.
func (p *proxy) handle(ctx *fasthttp.RequestCtx) {
	target, found := route(ctx.Request.Header.RequestURI())
	if !found {
		answer(ctx, fasthttp.StatusNotFound, "not found")
		return
	}
	request, response := &ctx.Request, &ctx.Response
	request.Header.Set("X-Forwarded-Host", string(request.Header.Host()))
	request.Header.Set("X-Forwarded-Proto", "http")
	before := request.Header.PeekAll("X-Forwarded-For")
	request.Header.Set("X-Forwarded-For",
		string(bytes.Join(append(before, []byte(ctx.RemoteIP().String())), []byte(", "))))
	strip(request.Header.PeekAll("Connection"), request.Header.Del)
	request.Header.SetHost(p.host)
	request.SetRequestURIBytes(target)

	if err := p.client.Do(request, response); err != nil {
		p.failed(ctx, err)
		return
	}
	strip(response.Header.PeekAll("Connection"), response.Header.Del)
}

// route returns the target for the upstream, and whether the request goes there at all.
func route(uri []byte) ([]byte, bool) {
	path, _, _ := bytes.Cut(uri, []byte("?"))
	rest, under := bytes.CutPrefix(path, []byte(prefix))
	switch {
	case under && len(rest) == 0:
		return append([]byte("/"), uri[len(prefix):]...), true
	case under && rest[0] == '/':
		return uri[len(prefix):], true
	}
	return uri, bytes.HasPrefix(path, []byte("/v1/"))
}

// strip removes the fields of one connection.
func strip(connection [][]byte, remove func(string)) {
	var named []string // before anything is removed: the values are in the header
	for _, value := range connection {
		for name := range strings.SplitSeq(string(value), ",") {
			named = append(named, strings.TrimSpace(name))
		}
	}
	for _, name := range named {
		remove(name)
	}
	for _, name := range hopByHop {
		remove(name)
	}
}

// failed responds to a request without a response from the upstream.
func (p *proxy) failed(ctx *fasthttp.RequestCtx, err error) {
	switch {
	case errors.Is(err, fasthttp.ErrNoFreeConns):
		answer(ctx, fasthttp.StatusServiceUnavailable, "too many requests in flight")
		ctx.Response.Header.Set("Retry-After", "1")
	case errors.Is(err, fasthttp.ErrTimeout):
		p.logger.Printf("%s %s: %v", ctx.Method(), ctx.RequestURI(), err)
		answer(ctx, fasthttp.StatusGatewayTimeout, "the upstream did not answer in time")
	default:
		p.logger.Printf("%s %s: %v", ctx.Method(), ctx.RequestURI(), err)
		answer(ctx, fasthttp.StatusBadGateway, "the upstream could not be reached or broke off")
	}
}

// answer sends a response of the proxy itself.
func answer(ctx *fasthttp.RequestCtx, status int, message string) {
	ctx.Response.Reset()
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBodyString(`{"error":"` + message + `"}`)
}
