// A process with one client of cirello.io/dynamolock/v2.
//
// Its lines, and what may be said to it, are described in
// tests/interop/peers.py.
package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"cirello.io/dynamolock/v2"

	"peers/line"
)

type peer struct {
	options line.Words
	client  *dynamolock.Client
	locks   map[string]*dynamolock.Lock
}

func newPeer(options line.Words) (*peer, error) {
	with := []dynamolock.ClientOption{
		dynamolock.WithPartitionKeyName(options.Named["key_attribute"]),
		dynamolock.WithLeaseDuration(options.Milliseconds("lease_ms")),
		dynamolock.WithHeartbeatPeriod(
			options.Milliseconds("heartbeat_ms")),
	}
	if name, there := options.Named["sort_attribute"]; there {
		with = append(with, dynamolock.WithSortKey(name, "-"))
	}
	if owner, there := options.Named["owner"]; there {
		with = append(with, dynamolock.WithOwnerName(owner))
	}
	client, err := dynamolock.New(line.Client(options),
		options.Named["table"], with...)
	return &peer{options, client, map[string]*dynamolock.Lock{}}, err
}

// What an answer tells of a lock.
func told(word string, key string, lock *dynamolock.Lock) {
	words := []string{word, line.Encode(key),
		"owner=" + line.Encode(lock.OwnerName())}
	if lock.Data() != nil {
		words = append(words, "data="+hex.EncodeToString(lock.Data()))
	}
	for name, value := range lock.AdditionalAttributes() {
		words = append(words, line.Attribute(name, value))
	}
	line.Say(words...)
}

func (p *peer) create(line.Words) {
	with := []dynamolock.CreateTableOption{
		dynamolock.WithCustomPartitionKeyName(
			p.options.Named["key_attribute"]),
	}
	if name, there := p.options.Named["sort_attribute"]; there {
		with = append(with, dynamolock.WithSortKeyName(name))
	}
	table := p.options.Named["table"]
	if _, err := p.client.CreateTable(table, with...); err != nil {
		line.SayError(err)
		return
	}
	line.Say("created", line.Encode(table))
}

func (p *peer) acquire(words line.Words) {
	key := words.Bare[0]
	with := []dynamolock.AcquireLockOption{
		dynamolock.WithDeleteLockOnRelease(),
		dynamolock.WithRefreshPeriod(p.options.Milliseconds("poll_ms")),
		dynamolock.WithAdditionalAttributes(words.Attributes()),
	}
	if wait := words.Milliseconds("wait_ms"); wait > 0 {
		with = append(with,
			dynamolock.WithAdditionalTimeToWaitForLock(wait))
	} else {
		with = append(with, dynamolock.FailIfLocked())
	}
	if data := words.Data(); data != nil {
		with = append(with, dynamolock.WithData(data))
	}
	if words.Named["replace"] != "no" {
		with = append(with, dynamolock.ReplaceData())
	}
	lock, err := p.client.AcquireLock(key, with...)
	var refused *dynamolock.LockNotGrantedError
	if errors.As(err, &refused) {
		line.Say("busy", line.Encode(key))
		return
	}
	if err != nil {
		line.SayError(err)
		return
	}
	p.locks[key] = lock
	told("acquired", key, lock)
}

func (p *peer) release(words line.Words) {
	key := words.Bare[0]
	with := []dynamolock.ReleaseLockOption{
		dynamolock.WithDeleteLock(!words.Yes("keep")),
	}
	if data := words.Data(); data != nil {
		with = append(with, dynamolock.WithDataAfterRelease(data))
	}
	lock := p.locks[key]
	delete(p.locks, key)
	if _, err := p.client.ReleaseLock(lock, with...); err != nil {
		line.SayError(err)
		return
	}
	line.Say("released", line.Encode(key))
}

func (p *peer) heartbeat(words line.Words) {
	key := words.Bare[0]
	with := []dynamolock.SendHeartbeatOption{}
	if data := words.Data(); data != nil {
		with = append(with, dynamolock.ReplaceHeartbeatData(data))
	}
	if err := p.client.SendHeartbeat(p.locks[key], with...); err != nil {
		line.SayError(err)
		return
	}
	told("renewed", key, p.locks[key])
}

func (p *peer) get(words line.Words) {
	key := words.Bare[0]
	lock, err := p.client.Get(key)
	if err != nil {
		line.SayError(err)
	} else if lock.OwnerName() == "" {
		line.Say("free", line.Encode(key))
	} else {
		told("held", key, lock)
	}
}

func (p *peer) status(words line.Words) {
	lock, there := p.locks[words.Bare[0]]
	if there && !lock.IsExpired() {
		line.Say("holds", line.Encode(words.Bare[0]))
	} else {
		line.Say("lost", line.Encode(words.Bare[0]))
	}
}

func main() {
	p, err := newPeer(line.Parse(os.Args[1:]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line.Serve(map[string]func(line.Words){
		"create": p.create, "acquire": p.acquire, "release": p.release,
		"heartbeat": p.heartbeat, "get": p.get, "status": p.status,
	})
}
