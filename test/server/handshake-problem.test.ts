import { expect, test } from "vitest";
import { handshakeProblem, warnOfRefused } from "../../src/server/open-tls.ts";
import { createEventLog } from "../helpers/event-log.ts";

test.each([
  ["wrong version number", {}, "it does not speak TLS; expected grpcs:// or https:// there"],
  ["tlsv1 alert unknown ca", {}, "it does not trust the certificate of this server"],
  ["sslv3 alert certificate unknown", {}, "it does not trust the certificate of this server"],
  ["unsupported protocol", {}, "it speaks neither TLS 1.2 nor TLS 1.3"],
  ["socket hang up", { authorizationError: "CERT_HAS_EXPIRED" }, "its certificate has expired"],
  ["read ECONNRESET", {}, "read ECONNRESET"],
])("%s, %j means: %s", (reason, client, meaning) => {
  expect(
    handshakeProblem(Object.assign(new Error(`80:error:0A:SSL routines::${reason}:a.c:1:`), { reason }), client),
  ).toBe(meaning);
});

test("each reason is logged once a minute, with the client's address", () => {
  const { log, events } = createEventLog();
  const warn = warnOfRefused(log);
  for (const reason of ["unsupported protocol", "no shared cipher", "unsupported protocol"])
    warn(new Error(reason), { remoteAddress: "10.0.0.1" });
  expect(events).toMatchObject([
    { msg: expect.stringContaining("neither TLS 1.2"), address: "10.0.0.1" },
    { msg: expect.stringContaining("no cipher") },
  ]);
});
