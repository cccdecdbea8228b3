/**
 * An answer in parts: a text letter by letter, each as soon as it is there. ModelStreamInfer of KServe V2 over gRPC
 * carries parts, and over HTTP its generate_stream; where one answer is taken, `collect` joins them.
 *
 *     kserving --driver null --hooks examples/hooks/letters.ts --http-enable
 *     curl http://localhost:9001/predict -F 'string_text=Hello'
 */
import { setTimeout as wait } from "node:timers/promises";
import { defineHooks } from "kserving";

export default defineHooks({
  inputs: [{ name: "text", dtype: "bytes" }],
  outputs: [{ name: "letter", dtype: "bytes" }],

  async *process({ text }, ctx) {
    for (const letter of Buffer.from(text.data[0] as Uint8Array).toString()) {
      yield { letter };
      // In place of the model that takes its time for the next one.
      await wait(10, undefined, { signal: ctx.signal });
    }
  },

  collect: (parts) => ({ letter: parts.map(({ letter }) => Buffer.from(letter.data[0])).join("") }),
});
