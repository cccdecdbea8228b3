/**
 * Finds the stretches of a sound with a voice, and tells each as soon as it ends: what listens behind it hears no
 * silence. The model hears 32 ms at a time, and its state goes from one window to the next.
 *
 *     pip install --no-deps --target .cache/vad silero-vad==6.2.3
 *     kserving --driver onnx --model-path .cache/vad/silero_vad/data/silero_vad_op18_ifless.onnx \
 *              --hooks examples/hooks/speech-gate.ts --http-enable
 *     curl -N http://localhost:9001/predict -H 'accept: application/x-ndjson' -F bytes_wav=@examples/sounds/voice.wav
 */
import { createTensor, defineHooks, ServingError, type Tensor, tensorOf } from "kserving";
import { readWav } from "./sounds/wav.ts";

const RATE = 16_000;
/** Samples that the model hears at a time, and those before them that it hears again. */
const WINDOW = 512;
const CONTEXT = 64;
/** Probability of speech at which a stretch begins; below the second one, for so many seconds, it has ended. */
const BEGINS = 0.5;
const ENDS = 0.35;
const PAUSE_S = 0.1;

export default defineHooks({
  inputs: [{ name: "wav", dtype: "bytes" }],
  outputs: [
    { name: "start", dtype: "float32", shape: [1] },
    { name: "end", dtype: "float32", shape: [1] },
  ],

  async *process({ wav }, _ctx, { driver }) {
    const { rate, samples } = readWav(Buffer.from(wav.data[0] as Uint8Array));
    if (rate !== RATE)
      throw new ServingError("invalid_argument", `The sound has ${rate} samples a second, not ${RATE}.`);
    const sr = createTensor("int64", [], BigInt64Array.of(BigInt(RATE)));
    let state: Tensor = createTensor("float32", [2, 1, 128], new Float32Array(256));
    let stretch: { readonly start: number; end: number } | undefined;
    for (let at = 0; at + WINDOW <= samples.length; at += WINDOW) {
      const heard = await driver.predict({ input: windowAt(samples, at), state, sr });
      state = tensorOf(heard, "stateN", "float32");
      const speech = tensorOf(heard, "output", "float32").data[0] ?? 0;
      const end = (at + WINDOW) / RATE;
      if (speech >= BEGINS) stretch ??= { start: at / RATE, end };
      if (stretch !== undefined && speech >= ENDS) stretch.end = end;
      if (stretch === undefined || end - stretch.end < PAUSE_S) continue;
      yield seconds(stretch);
      stretch = undefined;
    }
    if (stretch !== undefined) yield seconds(stretch);
  },
});

/** A window with what is before it, from -1 to 1; silence before the beginning. */
function windowAt(samples: Int16Array, at: number): Tensor<"float32"> {
  const data = Float32Array.from(
    { length: CONTEXT + WINDOW },
    (_, index) => (samples[at - CONTEXT + index] ?? 0) / 32_768,
  );
  return createTensor("float32", [1, data.length], data);
}

function seconds({ start, end }: { readonly start: number; readonly end: number }) {
  return { start: Float32Array.of(start), end: Float32Array.of(end) };
}
