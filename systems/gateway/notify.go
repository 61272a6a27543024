package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// supervisor is who has started the gateway and wants to hear how it goes: systemd, by the protocol of sd_notify(3). Without one, nobody is told.
type supervisor struct{ conn *net.UnixConn }

// supervised is the supervisor that the environment names. One that cannot be told is logged: it would wait in vain.
func supervised(logger *log.Logger) supervisor {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return supervisor{}
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		logger.Printf("telling the supervisor: %v", err)
	}
	return supervisor{conn}
}

func (s supervisor) tell(state string) {
	if s.conn != nil {
		_, _ = s.conn.Write([]byte(state)) // who does not listen is not waited for
	}
}

// ready says that clients are let in, as the file says it.
func (s supervisor) ready() { s.tell("READY=1") }

// reloading says that the file is read again, and when that began, so that it is not taken for an earlier time.
func (s supervisor) reloading() {
	if s.conn != nil {
		s.tell(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic()))
	}
}

// stopping says that requests in flight are waited for, and no others are let in.
func (s supervisor) stopping() { s.tell("STOPPING=1") }

func (s supervisor) close() {
	if s.conn != nil {
		s.conn.Close()
	}
}

// monotonic is CLOCK_MONOTONIC, which systemd goes by, in microseconds.
func monotonic() int64 {
	const clockMonotonic = 1
	var now syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0) // this clock is always there
	return now.Nano() / 1000
}
