import { expect, it } from "vitest";
import { HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { HpackEncoder, type SentHeaders } from "../../src/http2/hpack-encoder.ts";

const LIMITS = { maxBytes: 10_000_000, maxFields: 1000 };
const ANSWER = { ":status": 200, "content-type": "application/grpc+proto" };

/** Decodes what an encoder has encoded, as its client does. */
function roundTrip(encoder: HpackEncoder, decoder: HpackDecoder, headers: SentHeaders): [string, string][] {
  const block = encoder.encode(headers);
  return decoder.decode(block, 0, block.length).fields.map(({ name, value }) => [name, value]);
}

it("encodes what a decoder decodes", () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(LIMITS)];
  const headers = { ":status": "418", "content-length": 12, "x-many": ["a", "b"], "x-none": undefined, "x-é": "é" };
  const fields = [
    [":status", "418"],
    ["content-length", "12"],
    ["x-many", "a"],
    ["x-many", "b"],
    ["x-é", "é"],
  ];
  expect(roundTrip(encoder, decoder, headers)).toEqual(fields);
  expect(roundTrip(encoder, decoder, headers)).toEqual(fields);
});

it("sends the fields that answers repeat as one byte each, in whatever order they come", () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(LIMITS)];
  roundTrip(encoder, decoder, ANSWER);
  roundTrip(encoder, decoder, { "grpc-status": "0" });
  roundTrip(encoder, decoder, { "grpc-status": "5", "grpc-message": "no" });
  expect(encoder.encode(ANSWER).length).toBe(2);
  expect(roundTrip(encoder, decoder, ANSWER)).toEqual([
    [":status", "200"],
    ["content-type", "application/grpc+proto"],
  ]);
  expect(encoder.encode({ "grpc-status": "0" }).length).toBe(1);
  expect(roundTrip(encoder, decoder, { "grpc-status": "0" })).toEqual([["grpc-status", "0"]]);
});

it("keeps within the client's table, and evicts nothing", () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(LIMITS)];
  for (let round = 0; round < 2; round++) {
    for (let type = 0; type < 200; type++) {
      const headers = { "content-type": `type/${type}` };
      expect(roundTrip(encoder, decoder, headers)).toEqual([["content-type", `type/${type}`]]);
    }
  }
  expect(encoder.encode({ "content-type": "type/0" }).length).toBe(2);
  expect(encoder.encode({ "content-type": "type/199" }).length).toBeGreaterThan(8);
});

it("follows the size of the client's table, of which it uses no more than the protocol's own", () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(LIMITS)];
  roundTrip(encoder, decoder, ANSWER);
  encoder.limitTable(2 ** 20);
  expect(encoder.encode(ANSWER).length).toBe(2);
  for (const bytes of [0, 100, 4096]) {
    encoder.limitTable(bytes);
    for (let round = 0; round < 2; round++) {
      expect(roundTrip(encoder, decoder, { ...ANSWER, "grpc-status": "0" })).toHaveLength(3);
    }
  }
  encoder.limitTable(0);
  expect(encoder.encode(ANSWER).subarray(0, 2)).toEqual(Buffer.of(0x20, 0x20));
});

it("keeps secrets out of all tables", () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(LIMITS)];
  const block = encoder.encode({ "set-cookie": "a=b", "x-plain": "c" });
  const { fields } = decoder.decode(block, 0, block.length);
  expect(fields.map(({ isNeverIndexed }) => isNeverIndexed)).toEqual([true, false]);
});

it("encodes values of any length", () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(LIMITS)];
  for (const length of [0, 1, 126, 127, 128, 255, 16_510, 1_000_000]) {
    const value = "x".repeat(length);
    expect(roundTrip(encoder, decoder, { "x-long": value, "grpc-status": "0" })).toEqual([
      ["x-long", value],
      ["grpc-status", "0"],
    ]);
  }
});

it("sends names that are numbers after pseudo-header fields, which JavaScript lists last", () => {
  const block = new HpackEncoder().encode({ ":status": 200, a: "b", "1": "x", "2": ["y", "z"] });
  const { fields } = new HpackDecoder({ maxBytes: 1000, maxFields: 10 }).decode(block, 0, block.length);
  expect(fields.map(({ name, value }) => name + value)).toEqual([":status200", "ab", "1x", "2y", "2z"]);
});
