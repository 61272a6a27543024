// Reading of complete and of invalid configurations. `whole` sets every key; each invalid file is a
// change of it.

package config

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"faceoff/gateway/cache"
	"faceoff/gateway/guard"
	"faceoff/gateway/headers"
	"faceoff/gateway/openapi"
	"faceoff/gateway/proxy"
	"faceoff/gateway/route"
	"faceoff/gateway/wire"
)

const whole = `listen: 127.0.0.1:8080
admin: 127.0.0.1:9901
workers: 2
limits: {clients: 100, head: 8KB, descriptors: 1000, pace: 1KB, streams: 50}
timeouts: {head: 1s, idle: 2s, body: 5s, stall: 3s, stop: 4s}
via: ""
forwarded: true
trusted: [10.0.0.0/8, "::1"]
upstreams:
  products:
    servers: [127.0.0.1:8081, {address: "127.0.0.1:8082", weight: 3}]
    balance: least-requests
    share: 50%
    requests: 20
    queue: 7
    wait: 100ms
    host: pass
    timeouts: {connect: 1s, answer: 2s, tunnel: 3s}
    keep: {for: 4s}
    retries: 10%
    eject: {after: 3, for: 5s, shed: true, slow: 6s}
    health: {path: /well, every: 7s, within: 8s, up: 9, down: 10}
  others:
    servers: 127.0.0.1:8083
routes:
  - {path: /product, replace: /, upstream: products}
  - {path: /canary, upstream: {products: 99.5%, others: 0.5%}}
  - path: /
    host: ["*.Shop.example"]
    methods: [GET, HEAD]
    headers: {X-Canary: "yes"}
    access: false
    allow: [10.0.0.0/8]
    deny: 10.1.0.0/16
    body: 1MB
    rate: {requests: 600, per: 1m, burst: 20, key: X-Api-Key}
    token: {keys: keys.json, issuer: us, audience: shop}
    mirror: {products: 10%}
    upstream: others
access: access.log
watch: 2s
tls:
  listen: 127.0.0.1:8443
  certificates: [{certificate: shop.pem, key: shop.key}]
spans: {to: "http://127.0.0.1:4318"}
`

var known = outside{
	find: func(address string) (netip.AddrPort, error) {
		if resolved, err := netip.ParseAddrPort(address); err == nil {
			return resolved, nil
		}
		return netip.AddrPort{}, errors.New("no such host")
	},
	load: func(certificate, key string) (tls.Certificate, error) {
		if certificate != "shop.pem" || key != "shop.key" {
			return tls.Certificate{}, errors.New("no such file")
		}
		return tls.Certificate{Certificate: [][]byte{{1}}}, nil
	},
	read: func(name string) ([]byte, error) {
		if name == "roots.pem" {
			return roots(), nil
		}
		if text := map[string]string{"keys.json": oneKey, "pets.yaml": pets, "old.yaml": "swagger: \"2.0\""}[name]; text != "" {
			return []byte(text), nil
		}
		return nil, errors.New("no such file")
	},
	fetch: func(url string) ([]byte, error) {
		if url != "https://shop.example/keys" {
			return nil, errors.New("no such host")
		}
		return []byte(oneKey), nil
	},
}

const oneKey = `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`

const pets = "openapi: 3.1.0\npaths: {/pets: {get: {}}}"

