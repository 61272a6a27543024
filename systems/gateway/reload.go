package main

import (
	"context"
	"errors"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/systems/gateway/config"
	"faceoff/systems/gateway/proxy"
)

// reloader reads the configuration again, and puts it in force where that can be done while it runs.
type reloader struct {
	settings settings
	limit    uint64
	cores    int
	began    *config.Config // what only a start changes is as it was then
	inForce  *atomic.Pointer[config.Config]
	server   *proxy.Server
	keys     *ring
	lines    *file
	logger   *log.Logger
	files    []string // of which a change has it read again
	seen     map[string]version
}

// version tells a file from what it was before.
type version struct {
	changed time.Time
	size    int64
	inode   uint64
}

// versions are those of files. One that is not there has none.
func versions(files []string) map[string]version {
	all := map[string]version{}
	for _, name := range files {
		if about, err := os.Stat(name); err == nil {
			v := version{changed: about.ModTime(), size: about.Size()}
			if system, ok := about.Sys().(*syscall.Stat_t); ok {
				v.inode = system.Ino
			}
			all[name] = v
		}
	}
	return all
}

// look reads the configuration again where one of its files is another than before.
func (r *reloader) look(ctx context.Context) {
	if !maps.Equal(versions(r.files), r.seen) {
		r.reload(ctx)
	}
}

// reload reads the configuration again. What is wrong, cannot be put in force, or is still asked for when ctx ends, leaves everything as it was.
func (r *reloader) reload(ctx context.Context) {
	if err := r.lines.reopen(); err != nil { // they may have been moved away, whatever else has changed
		r.logger.Print(err)
	}
	r.seen = versions(r.files) // before they are read: what changes meanwhile is seen the next time
	again, err := config.Read(ctx, r.settings.config, r.limit, r.cores, r.settings.set...)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		var wrong *config.Problems
		if errors.As(err, &wrong) {
			r.watchBeside(wrong.Files)
		}
		r.logger.Printf("the configuration stays as it was: %v", err)
		return
	}
	again.Server.Access, again.Server.Spans = r.began.Server.Access, r.began.Server.Spans
	if r.settings.access != "" {
		again.Access = r.settings.access
	}
	if fixed := config.Fixed(r.began, again); len(fixed) > 0 {
		r.watchBeside(again.Files)
		r.logger.Printf("the configuration stays as it was: %s changes only when the gateway is started again", strings.Join(fixed, " and "))
		return
	}
	if r.began.TLS != nil && again.TLS != nil {
		r.server.Certify(again.TLS)
	}
	r.server.Swap(table(again, r.server.Table(), r.began.Server.Workers))
	r.keys.follow(again.Routes)
	r.watch(again.Files)
	r.inForce.Store(again)
	r.logger.Print("the configuration is in force")
}

// watch has changes of these files looked for from now on.
func (r *reloader) watch(files []string) {
	for name, v := range versions(files) {
		if _, known := r.seen[name]; !known {
			r.seen[name] = v // read for the first time
		}
	}
	maps.DeleteFunc(r.seen, func(name string, _ version) bool { return !slices.Contains(files, name) })
	r.files = files
}

// watchBeside has changes of these files looked for as well as of those of the configuration in force: what was refused may be mended in any.
func (r *reloader) watchBeside(files []string) {
	r.watch(slices.Concat(r.inForce.Load().Files, files))
}
