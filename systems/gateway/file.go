package main

import (
	"fmt"
	"os"
	"sync"
)

// file is where lines are appended. It can be opened anew after it was moved away.
type file struct {
	name string
	mu   sync.Mutex
	now  *os.File
}

func openFile(name string) (*file, error) {
	f := &file{name: name}
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

// reopen opens the file by its name again. What is no file, or none, stays as it is.
func (f *file) reopen() error {
	if f == nil || f.now == os.Stdout || f.now == os.Stderr {
		return nil
	}
	now, err := os.OpenFile(f.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("lines about requests cannot be written: %w\n  hint: name another file as `access`", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil {
		f.now.Close()
	}
	f.now = now
	return nil
}

func (f *file) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now.Write(text)
}