func TestCacheSettingsAreRead(t *testing.T) {
	for text, want := range map[string]cache.Limits{
		"{}":                        {Size: 64 << 20, Object: 1 << 20},
		"{size: 1MB}":               {Size: 1 << 20, Object: 256 << 10},
		"{size: 8MB, object: 10KB}": {Size: 8 << 20, Object: 10 << 10},
	} {
		c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:8081]}}\nroutes:\n  - {upstream: a, cache: "+text+"}\n  - {path: /v2, upstream: a}"), 1000, 1, known)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Routes[0].Cache; got == nil || got.Limits != want || c.Routes[1].Cache != nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestOpenAPIIsRead(t *testing.T) {
	c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:8081]}}\nroutes:\n"+
		"  - {upstream: a, openapi: {file: pets.yaml}}\n  - {path: /v1, upstream: a, body: 2MB, openapi: {file: pets.yaml, answers: true, values: 7}}\n  - {path: /v2, upstream: a}"), 1000, 1, known)
	if err != nil {
		t.Fatal(err)
	}
	first, second := c.Routes[0], c.Routes[1]
	if first.OpenAPI == nil || first.OpenAPI.Answers || first.OpenAPI.Most != 128<<10 || first.OpenAPI.Values != openapi.MostValues || first.Guard.Body != 128<<10 {
		t.Errorf("%+v, %+v", first.OpenAPI, first.Guard)
	}
	if second.OpenAPI == nil || !second.OpenAPI.Answers || second.OpenAPI.Most != 2<<20 || second.OpenAPI.Values != 7 || second.Guard.Body != 2<<20 || second.OpenAPI.Document != first.OpenAPI.Document {
		t.Errorf("%+v, %+v", second.OpenAPI, second.Guard)
	}
	if c.Routes[2].OpenAPI != nil || !slices.Equal(c.Files, []string{"f", "pets.yaml"}) {
		t.Errorf("%+v, %v", c.Routes[2], c.Files)
	}
}

func TestFileIsRead(t *testing.T) {
	c, err := parse("gateway.yaml", []byte(whole), 1000, 1, known)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Server
	if c.Listen.Port() != 8080 || c.Admin.Port() != 9901 || c.Stop != 4*time.Second || s.Workers != 2 || s.MaxClients != 100 || s.MaxHead != 8<<10 || s.Pace != 1<<10 || s.Streams != 50 ||
		s.HeadTimeout != time.Second || s.IdleTimeout != 2*time.Second || s.BodyTimeout != 5*time.Second || s.Stall != 3*time.Second || s.Via != "" || !s.Forwarded || len(s.Trusted) != 2 {
		t.Errorf("%+v", c)
	}
	if c.ListenTLS.Port() != 8443 || len(c.TLS.Certificates) != 1 || c.TLS.MinVersion != tls.VersionTLS12 || !slices.Equal(c.TLS.NextProtos, []string{"h2", "http/1.1"}) {
		t.Errorf("%+v", c.TLS)
	}
	products, others := c.Upstreams[0], c.Upstreams[1]
	if len(products.Servers) != 2 || products.Servers[1].Weight != 3 || products.Balance != proxy.LeastRequests || products.Most != 20 || products.Queue != 7 ||
		products.Wait != 100*time.Millisecond || products.Host != nil || products.Connect != time.Second || products.Answer != 2*time.Second ||
		products.Tunnel != 3*time.Second || products.KeepFor != 4*time.Second || products.Failures != 3 || products.Eject != 5*time.Second ||
		!products.Shed || products.Slow != 6*time.Second || products.Retries != 0.1 || *products.Health != (proxy.Health{Path: "/well", Every: 7 * time.Second, Within: 8 * time.Second, Up: 9, Down: 10}) {
		t.Errorf("%+v", products)
	}
	if string(others.Host) != "127.0.0.1:8083" || others.Retries != 0.2 || others.Health != nil || others.Shed {
		t.Errorf("%+v", others)
	}
	if split := c.Routes[1].Split; !slices.Equal(split, []route.Part{{Upstream: 0, Upto: 9950}, {Upstream: 1, Upto: route.Whole}}) {
		t.Errorf("%+v", split)
	}
	if r := c.Routes[2]; r.Upstream != 1 || !slices.Equal(r.Hosts, []string{"*.shop.example"}) || len(r.Methods) != 2 || r.Headers[0].Name != "x-canary" || r.Rewrites() || !r.Quiet || *r.Mirror != (route.Part{Upstream: 0, Upto: 1000}) || c.Routes[0].Mirror != nil || c.Routes[0].Quiet || c.Access != "access.log" || c.Spans != (Spans{"http://127.0.0.1:4318/v1/traces", "gateway"}) || c.Watch != 2*time.Second || !slices.Equal(c.Files, []string{"gateway.yaml", "shop.pem", "shop.key", "keys.json"}) {
		t.Errorf("%+v", r)
	}
	if c.Routes[0].Guard != nil || c.Routes[2].Guard == nil {
		t.Fatalf("%+v", c.Routes)
	}
	if g := c.Routes[2].Guard; len(g.Allow) != 1 || g.Deny[0].Bits() != 16 || g.Body != 1<<20 || g.Rate.Limits != (guard.Limits{Each: 10, Burst: 20, Key: "x-api-key"}) ||
		len(g.Token.Keys) != 1 || g.Token.Issuer != "us" || g.Token.Audience != "shop" {
		t.Errorf("%+v", g)
	}
	// Of 968 descriptors a third is outbound, and half of that is for the other upstream, including
	// what another worker keeps idle.
	if n := others.Most + others.Keep; n > 161 || n < 150 {
		t.Errorf("%d in flight and %d kept of 161", others.Most, others.Keep)
	}
}

