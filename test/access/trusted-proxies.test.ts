import { expect, test } from "vitest";
import { TrustedProxies } from "../../src/access/trusted-proxies.ts";

const proxies = new TrustedProxies(["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "unix:"]);

function seen(address: string, forwarded?: unknown): string {
  return proxies.clientAddress({ address, headers: { "x-forwarded-for": forwarded } });
}

test.each([
  ["a client that is no proxy, whatever it says", "198.51.100.7", "1.1.1.1", "198.51.100.7"],
  ["a proxy without the header", "10.1.1.1", undefined, "10.1.1.1"],
  ["the client behind a proxy", "10.1.1.1", "198.51.100.7", "198.51.100.7"],
  [
    "the last entry that is no proxy, not what the client invented",
    "10.1.1.1",
    "1.1.1.1, 198.51.100.7",
    "198.51.100.7",
  ],
  ["the client behind two proxies", "10.1.1.1", "1.1.1.1, 198.51.100.7, 192.0.2.1", "198.51.100.7"],
  ["the first of proxies alone", "10.1.1.1", "10.2.2.2,10.3.3.3", "10.2.2.2"],
  ["the proxy where its entry is no address", "10.1.1.1", "1.1.1.1, unknown", "10.1.1.1"],
  ["IPv4 within IPv6", "::ffff:10.1.1.1", "::ffff:198.51.100.7", "198.51.100.7"],
  ["an entry with a port", "10.1.1.1", "198.51.100.7:4711", "198.51.100.7"],
  ["an IPv6 entry with brackets and a port", "2001:db8::1", "[2001:db9::7]:4711", "2001:db9::7"],
  ["a client of the Unix socket", "unix:", "198.51.100.7", "198.51.100.7"],
  ["a connection that has gone", "", "198.51.100.7", ""],
  ["a header that is a list", "10.1.1.1", ["198.51.100.7"], "10.1.1.1"],
])("sees %s", (_, address, forwarded, expected) => {
  expect(seen(address, forwarded)).toBe(expected);
});

test("a header of a megabyte is looked at for a few entries alone", () => {
  expect(seen("10.1.1.1", `198.51.100.7${", 10.2.2.2".repeat(100_000)}`)).toBe("10.2.2.2");
});

test("without proxies no address is believed", () => {
  const none = new TrustedProxies([]);
  expect(none.clientAddress({ address: "10.1.1.1", headers: { "x-forwarded-for": "1.1.1.1" } })).toBe("10.1.1.1");
});

test.each(["10.0.0.0/33", "10.0.0", "proxy.example", "10.0.0.0/-1", "", "::1/129", "10.0.0.0/8/8", "a/10.0.0.0/8"])(
  "refuses %j as a proxy",
  (range) => {
    expect(() => new TrustedProxies([range])).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: `The trusted proxy "${range}" is not an address; expected ADDRESS, ADDRESS/BITS or unix:, for example 10.0.0.0/8.`,
      }),
    );
  },
);

test("ranges of any length are those addresses, and no others", () => {
  const some = new TrustedProxies(["10.1.0.0/16", "2001:db8:1:2::/64", "192.0.2.1", "2001:db8::1"]);
  const inside = ["10.1.255.255", "10.1.0.0:80", "2001:db8:1:2:ffff::1", "[2001:db8::1]:80", "192.0.2.1"];
  const outside = ["10.2.0.0", "10.0.255.255", "2001:db8:1:3::1", "2001:db8::2", "192.0.2.2", "unix:", ""];
  expect(inside.map((address) => some.trusts(address))).toEqual(inside.map(() => true));
  expect(outside.map((address) => some.trusts(address))).toEqual(outside.map(() => false));
  expect([some.areSome, new TrustedProxies([]).areSome]).toEqual([true, false]);
});
