import { Metadata } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { fromMetadata, toMetadata, withoutTransport } from "../../src/remote/metadata-record.ts";
import { isRecord } from "../../src/tensor/record.ts";

it("reads metadata as text: lower-case names, several values joined, binary ones in base64", () => {
  const metadata = new Metadata();
  metadata.add("X-Tag", "a");
  metadata.add("x-tag", "b");
  metadata.add("x-data-bin", Buffer.from([0, 255]));
  const record = fromMetadata(metadata);
  expect({ ...record }).toEqual({ "x-tag": "a, b", "x-data-bin": "AP8=" });
  expect(isRecord(record)).toBe(true);
});

it("writes what it reads", () => {
  const record = { "x-tag": "a", "x-data-bin": "AP8=, AA==" };
  expect({ ...fromMetadata(toMetadata(record)) }).toEqual(record);
});

it("leaves out what gRPC forbids or sets itself", () => {
  const forbidden = {
    "grpc-status": "0",
    ":path": "/",
    "Content-Type": "text/html",
    connection: "close",
    "bad name": "x",
    "x-line": "a\nb",
    "x-letter": "ü",
  };
  expect(toMetadata({ ...forbidden, "x-kept": "1" }).getMap()).toEqual({ "x-kept": "1" });
  expect(withoutTransport({ date: "now", "content-type": "application/grpc", "x-kept": "1" })).toEqual({
    "x-kept": "1",
  });
});
