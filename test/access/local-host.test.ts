import { expect, test } from "vitest";
import { isLoopback } from "../../src/access/local-host.ts";

test.each(["127.0.0.1", "127.1.2.3", "127.0.0.1:5000", "::ffff:127.0.0.1", "::1", "[::1]", "[::1]:5000", "unix:"])(
  "%s is an address of programs on this machine",
  (address) => {
    expect(isLoopback(address)).toBe(true);
  },
);

test.each([
  "127.0.0.1.example",
  "127.example:5000",
  "127.",
  "128.0.0.1",
  "::1.example",
  "[::1",
  "::2",
  "localhost",
  "",
])("%j is not, whatever it begins with", (address) => {
  expect(isLoopback(address)).toBe(false);
});