// roots is a certificate that issues others.
func roots() []byte {
	lender := httptest.NewUnstartedServer(nil)
	lender.StartTLS()
	defer lender.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw})
}

func TestUpstreamTLSIsRead(t *testing.T) {
	for tls, want := range map[string]string{
		"{}":                         "127.0.0.1",
		"{name: shop}":               "shop",
		"{roots: roots.pem}":         "127.0.0.1",
		"{name: shop, roots: other}": "f:2: cannot use the certificates of `other`: no such file\n  hint: name a file with certificates in PEM",
		"{roots: keys.json}":         "cannot use the certificates of `keys.json`: it has none",
	} {
		c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:8443], tls: "+tls+"}}\nroutes: [{upstream: a}]"), 1000, 1, known)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", tls, err)
			}
			continue
		}
		if s := c.Upstreams[0].TLS; s == nil || s.Name != want || (s.Roots != nil) != strings.Contains(tls, "roots") {
			t.Errorf("%s: %+v", tls, s)
		}
	}
}

// catalog is the folder whose system.toml describes the gateway to faceoff.
const catalog = "../../catalog/systems/gateway/"

func TestCatalogFilesAreValid(t *testing.T) {
	for _, name := range []string{"gateway.yaml", "concerns.yaml", "services.yaml"} {
		text, err := os.ReadFile(catalog + name)
		if err != nil {
			t.Fatal(err)
		}
		rendered := strings.NewReplacer("{listen}", "127.0.0.1", "{port.http}", "8080", "{cores}", "2", "{upstream.address}", "127.0.0.1:8081", "{upstream.port}", "8081", "{work}", "/tmp").Replace(string(text))
		c, err := parse(name, []byte(rendered), 1000, 1, known)
		if err != nil {
			t.Error(err)
			continue
		}
		if name != "services.yaml" {
			continue
		}
		// As system.toml has it.
		bare, err := parse(name, []byte(rendered), 1000, 1, known, "upstreams.reviews.retries=0%", "upstreams.reviews.eject.after=0")
		if err != nil || c.Upstreams[1].Retries == 0 || c.Upstreams[1].Failures == 0 || bare.Upstreams[1].Retries != 0 || bare.Upstreams[1].Failures != 0 {
			t.Errorf("%v", err)
		}
		framed, err := parse(name, []byte(rendered), 1000, 1, known, "upstreams.orders.http2=true", "upstreams.reviews.http2=true")
		if err != nil || !framed.Upstreams[0].HTTP2 || !framed.Upstreams[1].HTTP2 || c.Upstreams[0].HTTP2 {
			t.Errorf("%v", err)
		}
	}
}

