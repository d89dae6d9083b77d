// The server of `cargo xtask bench verdict`: slow in a way that was planned, with a log of what it did to each request.
//
// It shares no code with Plimsoll. TLS and HTTP/2 are those of net/http. All instants are nanoseconds of one monotonic clock.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

var (
	address     = flag.String("listen", "127.0.0.1", "address to listen on, with free ports")
	certificate = flag.String("cert", "", "certificate of the TLS port")
	key         = flag.String("key", "", "key of the TLS port")
	logFile     = flag.String("log", "", "where the log is written at the end")
	servers     = flag.Int("servers", 0, "requests that are served at once; 0: all")
	service     = flag.Duration("service", 0, "service time, or its mean")
	exponential = flag.Bool("exponential", false, "service times are exponential")
	rate        = flag.Int64("rate", 0, "bytes per second, shared by all requests one after the other; 0: no cap")
	size        = flag.Int("size", 1024, "bytes of a response body")
	stallAt     = flag.Duration("stall-at", 0, "when the server stops, from the first request")
	stallFor    = flag.Duration("stall-for", 0, "for how long")
	seed        = flag.Int64("seed", 1, "of service times")
)

// What happened to one request.
type entry struct{ arrival, start, end, held, received int64 }

type server struct {
	epoch time.Time
	slots chan struct{}
	body  []byte

	mutex   sync.Mutex
	random  *rand.Rand
	first   int64
	entries []entry
}

func (s *server) now() int64 { return int64(time.Since(s.epoch)) }

// Notes when the first request came, and returns it.
func (s *server) firstArrival(now int64) int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.first < 0 {
		s.first = now
	}
	return s.first
}

// Sleeps while the server is stopped, and returns for how long.
func (s *server) hold(first int64) int64 {
	now := s.now()
	from := first + int64(*stallAt)
	until := from + int64(*stallFor)
	if now < from || now >= until {
		return 0
	}
	time.Sleep(time.Duration(until - now))
	return s.now() - now
}

// The service time of the next request.
func (s *server) draw(bytes int64) time.Duration {
	length := *service
	if *exponential {
		s.mutex.Lock()
		length = time.Duration(float64(length) * s.random.ExpFloat64())
		s.mutex.Unlock()
	}
	if *rate > 0 {
		length += time.Duration(float64(bytes) / float64(*rate) * 1e9)
	}
	return length
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := entry{arrival: s.now()}
	first := s.firstArrival(e.arrival)
	got, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return
	}
	e.received = s.now() - e.arrival
	if s.slots != nil {
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
	}
	e.start = s.now()
	e.held = s.hold(first)
	body := s.body
	if r.Method != http.MethodGet {
		body = nil
	}
	time.Sleep(s.draw(got + int64(len(body))))
	e.held += s.hold(first)
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Header().Set("ETag", `"0"`)
	if _, err := w.Write(body); err != nil {
		return
	}
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
	e.end = s.now()
	s.mutex.Lock()
	s.entries = append(s.entries, e)
	s.mutex.Unlock()
}

func (s *server) writeLog() error {
	file, err := os.Create(*logFile)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, e := range s.entries {
		fmt.Fprintf(out, "%d %d %d %d %d\n", e.arrival, e.start, e.end, e.held, e.received)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", net.JoinHostPort(*address, "0"))
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	flag.Parse()
	s := &server{epoch: time.Now(), body: make([]byte, *size), first: -1, random: rand.New(rand.NewSource(*seed))}
	if *servers > 0 {
		s.slots = make(chan struct{}, *servers)
	}
	plain, secure := listen(), listen()
	quiet := log.New(io.Discard, "", 0)
	for _, listener := range []net.Listener{plain, secure} {
		each := &http.Server{Handler: s, ErrorLog: quiet}
		if listener == secure {
			go func() { log.Fatal(each.ServeTLS(secure, *certificate, *key)) }()
		} else {
			go func() { log.Fatal(each.Serve(plain)) }()
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	fmt.Printf("ready %s %s\n", plain.Addr(), secure.Addr())
	<-signals
	if err := s.writeLog(); err != nil {
		log.Fatal(err)
	}
}
