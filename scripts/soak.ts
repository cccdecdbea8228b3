import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { endChildrenOnSignal, watchChild } from "../bench/children.ts";
import { pssMb } from "../bench/engine/process-usage.ts";
import { Asking } from "../bench/soak/asking.ts";
import { type SoakCounts, SoakRun } from "../bench/soak/soak-run.ts";
import { StartedNumbers } from "../bench/soak/started-numbers.ts";
import { type StartedCommand, startCommand } from "./start-command.ts";

const HELP = `Asks a server without pause, over gRPC, REST and PredictJSON, tiny and large, through hooks and an ONNX model; each request
carries a number, and every answer is checked. A hook thread is killed each 5 s (in turn: it exits, it never returns), the hooks
are loaded again each 20 s. Ends with 0 only when no answer was wrong and none failed but in a killed thread.

  npm run soak -- --minutes 10`;

const KILL_EACH_MS = 5_000;
const RELOAD_EACH_MS = 20_000;
/** Above the server's own limit for requests under way. */
const END_WITHIN_MS = 30_000;

const OPTIONS = { minutes: { type: "string", default: "10" }, help: { type: "boolean" } } as const;
const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) console.log(HELP);
else process.exitCode = await soak(Number(flags.minutes));

/** Gives the process's exit code. */
async function soak(minutes: number): Promise<number> {
  endChildrenOnSignal();
  const started = new StartedNumbers();
  const server = await startCommand([process.execPath, ...serverCommand(started.folder)]);
  watchChild(server.child);
  const crashed = once(server.child, "exit").then(([code, signal]) => {
    throw new Error(`the server ended by itself: code ${code}, signal ${signal}`);
  });
  try {
    const isClean = await Promise.race([run(server, started, minutes), crashed]);
    crashed.catch(() => {});
    await stopInTime(server);
    console.log(isClean ? "Clean, and the server ended with 0." : "NOT CLEAN, see above.");
    return isClean ? 0 : 1;
  } finally {
    started.delete();
  }
}

async function stopInTime(server: StartedCommand): Promise<void> {
  const late = wait(END_WITHIN_MS, undefined, { ref: false }).then(() => {
    throw new Error(`the server has not ended ${END_WITHIN_MS / 1000} s after it was told to`);
  });
  await Promise.race([server.stop(), late]);
}

function serverCommand(folder: string): string[] {
  const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
  return [
    fromRoot("bin/kserving.cjs"),
    ...["--driver", "onnx", "--model-path", fromRoot("test/fixtures/models/half-plus-two.onnx")],
    ...["--driver", fromRoot("bench/echo-driver.ts"), "--model-path", "none"],
    ...["--hooks", fromRoot("bench/soak-hooks.ts"), "-o", `soak_folder=${folder}`],
    ...["--workers", "2", "--hook-stall", "1", "--threads", "1"],
    ...["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"],
  ];
}

/** Gives whether everything was as it should be. */
async function run({ child, grpc, http }: StartedCommand, started: StartedNumbers, minutes: number): Promise<boolean> {
  const pid = child.pid as number;
  const asking = new Asking(grpc, http);
  const soaking = new SoakRun(asking, started);
  const reloads = countReloads(child);
  const began = performance.now();
  const elapsed = () => performance.now() - began;
  let [kills, minute, isClean] = [0, 0, true];
  for (let step = 1; elapsed() < minutes * 60_000; step++) {
    await wait(step * KILL_EACH_MS - elapsed());
    if ((step * KILL_EACH_MS) % RELOAD_EACH_MS === 0) process.kill(pid, "SIGHUP");
    soaking.kill(kills++ % 2 === 0 ? 1 : 2);
    if (elapsed() >= (minute + 1) * 60_000)
      isClean = print(`minute ${++minute}`, soaking.report(), `${reloads()}, ${memory(pid)}`) && isClean;
  }
  await soaking.finish();
  isClean = print("what was left", soaking.report(), `${reloads()}, ${memory(pid)}`) && isClean;
  asking.close();
  return isClean;
}

function print(when: string, counts: SoakCounts, rest: string): boolean {
  const { requests, wrong, crossTalk, unexplained, failures, kills } = counts;
  console.log(`${when}: ${requests} requests, ${wrong} wrong, ${crossTalk} cross-talk, ${kills} kills, ${rest}`);
  for (const [name, count] of Object.entries(failures)) console.log(`  ${count} × ${name}`);
  return wrong + crossTalk + unexplained === 0;
}

/** Tells how many reloads there were since the last question, and how long the slowest took. */
function countReloads(child: StartedCommand["child"]): () => string {
  let durations: number[] = [];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    for (const [, ms] of text.matchAll(/"ms":(\d+)[^\n]*"msg":"hooks reloaded"/g)) durations.push(Number(ms));
  });
  return () => {
    const report = `${durations.length} reloads (${Math.max(0, ...durations)} ms at most)`;
    durations = [];
    return report;
  };
}

function memory(pid: number): string {
  return `PSS ${pssMb(pid).toFixed(0)} MB`;
}