func TestCatalogVariantsAreValid(t *testing.T) {
	text, err := os.ReadFile(catalog + "gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rendered := strings.NewReplacer("{listen}", "127.0.0.1", "{port.http}", "8080", "{cores}", "2", "{upstream.address}", "127.0.0.1:8081").Replace(string(text))
	here := known
	here.read = func(name string) ([]byte, error) { return os.ReadFile("../" + name) }
	c, err := parse("f", []byte(rendered), 1000, 1, here,
		"routes.0.rate={requests: 1000000, burst: 1000000}", "routes.0.id=X-Request-Id", "routes.0.trace=10%", "routes.0.deny=[192.0.2.0/24]", "routes.0.body=1MB",
		"routes.0.cors={origins: [https://shop.example]}", "routes.0.token={keys: ../catalog/systems/gateway/token-keys.json, issuer: faceoff}", "routes.0.openapi.file=../catalog/systems/gateway/products-api.yaml",
		// As system.toml has them.
		"routes.1.openapi.file=../catalog/systems/light-proxy/config/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := os.ReadFile("../../catalog/workloads/pets-tokens.csv")
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Routes[0]; r.Edits.ID == "" || !r.Edits.Trace || r.Edits.Cors == nil || r.Guard.Rate == nil || len(r.Guard.Deny) != 1 || r.Guard.Body != 1<<20 {
		t.Errorf("%+v, %+v", r.Edits, r.Guard)
	}
	var get wire.Request
	if _, err := get.Parse([]byte("GET /product/products HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, _, p := c.Routes[0].OpenAPI.Request(&get, []byte("/products")); p != nil {
		t.Errorf("%+v", p)
	}
	if _, _, p := c.Routes[1].OpenAPI.Request(&get, []byte("/v1/pets")); p != nil {
		t.Errorf("%+v", p)
	}
	lines := strings.Split(strings.TrimSpace(string(tokens)), "\n")
	names, values := strings.Split(strings.TrimSpace(lines[0]), ","), strings.Split(strings.TrimSpace(lines[1]), ",")
	for i, name := range names {
		want := 401
		if name == "valid" {
			want = 0
		}
		var r wire.Request
		if _, err := r.Parse([]byte("GET /product/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + values[i] + "\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if got := c.Routes[0].Guard.Check(&r, netip.MustParseAddr("127.0.0.1"), time.Now()); got.Status != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// invalidFiles are changes that make the file invalid, with the expected report.
var invalidFiles = []struct{ from, to, want string }{
	{whole, "", "gateway.yaml:1: the file is empty\n  hint: it needs `listen`, `upstreams` and `routes`"},
	{whole, "a: [", "hint: it is not YAML"},
	{whole, "x", "gateway.yaml:1: the file is not a table"},
	{"listen: 127.0.0.1:8080\n", "", "`listen` is missing\n  hint: write for example `listen: 127.0.0.1:8080`"},
	{"listen: 127.0.0.1:8080", "listen: 8080", "gateway.yaml:1: `listen` is \"8080\""},
	{"listen: 127.0.0.1:8080", "listen: [a]", "gateway.yaml:1: `listen` is not a single value"},
	{"admin: 127.0.0.1:9901", "admin: 0.0.0.0:9901", "gateway.yaml:2: `admin` is not on loopback"},
	{"workers: 2", "workers: 2\nworkers: 3", "gateway.yaml:4: `workers` is written twice"},
	{"workers: 2", "workers: 0", "gateway.yaml:3: `workers` is \"0\"\n  hint: write a whole number from 1 to 256"},
	{"to: \"http://127.0.0.1:4318\"", "to: collector:4318", "`spans.to` cannot receive spans: it is not an http or https URL\n  hint: write the address of a collector"},
	{"to: \"http://127.0.0.1:4318\"", "service: shop", "`spans.to` cannot receive spans"},
	{"workers: 2", "wrokers: 2", "gateway.yaml:3: `wrokers` is not a key of the file\n  hint: did you mean `workers`?"},
	{"head: 8KB", "head: 8", "gateway.yaml:4: `limits.head` is \"8\""},
	{"head: 8KB", "head: 99999999999999999999KB", "`limits.head` is"},
	{"descriptors: 1000", "descriptors: 63", "gateway.yaml:4: `limits.descriptors` is \"63\""},
	{"idle: 2s", "idle: 2", "gateway.yaml:5: `timeouts.idle` is \"2\"\n  hint: write a time from 100ms"},
	{"forwarded: true", "forwarded: yes", "gateway.yaml:7: `forwarded` is \"yes\"\n  hint: write `true` or `false`"},
	{`via: ""`, `via: "a b"`, "gateway.yaml:6: `via` is \"a b\""},
	{"10.0.0.0/8, \"::1\"", "ten", "gateway.yaml:8: `trusted` has \"ten\""},
	{"127.0.0.1:8081", "service", "gateway.yaml:11: \"service\" is not a server"},
	{"127.0.0.1:8081", "service:80", "\"service:80\" is not a server: no such host"},
	{"127.0.0.1:8083", "127.0.0.1:99999", "is not a server"},
	{"weight: 3", "weight: x", "`upstreams.products.servers.weight` is \"x\""},
	{"least-requests", "random", "gateway.yaml:12: `balance` is \"random\"\n  hint: write round-robin, least-requests or two-choices"},
	{"share: 50%", "share: 50", "gateway.yaml:13: `upstreams.products.share` is \"50\""},
	{"share: 50%", "share: 100%", "the upstreams' shares leave no descriptors for the others"},
	{"share: 50%", "share: 99.9%", "no descriptors are left for upstream \"others\""},
	{"requests: 20", "requests: 100000", "`upstreams.products.requests` is \"100000\""},
	{"host: pass", "host: a/b", "`host` is \"a/b\""},
	{"    servers: 127.0.0.1:8083", "    servers: []", "`upstreams.others.servers` is empty"},
	{"    servers: 127.0.0.1:8083", "    queue: 1", "`upstreams.others.servers` is missing"},
	{"  others:", "  o thers:", "is not a name for an upstream"},
	{"  others:", "  products:", "`products` is written twice"},
	{"upstream: others", "upstream: other", "gateway.yaml:39: no upstream is named \"other\"\n  hint: did you mean `others`?"},
	{"upstream: others", "upstream: x", "hint: there are: others, products"},
	{"    upstream: others\n", "", "a route without an `upstream`"},
	{"path: /product", "path: product", "gateway.yaml:26: `path` is \"product\""},
	{"path: /product", "path: /a/../b", "`path` is \"/a/../b\""},
	{"replace: /", "replace: \"/a?b\"", "`replace` is \"/a?b\""},
	{"*.Shop.example", "shop:80", "\"shop:80\" is not a host name"},
	{"others: 0.5%", "others: 1%", "gateway.yaml:27: the parts of `upstream` add up to 100.5%\n  hint: let the parts add up to 100%"},
	{"others: 0.5%", "other: 0.5%", "no upstream is named \"other\"\n  hint: did you mean `others`?"},
	{"allow: [10.0.0.0/8]", "allow: [ten]", "gateway.yaml:33: `routes[2].allow` has \"ten\""},
	{"allow: [10.0.0.0/8]", "allow: []", "gateway.yaml:33: `routes[2].allow` names no network\n  hint: name networks, or remove the key"},
	{"methods: [GET, HEAD]", "methods: [get]", "`routes[2].methods` has \"get\"\n  hint: write `GET`: the case of methods matters"},
	{"methods: [GET, HEAD]", "methods: [\"G T\"]", "`routes[2].methods` has \"G T\""},
	{"key: X-Api-Key", "key: \"X Api Key\"", "gateway.yaml:36: `routes[2].rate.key` is \"X Api Key\""},
	{"body: 1MB", "body: 1TB", "gateway.yaml:35: `routes[2].body` is \"1TB\""},
	{"requests: 600, ", "", "`routes[2].rate.requests` is missing"},
	{"per: 1m", "per: never", "gateway.yaml:36: `routes[2].rate.per` is \"never\""},
	{"keys: keys.json", "keys: x", "gateway.yaml:37: cannot use the keys of `x`: no such file"},
	{"mirror: {products: 10%}", "mirror: product", "gateway.yaml:38: no upstream is named \"product\"\n  hint: did you mean `products`?"},
	{"mirror: {products: 10%}", "mirror: {products: 10%, others: 10%}", "`mirror` names 2 upstreams"},
	{"mirror: {products: 10%}", "mirror: {products: 10}", "`routes[2].mirror.products` is \"10\""},
	{"retries: 10%", "retries: 10", "gateway.yaml:20: `upstreams.products.retries` is \"10\""},
	{"retries: 10%", "http2: yes", "gateway.yaml:20: `upstreams.products.http2` is \"yes\"\n  hint: write `true` or `false`"},
	{"body: 1MB", "compress: {types: [text]}", "gateway.yaml:35: `routes[2].compress.types` has \"text\""},
	{"body: 1MB", "compress: {types: [\"*/*\"]}", "`routes[2].compress.types` has \"*/*\""},
	{"body: 1MB", "openapi: {file: x}", "gateway.yaml:35: cannot use the document `x`: no such file"},
	{"body: 1MB", "openapi: {file: old.yaml}", "cannot use the document `old.yaml`: it does not say `openapi: 3.0.x`"},
	{"body: 1MB", "openapi: {answers: true}", "`routes[2].openapi.file` is missing\n  hint: write for example `openapi: {file: petstore.yaml}`"},
	{"body: 1MB", "body: 5MB\n    openapi: {file: pets.yaml}", "gateway.yaml:35: `routes[2].body` is 5242880 bytes\n  hint: write 4MB at most"},
	{"body: 1MB", "cache: {size: 1KB}", "gateway.yaml:35: `routes[2].cache.size` is \"1KB\"\n  hint: write a size from 65536"},
	{"body: 1MB", "cache: {size: 1MB, object: 512KB}", "gateway.yaml:35: `routes[2].cache.object` is 524288 bytes of 1048576\n  hint: write a quarter of `size`"},
	{"path: /well", "path: well", "gateway.yaml:22: `path` is \"well\""},
	{"key: shop.key", "key: x", "gateway.yaml:44: cannot use the certificate `shop.pem` with the key `x`: no such file"},
	{"  listen: 127.0.0.1:8443\n", "", "`tls.listen` is missing"},
	{"  certificates: [{certificate: shop.pem, key: shop.key}]\n", "", "`tls.certificates` names none"},
	{"methods: [GET, HEAD]", "methods: [[GET]]", "`routes[2].methods` has an element that is not a single value"},
}

func TestProblemsHaveLineAndHint(t *testing.T) {
	for _, c := range invalidFiles {
		text := strings.Replace(whole, c.from, c.to, 1)
		_, err := parse("gateway.yaml", []byte(text), 1000, 1, known)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v\nwant %s", c.to, c.from, err, c.want)
		} else if !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("no hint for %q: %v", c.to, err)
		}
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	_, err := parse("f", []byte("listen: x\nlimits: {head: y}\nroutes: [{upstream: z}]\n"), 1000, 1, known)
	problems, ok := errors.AsType[*Problems](err)
	if !ok || len(problems.List) != 4 || !slices.IsSortedFunc(problems.List, func(a, b Problem) int { return a.Line - b.Line }) {
		t.Errorf("%v", err)
	}
}

func TestDescriptorsAreDivided(t *testing.T) {
	for limit, want := range map[uint64]Shares{
		64:         {Inbound: 22, Outbound: 10},
		256:        {Inbound: 150, Outbound: 74},
		65536:      {Inbound: 65504 - 16384, Outbound: 16384},
		^uint64(0): {Inbound: 1<<20 - 32 - 16384, Outbound: 16384},
	} {
		if got, err := divide(limit); err != nil || got != want {
			t.Errorf("%d: %+v, %v, want %+v", limit, got, err, want)
		}
	}
	if _, err := divide(63); err == nil {
		t.Error("63 are enough")
	}
}

func TestFixedSettingsAreNamed(t *testing.T) {
	before, err := parse("f", []byte(whole), 1000, 1, known)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]int{"8080": 1, "9901": 1, "8443": 1, "workers: 2": 1, "upstream: others": 0, "wait: 100ms": 0} {
		to := map[string]string{"8080": "8088", "9901": "9902", "8443": "8444", "workers: 2": "workers: 3", "upstream: others": "upstream: products", "wait: 100ms": "wait: 200ms"}[from]
		after, err := parse("f", []byte(strings.Replace(whole, from, to, 1)), 1000, 1, known)
		if err != nil {
			t.Fatal(err)
		}
		if got := Fixed(before, after); len(got) != want {
			t.Errorf("%s: %v", from, got)
		}
	}
}

func TestHeaderRulesAreRead(t *testing.T) {
	read := func(route string) (*headers.Rules, error) {
		c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:80]}}\nroutes:\n- {upstream: a"+route+"}"), 1000, 1, known)
		if err != nil {
			return nil, err
		}
		return c.Routes[0].Edits, nil
	}
	rules, err := read(", id: X-Request-Id, trace: 10%, request: {set: {X-A: b c, x-b: \"\"}, remove: Cookie}, answer: {remove: [Server, X-C]}")
	if err != nil || rules.ID != "x-request-id" || !rules.Trace || rules.Sampled != 0.1 || string(rules.Request.Lines) != "X-A: b c\r\nx-b: \r\n" ||
		!slices.Equal(rules.Request.Drop, []string{"x-a", "x-b", "cookie"}) || len(rules.Answer.Lines) > 0 || !slices.Equal(rules.Answer.Drop, []string{"server", "x-c"}) {
		t.Errorf("%+v, %v", rules, err)
	}
	if rules, err := read(""); rules != nil || err != nil {
		t.Errorf("%+v, %v", rules, err)
	}
	for route, want := range map[string]string{
		", id: a b": "`id` is \"a b\"", ", id: Host": "`id` is \"host\"", ", trace: 5": "`routes[0].trace` is \"5\"", ", request: {set: {Host: b}}": "`Host` cannot be set",
		", request: {set: {\"a b\": c}}": "`a b` cannot be set", ", answer: {set: {x: \"a\\r\\nb: c\"}}": "`x` cannot be set", ", answer: {remove: Content-Length}": "`Content-Length` cannot be removed",
		", answer: {set: {\"x: y\\r\\nz\": c}}": "cannot be set",
	} {
		if _, err := read(route); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", route, err)
		}
	}
}

func TestCORSIsRead(t *testing.T) {
	read := func(cors string) (*headers.Cors, error) {
		c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:80]}}\nroutes:\n- {upstream: a, cors: "+cors+"}"), 1000, 1, known)
		if err != nil {
			return nil, err
		}
		return c.Routes[0].Edits.Cors, nil
	}
	c, err := read(`{origins: [https://shop.example, "https://*.shop.example:8443"], methods: [GET, PUT], headers: [X-A, X-B], expose: X-C, credentials: true, age: 10m}`)
	if err != nil || c.Any || len(c.Origins) != 2 || c.Methods != "GET, PUT" || c.Headers != "X-A, X-B" || c.Expose != "X-C" || !c.Credentials || c.Age != "600" {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = read(`{origins: "*"}`)
	if err != nil || !c.Any || len(c.Origins) != 0 || c.Methods != "GET, HEAD, POST, PUT, PATCH, DELETE" || c.Headers+c.Expose+c.Age != "" || c.Credentials {
		t.Errorf("%+v, %v", c, err)
	}
	for _, c := range []struct{ cors, want string }{
		{"{}", "`routes[0].cors.origins` is missing"},
		{"{origins: shop.example}", "\"shop.example\" is not an origin"},
		{"{origins: https://Shop.example}", "is not an origin"},
		{"{origins: https://shop.example/}", "is not an origin"},
		{"{origins: \"*\", credentials: true}", "lets every origin send credentials"},
		{"{origins: [\"*\", https://shop.example]}", "`*` is every origin already"},
		{"{origins: \"*\", methods: [\"G T\"]}", "`routes[0].cors.methods` has \"G T\""},
		{"{origins: \"*\", expose: [\"a\\r\\nb: c\"]}", "`routes[0].cors.expose` has"},
		{"{origins: \"*\", age: 10}", "`routes[0].cors.age` is \"10\""},
	} {
		if _, err := read(c.cors); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", c.cors, err)
		}
	}
}

