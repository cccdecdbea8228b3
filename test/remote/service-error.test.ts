import { Metadata, type ServiceError } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { fromServiceError } from "../../src/remote/service-error.ts";

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
