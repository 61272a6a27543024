package guard

import "time"

// Fault is what is done on purpose to a part of a route's requests, to see what clients make of it.
type Fault struct {
	Share  float64
	Delay  time.Duration // before anything else
	Status int           // in place of an answer; zero for none
	Break  bool          // the connection ends without an answer
}

// Falls reports whether a request meets the fault, by a number that is uniform from 0 to 1.
func (f *Fault) Falls(random float64) bool { return random < f.Share }
