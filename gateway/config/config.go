// Package config reads the gateway's configuration file. It reports all problems of a file at once,
// each with a line and a hint.
//
// Start reading at Read; reader.file reads the top level, and each table has a method named after
// its key.
package config

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"faceoff/gateway/proxy"
	"faceoff/gateway/route"
	"faceoff/gateway/wire"
)

// Config is a checked and complete configuration.
type Config struct {
	Listen    netip.AddrPort
	Admin     netip.AddrPort // invalid without one
	ListenTLS netip.AddrPort // invalid without one
	TLS       *tls.Config
	Watch     time.Duration // how often the files are checked for changes; zero: never
	Files     []string      // that it was read from
	Access    string        // a file, "stdout" or "stderr"; empty for none
	Spans     Spans
	Stop      time.Duration // for the requests in flight when the process stops
	Server    proxy.Settings
	Upstreams []proxy.UpstreamSettings
	Routes    []*route.Route
	Shares    Shares

	clientShares proxy.Shares
	document     *yaml.Node
}

// Text returns the configuration as YAML: the file, with the settings of the command line.
func (c *Config) Text() ([]byte, error) { return yaml.Marshal(c.document) }

// Read reads a configuration file. limit is the process's descriptor limit, and cores how many it
// may use. settings, such as `upstreams.products.retries=0%`, override the file. ctx bounds the
// requests for what the file refers to.
func Read(
	ctx context.Context,
	file string,
	limit uint64,
	cores int,
	settings ...string,
) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf(
			"the configuration cannot be read: %w\n  hint: name a file with -config",
			err,
		)
	}
	return parse(file, text, limit, cores, outside{
		find: func(address string) (netip.AddrPort, error) {
			resolved, err := net.ResolveTCPAddr("tcp", address)
			if err != nil {
				return netip.AddrPort{}, err
			}
			return resolved.AddrPort(), nil
		},
		load:  tls.LoadX509KeyPair,
		read:  os.ReadFile,
		fetch: func(url string) ([]byte, error) { return Fetch(ctx, url) },
	}, settings...)
}

// outside resolves what a file refers to: host names, other files, and URLs.
type outside struct {
	find func(address string) (netip.AddrPort, error)
	load func(certificate, key string) (tls.Certificate, error)
	read func(name string) ([]byte, error)

	fetch func(url string) ([]byte, error)
}

func parse(
	file string,
	text []byte,
	limit uint64,
	cores int,
	world outside,
	settings ...string,
) (*Config, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, &Problems{file, []Problem{syntax(err)}, []string{file}}
	}
	if len(document.Content) == 0 {
		return nil, &Problems{
			file,
			[]Problem{{1, "the file is empty", "it needs `listen`, `upstreams` and `routes`"}},
			[]string{file},
		}
	}
	r := &reader{outside: world, got: map[string]answer{}, described: map[string]description{}}
	r.set(document.Content[0], settings)
	config := r.file(document.Content[0], limit, cores)
	config.Files = append([]string{file}, r.files...)
	config.document = &document
	if len(r.list) > 0 {
		slices.SortStableFunc(r.list, func(a, b Problem) int { return a.Line - b.Line })
		return nil, &Problems{file, r.list, config.Files}
	}
	return config, nil
}

var lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax converts an error of the YAML parser.
func syntax(err error) Problem {
	problem := Problem{
		Line: 1,
		Hint: "it is not YAML: look at the indentation, quotes and colons there",
	}
	found := lineOf.FindStringSubmatch(err.Error())
	problem.Text = err.Error()
	if found != nil {
		problem.Text = strings.TrimPrefix(problem.Text, found[0])
		if line, err := strconv.Atoi(found[1]); err == nil {
			problem.Line = line
		}
	}
	return problem
}

