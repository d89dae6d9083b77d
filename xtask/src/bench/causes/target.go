// The target of `cargo xtask bench causes`. This server has the delays that its arguments specify, and logs the times
// of each request.
//
// The server shares no code with Plimsoll, and uses the TLS and HTTP/2 of net/http. All times are nanoseconds of one
// monotonic clock.
//
// A request arrives when the kernel has received its bytes, and ends when the kernel has accepted the response. Apart
// from the planned work, the time between these two instants is latency of the target. See conn.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var (
	address     = flag.String("listen", "127.0.0.1", "address to listen on, with free ports")
	certificate = flag.String("cert", "", "certificate of the TLS port")
	key         = flag.String("key", "", "key of the TLS port")
	logFile     = flag.String("log", "", "file for the log, written at the end")
	servers     = flag.Int("servers", 0, "requests served at the same time; 0: no limit")
	uploadsOnly = flag.Bool("uploads-only", false, "only uploads take service time and a place")
	tokens      = flag.Float64("tokens", 0, "requests served per second; others are refused at once; 0: no limit")
	service     = flag.Duration("service", 0, "service time, or its mean")
	exponential = flag.Bool("exponential", false, "exponentially distributed service times")
	rate        = flag.Int64("rate", 0, "bytes per second, shared by all requests; 0: no limit")
	size        = flag.Int("size", 1024, "bytes of a response body")
	stallAt     = flag.Duration("stall-at", 0, "start of the pause after the first request")
	stallFor    = flag.Duration("stall-for", 0, "duration of the pause")
	stallEvery  = flag.Duration("stall-every", 0, "time from one pause to the next; 0: only one")
	seed        = flag.Int64("seed", 1, "seed of the service times")
)

// The times of one request.
type entry struct {
	arrival  int64 // the kernel had received the request's header
	received int64 // time from arrival until the kernel had received the body
	asked    int64 // the handler had the request and requested a place to serve it
	start    int64 // the request got a place
	end      int64 // the work was done and the place was free again
	left     int64 // the kernel had accepted the response
	held     int64 // part of the time from start to end in which the server made a planned pause
	conn     int64 // number of the connection, in the order in which connections were accepted
}

type server struct {
	epoch time.Time
	// The difference between the kernel's timestamps and the clock of the log.
	offset atomic.Int64
	// Free places. Each allows one request to be served. The value is the time since which the place is free.
	places chan int64
	body   []byte
	timers sync.Pool
	// Number of connections accepted so far.
	accepted atomic.Int64

	mutex   sync.Mutex
	random  *rand.Rand
	first   int64
	entries []*entry
	// The token bucket: number of tokens, and the time of the last change.
	bucket  float64
	changed int64
}

func (s *server) now() int64 { return int64(time.Since(s.epoch)) }

// Returns the time of the first request. The first call sets it.
func (s *server) firstArrival(now int64) int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.first < 0 {
		s.first = now
	}
	return s.first
}

// Takes a token. Returns whether there was one. The bucket holds the tokens of a tenth of a second.
func (s *server) takeToken() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	s.bucket = min(s.bucket+float64(now-s.changed)/1e9**tokens, max(*tokens/10, 1))
	s.changed = now
	if s.bucket < 1 {
		return false
	}
	s.bucket--
	return true
}

// Sleeps until a timer of the kernel fires. Go's own timers are up to a millisecond late, which is too much for short
// service times.
func (s *server) sleep(length time.Duration) {
	if length <= 0 {
		return
	}
	timer, _ := s.timers.Get().(*os.File)
	if timer == nil {
		timer = newTimer()
	}
	if timer == nil || !wait(timer, length) {
		time.Sleep(length)
		return
	}
	s.timers.Put(timer)
}

// Creates a timer that is read like a file, so that waiting for the timer blocks no thread. Returns nil if the kernel
// does not support such timers.
func newTimer() *os.File {
	const monotonic, flags = 1, syscall.O_NONBLOCK | syscall.O_CLOEXEC
	fd, _, failed := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic, flags, 0)
	if failed != 0 {
		return nil
	}
	return os.NewFile(fd, "timer")
}

