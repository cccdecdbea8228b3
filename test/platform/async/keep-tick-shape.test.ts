import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";

const PROGRAM = `
import { setTimeout } from "node:timers/promises";
import { keepTickShape } from ${JSON.stringify(new URL("../../../src/platform/async/keep-tick-shape.ts", import.meta.url))};
if (process.argv[1] === "keep") keepTickShape();
for (let count = 0; count < 3; count++) {
  process.nextTick(() => {});
  await setTimeout(5);
  gc();
}
`;

/** The count of times that V8 learns what an object of process.nextTick looks like, by its own log. */
async function timesLearned(argument: string): Promise<number> {
  const log = join(tempFolder(), "v8.log");
  const flags = ["--expose-gc", "--log-maps", "--no-log-maps-details", "--no-logfile-per-isolate", `--logfile=${log}`];
  const args = [...flags, "--import", "tsx", "--input-type=module", "--eval", PROGRAM, argument];
  await promisify(execFile)(process.execPath, args);
  const lines = (await readFile(log, "utf8")).split("\n");
  return lines.filter((line) => /^map,Transition,.*"trigger_async_id_symbol"/.test(line)).length;
}

test("what process.nextTick queues is not forgotten when all garbage is collected", async () => {
  expect(await timesLearned("forget")).toBeGreaterThan(2);
  expect(await timesLearned("keep")).toBe(1);
});