func TestFaultsAreRead(t *testing.T) {
	read := func(fault string) (*guard.Fault, error) {
		c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:80]}}\nroutes:\n- {upstream: a, fault: "+fault+"}"), 1000, 1, known)
		if err != nil {
			return nil, err
		}
		return c.Routes[0].Fault, nil
	}
	for _, c := range []struct {
		fault string
		want  guard.Fault
	}{
		{"{share: 5%, status: 503}", guard.Fault{Share: 0.05, Status: 503}},
		{"{share: 1%, delay: 200ms, status: 500}", guard.Fault{Share: 0.01, Delay: 200 * time.Millisecond, Status: 500}},
		{"{break: true}", guard.Fault{Share: 1, Break: true}},
	} {
		if got, err := read(c.fault); err != nil || *got != c.want {
			t.Errorf("%s: %+v, %v", c.fault, got, err)
		}
	}
	for _, c := range []struct{ fault, want string }{
		{"{}", "`routes[0].fault` does nothing"},
		{"{share: 5%}", "`routes[0].fault` does nothing"},
		{"{status: 200}", "`routes[0].fault.status` is \"200\""},
		{"{status: 503, break: true}", "has a `status` and a `break`"},
		{"{delay: 2h}", "`routes[0].fault.delay` is \"2h\""},
	} {
		if _, err := read(c.fault); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", c.fault, err)
		}
	}
}

