// Tells systemd when the gateway is ready, reloads or stops, by the protocol of sd_notify(3). Units
// that start after the gateway then find it ready.

package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// supervisor is systemd, by the protocol of sd_notify(3). Without it, nothing is sent.
type supervisor struct{ conn *net.UnixConn }

// newSupervisor connects to the socket that NOTIFY_SOCKET names. A failure is logged, as systemd
// would wait for a message that never comes.
func newSupervisor(logger *log.Logger) supervisor {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return supervisor{}
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		logger.Printf("notifying systemd: %v", err)
	}
	return supervisor{conn}
}

func (s supervisor) send(state string) {
	if s.conn != nil {
		_, _ = s.conn.Write([]byte(state)) // a failure does not matter
	}
}

// ready reports that the gateway accepts clients with the current configuration.
func (s supervisor) ready() { s.send("READY=1") }

// reloading reports that a reload began, and when.
func (s supervisor) reloading() {
	if s.conn != nil {
		s.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic()))
	}
}

// stopping reports that the gateway waits for requests in flight.
func (s supervisor) stopping() { s.send("STOPPING=1") }

func (s supervisor) close() {
	if s.conn != nil {
		s.conn.Close()
	}
}

// monotonic returns CLOCK_MONOTONIC, as systemd uses it, in microseconds.
func monotonic() int64 {
	const clockMonotonic = 1
	var now syscall.Timespec
	// This clock always exists.
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic,
		uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano() / 1000
}
