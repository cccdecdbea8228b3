import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { type ErrorCode, ServingError, STATUS } from "../../src/errors.ts";
import { toGrpcStatus } from "../../src/grpc/grpc-errors.ts";

describe("a status", () => {
  it.each(Object.keys(STATUS) as ErrorCode[])("has gRPC's own number and the message for %s", (code) => {
    const number = status[code.toUpperCase() as keyof typeof status];
    expect(toGrpcStatus(new ServingError(code, "why"))).toEqual({ code: number, details: "why" });
  });

  it("contain nothing that is not meant for clients", () => {
    const cause = new Error("/secret/path");
    expect(toGrpcStatus(cause)).toEqual({
      code: status.INTERNAL,
      details: "Internal error; the server's log has the cause.",
    });
    expect(toGrpcStatus(new ServingError("unavailable", "Busy.", { cause })).details).toBe("Busy.");
  });

  it("cuts a long message as TensorFlow Serving does, at 1024 bytes and never inside a character", () => {
    expect(toGrpcStatus(new ServingError("internal", "a".repeat(1024))).details).toBe("a".repeat(1024));
    expect(toGrpcStatus(new ServingError("internal", "a".repeat(1025))).details).toBe(
      `${"a".repeat(1024)}...TRUNCATED`,
    );
    expect(toGrpcStatus(new ServingError("internal", `a${"€".repeat(400)}`)).details).toBe(
      `a${"€".repeat(341)}...TRUNCATED`,
    );
  });

  it("carries no half of a surrogate pair, on which grpc-js would fail", () => {
    expect(toGrpcStatus(new ServingError("internal", "a\ud800b")).details).toBe("a\ufffdb");
  });
});
