/**
 * A model called for each window of an uploaded sound, whose parts come as they are computed: a long recording has its
 * first results at once, and never all of them in memory.
 *
 *     kserving --driver null --hooks examples/hooks/sound-windows.ts --http-enable
 *     curl -N http://localhost:9001/predict -H 'accept: application/x-ndjson' -F bytes_wav=@examples/sounds/rising.wav
 *
 * The null driver answers with the window; a model of sound events takes its place. The frames of a video are gone
 * through likewise.
 */
import { createTensor, defineHooks, tensorOf } from "kserving";
import { readWav } from "./sounds/wav.ts";

/** Length of a window, in seconds. */
const WINDOW_S = 0.1;

export default defineHooks({
  inputs: [{ name: "wav", dtype: "bytes" }],
  outputs: [
    { name: "second", dtype: "float32", shape: [1] },
    { name: "loudness", dtype: "float32", shape: [1] },
  ],

  async *process({ wav }, _ctx, { driver }) {
    const { rate, samples } = readWav(Buffer.from(wav.data[0] as Uint8Array));
    const length = Math.round(WINDOW_S * rate);
    for (let at = 0; at + length <= samples.length; at += length) {
      const window = Float32Array.from(samples.subarray(at, at + length), (value) => value / 32768);
      const answer = await driver.predict({ window: createTensor("float32", [1, length], window) });
      const heard = tensorOf(answer, "window", "float32").data;
      const loudness = Math.sqrt(heard.reduce((sum, value) => sum + value * value, 0) / length);
      yield { second: Float32Array.of(at / rate), loudness: Float32Array.of(loudness) };
    }
  },
});
