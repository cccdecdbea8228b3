import { expect, test } from "vitest";
import { readAccountKey, readClientKey } from "../../src/access/client-key.ts";
import { TrustedProxies } from "../../src/access/trusted-proxies.ts";

const NO_PROXIES = new TrustedProxies([]);
const CALL = { address: "198.51.100.7", host: undefined, headers: {} };

test.each([
  ["198.51.100.7", "198.51.100.7"],
  ["::ffff:198.51.100.7", "198.51.100.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:2::6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["1::2:3:4:5:6:7", "1:0:2:3::/64"],
  ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["unix:", "unix:"],
  ["", ""],
])("by address, %j is %s", (address, key) => {
  expect(readClientKey("address", NO_PROXIES)({ ...CALL, address })).toBe(key);
});

test("by user, where the call has one", () => {
  const key = readClientKey("user", NO_PROXIES);
  expect([key({ ...CALL, user: "ann" }), key(CALL), key({ ...CALL, user: "" })]).toEqual([
    "user ann",
    "198.51.100.7",
    "198.51.100.7",
  ]);
});

test("by a header, of bounded length and apart from addresses", () => {
  const key = readClientKey("header:X-Api-Key", NO_PROXIES);
  const of = (value: unknown) => key({ ...CALL, headers: { "x-api-key": value } });
  expect([of("a"), of(undefined), of("198.51.100.7")]).toEqual(["header a", "198.51.100.7", "header 198.51.100.7"]);
  expect([of("k".repeat(64)), of("k".repeat(65))?.length]).toEqual([`header ${"k".repeat(64)}`, "header ".length + 44]);
  const long = ["a", "b"].map((end) => of("k".repeat(100_000) + end));
  expect(long[0]).not.toBe(long[1]);
  expect(long[0]?.length).toBeLessThan(80);
});

test.each(["ip", "", "header:", "header:a b", "Address"])("refuses %j", (text) => {
  expect(() => readClientKey(text, NO_PROXIES)).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message: `The clients' key "${text}" (--client-key) is not known; expected address, user or header:NAME, for example header:x-api-key.`,
    }),
  );
});

test("an account is that of a user, else of a connection's address, which is looked at once", () => {
  const key = readAccountKey("address", NO_PROXIES);
  const connection = {};
  expect(key({ ...CALL, user: "ann" })).toBe("user ann");
  expect([key({ ...CALL, connection }), key({ ...CALL, address: "::1", connection })]).toEqual([
    "198.51.100.7",
    "198.51.100.7",
  ]);
  expect(key({ ...CALL, address: "" })).toBe("unix:");
});

test("behind a trusted proxy, an account is that of the client, not of the connection", () => {
  const key = readAccountKey("address", new TrustedProxies(["198.51.100.7"]));
  const connection = {};
  const of = (client: string) => key({ ...CALL, headers: { "x-forwarded-for": client }, connection });
  expect([of("203.0.113.1"), of("203.0.113.2")]).toEqual(["203.0.113.1", "203.0.113.2"]);
});
