// A test service with known costs, in Go: it answers `GET /` after ten functions have each burned
// a known amount of CPU time.
//
// `make why-truth` compares two processes of it. One runs with `--function NAME --factor 1.3`,
// which repeats the work of that function 1.3 times. `faceoff why` must name it.
// The services in Rust and Java do the same work with the same names. Each function calls nothing,
// so that all of its CPU time is its own. Start with `parts`.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
)

// work is what the functions read and write.
type work struct {
	text    [256]byte
	numbers [24]uint64
	out     [512]byte
	sum     uint64
}

// part is a function with its name and how often a request repeats its work.
type part struct {
	name   string
	run    func(*work, int)
	rounds int
}

// parts lists all functions. The first five are hot: each costs about 60 µs, and the
// others 12 µs.
var parts = []part{
	{"hash_bytes", hashBytes, 920},
	{"check_sum", checkSum, 600},
	{"sort_numbers", sortNumbers, 240},
	{"parse_digits", parseDigits, 610},
	{"encode_base64", encodeBase64, 740},
	{"format_digits", formatDigits, 800},
	{"count_words", countWords, 70},
	{"multiply_matrix", multiplyMatrix, 200},
	{"find_pattern", findPattern, 135},
	{"compress_runs", compressRuns, 45},
}

const (
	answer  = `{"service":"why","functions":10}`
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)

// sink keeps the compiler from removing work whose result nothing else uses.
var sink atomic.Uint64

func newWork() *work {
	w := &work{sum: 1}
	for at := range w.text {
		w.text[at] = "1702,44 aab9,, 305 zz81"[at%23]
	}
	return w
}

//go:noinline
func hashBytes(w *work, rounds int) {
	for range rounds {
		hash := 0xcbf29ce484222325 ^ w.sum
		for _, b := range w.text[:64] {
			hash = (hash ^ uint64(b)) * 0x0100000001b3
		}
		w.sum += hash
	}
}

//go:noinline
func checkSum(w *work, rounds int) {
	for range rounds {
		check := uint32(w.sum)
		for _, b := range w.text[:12] {
			check ^= uint32(b)
			for range 8 {
				check = check>>1 ^ 0xedb88320&-(check&1)
			}
		}
		w.sum += uint64(check)
	}
}

//go:noinline
func sortNumbers(w *work, rounds int) {
	for range rounds {
		seed := w.sum
		for at := range w.numbers {
			seed = seed*6364136223846793005 + 1442695041
			w.numbers[at] = seed >> 33
		}
		for at := 1; at < len(w.numbers); at++ {
			number := w.numbers[at]
			place := at
			for place > 0 && w.numbers[place-1] > number {
				w.numbers[place] = w.numbers[place-1]
				place--
			}
			w.numbers[place] = number
		}
		w.sum += w.numbers[11]
	}
}

//go:noinline
func parseDigits(w *work, rounds int) {
	for round := range rounds {
		w.text[round&127] ^= 1
		value := w.sum & 7
		for _, b := range w.text[:128] {
			if b >= '0' && b <= '9' {
				value = value*10 + uint64(b-'0')
			} else {
				value = value>>3 ^ 5
			}
		}
		w.sum += value
	}
}

//go:noinline
func encodeBase64(w *work, rounds int) {
	for round := range rounds {
		w.text[round&63] ^= 1
		for group := range 20 {
			at := 3 * group
			three := uint32(w.text[at])<<16 | uint32(w.text[at+1])<<8 | uint32(w.text[at+2])
			for place := range 4 {
				w.out[4*group+place] = letters[three>>(18-6*place)&63]
			}
		}
		w.sum += uint64(w.out[round&63])
	}
}

//go:noinline
func formatDigits(w *work, rounds int) {
	for range rounds {
		value := w.sum | 1<<63
		for at := 0; value > 0; at++ {
			w.out[at&511] = byte('0' + value%10)
			value /= 10
		}
		w.sum += uint64(w.out[3])
	}
}

//go:noinline
func countWords(w *work, rounds int) {
	for round := range rounds {
		w.text[round&255] ^= 1
		words, isInWord := uint64(0), false
		for _, b := range w.text[:] {
			isLetter := b > ','
			if isLetter && !isInWord {
				words += w.sum&3 | 1
			}
			isInWord = isLetter
		}
		w.sum += words
	}
}

//go:noinline
func multiplyMatrix(w *work, rounds int) {
	for range rounds {
		total := w.sum
		for row := range 4 {
			for column := range 4 {
				for at := range 4 {
					product := w.numbers[4*row+at] * w.numbers[4*at+column]
					total = bits.RotateLeft64(total, 1) + product
				}
			}
		}
		w.sum = total
	}
}

//go:noinline
func findPattern(w *work, rounds int) {
	for round := range rounds {
		w.text[round&255] ^= 1
		found := uint64(0)
		for at := range 254 {
			if w.text[at] == 'z' && w.text[at+1] == 'z' && w.text[at+2] == '8' {
				found += uint64(at) ^ w.sum
			}
		}
		w.sum += found
	}
}

//go:noinline
func compressRuns(w *work, rounds int) {
	for round := range rounds {
		w.text[round&255] ^= 1
		written := 0
		for at := 0; at < 256; {
			b, run := w.text[at], 1
			for at+run < 256 && w.text[at+run] == b {
				run++
			}
			w.out[written&511] = byte(run)
			w.out[(written+1)&511] = b
			written += 2
			at += run
		}
		w.sum += uint64(written)
	}
}

func main() {
	port := flag.Int("port", 0, "the port; 0 for any")
	function := flag.String("function", "", "the function that costs more")
	factor := flag.Float64("factor", 1, "how many times as much")
	isMeasured := flag.Bool("measure", false, "print what each function costs, and end")
	flag.Parse()
	if err := change(*function, *factor); err != nil {
		fail(err)
	}
	if *isMeasured {
		measure()
		return
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fail(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	fail(http.Serve(listener, http.HandlerFunc(serve)))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(2)
}

// change multiplies the repetitions of a function.
func change(function string, factor float64) error {
	if function == "" {
		return nil
	}
	for at := range parts {
		if parts[at].name == function {
			parts[at].rounds = int(math.Round(float64(parts[at].rounds) * factor))
			return nil
		}
	}
	return fmt.Errorf("unknown function %s", function)
}

// cpuNs is the CPU time of this thread in nanoseconds, to a tick of the kernel: other programs may
// run too.
func cpuNs() float64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		fail(err)
	}
	ns, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		fail(err)
	}
	return ns
}

// measure prints each function with its repetitions and its nanoseconds of CPU time per request.
func measure() {
	runtime.LockOSThread()
	const calls = 2000
	for _, p := range parts {
		w := newWork()
		begin := cpuNs()
		for call := range 2 * calls {
			if call == calls {
				begin = cpuNs()
			}
			p.run(w, p.rounds)
		}
		ns := (cpuNs() - begin) / calls
		sink.Add(w.sum)
		fmt.Printf("%s %d %.1f\n", p.name, p.rounds, ns)
	}
}

func serve(response http.ResponseWriter, _ *http.Request) {
	w := newWork()
	for at := range parts {
		parts[at].run(w, parts[at].rounds)
	}
	sink.Add(w.sum)
	response.Header().Set("Content-Type", "application/json")
	_, _ = response.Write([]byte(answer))
}
