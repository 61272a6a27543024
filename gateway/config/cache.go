// Reads `cache`.

package config

import (
	"math"

	"faceoff/gateway/cache"
)

// cache reads `cache: {size: 64MB, object: 1MB}`.
func (r table) cache() *cache.Store {
	if !r.has("cache") {
		return nil
	}
	t := r.table("cache", "size", "object")
	limits := cache.Limits{Size: int64(t.size("size", 64<<20, 64<<10, math.MaxInt))}
	limits.Object = int64(t.size("object", int(min(1<<20, limits.Size/4)), 1, math.MaxInt))
	if limits.Object > limits.Size/4 {
		t.problem(t.nodeOf("object"),
			"write a quarter of `size` at most, so that several answers have room",
			"`%s` is %d bytes of %d", t.join("object"), limits.Object, limits.Size)
	}
	return cache.New(limits)
}
