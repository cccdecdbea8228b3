import { constants } from "node:buffer";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../../../src/tensor/codecs/json/json-reader.ts";
import { JsonWriter } from "../../../../src/tensor/codecs/json/json-writer.ts";
import { toJsonText } from "../../../../src/tensor/json-text.ts";
import { ampleBudget } from "../../../proxy/ample-budget.ts";

/** Each takes about a gigabyte for a second or two. */
const LIMIT_MS = 120_000;
const LONGEST = constants.MAX_STRING_LENGTH;

describe("more than one string holds", { timeout: LIMIT_MS }, () => {
  test("is written as base64", () => {
    const writer = new JsonWriter();
    const bytes = Buffer.alloc(3 * Math.ceil(LONGEST / 4), 0xff);
    writer.base64(bytes);
    expect(writer.length).toBe(2 + (4 * bytes.length) / 3);
    expect(writer.finish().subarray(-3).toString()).toBe('//"');
  });

  test("is written as the text of bytes, each of which takes six characters", () => {
    const writer = new JsonWriter();
    const bytes = Buffer.alloc(Math.ceil(LONGEST / 6));
    writer.text(bytes);
    expect(writer.length).toBe(2 + 6 * bytes.length);
  });

  test("is refused in a request's JSON, saying so", () => {
    const json = Buffer.alloc(LONGEST + 2, "a");
    json[0] = json[json.length - 1] = 0x22;
    expect(() => parseJson(json, ampleBudget())).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: expect.stringContaining("String of 536870888 bytes"),
      }),
    );
  });

  test("is refused as an answer's text, saying so, and not as something that contains itself", () => {
    const half = "x".repeat(LONGEST / 2);
    expect(() => toJsonText({ a: half, b: half })).toThrow(
      expect.objectContaining({
        code: "out_of_range",
        message: "The values take more characters than JSON text may have; send and ask for them as tensors.",
      }),
    );
  });
});

test("a long text is written in pieces that end between characters", () => {
  const text = `x${'é日😀"'.repeat(700_000)}`;
  const writer = new JsonWriter();
  writer.text(Buffer.from(text));
  expect(writer.finish().toString() === JSON.stringify(text)).toBe(true);
});
