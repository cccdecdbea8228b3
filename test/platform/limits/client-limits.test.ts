import { expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { ClientLimits, type ClientRules } from "../../../src/platform/limits/client-limits.ts";
import { retryDelayMs } from "../../../src/retry-info.ts";

/** Limits with a clock that stops until it is set. */
function limitsAt(rules: Partial<ClientRules>) {
  const clock = { ms: 0 };
  return { clock, limits: new ClientLimits({ rate: 0, maxInFlight: 0, ...rules }, () => clock.ms) };
}

function refusal(begin: () => unknown): ServingError {
  try {
    begin();
  } catch (reason) {
    return ServingError.from(reason);
  }
  throw new Error("it was not refused");
}

test("a client sends a burst, then as many as its rate, whatever others send", () => {
  const { limits, clock } = limitsAt({ rate: 2, burst: 3 });
  for (let count = 0; count < 3; count++) limits.begin("a");
  const error = refusal(() => limits.begin("a"));
  expect(error).toMatchObject({
    code: "resource_exhausted",
    message:
      "The client sends more than 2 requests per second (--client-rate; 3 at once: --client-burst). Send again in 0.5 s.",
  });
  expect(retryDelayMs(error.details)).toBe(500);
  limits.begin("b");
  clock.ms = 500;
  limits.begin("a");
  expect(refusal(() => limits.begin("a")).code).toBe("resource_exhausted");
  clock.ms = 100_000;
  for (let count = 0; count < 3; count++) limits.begin("a");
  expect(refusal(() => limits.begin("a")).code).toBe("resource_exhausted");
});

test("without a burst a client may send the requests of a second at once", () => {
  const { limits } = limitsAt({ rate: 2 });
  for (let count = 0; count < 2; count++) limits.begin("a");
  expect(refusal(() => limits.begin("a")).code).toBe("resource_exhausted");
});

test("a refused request costs nothing of the rate", () => {
  const { limits, clock } = limitsAt({ rate: 1 });
  limits.begin("a");
  for (let count = 0; count < 10; count++) refusal(() => limits.begin("a"));
  clock.ms = 1000;
  limits.begin("a");
});

test("a request in flight counts until its end, which may be told twice", () => {
  const { limits } = limitsAt({ maxInFlight: 2 });
  const end = limits.begin("a");
  limits.begin("a");
  expect(refusal(() => limits.begin("a"))).toMatchObject({
    code: "resource_exhausted",
    message:
      "The client has 2 requests in flight, the most that one may have (--client-max-in-flight). Send again when one is answered.",
  });
  limits.begin("b");
  end();
  const again = limits.begin("a");
  end();
  expect(refusal(() => limits.begin("a"))).toMatchObject({ details: [expect.anything()] });
  again();
  limits.begin("a");
  expect(refusal(() => limits.begin("a")).code).toBe("resource_exhausted");
});

test("further messages of a stream wait for their turn, one behind the other", () => {
  const { limits } = limitsAt({ rate: 10, burst: 1 });
  limits.begin("a");
  expect([limits.reserve("a"), limits.reserve("a"), limits.reserve("b")]).toEqual([100, 200, 0]);
  expect(limitsAt({ maxInFlight: 1 }).limits.reserve("a")).toBe(0);
});

test("clients without number do not make the table grow, and those with requests in flight stay counted", () => {
  const { limits } = limitsAt({ maxInFlight: 1, maxClients: 1000 });
  limits.begin("busy");
  for (let count = 0; count < 100_000; count++) limits.begin(String(count))();
  expect(limits.size).toBeLessThanOrEqual(1000);
  expect(refusal(() => limits.begin("busy")).code).toBe("resource_exhausted");
});

test("the table is bounded where every client has a request in flight too", () => {
  const { limits } = limitsAt({ maxInFlight: 1, maxClients: 100 });
  for (let count = 0; count < 10_000; count++) limits.begin(String(count));
  expect(limits.size).toBeLessThanOrEqual(100);
});