func (r *reader) file(node *yaml.Node, limit uint64, cores int) *Config {
	t := r.table(node, "", "listen", "tls", "admin", "workers", "limits", "timeouts", "via",
		"forwarded", "trusted", "access", "spans", "watch", "paths", "upstreams", "routes")
	c := &Config{}
	var ok bool
	if c.Listen, ok = t.address("listen", "127.0.0.1:8080"); !ok && !t.has("listen") {
		t.problem(t.node, "write for example `listen: 127.0.0.1:8080`", "`listen` is missing")
	}
	if c.Admin, ok = t.address("admin", "127.0.0.1:9901"); ok && !c.Admin.Addr().IsLoopback() {
		t.problem(t.nodeOf("admin"), "write for example `admin: 127.0.0.1:9901`",
			"`admin` is not on loopback: its responses are not for other machines")
	}
	c.readTLS(t)
	c.Access = t.text("access", "", "access.log")
	c.Spans = t.spans()
	if t.has("watch") {
		c.Watch = t.duration("watch", 2*time.Second, shortest, longest)
	}
	limits := t.table("limits", "clients", "head", "fields", "descriptors", "pace", "busy",
		"streams", "share", "buffer", "spill")
	fields := limits.table("fields", "request", "answer")
	timeouts := t.table("timeouts", "head", "idle", "body", "stall", "stop")
	c.Stop = timeouts.duration("stop", 5*time.Second, 0, time.Hour)
	c.Server = proxy.Settings{
		Workers:      t.count("workers", cores, 1, 256),
		MaxHead:      limits.size("head", 16<<10, 1<<10, 64<<10),
		Fields:       fields.count("request", wire.DefaultFields, 8, 10_000),
		AnswerFields: fields.count("answer", wire.DefaultFields, 8, 10_000),
		Separators:   t.paths(),
		Streams:      limits.count("streams", 100, 0, 1000),
		HeadTimeout:  timeouts.duration("head", 30*time.Second, shortest, longest),
		IdleTimeout:  timeouts.duration("idle", 60*time.Second, shortest, longest),
		BodyTimeout:  timeouts.duration("body", 60*time.Second, shortest, longest),
		Stall:        timeouts.duration("stall", 10*time.Second, shortest, longest),
		Pace:         int64(limits.size("pace", 256, 1, 1<<30)),
		Via:          t.via(),
		Forwarded:    t.boolean("forwarded", false),
		Trusted:      t.networks("trusted"),
	}
	if c.TLS != nil && c.Server.Streams > 0 {
		c.TLS.NextProtos = []string{"h2", "http/1.1"}
	}
	most := int(min(limit, 1<<20))
	shares, err := divide(uint64(limits.count("descriptors", most, minimum, most)))
	if err != nil {
		t.problem(limits.nodeOf("descriptors"), "raise it with ulimit -n", "%v", err)
		return c
	}
	c.Shares = shares
	c.readBuffers(limits)
	c.Server.MaxClients = limits.count("clients", shares.Inbound, 1, shares.Inbound)
	names := c.upstreams(t)
	c.routes(t, names)
	return c
}

const (
	shortest = 100 * time.Millisecond
	longest  = 24 * time.Hour
)

// paths reads whether paths may contain encoded slashes, which then count as slashes.
func (t table) paths() bool {
	switch how := t.text("paths", "strict", "strict"); how {
	case "strict":
		return false
	case "separators":
		return true
	default:
		t.problem(t.nodeOf("paths"),
			"write `strict` to refuse encoded slashes, or `separators` to match them as slashes",
			"`paths` is %q", how)
		return false
	}
}

func (t table) via() string {
	via := t.text("via", "gateway", "gateway")
	for i := range len(via) {
		if b := via[i]; b <= ' ' || b >= 0x7f || b == ',' {
			t.problem(t.of["via"],
				"write a name such as `via: gateway`, or `via: \"\"` to send none", "`via` is %q",
				via)
			return ""
		}
	}
	return via
}

func (t table) networks(key string) []netip.Prefix {
	var all []netip.Prefix
	if t.has(key) && len(t.list(key)) == 0 {
		t.problem(t.nodeOf(key), "name networks, or remove the key", "`%s` names no network",
			t.join(key))
	}
	for _, node := range t.list(key) {
		prefix, err := netip.ParsePrefix(resolve(node).Value)
		if err != nil {
			address, err := netip.ParseAddr(resolve(node).Value)
			if err != nil {
				t.problem(node, "write networks such as `"+key+": [10.0.0.0/8, 127.0.0.1]`",
					"`%s` has %q", t.join(key), resolve(node).Value)
				continue
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		// Its clients have IPv4 addresses.
		if bits := prefix.Bits() - 96; bits >= 0 && prefix.Addr().Is4In6() {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), bits)
		}
		all = append(all, prefix)
	}
	return all
}

