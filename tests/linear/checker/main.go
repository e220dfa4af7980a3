// Were these holds those of one lock? Porcupine, which is not ours, decides.
//
//	linear <HISTORY
//
// Reads holds, one a line, with times in microseconds of one clock:
//
//	KEY CLIENT LIMIT TOKEN ASK GRANT END DONE
//
// LIMIT is how many may share it, 0: any number, and - for exclusive use; DONE
// is - if it is not known. For each key porcupine looks for an order of all
// that was done which a lock in one process could have had (model.go). The
// status is 0 if there is one for each, 1 if not, 2 if the history cannot be
// read or was not judged in time.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	fields    = 8
	patience  = 10 * time.Minute
	never     = math.MaxInt64
	linesMost = 12 // of an order that goes no further
)

// A hold as it is read: an acquire and a release.
type hold struct {
	key                   string
	client                int
	use                   use
	token                 uint64
	ask, grant, end, done int64
}

func parse(line string) (hold, error) {
	var h hold
	words := strings.Fields(line)
	if len(words) != fields {
		return h, fmt.Errorf("%d words, not %d", len(words), fields)
	}
	h.key = words[0]
	h.use.exclusive = words[2] == "-"
	h.done = never
	var err error
	number := func(word, unknown string) int64 {
		if word == unknown || err != nil {
			return 0
		}
		var n int64
		n, err = strconv.ParseInt(word, 10, 64)
		return n
	}
	h.client = int(number(words[1], ""))
	h.use.limit = int(number(words[2], "-"))
	h.token = uint64(number(words[3], ""))
	h.ask, h.grant = number(words[4], ""), number(words[5], "")
	h.end = number(words[6], "")
	if words[7] != "-" {
		h.done = number(words[7], "")
	}
	if err == nil && (h.ask > h.grant || h.end > h.done || h.ask > h.end) {
		err = fmt.Errorf("times go back")
	}
	return h, err
}

// What was done with each lock, in the order of the keys.
func read() ([]string, map[string][]porcupine.Operation, error) {
	done := map[string][]porcupine.Operation{}
	keys := []string{}
	lines := bufio.NewScanner(os.Stdin)
	number := 0
	for lines.Scan() {
		number++
		h, err := parse(lines.Text())
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %v", number, err)
		}
		if done[h.key] == nil {
			keys = append(keys, h.key)
		}
		in := step{hold: number, use: h.use, token: h.token}
		out := in
		out.release = true
		done[h.key] = append(done[h.key],
			porcupine.Operation{ClientId: h.client, Input: in,
				Call: h.ask, Return: h.grant},
			porcupine.Operation{ClientId: h.client, Input: out,
				Call: h.end, Return: h.done})
	}
	sort.Strings(keys)
	return keys, done, lines.Err()
}

// Where the longest order ends, and what does not fit behind it.
func explain(key string, all []porcupine.Operation,
	info porcupine.LinearizationInfo) {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	had := map[step]bool{}
	for _, o := range longest {
		had[o.Input.(step)] = true
	}
	var next *porcupine.Operation
	for i, o := range all {
		if !had[o.Input.(step)] &&
			(next == nil || o.Return < next.Return) {
			next = &all[i]
		}
	}
	fmt.Printf("%s: is no lock. The longest order of %d steps has %d; its "+
		"end, and what cannot follow:\n", key, len(all), len(longest))
	if len(longest) > linesMost {
		longest = longest[len(longest)-linesMost:]
	}
	if next != nil {
		longest = append(longest, *next)
	}
	for _, o := range longest {
		until := strconv.FormatInt(o.Return, 10)
		if o.Return == never {
			until = "the end of time"
		}
		fmt.Printf("    client %d %s, between %d and %s\n", o.ClientId,
			o.Input.(step), o.Call, until)
	}
}

func main() {
	keys, done, err := read()
	if err != nil {
		fmt.Fprintln(os.Stderr, "linear:", err)
		os.Exit(2)
	}
	begin := time.Now()
	holds, status := 0, 0
	for _, key := range keys {
		holds += len(done[key]) / 2
		result, info := porcupine.CheckOperationsVerbose(
			lock, done[key], patience)
		switch result {
		case porcupine.Illegal:
			explain(key, done[key], info)
			status = 1
		case porcupine.Unknown:
			fmt.Printf("%s: not judged in %v\n", key, patience)
			status = 2
		}
		if status == 2 {
			break
		}
	}
	fmt.Printf("%d holds of %d keys, judged in %d ms\n", holds, len(keys),
		time.Since(begin).Milliseconds())
	os.Exit(status)
}
