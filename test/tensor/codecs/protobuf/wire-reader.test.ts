import { describe, expect, it } from "vitest";
import { ServingError } from "../../../../src/errors.ts";
import { WireReader } from "../../../../src/tensor/codecs/protobuf/wire-reader.ts";

function reader(...bytes: number[]): WireReader {
  return new WireReader(Uint8Array.from(bytes), "Thing");
}

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (reason) {
    if (reason instanceof ServingError && reason.code === "invalid_argument") return reason.message;
    throw reason;
  }
  throw new Error("It was not refused.");
}

describe("a varint", () => {
  it.each([
    [[0], 0, 0n],
    [[0x7f], 127, 127n],
    [[0x80, 0x01], 128, 128n],
    [[0xff, 0xff, 0xff, 0xff, 0x0f], 0xffffffff, 0xffffffffn],
    [[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 0xffffffff, 2n ** 63n - 1n],
    [[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], 0xffffffff, -1n],
    [[0x81, 0x80, 0x00], 1, 1n],
  ])("%j is read as 32 and as 64 bits", (bytes, low, value) => {
    expect(reader(...bytes).uint32()).toBe(low);
    expect(reader(...bytes).int64()).toBe(value);
  });

  it.each(["uint32", "int64"] as const)("as %s is refused where it is cut or too long", (method) => {
    expect(refusal(() => reader(0x80)[method]())).toBe("Malformed Thing: it ends inside a varint (byte 1 of 1).");
    const long = new Array(11).fill(0x80);
    expect(refusal(() => reader(...long)[method]())).toContain("a varint is longer than 10 bytes");
  });
});

describe("a field", () => {
  it("with number 0 is refused", () => {
    expect(refusal(() => reader(0x02).tag())).toBe("Malformed Thing: a field has number 0 (byte 1 of 1).");
  });

  it("that claims more than is left is refused", () => {
    expect(refusal(() => reader(5, 1, 2).bytes())).toBe(
      "Malformed Thing: a field claims 5 bytes, 2 are left (byte 1 of 3).",
    );
    expect(refusal(() => reader(0xff, 0xff, 0xff, 0xff, 0x0f).bytes())).toContain(
      "claims 4294967295 bytes, 0 are left",
    );
  });

  it("of a nested message ends where that message ends", () => {
    const nested = reader(2, 5, 1, 9).nested("Inner");
    expect(refusal(() => nested.bytes())).toBe("Malformed Inner: a field claims 5 bytes, 1 are left (byte 1 of 2).");
  });

  it.each([6, 7])("with wire type %i, which does not exist, is refused", (wireType) => {
    expect(refusal(() => reader().skip(8 | wireType))).toContain(`field 1 has wire type ${wireType}`);
  });

  it("of text keeps a byte order mark and everything else", () => {
    const bytes = Buffer.from("\ufeffaü€😀\u0000");
    expect(reader(bytes.length, ...bytes).text()).toBe("\ufeffaü€😀\u0000");
  });
});

describe("a group", () => {
  it("is passed over with all that is in it", () => {
    const thing = reader(0x0b, 0x13, 0x18, 1, 0x14, 0x22, 1, 9, 0x0c, 0x28, 7);
    thing.skip(thing.tag());
    expect(thing.tag()).toBe(0x28);
  });

  it("without its end, with another's end, or an end without a group is refused", () => {
    const skip = (...bytes: number[]) => {
      const thing = reader(...bytes);
      return () => thing.skip(thing.tag());
    };
    expect(refusal(skip(0x0b, 0x10, 1))).toContain("it ends inside a varint");
    expect(refusal(skip(0x0b, 0x14))).toContain("field 2 has wire type 4");
    expect(refusal(skip(0x0c))).toContain("field 1 has wire type 4");
  });

  it("may be nested 100 deep, no more", () => {
    const nested = (depth: number) => [...new Array(depth).fill(0x0b), ...new Array(depth).fill(0x0c)];
    const fine = reader(...nested(100));
    fine.skip(fine.tag());
    expect(fine.hasMore()).toBe(false);
    const deep = new WireReader(Uint8Array.from(nested(100_000)), "Thing");
    expect(refusal(() => deep.skip(deep.tag()))).toContain("groups are nested more than 100 deep");
  });
});