// upstreams reads the upstreams in the order of the file, and returns their indexes by name.
func (c *Config) upstreams(t table) map[string]int {
	names := map[string]int{}
	all := t.table("upstreams")
	if !t.has("upstreams") {
		t.problem(t.node, "write `upstreams:` with a name and its `servers` below",
			"`upstreams` is missing")
	}
	written, rest := 0.0, 0 // sum of the written shares, and number of upstreams without one
	part := map[string]float64{}
	var tables []table
	isTable := all.node.Kind == yaml.MappingNode && t.has("upstreams")
	for i := 0; isTable && i+1 < len(all.node.Content); i += 2 {
		key := all.node.Content[i]
		if all.of[key.Value] != all.node.Content[i+1] {
			continue // a duplicate, which was reported
		}
		u := all.table(key.Value, "servers", "balance", "share", "requests", "queue", "wait",
			"host", "timeouts", "keep", "retries", "eject", "health", "tls", "http2")
		tables = append(tables, u)
		names[key.Value] = len(c.Upstreams)
		c.Upstreams = append(c.Upstreams, c.upstream(u, key))
		if share, ok := u.share("share", 0.0001); ok {
			part[key.Value] = share
			written += share
		} else {
			rest++
		}
	}
	if written > 1.0001 || (written > 0.9999 && rest > 0) {
		t.problem(t.nodeOf("upstreams"),
			"let the shares add up to 100% at most, or less if an upstream has none",
			"the upstreams' shares leave no descriptors for the others")
		return names
	}
	for i := range c.Upstreams {
		share, ok := part[c.Upstreams[i].Name]
		if !ok {
			share = (1 - written) / float64(rest)
		}
		c.bound(tables[i], &c.Upstreams[i], share)
	}
	return names
}

var balances = map[string]proxy.Balance{
	"round-robin":    proxy.RoundRobin,
	"least-requests": proxy.LeastRequests,
	"two-choices":    proxy.TwoChoices,
}

func (c *Config) upstream(u table, key *yaml.Node) proxy.UpstreamSettings {
	timeouts := u.table("timeouts", "connect", "answer", "tunnel")
	eject := u.table("eject", "after", "for", "shed", "slow")
	keep := u.table("keep", "for")
	s := proxy.UpstreamSettings{
		Name:     key.Value,
		Queue:    u.count("queue", 1024, 0, 1<<20),
		Wait:     u.duration("wait", 250*time.Millisecond, shortest, time.Hour),
		KeepFor:  keep.duration("for", 15*time.Second, shortest, longest),
		Connect:  timeouts.duration("connect", 10*time.Second, shortest, longest),
		Answer:   timeouts.duration("answer", 10*time.Second, shortest, longest),
		Tunnel:   timeouts.duration("tunnel", 5*time.Minute, shortest, longest),
		Failures: eject.count("after", 5, 0, 1<<20),
		Eject:    eject.duration("for", 10*time.Second, shortest, longest),
		Shed:     eject.boolean("shed", false),
		Slow:     eject.duration("slow", 0, 0, longest),
		Retries:  0.2,
		Health:   u.health(),
		HTTP2:    u.boolean("http2", false),
	}
	if retries, ok := u.share("retries", 0); ok {
		s.Retries = retries
	}
	if !plain.MatchString(key.Value) {
		u.problem(key, "use letters, digits and -._", "%q is not a name for an upstream", key.Value)
	}
	balance := u.text("balance", "round-robin", "round-robin")
	var known bool
	if s.Balance, known = balances[balance]; !known {
		u.problem(u.nodeOf("balance"), "write round-robin, least-requests or two-choices",
			"`balance` is %q", balance)
	}
	if !u.has("servers") {
		u.problem(key, "write for example `servers: [127.0.0.1:8081]`",
			"`upstreams.%s.servers` is missing", key.Value)
	}
	first := ""
	for _, node := range u.list("servers") {
		address, weight := u.server(node)
		if first == "" {
			first = address
		}
		if !validServer(address) {
			u.problem(node, "write host:port, such as 127.0.0.1:8081", "%q is not a server",
				address)
			continue
		}
		resolved, err := u.find(address)
		if err != nil {
			u.problem(node, "write an address, or a host name that resolves",
				"%q is not a server: %v", address, err)
			continue
		}
		s.Servers = append(s.Servers, proxy.ServerSettings{Address: resolved, Weight: weight})
	}
	s.TLS = u.secure(first)
	if len(u.list("servers")) == 0 && u.has("servers") {
		u.problem(u.nodeOf("servers"), "name at least one", "`upstreams.%s.servers` is empty",
			key.Value)
	}
	switch host := u.text("host", first, "pass"); {
	case host == "pass":
	case u.has("host") && !plainHost.MatchString(host):
		u.problem(u.nodeOf("host"), "write `host: pass` for the client's own, or a name",
			"`host` is %q", host)
	default:
		s.Host = []byte(host)
	}
	return s
}

