// Notifications for systemd, received on a socket as systemd would.

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Sd_notify(3), systemd.service(5): Type=notify and notify-reload.
func TestSystemdIsNotified(t *testing.T) {
	folder := t.TempDir()
	socket := filepath.Join(folder, "notify")
	hears, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer hears.Close()
	if err := hears.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	hear := func(want string) {
		t.Helper()
		var message [512]byte
		n, err := hears.Read(message[:])
		if err != nil || !regexp.MustCompile("^"+want+"$").Match(message[:n]) {
			t.Fatalf("received %q, %v, want %s", message[:n], err, want)
		}
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	listen, admin := free(t), free(t)
	file := filepath.Join(folder, "gateway.yaml")
	write := func(path string) {
		text := fmt.Sprintf("listen: %s\nadmin: %s\nupstreams: {one: {servers: [%q]}}\nroutes:\n  - {path: %s, upstream: one}\n", listen, admin, listen, path)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/a")
	var logged syncBuffer
	if err := run(context.Background(), settings{ready: admin}, &logged); err == nil || !strings.Contains(err.Error(), "hint: ") {
		t.Errorf("before it runs: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, settings{config: file}, &logged) }()
	hear("READY=1")
	if err := run(ctx, settings{ready: admin}, &logged); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	for _, path := range []string{"/b", "wrong"} { // whatever the outcome
		write(path)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		hear(`RELOADING=1\nMONOTONIC_USEC=[1-9]\d*`)
		hear("READY=1")
	}
	cancel()
	hear("STOPPING=1")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
