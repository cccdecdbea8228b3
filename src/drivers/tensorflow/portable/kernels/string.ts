import * as tf from "@tensorflow/tfjs-core";
import { toFixedPoint } from "../../../../platform/text/size-text.ts";
import { dataTypeNumber } from "../../saved-model/data-type.ts";
import { TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import type { TextPattern } from "../pattern-search.ts";
import { toPattern } from "../re2-pattern.ts";
import { asStrings, asTensor, numbersOf, Strings, type Value } from "../values.ts";
import { broadcastShape } from "./binary.ts";

/** Change of one string. */
type Change = (element: Uint8Array) => Uint8Array;

const [CAPITAL_A, SMALL_A, LETTERS] = [0x41, 0x61, 26];
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const ENCODER = new TextEncoder();
/** White space of C's isspace. */
const WHITE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0b, 0x0c, 0x0d]);

/** Strings of the same shape, each changed. */
function mapStrings(value: Value | undefined, change: Change): Strings {
  const { shape, elements } = asStrings(value);
  return new Strings(shape, elements.map(change));
}

function changeCase(from: number, to: number, ofText: (text: string) => string): KernelFactory {
  return (node) => {
    const encoding = node.text("encoding", "");
    const ofBytes: Change = (element) =>
      element.map((byte) => (byte >= from && byte < from + LETTERS ? byte - from + to : byte));
    const change: Change = encoding === "utf-8" ? (bytes) => ENCODER.encode(ofText(UTF8.decode(bytes))) : ofBytes;
    return (x) => mapStrings(x, change);
  };
}

const length: KernelFactory = (node) => {
  const isBytes = node.text("unit", "BYTE") === "BYTE";
  // A letter of UTF-8 has one byte that continues none.
  const count = (bytes: Uint8Array) => (isBytes ? bytes.length : bytes.filter((byte) => (byte & 0xc0) !== 0x80).length);
  return (x) => tf.tensor(asStrings(x).elements.map(count), [...asStrings(x).shape], "int32");
};

const join: KernelFactory = (node) => {
  const separator = Buffer.from(node.text("separator", ""));
  return (...inputs) => {
    const parts = inputs.map(asStrings);
    const shape = parts.find((part) => part.shape.length > 0)?.shape ?? [];
    const wrong = parts.find((part) => part.shape.length > 0 && part.shape.join() !== shape.join());
    if (wrong !== undefined) throw new Error(`Input shapes do not match: [${shape}] vs. [${wrong.shape}]`);
    const count = shape.reduce((product, size) => product * size, 1);
    const row = (index: number) =>
      parts.flatMap(({ shape: own, elements }, part) => {
        const element = elements[own.length === 0 ? 0 : index]!;
        return part === 0 ? [element] : [separator, element];
      });
    return new Strings(
      shape,
      Array.from({ length: count }, (_, index) => new Uint8Array(Buffer.concat(row(index)))),
    );
  };
};

const substring: KernelFactory = (node) => {
  if (node.text("unit", "BYTE") !== "BYTE") return node.refuse("by letters");
  return (x, position, size) => {
    const { shape, elements } = asStrings(x);
    const [starts, lengths] = [numbersOf(position), numbersOf(size)];
    if (
      broadcastShape(shape, asTensor(position).shape).join() !== shape.join() ||
      (starts.length !== 1 && starts.length !== elements.length)
    )
      throw new Error(`pos shape [${asTensor(position).shape}] does not fit the strings' [${shape}]`);
    const at = (list: readonly number[], index: number) => list[list.length === 1 ? 0 : index]!;
    const cut = (bytes: Uint8Array, index: number) => cutOut(bytes, at(starts, index), at(lengths, index));
    return new Strings(shape, elements.map(cut));
  };
};

function cutOut(bytes: Uint8Array, position: number, length: number): Uint8Array {
  const start = position < 0 ? bytes.length + position : position;
  if (start < 0 || start > bytes.length) throw new Error(`pos ${position} out of range for string`);
  return bytes.slice(start, start + Math.max(length, 0));
}

/** Without white space at both ends. */
function strip(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => !WHITE.has(byte));
  return start === -1 ? new Uint8Array(0) : bytes.slice(start, bytes.findLastIndex((byte) => !WHITE.has(byte)) + 1);
}

const hashBucket: KernelFactory = (node) => {
  const buckets = node.integer("num_buckets");
  if (buckets > 0x7fffffff) return node.refuse(`into ${buckets} buckets`);
  return (x) => {
    const numbers = asStrings(x).elements.map((bytes) => tf.util.fingerPrint64(bytes).modulo(buckets).toNumber());
    return tf.tensor(numbers, [...asStrings(x).shape], "int32");
  };
};

