// What the document of scailio-oss/dlock shows, by the old names.
// test_parity.py says when each is played, and what is to be seen.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"time"

	"ddblockd.example/ddblock"
	"ddblockd.example/ddblock/dlock"
)

var oldExamples = map[string]func() error{
	"usage":        oldUsage,
	"tryLock":      oldTryLock,
	"close":        oldClose,
	"restart":      oldRestart,
	"closeWarned":  oldCloseWarned,
	"waiting":      oldWaiting,
	"heartbeats":   oldHeartbeats,
	"warned":       func() error { return oldWarned() },
	"warnAfter":    oldWarnAfter,
	"warnDisabled": oldWarnDisabled,
	"noAnswer":     oldNoAnswer,
}

// lookAt asks who has a lock.
func lookAt(key string) (ddblock.Fields, error) {
	client, err := ddblock.Dial(background, ddblock.Options{})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Get(background, key, nil)
}

// Usage, as it stands there.
func oldUsage() error {
	ownerName := strconv.FormatUint(rand.Uint64(), 16)

	locker := dlock.NewLocker(ownerName,
		// This locker locks objects of type 'streets in NYC'
		dlock.WithLockIdPrefix("nyc-street-"),
		dlock.WithWarnAfter(9*time.Second),
	)
	defer locker.Close()

	// Try to acquire a lock on 'wallstreet'
	lock, err := locker.TryLock(context.Background(), "wallstreet")
	if err != nil {
		fmt.Printf("Could not lock: %v\n", err)
		return err
	}

	fields, err := lookAt(lock.Key)
	if err != nil {
		return err
	}
	if !strings.Contains(fields["owner"], "/"+ownerName+":") {
		return errors.New("it is said to be of " + fields["owner"])
	}
	fmt.Println(lock.Key, fields["lease"])

	select {
	case <-lock.WarnChan():
		// Will fire after 9 seconds after the last successful heartbeat
		fmt.Printf("WARNING, the lock is about to expire\n")
	default:
	}

	return lock.Unlock(context.Background())
}

// Fencing tokens rise; a lock that another has is not waited for.
func oldTryLock() error {
	locker := dlock.NewLocker("one")
	defer locker.Close()
	other := dlock.NewLocker("other")
	defer other.Close()
	lock, err := locker.TryLock(background, "wallstreet")
	if err != nil {
		return err
	}
	none, err := other.TryLock(background, "wallstreet")
	var e *ddblock.Error
	if !errors.As(err, &e) {
		return errors.New("both have it")
	}
	fmt.Println(e.Code, none == nil)
	if err = lock.Unlock(background); err != nil {
		return err
	}
	next, err := other.TryLock(background, "wallstreet")
	if err != nil {
		return err
	}
	fmt.Println(next.FencingToken() > lock.FencingToken(),
		lock.FencingToken() > 0)
	return next.Unlock(background)
}

