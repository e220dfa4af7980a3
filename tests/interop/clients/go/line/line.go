// Package line is what the peers in Go share: the lines that they read and
// write, described in tests/interop/peers.py, and a client of DynamoDB.
package line

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Words are a line, or the program's arguments, taken apart.
type Words struct {
	Bare  []string
	Named map[string]string
}

// Parse decodes each word.
func Parse(words []string) Words {
	w := Words{Named: map[string]string{}}
	for _, word := range words {
		name, value, isNamed := strings.Cut(word, "=")
		if isNamed {
			w.Named[name] = decode(value)
		} else {
			w.Bare = append(w.Bare, decode(word))
		}
	}
	return w
}

func decode(text string) string {
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return decoded
}

// Encode makes one word of a text.
func Encode(text string) string {
	return url.PathEscape(text)
}

// Yes is whether a word says so.
func (w Words) Yes(name string) bool {
	return w.Named[name] == "yes"
}

// Milliseconds is a length of time; nothing if it is not there.
func (w Words) Milliseconds(name string) time.Duration {
	n, _ := strconv.ParseInt(w.Named[name], 10, 64)
	return time.Duration(n) * time.Millisecond
}

// Data is nil if there are none.
func (w Words) Data() []byte {
	text, there := w.Named["data"]
	if !there {
		return nil
	}
	data, err := hex.DecodeString(text)
	if err != nil {
		return nil
	}
	return data
}

// Attributes are those that a request names.
func (w Words) Attributes() map[string]types.AttributeValue {
	found := map[string]types.AttributeValue{}
	for name, value := range w.Named {
		if !strings.HasPrefix(name, "attr.") {
			continue
		}
		name = strings.TrimPrefix(name, "attr.")
		if strings.HasSuffix(name, ":n") {
			found[strings.TrimSuffix(name, ":n")] =
				&types.AttributeValueMemberN{Value: value}
		} else {
			found[name] = &types.AttributeValueMemberS{Value: value}
		}
	}
	return found
}

// Say writes an answer.
func Say(words ...string) {
	fmt.Println(strings.Join(words, " "))
}

// SayError answers with whatever went wrong.
func SayError(err error) {
	Say("error", Encode(err.Error()))
}

// Attribute is one of a lock's as a word of an answer.
func Attribute(name string, value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		return "attr." + name + ":n=" + Encode(v.Value)
	case *types.AttributeValueMemberS:
		return "attr." + name + "=" + Encode(v.Value)
	}
	return "attr." + name + ":other="
}

// Client is one with all that is usual, but for the endpoint.
func Client(options Words) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: os.Getenv("AWS_REGION"),
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"),
			os.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
		EndpointResolver: dynamodb.EndpointResolverFromURL(
			options.Named["endpoint"]),
	})
}

// Serve reads requests until it is told to quit, or nobody is there.
func Serve(verbs map[string]func(Words)) {
	Say("ready")
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := Parse(strings.Fields(lines.Text()))
		verb := words.Bare[0]
		words.Bare = words.Bare[1:]
		if verb == "quit" {
			return
		}
		if do, there := verbs[verb]; there {
			do(words)
		} else {
			Say("unsupported", Encode(verb))
		}
	}
}
