// A process that stands in for one locker of github.com/scailio-oss/dlock,
// which no registry has. It sends what recordings of the real one show,
// request by request, and shares its weaknesses: every moment is of the host's
// wall clock; what got no answer has failed, also where it took effect; and
// the fencing token doubles with each acquisition, for the number that is
// added to it is itself.
//
// Its lines, and what may be said to it, are described in
// tests/interop/peers.py.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"peers/line"
)

// What a record is given that is free, where it has to stay for its token.
const released = 1000

type item = map[string]types.AttributeValue

type lock struct {
	until int64
	token []byte
}

type peer struct {
	client    *dynamodb.Client
	table     string
	keyName   string
	prefix    string
	owner     string
	lease     time.Duration
	heartbeat time.Duration
	skew      time.Duration
	fencing   bool
	skewed    time.Duration // the host's clock is so much ahead

	mutex sync.Mutex
	locks map[string]*lock
}

func newPeer(options line.Words) *peer {
	p := &peer{
		client:    line.Client(options),
		table:     options.Named["table"],
		keyName:   options.Named["key_attribute"],
		prefix:    options.Named["prefix"],
		owner:     options.Named["owner"],
		lease:     options.Milliseconds("lease_ms"),
		heartbeat: options.Milliseconds("heartbeat_ms"),
		skew:      options.Milliseconds("skew_ms"),
		fencing:   options.Yes("fencing"),
		skewed:    options.Milliseconds("ahead_ms"),
		locks:     map[string]*lock{},
	}
	if p.owner == "" {
		p.owner = fmt.Sprintf("w%d-%d", os.Getpid(),
			time.Now().UnixNano())
	}
	return p
}

func (p *peer) now() time.Time {
	return time.Now().Add(p.skewed)
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func text(s string) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: s}
}

func (p *peer) keyOf(key string) item {
	return item{p.keyName: text(p.prefix + key)}
}

func (p *peer) record(key string, l *lock) item {
	record := p.keyOf(key)
	record["owner"] = text(p.owner)
	record["until"] = number(l.until)
	if l.token != nil {
		record["fencingToken"] =
			&types.AttributeValueMemberB{Value: l.token}
	}
	return record
}

// The one that it holds, and knows: by owner and moment.
func (p *peer) isOurs(l *lock) expression.ConditionBuilder {
	return expression.And(
		expression.AttributeExists(expression.Name(p.keyName)),
		expression.And(
			expression.Equal(expression.Name("owner"),
				expression.Value(p.owner)),
			expression.Equal(expression.Name("until"),
				expression.Value(l.until))))
}

// Absent, or over for longer than two clocks may differ.
func (p *peer) isFree(now time.Time) expression.ConditionBuilder {
	over := now.Add(-p.skew).UnixMilli()
	return expression.Or(
		expression.AttributeNotExists(expression.Name(p.keyName)),
		expression.And(
			expression.AttributeExists(expression.Name(p.keyName)),
			expression.LessThanEqual(expression.Name("until"),
				expression.Value(over))))
}

// Absent, or as it was read.
func (p *peer) isAsSeen(seen item) expression.ConditionBuilder {
	same := func(name string) expression.ConditionBuilder {
		return expression.Equal(expression.Name(name),
			expression.Value(seen[name]))
	}
	return expression.Or(
		expression.AttributeNotExists(expression.Name(p.keyName)),
		expression.And(expression.And(expression.And(
			expression.AttributeExists(expression.Name(p.keyName)),
			same("until")), same("owner")), same("fencingToken")))
}

func (p *peer) put(key string, l *lock, is expression.ConditionBuilder,
	wants types.ReturnValue) error {
	e, err := expression.NewBuilder().WithCondition(is).Build()
	if err != nil {
		return err
	}
	_, err = p.client.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName:                 aws.String(p.table),
		Item:                      p.record(key, l),
		ConditionExpression:       e.Condition(),
		ExpressionAttributeNames:  e.Names(),
		ExpressionAttributeValues: e.Values(),
		ReturnValues:              wants,
	})
	return err
}

func (p *peer) read(key string) (item, error) {
	answer, err := p.client.GetItem(context.Background(),
		&dynamodb.GetItemInput{
			TableName:      aws.String(p.table),
			Key:            p.keyOf(key),
			ConsistentRead: aws.Bool(true),
		})
	if err != nil {
		return nil, err
	}
	return answer.Item, nil
}

var errBusy = errors.New("somebody else holds it")

func (p *peer) tryWithFencing(key string) (*lock, error) {
	seen, err := p.read(key)
	if err != nil {
		return nil, err
	}
	now := p.now()
	l := &lock{until: now.Add(p.lease).UnixMilli(), token: []byte{1}}
	if seen == nil {
		return l, p.put(key, l, p.isFree(now), types.ReturnValueAllOld)
	}
	n, ok := seen["until"].(*types.AttributeValueMemberN)
	token, isBytes := seen["fencingToken"].(*types.AttributeValueMemberB)
	if !ok || !isBytes {
		return nil, errors.New("this is no record with a token")
	}
	until, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return nil, err
	}
	if until > now.Add(-p.skew).UnixMilli() {
		return nil, errBusy
	}
	next := new(big.Int).SetBytes(token.Value)
	l.token = next.Add(next, next).Bytes()
	return l, p.put(key, l, p.isAsSeen(seen), types.ReturnValueAllOld)
}

