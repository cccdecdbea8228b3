import { expect, it } from "vitest";
import { decodePredictJson, encodePredictJson } from "../../../src/protocols/kibernetika/grpc-codec.ts";
import { oracle } from "../../grpc/oracle.ts";

it("passes the bytes of a PredictJSONData through untouched, both ways", () => {
  const json = Buffer.from('{ "ü": [1,  2.50] }\n\u0000');
  const theirs = oracle.encodeJson({ json_string: json });
  expect(Buffer.from(decodePredictJson(theirs))).toEqual(json);
  expect(oracle.decodeJson(encodePredictJson(json))).toEqual({ json_string: json });
});

it("reads the last of several, nothing where there is none, and past what it does not know", () => {
  expect(decodePredictJson(Uint8Array.of(0x0a, 1, 65, 0x12, 1, 9, 0x0a, 1, 66))).toEqual(Uint8Array.of(66));
  expect(decodePredictJson(new Uint8Array(0))).toHaveLength(0);
});

it("refuses a message that is cut short", () => {
  expect(() => decodePredictJson(Uint8Array.of(0x0a, 5, 65))).toThrow(
    "Malformed PredictJSONData: a field claims 5 bytes, 1 are left (byte 2 of 3).",
  );
});
