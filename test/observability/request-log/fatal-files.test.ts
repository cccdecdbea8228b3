import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FatalFiles } from "../../../src/observability/request-log/fatal-files.ts";
import { frameRecord } from "../../../src/observability/request-log/logged-request.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** The number of no process: Linux gives none above 2^22. */
const GONE = 999_999_999;

/** Gives what a folder keeps of requests that a process has left, by their models, and the first byte of each. */
function recover(models: readonly string[], ran: readonly string[], pid = GONE): readonly string[] {
  const folder = tempFolder();
  for (const [index, model] of models.entries()) {
    const record = frameRecord(Uint8Array.of(index));
    writeFileSync(join(folder, `.under-way-${pid}-1-${index + 1}-${model}`), record);
  }
  new FatalFiles(folder, createEventLog().log).open(ran);
  return readdirSync(folder)
    .toSorted()
    .map((name) => `${/fatal-(.*)-\d{8}T/.exec(name)?.[1]} ${readFileSync(join(folder, name))[12]}`);
}

test("the requests of models that ran are kept, and all where none of them did", () => {
  expect(recover(["m", "n"], ["m"])).toEqual(["m 0"]);
  expect(recover(["m", "n"], [])).toEqual(["m 0", "n 1"]);
  expect(recover(["m", "n"], ["o"])).toEqual(["m 0", "n 1"]);
  expect(recover(["a%2Fb", "n"], ["a/b"])).toEqual(["a%2Fb 0"]);
  expect(recover([], ["m"])).toEqual([]);
});

test("of many requests the first are kept", () => {
  const kept = recover(new Array<string>(40).fill("m"), ["m"]);
  expect(kept).toEqual(Array.from({ length: 16 }, (_, index) => `m ${index}`));
});

test("an earlier process of the same number is another one, and files of a process that lives stay", () => {
  expect(recover(["m"], [], process.pid)).toEqual(["m 0"]);
  expect(recover(["m"], [], process.ppid)).toEqual(["undefined 0"]);
});
