// Reloading: on SIGHUP or a changed file the configuration is read again, and applied if it is
// valid and needs no restart. Otherwise everything stays as it was, and the log has the reason.
// Start reading at reloader.reload.

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

	"faceoff/gateway/config"
	"faceoff/gateway/proxy"
)

// reloader reads the configuration again, and applies what can change without a restart.
type reloader struct {
	settings settings
	limit    uint64
	cores    int
	began    *config.Config // the configuration at the start
	inForce  *atomic.Pointer[config.Config]
	server   *proxy.Server
	keys     *keyRefresher
	lines    *logFile
	logger   *log.Logger
	files    []string // whose changes cause a reload
	seen     map[string]version
}

// version identifies the state of a file.
type version struct {
	changed time.Time
	size    int64
	inode   uint64
}

// versions returns the versions of files. Missing files have none.
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

// reloadIfChanged reloads the configuration if one of its files has changed.
func (r *reloader) reloadIfChanged(ctx context.Context) {
	if !maps.Equal(versions(r.files), r.seen) {
		r.reload(ctx)
	}
}

// reload reads the configuration again. If it is invalid or needs a restart, or if ctx ends first,
// everything stays as it was.
func (r *reloader) reload(ctx context.Context) {
	if err := r.lines.reopen(); err != nil { // log rotation may have moved it
		r.logger.Print(err)
	}
	r.seen = versions(r.files) // before reading, so that a change meanwhile is noticed next time
	again, err := config.Read(ctx, r.settings.config, r.limit, r.cores, r.settings.set...)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		var wrong *config.Problems
		if errors.As(err, &wrong) {
			r.alsoWatch(wrong.Files)
		}
		r.logger.Printf("the configuration stays as it was: %v", err)
		return
	}
	again.Server.Access, again.Server.Spans = r.began.Server.Access, r.began.Server.Spans
	if r.settings.access != "" {
		again.Access = r.settings.access
	}
	if fixed := config.Fixed(r.began, again); len(fixed) > 0 {
		r.alsoWatch(again.Files)
		r.logger.Printf("the configuration stays as it was: %s changes only with a restart",
			strings.Join(fixed, " and "))
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

// watch sets the files whose changes cause a reload.
func (r *reloader) watch(files []string) {
	for name, v := range versions(files) {
		if _, known := r.seen[name]; !known {
			r.seen[name] = v // read for the first time
		}
	}
	maps.DeleteFunc(r.seen,
		func(name string, _ version) bool { return !slices.Contains(files, name) })
	r.files = files
}

// alsoWatch adds files to those of the configuration in force: a refused configuration may be fixed
// in any of them.
func (r *reloader) alsoWatch(files []string) {
	r.watch(slices.Concat(r.inForce.Load().Files, files))
}
