import * as tf from "@tensorflow/tfjs-core";
import { toFixedPoint } from "../../../../text/fixed-point.ts";
import { dataTypeNumber } from "../../saved-model/data-type.ts";
import { TYPE } from "../element-types.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { asStrings, asTensor, numbersOf, Strings } from "../values.ts";
import { mapStrings, strip } from "./string.ts";

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const ENCODER = new TextEncoder();

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

/** Strings from numbers and bytes, and the other way. */
export const STRING_NUMBER_KERNELS: KernelTable = {
  AsString: asText,
  StringToNumber: toNumber,
  EncodeBase64: encodeBase64,
  DecodeBase64: decodeBase64,
};