// health reads the health checks; nil if there are none.
func (u table) health() *proxy.Health {
	if !u.has("health") {
		return nil
	}
	t := u.table("health", "path", "every", "within", "up", "down")
	h := &proxy.Health{
		Path:   t.text("path", "/health", "/health"),
		Every:  t.duration("every", 5*time.Second, shortest, longest),
		Within: t.duration("within", time.Second, shortest, longest),
		Up:     t.count("up", 2, 1, 1000),
		Down:   t.count("down", 3, 1, 1000),
	}
	if !path(h.Path) {
		t.problem(t.nodeOf("path"), "write a path that begins with a slash", "`path` is %q", h.Path)
	}
	return h
}

var (
	plain     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	plainHost = regexp.MustCompile(`^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9a-fA-F:.]+\](:\d{1,5})?$`)
)

func validServer(address string) bool {
	_, port, err := net.SplitHostPort(address)
	n, number := strconv.Atoi(port)
	return err == nil && number == nil && n > 0 && n < 1<<16 && plainHost.MatchString(address)
}

// server reads `address` or `{address, weight}`.
func (u table) server(node *yaml.Node) (address string, weight int) {
	if resolve(node).Kind == yaml.ScalarNode {
		return resolve(node).Value, 1
	}
	one := u.reader.table(node, u.join("servers"), "address", "weight")
	return one.text("address", "", "127.0.0.1:8081"), one.count("weight", 1, 1, 100)
}

// methods reads the methods of a route. They are case-sensitive: a misspelled one would never
// match.
func (t table) methods() []string {
	all := t.tokens("methods")
	for _, one := range all {
		if upper := strings.ToUpper(one); upper != one && wire.IsStandard([]byte(upper)) {
			t.problem(t.nodeOf("methods"), "write `"+upper+"`: the case of methods matters",
				"`%s` has %q", t.join("methods"), one)
		}
	}
	return all
}

func (c *Config) routes(t table, upstreams map[string]int) {
	if !t.has("routes") {
		t.problem(t.node, "write `routes:` and below it `- {path: /, upstream: NAME}`",
			"`routes` is missing")
	}
	for i, node := range t.list("routes") {
		r := t.reader.table(node, fmt.Sprintf("routes[%d]", i), "name", "path", "exact", "host",
			"methods", "headers", "replace", "access", "mirror", "upstream", "allow", "deny",
			"body", "rate", "token", "id", "trace", "request", "answer", "cors", "fault",
			"compress", "openapi", "cache")
		one := &route.Route{
			Path:    r.text("path", "/", "/api"),
			Exact:   r.boolean("exact", false),
			Methods: r.methods(),
			Quiet:   !r.boolean("access", true),
		}
		one.Name = r.text("name", one.Path, "api")
		for _, host := range r.texts("host") {
			if !plainHost.MatchString(strings.TrimPrefix(host, "*.")) ||
				strings.Contains(host, ":") && host[0] != '[' {
				r.problem(r.nodeOf("host"),
					"write a name without a port, such as shop.example or *.shop.example",
					"%q is not a host name", host)
			}
			one.Hosts = append(one.Hosts, strings.ToLower(host))
		}
		if !path(one.Path) {
			r.problem(r.nodeOf("path"),
				"write a path that begins with a slash, without ? # % or dot segments",
				"`path` is %q", one.Path)
		}
		if r.has("replace") {
			replace := r.text("replace", "/", "/")
			if !path(replace) {
				r.problem(r.nodeOf("replace"), "write a path that begins with a slash",
					"`replace` is %q", replace)
			}
			one.Replace = &replace
		}
		headers := r.table("headers")
		if r.has("headers") && headers.node.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(headers.node.Content); i += 2 {
				key := headers.node.Content[i].Value
				one.Headers = append(one.Headers,
					route.Header{Name: strings.ToLower(key), Value: headers.text(key, "", "value")})
			}
		}
		r.target(one, upstreams)
		r.mirror(one, upstreams)
		one.Guard, one.Edits, one.Fault, one.Compress = r.guard(), r.headers(), r.fault(), r.compress()
		one.Cache = r.cache()
		r.openAPI(one)
		c.Routes = append(c.Routes, one)
	}
}

