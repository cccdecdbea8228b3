import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import {
  fromMetadata,
  fromServiceError,
  toMetadata,
  withoutTransport,
} from "../../../src/client/remote/grpc-messages.ts";
import { isRecord } from "../../../src/tensor/record.ts";

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

describe("another server's failure", () => {
  const fail = (code: number, details: string, headers: Record<string, string> = {}) => {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return Object.assign(new Error(`${code}: ${details}`), { code, details, metadata }) as ServiceError;
  };
  const trailersOnly = { "content-type": "application/grpc" };

  it("is an error with that server's text, whether it sent headers before or not", () => {
    expect(fromServiceError(fail(5, "gone"), true)).toMatchObject({ code: "not_found", message: "gone" });
    expect(fromServiceError(fail(5, "gone", trailersOnly), false)).toMatchObject({ message: "gone" });
    expect(fromServiceError(fail(99, ""), true)).toMatchObject({ code: "unknown", message: "99: " });
  });

  it.each([
    [14, "No connection established. Last error: connect ECONNREFUSED 10.1.2.3:9000", /cannot be reached/],
    [4, "Deadline exceeded after 0.05s,remote_addr=10.1.2.3:9000", /deadline passed/],
    [13, "read ECONNRESET 10.1.2.3:9000", /call of the server behind this one failed/],
  ])("of the transport, %i, tells no address but keeps it in the cause", (code, details, text) => {
    const error = fromServiceError(fail(code, details), false);
    expect(error.message).toMatch(text);
    expect(error.message).not.toContain("10.1.2.3");
    expect(error.cause).toMatchObject({ details });
  });
});
