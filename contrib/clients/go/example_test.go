package ddblock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"ddblockd.example/ddblock"
)

// A lock for the rest of a function. What it guards gets the token, and a
// context that ends when the lock is lost.
func Example() {
	ctx := context.Background()
	client, err := ddblock.Dial(ctx, ddblock.Options{Name: "report"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	hold, err := client.Acquire(ctx, "jobs/report",
		ddblock.Args{"wait": "30s"})
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx)
	work, cancel := hold.Context(ctx)
	defer cancel()
	fmt.Println("token", hold.Token, work.Err() == nil)
}

// Do acquires, runs and releases. Its context ends with the lock.
func ExampleClient_Do() {
	ctx := context.Background()
	client, err := ddblock.Dial(ctx, ddblock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = client.Do(ctx, "jobs/report", nil,
		func(ctx context.Context, hold *ddblock.Hold) error {
			fmt.Println("the lock is held for", hold.Remaining())
			return ctx.Err()
		})
	if err != nil {
		log.Fatal(err)
	}
}

// Of all hosts, one runs the job, once a day.
func ExampleClient_Try() {
	ctx := context.Background()
	client, err := ddblock.Dial(ctx, ddblock.Options{Name: "nightly"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	hold, err := client.Try(ctx, "jobs/nightly",
		ddblock.Args{"every": "23h"})
	switch ddblock.Code(err) {
	case "":
		defer hold.Release(ctx)
		fmt.Println("this host runs it")
	case "NOT_DUE", "LOCK_BUSY":
		fmt.Println("another host ran it, or runs it")
	default:
		log.Fatal(err)
	}
}

// Between steps of the work: is it still this program's to do?
func ExampleHold_Valid() {
	ctx := context.Background()
	client, err := ddblock.Dial(ctx, ddblock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	hold, err := client.Acquire(ctx, "jobs/report", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx)
	for step := 0; step < 3; step++ {
		if !hold.Valid() {
			log.Fatal("the lock was lost: ", hold.Reason())
		}
		fmt.Println("step", step)
	}
}

// What another program has told: here, that a lock changed hands.
func ExampleClient_Watch() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := ddblock.Dial(ctx, ddblock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	state, err := client.Watch(ctx, "leader", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(state["state"])
	for {
		select {
		case event, open := <-client.Events():
			if !open {
				return // the connection ended
			}
			fmt.Println(event.Name, event.Fields["state"])
		case <-ctx.Done():
			return
		}
	}
}
