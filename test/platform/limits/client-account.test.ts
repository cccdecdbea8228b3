import { expect, test } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import {
  ClientAccounts,
  ClientLimits,
  type ClientRules,
  ClientTable,
  type ClientTableRules,
} from "../../../src/platform/limits/client-account.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { retryDelayMs } from "../../../src/retry-info.ts";

test("a client's account has the memory and the requests of all its shares, until they are released", () => {
  const budget = new MemoryBudget(1000);
  const share = budget.open();
  share.grow(100);
  expect(share.client).toBe(budget.clients.none);
  share.belongTo("a");
  const account = budget.clients.of("a");
  expect(share.client).toBe(account);
  expect(account).toMatchObject({ key: "a", bytes: 100, requests: 1 });
  const part = share.split(40);
  const other = budget.open(10, "a");
  other.grow(5);
  expect(account).toMatchObject({ bytes: 105, requests: 3 });
  for (const each of [share, part, other, share]) each.release();
  expect(account).toMatchObject({ bytes: 0, requests: 0 });
  expect(budget.clients.none).toMatchObject({ bytes: 0, requests: 0 });
});

test("a share that was released belongs to its client no more", () => {
  const budget = new MemoryBudget(1000);
  const share = budget.open(0, "a");
  share.release();
  share.belongTo("b");
  expect(budget.clients.of("b").isIdle).toBe(true);
});

test("a client that holds something is not forgotten, however many others come", () => {
  const accounts = new ClientAccounts(8);
  const [busy, idle] = [accounts.of("busy"), accounts.of("idle")];
  busy.requests++;
  for (let client = 0; client < 100; client++) accounts.of(String(client));
  expect(accounts.of("busy")).toBe(busy);
  expect(accounts.of("idle")).not.toBe(idle);
  expect(accounts.of("")).toBe(accounts.none);
});

test("each client has a number of its own, from 0 on, and is idle while it holds neither bytes nor requests", () => {
  const accounts = new ClientAccounts();
  expect(["a", "b", "a", "c"].map((key) => accounts.of(key).number)).toEqual([0, 1, 0, 2]);
  const account = accounts.of("a");
  account.bytes = 1;
  expect([account.isIdle, accounts.of("b").isIdle]).toEqual([false, true]);
});

interface Client {
  readonly key: string;
  isBusy: boolean;
}

/** A table that counts how often it asks about a client. */
function tableOf(rules: Partial<ClientTableRules<Client>>) {
  const asked = { count: 0 };
  const isBusy = (client: Client) => {
    asked.count++;
    return client.isBusy;
  };
  return { asked, table: new ClientTable({ create: (key) => ({ key, isBusy: false }), isBusy, ...rules }) };
}

test("the quietest clients are forgotten, and those that are asked for stay", () => {
  const { table } = tableOf({ maxClients: 8 });
  const [known, quiet] = [table.of("known"), table.of("quiet")];
  for (let client = 0; client < 20; client++) {
    table.of(String(client));
    expect(table.of("known")).toBe(known);
    expect(table.size).toBeLessThanOrEqual(8);
  }
  expect(table.of("quiet")).toEqual(quiet);
  expect(table.of("quiet")).not.toBe(quiet);
});

test("a client that comes back is remembered once, as it was", () => {
  const { table } = tableOf({ maxClients: 4 });
  const first = table.of("0");
  for (const key of ["1", "2"]) table.of(key);
  expect(table.of("0")).toBe(first);
  expect(table.size).toBe(3);
});

test("busy clients stay, until there are more of them than may", () => {
  const { table } = tableOf({ maxClients: 8, maxBusy: 2 });
  const busy = ["a", "b", "c"].map((key) => table.of(key));
  for (const client of busy) client.isBusy = true;
  for (let client = 0; client < 20; client++) table.of(String(client));
  expect(busy.map((client) => table.of(client.key) === client)).toEqual([true, true, false]);
});

test("where all are busy, all stay, and room is looked for in proportion to those that come", () => {
  const { table, asked } = tableOf({ maxClients: 8 });
  for (let client = 0; client < 1000; client++) table.of(String(client)).isBusy = true;
  expect(table.size).toBe(1000);
  expect(asked.count).toBeLessThanOrEqual(2000);
});

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

test("requests are counted by the clock of the process where no other is given", () => {
  const limits = new ClientLimits({ rate: 0.001, maxInFlight: 0 });
  limits.begin("a");
  expect(refusal(() => limits.begin("a")).code).toBe("resource_exhausted");
});

test("those with requests in flight stay counted where others came before them", () => {
  const { limits } = limitsAt({ maxInFlight: 1, maxClients: 8 });
  for (const client of ["first", "second"]) limits.begin(client)();
  limits.begin("busy");
  for (let count = 0; count < 100; count++) limits.begin(String(count))();
  expect(refusal(() => limits.begin("busy")).message).toContain("The client has 1 request in flight, the most");
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
