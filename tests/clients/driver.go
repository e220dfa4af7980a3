// The driver of the Go client: see test_clients.py.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"ddblockd.example/ddblock"
)

type request struct {
	call    *ddblock.Call
	hold    string // the name for what is granted, if something is
	ctx     context.Context
	abandon context.CancelFunc
}

var (
	input      = bufio.NewScanner(os.Stdin)
	background = context.Background()
	clients    = map[string]*ddblock.Client{}
	holds      = map[string]*ddblock.Hold{}
	started    = map[string]request{}
	errBody    = errors.New("the body's")
	yes        = map[bool]string{true: "yes", false: "no"}
)

func say(words string, fields ddblock.Fields) {
	out := []string{words}
	for name, value := range fields {
		out = append(out,
			ddblock.Encode(name)+"="+ddblock.Encode(value))
	}
	sort.Strings(out[1:])
	fmt.Println(strings.Join(out, " "))
}

func sayReply(reply *ddblock.Reply) {
	for _, row := range reply.Rows {
		say("row", row)
	}
	say("ok", reply.Fields)
}

func sayHold(name string, hold *ddblock.Hold) {
	holds[name] = hold
	say("ok", hold.Reply.Fields)
}

// nameOf a hold; that of one of several names which sorts first.
func nameOf(hold *ddblock.Hold) string {
	first := "-"
	for name, each := range holds {
		if each == hold && (first == "-" || name < first) {
			first = name
		}
	}
	return first
}

func parse(words []string) (keys []string, args ddblock.Args) {
	args = ddblock.Args{}
	for _, word := range words {
		name, value, named := strings.Cut(word, "=")
		if named {
			args[ddblock.Decode(name)] = ddblock.Decode(value)
		} else if word == `""` {
			keys = append(keys, "")
		} else {
			keys = append(keys, ddblock.Decode(word))
		}
	}
	return keys, args
}

func begin(words []string) request {
	ctx, abandon := context.WithCancel(background)
	client := clients[words[1]]
	keys, args := parse(words[3:])
	if words[0] == "request" {
		return request{client.Start(words[2], args, keys...), "", ctx,
			abandon}
	}
	verb := map[string]string{"acquire": "ACQUIRE", "try": "TRY"}[words[0]]
	call := client.Start(verb, args, keys...)
	// They are this program's again.
	for name := range args {
		args[name] = "changed"
	}
	for i := range keys {
		keys[i] = "changed"
	}
	return request{call, words[2], ctx, abandon}
}

func take(verb string, client *ddblock.Client, keys []string,
	args ddblock.Args) (*ddblock.Hold, error) {
	switch {
	case len(keys) == 1 && verb == "try":
		return client.Try(background, keys[0], args)
	case len(keys) == 1:
		return client.Acquire(background, keys[0], args)
	case verb == "try":
		return client.TryAll(background, keys, args)
	default:
		return client.AcquireAll(background, keys, args)
	}
}

func (r request) end() error {
	if r.hold == "" {
		reply, err := r.call.Wait(r.ctx)
		if err == nil {
			sayReply(reply)
		}
		return err
	}
	hold, err := r.call.WaitHold(r.ctx)
	if err == nil {
		sayHold(r.hold, hold)
	}
	return err
}

func doEvent(client *ddblock.Client, name string) {
	for event := range client.Events() {
		if event.Name == name {
			say("event "+name+" "+nameOf(event.Hold), event.Fields)
			return
		}
	}
}

func doListing(rows *ddblock.Rows) error {
	defer rows.Close()
	for rows.Next() {
		say("row", rows.Fields)
	}
	if rows.Err() == nil {
		say("ok", nil)
	}
	return rows.Err()
}

func doScope(client *ddblock.Client, key string, fail bool) error {
	err := client.Do(background, key, nil, func(ctx context.Context,
		hold *ddblock.Hold) error {
		fields, err := client.Get(ctx, key, nil)
		if err != nil {
			return err
		}
		say("body", ddblock.Fields{"state": fields["state"]})
		if !fail {
			return nil
		}
		client.Request(ctx, "RELEASE", ddblock.Args{"id": hold.ID})
		return errBody
	})
	if errors.Is(err, errBody) {
		say("error body", nil)
		return nil
	}
	if err == nil {
		say("ok", nil)
	}
	return err
}

