import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findPython } from "../../helpers/find-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmPython } from "../../helpers/warm-python.ts";
import { loadModel } from "../python/load-model.ts";

const python = findPython("Encoders of transformers", ["sentence_transformers", "transformers", "torch"]);
const warm = warmPython(python, "sentence_transformers");
const LONG = { timeout: 240_000 };

const all: readonly string[] = JSON.parse(readFileSync("test/fixtures/text/lines.json", "utf8"));
/** Some in several scripts, and one that is cut. */
const LINES = [...all.filter((_, place) => place % 300 === 0), all.slice(0, 40).join(" ")];

let folder = "";

interface Expected {
  readonly vectors: readonly (readonly number[])[];
  readonly scores: readonly unknown[];
  readonly tokens: readonly (readonly number[])[];
  readonly logits: readonly unknown[];
  readonly entities: readonly object[];
}

const expectedOf = (name: string): Expected => JSON.parse(readFileSync(join(folder, name, "expected.json"), "utf8"));

/** A server of a model, which is found by its files alone. */
async function serve(name: string, options: Readonly<Record<string, string>> = {}) {
  const stages = [{ path: join(folder, name), options: { python: warm, ...options } }];
  const { httpUrl } = await startServer({ stages, name: "m" });
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    const answered: Readonly<Record<string, unknown>> = { status: answer.status, ...((await answer.json()) as object) };
    return answered;
  };
  return { httpUrl, post, infer: (inputs: object[]) => post("/v2/models/m/infer", { inputs }) };
}

const texts = (name: string, data: readonly string[]) => ({ name, datatype: "BYTES", shape: [data.length], data });
const ids = (name: string, rows: readonly (readonly number[])[]) => ({
  ...{ name, datatype: "INT64" },
  ...{ shape: [rows.length, rows[0]?.length], data: rows.flat() },
});

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (left: readonly number[], right: readonly number[]) =>
    left.reduce((sum, value, place) => sum + value * (right[place] ?? 0), 0);
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

const close = (found: unknown, expected: unknown) => {
  const [one, other] = [found, expected].map((value) => [value].flat(9) as number[]);
  expect(one?.length).toBe(other?.length);
  for (const [place, value] of other?.entries() ?? []) expect(one?.[place]).toBeCloseTo(value, 4);
};

