import { setTimeout as wait } from "node:timers/promises";
import { cpuMs } from "../../test/helpers/process-usage.ts";
import { quantile } from "../../test/helpers/quantile.ts";
import { tableLines } from "../../test/helpers/table.ts";
import { type BenchServer, startKserving } from "../engine/servers.ts";
import { Burner } from "./burner.ts";
import { addVersion, withFolder } from "./version-folder.ts";

const BODY = '{"inputs": [2.5]}';
const CLIENTS = 8;
/** Servers in each round. */
const SERVERS = 5;
const ROUNDS = 3;
/** Milliseconds of traffic before each change of version. */
const REST_MS = 500;
/** Time in which a server prepares the thread for its next version. */
const PREPARING_MS = 1500;

type Phase = "rest" | "first switch" | "later switch" | "other process";

/**
 * Prints how long the answers of 8 clients take that never pause: at rest, from the moment
 * in which a new version appears until the old one is gone, and, to compare, while another
 * process takes as much of the machine as a first switch does. The first switch of a server
 * takes the thread that was started ahead; later ones take that of the version before.
 */
export async function measureSwitches(): Promise<void> {
  const costMs = await cpuOfSwitch();
  const rows = [
    [
      `${CLIENTS} clients, a first switch is ${costMs.toFixed(0)} ms of a core`,
      "requests",
      "p50 ms",
      "p99 ms",
      "p99 to rest",
    ],
  ];
  for (let round = 0; round < ROUNDS; round++) rows.push(...(await measureRound(costMs)));
  for (const line of tableLines(rows)) console.log(line);
}

/** Milliseconds of a core that a first switch takes while no request comes. */
async function cpuOfSwitch(): Promise<number> {
  let costMs = 0;
  for (let round = 0; round < 5; round++) {
    await withServer(async (switchTo, { pid }) => {
      const before = cpuMs(pid);
      await switchTo(2);
      costMs += (cpuMs(pid) - before) / 5;
    });
  }
  return costMs;
}

/** Servers one after the other, each switched twice. */
async function measureRound(costMs: number): Promise<string[][]> {
  const times: Record<Phase, number[]> = { rest: [], "first switch": [], "later switch": [], "other process": [] };
  const burner = new Burner();
  for (let turn = 0; turn < SERVERS; turn++) {
    await withServer(async (switchTo, server) => {
      const traffic = new Traffic(server, times);
      await traffic.during("first switch", () => switchTo(2));
      await traffic.during("later switch", () => switchTo(3));
      await traffic.during("other process", () => burner.burn(costMs));
      await traffic.stop();
    });
  }
  burner.close();
  const p99 = (phase: Phase) =>
    quantile(
      times[phase].toSorted((a, b) => a - b),
      0.99,
    );
  return (Object.keys(times) as Phase[]).map((phase) => {
    const p50 = quantile(
      times[phase].toSorted((a, b) => a - b),
      0.5,
    );
    const cells = [p50.toFixed(2), p99(phase).toFixed(2), (p99(phase) / p99("rest")).toFixed(2)];
    return [phase, String(times[phase].length), ...cells];
  });
}

/** Clients that ask one after the other until they are stopped. */
class Traffic {
  readonly #server: BenchServer;
  readonly #times: Record<Phase, number[]>;
  readonly #clients: readonly Promise<void>[];
  #phase: Phase | "before" = "before";
  #isOn = true;

  constructor(server: BenchServer, times: Record<Phase, number[]>) {
    this.#server = server;
    this.#times = times;
    this.#clients = Array.from({ length: CLIENTS }, () => this.#run());
  }

  /** Counts requests as of a phase that begin while something is done, and those of a while before as of rest. */
  async during(phase: Phase, act: () => Promise<void>): Promise<void> {
    this.#phase = this.#phase === "before" ? "before" : "rest";
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    this.#phase = phase;
    await act();
    this.#phase = "rest";
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await Promise.all(this.#clients);
  }

  async #run(): Promise<void> {
    while (this.#isOn) {
      const [phase, started] = [this.#phase, performance.now()];
      await post(this.#server, "/v1/models/half:predict", BODY);
      if (phase !== "before") this.#times[phase].push(performance.now() - started);
    }
  }
}

/**
 * Lends a server of one model in a process of its own, and how to give it a new
 * version: resolves once the old one is gone.
 */
function withServer(
  use: (switchTo: (version: number) => Promise<void>, server: BenchServer) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    addVersion(folder, 1);
    const args = ["--model", `half=${folder}`, "--poll-interval", "60", "--allow-control", "local"];
    const server = await startKserving(args);
    await wait(PREPARING_MS);
    let onEnd = (_: string) => {};
    server.onLog((event) => {
      const { msg, state, version } = event as { msg: string; state?: string; version?: string };
      if (msg === "model state" && state === "END") onEnd(version ?? "");
    });
    const switchTo = async (version: number) => {
      addVersion(folder, version);
      const ended = new Promise<void>((resolve) => {
        onEnd = (old) => old === String(version - 1) && resolve();
      });
      await post(server, "/v2/repository/models/half/load", "{}");
      await ended;
    };
    await use(switchTo, server).finally(() => server.stop());
  });
}

async function post({ httpPort }: BenchServer, path: string, body: string): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, { method: "POST", body });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`A request failed while versions changed: ${text}`);
}
