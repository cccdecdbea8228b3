import { execFileSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { missingRuntime } from "../../drivers/missing-runtime.ts";
import { openvinoRuntime } from "../../drivers/openvino/openvino-runtime.ts";
import { tensorflowRuntime } from "../../drivers/tensorflow/native/tensorflow-runtime.ts";
import { findPython } from "../../helpers/find-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { toyEncoder, toyTokenizer } from "../../helpers/text-model.ts";
import { warmPython } from "../../helpers/warm-python.ts";

/** The weights of both fixtures, which their makers write. */
const TABLE = Array.from({ length: 10 }, (_, token) =>
  [0, 1, 2].map((axis) => ((((3 * token + axis) * 3) % 7) - 3) / 4),
);
const TEXTS = ["good", "bad bad awful.", "great goodly good", "", "badly great.", "unknown"];

const noOpenvino = await missingRuntime("Texts through OpenVINO", openvinoRuntime);
const noTensorflow = await missingRuntime("Texts through libtensorflow", tensorflowRuntime);

/** A folder with a tokenizer, and the files of a fixture or these beside it. */
function folderOf(from: string | undefined, files: Readonly<Record<string, Uint8Array>> = {}): string {
  const config = { architectures: ["BertModel"], model_type: "bert", hidden_size: 3, max_position_embeddings: 16 };
  const folder = tempFolder({ ...toyTokenizer(), ...files, "config.json": JSON.stringify(config) });
  if (from !== undefined) cpSync(`test/fixtures/${from}`, folder, { recursive: true });
  return folder;
}

/** Vectors of the texts by a model whose driver and task are found by its files alone. */
async function vectorsOf(path: string, options: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const { httpUrl } = await startServer({ stages: [{ path, options }] });
  const body = JSON.stringify({ input: TEXTS, encoding_format: "float" });
  const answer = await fetch(`${httpUrl}/v1/embeddings`, { method: "POST", body });
  const { data, usage } = (await answer.json()) as { data: readonly { embedding: unknown }[]; usage: unknown };
  return { vectors: data.map(({ embedding }) => embedding), usage };
}

const onnx = () => vectorsOf(folderOf(undefined, { "model.onnx": toyEncoder({ table: TABLE }) }));

test.skipIf(noOpenvino !== undefined)(
  "an OpenVINO IR beside a tokenizer gives the vectors of the same weights in ONNX",
  async () => {
    expect(await vectorsOf(folderOf("openvino/text_encoder"))).toEqual(await onnx());
  },
);

test("a SavedModel beside a tokenizer gives the vectors of the same weights in ONNX, without libtensorflow", async () => {
  const expected = await onnx();
  expect(expected).toMatchObject({ vectors: { length: TEXTS.length } });
  expect(await vectorsOf(folderOf("tensorflow/text_encoder"), { engine: "portable" })).toEqual(expected);
});

test.skipIf(noTensorflow !== undefined)("and through libtensorflow", async () => {
  const options = { engine: "native", tensorflow_lib: await tensorflowRuntime() };
  expect(await vectorsOf(folderOf("tensorflow/text_encoder"), options)).toEqual(await onnx());
});

const python = findPython("Texts through PyTorch", ["torch"]);
const warm = warmPython(python, "torch");
const TORCH = `
import json, sys, torch

class Encoder(torch.nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = torch.nn.Embedding.from_pretrained(torch.tensor(table))

    def forward(self, input_ids, attention_mask):
        return self.table(input_ids)

torch.jit.trace(Encoder(json.loads(sys.argv[1])), (torch.zeros(1, 1, dtype=torch.long),) * 2).save(sys.argv[2])
`;

test.skipIf(python === undefined)("a traced model of PyTorch does so with the guide's options", async () => {
  const folder = folderOf(undefined);
  execFileSync(warm, ["-c", TORCH, JSON.stringify(TABLE), join(folder, "model.pt")]);
  const given = /`-o '(inputs=input_ids:.+?)' -o (outputs=\w+)`/.exec(readFileSync("docs/text.md", "utf8")) ?? [];
  const options = Object.fromEntries(given.slice(1).map((option) => option.split(/=(.*)/s, 2)));
  expect(await vectorsOf(folder, { ...options, python: warm })).toEqual(await onnx());
});