// Sets the timer and waits for it. Returns whether the time has passed.
func wait(timer *os.File, length time.Duration) bool {
	raw, err := timer.SyscallConn()
	if err != nil {
		return false
	}
	setting := [2]syscall.Timespec{1: syscall.NsecToTimespec(int64(length))}
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0)
	})
	if err != nil || failed != 0 {
		return false
	}
	var expirations [8]byte
	_, err = timer.Read(expirations[:])
	return err == nil
}

// If the server is in a planned pause, sleeps until the end of the pause. Returns the time slept.
func (s *server) hold(first int64) int64 {
	now := s.now()
	from := first + int64(*stallAt)
	if every := int64(*stallEvery); every > 0 && now > from {
		from += (now - from) / every * every
	}
	until := from + int64(*stallFor)
	if now < from || now >= until {
		return 0
	}
	s.sleep(time.Duration(until - now))
	return s.now() - now
}

// Returns the service time of the next request.
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
	c := r.Context().Value(connKey{}).(*conn)
	e := &entry{arrival: c.newestRead(), conn: c.number}
	first := s.firstArrival(e.arrival)
	got, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return
	}
	if got > 0 {
		e.received = c.newestRead() - e.arrival
	}
	if *tokens > 0 && !s.takeToken() {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	body := s.body
	if r.Method != http.MethodGet {
		body = nil
	}
	if *uploadsOnly && r.Method != http.MethodPut {
		e.asked = s.now()
		e.start, e.end = e.asked, e.asked
	} else {
		s.work(e, first, got+int64(len(body)))
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Header().Set("ETag", `"0"`)
	if _, err := w.Write(body); err != nil {
		return
	}
	s.mutex.Lock()
	s.entries = append(s.entries, e)
	s.mutex.Unlock()
	if r.ProtoMajor > 1 {
		// Other goroutines write the last frame after this function has returned.
		c.endWhenIdle(e)
		return
	}
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
	atomic.StoreInt64(&e.left, c.newestWrite())
}

// Does the planned work. If the number of places is limited, waits for a place first.
func (s *server) work(e *entry, first, bytes int64) {
	e.asked = s.now()
	e.start = e.asked
	if s.places != nil {
		// The place is occupied while this goroutine wakes up, so the time to wake up is part of the work.
		if free := <-s.places; free > e.start {
			e.start = free
		}
	}
	e.held = s.hold(first)
	s.sleep(s.draw(bytes))
	e.held += s.hold(first)
	e.end = s.now()
	if s.places != nil {
		s.places <- e.end
	}
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
		// The log leaves out responses that were not written completely.
		if left := atomic.LoadInt64(&e.left); left > 0 {
			fmt.Fprintf(out, "%d %d %d %d %d %d %d %d\n", e.arrival, e.received, e.asked, e.start, e.end, left, e.held, e.conn)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// Measures the difference between the time of day and the clock of the log from time to time. The kernel's timestamps
// follow the time of day, which may be adjusted.
func (s *server) followClock() {
	sample := func() {
		best := int64(math.MinInt64)
		for i := 0; i < 5; i++ {
			// The time of day is read first, so a delay between the two readings makes the difference smaller. The largest
			// difference is therefore the most exact one.
			now := time.Now()
			if offset := now.UnixNano() - int64(now.Sub(s.epoch)); offset > best {
				best = offset
			}
		}
		s.offset.Store(best)
	}
	sample()
	go func() {
		for range time.Tick(250 * time.Millisecond) {
			sample()
		}
	}()
}

// A connection below TLS. It records when the kernel received the bytes that are read, and when the kernel accepted the
// bytes that are written.
//
// If there is one request at a time on a connection, the last read before a handler starts is the read of its request.
// If there are several requests at a time, the last read may belong to a later request, and the next write to an earlier
// response. The times in the log would then be too short.
type conn struct {
	net.Conn
	raw    syscall.RawConn
	server *server
	number int64

	mutex   sync.Mutex
	read    int64
	written int64
	waiting []*entry
	leaving []*entry
}

type connKey struct{}

func (c *conn) newestRead() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.read
}

func (c *conn) newestWrite() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.written
}

// When a stream is closed, the last frame of its response is still in a buffer. The response therefore ends with the
// next write that begins. The first frames of the response may have been written earlier.
func (c *conn) endWhenIdle(e *entry) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.waiting = append(c.waiting, e)
}

