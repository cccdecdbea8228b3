import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkTflite } from "../../../src/drivers/tflite-format/check-tflite.ts";
import { formatModel } from "../tensorflow/format-models.ts";

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
