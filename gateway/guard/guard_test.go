// Client addresses behind proxies, networks, and rates.

package guard

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"faceoff/gateway/wire"
)

var (
	home = netip.MustParseAddr("192.0.2.1")
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

func request(t testing.TB, lines ...string) *wire.Request {
	t.Helper()
	var r wire.Request
	text := "POST / HTTP/1.1\r\nHost: a\r\n" + strings.Join(append(lines, "", ""), "\r\n")
	if n, err := r.Parse([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return &r
}

func prefixes(all ...string) (networks []netip.Prefix) {
	for _, one := range all {
		networks = append(networks, netip.MustParsePrefix(one))
	}
	return networks
}

const refused = "" // the address cannot be read

// addressCases are a peer, the fields that it sends, and the expected client address.
var addressCases = []struct {
	peer  string
	lines []string
	want  string
}{
	// An untrusted peer is not believed.
	{"192.0.2.1", []string{"X-Forwarded-For: 198.51.100.1"}, "192.0.2.1"},
	{"192.0.2.1", []string{"X-Forwarded-For: junk", "Forwarded: for=_x", "X-Real-IP: junk"}, "192.0.2.1"},
	{"10.1.1.1", nil, "10.1.1.1"},
	{"::ffff:10.1.1.1", nil, "10.1.1.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 203.0.113.9, 198.51.100.1, 10.2.2.2"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 198.51.100.1,10.2.2.2"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
	// Clients wrote what precedes it.
	{"10.1.1.1", []string{"X-Forwarded-For: junk, 198.51.100.1"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1, unknown, 10.2.2.2"}, refused},
	{"::1", []string{"X-Forwarded-For: ::ffff:198.51.100.1"}, "198.51.100.1"},
	// Forms that occur.
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1:4711"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: [2001:db8::1]:4711"}, "2001:db8::1"},
	{"10.1.1.1", []string{"X-Forwarded-For: [2001:db8::1]"}, "2001:db8::1"},
	{"10.1.1.1", []string{"X-Forwarded-For: [::ffff:198.51.100.1]:80, 10.2.2.2:81"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 2001:db8::1%eth0"}, "2001:db8::1"},
	{"10.1.1.1", []string{"X-Forwarded-For: [2001:db8::1%25eth0]:80"}, "2001:db8::1"},
	{"fe80::1%eth0", []string{"X-Forwarded-For: 198.51.100.1"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1,"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1 ,\t, ,10.2.2.2, ,"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For:"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For:"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: ,,"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: unknown"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1 10.1.1.1"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.001"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1:"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: 0xc6336401"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: [198.51.100.1]"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: [2001:db8::1"}, refused},
	{"10.1.1.1", []string{`X-Forwarded-For: "198.51.100.1`}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: shop.example"}, refused},
	// The other fields that name a client.
	{"10.1.1.1", []string{"Forwarded: for=198.51.100.1;proto=https"}, "198.51.100.1"},
	{"10.1.1.1", []string{`Forwarded: proto=https; FOR="198.51.100.1:80", for=10.2.2.2`}, "198.51.100.1"},
	{"10.1.1.1", []string{`Forwarded: by="a,for=10.2.2.2"; for="[2001:db8::1]:80"`}, "2001:db8::1"},
	{"10.1.1.1", []string{`Forwarded: for="[::ffff:198.51.100.1]"`}, "198.51.100.1"},
	// Quoted text names no client.
	{"10.1.1.1", []string{`Forwarded: by="a\";for=203.0.113.9;\"b"; for=198.51.100.1`}, "198.51.100.1"},
	{"10.1.1.1", []string{"Forwarded: proto=https"}, "10.1.1.1"},
	{"10.1.1.1", []string{"Forwarded: for=198.51.100.1, proto=https"}, refused},
	{"10.1.1.1", []string{"Forwarded: for=_hidden"}, refused},
	{"10.1.1.1", []string{"Forwarded: for=unknown"}, refused},
	{"10.1.1.1", []string{"Forwarded: for="}, refused},
	{"10.1.1.1", []string{`Forwarded: for="198.51.100.1`}, refused},
	{"10.1.1.1", []string{"X-Real-IP: 198.51.100.1"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Real-IP: [2001:db8::1]:80"}, "2001:db8::1"},
	{"10.1.1.1", []string{"X-Real-IP: junk"}, refused},
	{"10.1.1.1", []string{"X-Real-IP:"}, refused},
	// Several of them.
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1", "Forwarded: for=198.51.100.1", "X-Real-IP: 198.51.100.1"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1, 10.2.2.2", "X-Real-IP: 10.2.2.2"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 10.2.2.2", "Forwarded: for=198.51.100.1"}, "198.51.100.1"},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1", "Forwarded: for=203.0.113.9"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1", "X-Real-IP: 203.0.113.9"}, refused},
	{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1", "Forwarded: for=unknown"}, refused},
}

func TestClientAddress(t *testing.T) {
	inner := prefixes("10.0.0.0/8", "::1/128", "fe80::/10")
	for _, c := range addressCases {
		got := ClientAddress(request(t, c.lines...), netip.MustParseAddr(c.peer), inner)
		if text := got.String(); text != c.want && (got.IsValid() || c.want != refused) {
			t.Errorf("%s with %q: %s, want %q", c.peer, c.lines, got, c.want)
		}
	}
}

func TestLongListIsReadInOnePass(t *testing.T) {
	inner, peer := prefixes("10.0.0.0/8"), netip.MustParseAddr("10.1.1.1")
	commas := strings.Repeat(",", 60_000)
	for _, line := range []string{"X-Forwarded-For: " + commas, "Forwarded: " + commas, `Forwarded: "";` + commas, "X-Real-IP: " + commas} {
		r := request(t, line)
		started := time.Now()
		ClientAddress(r, peer, inner)
		// A pass per comma takes several seconds.
		if elapsed := time.Since(started); elapsed > time.Second {
			t.Errorf("%.30s...: %v", line, elapsed)
		}
	}
}

func TestUnreadableRequestsAreRefused(t *testing.T) {
	var unknown netip.Addr
	for name, c := range map[string]struct {
		guard  *Guard
		status int
	}{
		"allow":                  {&Guard{Allow: prefixes("0.0.0.0/0", "::/0")}, 403},
		"deny":                   {&Guard{Deny: prefixes("192.0.2.0/24")}, 403},
		"rate":                   {&Guard{Rate: NewRate(Limits{Each: 1, Burst: 5})}, 403},
		"a rate of another kind": {&Guard{Rate: NewRate(Limits{Each: 1, Burst: 5, Key: "x"})}, 0},
		"no address is asked":    {&Guard{Body: 10}, 0},
	} {
		if got := c.guard.Check(request(t), unknown, noon); got.Status != c.status {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzClientAddress(f *testing.F) {
	inner, peer := prefixes("10.0.0.0/8"), netip.MustParseAddr("10.1.1.1")
	for _, seed := range []string{"198.51.100.1:80, 10.2.2.2", `for="[2001:db8::1]:80";proto=https, for=10.2.2.2`, `"a,\",b`, ",,", "[::1%25x]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, name := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP"} {
			var r wire.Request
			text := "GET / HTTP/1.1\r\nHost: a\r\n" + name + ": " + value + "\r\n\r\n"
			if n, err := r.Parse([]byte(text)); err != nil || n != len(text) {
				return
			}
			// An address comes from the text of the field, without a zone, and never maps IPv4.
			got := ClientAddress(&r, peer, inner)
			if got.IsValid() && (got != Plain(got) || (got != peer && !strings.Contains(value, ".") && !strings.Contains(value, ":"))) {
				t.Errorf("%s: %q is %s", name, value, got)
			}
		}
	})
}

func TestNetworks(t *testing.T) {
	for _, c := range []struct {
		allow, deny []netip.Prefix
		status      int
	}{
		{nil, nil, 0}, {prefixes("192.0.2.0/24"), nil, 0}, {prefixes("198.51.100.0/24"), nil, 403}, {nil, prefixes("198.51.100.0/24"), 0},
		{nil, prefixes("192.0.2.1/32"), 403}, {prefixes("192.0.2.0/24"), prefixes("192.0.2.1/32"), 403}, {prefixes("198.51.100.0/24", "0.0.0.0/0"), nil, 0},
	} {
		if got := (&Guard{Allow: c.allow, Deny: c.deny}).Check(request(t), home, noon); got.Status != c.status {
			t.Errorf("%v without %v: %+v", c.allow, c.deny, got)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	g := &Guard{Body: 10}
	for line, status := range map[string]int{"Content-Length: 10": 0, "Content-Length: 11": 413, "Transfer-Encoding: chunked": 0, "X: y": 0} {
		if got := g.Check(request(t, line), home, noon); got.Status != status {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestRates(t *testing.T) {
	g := &Guard{Rate: NewRate(Limits{Each: 2, Burst: 5})}
	granted := func(from netip.Addr, now time.Time, lines ...string) (n int) {
		for range 20 {
			if got := g.Check(request(t, lines...), from, now); got.Status == 0 {
				n++
			} else if got.Status != 429 {
				t.Errorf("%+v", got)
			}
		}
		return n
	}
	other := netip.MustParseAddr("2001:db8::1")
	for _, c := range []struct {
		from  netip.Addr
		after time.Duration
		want  int
	}{{home, 0, 5}, {other, 0, 5}, {home, time.Second, 2}, {home, time.Second, 0}, {home, 0, 0}, {home, time.Hour, 5}} {
		if got := granted(c.from, noon.Add(c.after)); got != c.want {
			t.Errorf("%s after %v: %d, want %d", c.from, c.after, got, c.want)
		}
	}
	g.Rate = NewRate(Limits{Each: 1, Burst: 3, Key: "x-key"})
	for _, lines := range [][]string{{"X-Key: a"}, {"x-key: b"}, {}} {
		if got := granted(home, noon, lines...); got != 3 {
			t.Errorf("%q: %d", lines, got)
		}
	}
	if got := granted(home, noon, "X-Key: a", "X-Key: c"); got != 0 { // as if the field was missing
		t.Errorf("two keys: %d", got)
	}
}

func TestRateKeysAreEvicted(t *testing.T) {
	rate, r := NewRate(Limits{Each: 1, Burst: 1}), request(t)
	for i := range 2 * shards * maxKeys {
		address := netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
		if !rate.take(r, address, noon) {
			t.Fatalf("%s had none", address)
		}
	}
	all := 0
	for i := range rate.shards {
		all += len(rate.shards[i].buckets)
	}
	if all > shards*maxKeys {
		t.Errorf("%d keys are known", all)
	}
	later := noon.Add(time.Minute)
	rate.shards[0].forget(later, &rate.Limits)
	if n := len(rate.shards[0].buckets); n != maxKeys-maxExamined {
		t.Errorf("%d keys are known after a look at %d of whom nothing is to be known", n, maxExamined)
	}
}

func BenchmarkCheck(b *testing.B) {
	g := &Guard{Deny: prefixes("198.51.100.0/24"), Body: 1 << 20, Rate: NewRate(Limits{Each: 1e9, Burst: 1e9})}
	r := request(b, "Content-Length: 5")
	b.ReportAllocs()
	for b.Loop() {
		if got := g.Check(r, home, noon); got.Status != 0 {
			b.Fatal(fmt.Sprint(got))
		}
	}
}
