// Injected errors, to test how clients react to delays, errors and closed connections.

package guard

import "time"

// Fault is an error injected into a fraction of a route's requests, to test clients.
type Fault struct {
	Share  float64
	Delay  time.Duration // before anything else
	Status int           // of a response by the gateway; zero for none
	Break  bool          // close the connection without a response
}

// Falls reports whether a request gets the fault. random is uniform from 0 to 1.
func (f *Fault) Falls(random float64) bool { return random < f.Share }
