import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatagrams } from "../../src/native/send-datagram.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
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

test("a datagram that nobody takes is lost, and a path that is too long is refused", () => {
  expect(() => openDatagrams("/nowhere/notify")("READY=1")).not.toThrow();
  expect(() => openDatagrams(`/${"x".repeat(107)}`)).toThrow("more than 107 bytes");
});
