import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { STATIC_TABLE } from "../../src/http2/header-field.ts";
import { HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { ERROR } from "../../src/http2/protocol.ts";
import { Random } from "../grpc/random.ts";

const LIMITS = { maxBytes: 65_535, maxFields: 128 };
/** A size of the table of 256 bytes, which the examples of answers assume. */
const TABLE_OF_256 = "3fe101";

function decode(decoder: HpackDecoder, hex: string): string[] {
  const block = Buffer.from(hex.replaceAll(" ", ""), "hex");
  return decoder.decode(block, 0, block.length).fields.map(({ name, value }) => `${name}: ${value}`);
}

function decodeOne(hex: string): string[] {
  return decode(new HpackDecoder(LIMITS), hex);
}

/** The error of a block that cannot be decoded. */
function failure(hex: string): { code: number; message: string } {
  try {
    decodeOne(hex);
  } catch (error) {
    return error as { code: number; message: string };
  }
  throw new Error(`The block ${hex} was decoded.`);
}

const GET = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
const GET_FRESH = [...GET, "cache-control: no-cache"];
const GET_CUSTOM = [
  ":method: GET",
  ":scheme: https",
  ":path: /index.html",
  ":authority: www.example.com",
  "custom-key: custom-value",
];
const FOUND = [
  ":status: 302",
  "cache-control: private",
  "date: Mon, 21 Oct 2013 20:13:21 GMT",
  "location: https://www.example.com",
];
const NOT_THERE = [":status: 307", ...FOUND.slice(1)];
const COOKIE = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
const OK = [
  ":status: 200",
  "cache-control: private",
  "date: Mon, 21 Oct 2013 20:13:22 GMT",
  "location: https://www.example.com",
  "content-encoding: gzip",
  COOKIE,
];

it("decodes the forms of a field (RFC 7541 C.2)", () => {
  expect(decodeOne("400a637573746f6d2d6b65790d637573746f6d2d686561646572")).toEqual(["custom-key: custom-header"]);
  expect(decodeOne("040c2f73616d706c652f70617468")).toEqual([":path: /sample/path"]);
  expect(decodeOne("100870617373776f726406736563726574")).toEqual(["password: secret"]);
  expect(decodeOne("82")).toEqual([":method: GET"]);
});

it("keeps what may never be indexed apart", () => {
  const decoder = new HpackDecoder(LIMITS);
  const block = Buffer.from("100870617373776f726406736563726574", "hex");
  expect(decoder.decode(block, 0, block.length).fields[0]?.isNeverIndexed).toBe(true);
  expect(() => decode(decoder, "be")).toThrow("index 62");
});

it("decodes requests on one connection, plain and in Huffman's code (RFC 7541 C.3, C.4)", () => {
  const plain = new HpackDecoder(LIMITS);
  expect(decode(plain, "828684410f7777772e6578616d706c652e636f6d")).toEqual(GET);
  expect(decode(plain, "828684be58086e6f2d6361636865")).toEqual(GET_FRESH);
  expect(decode(plain, "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565")).toEqual(GET_CUSTOM);
  expect(decode(plain, "be bf c0")).toEqual([
    "custom-key: custom-value",
    "cache-control: no-cache",
    ":authority: www.example.com",
  ]);
  const coded = new HpackDecoder(LIMITS);
  expect(decode(coded, "828684418cf1e3c2e5f23a6ba0ab90f4ff")).toEqual(GET);
  expect(decode(coded, "828684be5886a8eb10649cbf")).toEqual(GET_FRESH);
  expect(decode(coded, "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf")).toEqual(GET_CUSTOM);
});

it("decodes answers that evict entries, plain and in Huffman's code (RFC 7541 C.5, C.6)", () => {
  const plain = new HpackDecoder(LIMITS);
  const first =
    "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d";
  expect(decode(plain, TABLE_OF_256 + first)).toEqual(FOUND);
  expect(decode(plain, "4803333037c1c0bf")).toEqual(NOT_THERE);
  const third =
    "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31";
  expect(decode(plain, third)).toEqual(OK);
  expect(decode(plain, "be bf c0")).toEqual([COOKIE, "content-encoding: gzip", "date: Mon, 21 Oct 2013 20:13:22 GMT"]);
  expect(() => decode(plain, "c1")).toThrow("index 65");
  const coded = new HpackDecoder(LIMITS);
  const codedFirst =
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3";
  expect(decode(coded, TABLE_OF_256 + codedFirst)).toEqual(FOUND);
  expect(decode(coded, "4883640effc1c0bf")).toEqual(NOT_THERE);
  const codedThird =
    "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007";
  expect(decode(coded, codedThird)).toEqual(OK);
});

it("has the whole static table", () => {
  expect(STATIC_TABLE.length).toBe(61);
  expect(decodeOne("81 90 bd")).toEqual([":authority: ", "accept-encoding: gzip, deflate", "www-authenticate: "]);
});

it("empties the table for an entry that is larger, and for a size of zero", () => {
  const decoder = new HpackDecoder(LIMITS);
  decode(decoder, "4001610162");
  expect(decode(decoder, "be")).toEqual(["a: b"]);
  expect(decode(decoder, `400161 7f a11f ${"62".repeat(4128)}`)).toHaveLength(1);
  expect(() => decode(decoder, "be")).toThrow("index 62");
  decode(decoder, "4001610162");
  expect(decode(decoder, "20 3fe11f")).toEqual([]);
  expect(() => decode(decoder, "be")).toThrow("index 62");
});

it("remembers a block of indexes until the table changes", () => {
  const decoder = new HpackDecoder(LIMITS);
  decode(decoder, "4001610162");
  const block = Buffer.from("82be", "hex");
  const list = decoder.decode(block, 0, 2);
  expect(decoder.decode(Buffer.from("0082be00", "hex"), 1, 3)).toBe(list);
  decode(decoder, "4001630164");
  expect(decode(decoder, "82be")).toEqual([":method: GET", "c: d"]);
  expect(decode(decoder, "82be86")).toEqual([":method: GET", "c: d", ":scheme: http"]);
});

it.each([
  ["an index of zero", "80"],
  ["an index beyond the tables", "be"],
  ["a name's index beyond the tables", "7e0161"],
  ["a size of the table after a field", "82 20"],
  ["a size of the table above ours", "3fe21f"],
  ["an integer that ends nowhere", "ff"],
  ["an integer of more than 24 bits", "ff80808080 01"],
  ["an integer of many zeros", "ff808080808000"],
  ["a text beyond its block", "00 05 61"],
  ["a field without a value", "00 01 61"],
  ["a length that ends nowhere", "00 7f"],
  ["Huffman's code with its end", "00 84 ffffffff 00"],
  ["Huffman's code with eight bits of padding", "00 82 1fff 00"],
  ["Huffman's code with padding of zeros", "00 81 18 00"],
])("refuses %s", (_, hex) => {
  expect(failure(hex)).toMatchObject({ code: ERROR.compression, message: expect.stringMatching(/^HPACK: /) });
});

it("decodes all of a list that is too large, and returns what is within the limits", () => {
  const decoder = new HpackDecoder({ maxBytes: 100, maxFields: 3 });
  const block = Buffer.from("4001610162 4001630164 4001650166".replaceAll(" ", ""), "hex");
  const list = decoder.decode(block, 0, block.length);
  expect([list.fields.length, list.isTooLarge]).toEqual([2, true]);
  expect(decode(decoder, "be bf")).toEqual(["e: f", "c: d"]);
  const many = new HpackDecoder({ maxBytes: 65_535, maxFields: 3 }).decode(Buffer.alloc(100_000, 0x82), 0, 100_000);
  expect([many.fields.length, many.isTooLarge]).toEqual([3, true]);
});

it("refuses a list of many times more texts than it may have, each of which takes time", () => {
  const block = (fields: number) => Buffer.alloc(2 * fields, Buffer.of(0x01, 0));
  const decoder = new HpackDecoder({ maxBytes: 65_535, maxFields: 3 });
  expect(decoder.decode(block(12), 0, 24).isTooLarge).toBe(true);
  expect(() => decoder.decode(block(13), 0, 26)).toThrow(
    expect.objectContaining({ code: ERROR.enhanceYourCalm, message: "too_many_headers" }),
  );
});

it("keeps nothing of entries that the table no longer has, nor of what they came in", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const decoder = new HpackDecoder({ maxBytes: 1e9, maxFields: 1e9 });
  const refs: WeakRef<object>[] = [];
  for (let round = 0; round < 20; round++) {
    // An entry that is larger than the table, as its value's length says: 127 + 0x4000 - 127.
    const block = Buffer.concat([Buffer.of(0x40, 1, 97, 127, 0x81, 0x7f), Buffer.alloc(0x4000, 98)]);
    const list = decoder.decode(block, 0, block.length);
    refs.push(new WeakRef(list.fields[0] as object), new WeakRef(block));
  }
  await new Promise(setImmediate);
  collect();
  // Those of the last round may still be on the stack.
  expect(refs.slice(0, -2).filter((ref) => ref.deref() !== undefined)).toEqual([]);
});

it("says which fields have characters that HTTP/2 forbids", () => {
  const legality = (hex: string) => {
    const block = Buffer.from(hex.replaceAll(" ", ""), "hex");
    return new HpackDecoder(LIMITS).decode(block, 0, block.length).fields.map(({ isLegal }) => isLegal);
  };
  // a: b, A: b, a:a: b, an empty name.
  expect(legality("0001610162 0001410162 0003613a610162 00000162")).toEqual([true, false, false, false]);
  // Values: an empty one, é in latin1, a line feed, a NUL, a space before, a tab behind, a space within.
  expect(legality("00016100 000161 01e9 000161 010a 000161 0100 000161022062 000161026209 00016103622062")).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    true,
  ]);
});

it("decodes any bytes, or throws the error for compression", () => {
  const random = new Random(7);
  let failures = 0;
  for (let round = 0; round < 3000; round++) {
    const block = Buffer.from(random.bytes(random.below(60)));
    try {
      new HpackDecoder(LIMITS).decode(block, 0, block.length);
    } catch (error) {
      expect(error).toMatchObject({ code: ERROR.compression });
      failures++;
    }
  }
  expect(failures).toBeGreaterThan(100);
});
