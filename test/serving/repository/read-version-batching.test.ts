import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readVersionBatching } from "../../../src/serving/repository/load-version.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const FILE = "batching_params.pbtxt";

it("reads the batching file of a version's folder, and names what changes nothing", async () => {
  const { log, events } = createEventLog();
  const folder = tempFolder({ [FILE]: "max_batch_size { value: 2 }\nnum_batch_threads { value: 4 }" });
  expect(await readVersionBatching(folder, log)).toMatchObject({ max_batch_size: "2", max_request_rows: "2" });
  expect(events.map(({ msg }) => msg)).toEqual([expect.stringContaining('"num_batch_threads" changes nothing here')]);
});

it("reads nothing where there is none, beside a model's file too", async () => {
  const { log } = createEventLog();
  const folder = tempFolder({ "model.onnx": "" });
  expect(await readVersionBatching(folder, log)).toEqual({});
  expect(await readVersionBatching(join(folder, "model.onnx"), log)).toEqual({});
});

it.each([
  ["model_config_list { }", "expected parameters of batching, such as max_batch_size { value: 32 }"],
  ["max_batch_size { value: many }", '"value" is many, without quotes; expected an integer'],
])("refuses another file: %s", async (text, message) => {
  await expect(readVersionBatching(tempFolder({ [FILE]: text }), createEventLog().log)).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(message),
  });
});

it("is what a version is batched by where the server is asked for it, before the model's own options", async () => {
  const path = tempFolder({ [`1/${FILE}`]: "max_batch_size { value: 2 }", "2/placeholder": "" });
  for (const version of [1, 2]) cpSync("test/fixtures/models/half-plus-two.onnx", join(path, `${version}/model.onnx`));
  const model = { path, versions: "all", options: { max_batch_size: "8" } } as const;
  const ask = async (server: Awaited<ReturnType<typeof startServer>>, version: number) => {
    const url = `${server.httpUrl}/v1/models/m/versions/${version}:predict`;
    const answer = await fetch(url, { method: "POST", body: '{"instances": [1, 2, 3]}' });
    return [answer.status, await answer.json()];
  };
  const answered = [200, { predictions: [2.5, 3, 3.5] }];
  const batched = await startServer({ models: { m: model }, versionBatching: true });
  const error = "Task size 3 is larger than maximum input batch size 2";
  expect(await Promise.all([1, 2].map((version) => ask(batched, version)))).toEqual([[400, { error }], answered]);
  const other = await startServer({ models: { m: model } });
  expect(await ask(other, 1)).toEqual(answered);
});
