import { describe, expect, it } from "vitest";
import { readFlexbufferMap } from "../../../../src/drivers/tensorflow/tflite/signature-defs.ts";
import { Random } from "../../../grpc/random.ts";

/** `{"a": "x", "n": 7, "s": "yz"}` as FlatBuffers' own builder for Python writes it. */
const MAP = Buffer.from("61000178006e00730002797a00030e0a0903010311070c140414062401", "hex");

function read(bytes: Uint8Array): Record<string, string> {
  return Object.fromEntries([...readFlexbufferMap(bytes)].map(([key, value]) => [key, Buffer.from(value).toString()]));
}

interface Sharing {
  readonly key: string;
  readonly value: string;
  readonly entries: number;
}

/** A map whose entries all have the same key and the same value, of widths of 4 bytes. */
function sharing({ key, value, entries }: Sharing): Buffer {
  const head = Buffer.from(`${key}\0....${value}`);
  head.writeUInt32LE(value.length, key.length + 1);
  const back = (start: number, target: number) => {
    const bytes = Buffer.alloc(4 * entries);
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(start + at - target, at);
    return bytes;
  };
  const values = head.length + 4 * entries + 12;
  const counts = Buffer.from(Uint32Array.of(4 * entries, 4, entries).buffer);
  const end = Buffer.from([0, 0, 0, 0, 38, 4]);
  end.writeUInt32LE(5 * entries);
  const types = Buffer.alloc(entries, 22);
  return Buffer.concat([head, back(head.length, 0), counts, back(values, key.length + 5), types, end]);
}

describe("readFlexbufferMap", () => {
  it("gives the texts of a map, whatever else is in it", () => {
    expect(read(MAP)).toEqual({ a: "x", s: "yz" });
  });

  it("reads texts whose lengths and places take two bytes", () => {
    const long = Buffer.concat([
      Buffer.from([0x6b, 0, 0x2c, 0x01]),
      Buffer.from("v".repeat(300)),
      Buffer.from("0071000177000200380109000400020002003e0110001514062501", "hex"),
    ]);
    expect(read(long)).toEqual({ k: "v".repeat(300), q: "w" });
  });

  it.each([
    ["nothing", ""],
    ["a number", "070401"],
    ["a root that leads out", "ff2401"],
    ["a map that is cut in front", MAP.subarray(16).toString("hex")],
  ])("refuses %s", (_, hex) => {
    expect(() => readFlexbufferMap(Buffer.from(hex, "hex"))).toThrow(RangeError);
  });

  it("takes what entries share, and refuses what they share too often", () => {
    expect(readFlexbufferMap(sharing({ key: "k", value: "v".repeat(300), entries: 3 })).size).toBe(1);
    expect(() => readFlexbufferMap(sharing({ key: "k".repeat(5000), value: "", entries: 3 }))).toThrow("has no end");
    const value = "v".repeat(100_000);
    expect(() => readFlexbufferMap(sharing({ key: "k", value, entries: 100_000 }))).toThrow("shared too often");
  });

  it("throws nothing but RangeError for any bytes", () => {
    const random = new Random(7);
    for (let round = 0; round < 20_000; round++) {
      const bytes = Uint8Array.from(MAP);
      for (let change = 0; change <= random.below(4); change++) bytes[random.below(bytes.length)] = random.below(256);
      try {
        readFlexbufferMap(bytes);
      } catch (reason) {
        if (!(reason instanceof RangeError)) throw reason;
      }
    }
  });
});
