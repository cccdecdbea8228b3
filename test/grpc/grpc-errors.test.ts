import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { type ErrorCode, ServingError, STATUS } from "../../src/errors.ts";
import { fromServiceError, toGrpcStatus } from "../../src/grpc/grpc-errors.ts";

describe("a status", () => {
  it.each(Object.keys(STATUS) as ErrorCode[])("has gRPC's own number and the message for %s", (code) => {
    const number = status[code.toUpperCase() as keyof typeof status];
    expect(toGrpcStatus(new ServingError(code, "why"))).toEqual({ code: number, details: "why" });
  });

  it("tells nothing of what was not meant for clients", () => {
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
