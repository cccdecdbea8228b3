import { decodeGenerate } from "../../../src/protocols/kserve/generate-request.ts";
import { decodeInferRequest, decodeInferRequestQuickly } from "../../../src/protocols/kserve/grpc-request.ts";
import { decodeInfer } from "../../../src/protocols/kserve/http-decode.ts";
import {
  decodePredictRequest,
  decodePredictRequestQuickly,
} from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { decodePredict } from "../../../src/protocols/tensorflow-serving/http-request.ts";
import { decodeBase64 } from "../../../src/tensor/codecs/json/decode-base64.ts";
import { readNpy, writeNpy } from "../../../src/tensor/codecs/npy.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textElement,
  type WirePart,
} from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { readPixelHeader } from "../../../src/tensor/media/pixel-header.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { between, filled, LARGE, numbered, type TextCost } from "./hostile-texts.ts";

type Texts = TextCost["texts"];

/** Memory that the values of a message may take. */
const MAX_BYTES = 256 * 2 ** 20;
/** Bytes of the JSON before the binary part, with spaces at its end. */
const HEADER_BYTES = 512;
const OPTIONS = { model: "m", version: "1", headerLength: HEADER_BYTES, maxBytes: MAX_BYTES };

/** Readers of tensors: by the main thread, which leaves to others what takes long, and by others whole. */
export function tensorCosts(): readonly TextCost[] {
  const readers = [
    { name: "V2 binary", texts: binaryTexts(), read: wholeBinary, quickly: quickBinary },
    { name: "V2 over gRPC", texts: inferTexts(), read: wholeInfer, quickly: quickInfer },
    { name: "PredictRequest", texts: predictTexts(), read: wholePredict, quickly: quickPredict },
  ];
  return [
    ...readers.flatMap(({ name, texts, read, quickly }) => [
      { name, ...LARGE, texts, isInMainThread: false, read: (_: string, bytes: Uint8Array) => read(bytes) },
      { name: `${name}, main thread`, ...LARGE, texts, read: (_: string, bytes: Uint8Array) => quickly(bytes) },
    ]),
    { name: "values of .npy", ...LARGE, texts: npyTexts(), read: (_, bytes) => readNpy(bytes) },
    // What is unusual is left to the decoder, in a thread of libuv's.
    {
      name: "header of an image",
      ...LARGE,
      texts: imageTexts(),
      isInMainThread: false,
      read: (_, bytes) => readPixelHeader(bytes),
    },
    { name: "base64 of bytes", ...LARGE, texts: base64Texts(), isInMainThread: false, read: decodeBase64 },
    { name: "predict's JSON", ...LARGE, texts: predictJson(), isInMainThread: false, read: toPredict },
    { name: "keys that come again", ...LARGE, texts: repeatedKeys(), isInMainThread: false, read: toUndeclared },
  ];
}

const wholeBinary = (bytes: Uint8Array) => decodeInfer(bytes, OPTIONS);
const quickBinary = (bytes: Uint8Array) => decodeInfer(bytes, OPTIONS, true);
const wholeInfer = (bytes: Uint8Array) => decodeInferRequest(bytes, MAX_BYTES);
const quickInfer = (bytes: Uint8Array) => decodeInferRequestQuickly(bytes, MAX_BYTES);
const wholePredict = (bytes: Uint8Array) => decodePredictRequest(bytes, MAX_BYTES);
const quickPredict = (bytes: Uint8Array) => decodePredictRequestQuickly(bytes, MAX_BYTES);
const toPredict = (_: string, bytes: Uint8Array) => decodePredict(bytes, { serving_default: {} }, MAX_BYTES);
const toUndeclared = (_: string, bytes: Uint8Array) => decodeGenerate(bytes, { ...OPTIONS, inputs: undefined });

/** The bytes of a part of a text, as characters of Latin-1. */
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
const message = (parts: readonly WirePart[]) => latin1(encodeMessage(parts));

