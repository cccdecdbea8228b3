import { expect, test } from "vitest";
import { readCertificates, validityProblem } from "../../src/access/pem-certificates.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";

const [certificate] = readCertificates(tlsFile("server.pem"), "certificate");
const [FROM, TO] = [Date.parse(certificate!.validFrom), Date.parse(certificate!.validTo)];
const DAY_MS = 24 * 60 * 60 * 1000;

test.each([
  ["is in time", FROM + DAY_MS, undefined, undefined],
  [
    "is not valid yet",
    FROM - 1,
    false,
    /^the certificate of CN=\S+ is not valid before .+: clients refuse it until then$/,
  ],
  ["has 15 days left", TO - 15 * DAY_MS, undefined, undefined],
  ["has 13 days left", TO - 13 * DAY_MS, true, /^the certificate of CN=\S+ expires on .+ 2126 GMT$/],
  ["is over", TO + 1, false, /^the certificate of CN=\S+ expired on .+ 2126 GMT: clients refuse it$/],
])("a certificate that %s", (_, now, isSoon, text) => {
  const problem = validityProblem([certificate!], now);
  expect(problem?.isSoon).toBe(isSoon);
  if (text !== undefined) expect(problem?.text).toMatch(text);
});

test("a short-lived certificate is renewed in its last tenth", () => {
  const hours = (from: number, to: number) =>
    ({ subject: "", validFrom: new Date(from).toUTCString(), validTo: new Date(to).toUTCString() }) as never;
  const day = hours(0, DAY_MS);
  expect(validityProblem([day], 0.8 * DAY_MS)).toBeUndefined();
  expect(validityProblem([day], 0.95 * DAY_MS)?.text).toMatch(/^the certificate expires on/);
  expect(validityProblem([day, hours(0, DAY_MS / 2)], 0.95 * DAY_MS)?.text).toMatch(/^the certificate expired on/);
});