func (p *peer) try(key string) (*lock, error) {
	if p.fencing {
		return p.tryWithFencing(key)
	}
	now := p.now()
	l := &lock{until: now.Add(p.lease).UnixMilli()}
	return l, p.put(key, l, p.isFree(now), types.ReturnValueAllOld)
}

// With fencing only the moment is changed, so that the token stays.
func (p *peer) update(key string, l *lock, until int64) error {
	e, err := expression.NewBuilder().WithCondition(p.isOurs(l)).
		WithUpdate(expression.
			Set(expression.Name("owner"),
				expression.Value(p.owner)).
			Set(expression.Name("until"),
				expression.Value(until))).Build()
	if err != nil {
		return err
	}
	_, err = p.client.UpdateItem(context.Background(),
		&dynamodb.UpdateItemInput{
			TableName:                 aws.String(p.table),
			Key:                       p.keyOf(key),
			ConditionExpression:       e.Condition(),
			ExpressionAttributeNames:  e.Names(),
			ExpressionAttributeValues: e.Values(),
			UpdateExpression:          e.Update(),
		})
	return err
}

func (p *peer) remove(key string, l *lock) error {
	e, err := expression.NewBuilder().WithCondition(p.isOurs(l)).Build()
	if err != nil {
		return err
	}
	_, err = p.client.DeleteItem(context.Background(),
		&dynamodb.DeleteItemInput{
			TableName:                 aws.String(p.table),
			Key:                       p.keyOf(key),
			ConditionExpression:       e.Condition(),
			ExpressionAttributeNames:  e.Names(),
			ExpressionAttributeValues: e.Values(),
		})
	return err
}

func isRefused(err error) bool {
	var refused *types.ConditionalCheckFailedException
	return errors.As(err, &refused)
}

// Renew one lock. One that shows another moment is somebody else's, it thinks,
// even if that moment is its own, from an attempt that got no answer.
func (p *peer) renew(key string, l *lock) error {
	until := p.now().Add(p.lease).UnixMilli()
	var err error
	if p.fencing {
		err = p.update(key, l, until)
	} else {
		next := *l
		next.until = until
		err = p.put(key, &next, p.isOurs(l), "")
	}
	if err == nil {
		l.until = until
	} else if isRefused(err) {
		delete(p.locks, key)
	}
	return err
}

func (p *peer) beat() {
	for range time.Tick(p.heartbeat) {
		p.mutex.Lock()
		for key, l := range p.locks {
			if p.renew(key, l) != nil &&
				p.now().UnixMilli() >= l.until {
				delete(p.locks, key)
			}
		}
		p.mutex.Unlock()
	}
}

func tokenOf(token []byte) string {
	return "token=" + new(big.Int).SetBytes(token).String()
}

// TryLock does not wait: the caller tries again.
func (p *peer) acquire(words line.Words) {
	key := words.Bare[0]
	end := time.Now().Add(words.Milliseconds("wait_ms"))
	for {
		l, err := p.try(key)
		if err == nil {
			p.acquired(key, l)
			return
		}
		if !isRefused(err) && err != errBusy {
			line.SayError(err)
			return
		}
		if !time.Now().Before(end) {
			line.Say("busy", line.Encode(key))
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (p *peer) acquired(key string, l *lock) {
	p.mutex.Lock()
	p.locks[key] = l
	p.mutex.Unlock()
	answer := []string{"acquired", line.Encode(key),
		"owner=" + line.Encode(p.owner)}
	if p.fencing {
		answer = append(answer, tokenOf(l.token))
	}
	line.Say(answer...)
}

func (p *peer) release(words line.Words) {
	key := words.Bare[0]
	p.mutex.Lock()
	defer p.mutex.Unlock()
	l, there := p.locks[key]
	if !there {
		line.SayError(errors.New("it is not ours"))
		return
	}
	delete(p.locks, key)
	var err error
	if p.fencing {
		err = p.update(key, l, released)
	} else {
		err = p.remove(key, l)
	}
	if err != nil {
		line.SayError(err)
		return
	}
	line.Say("released", line.Encode(key))
}

func (p *peer) status(words line.Words) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	l, there := p.locks[words.Bare[0]]
	if there && p.now().UnixMilli() < l.until {
		line.Say("holds", line.Encode(words.Bare[0]))
	} else {
		line.Say("lost", line.Encode(words.Bare[0]))
	}
}

func main() {
	p := newPeer(line.Parse(os.Args[1:]))
	go p.beat()
	line.Serve(map[string]func(line.Words){
		"acquire": p.acquire, "release": p.release, "status": p.status,
	})
}
