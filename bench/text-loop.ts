/**
 * Texts, their tokens, the model and its vectors in a loop with nothing around it, for as long as the parent asks. The
 * folder of the model is the first argument.
 */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { createTensor } from "../src/tensor/tensor.ts";
import { normalise, pool } from "../src/text/pooling.ts";
import { loadTokenizer } from "../src/text/tokenizer.ts";
import type { LoopAnswer } from "./session-loop.ts";

/** Texts that are taken in turn, how many runs are under way at once, and how many texts a run has. */
export interface TextQuestion {
  readonly seconds: number;
  readonly texts: readonly string[];
  readonly overlap: number;
  readonly batch: number;
}

const [, , folder = ""] = process.argv;
const tokenizer = await loadTokenizer(folder);
const session = await InferenceSession.create(`${folder}/model.onnx`, { intraOpNumThreads: 1 });

process.on("message", async (question: TextQuestion) => process.send?.(await run(question)));
process.on("disconnect", () => process.exit());
process.send?.({});

async function run({ seconds, texts, overlap, batch }: TextQuestion): Promise<LoopAnswer> {
  const started = performance.now();
  const end = started + seconds * 1000;
  let requests = 0;
  const loop = async () => {
    while (performance.now() < end) {
      await embed(Array.from({ length: batch }, () => texts[requests++ % texts.length] as string));
    }
  };
  await Promise.all(Array.from({ length: overlap }, loop));
  return { requests, seconds: (performance.now() - started) / 1000 };
}

async function embed(given: readonly string[]): Promise<unknown> {
  const { inputIds, attentionMask, tokenTypeIds } = await tokenizer.encode(given, { maxTokens: 256 });
  const all = { input_ids: inputIds, attention_mask: attentionMask, token_type_ids: tokenTypeIds };
  const feeds = Object.fromEntries(
    session.inputNames.map((name) => {
      const { data, shape } = all[name as keyof typeof all];
      return [name, new Tensor("int64", data as BigInt64Array, shape)];
    }),
  );
  const [output] = Object.values(await session.run(feeds));
  if (output === undefined) throw new Error("the model gave nothing");
  const hidden = createTensor("float32", output.dims, output.data as Float32Array);
  return normalise(pool(hidden, attentionMask, "mean"));
}
