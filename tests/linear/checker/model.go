// What a lock with a lease is, so that a checker can say whether a history is
// that of one.
//
// A hold is two operations. Its ACQUIRE takes effect at one moment between the
// request and its answer. Its RELEASE takes effect at one moment between the
// one at which its client stopped believing in it and the answer to its
// release. The client stops believing when it begins to release, when it looks
// and finds the hold lost, when it is killed, or at its own deadline, as it
// knew it when it last looked: whichever is first. If there is no answer, for
// the client died, lost the lock or its connection, nobody knows when it takes
// effect: it is open to the end of time. So a process that is stopped beyond
// its deadline excludes nobody, and one that is stopped within it excludes all.
//
// An acquire that was never answered, or refused, is left out. Nobody believed
// in it, so it excluded nobody; and a refusal does not say that the lock was
// held: the dead hold it until their lease is over, and who waits goes first.
//
// The lock itself is the one of the protocol: nobody has it, or one for
// exclusive use, or some who share it, all with the same limit (a semaphore) or
// all with none (readers). The token of an exclusive grant is greater than all
// before, that of a shared one greater than those of all exclusive ones before;
// that needs no clock.
package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// How a lock is used. Without a limit, limit is 0.
type use struct {
	exclusive bool
	limit     int
}

// An operation. No two are the same.
type step struct {
	hold    int
	use     use
	token   uint64
	release bool
}

func (s step) String() string {
	word, how := "acquires", "shared by any number"
	if s.release {
		word = "has left"
	}
	if s.use.exclusive {
		how = "exclusive"
	} else if s.use.limit > 0 {
		how = fmt.Sprintf("one of %d", s.use.limit)
	}
	return fmt.Sprintf("%s (hold %d, %s, token %d)", word, s.hold, how,
		s.token)
}

// A lock. Comparable, as porcupine would have it.
type state struct {
	use       use // while anybody has it
	holds     string
	count     int
	exclusive uint64 // the greatest token of an exclusive grant
	greatest  uint64 // of any
}

const end = ","

func (s state) fits(u use) bool {
	return s.count == 0 || s.use == u && !u.exclusive &&
		(u.limit == 0 || s.count < u.limit)
}

func (s state) acquire(o step) (bool, interface{}) {
	floor := s.exclusive
	if o.use.exclusive {
		floor = s.greatest
		s.exclusive = o.token
	}
	if !s.fits(o.use) || o.token <= floor {
		return false, s
	}
	if o.token > s.greatest {
		s.greatest = o.token
	}
	s.use = o.use
	s.count++
	s.holds = with(s.holds, o.hold)
	return true, s
}

func (s state) leave(o step) (bool, interface{}) {
	word := end + strconv.Itoa(o.hold) + end
	at := strings.Index(s.holds, word)
	if at < 0 {
		return false, s
	}
	s.count--
	s.holds = s.holds[:at] + s.holds[at+len(word):]
	if s.count == 0 {
		s.use = use{}
	}
	return true, s
}

// In the order of their numbers, so that the same holds are the same string.
func with(holds string, hold int) string {
	word := end + strconv.Itoa(hold) + end
	for at := 0; at < len(holds); {
		next := at + 1 + strings.Index(holds[at+1:], end) + 1
		number, _ := strconv.Atoi(holds[at+1 : next-1])
		if number > hold {
			return holds[:at] + word + holds[at:]
		}
		at = next
	}
	return holds + word
}

var lock = porcupine.Model{
	Init: func() interface{} { return state{} },
	Step: func(s, input, _ interface{}) (bool, interface{}) {
		if o := input.(step); o.release {
			return s.(state).leave(o)
		} else {
			return s.(state).acquire(o)
		}
	},
}
