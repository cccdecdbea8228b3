/**
 * The beginning of all generated packages of Go: calls of KServe V2 over HTTP with the standard library, and tensors
 * with their bytes.
 */
export const GO_BASE = `import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
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

// Error is an answer that is an error: its status of HTTP, the server's text, and after parts its code, if it is told.
type Error struct {
	Status int
	Text   string
	Code   string
}

func (err *Error) Error() string {
	return fmt.Sprintf("%d: %s", err.Status, err.Text)
}

// Infer runs any model, and answers with the named outputs, or all. An error of the server is an *Error.
func (client *Client) Infer(ctx context.Context, model string, inputs map[string]Value, outputs ...string) (map[string]Value, error) {
	response, err := client.post(ctx, model, "infer", inputs, outputs)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return readAnswer(body, response.Header.Get("Inference-Header-Content-Length"))
}

// post sends a request, and answers with what has the status 200.
func (client *Client) post(ctx context.Context, model, method string, inputs map[string]Value, outputs []string) (*http.Response, error) {
	body, headSize, err := requestBody(inputs, outputs)
	if err != nil {
		return nil, err
	}
	address := strings.TrimRight(client.Address, "/") + "/v2/models/" + url.PathEscape(model) + "/" + method
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
	sender := client.HTTP
	if sender == nil {
		sender = http.DefaultClient
	}
	response, err := sender.Do(request)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return nil, &Error{Status: response.StatusCode, Text: errorText(body)}
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

// Element is the type of a tensor's elements.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | Float16 | BFloat16 | float32 | float64 | []byte
}

// Float16 has the bits of a number.
type Float16 uint16

// BFloat16 has the bits of a number.
type BFloat16 uint16

// Tensor has elements in row-major order. Without a shape it is a list.
type Tensor[T Element] struct {
	Shape []int64
	Data  []T
	files [][]byte
}

// Files makes an input of files, such as JPEGs, for a model that takes images.
func Files[T Element](files ...[]byte) Tensor[T] {
	return Tensor[T]{files: files}
}

// Value is a Tensor of any type of elements. An input without Data is left out.
type Value interface {
	encode(name string) (head map[string]any, raw []byte)
}

func (tensor Tensor[T]) encode(name string) (head map[string]any, raw []byte) {
	shape, datatype := tensor.Shape, datatypeOf[T]()
	switch data := any(tensor.Data).(type) {
	case [][]byte:
		raw = pack(data)
	default:
		buffer := bytes.Buffer{}
		_ = binary.Write(&buffer, binary.LittleEndian, data)
		raw = buffer.Bytes()
	}
	if tensor.files != nil {
		shape, datatype, raw = []int64{int64(len(tensor.files))}, "BYTES", pack(tensor.files)
	} else if tensor.Data == nil {
		return nil, nil
	} else if shape == nil {
		shape = []int64{int64(len(tensor.Data))}
	}
	size := map[string]any{"binary_data_size": len(raw)}
	return map[string]any{"name": name, "datatype": datatype, "shape": shape, "parameters": size}, raw
}

func pack(elements [][]byte) []byte {
	raw := []byte{}
	for _, element := range elements {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(element)))
		raw = append(raw, element...)
	}
	return raw
}

var decoders = map[string]func([]int64, []byte) Value{
	"BOOL": decode[bool], "INT8": decode[int8], "INT16": decode[int16], "INT32": decode[int32], "INT64": decode[int64],
	"UINT8": decode[uint8], "UINT16": decode[uint16], "UINT32": decode[uint32], "UINT64": decode[uint64],
	"FP16": decode[Float16], "BF16": decode[BFloat16], "FP32": decode[float32], "FP64": decode[float64], "BYTES": decodeBytes,
}

func decode[T Element](shape []int64, raw []byte) Value {
	element := *new(T)
	data := make([]T, len(raw)/binary.Size(element))
	_ = binary.Read(bytes.NewReader(raw), binary.LittleEndian, data)
	return Tensor[T]{Shape: shape, Data: data}
}

func decodeBytes(shape []int64, raw []byte) Value {
	data := [][]byte{}
	for len(raw) >= 4 {
		end := 4 + int(binary.LittleEndian.Uint32(raw))
		data = append(data, raw[4:min(end, len(raw))])
		raw = raw[min(end, len(raw)):]
	}
	return Tensor[[]byte]{Shape: shape, Data: data}
}

func datatypeOf[T Element]() string {
	switch any(*new(T)).(type) {
	case bool:
		return "BOOL"
	case int8:
		return "INT8"
	case int16:
		return "INT16"
	case int32:
		return "INT32"
	case int64:
		return "INT64"
	case uint8:
		return "UINT8"
	case uint16:
		return "UINT16"
	case uint32:
		return "UINT32"
	case uint64:
		return "UINT64"
	case Float16:
		return "FP16"
	case BFloat16:
		return "BF16"
	case float32:
		return "FP32"
	case float64:
		return "FP64"
	}
	return "BYTES"
}

func take[T Value](found map[string]Value, name string, place *T) error {
	value, ok := found[name].(T)
	if !ok {
		return fmt.Errorf("output %q is %T, expected %T; the model has changed, write this package again", name, found[name], *place)
	}
	*place = value
	return nil
}

// readBytes reads a text, or what is none, in base64.
func readBytes(element any) ([]byte, error) {
	object, ok := element.(map[string]any)
	if !ok {
		return []byte(fmt.Sprint(element)), nil
	}
	return base64.StdEncoding.DecodeString(fmt.Sprint(object["b64"]))
}

func toBFloat16(number float64) BFloat16 {
	bits := math.Float32bits(float32(number))
	if math.IsNaN(number) {
		return 0x7fc0
	}
	return BFloat16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)
}
`;
