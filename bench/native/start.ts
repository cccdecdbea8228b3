import { setTimeout } from "node:timers/promises";
import { pssMb } from "../../test/helpers/process-usage.ts";
import { alternate, type Group } from "../engine/bench-run.ts";
import { startKserving } from "../engine/servers.ts";
import { timeToReady } from "../engine/start.ts";
import { makeDenseNet } from "../models.ts";

/** By then an idle server has given back what its start took. */
const SETTLED_MS = 4000;

/** Time and memory until a small model can be asked. */
export const start: Group = {
  name: "start",
  run: async ({ rounds, say }) => {
    const args = ["--model-path", makeDenseNet("tiny-MLP", [16, 32, 8]), "--threads", "1"];
    say("tiny ONNX model");
    const { ready } = await alternate(rounds, { ready: () => timeToReady(args) });
    const server = await startKserving(args);
    await setTimeout(SETTLED_MS);
    const idle = pssMb(server.pid);
    await server.stop();
    return [
      { name: "start to ready: tiny ONNX model", ours: "", values: ready, unit: "ms", target: { atMost: 300 } },
      { name: "idle PSS: tiny ONNX model", ours: "", values: [idle], unit: "MB", target: { atMost: 90 } },
    ];
  },
};
