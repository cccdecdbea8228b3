/**
 * Sound as it is recorded: each request has the next samples of a stream, and is answered with the loudness of every
 * window that they complete. What does not fill a window waits for the next request of the same `x-session`.
 *
 *     kserving --driver null --hooks examples/hooks/streaming-audio.ts --http-enable
 *     curl http://localhost:9001/v1/models/default:predict -H 'x-session: ann' \
 *          -d '{"inputs": {"samples": [0.1, 0.2, 0.3, 0.4, 0.5]}}'
 *
 * Clients of KServe V2 send their requests in one `ModelStreamInfer`, whose metadata they all share. The null driver
 * answers with the windows; a model of sound events takes its place. As in stateful-loop.ts, the streams are those of
 * one hook thread.
 */
import { createTensor, defineHooks, type Tensor } from "kserving";

/** Samples of a window, and of the step to the next: windows overlap by half. */
const WINDOW = 4;
const STEP = 2;

/** Streams that are remembered; the one that was used least recently makes room. */
const MAX_STREAMS = 1000;

export default defineHooks({
  inputs: [{ name: "samples", dtype: "float32", shape: [-1] }],
  outputs: [{ name: "loudness", dtype: "float32", shape: [-1] }],
  init_hook: () => new Map<string, Float32Array>(),

  // Without await: requests of one stream begin in their order.
  preprocess({ samples }, ctx) {
    const streams: Map<string, Float32Array> = ctx.global_ctx;
    const session = ctx.metadata["x-session"] ?? ctx.request.id;
    const sound = Float32Array.of(...(streams.get(session) ?? []), ...samples.data);
    const count = Math.max(0, Math.floor((sound.length - WINDOW) / STEP) + 1);
    streams.delete(session);
    streams.set(session, sound.slice(count * STEP));
    const [oldest] = streams.keys();
    if (streams.size > MAX_STREAMS && oldest !== undefined) streams.delete(oldest);
    const windows = Array.from({ length: count }, (_, index) => [
      ...sound.subarray(index * STEP, index * STEP + WINDOW),
    ]);
    return { windows: createTensor("float32", [count, WINDOW], Float32Array.from(windows.flat())) };
  },

  postprocess(outputs) {
    const { shape, data } = outputs.windows as Tensor<"float32">;
    const loudness = (window: Float32Array) => Math.sqrt(window.reduce((sum, one) => sum + one * one, 0) / WINDOW);
    const windows = Array.from({ length: shape[0] ?? 0 }, (_, index) =>
      data.subarray(index * WINDOW, (index + 1) * WINDOW),
    );
    return { loudness: Float32Array.from(windows.map(loudness)) };
  },
});
