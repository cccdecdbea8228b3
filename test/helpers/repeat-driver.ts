import { join } from "node:path";
import type { Driver } from "../../src/drivers/driver.ts";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";
import { tempFolder } from "./temp-folder.ts";

/**
 * A driver whose model gives each number of `x` back as a part of its own, as Triton's sample `repeat` does; `act` has
 * it misbehave. Its handle `streams` tells how many of its generators are open.
 */
const REPEAT = `
import { existsSync } from "node:fs";
import { createTensor, defineDriver } from "kserving";
const number = (value) => createTensor("int32", [1], Int32Array.of(value));
/** Blocks the thread until a reader has left a sign. */
const blockUntil = (sign) => {
  const end = Date.now() + 5000;
  while (!existsSync(sign)) if (Date.now() > end) throw new Error("nobody has read the part");
};
let open = 0;
export default defineDriver({
  name: "repeat", pathless: true, placement: PLACEMENT,
  options: { places: { type: "integer", default: 100, min: 1, help: "Streams at a time." } },
  load: async (path, { places }) => ({
    signatures: {
      serving_default: {
        inputs: [
          { name: "x", dtype: "int32", shape: [-1] },
          { name: "act", dtype: "bytes", shape: [1], default: createTensor("bytes", [1], [Buffer.from("")]) },
        ],
        outputs: [{ name: "y", dtype: "int32", shape: [1] }],
      },
    },
    concurrency: places,
    hookArgs: { streams: { open: async () => open } },
    async *predictStream({ x, act }, { signal }) {
      const [does, sign] = Buffer.from(act?.data[0] ?? "").toString().split(" ");
      const acts = (name) => does === name;
      open++;
      try {
        for (let count = 0; acts("endless"); count++) yield { y: number(count) };
        for (const [index, value] of x.data.entries()) {
          if (index === 3 && acts("throw")) throw new Error("broken at /srv/models/a.bin");
          if (index === 3 && acts("exit")) process.exit(3);
          if (index === 2 && acts("undefined")) yield undefined;
          else yield { [index === 2 && acts("other") ? "z" : "y"]: number(value) };
          if (acts("block")) blockUntil(sign + value);
        }
        if (acts("stuck")) await new Promise(() => {});
        if (acts("wait")) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        if (acts("lingers")) await new Promise(() => {});
        open--;
      }
    },
    close: async () => {},
  }),
});`;

/** Path of a file with the driver, for as long as the test runs. */
export function repeatDriver(placement: NonNullable<Driver["placement"]> = "thread"): string {
  return join(tempFolder({ "repeat.ts": REPEAT.replace("PLACEMENT", JSON.stringify(placement)) }), "repeat.ts");
}

/** Its inputs. */
export function repeated(values: readonly number[], act = ""): Tensors {
  return {
    x: createTensor("int32", [values.length], Int32Array.from(values)),
    act: createTensor("bytes", [1], [Buffer.from(act)]),
  };
}
