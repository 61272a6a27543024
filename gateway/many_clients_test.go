// Many slow clients against the default limits: honest clients must still get responses.

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"faceoff/gateway/h2"

	"golang.org/x/net/http2/hpack"
)

// crowded runs the gateway with the default settings for slow readers, plus more.
func crowded(t *testing.T, descriptors int, more string) (address, admin string) {
	t.Helper()
	const size = 5 << 20
	block := make([]byte, size)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			w.Write(block)
			return
		}
		fmt.Fprint(w, "ok")
	}))
	t.Cleanup(upstream.Close)
	t.Cleanup(upstream.CloseClientConnections)
	listen, admin := free(t), free(t)
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	text := fmt.Sprintf("listen: %s\nadmin: %s\nworkers: 2\nlimits: {descriptors: %d%s}\nupstreams: {one: {servers: [%q]}}\nroutes: [{path: /, upstream: one}]\n",
		listen, admin, descriptors, more, upstream.Listener.Addr())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var logged syncBuffer
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, settings{config: file}, &logged) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !strings.Contains(err.Error(), "deadline") {
			t.Error(err)
		}
	})
	until(t, "it to listen", func() bool { return strings.Contains(logged.String(), "listening on "+listen) })
	return listen, admin
}

// honest sends requests one by one over some connections, and reports responses other than 200.
func honest(t *testing.T, address string, clients, turns int) {
	t.Helper()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			own := &http.Client{Transport: &http.Transport{}, Timeout: patience}
			defer own.CloseIdleConnections()
			for range turns {
				response, err := own.Get("http://" + address + "/short")
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != 200 || string(text) != "ok" {
					t.Errorf("%s %q, %v", response.Status, text, err)
				}
			}
		})
	}
	all.Wait()
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// TestThreeConnectionsLeaveSlotsFree opens 300 streams whose windows stay closed while honest
// clients send requests.
func TestThreeConnectionsLeaveSlotsFree(t *testing.T) {
	address, admin := crowded(t, 1024, "")
	for range 3 {
		conn := dial(t, address)
		var block strings.Builder
		encoder := hpack.NewEncoder(&block)
		text := h2.AppendSettings([]byte(h2.Preface), h2.Setting{ID: h2.InitialWindowSize, Value: 0})
		for i := range uint32(100) {
			block.Reset()
			for _, field := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/long"}} {
				// A builder never fails.
				encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
			}
			text = append(h2.AppendFrame(text, block.Len(), h2.Headers, h2.EndHeaders|h2.EndStream, 2*i+1), block.String()...)
		}
		if _, err := conn.Write(text); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, conn)
	}
	// Requests that arrive together with the streams may find no slot: the gateway learns only
	// later which readers are slow.
	until(t, "every stream to have its slot or its response", func() bool {
		_, metrics := get(t, "http://"+admin+"/metrics")
		return value(metrics, "gateway_upstream_slow"+ofOne) > 0 && value(metrics, "gateway_upstream_waiting"+ofOne) == 0 &&
			value(metrics, "gateway_requests_total") >= 300
	})
	honest(t, address, 5, 20)
}

// ofOne is the label of the upstream in these tests.
const ofOne = `{upstream="one"}`

// value returns a metric by its name and labels, or -1.
func value(metrics, name string) float64 {
	_, after, found := strings.Cut(metrics, "\n"+name+" ")
	if !found {
		return -1
	}
	var number float64
	fmt.Sscan(after, &number)
	return number
}

// TestSlowReadersLeaveSlotsFree has more clients than slots, each of which reads 2 KB/s of 5 MB.
// Without a spill file, the gateway cuts those that have more than half of the slots.
func TestSlowReadersLeaveSlotsFree(t *testing.T) {
	for name, c := range map[string]struct {
		descriptors, readers int
		more                 string
		// Readers have taken all slots that they can get.
		had func(metrics string) bool
	}{
		"in memory": {1024, 260, "", func(metrics string) bool {
			return value(metrics, "gateway_upstream_slow"+ofOne) > 248/2
		}},
		"in a file": {192, 60, ", spill: {folder: " + t.TempDir() + ", size: 16GB}", func(metrics string) bool {
			return value(metrics, "gateway_requests_total") == 60 && value(metrics, "gateway_upstream_requests"+ofOne) == 0 &&
				value(metrics, "gateway_upstream_waiting"+ofOne) == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			address, admin := crowded(t, c.descriptors, c.more)
			for range c.readers {
				conn := dial(t, address)
				if err := conn.SetReadBuffer(16 << 10); err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(conn, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				go func() {
					var err error
					for ; err == nil; _, err = io.CopyN(io.Discard, conn, 2<<10) {
						time.Sleep(time.Second)
					}
				}()
			}
			until(t, "them to have their slots", func() bool {
				_, metrics := get(t, "http://"+admin+"/metrics")
				return c.had(metrics)
			})
			honest(t, address, 5, 20)
			if _, metrics := get(t, "http://"+admin+"/metrics"); (value(metrics, "gateway_cut_total") == 0) != (c.more != "") {
				t.Errorf("%s", metrics)
			}
		})
	}
}
