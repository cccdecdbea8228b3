import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { missingListeners } from "../../helpers/missing-listeners.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { postForParts } from "../../proxy/read-parts.ts";

/** Counts up; a file tells how far it has come, and how it ended. */
const COUNTING = `
import { appendFileSync } from "node:fs";
export const inputs = [{ name: "to", dtype: "int32", shape: [1] }];
export const outputs = [{ name: "y", dtype: "int32", shape: [1] }];
export async function* process({ to }, ctx) {
  const last = to.data[0];
  try {
    for (let value = 0; value < last; value++) {
      if (value === 99) throw new Error("there is no ninety-nine");
      appendFileSync(LOG, "made\\n");
      yield { y: Int32Array.of(value) };
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  } finally {
    appendFileSync(LOG, "over\\n");
  }
}
`;

async function startCounting(options: { listeners?: number } = {}) {
  const folder = tempFolder({ log: "" });
  const log = `${folder}/log`;
  const hooks = `${tempFolder({ "hooks.ts": COUNTING.replaceAll("LOG", JSON.stringify(log)) })}/hooks.ts`;
  const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks, ...options });
  return { url: httpUrl, log };
}

const lines = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n");
const BODY = { inputs: { to: { dtype: "int32", data: [2] } } };
const model = { model_name: "default", model_version: "1" };
const readPart = (event = "") => JSON.parse(event.replace(/^data: /, ""));

describe("hooks that answer in parts", () => {
  it("stream over generate_stream, infer_stream, the original proxy and TensorFlow Serving's REST API", async () => {
    const { url } = await startCounting();
    const generated = await postForParts(`${url}/v2/models/default/generate_stream`, { to: 3 });
    expect((await generated.rest()).map(readPart)).toEqual([0, 1, 2].map((y) => ({ ...model, y })));
    const inputs = [{ name: "to", datatype: "INT32", shape: [1], data: [2] }];
    const inferred = await postForParts(`${url}/v2/models/default/infer_stream`, { inputs });
    const output = { name: "y", datatype: "INT32", shape: [1] };
    expect((await inferred.rest()).map(readPart)).toEqual(
      [0, 1].map((y) => ({ ...model, outputs: [{ ...output, data: [y] }] })),
    );
    const accept = { accept: "application/x-ndjson" };
    const predicted = await postForParts(`${url}/v1/models/default:predict`, { inputs: [2] }, accept);
    expect((await predicted.rest("\n")).map(readPart)).toEqual([{ outputs: [0] }, { outputs: [1] }]);
    const proxied = await postForParts(`${url}/predict`, BODY, accept);
    expect((await proxied.rest("\n")).map(readPart)).toEqual([{ y: [0] }, { y: [1] }]);
  });

  it("are asked for no more once their client leaves", async () => {
    const { url, log } = await startCounting();
    const reader = await postForParts(`${url}/v2/models/default/generate_stream`, { to: 1_000_000_000 });
    expect(readPart(await reader.next())).toEqual({ ...model, y: 0 });
    reader.leave();
    await vi.waitFor(() => expect(lines(log).at(-1)).toBe("over"), 10_000);
  });

  it("end with an error where they fail", async () => {
    const { url } = await startCounting();
    const reader = await postForParts(`${url}/v2/models/default/generate_stream`, { to: 200 });
    const events = (await reader.rest()).map(readPart);
    expect(events.slice(0, -1).map(({ y }) => y)).toEqual(Array.from({ length: 99 }, (_, index) => index));
    const error = expect.stringContaining("process");
    expect(events.at(-1)).toEqual({ error });
    const inputs = [{ name: "to", datatype: "INT32", shape: [1], data: [200] }];
    const inferred = await postForParts(`${url}/v2/models/default/infer_stream`, { inputs });
    expect(readPart((await inferred.rest()).at(-1))).toEqual({ error, code: "internal" });
  });

  it("are refused by routes for one answer, unless they give one", async () => {
    const { url } = await startCounting();
    const post = async (route: string, body: unknown) => {
      const response = await fetch(`${url}/v2/models/default/${route}`, { method: "POST", body: JSON.stringify(body) });
      return [response.status, await response.json()];
    };
    expect(await post("generate", { to: 1 })).toEqual([200, { ...model, y: 0 }]);
    const text = "generate expects model to produce exactly 1 response, use generate stream for model";
    for (const to of [0, 2]) {
      expect(await post("generate", { to })).toEqual([
        501,
        { error: expect.stringContaining(text), code: "unimplemented" },
      ]);
    }
    const inputs = [{ name: "to", datatype: "INT32", shape: [1], data: [2] }];
    const refused = "HTTP end point doesn't support models with decoupled transaction policy";
    expect(await post("infer", { inputs })).toEqual([
      501,
      { error: expect.stringContaining(refused), code: "unimplemented" },
    ]);
  });

  it.skipIf(missingListeners() !== undefined)("stream with several listeners, from whichever takes them", async () => {
    const { url } = await startCounting({ listeners: 2 });
    for (let turn = 0; turn < 12; turn++) {
      const reader = await postForParts(`${url}/v2/models/default/generate_stream`, { to: 2 });
      expect((await reader.rest()).map(readPart)).toEqual([0, 1].map((y) => ({ ...model, y })));
      const lined = await postForParts(`${url}/predict`, BODY, { accept: "application/x-ndjson" });
      expect((await lined.rest("\n")).map(readPart)).toEqual([{ y: [0] }, { y: [1] }]);
    }
  });
});
