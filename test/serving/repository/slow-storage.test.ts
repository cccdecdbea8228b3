import { expect, test } from "vitest";
import { modelConfig } from "../../../src/serving/repository/config/model-config.ts";
import { ModelRepository } from "../../../src/serving/repository/model-repository.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { openStorage } from "../../storage/open-storage.ts";
import { useS3 } from "../../storage/set-env.ts";
import { startS3 } from "../../storage/start-s3.ts";

const NAMES = ["a", "b", "c"];

/** A bucket of which no list is answered before all have been asked for. */
async function openBucket() {
  const s3 = await startS3("toy-bucket", {});
  useS3(s3.endpoint);
  const waiting: (() => void)[] = [];
  s3.fault = ({ url = "" }, response) => {
    const key = `${/prefix=(\w)/.exec(url)?.[1]}/1/m.onnx`;
    const file = `<Contents><Key>${key}</Key><ETag>"e"</ETag><Size>1</Size></Contents>`;
    waiting.push(() => response.end(`<ListBucketResult><IsTruncated>false</IsTruncated>${file}</ListBucketResult>`));
    if (waiting.length >= NAMES.length) for (const answer of waiting) answer();
    return true;
  };
  return NAMES.map((name) => ({ name, path: `s3://toy-bucket/${name}` }));
}

test.each(["models", "named"] as const)("%s on slow servers do not wait for each other", async (kind) => {
  const listed = await openBucket();
  const sources = kind === "named" ? { named: listed } : { models: listed.map((model) => modelConfig(model)) };
  const { log } = createEventLog();
  const { storage } = openStorage();
  const repository = new ModelRepository(sources, { load: { ...loadOptions(log), storage }, quietMs: 0, log });
  const models = await repository.scan();
  expect(models.map(({ name }) => name)).toEqual(NAMES);
});
