/** A model of which a request takes long, so that others wait for it in a queue. */
import { setTimeout as wait } from "node:timers/promises";
import { DEFAULT_SIGNATURE, defineDriver } from "kserving";

const RUN_MS = 200;

export default defineDriver({
  name: "slow",
  options: {},
  pathless: true,
  load: async () => {
    const spec = { dtype: "float32", shape: [1] } as const;
    return {
      signatures: { [DEFAULT_SIGNATURE]: { inputs: [{ name: "x", ...spec }], outputs: [{ name: "y", ...spec }] } },
      predict: async ({ x }) => {
        await wait(RUN_MS);
        return { y: x! };
      },
      close: async () => {},
    };
  },
});
