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
import { createTensor, defineHooks, ServingError, tensorOf } from "kserving";

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

/** The samples of a WAV file of one channel with 16 bits (RIFF: chunks of a name, a length and bytes). */
function readWav(file: Buffer): { readonly rate: number; readonly samples: Int16Array } {
  const chunks = new Map<string, Buffer>();
  if (file.toString("latin1", 0, 4) !== "RIFF" || file.toString("latin1", 8, 12) !== "WAVE") throw notWav();
  for (let at = 12; at + 8 <= file.length; ) {
    const bytes = file.readUInt32LE(at + 4);
    chunks.set(file.toString("latin1", at, at + 4), file.subarray(at + 8, at + 8 + bytes));
    at += 8 + bytes + (bytes % 2);
  }
  const [format, data] = [chunks.get("fmt "), chunks.get("data")];
  if (format === undefined || data === undefined || format.length < 16) throw notWav();
  const isPlain = format.readUInt16LE(0) === 1 && format.readUInt16LE(2) === 1 && format.readUInt16LE(14) === 16;
  if (!isPlain) throw notWav();
  const samples = Int16Array.from({ length: Math.floor(data.length / 2) }, (_, index) => data.readInt16LE(2 * index));
  return { rate: format.readUInt32LE(4), samples };
}

function notWav(): ServingError {
  return new ServingError("invalid_argument", "Expected a WAV file of one channel with 16 bits.");
}