/** Values of a datatype behind their JSON; `size` bytes make one. */
function binaryOf(datatype: string, value: string, size = value.length): (length: number) => string {
  return (length) => {
    const count = Math.max(1, Math.floor((length - HEADER_BYTES) / size));
    const head = { inputs: [{ name: "x", datatype, shape: [count], parameters: { binary_data_size: count * size } }] };
    return JSON.stringify(head).padEnd(HEADER_BYTES) + value.repeat((count * size) / value.length);
  };
}

function binaryTexts(): Texts {
  return {
    FP32: binaryOf("FP32", "\0\0\x80\x3f"),
    INT64: binaryOf("INT64", "\x01\0\0\0\0\0\0\0"),
    FP16: binaryOf("FP16", "\0\x3c"),
    BOOL: binaryOf("BOOL", "\x01"),
    "empty BYTES": binaryOf("BYTES", "\0\0\0\0"),
    "short BYTES": binaryOf("BYTES", "\x01\0\0\0a"),
    "cut BYTES": (length) => `${binaryOf("BYTES", "\x01\0\0\0a")(length).slice(0, -1)}`,
  };
}

function inferTexts(): Texts {
  const start = (datatype: string, count: number) => [
    textElement(1, "x"),
    textElement(2, datatype),
    bytesField(3, varint(count)),
  ];
  const typed = (datatype: string, field: number, value: string) => (length: number) => {
    const count = Math.max(1, Math.floor((length - 64) / value.length));
    const values = bytesField(field, Buffer.from(value.repeat(count), "latin1"));
    return message([messageField(5, [...start(datatype, count), messageField(5, [values])])]);
  };
  const raw = (datatype: string, value: string) => (length: number) => {
    const count = Math.max(1, Math.floor((length - 64) / value.length));
    const values = bytesField(7, Buffer.from(value.repeat(count), "latin1"));
    return message([messageField(5, start(datatype, count)), values]);
  };
  return {
    "raw FP32": raw("FP32", "\0\0\x80\x3f"),
    "raw BYTES": raw("BYTES", "\x01\0\0\0a"),
    FP32: typed("FP32", 6, "\0\0\x80\x3f"),
    INT32: typed("INT32", 2, "\x01"),
    "long INT64": typed("INT64", 3, `${"\xff".repeat(9)}\x01`),
    BOOL: typed("BOOL", 1, "\x80\0"),
    BYTES: (length) => oneByOne((count) => start("BYTES", count), "\x42\x01a", length),
    "single FP32": (length) => oneByOne((count) => start("FP32", count), "\x35\0\0\x80\x3f", length),
    "empty contents": (length) => message([textElement(1, "m"), bytesField(5, repeated("\x2a\0", length))]),
    "empty inputs": filled("\x2a\0"),
    "empty raw": filled("\x3a\0"),
    shape: (length) => message([bytesField(5, repeated("\x18\x01", length))]),
    unknown: filled("\x98\x06\x01"),
    groups: filled("\x9b\x06"),
    parameters: numbered("", (at) => message([messageField(4, [textElement(1, `k${at}`)])]), ""),
  };
}

/** An input whose values are fields of their own. */
function oneByOne(head: (count: number) => readonly WirePart[], value: string, length: number): string {
  const values = repeated(value, length);
  return message([messageField(5, [...head(values.length / value.length), bytesField(5, values)])]);
}

function predictTexts(): Texts {
  const tensor = (type: number, count: number, values: WirePart) => {
    const shape = messageField(2, [messageField(2, [integerField(1, count)])]);
    const proto = [integerField(1, type), ...(count > 0 ? [shape] : []), values];
    return message([messageField(2, [textElement(1, "x"), messageField(2, proto)])]);
  };
  const typed = (type: number, field: number, value: string) => (length: number) => {
    const count = Math.max(1, Math.floor((length - 64) / value.length));
    return tensor(type, count, bytesField(field, Buffer.from(value.repeat(count), "latin1")));
  };
  const entry = (type: number, field: string) => (length: number) => {
    const values = Buffer.concat([Buffer.of(8, type), repeated(field, length)]);
    return message([messageField(2, [textElement(1, "x"), bytesField(2, values)])]);
  };
  return {
    tensor_content: typed(1, 4, "\0\0\x80\x3f"),
    "strings in content": typed(7, 4, "\0"),
    float_val: typed(1, 5, "\0\0\x80\x3f"),
    int_val: typed(3, 7, "\x01"),
    "long int64_val": typed(9, 10, `${"\xff".repeat(9)}\x01`),
    half_val: typed(19, 13, "\x80\x78"),
    bool_val: typed(10, 11, "\x01"),
    string_val: entry(7, "\x42\x01a"),
    "single float_val": entry(1, "\x2d\0\0\x80\x3f"),
    "repeated value": (length) => tensor(1, length / 4, bytesField(5, Buffer.alloc(4))),
    shapes: entry(1, "\x12\x02\x12\0"),
    "empty entries": filled("\x12\0"),
    "one key again": filled("\x12\x05\x0a\x01a\x12\0"),
    filters: filled("\x1a\x01a"),
    names: filled("\x0a\x03\x0a\x01a"),
    unknown: filled("\x98\x06\x01"),
  };
}

