import { expect, test } from "vitest";
import { cutJson } from "../../src/pipeline/json-cutter.ts";
import {
  checkJsonObject,
  openJson,
  openPayload,
  payloadBytes,
  sealJson,
  sealJsonInTurns,
} from "../../src/pipeline/payload.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";

const { signal } = new AbortController();

/** The message with which JSON is refused. */
function refusal(open: () => unknown): string {
  try {
    open();
  } catch (reason) {
    return (reason as Error).message;
  }
  return "it is not refused";
}

test("large JSON is refused for the reasons of small JSON", () => {
  const bad = ['{"x":[1,]}', '{"x":1', "[1]", '"a"', '{"x":"', '{"x":01}', `{"x":${"[".repeat(1001)}`, "", "\ufeff[]"];
  for (const text of bad) {
    const json = Buffer.from(text);
    expect(refusal(() => checkJsonObject(json))).toBe(refusal(() => openPayload({ kind: "json", json })));
  }
  const notUtf8 = Buffer.concat([Buffer.from(`{"x":"${" ".repeat(100)}`), Buffer.of(0xff), Buffer.from('"}')]);
  for (const json of [notUtf8, Buffer.concat([notUtf8, Buffer.alloc(2_000_000, " ")])])
    expect(refusal(() => checkJsonObject(json))).toMatch(/^The body is not JSON: .*utf-8/);
});

test("what is wrong with JSON is told from its surroundings alone, whatever is behind or before them", () => {
  for (const lead of ["", " ", "  "]) {
    const early = Buffer.from(`${lead}{"x":[1,]}${"é".repeat(1_000_000)}`);
    expect(refusal(() => checkJsonObject(early))).toMatch(/^The body is not JSON: Unexpected token '\]'/);
  }
  const late = Buffer.from(`{"x":[${"1,".repeat(1_000_000)}]}`);
  expect(refusal(() => checkJsonObject(late))).toBe(
    "The body is not JSON: Unexpected token ']' in JSON at position 2000006",
  );
  const half = late.subarray(0, -2);
  expect(refusal(() => checkJsonObject(half))).toBe("The body is not JSON: Unexpected end of JSON input");
  expect(checkJsonObject(Buffer.from(`{"x":[${"1,".repeat(1_000_000)}1]}`))).toBeUndefined();
});

test("the text of large JSON is let go of once it is parsed, and no client skips a model", async () => {
  const cut = (text: string) => {
    const json = new TextEncoder().encode(text);
    return { kind: "json", json, steps: cutJson(json, 100) } as const;
  };
  const numbers = Array.from({ length: 1000 }, (_, index) => index / 2);
  const payload = cut(JSON.stringify({ x: numbers }));
  expect(await openJson(payload, signal)).toEqual({ x: numbers });
  expect(payload.json.length).toBe(0);
  const skipping = cut(JSON.stringify({ x: numbers, "ml-serving-ignore": true }));
  await expect(openJson(skipping, signal)).rejects.toMatchObject({ code: "invalid_argument" });
});

test("the size of a payload has its long names, of which a client may send more than values", () => {
  const bytesOf = (...names: string[]) =>
    payloadBytes({ kind: "tensors", tensors: toTensors(Object.fromEntries(names.map((name) => [name, "a"]))) });
  expect(bytesOf("x", "n".repeat(256))).toBe(2);
  expect(bytesOf("x", "n".repeat(4096))).toBe(2 + 2 * 4096);
});

test("others have their turns while a large answer is written, which takes memory of its own size", async () => {
  let [turns, isOver] = [0, false];
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const values = { x: Array.from({ length: 500_000 }, (_, index) => index / 7), y: "é" };
  const json = await sealJsonInTurns(values, signal);
  isOver = true;
  expect(turns).toBeGreaterThan(1);
  expect(json.byteLength).toBe(json.buffer.byteLength);
  expect(Buffer.compare(json, sealJson(values))).toBe(0);
});

test("writing ends where the request does", async () => {
  const leaving = new AbortController();
  const written = sealJsonInTurns({ x: new Array(3_000_000).fill(1.2345) }, leaving.signal);
  leaving.abort(new Error("left"));
  await expect(written).rejects.toThrow("left");
});