// Close gives back what the locker has.
func oldClose() error {
	locker := dlock.NewLocker("one")
	if _, err := locker.TryLock(background, "wallstreet"); err != nil {
		return err
	}
	locker.Close()
	client, err := ddblock.Dial(background, ddblock.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	hold, err := client.Acquire(background, "wallstreet", nil)
	if err != nil {
		return err
	}
	fmt.Println(hold.Valid())
	return nil
}

// A lock once acquired stays valid until it is unlocked.
func oldHeartbeats() error {
	locker := dlock.NewLocker("one")
	defer locker.Close()
	lock, err := locker.TryLock(background, "wallstreet")
	if err != nil {
		return err
	}
	until := lock.UntilBootMs()
	fmt.Println("held", until)
	input.Scan()
	fmt.Println(!lock.IsExpired(), lock.UntilBootMs() > until)
	return lock.Unlock(background)
}

// holdUntilTold takes a lock, and waits for the test.
func holdUntilTold(locker *dlock.Locker) (*dlock.Lock, error) {
	lock, err := locker.TryLock(background, "wallstreet")
	if err == nil {
		fmt.Println("held")
		input.Scan()
	}
	return lock, err
}

// tryUntilConnected asks again while there is no connection.
func tryUntilConnected(locker *dlock.Locker, name string) (*dlock.Lock,
	error) {
	for {
		lock, err := locker.TryLock(background, name)
		if ddblock.Code(err) != ddblock.NoDaemon {
			return lock, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A locker outlives its connection, with a lock and without one.
func oldRestart() error {
	locker := dlock.NewLocker("one")
	defer locker.Close()
	lock, err := holdUntilTold(locker)
	if err != nil {
		return err
	}
	next, err := tryUntilConnected(locker, "broadway")
	if err != nil {
		return err
	}
	fmt.Println(lock.Valid(), next.Valid())
	for _, each := range []*dlock.Lock{lock, next} {
		if err = each.Unlock(background); err != nil {
			return err
		}
	}
	fmt.Println("free")
	input.Scan()
	if lock, err = tryUntilConnected(locker, "wallstreet"); err != nil {
		return err
	}
	fmt.Println(lock.Valid())
	locker.Close()
	_, err = locker.TryLock(background, "broadway")
	return err
}

// isClosed says whether the channel of a lock is.
func isClosed(lock *dlock.Lock) bool {
	select {
	case _, open := <-lock.WarnChan():
		return !open
	default:
		return false
	}
}

// A WarnChan is closed when its lock is not held any more.
func oldCloseWarned() error {
	locker := dlock.NewLocker("one")
	lock, err := locker.TryLock(background, "wallstreet")
	if err != nil {
		return err
	}
	other, err := locker.TryLock(background, "broadway")
	if err != nil {
		return err
	}
	before := isClosed(lock)
	if err = lock.Unlock(background); err != nil {
		return err
	}
	fmt.Println(before, isClosed(lock), isClosed(other), lock.IsExpired())
	locker.Close()
	fmt.Println(isClosed(other), other.IsExpired())
	other.Unlock(background)
	return lock.Unlock(background)
}

// A lock is warned of while another one is asked for.
func oldWaiting() error {
	locker := dlock.NewLocker("one")
	defer locker.Close()
	lock, err := holdUntilTold(locker)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(background)
	asked := make(chan error)
	go func() {
		_, err := locker.TryLock(ctx, "broadway")
		asked <- err
	}()
	select {
	case <-lock.WarnChan():
		fmt.Println("warned", lock.Valid())
	case <-time.After(time.Minute):
		fmt.Println("not warned")
	}
	cancel()
	fmt.Println(errors.Is(<-asked, context.Canceled))
	return nil
}

// A WarnChan posts a message before the lock expires, and if it has.
func oldWarned(options ...dlock.LockerOption) error {
	locker := dlock.NewLocker("one", options...)
	defer locker.Close()
	lock, err := locker.TryLock(background, "wallstreet")
	if err != nil {
		return err
	}
	fmt.Println("held")
	select {
	case <-lock.WarnChan():
		fmt.Println("warned", lock.Valid())
	case <-time.After(time.Minute):
	}
	if err = lock.Unlock(background); err != nil {
		var e *ddblock.Error
		if errors.As(err, &e) {
			fmt.Println(e.Code)
			return nil
		}
	}
	return err
}

func oldWarnAfter() error {
	return oldWarned(dlock.WithWarnAfter(time.Second))
}

// Disabled, whatever happens.
func oldWarnDisabled() error {
	locker := dlock.NewLocker("one", dlock.WithWarnDisabled())
	defer locker.Close()
	lock, err := locker.TryLock(background, "wallstreet")
	if err != nil {
		return err
	}
	if lock.WarnChan() == nil {
		fmt.Println("no channel")
	}
	input.Scan()
	fmt.Println(lock.Valid())
	return lock.Unlock(background)
}

// No answer within the timeout.
func oldNoAnswer() error {
	locker := dlock.NewLocker("one")
	defer locker.Close()
	_, err := locker.TryLock(background, "wallstreet")
	return err
}
