import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FlatbufferTable } from "../../../src/drivers/tflite-format/flatbuffer-table.ts";
import { checkTflite } from "../../../src/drivers/tflite-format/read-tflite.ts";
import { readTfliteSignatures } from "../../../src/drivers/tflite-format/tflite-signatures.ts";
import { formatModel } from "../tensorflow/format-models.ts";
import { type Part, writeFlatbuffer } from "./write-flatbuffer.ts";

const FILES = ["lite_two_inputs", "lite_int8", "lite_dtypes", "lite_loop", "lite_text", "lite_unknown_rank"];

function contentOf(name: string): Buffer {
  return readFileSync(formatModel(`${name}/model.tflite`));
}

function check(content: Buffer): void {
  checkTflite(new DataView(content.buffer, content.byteOffset, content.byteLength));
}

describe("a .tflite file", () => {
  it.each(FILES)("that a converter wrote passes: %s", (name) => {
    expect(() => check(contentOf(name))).not.toThrow();
  });

  it.each(FILES)("passes or fails with a RangeError, whatever bit is flipped: %s", (name) => {
    const content = contentOf(name);
    let refused = 0;
    for (let bit = 0; bit < content.length * 8; bit += 3) {
      const at = bit >> 3;
      const byte = content[at] as number;
      content[at] = byte ^ (1 << (bit & 7));
      refused += isRefused(content) ? 1 : 0;
      content[at] = byte;
    }
    expect(refused).toBeGreaterThan(content.length / 4);
  });

  it.each(FILES)("is refused when it is cut short: %s", (name) => {
    const content = contentOf(name);
    for (let length = 0; length < content.length - 32; length += 7) {
      expect(isRefused(Buffer.from(content.subarray(0, length)))).toBe(true);
    }
  });

  it("is refused with an operator that writes over what is known, which ends OpenVINO's process", () => {
    const content = contentOf("lite_two_inputs");
    content[704] = (content[704] as number) ^ 2;
    expect(() => check(content)).toThrow("the tensor 2 is computed twice");
  });

  const splitInto = (...outputs: number[]): Buffer => {
    const operator = { fields: { 1: { ints: [0] }, 2: { ints: outputs } } };
    const tensors = [[4], [4], [0]].map((shape) => ({ fields: { 0: { ints: shape } } }));
    const graph = { 0: { tables: tensors }, 1: { ints: [0] }, 2: { ints: [1] }, 3: { tables: [operator] } };
    const one = { tables: [{ fields: {} }] };
    return writeFlatbuffer({ fields: { 1: one, 2: { tables: [{ fields: graph }] }, 4: one } });
  };

  it("passes where an operator computes a tensor without elements, as the empty part of a split", () => {
    expect(() => check(splitInto(1, 2))).not.toThrow();
  });

  it("is refused where an operator computes such a tensor twice", () => {
    expect(() => check(splitInto(1, 2, 2))).toThrow("the tensor 2 is computed twice");
  });

  const many = (part: Part): Part => ({ tables: Array.from({ length: 50_000 }, () => part) });
  const long: Part = { ints: Array.from({ length: 50_000 }, () => 0) };
  const tensor: Part = { fields: { 0: { ints: [1] } } };

  it.each([
    ["inputs of its operators", { 0: { tables: [tensor] }, 1: { ints: [0] }, 3: many({ fields: { 1: long } }) }],
    ["a shape of its tensors", { 0: many({ fields: { 0: long } }) }],
  ])("is refused where it shares %s so often that the list of all would end the process", (_, graph) => {
    const parts = {
      1: { tables: [{ fields: {} }] },
      2: { tables: [{ fields: graph }] },
      4: { tables: [{ fields: {} }] },
    };
    expect(() => check(writeFlatbuffer({ fields: parts }))).toThrow("its tables refer to each other too often");
  });

  it("is checked at once where many signatures have the same graph of many tensors", () => {
    const graph = { fields: { 0: many(tensor) } };
    const model = { 2: { tables: [graph] }, 4: { tables: [{ fields: {} }] }, 7: many({ fields: { 4: 0 } }) };
    const content = writeFlatbuffer({ fields: model });
    const begin = performance.now();
    check(content);
    readTfliteSignatures(FlatbufferTable.root(new DataView(content.buffer, content.byteOffset, content.byteLength)));
    expect(performance.now() - begin).toBeLessThan(5000);
  });
});

function isRefused(content: Buffer): boolean {
  try {
    check(content);
    return false;
  } catch (reason) {
    if (reason instanceof RangeError) return true;
    throw reason;
  }
}
