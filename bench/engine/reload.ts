import { makeDenseNet } from "../models.ts";
import type { Group } from "./bench-run.ts";
import { floats, grpcTarget, predictMessage } from "./messages.ts";
import { type BenchServer, benchFile, startKserving } from "./servers.ts";

const WIDTHS = [64, 4400, 4400, 64];

/** New hooks under load, with a large model that stays where it is. */
export const reload: Group = {
  name: "hook reload",
  run: async ({ load, rounds, say }) => {
    say(`${rounds} times`);
    const args = ["--model-path", makeDenseNet("dense-80mb", WIDTHS), "--threads", "1"];
    const server = await startKserving([...args, "--hooks", benchFile("identity-hooks.ts")]);
    const target = await grpcTarget(
      server.grpcPort,
      predictMessage([1, 64], floats(64)),
      ({ y }) => y?.data.length === 64,
    );
    const events = reloads(server);
    const durations: number[] = [];
    let failed = 0;
    for (let round = 0; round < rounds; round++) {
      const pressed = load.run({ ...target, connections: 4, inFlight: 8, seconds: 1 });
      durations.push(await events());
      const { problems } = await pressed;
      failed += Object.values(problems).reduce((sum, count) => sum + count, 0);
    }
    await server.stop();
    const name = "hook reload with an 80 MB model, 8 in flight: 1 hook + 1 model thread";
    return [
      { name, ours: "", values: durations, unit: "ms", target: { atMost: 300 } },
      { name: "requests that failed meanwhile", ours: "", values: [failed], unit: "", target: { atMost: 0 } },
    ];
  },
};

/** Milliseconds from the signal until the server says that the new hooks are there. */
function reloads(server: BenchServer): () => Promise<number> {
  let heard = () => {};
  server.onLog(({ msg }) => {
    if (msg === "hooks reloaded") heard();
  });
  return async () => {
    const reloaded = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const started = performance.now();
    process.kill(server.pid, "SIGHUP");
    await reloaded;
    return performance.now() - started;
  };
}
