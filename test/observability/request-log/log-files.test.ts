import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { expect, it } from "vitest";
import { LogFiles } from "../../../src/observability/request-log/log-files.ts";
import { frameRecord } from "../../../src/observability/request-log/logged-request.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { logFiles } from "./recorded-files.ts";

/** A record of 100 bytes. */
const RECORD = frameRecord(new Uint8Array(84));
const LIMITS = { maxBytes: 250, files: 2 };

it("a file ends at its size, and the oldest of a model go", async () => {
  const folder = tempFolder({
    "t-a-notes.tfrecord": "",
    "t-b-20200101T000000.000Z.tfrecord": "",
    "t-a-20200101T000000.000Z.tfrecord": "",
  });
  const files = new LogFiles(`${folder}/t`, "a");
  const sizes = () => logFiles(folder).map((path) => readFileSync(path).length);
  for (const _ of [1, 2, 3]) await files.append(RECORD, LIMITS);
  expect(sizes()).toEqual([200, 100, 0, 0]);
  await files.append(RECORD, LIMITS);
  await files.append(new Uint8Array(1000), LIMITS);
  expect(sizes()).toEqual([200, 1000, 0, 0]);
  expect(logFiles(folder).slice(2)).toEqual([
    `${folder}/t-a-notes.tfrecord`,
    `${folder}/t-b-20200101T000000.000Z.tfrecord`,
  ]);
});

it("names of models are written so that they stay in the folder", async () => {
  const folder = tempFolder();
  const files = new LogFiles(`${folder}/`, "../a/b");
  await files.append(RECORD, LIMITS);
  expect(logFiles(folder)).toEqual([expect.stringContaining(`${folder}/..%2Fa%2Fb-`)]);
});

it("a folder that is gone is made again", async () => {
  const folder = `${tempFolder()}/logs`;
  const files = new LogFiles(`${folder}/t`, "a");
  await files.append(RECORD, LIMITS);
  rmSync(folder, { recursive: true });
  await files.append(RECORD, LIMITS);
  expect(logFiles(folder)).toHaveLength(1);
});

it("what takes the place of a file is not written to", async () => {
  const folder = tempFolder();
  const files = new LogFiles(`${folder}/t`, "a");
  await files.append(RECORD, LIMITS);
  const [path] = logFiles(folder) as [string];
  rmSync(path);
  mkdirSync(path);
  await expect(files.append(RECORD, LIMITS)).rejects.toMatchObject({ code: "EISDIR" });
});
