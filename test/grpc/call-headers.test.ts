import { describe, expect, it } from "vitest";
import { httpRefusal, readCallHeaders } from "../../src/grpc/call-headers.ts";
import { isRecord } from "../../src/tensor/record.ts";

const plain = { ":method": "POST", ":path": "/a/B", "content-type": "application/grpc", te: "trailers" };

function received(byName: Readonly<Record<string, string>>) {
  return { byName, raw: rawOf(byName) };
}

function rawOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat();
}

describe("a call", () => {
  it.each([
    [{}, undefined],
    [{ "content-type": "application/grpc+proto" }, undefined],
    [{ "content-type": "application/grpc;charset=utf-8" }, undefined],
    [{ "content-type": "application/json" }, 415],
    [{ "content-type": "application/grpc-web" }, 415],
    [{ ":method": "GET" }, 405],
  ])("with %j is refused with the HTTP status %s", (headers, status) => {
    expect(httpRefusal({ ...plain, ...headers })).toBe(status);
  });

  it("brings metadata without what belongs to the call, and binary values as padded base64", () => {
    const own = { "grpc-accept-encoding": "gzip", "grpc-encoding": "identity", "accept-encoding": "x" };
    const more = { "user-agent": "test", "x-tag": "a", "x-list": "c", "x-raw-bin": "AP8" };
    const raw = [...rawOf({ ...plain, ...own, ...more }), "x-tag", "b", "x-list", "d", "x-raw-bin", "AA"];
    const several = { "x-tag": "a, b", "x-list": "c, d", "x-raw-bin": "AP8, AA" };
    const { metadata, deadline } = readCallHeaders({ byName: { ...plain, ...own, ...more, ...several }, raw });
    expect(metadata).toEqual({ "user-agent": "test", "x-tag": "a, b", "x-list": "c, d", "x-raw-bin": "AP8=, AA==" });
    expect(deadline).toBeUndefined();
    expect(isRecord(metadata)).toBe(true);
  });

  it("reads a binary name that comes many times once", () => {
    // Once for each time that it came, this would take minutes.
    const raw = Array.from({ length: 2000 }, () => ["x-bin", ",".repeat(400)]).flat();
    const value = ",".repeat(400 * 2000);
    const { metadata } = readCallHeaders({ byName: { "x-bin": value }, raw });
    expect(metadata["x-bin"]).toHaveLength(2 * value.length);
  });
});

describe("a timeout", () => {
  it.each([
    ["2H", 7_200_000],
    ["3M", 180_000],
    ["4S", 4000],
    ["50m", 50],
    ["70000u", 70],
    ["99999999n", 99],
  ])("of %s is %i ms", (text, milliseconds) => {
    const { deadline } = readCallHeaders(received({ ...plain, "grpc-timeout": text }));
    expect(Math.abs((deadline as number) - Date.now() - milliseconds)).toBeLessThan(1000);
  });

  it.each(["", "5", "m", "-1S", "123456789S", "1 S", "1s"])("of %j is refused", (text) => {
    expect(() => readCallHeaders(received({ ...plain, "grpc-timeout": text }))).toThrow(
      `Invalid grpc-timeout value "${text}"`,
    );
  });
});
