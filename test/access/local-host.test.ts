import { syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";
import os, { hostname, networkInterfaces } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { isLoopback, isOwnHost, markLocal, plainAddress } from "../../src/access/network-address.ts";

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

test("this machine has the names of its addresses, its own name, and localhost", () => {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  const written = addresses.map((address) => (address.includes(":") ? `[${address}]` : address));
  const names = [...written, hostname(), hostname().split(".")[0] as string, "localhost", "a.localhost"];
  expect(names.filter((name) => !isOwnHost(name) || !isOwnHost(`${name.toUpperCase()}:9001`))).toEqual([]);
});

test.each([
  "",
  ":80",
  "x[::1]:80",
  "[::1]:80x",
  "[::1]:123456",
  "localhost:",
  "203.0.113.9",
  "[2001:db8::9]",
  "xlocalhost",
])("%j is none of its names", (host) => {
  expect(isOwnHost(host)).toBe(false);
});

test.each(["x[::1]:80", "[::1]:80x", "[::1]x", "x1.2.3.4:80", "1.2.3.4:80x", "1.2.3.4:", "[1.2.3.4", ":80"])(
  "%j is not an address, with or without a port",
  (text) => {
    expect(plainAddress(text)).toBeUndefined();
  },
);

/** Has this machine another name until the test ends. */
function nameMachine(name: string): void {
  const spy = vi.spyOn(os, "hostname").mockReturnValue(name);
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}

test("a machine has its whole name, and the first part of it", () => {
  nameMachine("Box.example.org");
  expect(["box.example.org", "BOX:80", "box.example", "example.org", "b", ""].map(isOwnHost)).toEqual([
    ...[true, true, false, false, false, false],
  ]);
});

test("a machine without a name has no empty one", () => {
  nameMachine("");
  expect(["", ":80", "."].map(isOwnHost)).toEqual([false, false, false]);
});

test("a connection of a Unix socket is one of this machine", () => {
  const { remoteAddress = "" } = markLocal(new Socket());
  expect([remoteAddress, isLoopback(remoteAddress)]).toEqual(["unix:", true]);
});
