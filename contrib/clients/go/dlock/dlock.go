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
// too, and has all of its methods.
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
	mutex   sync.Mutex
	client  *ddblock.Client
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
	l := &Locker{options: ddblock.Options{Name: ownerName},
		args: ddblock.Args{}, locks: map[*ddblock.Hold]*Lock{}}
	for _, option := range options {
		option(l)
	}
	return l
}

// TryLock takes the lock if it is free.
func (l *Locker) TryLock(ctx context.Context, lockId string) (*Lock, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.client == nil {
		client, err := ddblock.Dial(ctx, l.options)
		if err != nil {
			return nil, err
		}
		l.client = client
		go l.warn(client.Events())
	}
	hold, err := l.client.Try(ctx, l.prefix+lockId, l.args)
	if err != nil {
		return nil, err
	}
	lock := &Lock{Hold: hold, locker: l}
	if l.args["danger"] != "never" {
		lock.warning = make(chan struct{}, 1)
		l.locks[hold] = lock
	}
	return lock, nil
}

// Close ends the connection, and with it all locks.
func (l *Locker) Close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.client != nil {
		l.client.Close()
		l.client = nil
	}
}

func (l *Locker) warn(events <-chan ddblock.Event) {
	for event := range events {
		if event.Name != "LOCK_IN_DANGER" && event.Name != "LOCK_LOST" {
			continue
		}
		l.mutex.Lock()
		if lock := l.locks[event.Hold]; lock != nil {
			select {
			case lock.warning <- struct{}{}:
			default: // it was warned
			}
		}
		l.mutex.Unlock()
	}
}

// Lock is a lock that a Locker holds.
type Lock struct {
	*ddblock.Hold
	locker  *Locker
	warning chan struct{}
}

// WarnChan has a message when the lock is not being renewed, or was lost. It
// is nil if warnings are disabled.
func (l *Lock) WarnChan() <-chan struct{} {
	return l.warning
}

// FencingToken is greater than those of all earlier locks of that name.
func (l *Lock) FencingToken() uint64 {
	return l.Token
}

// Unlock releases it.
func (l *Lock) Unlock(ctx context.Context) error {
	l.locker.mutex.Lock()
	delete(l.locker.locks, l.Hold)
	l.locker.mutex.Unlock()
	return l.Release(ctx)
}
