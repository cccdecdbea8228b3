import { expect, test } from "vitest";
import { invalidArgument, ServingError } from "../../src/errors.ts";
import { logFailure } from "../../src/observability/log-failure.ts";
import { RequestRecord } from "../../src/observability/request-record.ts";
import { HttpError } from "../../src/proxy/http-errors.ts";
import { createEventLog } from "../helpers/event-log.ts";

const bug = () => new TypeError("x is no function");
const promised = (cause: unknown) => ServingError.from(cause).message;

function logged(reason: unknown, code = reason instanceof ServingError ? reason.code : undefined) {
  const { log, events } = createEventLog("info");
  logFailure({ reason, code, record: new RequestRecord({}), path: "/" }, log);
  return JSON.stringify(events);
}

test.each([
  ["a bug", (cause: Error) => ServingError.from(cause)],
  ["a bug that is the client's fault to somebody", (cause: Error) => invalidArgument(`y: ${promised(cause)}`, cause)],
  ["a bug with a status of HTTP", (cause: Error) => new HttpError(400, promised(cause), {}, { cause })],
  ["a thread that has failed", (cause: Error) => new ServingError("unavailable", "It failed.", { cause })],
])("%s is in the log with its cause", (_what, errorOf) => {
  expect(logged(errorOf(bug()))).toContain("TypeError: x is no function");
});

test("what the client did wrong is in the log of those who debug", () => {
  expect(logged(invalidArgument("x is missing", bug()))).toBe("[]");
  expect(logged(new HttpError(404, "Not Found"))).toBe("[]");
});
