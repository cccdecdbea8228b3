/** The tensors of generated packages of Go, and their bytes. */
export const GO_TENSORS = `// Element is the type of a tensor's elements.
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
`;
