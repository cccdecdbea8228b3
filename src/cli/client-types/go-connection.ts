/**
 * The beginning of all generated packages of Go: calls of KServe V2 over HTTP with the
 * standard library, values as bytes.
 */
export const GO_CONNECTION = `import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client calls the models of one server. Several goroutines may use it.
type Client struct {
	// Address is http://HOST:PORT.
	Address string

	// Header goes with every call, such as Authorization.
	Header http.Header

	// HTTP sends the calls; nil is http.DefaultClient.
	HTTP *http.Client
}

// Error is an answer that is an error: its status of HTTP, and the server's text.
type Error struct {
	Status int
	Text   string
}

func (err *Error) Error() string {
	return fmt.Sprintf("%d: %s", err.Status, err.Text)
}

// Infer runs any model, and answers with the named outputs, or all. An error of the server is an *Error.
func (client *Client) Infer(ctx context.Context, model string, inputs map[string]Value, outputs ...string) (map[string]Value, error) {
	body, headSize, err := requestBody(inputs, outputs)
	if err != nil {
		return nil, err
	}
	address := strings.TrimRight(client.Address, "/") + "/v2/models/" + url.PathEscape(model) + "/infer"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range client.Header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Inference-Header-Content-Length", strconv.Itoa(headSize))
	if deadline, ok := ctx.Deadline(); ok {
		request.Header.Set("X-Request-Timeout-Ms", strconv.FormatInt(min(max(1, time.Until(deadline).Milliseconds()), 1<<31-1), 10))
	}
	return client.send(request)
}

func (client *Client) send(request *http.Request) (map[string]Value, error) {
	sender := client.HTTP
	if sender == nil {
		sender = http.DefaultClient
	}
	response, err := sender.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, &Error{response.StatusCode, errorText(body)}
	}
	return readAnswer(body, response.Header.Get("Inference-Header-Content-Length"))
}

func requestBody(inputs map[string]Value, outputs []string) (body []byte, headSize int, err error) {
	heads := []map[string]any{}
	var values []byte
	for name, input := range inputs {
		if input == nil {
			continue
		}
		if head, raw := input.encode(name); head != nil {
			heads = append(heads, head)
			values = append(values, raw...)
		}
	}
	request := map[string]any{"inputs": heads, "parameters": map[string]any{"binary_data_output": true}}
	if len(outputs) > 0 {
		wanted := []map[string]any{}
		for _, name := range outputs {
			wanted = append(wanted, map[string]any{"name": name, "parameters": map[string]any{"binary_data": true}})
		}
		request["outputs"] = wanted
	}
	head, err := json.Marshal(request)
	return append(head, values...), len(head), err
}

type output struct {
	Name       string
	Datatype   string
	Shape      []int64
	Parameters struct {
		Size *int \`json:"binary_data_size"\`
	}
}

func readAnswer(body []byte, headSize string) (map[string]Value, error) {
	end, err := strconv.Atoi(headSize)
	if err != nil || end > len(body) {
		end = len(body)
	}
	answer := struct{ Outputs []output }{}
	if err := json.Unmarshal(body[:end], &answer); err != nil || answer.Outputs == nil {
		return nil, errors.New("the answer is not KServe V2's; see whether the address is right")
	}
	found := map[string]Value{}
	for _, output := range answer.Outputs {
		decode, size := decoders[output.Datatype], output.Parameters.Size
		if size == nil && slices.Contains(output.Shape, 0) {
			size = new(int)
		}
		if decode == nil || size == nil || *size > len(body)-end {
			return nil, fmt.Errorf("output %q is not sent as bytes of a known datatype; expected a server with KServe V2's binary extension", output.Name)
		}
		found[output.Name] = decode(output.Shape, body[end:end+*size])
		end += *size
	}
	return found, nil
}

func errorText(body []byte) string {
	answer := struct{ Error string }{}
	if err := json.Unmarshal(body, &answer); err == nil && answer.Error != "" {
		return answer.Error
	}
	return string(body[:min(500, len(body))])
}
`;
