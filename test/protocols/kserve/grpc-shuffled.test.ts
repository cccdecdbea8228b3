import { expect, it } from "vitest";
import { datatypeOf } from "../../../src/protocols/kserve/datatype.ts";
import { decodeInferRequest } from "../../../src/protocols/kserve/grpc-request.ts";
import { toRaw } from "../../../src/protocols/kserve/raw-tensor.ts";
import { WIRE, WireReader } from "../../../src/tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, encodeMessage, integerField, textField } from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { DTYPES } from "../../../src/tensor/dtype.ts";
import { comparable } from "../../grpc/plain-tensor.ts";
import { Random } from "../../grpc/random.ts";
import { kserveOracle } from "./kserve-oracle.ts";

const ROUNDS = 200;
const MEGABYTE = 1024 * 1024;
const INPUTS = 5;
const CARRIED = DTYPES.filter((dtype) => datatypeOf(dtype) !== undefined);

interface Field {
  readonly tag: number;
  readonly bytes: Buffer;
}

/** The fields of a message whose fields all have a length. */
function split(message: Uint8Array): Field[] {
  const reader = new WireReader(message, "message");
  const fields: Field[] = [];
  while (reader.hasMore()) {
    const tag = reader.tag();
    expect(tag & 7).toBe(WIRE.bytes);
    fields.push({ tag, bytes: encodeMessage([bytesField(tag >>> 3, reader.bytes())]) });
  }
  return fields;
}

/** All fields in another order, those of one number as they were, and unknown fields between them. */
function shuffle(fields: readonly Field[], random: Random): Buffer {
  const left = new Map<number, Buffer[]>();
  for (const { tag, bytes } of fields) left.set(tag, [...(left.get(tag) ?? []), bytes]);
  const parts: Buffer[] = [];
  while (left.size > 0) {
    const tag = random.pick([...left.keys()]);
    const queue = left.get(tag) as Buffer[];
    parts.push(queue.shift() as Buffer);
    if (queue.length === 0) left.delete(tag);
    if (random.below(3) === 0) parts.push(unknownField(random));
  }
  return Buffer.concat(parts);
}

function unknownField(random: Random): Buffer {
  return random.pick([
    encodeMessage([textField(99, "unknown")]),
    encodeMessage([integerField(50, -1)]),
    // Field 15 as a fixed 4 bytes, and as a group that holds one.
    Buffer.of((15 << 3) | WIRE.fixed32, 1, 2, 3, 4),
    Buffer.of((15 << 3) | WIRE.group, (15 << 3) | WIRE.fixed32, 1, 2, 3, 4, (15 << 3) | WIRE.groupEnd),
  ]);
}

/** The same for the inputs within. */
function shuffleDeep(message: Uint8Array, random: Random): Buffer {
  const fields = split(message).map(({ tag, bytes }) => {
    if (tag >>> 3 !== INPUTS) return { tag, bytes };
    const reader = new WireReader(bytes, "input");
    reader.tag();
    return { tag, bytes: encodeMessage([bytesField(INPUTS, shuffle(split(reader.bytes()), random))]) };
  });
  return shuffle(fields, random);
}

it("a ModelInferRequest means the same in any order of its fields, with unknown ones between them", () => {
  const random = new Random(31);
  for (let round = 0; round < ROUNDS; round++) {
    const tensors = Array.from({ length: 1 + random.below(3) }, () => random.tensor(random.pick(CARRIED)));
    const message = kserveOracle.encodeRequest({
      model_name: "m",
      model_version: "3",
      id: "7",
      parameters: { a: { int64_param: "5" }, b: { string_param: "s" } },
      inputs: tensors.map(({ dtype, shape }, index) => ({
        name: `x${index}`,
        datatype: datatypeOf(dtype)?.name,
        shape,
      })),
      outputs: [{ name: "y" }, { name: "z" }],
      raw_input_contents: tensors.map(toRaw),
    });
    const { inputs, ...rest } = decodeInferRequest(shuffleDeep(message, random), MEGABYTE);
    const { inputs: expected, ...others } = decodeInferRequest(message, MEGABYTE);
    expect(rest).toEqual(others);
    expect(inputs.map(([name, tensor]) => [name, comparable(tensor)])).toEqual(
      expected.map(([name, tensor]) => [name, comparable(tensor)]),
    );
    expect(inputs.map(([, tensor]) => comparable(tensor))).toEqual(tensors.map(comparable));
  }
});
