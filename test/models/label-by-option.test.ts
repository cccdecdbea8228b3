import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** y = x · [[1, 2], [3, 4], [5, 6]]. */
const TWO_CLASSES = "test/fixtures/models/matmul-dynamic-batch.onnx";

/** A server of models with these labels, or an own path. */
async function start(models: Readonly<Record<string, { readonly labels?: string; readonly path?: string }>>) {
  const { log, events } = createEventLog();
  const described = Object.entries(models).map(([name, { labels, path = TWO_CLASSES }]) => {
    const options: Readonly<Record<string, string>> = labels === undefined ? {} : { labels };
    return [name, { path, options }] as const;
  });
  const { httpUrl } = await startServer({ models: Object.fromEntries(described), log });
  const post = async (route: string, body: unknown) => {
    return (await fetch(httpUrl + route, { method: "POST", body: JSON.stringify(body) })).json();
  };
  const classify = (model: string) =>
    post(`/v1/models/${model}:classify`, { examples: [{ x: [1, 2, 3] }, { x: [1, 0, 0] }] });
  return { post, classify, events };
}

const answer = (first: string, second: string) => ({
  results: [
    [
      [first, 22],
      [second, 28],
    ],
    [
      [first, 1],
      [second, 2],
    ],
  ],
});

describe("the names of a model's classes", () => {
  it("come from the option labels, as they are or in a file", async () => {
    const folder = tempFolder({ "labels.txt": "Katze\r\ngroßer Hund\n" });
    const { classify } = await start({ own: { labels: "cat, dog" }, file: { labels: join(folder, "labels.txt") } });
    expect(await classify("own")).toEqual(answer("cat", "dog"));
    expect(await classify("file")).toEqual(answer("Katze", "großer Hund"));
  });

  it("come from an ONNX model's metadata, if there is no option", async () => {
    const text = (field: number, value: string) => [field, value.length, ...Buffer.from(value)];
    const entry = [...text(0x0a, "names"), ...text(0x12, "{0: 'cat', 1: 'dog'}")];
    const named = Buffer.concat([readFileSync(TWO_CLASSES), Buffer.of(0x72, entry.length, ...entry)]);
    const path = join(tempFolder({ "named.onnx": named }), "named.onnx");
    const { classify } = await start({ metadata: { path }, option: { path, labels: "a,b" }, neither: {} });
    expect(await classify("metadata")).toEqual(answer("cat", "dog"));
    expect(await classify("option")).toEqual(answer("a", "b"));
    expect(await classify("neither")).toEqual(answer("", ""));
  });

  it("are those of KServe's classification too", async () => {
    const { post } = await start({ default: { labels: "cat,dog" } });
    const inputs = [{ name: "x", datatype: "FP32", shape: [1, 3], data: [1, 2, 3] }];
    const outputs = [{ name: "y", parameters: { classification: 2 } }];
    expect(await post("/v2/models/default/infer", { inputs, outputs })).toMatchObject({
      outputs: [{ data: ["28.000000:1:dog", "22.000000:0:cat"] }],
    });
  });

  it("are warned of where no output has as many", async () => {
    const { classify, events } = await start({ default: { labels: "cat,dog,bird" } });
    expect(await classify("default")).toEqual(answer("", ""));
    expect(events).toContainEqual(
      expect.objectContaining({
        msg: "labels names 3 classes (cat, …), and no output has as many columns: y [-1,2].",
      }),
    );
  });
});
