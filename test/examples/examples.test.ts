import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { type DemoModels, makeDemoModels } from "../../scripts/make-demo-models.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { shareServer, startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { readExample } from "./example-command.ts";
import { createRecordingLogger } from "./recording-logger.ts";
import { WIRES } from "./wires.ts";

/** Their models come with packages: ocr.test.ts, texts.test.ts. */
const WITH_OWN_TEST = ["ocr", "read-document", "rerank", "search", "speech-gate"];
const EXAMPLES = readdirSync("examples/hooks").flatMap((file) => file.match(/^(.*)\.ts$/)?.[1] ?? []);

let models: DemoModels;
beforeAll(async () => {
  models = await makeDemoModels();
});

/** Those that are asked over each wire, too, keep nothing of their requests. */
const SHARED = Object.fromEntries(
  ["pass-through", "skip-second-model", "typed-state", "no-model"].map((name) => [
    name,
    shareServer(async () => (await readExample(name)).options),
  ]),
);
const start = async (name: string) => SHARED[name]?.() ?? startServer((await readExample(name)).options);

describe("examples/hooks", () => {
  it.each(EXAMPLES.filter((name) => !WITH_OWN_TEST.includes(name)))(
    "%s.ts answers the requests in its own first lines",
    async (name) => {
      const { requests } = await readExample(name);
      const server = await start(name);
      expect(requests).not.toEqual([]);
      for (const request of requests) {
        const answer = join(tempFolder(), "answer");
        const command = request.replace("http://localhost:9001", server.httpUrl).replace(/ --output \S+/, "");
        await promisify(execFile)("sh", ["-c", `${command} --silent --show-error --fail --output ${answer}`]);
        expect(readFileSync(answer).length).toBeGreaterThan(0);
      }
    },
  );

  it("has a row for each file in its README", () => {
    const readme = readFileSync("examples/hooks/README.md", "utf8");
    expect(EXAMPLES.filter((name) => !readme.includes(`[${name}.ts](${name}.ts)`))).toEqual([]);
  });
});

describe.each(WIRES)("over %s", (_, { predict, predictJson }) => {
  it("pass-through.ts gives back what came", async () => {
    const server = await start("pass-through");
    const inputs = {
      x: [
        [1.5, 2],
        [3, 4],
      ],
      text: "héllo",
      empty: createTensor("float32", [0, 3], new Float32Array()),
    };
    const answer = await predict(server, inputs);
    expect(answer).toEqual({
      x: [
        [1.5, 2],
        [3, 4],
      ],
      text: "héllo",
      empty: [],
    });
  });

  it("log-calls.ts logs its options and both calls", async () => {
    const { log, events } = createRecordingLogger();
    const server = await startServer({ ...(await readExample("log-calls")).options, log });
    expect(await predict(server, { x: [1.5] })).toEqual({ x: [1.5] });
    expect(events).toContainEqual(["Got params", expect.objectContaining({ greeting: "hello", model_path: "" })]);
    const requestId = expect.any(String);
    expect(events).toContainEqual(["Running preprocess", { inputs: ["x"], requestId }]);
    expect(events).toContainEqual(["Running postprocess", { outputs: ["x"], requestId }]);
  });

  it("two-models.ts runs its hooks in order and leaves the empty slot alone", async () => {
    const { log, events } = createRecordingLogger();
    const server = await startServer({ ...(await readExample("two-models")).options, log });
    expect(await predict(server, { x: [7, 8] })).toEqual({ x: [7, 8] });
    const calls = events.map(([message]) => message).filter((message) => message.startsWith("Running"));
    expect(calls).toEqual(["Running preprocess1", "Running preprocess2", "Running postprocess2"]);
  });

  it("skip-second-model.ts runs the second model only where there are faces", async () => {
    const second = { driver: "onnx", path: models.emotion };
    const server = await startServer({
      ...(await readExample("skip-second-model")).options,
      stages: [{ driver: "null" }, second],
    });
    const noFaces = createTensor("float32", [0, 4], new Float32Array());
    expect(await predict(server, { "face-boxes": noFaces })).toEqual({});
    await expect(predict(server, { "face-boxes": [[1.5, 2, 3, 4]] })).rejects.toThrow(
      /model 2.*face-boxes|model 2.*input_1/,
    );
  });

  it("skip-second-model.ts gives back what the second model gave where there are faces", async () => {
    const server = await start("skip-second-model");
    expect(await predict(server, { "face-boxes": [[1.5, 2, 3, 4]] })).toEqual({ "face-boxes": [[1.5, 2, 3, 4]] });
    expect(await predict(server, { other: [1] })).toEqual({});
  });

  it("typed-state.ts brings numbers back to their own scale", async () => {
    const server = await start("typed-state");
    const { x, scale } = await predict(server, {
      x: [
        [10.5, 20.5],
        [30.5, 40.5],
      ],
    });
    expect(x).toEqual([
      [near(10.5), near(20.5)],
      [near(30.5), near(40.5)],
    ]);
    expect(scale).toEqual([near(25.5), near(Math.sqrt(125))]);
  });

  it("typed-state.ts keeps concurrent requests apart", async () => {
    const server = await start("typed-state");
    const answers = await Promise.all([1.5, 200.5, -7.5].map((x) => predict(server, { x: [x, x + 1] })));
    expect(answers.map(({ scale }) => scale)).toEqual([
      [near(2), near(0.5)],
      [near(201), near(0.5)],
      [near(-7), near(0.5)],
    ]);
  });

  it("typed-state.ts refuses what is no float32", async () => {
    const server = await start("typed-state");
    await expect(predict(server, { x: [1, 2] })).rejects.toThrow('Expected float32 numbers as input "x".');
  });

  it("no-model.ts counts the words of tensors and of plain JSON", async () => {
    const server = await start("no-model");
    const expected = { characters: [18, 6], words: [6, 1], longest: ["not", "Hellö"] };
    const text = ["To be or not to be", "Hellö!"];
    expect(await predict(server, { text })).toEqual(expected);
    expect(await predictJson(server, { text })).toEqual(expected);
    expect(await predictJson(server, { text: "Hi" })).toEqual({ characters: [2], words: [1], longest: ["Hi"] });
  });

  it("no-model.ts answers the client with the expected inputs", async () => {
    const server = await start("no-model");
    const message = 'Expected one text or a list of texts as input "text".';
    await expect(predict(server, { text: [1, 2] })).rejects.toThrow(message);
    await expect(predictJson(server, { text: [1, "a"] })).rejects.toThrow(message);
    await expect(predictJson(server, {})).rejects.toThrow(message);
  });
});

function near(value: number): number {
  return expect.closeTo(value, 3);
}
