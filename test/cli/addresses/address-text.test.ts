import { expect, test } from "vitest";
import { toReachableAddress } from "../../../src/cli/addresses/address-text.ts";

test.each([
  ["0.0.0.0:9000", "localhost:9000"],
  ["[::]:9000", "localhost:9000"],
  ["http://0.0.0.0:9001", "http://localhost:9001"],
  ["http://[::]:9001", "http://localhost:9001"],
  ["10.0.0.0:9000", "10.0.0.0:9000"],
  ["[::1]:9000", "[::1]:9000"],
  ["http://models.internal:9001", "http://models.internal:9001"],
])("%s is reached at %s", (bound, reachable) => {
  expect(toReachableAddress(bound)).toBe(reachable);
});

test("a program gets a number, since the name may mean another protocol's address", () => {
  expect(toReachableAddress("0.0.0.0:9000", "127.0.0.1")).toBe("127.0.0.1:9000");
});