func TestKeysAreFetchedFromURL(t *testing.T) {
	read := func(token string) (*guard.Token, error) {
		c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:80]}}\nroutes:\n- {upstream: a, token: "+token+"}"), 1000, 1, known)
		if err != nil {
			return nil, err
		}
		return c.Routes[0].Guard.Token, nil
	}
	token, err := read("{keys: https://shop.example/keys, every: 10s, issuer: us}")
	if err != nil || token.URL != "https://shop.example/keys" || token.Every != 10*time.Second || len(token.Keys) != 1 || token.Issuer != "us" {
		t.Errorf("%+v, %v", token, err)
	}
	if token, err := read("{keys: keys.json}"); err != nil || token.URL != "" || token.Every != 0 {
		t.Errorf("%+v, %v", token, err)
	}
	for _, c := range []struct{ token, want string }{
		{"{keys: https://shop.example/none}", "cannot use the keys of `https://shop.example/none`: no such host"},
		{"{keys: http://shop.example/keys}", "it is neither https nor on loopback"},
		{"{keys: 'https://who:secret@shop.example/keys'}", "cannot use the keys of `https://who:xxxxx@shop.example/keys`: it contains credentials"},
		{"{keys: \"https://\"}", "it is not a URL"},
		{"{keys: https://shop.example/keys, every: 1ms}", "`routes[0].token.every` is \"1ms\""},
		{"{keys: keys.json, every: 10s}", "`routes[0].token.every` is for keys at a URL"},
	} {
		if _, err := read(c.token); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", c.token, err)
		}
	}
}