describe.skipIf(python === undefined)("weights of transformers with a tokenizer, without a graph", () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "kserving-test-"));
    writeFileSync(join(folder, "lines.json"), JSON.stringify(LINES));
    const program = "test/drivers/pytorch/encoder_models.py";
    const args = [
      "-W",
      "ignore",
      program,
      folder,
      "test/fixtures/text/bert/tokenizer.json",
      join(folder, "lines.json"),
    ];
    execFileSync(warm, args, { stdio: ["ignore", "pipe", "pipe"], timeout: LONG.timeout });
  }, LONG.timeout);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("give the vectors of sentence-transformers, for its modules and for plain encoders", LONG, async () => {
    for (const name of ["older", "bert", "distilbert", "roberta"]) {
      const { post } = await serve(name);
      const { data } = (await post("/v1/embeddings", { input: LINES })) as { data: { embedding: number[] }[] };
      for (const [place, expected] of expectedOf(name).vectors.entries())
        expect(cosine(data[place]?.embedding ?? [], expected), `${name}: ${LINES[place]}`).toBeGreaterThan(0.9999);
    }
  });

  it("score pairs, for clients of rerank, V2 and TensorFlow Serving alike", LONG, async () => {
    const { post, infer } = await serve("pairs");
    const { scores } = expectedOf("pairs");
    const [first, second] = [LINES.slice(0, -1), LINES.slice(1)];
    const { outputs } = await infer([texts("text", first), texts("text_pair", second)]);
    close((outputs as { data: unknown }[])[0]?.data, scores);
    const instances = first.map((text, row) => ({ text, text_pair: second[row] }));
    close((await post("/v1/models/m:predict", { instances })).predictions, scores);
    const { results } = await post("/v1/rerank", { query: first[0], documents: [second[0]] });
    close((results as { relevance_score: number }[])[0]?.relevance_score, scores[0]);
  });

  it("classify texts and words, and take numbers of tokens too", LONG, async () => {
    const classes = await serve("classes");
    const answered = await classes.infer([texts("text", LINES)]);
    close((answered.outputs as { data: unknown }[])[0]?.data, expectedOf("classes").scores);
    const words = await serve("words");
    const { tokens, logits, entities } = expectedOf("words");
    const own = (name: string, value?: number) =>
      ids(name, value === undefined ? tokens : tokens.map((row) => row.map(() => value)));
    const given = [own("input_ids"), own("attention_mask", 1), own("token_type_ids", 0)];
    const { outputs } = await words.infer(given);
    close((outputs as { data: unknown }[])[0]?.data, logits);
    const { predictions } = await words.post("/v1/models/m:predict", { instances: [LINES[0]] });
    const found = JSON.parse(String((predictions as string[])[0])) as { start: number; end: number }[];
    expect(found.map(({ start, end }) => [start, end])).toEqual(
      entities.map((each) => [(each as { start: number }).start, (each as { end: number }).end]),
    );
  });

  it("refuse numbers that are no tokens, and more tokens than there are positions", LONG, async () => {
    const { infer } = await serve("bert");
    const ask = (row: readonly number[], types: readonly number[] = row.map(() => 0)) =>
      infer([ids("input_ids", [row]), ids("attention_mask", [row.map(() => 1)]), ids("token_type_ids", [types])]);
    expect(await ask([1, 999_999])).toMatchObject({
      status: 400,
      error: expect.stringMatching(/^Input "input_ids" has 999999; expected numbers from 0 to \d+\.$/),
    });
    expect(await ask([1, -1])).toMatchObject({ status: 400, error: expect.stringContaining('"input_ids" has -1;') });
    expect(await ask([1], [2])).toMatchObject({ status: 400, error: expect.stringContaining("from 0 to 1.") });
    expect(await ask(new Array(513).fill(1))).toMatchObject({
      status: 400,
      error: "A text has 513 tokens; the model has positions for 512.",
    });
    expect(await ask([1, 2])).toMatchObject({ status: 200 });
  });

  it("run in the type that dtype says, and give float32", LONG, async () => {
    const { infer } = await serve("bert", { dtype: "bfloat16" });
    const { outputs } = await infer([texts("text", LINES)]);
    const [{ data, datatype }] = outputs as [{ data: number[]; datatype: string }];
    expect(datatype).toBe("FP32");
    for (const [place, expected] of expectedOf("bert").vectors.entries())
      expect(cosine(data.slice(32 * place, 32 * (place + 1)), expected)).toBeGreaterThan(0.99);
  });

  it.each([
    [
      "weights that are cut short",
      (own: string) => truncateSync(join(own, "model.safetensors"), 5000),
      /cannot load the model: SafetensorError/,
    ],
    [
      "an architecture that transformers does not know",
      change({ model_type: "nonesuch" }),
      /does not recognize this architecture/,
    ],
    [
      "code of its own",
      change({ model_type: "nonesuch", auto_map: { AutoModel: "code.Model" } }),
      /names code of its own \(auto_map\), which is never run/,
    ],
    [
      "weights of another architecture",
      change({ architectures: ["BertForSequenceClassification"] }),
      /^The weights of BertForSequenceClassification lack classifier\.bias, classifier\.weight/,
    ],
  ])("refuse %s", LONG, async (_, spoil, message) => {
    const own = tempFolder();
    cpSync(join(folder, "bert"), own, { recursive: true });
    spoil(own);
    await expect(loadModel("pytorch", own, { options: { python: warm } })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(message),
    });
  });
});

/** Changes config.json of a folder. */
function change(members: object): (folder: string) => void {
  return (own) => {
    const file = join(own, "config.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...members }));
  };
}