func doThreads(client *ddblock.Client, words []string) {
	count, _ := strconv.Atoi(words[0])
	times, _ := strconv.Atoi(words[1])
	var grants int64
	var wait sync.WaitGroup
	for i := 0; i < count; i++ {
		wait.Add(1)
		shared := len(words) > 3
		key := words[2]
		if !shared {
			key += fmt.Sprint(i)
		}
		args := ddblock.Args{"reentrant": shared}
		go func() {
			defer wait.Done()
			for j := 0; j < times; j++ {
				hold, err := client.Acquire(background, key,
					args)
				if err == nil {
					err = hold.Release(background)
				}
				if err == nil {
					atomic.AddInt64(&grants, 1)
				}
			}
		}()
	}
	wait.Wait()
	say("ok", ddblock.Fields{"grants": fmt.Sprint(grants)})
}

func doResume(client *ddblock.Client, words []string) error {
	resumed, err := client.Resume(background, clients[words[0]].Secret())
	if err != nil {
		return err
	}
	for i, name := range words[1:] {
		holds[name] = resumed[i]
	}
	fmt.Printf("ok holds=%d\n", len(resumed))
	return nil
}

func doHold(verb string, hold *ddblock.Hold, words []string) error {
	switch verb {
	case "token":
		text, is := hold.TokenTexts[ddblock.Decode(words[0])]
		if !is {
			text = "0"
		}
		fmt.Println("token", text)
	case "count":
		fmt.Println("count", hold.Count())
	case "valid":
		fmt.Println(yes[hold.Valid()])
	case "until":
		fmt.Println("until", hold.UntilBootMs())
	case "lost":
		<-hold.Lost()
		say("lost", ddblock.Fields{"reason": hold.Reason()})
	default:
		_, args := parse(words)
		act := hold.ReleaseWith
		if verb == "renew" {
			act = hold.RenewWith
		}
		if err := act(background, args); err != nil {
			return err
		}
		say("ok", nil)
	}
	return nil
}

func doOpen(name string, args ddblock.Args) error {
	resume := args["resume"]
	delete(args, "resume")
	options := ddblock.Options{Resume: resume == "yes", Hello: args}
	client, err := ddblock.Dial(background, options)
	if err != nil {
		return err
	}
	clients[name] = client
	say("ok", client.Hello.Fields)
	return nil
}

func doClient(verb, name string, words []string) error {
	client := clients[name]
	keys, args := parse(words)
	switch verb {
	case "open":
		return doOpen(name, args)
	case "close":
		err := client.Close()
		say("ok", nil)
		return err
	case "get", "watch":
		look := client.Get
		if verb == "watch" {
			look = client.Watch
		}
		fields, err := look(background, keys[0], args)
		if err == nil {
			say("ok", fields)
		}
		return err
	case "unwatch":
		err := client.Unwatch(background, keys[0], args)
		if err == nil {
			say("ok", nil)
		}
		return err
	case "break":
		token, _ := strconv.ParseUint(keys[1], 10, 64)
		err := client.Break(background, keys[0], token, keys[2], args)
		if err == nil {
			say("ok", nil)
		}
		return err
	case "status":
		reply, err := client.Status(background)
		if err == nil {
			sayReply(reply)
		}
		return err
	case "resume":
		return doResume(client, words)
	case "list":
		return doListing(client.List(background, args))
	case "held":
		return doListing(client.Held(background, args))
	case "waiting":
		return doListing(client.Waiting(background, args))
	case "event":
		doEvent(client, words[0])
	case "scope":
		return doScope(client, words[0], len(words) > 1)
	case "threads":
		doThreads(client, words)
	}
	return nil
}

func do(words []string) error {
	switch verb := words[0]; verb {
	case "begin":
		started[words[1]] = begin(words[2:])
		say("begun", nil)
	case "end":
		return started[words[1]].end()
	case "cancel":
		cancelled, err := started[words[1]].call.Cancel(background)
		if err == nil {
			fmt.Println("ok cancelled=" + yes[cancelled])
		}
		return err
	case "abandon":
		started[words[1]].abandon()
		err := started[words[1]].end()
		if errors.Is(err, context.Canceled) {
			say("ok", nil)
			return nil
		}
		return err
	case "acquire", "try":
		keys, args := parse(words[3:])
		hold, err := take(verb, clients[words[1]], keys, args)
		if err == nil {
			sayHold(words[2], hold)
		}
		return err
	case "request":
		return begin(words).end()
	case "old":
		err := oldExamples[words[1]]()
		if err == nil {
			fmt.Println("done")
		}
		return err
	case "release", "renew", "lost", "token", "count", "valid", "until":
		return doHold(verb, holds[words[1]], words[2:])
	default:
		return doClient(verb, words[1], words[2:])
	}
	return nil
}

func main() {
	for input.Scan() {
		err := do(strings.Split(input.Text(), " "))
		var e *ddblock.Error
		if errors.As(err, &e) {
			say("error "+e.Code, e.Fields)
		} else if err != nil {
			panic(err)
		}
	}
}