// Called when no stream is open. The waiting entries leave with the next write.
func (c *conn) idle() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.leaving = append(c.leaving, c.waiting...)
	c.waiting = nil
}

func (c *conn) Read(buffer []byte) (int, error) {
	var control [64]byte
	var count, length int
	var failed error
	err := c.raw.Read(func(fd uintptr) bool {
		for {
			count, length, _, _, failed = syscall.Recvmsg(int(fd), buffer, control[:], 0)
			if failed != syscall.EINTR {
				return failed != syscall.EAGAIN
			}
		}
	})
	if err == nil && failed != nil {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("recvmsg", failed)}
	}
	if err != nil {
		return 0, err
	}
	if count == 0 && len(buffer) > 0 {
		return 0, io.EOF
	}
	at := c.server.received(control[:length])
	c.mutex.Lock()
	defer c.mutex.Unlock()
	// Bytes without a timestamp count as received when they are read. This may be later than the timestamp of the bytes
	// after them.
	c.read = max(c.read, at)
	return count, nil
}

// Returns when the kernel received the bytes of a read, or the current time if the bytes have no timestamp.
func (s *server) received(control []byte) int64 {
	now := s.now()
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return now
	}
	for _, message := range messages {
		kind := message.Header.Level == syscall.SOL_SOCKET && message.Header.Type == syscall.SO_TIMESTAMPNS
		if kind && len(message.Data) >= int(unsafe.Sizeof(syscall.Timespec{})) {
			stamp := (*syscall.Timespec)(unsafe.Pointer(&message.Data[0]))
			if at := stamp.Nano() - s.offset.Load(); at < now {
				return at
			}
		}
	}
	return now
}

func (c *conn) Write(buffer []byte) (int, error) {
	c.mutex.Lock()
	leaving := c.leaving
	c.leaving = nil
	c.mutex.Unlock()
	count, err := c.Conn.Write(buffer)
	now := c.server.now()
	c.mutex.Lock()
	c.written = now
	c.mutex.Unlock()
	if err == nil {
		for _, e := range leaving {
			atomic.StoreInt64(&e.left, now)
		}
	}
	return count, err
}

type listener struct {
	net.Listener
	server *server
}

func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	raw, err := accepted.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: accepted, raw: raw, server: l.server, number: l.server.accepted.Add(1) - 1}, nil
}

func listen(s *server) net.Listener {
	// Connections inherit this option. Bytes that arrive before the connection is accepted therefore have a timestamp too.
	stamp := func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			// If the kernel refuses this, reads use the current time.
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
		})
	}
	config := net.ListenConfig{Control: stamp}
	bound, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(*address, "0"))
	if err != nil {
		log.Fatal(err)
	}
	return listener{bound, s}
}

func noteConn(all context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(all, connKey{}, c.(*conn))
}

// Notifies an HTTP/2 connection that one of its streams is closed.
func noteState(c net.Conn, state http.ConnState) {
	if secure, ok := c.(*tls.Conn); ok && state == http.StateIdle {
		secure.NetConn().(*conn).idle()
	}
}

func main() {
	flag.Parse()
	s := &server{epoch: time.Now(), body: make([]byte, *size), first: -1, random: rand.New(rand.NewSource(*seed))}
	s.followClock()
	if *servers > 0 {
		s.places = make(chan int64, *servers)
		for i := 0; i < *servers; i++ {
			s.places <- 0
		}
	}
	plain, secure := listen(s), listen(s)
	quiet := log.New(io.Discard, "", 0)
	for _, listener := range []net.Listener{plain, secure} {
		each := &http.Server{Handler: s, ErrorLog: quiet, ConnContext: noteConn, ConnState: noteState}
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
