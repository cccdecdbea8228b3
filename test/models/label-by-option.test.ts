import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** y = x · [[1, 2], [3, 4], [5, 6]]. */
const TWO_CLASSES = "test/fixtures/models/matmul-dynamic-batch.onnx";

async function start(labels: string | undefined, path = TWO_CLASSES) {
  const { log, events } = createEventLog();
  const { httpUrl } = await startServer({ stages: [{ path }], options: labels === undefined ? {} : { labels }, log });
  const post = async (route: string, body: unknown) => {
    return (await fetch(httpUrl + route, { method: "POST", body: JSON.stringify(body) })).json();
  };
  const classify = () => post("/v1/models/default:classify", { examples: [{ x: [1, 2, 3] }, { x: [1, 0, 0] }] });
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
    expect(await (await start("cat, dog")).classify()).toEqual(answer("cat", "dog"));
    const folder = tempFolder({ "labels.txt": "Katze\r\ngroßer Hund\n" });
    expect(await (await start(join(folder, "labels.txt"))).classify()).toEqual(answer("Katze", "großer Hund"));
  });

  it("come from an ONNX model's metadata, if there is no option", async () => {
    const text = (field: number, value: string) => [field, value.length, ...Buffer.from(value)];
    const entry = [...text(0x0a, "names"), ...text(0x12, "{0: 'cat', 1: 'dog'}")];
    const named = Buffer.concat([readFileSync(TWO_CLASSES), Buffer.of(0x72, entry.length, ...entry)]);
    const path = join(tempFolder({ "named.onnx": named }), "named.onnx");
    expect(await (await start(undefined, path)).classify()).toEqual(answer("cat", "dog"));
    expect(await (await start("a,b", path)).classify()).toEqual(answer("a", "b"));
    expect(await (await start(undefined)).classify()).toEqual(answer("", ""));
  });

  it("are those of KServe's classification too", async () => {
    const { post } = await start("cat,dog");
    const inputs = [{ name: "x", datatype: "FP32", shape: [1, 3], data: [1, 2, 3] }];
    const outputs = [{ name: "y", parameters: { classification: 2 } }];
    expect(await post("/v2/models/default/infer", { inputs, outputs })).toMatchObject({
      outputs: [{ data: ["28.000000:1:dog", "22.000000:0:cat"] }],
    });
  });

  it("are warned of where no output has as many", async () => {
    const { classify, events } = await start("cat,dog,bird");
    expect(await classify()).toEqual(answer("", ""));
    expect(events).toContainEqual(
      expect.objectContaining({
        msg: "labels names 3 classes (cat, …), and no output has as many columns: y [-1,2].",
      }),
    );
  });
});
