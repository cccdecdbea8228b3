import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** WebAssembly of one function, which traps. */
const TRAP = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 116, 0, 0, 10, 5, 1, 3, 0, 0, 11];

/** Returns its inputs, and traps in WebAssembly for -1. */
const DRIVER = `
import { defineDriver } from "kserving";
import { noteTrap, refuseAfterTrap } from ${JSON.stringify(resolve("src/drivers/tensorflow/wasm-trap.ts"))};
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(${JSON.stringify(TRAP)})));
export default defineDriver({
  name: "trapping",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { serving_default: {} },
    predict: async (inputs) => {
      refuseAfterTrap();
      try {
        if (inputs.x.data[0] === -1) exports.t();
      } catch (reason) {
        noteTrap(reason);
        throw reason;
      }
      return inputs;
    },
    close: async () => {},
  }),
});`;

it("a model that traps in WebAssembly answers nothing more, and is loaded again", async () => {
  const { httpUrl } = await startServer({
    stages: [{ driver: join(tempFolder({ "trapping.ts": DRIVER }), "trapping.ts") }],
  });
  const ask = async (x: number) => {
    const body = JSON.stringify({ inputs: { x: [x] } });
    const response = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body });
    return [response.status, JSON.stringify(await response.json())];
  };
  expect(await ask(5)).toEqual([200, '{"outputs":[5]}']);
  const [trapped, next] = await Promise.all([ask(-1), ask(6)]);
  expect(trapped).toEqual([500, expect.stringContaining("unreachable")]);
  expect(next).toEqual([503, expect.stringContaining("WebAssembly")]);
  await expect.poll(() => ask(7), { timeout: 15_000 }).toEqual([200, '{"outputs":[7]}']);
});
