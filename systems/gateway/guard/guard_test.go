package guard

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"faceoff/systems/gateway/wire"
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

func TestWhereRequestsComeFrom(t *testing.T) {
	inner := prefixes("10.0.0.0/8", "::1/128")
	for _, c := range []struct {
		peer  string
		lines []string
		want  string
	}{
		{"192.0.2.1", []string{"X-Forwarded-For: 198.51.100.1"}, "192.0.2.1"}, // whoever is not trusted says nothing
		{"10.1.1.1", nil, "10.1.1.1"},
		{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1"}, "198.51.100.1"},
		{"10.1.1.1", []string{"X-Forwarded-For: 203.0.113.9, 198.51.100.1, 10.2.2.2"}, "198.51.100.1"},
		{"10.1.1.1", []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 198.51.100.1,10.2.2.2"}, "198.51.100.1"},
		{"10.1.1.1", []string{"X-Forwarded-For: 10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		{"10.1.1.1", []string{"X-Forwarded-For: 198.51.100.1, unknown, 10.2.2.2"}, "10.2.2.2"},
		{"::1", []string{"X-Forwarded-For: ::ffff:198.51.100.1"}, "198.51.100.1"},
	} {
		if got := From(request(t, c.lines...), netip.MustParseAddr(c.peer), inner); got.String() != c.want {
			t.Errorf("%s with %q: %s, want %s", c.peer, c.lines, got, c.want)
		}
	}
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
	if got := granted(home, noon, "X-Key: a", "X-Key: c"); got != 0 { // it is as if there was none
		t.Errorf("two keys: %d", got)
	}
}

func TestKeysAreForgotten(t *testing.T) {
	rate, r := NewRate(Limits{Each: 1, Burst: 1}), request(t)
	for i := range 2 * shards * mostKeys {
		address := netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
		if !rate.take(r, address, noon) {
			t.Fatalf("%s had none", address)
		}
	}
	all := 0
	for i := range rate.shards {
		all += len(rate.shards[i].buckets)
	}
	if all > shards*mostKeys {
		t.Errorf("%d keys are known", all)
	}
	later := noon.Add(time.Minute)
	rate.shards[0].forget(later, &rate.Limits)
	if n := len(rate.shards[0].buckets); n != mostKeys-mostLooked {
		t.Errorf("%d keys are known after a look at %d of whom nothing is to be known", n, mostLooked)
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
