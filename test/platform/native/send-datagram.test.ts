import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatagrams } from "../../../src/platform/native/send-datagram.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { receiveDatagrams } from "./receive-datagrams.ts";

test.runIf(process.platform === "linux").each([
  ["a path", () => join(tempFolder(), "notify")],
  ["an abstract name", () => `@kserving-test-${process.pid}`],
])("a datagram reaches a Unix socket of %s", async (_, choose) => {
  const path = choose();
  const next = receiveDatagrams(path);
  openDatagrams(path)("READY=1\nSTATUS=Grüße");
  expect(await next()).toBe("READY=1\nSTATUS=Grüße");
});

test("elsewhere than on Linux there are no datagrams, which the error says", () => {
  const own = process.platform;
  onTestFinished(() => void Object.defineProperty(process, "platform", { value: own }));
  Object.defineProperty(process, "platform", { value: "darwin" });
  expect(() => openDatagrams("/run/notify")).toThrow("Unix datagram sockets are used on Linux alone.");
});

test("a datagram without a receiver is lost, and a path that is too long is refused", () => {
  expect(() => openDatagrams("/nowhere/notify")("READY=1")).not.toThrow();
  expect(() => openDatagrams(`/${"x".repeat(107)}`)).toThrow("more than 107 bytes");
});