const asText: KernelFactory = (node) => {
  const type = node.typeOf(
    "T",
    new Set([TYPE.float, TYPE.bool, TYPE.int32, TYPE.int64, dataTypeNumber("INT8"), dataTypeNumber("UINT8")]),
  );
  const precision = node.integer("precision", -1);
  if (node.flag("scientific", false) || node.flag("shortest", false) || node.integer("width", -1) !== -1)
    return node.refuse("with scientific, shortest or width");
  const format =
    type === TYPE.float ? (value: number) => toFixedPoint(value, precision === -1 ? 6 : precision) : String;
  const write = type === TYPE.bool ? (value: number) => (value === 0 ? "false" : "true") : format;
  return (x) =>
    new Strings(
      asTensor(x).shape,
      numbersOf(x).map((value) => ENCODER.encode(write(value))),
    );
};

const toNumber: KernelFactory = (node) => {
  const type = node.typeOf("out_type", new Set([TYPE.float, TYPE.int32]), TYPE.float);
  const isFloat = type === TYPE.float;
  return (x) => {
    const numbers = asStrings(x).elements.map((bytes) => parseNumber(UTF8.decode(strip(bytes)), isFloat));
    return tf.tensor(numbers, [...asStrings(x).shape], isFloat ? "float32" : "int32");
  };
};

function parseNumber(text: string, isFloat: boolean): number {
  const known = isFloat ? /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i : /^[+-]?\d+$/;
  const value = Number(text);
  if (known.test(text) && (isFloat || Math.abs(value) <= 0x7fffffff)) return value;
  throw new Error(`StringToNumberOp could not correctly convert string: ${text}`);
}

const encodeBase64: KernelFactory = (node) => {
  const pads = node.flag("pad", false);
  return (x) =>
    mapStrings(x, (bytes) => {
      const text = Buffer.from(bytes).toString("base64url");
      return ENCODER.encode(pads ? text.padEnd(Math.ceil(text.length / 4) * 4, "=") : text);
    });
};

const decodeBase64: KernelFactory = () => (x) =>
  mapStrings(x, (bytes) => {
    const text = UTF8.decode(bytes);
    if (!/^[A-Za-z0-9_-]*={0,2}$/.test(text)) throw new Error("Invalid character found in base64.");
    return new Uint8Array(Buffer.from(text, "base64url"));
  });

const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(bytes: Uint8Array): string {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    throw new Error("a string is not valid UTF-8, as the pattern needs");
  }
}

const regexReplace: KernelFactory = (node) => {
  const isGlobal = node.flag("replace_global", true);
  const pattern = patternOf(node);
  if (isGlobal && pattern.isWhole(""))
    return node.refuse(`of a pattern that matches nothing, "${node.text("pattern")}"`);
  const rewrite = node.text("rewrite");
  if (/\\[^\d\\]|\\$/.test(rewrite)) return node.refuse(`with the rewrite "${rewrite}"`);
  const replace = (groups: readonly (string | undefined)[]) =>
    rewrite.replace(/\\(.)/g, (_, which: string) => (which === "\\" ? "\\" : (groups[Number(which)] ?? "")));
  return (x) => mapStrings(x, (bytes) => ENCODER.encode(pattern.replace(decodeText(bytes), replace, isGlobal)));
};

const regexFullMatch: KernelFactory = (node) => {
  const pattern = patternOf(node);
  return (x) => {
    const { elements, shape } = asStrings(x);
    return tf.tensor(
      elements.map((bytes) => Number(pattern.isWhole(decodeText(bytes)))),
      [...shape],
      "bool",
    );
  };
};

function patternOf(node: OpNode): TextPattern {
  const text = node.text("pattern");
  return toPattern(text) ?? node.refuse(`of the pattern "${text}"`);
}

/** Operations on strings, which are bytes. */
export const STRING_KERNELS: KernelTable = {
  StringLower: changeCase(CAPITAL_A, SMALL_A, (text) => text.toLowerCase()),
  StringUpper: changeCase(SMALL_A, CAPITAL_A, (text) => text.toUpperCase()),
  StringStrip: () => (x) => mapStrings(x, strip),
  StringLength: length,
  StringJoin: join,
  Substr: substring,
  StringToHashBucketFast: hashBucket,
  AsString: asText,
  StringToNumber: toNumber,
  EncodeBase64: encodeBase64,
  DecodeBase64: decodeBase64,
  StaticRegexReplace: regexReplace,
  StaticRegexFullMatch: regexFullMatch,
};
