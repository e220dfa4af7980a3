// Package dlock has the calls of scailio-oss/dlock, over a client of ddblockd.
//
// A program that moves changes its import path to
// ddblockd.example/ddblock/dlock, and leaves the client of DynamoDB out of
// NewLocker:
//
//	locker := dlock.NewLocker(ownerName,
//		dlock.WithLockIdPrefix("nyc-street-"))
//	defer locker.Close()
//	lock, err := locker.TryLock(ctx, "wallstreet")
//	if err != nil {
//		return err
//	}
//	defer lock.Unlock(ctx)
//
// Table, leases, heartbeats and clocks are the daemon's configuration, so the
// options for these are gone; fencing is always on. A Lock is a ddblock.Hold,
// too, and has all of its methods. Locks go on after a restart of the daemon; a
// locker whose connection has ended makes another one for the next lock, and
// until there is one TryLock fails with NO_DAEMON.
package dlock

import (
	"context"
	"sync"
	"time"

	"ddblockd.example/ddblock"
)

// Locker has the calls of dlock. Leases, heartbeats and clocks are the
// daemon's.
type Locker struct {
	options ddblock.Options
	prefix  string
	args    ddblock.Args
	mutex   sync.Mutex // never held while the daemon is asked
	client  *ddblock.Client
	closed  bool
	locks   map[*ddblock.Hold]*Lock
}

// LockerOption is the result of a With... function.
type LockerOption func(*Locker)

// WithLockIdPrefix puts this before each lock's name.
func WithLockIdPrefix(prefix string) LockerOption {
	return func(l *Locker) { l.prefix = prefix }
}

// WithWarnAfter warns that long after the last renewal, instead of when the
// daemon does.
func WithWarnAfter(warnAfter time.Duration) LockerOption {
	return func(l *Locker) { l.args["danger"] = warnAfter }
}

// WithWarnDisabled: WarnChan returns nil.
func WithWarnDisabled() LockerOption {
	return func(l *Locker) { l.args["danger"] = "never" }
}

// NewLocker connects when the first lock is asked for.
func NewLocker(ownerName string, options ...LockerOption) *Locker {
	l := &Locker{
		options: ddblock.Options{Name: ownerName, Resume: true},
		args:    ddblock.Args{},
		locks:   map[*ddblock.Hold]*Lock{},
	}
	for _, option := range options {
		option(l)
	}
	return l
}

// TryLock takes the lock if it is free.
func (l *Locker) TryLock(ctx context.Context, lockId string) (*Lock, error) {
	client, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	hold, err := client.Try(ctx, l.prefix+lockId, l.args)
	if err != nil {
		return nil, err
	}
	lock := &Lock{Hold: hold, locker: l}
	if l.args["danger"] != "never" {
		lock.warning = make(chan struct{}, 1)
		l.watch(lock)
	}
	return lock, nil
}

// connect returns the client, or another one if that has ended.
func (l *Locker) connect(ctx context.Context) (*ddblock.Client, error) {
	l.mutex.Lock()
	client, closed := l.client, l.closed
	l.mutex.Unlock()
	if client == nil && !closed {
		dialed, err := ddblock.Dial(ctx, l.options)
		if err != nil {
			return nil, err
		}
		client, closed = l.take(dialed)
	}
	if closed {
		return nil, &ddblock.Error{Code: ddblock.NoDaemon,
			Text: "the locker was closed"}
	}
	return client, nil
}

// take the new client, unless another goroutine was faster.
func (l *Locker) take(dialed *ddblock.Client) (*ddblock.Client, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.client == nil && !l.closed {
		l.client = dialed
		go l.warn(dialed)
	} else {
		dialed.Close()
	}
	return l.client, l.closed
}

// watch a new lock. What was told of it before this is seen by its hold.
func (l *Locker) watch(lock *Lock) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		close(lock.warning)
		return
	}
	l.locks[lock.Hold] = lock
	select {
	case <-lock.Lost():
		lock.warn()
	default:
	}
}

// Close ends the connection, and with it all locks.
func (l *Locker) Close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
	if l.client != nil {
		l.client.Close()
		l.client = nil
	}
	for hold := range l.locks {
		l.forget(hold)
	}
}

// forget, with the mutex locked, a lock that will not be warned of any more.
func (l *Locker) forget(hold *ddblock.Hold) {
	if lock := l.locks[hold]; lock != nil {
		close(lock.warning)
		delete(l.locks, hold)
	}
}

// warn of a client's locks, until it ends.
func (l *Locker) warn(client *ddblock.Client) {
	for event := range client.Events() {
		if event.Name != "LOCK_IN_DANGER" && event.Name != "LOCK_LOST" {
			continue
		}
		l.mutex.Lock()
		if lock := l.locks[event.Hold]; lock != nil {
			lock.warn()
		}
		l.mutex.Unlock()
	}
	l.mutex.Lock()
	if l.client == client {
		l.client = nil
	}
	l.mutex.Unlock()
}

// Lock is a lock that a Locker holds.
type Lock struct {
	*ddblock.Hold
	locker  *Locker
	warning chan struct{}
}

func (l *Lock) warn() {
	select {
	case l.warning <- struct{}{}:
	default: // it was warned
	}
}

// WarnChan has a message when the lock is not being renewed, or was lost, and
// is closed by Unlock and by Close. It is nil if warnings are disabled.
func (l *Lock) WarnChan() <-chan struct{} {
	return l.warning
}

// FencingToken is greater than those of all earlier locks of that name.
func (l *Lock) FencingToken() uint64 {
	return l.Token
}

// IsExpired says whether it is not held, or not any more.
func (l *Lock) IsExpired() bool {
	return !l.Valid()
}

// Unlock releases it.
func (l *Lock) Unlock(ctx context.Context) error {
	l.locker.mutex.Lock()
	l.locker.forget(l.Hold)
	l.locker.mutex.Unlock()
	return l.Release(ctx)
}
