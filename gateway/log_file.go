// The access log's file. It is reopened on a reload, so that log rotation can move it away.

package main

import (
	"fmt"
	"os"
	"sync"
)

// logFile is a file that lines are appended to. It can be reopened after it was moved.
type logFile struct {
	name string
	mu   sync.Mutex
	now  *os.File
}

func openLogFile(name string) (*logFile, error) {
	f := &logFile{name: name}
	switch name {
	case "stdout":
		f.now = os.Stdout
	case "stderr":
		f.now = os.Stderr
	default:
		if err := f.reopen(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// reopen opens the file by its name again. It does nothing for stdout, stderr and nil.
func (f *logFile) reopen() error {
	if f == nil || f.now == os.Stdout || f.now == os.Stderr {
		return nil
	}
	now, err := os.OpenFile(f.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf(
			"the access log cannot be written: %w\n  hint: name another file as `access`",
			err,
		)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil {
		f.now.Close()
	}
	f.now = now
	return nil
}

func (f *logFile) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now.Write(text)
}
