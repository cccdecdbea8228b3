import { expect, test } from "vitest";
import { connect } from "../../../src/client/node.ts";

test.each([
  ["texts that are not PEM", { cert: "no", key: "no" }, "The tls option cannot be used"],
  ["a certificate without its key", { cert: "no" }, "The tls option has one of cert and key; expected both"],
])("%s are refused before any call", (_, tls, text) => {
  expect(() => connect("grpcs://127.0.0.1:1", { tls })).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(text) }),
  );
});

test("a connection that is closed takes no further call", async () => {
  const models = connect("grpc://127.0.0.1:1", { retries: false });
  models.$close();
  await expect(models.half?.predict({ x: [1] })).rejects.toMatchObject({
    code: "failed_precondition",
    message: "The connection to grpc://127.0.0.1:1 is closed; connect again.",
  });
});
