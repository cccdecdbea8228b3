import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { type StartedProgram, startKserving } from "../start-kserving.ts";

const HALF = join(process.cwd(), "test/fixtures/models/half-plus-two.onnx");
const ISOLATED = "the server's process has ended while this model ran; the model gets a process of its own";
const SIGNALS = { SIGSEGV: 11, SIGABRT: 6, SIGFPE: 8, SIGKILL: 9 } as const;

const MORTAL = join(process.cwd(), "test/faults/mortal-driver.ts");

function config(models: string): string {
  return join(tempFolder({ "models.yaml": `models:\n${models}` }), "models.yaml");
}

const TWO = `  - { name: mortal, driver: ${MORTAL} }\n  - { name: half, path: ${HALF} }\n`;

async function startServer(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const program = startKserving(
    [...args, "--host=127.0.0.1", "--port=0", "--http-enable", "--http-port=0", "--drain-timeout=2"],
    env,
  );
  const { http } = (await program.event("ready")) as unknown as { readonly http: string };
  const ask = async (name: string, value: number) => {
    // A connection that is kept may be lost when it is used again.
    const init = { method: "POST", headers: { connection: "close" }, body: JSON.stringify({ inputs: [value] }) };
    const response = await fetch(`${http}/v1/models/${name}:predict`, init);
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const metrics = async () => (await fetch(`${http}/metrics`)).text();
  return { program, http, ask, metrics };
}

/** The process that serves, which the supervisor has started. */
function serving({ pid }: StartedProgram): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
}

/** Ends the process that serves, as a crash does. */
async function crash(program: StartedProgram, signal: NodeJS.Signals): Promise<void> {
  const pid = serving(program);
  process.kill(pid, signal);
  await expect.poll(() => isAlive(pid), { interval: 5 }).toBe(false);
}

const halfOf = (value: number) => ({ status: 200, body: { outputs: [value / 2 + 2] } });

test.each(Object.entries(SIGNALS))(
  "a model that ends the server by %s is isolated from then on, and others answer within a second",
  async (name, number) => {
    const { program, ask, metrics } = await startServer(["--config", config(TWO)]);
    expect(await ask("half", 4)).toEqual(halfOf(4));
    await expect(ask("mortal", number)).rejects.toThrow();
    const since = performance.now();
    expect(await ask("half", 6)).toEqual(halfOf(6));
    // A bound for a machine that does other work as well.
    expect(performance.now() - since).toBeLessThan(10_000);
    const died = await program.event(`the server's process died \\(${name}\\), while these models ran: mortal; .*`);
    expect(died).toMatchObject({ level: "error", how: name, models: ["mortal"] });
    await program.event(ISOLATED);
    await expect.poll(() => ask("mortal", 0)).toEqual({ status: 200, body: { outputs: [0] } });

    const pid = serving(program);
    const others: unknown[] = [];
    const asking = (async () => {
      for (let value = 0; value < 20; value++) others.push(await ask("half", value));
    })();
    expect(await ask("mortal", number)).toMatchObject({ status: 503 });
    await asking;
    expect(others).toEqual(Array.from({ length: 20 }, (_, value) => halfOf(value)));
    expect(serving(program)).toBe(pid);
    const counted = await metrics();
    expect(counted).toContain('kserving_threads_lost_total{model="mortal",version="1",kind="model"} 2');
    expect(counted).toContain("kserving_process_restarts_total 1");
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0 });
  },
);

test("a model that ends the server while it loads is isolated, and its failure names the signal", async () => {
  const models = `  - { name: mortal, driver: ${MORTAL}, options: { dies_at_load: true } }\n  - { name: half, path: ${HALF} }\n`;
  const program = startKserving(["--config", config(models), "--host=127.0.0.1", "--port=0"]);
  await program.output(/The model's process crashed \(SIGSEGV\) while it was loading/);
});

test("a death that no model has to answer for is survived", async () => {
  const { program, ask } = await startServer([HALF]);
  const idle = connect(Number(new URL((await program.event("ready")).http as string).port), "127.0.0.1");
  idle.on("error", () => {});
  await crash(program, "SIGSEGV");
  expect(await ask("default", 2)).toEqual(halfOf(2));
  await program.event("the server's process died \\(SIGSEGV\\), no model was running; it is started again");
  program.kill("SIGINT");
  expect(await program.ended()).toMatchObject({ code: 0 });
});

test("a server that dies again and again without a model's fault ends by the signal", async () => {
  const { program } = await startServer(["--driver", "null"]);
  const killed = new Set<number>();
  let isOver = false;
  const end = program.ended().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const pid = isOver ? 0 : childOf(program);
    if (pid > 0 && !killed.has(pid) && killed.add(pid)) process.kill(pid, "SIGSEGV");
    await setTimeout(20);
  }
  expect(await end).toMatchObject({ code: null, signal: "SIGSEGV" });
  expect(killed.size).toBeLessThanOrEqual(5);
});

/** 0 where it has none at the moment. */
function childOf(program: StartedProgram): number {
  try {
    return serving(program);
  } catch {
    return 0;
  }
}

test("an error that nothing has caught starts the server again without blaming a model", async () => {
  const preload = `data:text/javascript,${encodeURIComponent(
    'process.send && process.on("SIGWINCH", () => { throw new Error("boom"); });',
  )}`;
  const { program, ask } = await startServer([HALF], { NODE_OPTIONS: `--import=${preload}` });
  process.kill(serving(program), "SIGWINCH");
  await program.event("an unexpected error ends the program; please report it with this line");
  expect(await ask("default", 2)).toEqual(halfOf(2));
});

