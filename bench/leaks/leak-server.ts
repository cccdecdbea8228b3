import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { Agent as EncryptedAgent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { watchChild } from "../../test/helpers/children.ts";
import { runCommand } from "../../test/helpers/run-command.ts";
import { type StartedCommand, startCommand } from "../../test/helpers/start-command.ts";
import { openSession } from "../attack/grpc-attack.ts";
import { driverModels, fromRoot } from "./driver-models.ts";
import { webTarget } from "./http2-kinds.ts";
import type { LeakServer, ServerForm } from "./leak-kind.ts";

/** Requests that are sent at a time. */
export const AT_A_TIME = 8;

/** The first line of Node whose threads can open one port several times. */
const NODE_OF_LISTENERS = 22;

const FORMS: Readonly<Record<ServerForm, readonly string[]>> = {
  plain: ["--allow-client-shm", "--mcp"],
  drivers: [],
  encrypted: [
    ...["--tls-cert", fromRoot("test/fixtures/tls/server.pem")],
    ...["--tls-key", fromRoot("test/fixtures/tls/server.key")],
  ],
  listeners: ["--listeners", "2"],
  single: [],
};

/** Starts a server, and stops it after its use; `use` gets the file of its instrument too. */
export async function withLeakServer(
  form: ServerForm,
  use: (server: LeakServer, file: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "kserving-leaks-"));
  const [config, file] = [join(folder, "models.json"), join(folder, "facts.json")];
  writeFileSync(config, JSON.stringify({ models: modelsOf(form) }));
  const started = await startInstrumented([...serverArguments(config), ...FORMS[form]], file, { node: nodeOf(form) });
  const { server, close } = await connect(started, form);
  await use(server, file);
  close();
  await started.stop();
  rmSync(folder, { recursive: true });
}

/** Starts the program with an instrument that writes to the file `out`; `shrink` forgets compiled code before. */
export async function startInstrumented(
  args: readonly string[],
  out: string,
  { node = process.execPath, shrink = false } = {},
): Promise<StartedCommand> {
  const instrument = `${pathToFileURL(fromRoot("bench/instrument.mjs"))}?out=${out}${shrink ? "&shrink" : ""}`;
  const started = await startCommand([
    ...[node, "--import", instrument, fromRoot("bin/kserving.cjs"), "--no-supervisor", ...args],
    ...["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"],
  ]);
  watchChild(started.child);
  return started;
}

function modelsOf(form: ServerForm): readonly object[] {
  if (form === "drivers") {
    const images = ["inline", "thread"].map((where) => ({
      name: `${where}-images`,
      driver: fromRoot(`bench/attack/${where}-image-driver.ts`),
    }));
    return [...Object.entries(driverModels()).map(([name, model]) => ({ name, ...model })), ...images];
  }
  const hooks = (name: string) => fromRoot(`bench/leaks/${name}-hooks.ts`);
  if (form === "single") return [{ name: "json", driver: "null", hooks: hooks("json") }];
  return [
    { name: "default", driver: "null" },
    { name: "hooked", driver: "null", hooks: hooks("leak") },
    { name: "parts", driver: "null", hooks: hooks("part") },
    { name: "talk", driver: "null", hooks: hooks("text") },
    { name: "mortal", driver: fromRoot("test/faults/mortal-driver.ts"), isolate: true },
  ];
}

function serverArguments(config: string): string[] {
  return [
    "--config",
    config,
    "--threads",
    "1",
    "--hook-timeout",
    "0.4",
    "--max-message-bytes",
    "1MB",
    "--poison-requests",
    "0",
  ];
}

function nodeOf(form: ServerForm): string {
  const isNew = Number.parseInt(process.versions.node, 10) >= NODE_OF_LISTENERS;
  if (form !== "listeners" || isNew) return process.execPath;
  return runCommand("npx", ["-y", "-p", `node@${NODE_OF_LISTENERS}`, "node", "-p", "process.execPath"], {
    cwd: tmpdir(),
  }).trim();
}

async function connect(
  { grpc: address, http, child }: StartedCommand,
  form: ServerForm,
): Promise<{ readonly server: LeakServer; readonly close: () => void }> {
  const pid = child.pid as number;
  const isEncrypted = form === "encrypted";
  const grpc = isEncrypted ? `grpcs://${address}` : address;
  const agent = new (isEncrypted ? EncryptedAgent : Agent)({ keepAlive: true, maxSockets: AT_A_TIME });
  const [calls, web] = await Promise.all([keptSession({ grpc, http, pid }), keptSession(webTarget({ http, pid }))]);
  const renew = async () => {
    await Promise.all([calls.renew(), web.renew()]);
  };
  const server: LeakServer = {
    ...{ grpc, http, pid, agent, renew },
    get session() {
      return calls.session();
    },
    get web() {
      return web.session();
    },
  };
  const close = () => {
    for (const kept of [calls, web]) kept.session().destroy();
    agent.destroy();
  };
  return { server, close };
}

/** A session that is opened again once it has ended. */
async function keptSession(target: Parameters<typeof openSession>[0]) {
  let session = await openSession(target);
  let renewal: Promise<void> | undefined;
  const reopen = async () => {
    session.destroy();
    session = await openSession(target);
    renewal = undefined;
  };
  const renew = () => {
    if (session.closed || session.destroyed) renewal ??= reopen();
    return renewal;
  };
  return { session: () => session, renew };
}
