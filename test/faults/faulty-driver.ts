/** A driver that returns its inputs, and misbehaves for requests whose first value is negative: it says how. */
import { DEFAULT_SIGNATURE, defineDriver } from "kserving";

/** Faults of a model. */
export const FAULTS = { throws: -101, blocks: -102, "is slow": -103 } as const;
/** Milliseconds that it blocks its thread: a machine that is too busy to look takes long to find that it does. */
const BLOCKED_MS = 60_000;
const SLOW_MS = 500;

export default defineDriver({
  name: "faulty",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { [DEFAULT_SIGNATURE]: {} },
    predict: async (inputs) => {
      const fault = Number(inputs.x?.data[0]);
      if (fault === FAULTS.throws) throw new Error("broken");
      if (fault === FAULTS.blocks) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
      if (fault === FAULTS["is slow"] || fault === -14) await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      return inputs;
    },
    close: async () => {},
  }),
});