test("a signal counts once, whether one process gets it or both", async () => {
  const { program, http } = await startServer(["--driver", "null", "--shutdown-delay", "1"]);
  const pid = serving(program);
  program.kill("SIGHUP");
  await program.event("nothing to reload: .*");
  process.kill(pid, "SIGTERM");
  program.kill("SIGTERM");
  await program.event("not ready any more; requests are answered for a while");
  // A second signal would have ended it at once.
  expect((await fetch(`${http}/v2/health/live`)).status).toBe(200);
  expect(await program.ended()).toMatchObject({ code: 0 });
});

/** The processes that one has started, and theirs. */
function descendantsOf(pid: number): readonly number[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const lists = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8"));
  const children = lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

test("signals to all processes of a service, as systemctl kill sends them, end none, isolated models included", async () => {
  const { program, ask } = await startServer([HALF, "--isolate"]);
  const all = () => [program.pid as number, ...descendantsOf(program.pid as number)];
  const before = all();
  expect(before.length).toBeGreaterThan(2);
  for (const signal of ["SIGUSR2", "SIGHUP"] as const) for (const pid of before) process.kill(pid, signal);
  await program.event("there is no log file to open again; .*");
  await program.event("nothing to reload: .*");
  expect(await ask("default", 4)).toEqual(halfOf(4));
  expect(all()).toEqual(before);
});

test("a server that dies while it stops is not started again", async () => {
  const { program } = await startServer(["--driver", "null", "--shutdown-delay", "30"]);
  program.kill("SIGTERM");
  await program.event("not ready any more; requests are answered for a while");
  process.kill(serving(program), "SIGSEGV");
  expect(await program.ended()).toMatchObject({ code: null, signal: "SIGSEGV" });
});

test("a signal that comes while no process serves is the next one's", async () => {
  const { program } = await startServer(["--driver", "null"]);
  const pid = serving(program);
  process.kill(pid, "SIGSEGV");
  await expect.poll(() => isAlive(pid), { interval: 1 }).toBe(false);
  program.kill("SIGINT");
  const { code, signal } = await program.ended();
  // By how far the next process had come.
  expect(code === 0 || signal === "SIGINT").toBe(true);
});

test("the process that serves ends with its supervisor", async () => {
  const { program } = await startServer(["--driver", "null"]);
  const pid = serving(program);
  program.kill("SIGKILL");
  await program.ended();
  await expect.poll(() => isAlive(pid)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

test("a Unix socket is the same one after a death, and is gone at the end", async () => {
  const path = join(tempFolder(), "grpc.sock");
  const { program, ask } = await startServer([HALF, "--grpc-socket-path", path]);
  await crash(program, "SIGABRT");
  await ask("default", 2);
  const socket = connect(path);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.destroy();
  program.kill("SIGTERM");
  await program.ended();
  expect(() => readFileSync(path)).toThrow("ENOENT");
});

test("the process that serves has as many heaps as there are cores, or as its user says", async () => {
  const text = "export const process = () => ({ most: Number(globalThis.process.env.MALLOC_ARENA_MAX) });";
  const hooks = join(tempFolder({ "hooks.mjs": text }), "hooks.mjs");
  const most = async (env: NodeJS.ProcessEnv) =>
    (await (await startServer(["--driver", "null", "--hooks", hooks], env)).ask("default", 1)).body;
  expect(await most({ MALLOC_ARENA_MAX: undefined })).toEqual({ outputs: availableParallelism() });
  expect(await most({ MALLOC_ARENA_MAX: "7" })).toEqual({ outputs: 7 });
});

test("without a supervisor there is one process", async () => {
  const { program } = await startServer(["--driver", "null", "--no-supervisor"]);
  process.kill(program.pid!, "SIGSEGV");
  expect(await program.ended()).toMatchObject({ code: null, signal: "SIGSEGV" });
});

test("a later start knows from the file of marks which model ended the server, where its supervisor was killed too", async () => {
  const marks = join(tempFolder(), "marks");
  const models = config(TWO);
  const { program, ask } = await startServer(["--config", models, "--crash-marks", marks]);
  const pid = serving(program);
  // As where the system ends all processes of a container for want of memory.
  process.kill(program.pid!, "SIGSTOP");
  await expect(ask("mortal", SIGNALS.SIGKILL)).rejects.toThrow();
  program.kill("SIGKILL");
  await expect.poll(() => isAlive(pid)).toBe(false);
  const later = await startServer(["--config", models], { KSERVING_CRASH_MARKS: marks });
  await later.program.event(ISOLATED);
  expect(await later.ask("mortal", SIGNALS.SIGSEGV)).toMatchObject({ status: 503 });
  expect(await later.ask("half", 2)).toEqual(halfOf(2));
  later.program.kill("SIGTERM");
  await later.program.ended();
  const third = await startServer(["--config", models, "--crash-marks", marks]);
  await third.program.event(ISOLATED);
});

test("the program of --http-server-command is started again with the server", async () => {
  const pids = join(tempFolder(), "pids");
  const command = `/bin/sh -c "echo $$ >> ${pids}; exec sleep 100"`;
  const { program } = await startServer([HALF, "--http-server-command", command]);
  const started = () => readFileSync(pids, "utf8").trim().split("\n").map(Number);
  await expect.poll(started).toHaveLength(1);
  await crash(program, "SIGSEGV");
  await expect.poll(started).toHaveLength(2);
  expect(isAlive(started()[0]!)).toBe(false);
  program.kill("SIGINT");
  await program.ended();
});
