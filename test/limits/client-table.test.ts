import { expect, test } from "vitest";
import { ClientTable, type ClientTableRules } from "../../src/limits/client-table.ts";

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
