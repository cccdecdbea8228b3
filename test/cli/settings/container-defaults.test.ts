import { expect, test } from "vitest";
import { containerDefaults } from "../../../src/cli/settings/container-defaults.ts";
import { parseSettings } from "../../../src/cli/settings/parse-settings.ts";

const MIB = 1024 ** 2;

function settingsIn(mebibytes: number, argv: readonly string[] = []) {
  return parseSettings("serve", argv, { env: {}, files: containerDefaults(mebibytes * MIB) });
}

test("a small container has smaller queues, messages and heaps of hook threads", () => {
  const { settings, origins } = settingsIn(512);
  expect(settings).toMatchObject({ maxQueueBytes: 128 * MIB, maxMessageBytes: 64 * MIB, hookMemoryMb: 256 });
  expect(origins.get("maxQueueBytes")).toBe("the container's memory limit");
});

test("what is set counts before them", () => {
  const { settings } = settingsIn(512, ["--max-queue-bytes=300MB", "--hook-memory=100"]);
  expect(settings).toMatchObject({ maxQueueBytes: 300 * MIB, maxMessageBytes: 64 * MIB, hookMemoryMb: 100 });
});

test("a large container, and a machine, have the usual ones", () => {
  expect(containerDefaults(4096 * MIB)).toEqual(new Map());
});