function npyTexts(): Texts {
  return {
    float32: (length) => latin1(writeNpy(createTensor("float32", [length / 4], new Float32Array(length / 4)))),
    int64: (length) => latin1(writeNpy(createTensor("int64", [length / 8], new BigInt64Array(length / 8)))),
  };
}

/** Files whose headers go on as long as they do. */
function imageTexts(): Texts {
  const jpeg = "\xff\xd8\xff\xe0\0\x02";
  const bitmap = Buffer.alloc(54);
  bitmap.write("BM");
  bitmap.writeUInt32LE(40, 14);
  bitmap.writeUInt16LE(1, 26);
  return {
    segments: between(jpeg, "\xff\xe0\0\x02"),
    EXIF: between(jpeg, "\xff\xe1\0\x08Exif\0\0"),
    XMP: between(jpeg, "\xff\xe1\0\x02"),
    comments: between("P5\n", "# a\n", "1 1 255\n\0"),
    digits: between("P5\n", "1"),
    PAM: between("P7\n", "WIDTH 1\n", "ENDHDR\n"),
    BMP: (length) => latin1(bitmap) + "\0".repeat(length - bitmap.length),
    chunks: between("\x89PNG\r\n\x1a\n", "\0\0\0\0tEXt\0\0\0\0"),
    blocks: between("GIF89a\x01\0\x01\0\0\0\0", "!\xfe\x01a\0"),
  };
}

function base64Texts(): Texts {
  return {
    digits: filled("QUJD"),
    lines: filled(`${"QUJD".repeat(19)}\n`),
    spaced: filled("Q "),
    padded: filled("QQ=="),
    late: between("", "QUJD", "!"),
    wide: filled("é"),
  };
}

function predictJson(): Texts {
  return {
    numbers: between('{"instances":[', "1.5,", "1]}"),
    rows: between('{"instances":[', "[1,2],", "[1,2]]}"),
    texts: between('{"instances":[', '"a",', '"a"]}'),
    named: between('{"instances":[', '{"x":1},', '{"x":1}]}'),
    base64: between('{"instances":[', '{"b64":"QQ=="},', '{"b64":"QQ=="}]}'),
    image: between('{"instances":[{"b64":"', "QUJD", '"}]}'),
    columns: numbered('{"inputs":{', (at) => `"k${at}":[1],`, '"a":[1]}}'),
    keys: numbered('{"instances":[{', (at) => `"k${at}":1,`, '"a":1}]}'),
  };
}

/** Beside as many inputs as a request may have. */
function repeatedKeys(): Texts {
  const inputs = Array.from({ length: 2000 }, (_, at) => `"x${at}":1,`).join("");
  return {
    null: numbered(`{${inputs}`, (at) => `"k${at}":null,"k${at}":null,`, '"a":1}'),
    parameters: numbered(`{${inputs}"parameters":{`, (at) => `"k${at}":1,"k${at}":1,`, '"a":1}}'),
  };
}

function repeated(part: string, length: number): Buffer {
  return Buffer.from(filled(part)(Math.max(1, length - 64)), "latin1");
}

function varint(value: number): Buffer {
  return Buffer.from(encodeMessage([integerField(1, Math.floor(value))]).subarray(1));
}
