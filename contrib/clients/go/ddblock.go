// Package ddblock is a client of ddblockd: locks of this host or of a fleet.
//
//	client, err := ddblock.Dial(ctx, ddblock.Options{Name: "report"})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	hold, err := client.Acquire(ctx, "jobs/nightly",
//		ddblock.Args{"wait": "30s"})
//	if err != nil {
//		return err
//	}
//	defer hold.Release(ctx)
//	ctx, cancel := hold.Context(ctx) // ends when the lock is lost
//	defer cancel()
//	return writeReport(ctx, hold.Token)
//
// One file, standard library only, Linux; copy it. It speaks
// ddblock-protocol(7). A hold belongs to its connection: when the client is
// closed or the process ends, the daemon gives the lock to the next waiter. A
// hold that was acquired with Args{"linger": "1m"} stays for so long:
// Client.Resume brings it back, on another connection.
//
// With Options{Resume: true} the client connects again when the daemon ends the
// connection, by a restart for example, and its holds go on: meanwhile each is
// valid until half a margin before its deadline, afterwards it is either valid
// or lost. Requests fail meanwhile (NO_DAEMON), and so do those that were under
// way; what they may have been granted is given back. A release is done later.
// Events BROKEN and RESUMED tell of it. A client that keeps no hold at that
// moment ends, and its requests fail from then on: a program that lives long
// makes a new client when it needs one.
//
// Every hold has a deadline that renewals move on, and counts down by itself: a
// daemon that is stopped or dead cannot keep Hold.Valid true. Hold.Lost is
// closed when it is lost, Client.Events tells more.
//
// Args go to the daemon unchanged: arguments of newer daemons can be used
// without a new client, as can verbs, by Request. All methods may be called by
// several goroutines. When a context ends, the request is given up; a late
// grant is released.
package ddblock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	// DefaultSocket is the daemon's socket, unless $DDBLOCK_SOCKET is set.
	DefaultSocket = "/run/ddblockd/ddblockd.sock"

	eventsMax = 1024 // unread; the oldest are dropped first
	lineMax   = 1 << 20
	// Timers stop while the host sleeps; its boot-time clock does not.
	look = time.Second
	// Between two tries to connect again: from pauseMin to pauseMax.
	pauseMin = 50 * time.Millisecond
	pauseMax = time.Second
	// The deadline of a hold without a deadline.
	neverMs = int64(1) << 42
)

// Codes of errors that the client itself finds; all others are the daemon's.
const (
	NoDaemon = "NO_DAEMON" // there is no connection (any more)
	Protocol = "PROTOCOL"  // the answer was not understood
)

// Args are the named arguments of a request: strings and bytes, numbers,
// booleans (yes and no), time.Duration, and []string (joined with commas).
type Args map[string]any

func (a Args) copy() Args {
	all := make(Args, len(a)+1)
	for name, value := range a {
		all[name] = value
	}
	return all
}

func (a Args) with(name string, value any) Args {
	all := a.copy()
	all[name] = value
	return all
}

// Fields are the named arguments of a line. A string may have any bytes.
type Fields map[string]string

// Error is a request that failed. Code is a word of the protocol.
type Error struct {
	Code   string
	Text   string // for people
	Fields Fields
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Code
	}
	return e.Code + ": " + e.Text
}

// Cause is the code behind it, if the daemon says so.
func (e *Error) Cause() string {
	return e.Fields["cause"]
}

// Code of an error of this package; "" of any other.
func Code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Reply is the fields of OK, and the rows before it.
type Reply struct {
	Fields Fields
	Text   string
	Rows   []Fields
}

// Event is an event from the daemon, such as LOCK_IN_DANGER. LOCK_LOST also
// comes from here, with reason=expired or, when the connection ended,
// reason=disconnected. Hold is the hold of the event, if any.
type Event struct {
	Name   string
	Fields Fields
	Hold   *Hold
}

// ---- the wire ------------------------------------------------------------

// bootMs reads the clock of all deadlines: it goes on while the host sleeps.
func bootMs() int64 {
	const clockBoottime = 7
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime,
		uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return math.MaxInt64 // without a clock no hold is valid
	}
	return t.Nano() / int64(time.Millisecond)
}

