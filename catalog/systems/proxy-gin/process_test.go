// The command as a process, with a real descriptor limit and real signals.

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this binary take the part of proxy-gin, so that tests can give it a real descriptor
// limit and real signals.
func TestMain(m *testing.M) {
	if os.Getenv("PROXY_GIN_TEST_PROCESS") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

type process struct {
	*exec.Cmd
	address string
	stderr  *syncBuffer
	exited  chan error
}

// startProcess runs proxy-gin under a descriptor limit, soft and hard.
func startProcess(t *testing.T, descriptors int, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(descriptors), self,
		"-listen", "127.0.0.1:0"}, args...)
	p := &process{Cmd: exec.Command("sh", args...), stderr: new(syncBuffer),
		exited: make(chan error, 1)}
	p.Env = append(os.Environ(), "PROXY_GIN_TEST_PROCESS=1")
	p.Stderr = p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.exited <- p.Wait() }()
	t.Cleanup(func() { p.Process.Kill() })
	found := waitFor(t, p, regexp.MustCompile(`listening on (\S+?);`))
	p.address = found[1]
	return p
}

// waitFor waits until stderr of the process matches the pattern.
func waitFor(t *testing.T, p *process, pattern *regexp.Regexp) []string {
	t.Helper()
	for start := time.Now(); time.Since(start) < patience; time.Sleep(5 * time.Millisecond) {
		if found := pattern.FindStringSubmatch(p.stderr.String()); found != nil {
			return found
		}
	}
	t.Fatalf("no %v on stderr, which was:\n%s", pattern, p.stderr)
	return nil
}

// As many keep-alive clients as an experiment has, under 256 descriptors and before an upstream
// slow enough that some requests are shed: each request gets a response.
func TestTwoThousandClientsUnder256Descriptors(t *testing.T) {
	clients := 2000
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	if most := int(min(uint64(own.Cur), 1<<20))/2 - 200; most < clients { //nolint:unconvert // FreeBSD has it signed
		t.Logf("only %d clients, as the test's own limit is %d", most, own.Cur)
		clients = most
	}
	var flying gauge
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		defer flying.enter()()
		time.Sleep(2 * time.Millisecond)
		fmt.Fprint(w, "ok")
	})
	p := startProcess(t, 256, "-upstream", "http://"+upstream, "-wait", "5ms")

	var answered, shed atomic.Int32
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var c *client
			for range 3 {
				if c == nil {
					c = connect(t, p.address)
				}
				response := c.get("/product/")
				io.Copy(io.Discard, response.Body)
				switch response.StatusCode {
				case 200:
					answered.Add(1)
				case 503:
					shed.Add(1)
				default:
					t.Errorf("status %d", response.StatusCode)
				}
				if response.Close {
					c.Close()
					c = nil
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d answered, %d shed, at most %d at once", answered.Load(), shed.Load(),
		flying.most.Load())
	if total := int(answered.Load() + shed.Load()); total != 3*clients || answered.Load() == 0 {
		t.Errorf("%d of %d requests got an answer", total, 3*clients)
	}
	if n := flying.most.Load(); n > 74 {
		t.Errorf("%d requests at once, want at most 74", n)
	}
	if lines := strings.Count(p.stderr.String(), "\n"); lines != 1 {
		t.Errorf("stderr has %d lines:\n%s", lines, p.stderr)
	}
}

// The failure that the bound prevents.
func TestUnboundedProxyRunsOutOfDescriptors(t *testing.T) {
	const limit, clients = 128, 100
	over := make(chan struct{})
	upstream := startUpstream(t, func(http.ResponseWriter, *http.Request) { <-over })
	defer close(over)
	p := startProcess(t, limit, "-upstream", "http://"+upstream, "--unbounded")

	// Each client holds a descriptor before the first request needs another.
	var all []*client
	for range clients {
		c := connect(t, p.address)
		wantError(t, c.get("/elsewhere"), http.StatusNotFound)
		all = append(all, c)
	}
	failed := make(chan *http.Response, clients)
	for _, c := range all {
		c.send("GET /product/ HTTP/1.1\nHost: shop.example", "")
		go func() {
			if response, err := http.ReadResponse(c.r, nil); err == nil {
				failed <- response
			}
		}()
	}
	// At least those without a descriptor; the others hang with the upstream.
	for range 2*clients - limit {
		wantError(t, receive(t, failed, "a request that fails"), http.StatusBadGateway)
	}
	waitFor(t, p, regexp.MustCompile("too many open files"))
}

func TestTerminationLetsRequestsFinish(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		receive(t, release, "the release")
		fmt.Fprint(w, "finished")
	})
	p := startProcess(t, 256, "-upstream", "http://"+upstream)
	c := connect(t, p.address)
	c.send("GET /product/ HTTP/1.1\nHost: shop.example", "")
	receive(t, arrived, "the request")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) { // no further client is accepted
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			break
		}
		conn.Close()
		if time.Since(start) > patience {
			t.Fatal("connections are still accepted")
		}
	}
	close(release)
	if got := body(t, c.answer("GET")); got != "finished" {
		t.Errorf("body %q", got)
	}
	if err := receive(t, p.exited, "the exit"); err != nil {
		t.Errorf("exit: %v, stderr:\n%s", err, p.stderr)
	}
}

func TestInvalidSettingEndsProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-upstream", "nonsense"},
		{"-upstream", "http://127.0.0.1:1", "-listen", "127.0.0.1:99999"}} {
		command := exec.Command(self, args...)
		command.Env = append(os.Environ(), "PROXY_GIN_TEST_PROCESS=1")
		output, err := command.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(output), "proxy-gin: ") {
			t.Errorf("%v: %v, %s", args, err, output)
		}
	}
}
