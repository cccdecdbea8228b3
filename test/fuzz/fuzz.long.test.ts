import { describe, expect, it, onTestFinished } from "vitest";
import { Random } from "../grpc/random.ts";
import type { Decoder } from "./decoder.ts";
import { createDecoders } from "./decoders.ts";
import { fileDecoders } from "./file-decoders.ts";
import { feed, fuzz } from "./fuzz.ts";
import { hdf5Decoder } from "./hdf5-decoder.ts";
import { keptInputs } from "./kept-inputs.ts";
import { openTlsDecoders } from "./tls-decoders.ts";
import { usedMb } from "./used-mb.ts";

/** Five seconds together; `npm run check -- fuzz` takes ten minutes and another seed, and goes on from new branches. */
const [WARM_UP_MS, MS] = [1000, 4000];
const LIMIT_MS = 60_000;
const MAX_GROWTH_MB = 64;

/** Resolves where each decoder reads or refuses so many messages at least, and the memory does not grow. */
async function fuzzAll(decoders: readonly Decoder[], least: number): Promise<void> {
  const random = new Random(11);
  await fuzz(decoders, random, WARM_UP_MS);
  const before = usedMb();
  await fuzz(decoders, random, MS, least);
  expect(usedMb() - before).toBeLessThan(MAX_GROWTH_MB);
}

describe("every decoder of what clients send", () => {
  it("takes its own samples", async () => {
    for (const { samples, decode } of await createDecoders()) {
      for (const sample of samples) await decode(sample);
    }
  });

  it("takes or refuses changed messages, never fails otherwise, and keeps nothing", { timeout: LIMIT_MS }, async () => {
    await fuzzAll(await createDecoders(), 100);
  });

  it("reads or refuses what a fuzzer that follows coverage has kept, and so do the readers of files", async () => {
    for (const decoder of [...(await createDecoders()), ...(await fileDecoders()), hdf5Decoder()]) {
      for (const input of keptInputs(decoder.name)) await feed(decoder, input);
    }
  });

  it("is seen to fail where it does", async () => {
    const broken = {
      name: "broken",
      samples: [Buffer.from("x")],
      decode: () => {
        throw new RangeError("oops");
      },
    };
    await expect(fuzz([broken], new Random(1), 100)).rejects.toThrow("broken failed for the base64");
  });
});

describe("every reader of what strangers make", () => {
  it("takes its own samples", async () => {
    for (const { samples, decode } of [...(await fileDecoders()), hdf5Decoder()]) {
      for (const sample of samples) await decode(sample);
    }
  });

  it("takes or refuses changed files in time, never fails otherwise, and keeps nothing", {
    timeout: LIMIT_MS,
  }, async () => {
    await fuzzAll(await fileDecoders(), 20);
  });
});

describe("a server with encrypted ports", () => {
  it("takes or refuses changed messages, requests, frames and records, and keeps nothing", {
    timeout: LIMIT_MS,
  }, async () => {
    const { decoders, close } = await openTlsDecoders();
    onTestFinished(close);
    await fuzzAll(decoders, 20);
  });

  it("is sent what each decoder reads, but for what no call has, or another decoder's call", async () => {
    const without = (await createDecoders()).filter(({ route }) => route === undefined).map(({ name }) => name);
    // Requests about texts have routes only where hooks have functions, which the attack table asks.
    const ofTexts = [
      ...["OpenAI's chat", "OpenAI's completions", "OpenAI's responses", "OpenAI's embeddings", "a rerank", "a speech"],
      ...["a transcription's form", "Anthropic's messages", "Ollama's chat", "Ollama's generate", "MCP"],
    ];
    const ofOtherServers = [
      ...["SageMaker's JSON and frames", "SageMaker's lines"],
      ...["Simple TensorFlow Serving's JSON", "Simple TensorFlow Serving's form"],
    ];
    const others = [
      "a request's id",
      "PredictResponse",
      "PredictionLog",
      "HTTP/2 frames",
      "a header block",
      "a hook's image",
      "a model's image",
      "a JPEG's header",
    ];
    expect(without.toSorted()).toEqual([...ofTexts, ...ofOtherServers, ...others].toSorted());
  });
});
