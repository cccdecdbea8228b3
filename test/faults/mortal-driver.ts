/** A driver that ends its process by the signal whose number is the first value, and returns other values. */
import { DEFAULT_SIGNATURE, defineDriver } from "kserving";

export default defineDriver({
  name: "mortal",
  options: { dies_at_load: { type: "boolean", help: "end the process while it loads" } },
  pathless: true,
  load: async (_, { dies_at_load: diesAtLoad }) => {
    if (diesAtLoad) die("SIGSEGV");
    const spec = { dtype: "float32", shape: [1] } as const;
    return {
      signatures: { [DEFAULT_SIGNATURE]: { inputs: [{ name: "x", ...spec }], outputs: [{ name: "y", ...spec }] } },
      predict: async ({ x }) => {
        const signal = Number(x!.data[0]);
        if (signal > 0) die(signal);
        return { y: x! };
      },
      close: async () => {},
    };
  },
});

/** A signal by kill() comes a little later, where a crash would not let the thread go on. */
function die(signal: number | NodeJS.Signals): void {
  process.kill(process.pid, signal);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
