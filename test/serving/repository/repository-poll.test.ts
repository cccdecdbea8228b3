import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ModelSources } from "../../../src/serving/repository/config-sources.ts";
import { ModelRepository } from "../../../src/serving/repository/model-repository.ts";
import { RepositoryPoll } from "../../../src/serving/repository/repository-poll.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Polls a folder of models, or other sources; `changes` are the names and versions of each change. */
function poll(source: string | ModelSources, pollMs: number) {
  const { log } = createEventLog();
  const sources = typeof source === "string" ? { folders: [source] } : source;
  const repository = new ModelRepository(sources, { load: loadOptions(log), quietMs: pollMs, log });
  const changes: string[] = [];
  const polling = new RepositoryPoll(repository, {
    pollMs,
    onChange: (models) =>
      changes.push(models.map(({ name, versions }) => `${name} ${versions.at(-1)?.version}`).join()),
  });
  onTestFinished(() => polling.stop());
  const until = (change: string) => expect.poll(() => changes, { timeout: 10_000, interval: 5 }).toContain(change);
  return { polling, changes, until };
}

test("new and removed versions are found, and checks without changes report nothing", async () => {
  const folder = tempFolder({ "a/1/m.onnx": "1" });
  const { polling, changes, until } = poll(folder, 30);
  await polling.scan();
  expect(changes).toEqual(["a 1"]);
  mkdirSync(join(folder, "a/2"));
  writeFileSync(join(folder, "a/2/m.onnx"), "2");
  await until("a 2");
  rmSync(join(folder, "a/2"), { recursive: true });
  await expect.poll(() => changes.at(-1), { timeout: 10_000 }).toBe("a 1");
  expect(changes).toEqual(["a 1", "a 2", "a 1"]);
});

test("a version that goes is seen by its folder's own word, long before the next poll", async () => {
  const folder = tempFolder({ "a/1/m.onnx": "1", "a/2/m.onnx": "2", "b/1/m.onnx": "1" });
  const { polling, until } = poll(folder, 600_000);
  await polling.scan();
  rmSync(join(folder, "b"), { recursive: true });
  await until("a 2");
});

test("without polling there are scans on request alone, which take files as they are", async () => {
  const folder = tempFolder({ "a/1/m.onnx": "1" });
  const { polling, changes } = poll(folder, 0);
  await polling.scan();
  renameSync(join(folder, "a/1"), join(folder, "a/5"));
  await polling.scan();
  expect(changes).toEqual(["a 1", "a 5"]);
});

test("a setting for which nothing is loaded again is a change too", async () => {
  const write = (rate: number) => JSON.stringify({ models: [{ name: "a", driver: "null", "request-log": { rate } }] });
  const file = join(tempFolder({ "serving.yaml": write(1) }), "serving.yaml");
  const { polling, changes } = poll({ files: [file] }, 0);
  await polling.scan();
  await polling.scan();
  expect(changes).toEqual(["a 1"]);
  writeFileSync(file, write(0.5));
  await polling.scan();
  expect(changes).toEqual(["a 1", "a 1"]);
});

test("so is a version that goes after it was served, but not one that never was", async () => {
  const folder = tempFolder({ "a/1/m.onnx": "1", "a/2/m.onnx": "2" });
  const { polling, changes } = poll(folder, 0);
  await polling.scan();
  mkdirSync(join(folder, "a/3"));
  writeFileSync(join(folder, "a/3/m.onnx"), "3");
  await polling.scan();
  rmSync(join(folder, "a/1"), { recursive: true });
  await polling.scan();
  expect(changes).toEqual(["a 2", "a 3"]);
  rmSync(join(folder, "a/2"), { recursive: true });
  await polling.scan();
  expect(changes).toEqual(["a 2", "a 3", "a 3"]);
});

test("so is a share of the traffic that differs by less than is shown", async () => {
  const write = (share: number) =>
    JSON.stringify({
      models: [
        { name: "a", driver: "null", shadow: { model: "b", share } },
        { name: "b", driver: "null" },
      ],
    });
  const file = join(tempFolder({ "serving.yaml": write(0.00001) }), "serving.yaml");
  const { polling, changes } = poll({ files: [file] }, 0);
  await polling.scan();
  writeFileSync(file, write(0.00002));
  await polling.scan();
  expect(changes).toHaveLength(2);
});