// Encode writes a value in its form on the wire.
func Encode(value any) string {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case []byte:
		text = string(v)
	case bool:
		text = "no"
		if v {
			text = "yes"
		}
	case time.Duration:
		text = strconv.FormatFloat(v.Seconds(), 'f', -1, 64)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case []string:
		text = strings.Join(v, ",")
	default:
		text = fmt.Sprint(v)
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c <= ' ' || c >= 0x7f || c == '%' || c == '=' ||
			c == ':' && i == 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// Decode is the reverse of Encode.
func Decode(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			n, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err == nil {
				out.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

type line struct {
	tag, kind, word, text string
	fields                Fields
}

func parseLine(text string) line {
	words := strings.Split(strings.TrimSuffix(text, "\r"), " ")
	next := func() (word string) {
		if len(words) > 0 {
			word, words = words[0], words[1:]
		}
		return word
	}
	l := line{fields: Fields{}}
	if strings.HasPrefix(words[0], "#") {
		l.tag = next()[1:]
	}
	l.kind = next()
	if strings.HasPrefix(l.kind, "!") {
		l.kind, l.word = "!", l.kind[1:]
	} else if l.kind == "ERR" {
		l.word = next()
	}
	for len(words) > 0 {
		if strings.HasPrefix(words[0], ":") {
			l.text = strings.Join(words, " ")[1:]
			break
		}
		if name, value, named := strings.Cut(next(), "="); named {
			l.fields[Decode(name)] = Decode(value)
		}
	}
	return l
}

func (l line) error() *Error {
	return &Error{Code: l.word, Text: l.text, Fields: l.fields}
}

func (f Fields) number(name string) int64 {
	n, err := strconv.ParseInt(f[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ---- holds ---------------------------------------------------------------

// Hold is a lock that a client holds.
type Hold struct {
	Key   string
	ID    string
	Token uint64 // for fencing; of several locks, that of the first
	// The same in decimal, whatever its size
	TokenText string
	Mode      string
	Ns        string
	Reply     *Reply // with all fields of the grant
	// The token of each key.
	Tokens map[string]uint64
	// The same in decimal: older clients' formats may have tokens too large
	// for a number, which are 0 in Tokens.
	TokenTexts map[string]string

	client    *Client
	lost      chan struct{}
	manual    bool  // only its own RENEW moves its deadline
	kept      bool  // by the daemon, if it ends the connection
	endMs     int64 // of its max_hold, or 0
	marginMs  int64
	untilMs   int64 // this and what follows: under the client's mutex
	reason    string
	count     int            // how often it is held
	releasing map[*Call]bool // each RELEASE that is under way
}

// Valid says whether the guarded resource may be used: only before the
// deadline.
func (h *Hold) Valid() bool {
	return h.Remaining() > 0
}

// Remaining is the time to the deadline, unless a renewal moves it on.
func (h *Hold) Remaining() time.Duration {
	h.client.mutex.Lock()
	defer h.client.mutex.Unlock()
	left := h.goodMs() - bootMs()
	if h.count <= 0 || h.reason != "" || left < 0 {
		return 0
	}
	return time.Duration(left) * time.Millisecond
}

// goodMs is the deadline; without a connection half a margin earlier.
func (h *Hold) goodMs() int64 {
	if h.client.away {
		return h.untilMs - h.marginMs/2
	}
	return h.untilMs
}

// UntilBootMs is the deadline, in milliseconds of CLOCK_BOOTTIME.
func (h *Hold) UntilBootMs() int64 {
	h.client.mutex.Lock()
	defer h.client.mutex.Unlock()
	return h.untilMs
}

// Lost is closed when the hold is lost.
func (h *Hold) Lost() <-chan struct{} {
	return h.lost
}

// Reason of the loss; "" if it was not.
func (h *Hold) Reason() string {
	h.client.mutex.Lock()
	defer h.client.mutex.Unlock()
	return h.reason
}

// Count is how often it is held: once, if it is not reentrant; 0: it was
// released.
func (h *Hold) Count() int {
	h.client.mutex.Lock()
	defer h.client.mutex.Unlock()
	return h.count
}

// Context is done when the hold is lost. Call cancel as with any other.
func (h *Hold) Context(parent context.Context) (context.Context,
	context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		select {
		case <-h.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Release releases it, once. The error is LOCK_LOST if it was lost before. A
// second release does nothing.
func (h *Hold) Release(ctx context.Context) error {
	return h.ReleaseWith(ctx, nil)
}

// ReleaseWith is Release with other arguments.
func (h *Hold) ReleaseWith(ctx context.Context, args Args) error {
	c := h.client
	c.mutex.Lock()
	if h.count <= 0 {
		c.mutex.Unlock()
		return nil
	}
	if h.reason != "" {
		h.count--
		c.giveBack(h.ID)
		c.mutex.Unlock()
		return h.lostError()
	}
	if c.away { // it is given back when it is found
		h.count--
		c.forget(h)
		c.mutex.Unlock()
		return nil
	}
	call := c.start("RELEASE", args.with("id", h.ID), nil)
	if c.calls[call.Tag] != nil { // it was sent
		h.count--
		h.releasing[call] = true
	}
	c.mutex.Unlock()
	_, err := call.Wait(ctx)
	return err
}

// Renew renews it now: a proof that the store answers.
func (h *Hold) Renew(ctx context.Context) error {
	return h.RenewWith(ctx, nil)
}

// RenewWith is Renew with other arguments.
func (h *Hold) RenewWith(ctx context.Context, args Args) error {
	reply, err := h.client.Request(ctx, "RENEW", args.with("id", h.ID))
	if err == nil {
		h.client.mutex.Lock()
		h.extend(reply.Fields)
		h.client.mutex.Unlock()
	}
	return err
}

// extend: a deadline moves forward only, and not beyond the hold's end.
func (h *Hold) extend(fields Fields) {
	until := fields.number("until_boot_ms")
	if h.endMs > 0 && until > h.endMs {
		until = h.endMs
	}
	if until > h.untilMs {
		h.untilMs = until
	}
}

func (h *Hold) lostError() error {
	return &Error{Code: "LOCK_LOST", Text: "the lock was lost: " + h.reason}
}

// ---- clients -------------------------------------------------------------

// Options of Dial. Hello has other arguments of HELLO.
type Options struct {
	Path   string
	Name   string
	Resume bool // connect again if there are holds, see above
	Hello  Args
}

// Client is a connection to the daemon.
type Client struct {
	Hello *Reply // the daemon's answer to HELLO

	conn    *net.UnixConn
	events  chan Event
	mutex   sync.Mutex
	written sync.Cond // outgoing has something, or the end has come

	outgoing  []byte
	rest      []byte
	serial    uint64
	lineMax   int
	defaultNs string
	calls     map[string]*Call
	holds     map[string]*Hold
	secret    string
	ended     error // for later callers

	path    string
	hello   Args
	resumes bool            // does it connect again?
	away    bool            // until RESUME is answered
	found   map[string]bool // by its rows
	pause   time.Duration
}

// Dial connects to the daemon.
func Dial(ctx context.Context, options Options) (*Client, error) {
	path := options.Path
	if path == "" {
		path = os.Getenv("DDBLOCK_SOCKET")
	}
	if path == "" {
		path = DefaultSocket
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, &Error{Code: NoDaemon, Text: err.Error()}
	}
	c := &Client{
		conn:    conn.(*net.UnixConn),
		events:  make(chan Event, eventsMax),
		lineMax: lineMax,
		calls:   map[string]*Call{},
		holds:   map[string]*Hold{},
		path:    path,
		hello:   options.Hello.with("proto", 1).with("renewed", true),
	}
	if options.Name != "" {
		c.hello["name"] = options.Name
	}
	c.written.L = &c.mutex
	go c.read()
	go c.write(c.conn)
	c.Hello, err = c.Request(ctx, "HELLO", c.hello)
	if err != nil {
		c.Close()
		return nil, err
	}
	if options.Resume {
		c.mutex.Lock()
		c.resumes = true
		// An older daemon refuses that, and keeps what lingers.
		c.sendUnheard("HELLO", Args{"resume": true})
		c.mutex.Unlock()
	}
	return c, nil
}

// Close ends the connection. The daemon releases all holds that do not linger.
func (c *Client) Close() error {
	c.mutex.Lock()
	for _, hold := range c.holds {
		hold.count = 0
	}
	c.holds = map[string]*Hold{}
	c.end(&Error{Code: NoDaemon, Text: "the client was closed"})
	c.mutex.Unlock()
	return nil
}

// Events has the daemon's events, until the connection ends. Unread events are
// dropped, the oldest first.
func (c *Client) Events() <-chan Event {
	return c.events
}

// Request sends a request and waits for its reply.
func (c *Client) Request(ctx context.Context, verb string, args Args,
	keys ...string) (*Reply, error) {
	return c.Start(verb, args, keys...).Wait(ctx)
}

// Acquire takes the lock as soon as it is free (Args{"wait": "5s"}: at most).
func (c *Client) Acquire(ctx context.Context, key string, args Args) (*Hold,
	error) {
	return c.Start("ACQUIRE", args, key).WaitHold(ctx)
}

// Try takes the lock if it is free; else the error is LOCK_BUSY.
func (c *Client) Try(ctx context.Context, key string, args Args) (*Hold,
	error) {
	return c.Start("TRY", args, key).WaitHold(ctx)
}

// AcquireAll takes several locks as one, all or none.
func (c *Client) AcquireAll(ctx context.Context, keys []string,
	args Args) (*Hold, error) {
	return c.Start("ACQUIRE", args, keys...).WaitHold(ctx)
}

// TryAll takes them if all are free.
func (c *Client) TryAll(ctx context.Context, keys []string, args Args) (*Hold,
	error) {
	return c.Start("TRY", args, keys...).WaitHold(ctx)
}

// Secret that resumes lingering holds, also after the end; or "".
func (c *Client) Secret() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.secret
}

// Resume resumes the lingering holds of another client by its secret, before
// the first acquire here. Holds that were lost meanwhile are among them. A
// caller that gives up closes the client, and they linger again.
func (c *Client) Resume(ctx context.Context, secret string) ([]*Hold, error) {
	call := c.Start("RESUME", Args{"secret": secret})
	if _, err := call.Wait(ctx); err != nil {
		return nil, err
	}
	return call.resumed, nil
}

// Do runs a function while the client holds the lock. The function's context
// ends when the lock is lost; its error comes first.
func (c *Client) Do(ctx context.Context, key string, args Args,
	do func(context.Context, *Hold) error) (err error) {
	hold, err := c.Acquire(ctx, key, args)
	if err != nil {
		return err
	}
	defer func() {
		released := hold.Release(context.Background())
		if err == nil {
			err = released
		}
	}()
	inner, cancel := hold.Context(ctx)
	defer cancel()
	return do(inner, hold)
}

// Get returns the holder of the lock.
func (c *Client) Get(ctx context.Context, key string, args Args) (Fields,
	error) {
	return fieldsOf(c.Request(ctx, "GET", args, key))
}

// Watch is Get, and from then on an event CHANGED at each change.
func (c *Client) Watch(ctx context.Context, key string, args Args) (Fields,
	error) {
	return fieldsOf(c.Request(ctx, "WATCH", args, key))
}

func fieldsOf(reply *Reply, err error) (Fields, error) {
	if err != nil {
		return nil, err
	}
	return reply.Fields, nil
}

// Unwatch ends that.
func (c *Client) Unwatch(ctx context.Context, key string, args Args) error {
	_, err := c.Request(ctx, "UNWATCH", args, key)
	return err
}

// Break takes a lock from its holder, if the holder has this token, or, with
// token 0, if the record still is the "record" of Get. It is for
// administrators.
func (c *Client) Break(ctx context.Context, key string, token uint64,
	reason string, args Args) error {
	args = args.with("reason", reason)
	if token != 0 {
		args = args.with("token", token)
	}
	_, err := c.Request(ctx, "BREAK", args, key)
	return err
}

// Status has a row for each namespace.
func (c *Client) Status(ctx context.Context) (*Reply, error) {
	return c.Request(ctx, "STATUS", nil)
}

// List goes through the locks in the store.
func (c *Client) List(ctx context.Context, args Args) *Rows {
	return c.listing(ctx, "LIST", args)
}

// Held goes through the holds of this daemon's clients.
func (c *Client) Held(ctx context.Context, args Args) *Rows {
	return c.listing(ctx, "HELD", args)
}

// Waiting goes through the locks that they wait for.
func (c *Client) Waiting(ctx context.Context, args Args) *Rows {
	return c.listing(ctx, "WAITING", args)
}

// Rows is a listing, used as sql.Rows is:
//
//	rows := client.List(ctx, nil)
//	defer rows.Close()
//	for rows.Next() {
//		use(rows.Fields)
//	}
//	return rows.Err()
type Rows struct {
	Fields Fields
	ctx    context.Context
	call   *Call
	err    error
}

func (c *Client) listing(ctx context.Context, verb string, args Args) *Rows {
	return &Rows{ctx: ctx, call: c.Start(verb, args)}
}

// Next goes to the next row, as soon as it has come.
func (r *Rows) Next() bool {
	c := r.call.client
	for {
		c.mutex.Lock()
		if len(r.call.rows) > 0 {
			r.Fields, r.call.rows = r.call.rows[0], r.call.rows[1:]
			c.mutex.Unlock()
			return true
		}
		c.mutex.Unlock()
		select {
		case <-r.call.rowCame:
		case <-r.call.done:
			if len(r.call.rows) == 0 {
				r.err = r.call.err
				return false
			}
		case <-r.ctx.Done():
			r.Close()
			r.err = r.ctx.Err()
			return false
		}
	}
}

// Err is why there was no next row; nil at the end of the listing.
func (r *Rows) Err() error {
	return r.err
}

// Close ends the listing early.
func (r *Rows) Close() {
	r.call.client.abandon(r.call)
}

// Call is a request under way.
type Call struct {
	Tag string

	client    *Client
	verb      string
	args      Args
	keys      []string
	done      chan struct{} // closed when the fields below are set
	reply     *Reply
	hold      *Hold
	resumed   []*Hold
	err       error
	rows      []Fields
	rowCame   chan struct{}
	abandoned bool
}

// Start sends a request and goes on. Any number may be under way.
func (c *Client) Start(verb string, args Args, keys ...string) *Call {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.start(verb, args, keys)
}

// Wait for its reply, or give it up when the context ends.
func (call *Call) Wait(ctx context.Context) (*Reply, error) {
	select {
	case <-call.done:
		return call.reply, call.err
	case <-ctx.Done():
		call.client.abandon(call)
		return nil, ctx.Err()
	}
}

// WaitHold is Wait for ACQUIRE and TRY.
func (call *Call) WaitHold(ctx context.Context) (*Hold, error) {
	if _, err := call.Wait(ctx); err != nil {
		return nil, err
	}
	return call.hold, nil
}

// Cancel gives it up: Wait says CANCELLED then, unless it was late.
func (call *Call) Cancel(ctx context.Context) (bool, error) {
	reply, err := call.client.Request(ctx, "CANCEL", Args{"tag": call.Tag})
	if err != nil {
		return false, err
	}
	return reply.Fields["cancelled"] == "yes", nil
}

// ---- under the mutex -----------------------------------------------------

func (c *Client) start(verb string, args Args, keys []string) *Call {
	if c.away && c.ended == nil {
		call := &Call{client: c, verb: verb, done: make(chan struct{})}
		call.finish(nil, &Error{Code: NoDaemon,
			Text: "the connection broke; another is tried"})
		return call
	}
	return c.send(verb, args, keys)
}

func (c *Client) send(verb string, args Args, keys []string) *Call {
	c.serial++
	call := &Call{
		Tag:    strconv.FormatUint(c.serial, 10),
		client: c,
		verb:   verb,
		// The caller may change its own while this is under way.
		args:    args.copy(),
		keys:    append([]string(nil), keys...),
		done:    make(chan struct{}),
		rowCame: make(chan struct{}, 1),
	}
	words := []string{"#" + call.Tag, verb}
	hasEmpty := false // it would be dropped on the way, without a word
	for _, key := range keys {
		hasEmpty = hasEmpty || key == ""
		words = append(words, Encode(key))
	}
	for name, value := range args {
		if value != nil {
			words = append(words, Encode(name)+"="+Encode(value))
		}
	}
	line := strings.Join(words, " ") + "\n"
	switch {
	case c.ended != nil:
		call.finish(nil, c.ended)
	case hasEmpty:
		call.finish(nil, &Error{Code: "BAD_REQUEST",
			Text: "a key is empty"})
	case len(line) > c.lineMax:
		call.finish(nil, &Error{Code: "BAD_REQUEST",
			Text: "the request is longer than a line"})
	default:
		c.calls[call.Tag] = call
		c.outgoing = append(c.outgoing, line...)
		c.written.Signal()
	}
	return call
}

func (call *Call) finish(reply *Reply, err error) {
	select {
	case <-call.done:
	default:
		call.reply, call.err = reply, err
		close(call.done)
	}
}

// abandon: the caller does not wait any more. A grant is released.
func (c *Client) abandon(call *Call) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if call.abandoned {
		return
	}
	call.abandoned = true
	if call.hold != nil {
		call.hold.count--
		c.forget(call.hold)
		c.giveBack(call.hold.ID)
	}
	if c.calls[call.Tag] == nil {
		return
	}
	switch call.verb {
	case "ACQUIRE", "TRY", "LIST", "HELD", "WAITING":
		c.sendUnheard("CANCEL", Args{"tag": call.Tag})
	}
}

func (c *Client) sendUnheard(verb string, args Args) {
	c.start(verb, args, nil).abandoned = true
}

func (c *Client) giveBack(id string) {
	c.sendUnheard("RELEASE", Args{"id": id})
}

func (c *Client) feed(data []byte) {
	c.rest = append(c.rest, data...)
	for c.ended == nil {
		text, rest, complete := bytes.Cut(c.rest, []byte("\n"))
		if !complete {
			return
		}
		c.rest = rest
		l := parseLine(string(text))
		if call := c.calls[l.tag]; l.kind == "!" {
			c.event(l.word, l.fields)
		} else if call != nil {
			c.answer(call, l)
		} else if l.kind == "ERR" && l.tag == "" &&
			(!c.resumes || final(l.word)) {
			// It refuses the connection, not a request of ours.
			c.end(l.error())
		}
	}
}

func (c *Client) answer(call *Call, l line) {
	if call.verb == "RESUME" && c.away {
		c.reopening(call, l)
		return
	}
	if l.kind == "+" && call.verb == "RESUME" {
		c.resume(call, l.fields)
		return
	}
	if l.kind == "+" {
		if !call.abandoned {
			call.rows = append(call.rows, l.fields)
		}
		select {
		case call.rowCame <- struct{}{}:
		default:
		}
		return
	}
	delete(c.calls, call.Tag)
	if call.verb == "RELEASE" {
		c.released(call, l)
	}
	if l.kind != "OK" {
		call.finish(nil, l.error())
		return
	}
	reply := &Reply{Fields: l.fields, Text: l.text, Rows: call.rows}
	switch call.verb {
	case "ACQUIRE", "TRY":
		if call.abandoned {
			c.giveBack(l.fields["id"])
		} else if err := c.grant(call, reply); err != nil {
			call.finish(nil, err)
		}
	case "RESUME":
		c.secret = fmt.Sprint(call.args["secret"])
	case "HELLO":
		c.defaultNs, _, _ = strings.Cut(l.fields["namespaces"], ",")
		if size := l.fields.number("line_max"); size > 0 {
			c.lineMax = int(size)
		}
	}
	call.finish(reply, nil)
}

func (c *Client) grant(call *Call, reply *Reply) (err error) {
	fields := reply.Fields
	if secret := fields["secret"]; secret != "" {
		c.secret = secret
	}
	hold := c.holds[fields["id"]]
	if hold != nil {
		hold.count++
		hold.extend(fields)
	} else if hold, err = c.begin(call, reply); err != nil {
		return err
	}
	call.hold = hold
	return nil
}

// resume takes a row: a lock that this client holds from here on.
func (c *Client) resume(call *Call, row Fields) {
	for _, hold := range call.resumed {
		if hold.ID == row["id"] {
			hold.Key += " " + row["key"]
			hold.addToken(row["key"], row)
			return
		}
	}
	call.keys = []string{row["key"]}
	hold, err := c.begin(call, &Reply{Fields: row})
	if err != nil {
		call.finish(nil, err)
		return
	}
	if count := int(row.number("count")); count > 0 {
		hold.count = count
	}
	call.resumed = append(call.resumed, hold)
	if row["state"] == "lost" {
		c.lose(hold, row["reason"], nil)
	}
}

func (c *Client) begin(call *Call, reply *Reply) (*Hold, error) {
	hold, fields := c.newHold(call, reply), reply.Fields
	bad := &Error{Code: Protocol, Text: "cannot read the grant",
		Fields: fields}
	left, err := time.ParseDuration(fields["remaining"])
	if _, has := fields["until_boot_ms"]; !has {
		hold.untilMs, left, err = neverMs, math.MaxInt64-look, nil
	}
	if hold.ID == "" || hold.untilMs == 0 || err != nil {
		return nil, bad
	}
	if hold.untilMs-bootMs() > (left + look).Milliseconds() {
		c.giveBack(hold.ID)
		bad.Text = "the daemon has another boot-time clock"
		return nil, bad
	}
	c.holds[hold.ID] = hold
	return hold, nil
}

func (c *Client) newHold(call *Call, reply *Reply) *Hold {
	fields := reply.Fields
	hold := &Hold{
		Key:       strings.Join(call.keys, " "),
		ID:        fields["id"],
		Mode:      "exclusive",
		Ns:        c.defaultNs,
		Reply:     reply,
		client:    c,
		lost:      make(chan struct{}),
		manual:    call.args["renew"] == "manual",
		endMs:     fields.number("end_boot_ms"),
		untilMs:   fields.number("until_boot_ms"),
		count:     1,
		releasing: map[*Call]bool{},
		kept: c.resumes &&
			(fields["secret"] != "" || call.verb == "RESUME"),

		Tokens:     map[string]uint64{},
		TokenTexts: map[string]string{},
	}
	if margin, err := time.ParseDuration(fields["margin"]); err == nil {
		hold.marginMs = margin.Milliseconds()
	}
	if mode, is := fields["mode"]; is {
		hold.Mode = mode
	}
	if ns, is := call.args["ns"].(string); is {
		hold.Ns = ns
	} else if ns, is := fields["ns"]; is { // known only from RESUME
		hold.Ns = ns
	}
	for _, row := range reply.Rows {
		hold.addToken(row["key"], row)
	}
	if len(call.keys) == 1 {
		hold.addToken(call.keys[0], fields)
	}
	hold.Token = hold.Tokens[call.keys[0]]
	hold.TokenText = hold.TokenTexts[call.keys[0]]
	return hold
}

func (h *Hold) addToken(key string, fields Fields) {
	h.Tokens[key] = uint64(fields.number("token"))
	h.TokenTexts[key] = fields["token"]
	if text, is := fields["token_text"]; is {
		h.TokenTexts[key] = text
	}
}

// released: the daemon says how often it is still held. A release that was
// refused for its arguments is repeated without them.
func (c *Client) released(call *Call, l line) {
	hold := c.holds[fmt.Sprint(call.args["id"])]
	if hold == nil || !hold.releasing[call] {
		return
	}
	delete(hold.releasing, call)
	left := int(l.fields.number("count"))
	if l.kind == "OK" && left < hold.count {
		hold.count = left
	} else if l.word == "BAD_REQUEST" || l.word == "UNSUPPORTED" {
		c.giveBack(hold.ID)
	}
	c.forget(hold)
}

// forget: unless it is held once more, or a release is under way.
func (c *Client) forget(hold *Hold) {
	if hold.count <= 0 && len(hold.releasing) == 0 {
		delete(c.holds, hold.ID)
	}
}

func (c *Client) event(name string, fields Fields) {
	hold := c.holds[fields["id"]]
	switch name {
	case "RENEWED":
		for _, each := range c.holds {
			if each.Ns == fields["ns"] && !each.manual &&
				(!c.away || c.found[each.ID]) {
				each.extend(fields)
			}
		}
	case "LOCK_LOST":
		if hold != nil {
			c.lose(hold, fields["reason"], fields)
		}
	default:
		if hold != nil {
			hold.extend(fields)
		}
		c.tell(Event{Name: name, Fields: fields, Hold: hold})
	}
}

func (c *Client) tell(event Event) {
	for {
		select {
		case c.events <- event:
			return
		default:
		}
		select {
		case <-c.events: // drop the oldest unread event
		default:
		}
	}
}

// lose: the hold is lost, once and for ever.
func (c *Client) lose(hold *Hold, reason string, fields Fields) {
	delete(c.holds, hold.ID)
	if reason == "" {
		reason = "unknown"
	}
	hold.reason = reason
	// The daemon is stopped; its lock is free nevertheless.
	for call := range hold.releasing {
		call.finish(nil, hold.lostError())
	}
	if hold.count <= 0 {
		return
	}
	close(hold.lost)
	if fields == nil {
		fields = Fields{"id": hold.ID, "reason": reason}
	}
	c.tell(Event{Name: "LOCK_LOST", Fields: fields, Hold: hold})
}

// wait is how long not to look at the deadlines.
func (c *Client) wait() time.Duration {
	wait := time.Hour
	for _, hold := range c.holds {
		left := time.Duration(hold.goodMs()-bootMs()) * time.Millisecond
		if left > look {
			left = look
		}
		if left < wait {
			wait = left
		}
	}
	if wait < 0 {
		return 0
	}
	return wait
}

func (c *Client) judge() {
	now := bootMs()
	for _, hold := range c.holds {
		if now >= hold.goodMs() && c.away {
			c.lose(hold, "disconnected", nil)
		} else if now >= hold.goodMs() {
			c.lose(hold, "expired", nil)
		}
	}
	if c.away && len(c.holds) == 0 {
		c.end(&Error{Code: NoDaemon, Text: "the connection broke"})
	}
}

// final reasons for the end of a connection: there is no other after it.
// Another client resumed its holds, for example.
func final(code string) bool {
	switch code {
	case "LOCK_NOT_OWNED", "DENIED", "BAD_REQUEST", Protocol:
		return true
	}
	return false
}

// part: the connection broke. True: another is tried, for what the daemon
// keeps.
func (c *Client) part(err error) bool {
	if c.ended != nil {
		return false
	}
	c.conn.Close()
	c.rest, c.outgoing = nil, nil
	for _, call := range c.calls {
		call.finish(nil, err)
	}
	c.calls = map[string]*Call{}
	for _, hold := range c.holds {
		hold.releasing = map[*Call]bool{}
		if !hold.kept && hold.count > 0 {
			c.lose(hold, "disconnected", nil)
		}
		c.forget(hold)
	}
	if len(c.holds) == 0 {
		c.end(err)
		return false
	}
	if !c.away {
		c.away = true
		c.tell(Event{Name: "BROKEN", Fields: Fields{}})
	}
	return true
}

// reopen sends the first requests of another connection.
func (c *Client) reopen(conn *net.UnixConn) {
	c.conn = conn
	c.found = map[string]bool{}
	c.written.Broadcast() // the old writer ends
	go c.write(conn)
	c.send("HELLO", c.hello, nil)
	c.send("HELLO", Args{"resume": true}, nil)
	c.send("RESUME", Args{"secret": c.secret}, nil)
}

// reopening takes the answer to that RESUME.
func (c *Client) reopening(call *Call, l line) {
	if l.kind == "+" {
		c.find(l.fields)
		return
	}
	delete(c.calls, call.Tag)
	if l.word == "SHUTTING_DOWN" {
		return // its end follows, and then another try
	}
	if l.kind != "OK" {
		c.end(&Error{Code: NoDaemon,
			Text: "the daemon does not know the holds"})
		return
	}
	for _, hold := range c.holds {
		if !c.found[hold.ID] {
			c.lose(hold, "disconnected", nil)
		}
	}
	c.away, c.pause = false, 0
	c.tell(Event{Name: "RESUMED", Fields: Fields{}})
}

// find takes a row of it: ours again, or to be given back.
func (c *Client) find(row Fields) {
	id := row["id"]
	if c.found[id] {
		return
	}
	c.found[id] = true
	hold, more := c.holds[id], row.number("count")
	if more == 0 {
		more = 1
	}
	if hold != nil {
		more -= int64(hold.count)
		if until := row.number("until_boot_ms"); until > 0 {
			hold.untilMs = until
		}
	}
	for ; more > 0; more-- {
		c.send("RELEASE", Args{"id": id}, nil)
	}
	if hold != nil && row["state"] == "lost" {
		c.lose(hold, row["reason"], nil)
	}
}

// end: the connection is over, and with it all holds.
func (c *Client) end(err error) {
	if c.ended != nil {
		return
	}
	c.ended = err
	for _, call := range c.calls {
		call.finish(nil, err)
	}
	c.calls = map[string]*Call{}
	for _, hold := range c.holds {
		c.lose(hold, "disconnected", nil)
	}
	close(c.events)
	c.written.Signal()
	c.conn.Close()
}

// ---- goroutines ----------------------------------------------------------

// read input, and judge the deadlines only when all input is read: it may be a
// renewal.
func (c *Client) read() {
	buffer := make([]byte, 1<<16)
	for {
		c.mutex.Lock()
		wait := c.wait()
		c.mutex.Unlock()
		n, err := c.readFor(buffer, wait)
		c.mutex.Lock()
		if c.ended == nil && n > 0 {
			c.feed(buffer[:n])
		} else if c.ended == nil && err == nil {
			c.judge()
		} else if !c.part(&Error{Code: NoDaemon,
			Text: "the daemon ended the connection"}) ||
			!c.connectAgain() {
			c.mutex.Unlock()
			return
		}
		c.mutex.Unlock()
	}
}

// connectAgain is called, and returns, with the mutex locked. False: the last
// hold is lost, or the client was closed.
func (c *Client) connectAgain() bool {
	for {
		share := 0.5 + rand.Float64()
		pause := time.Duration(float64(c.pause) * share)
		c.pause *= 2
		if c.pause < pauseMin {
			c.pause = pauseMin
		} else if c.pause > pauseMax {
			c.pause = pauseMax
		}
		if wait := c.wait(); pause > wait {
			pause = wait
		}
		c.mutex.Unlock()
		time.Sleep(pause)
		conn, err := net.Dial("unix", c.path)
		c.mutex.Lock()
		if c.judge(); c.ended != nil {
			if err == nil {
				conn.Close()
			}
			return false
		}
		if err == nil {
			c.reopen(conn.(*net.UnixConn))
			return true
		}
	}
}

// readFor reads (0, nil) when no input came in that time. Past a deadline net
// does not look at the socket any more, so look once more.
func (c *Client) readFor(buffer []byte, wait time.Duration) (n int,
	err error) {
	c.conn.SetReadDeadline(time.Now().Add(wait))
	n, err = c.conn.Read(buffer)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	c.conn.SetReadDeadline(time.Time{})
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		n, failure = syscall.Read(int(fd), buffer)
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case failure == syscall.EAGAIN || failure == syscall.EINTR:
		return 0, nil
	case n == 0 && failure == nil:
		return 0, net.ErrClosed
	}
	return n, failure
}

// write in a goroutine of its own, so that a daemon that does not read blocks
// no caller.
func (c *Client) write(conn *net.UnixConn) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.ended == nil && c.conn == conn {
		if len(c.outgoing) == 0 {
			c.written.Wait()
			continue
		}
		out := c.outgoing
		c.outgoing = nil
		c.mutex.Unlock()
		_, err := conn.Write(out)
		c.mutex.Lock()
		if err != nil {
			return // the reader finds it, too, with the reason
		}
	}
}