func TestKeysAreFetchedOnceForAllRoutes(t *testing.T) {
	asked := map[string]int{}
	world := known
	world.fetch = func(url string) ([]byte, error) {
		asked[url]++
		return []byte(oneKey), nil
	}
	route := func(path string) string { return "- {upstream: a, token: {keys: https://shop.example/" + path + "}}\n" }
	c, err := parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:80]}}\nroutes:\n"+route("keys")+route("others")+route("keys")), 1000, 1, world)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Routes {
		if len(r.Guard.Token.Keys) != 1 {
			t.Errorf("%+v", r.Guard.Token)
		}
	}
	if len(asked) != 2 || asked["https://shop.example/keys"] != 1 || asked["https://shop.example/others"] != 1 {
		t.Errorf("%v", asked)
	}
}

func TestFetchChecksSizeAndRedirects(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/keys":
			w.Write([]byte(oneKey))
		case "/moved":
			http.Redirect(w, r, "/keys", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://shop.example/keys", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/long":
			w.Write(make([]byte, fetchMost+1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/keys": "", "/moved": "", "/away": "neither https", "/round": "too many redirects", "/long": "more than", "/none": "404"} {
		text, err := Fetch(t.Context(), server.URL+path)
		if want == "" && (err != nil || string(text) != oneKey) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
}
