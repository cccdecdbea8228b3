import { expect, it } from "vitest";
import { LogWriter } from "../../../src/observability/request-log/log-writer.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { logFiles, readLogs } from "./recorded-files.ts";

const spec = { model: "m", signature: "", versionEncoding: "int64" } as const;
const metadata = { spec, rate: 1 };
const logged = (bytes: number) =>
  ({
    metadata,
    content: { kind: "regress_log", request: new Uint8Array(bytes), response: new Uint8Array(1) },
  }) as const;

function open() {
  const folder = tempFolder();
  const { log, events } = createEventLog();
  const writer = new LogWriter(`${folder}/t`, "m", { limits: { maxBytes: 1e9, files: 9 }, log });
  return { folder, writer, events, memory: new MemoryBudget(1000_000_000) };
}

it("what waits is counted in the budget until it is written", async () => {
  const { folder, writer, memory } = open();
  const held = () => {
    const probe = memory.open();
    for (let bytes = 0; ; bytes += 1000)
      if (memory.isHalfFull) return probe.release() ?? bytes;
      else probe.grow(1000);
  };
  const free = held();
  for (let count = 0; count < 50; count++) writer.add(logged(1_000_000), [writer.reserve(memory, 1_000_000)!]);
  expect(free - held()).toBe(50_000_000);
  await writer.close();
  expect(held()).toBe(free);
  expect(await readLogs(...logFiles(folder))).toHaveLength(50);
});

it("what finds no room is dropped, and told in one line", async () => {
  const { folder, writer, memory, events } = open();
  const shares = Array.from({ length: 100 }, () => writer.reserve(memory, 1_000_000)).filter(
    (share) => share !== undefined,
  );
  expect(shares).toHaveLength(67);
  expect(writer.reserve(memory, 33 * 1024 * 1024)).toBeUndefined();
  for (const share of shares) writer.add(logged(10), [share]);
  await writer.close();
  expect(await readLogs(...logFiles(folder))).toHaveLength(67);
  expect(events.map(({ msg, count }) => [count, msg])).toEqual([
    [1, expect.stringContaining("1 request was not recorded: more than 64 MB, or half of --max-queue-bytes, waits")],
    [32, expect.stringContaining("32 requests were not recorded: more than 64 MB")],
    [
      1,
      expect.stringContaining(
        "1 request was not recorded: its inputs, its outputs or their parts together have more than 32 MB",
      ),
    ],
  ]);
});

it("nothing is recorded while requests hold half of their memory", () => {
  const { writer, memory, events } = open();
  memory.open().grow(600_000_000);
  expect(writer.reserve(memory, 1)).toBeUndefined();
  expect(events).toHaveLength(1);
});