// target reads where a route goes: `upstream: NAME`, or `upstream: {NAME: 95%, OTHER: 5%}`.
func (r table) target(one *route.Route, upstreams map[string]int) {
	if !r.has("upstream") {
		r.problem(r.node, "add `upstream: NAME`", "a route without an `upstream`")
		return
	}
	node := resolve(r.of["upstream"])
	if node.Kind != yaml.MappingNode {
		one.Upstream = r.known(node, r.text("upstream", "", "products"), upstreams)
		return
	}
	parts := r.table("upstream")
	sum := 0.0
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		share, ok := parts.share(key.Value, 0)
		if !ok {
			continue
		}
		sum += share
		one.Split = append(
			one.Split,
			route.Part{
				Upstream: r.known(key, key.Value, upstreams),
				Upto:     uint32(sum*route.Whole + 0.5),
			},
		)
	}
	if len(parts.of) == 0 || sum < 0.9999 || sum > 1.0001 {
		r.problem(node, "let the parts add up to 100%", "the parts of `upstream` add up to %.4g%%",
			sum*100)
		return
	}
	one.Split[len(one.Split)-1].Upto = route.Whole
}

// mirror reads where copies go: `mirror: NAME`, or `mirror: {NAME: 10%}`.
func (r table) mirror(one *route.Route, upstreams map[string]int) {
	if !r.has("mirror") {
		return
	}
	node := resolve(r.of["mirror"])
	if node.Kind != yaml.MappingNode {
		one.Mirror = &route.Part{
			Upstream: r.known(node, r.text("mirror", "", "products"), upstreams),
			Upto:     route.Whole,
		}
		return
	}
	parts := r.table("mirror")
	if len(parts.of) != 1 {
		r.problem(node, "write `mirror: NAME`, or `mirror: {NAME: 10%}`",
			"`mirror` names %d upstreams", len(parts.of))
	}
	for name := range parts.of {
		if share, ok := parts.share(name, 0); ok {
			one.Mirror = &route.Part{
				Upstream: r.known(node, name, upstreams),
				Upto:     uint32(share*route.Whole + 0.5),
			}
		}
	}
}

// known returns the index of an upstream by its name.
func (r table) known(node *yaml.Node, name string, upstreams map[string]int) int {
	index, ok := upstreams[name]
	if !ok {
		all := slices.Sorted(maps.Keys(upstreams))
		hint := "there are: " + strings.Join(all, ", ")
		if near := nearest(name, all); near != "" {
			hint = "did you mean `" + near + "`?"
		}
		r.problem(node, hint, "no upstream is named %q", name)
	}
	return index
}

// Fixed lists the settings that differ between two configurations and only change with a restart.
func Fixed(before, after *Config) []string {
	var all []string
	for _, part := range []struct {
		name    string
		differs bool
	}{
		{"`listen`", before.Listen != after.Listen},
		{"`admin`", before.Admin != after.Admin},
		{"`access`", before.Access != after.Access},
		{"`spans`", before.Spans != after.Spans},
		{"`tls.listen`", before.ListenTLS != after.ListenTLS},
		{"a setting outside `upstreams` and `routes`",
			!reflect.DeepEqual(before.Server, after.Server) ||
				before.Stop != after.Stop || before.Watch != after.Watch},
	} {
		if part.differs {
			all = append(all, part.name)
		}
	}
	return all
}

// path reports whether text can be the beginning of a request's path, after decoding.
func path(text string) bool {
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "?#%\\ ") {
		return false
	}
	var r wire.Request
	n, err := r.Parse([]byte("GET " + text + " HTTP/1.1\r\nHost: a\r\n\r\n"))
	return err == nil && n > 0 && string(r.Path) == text
}
