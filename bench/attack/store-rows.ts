import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { watchChild } from "../../test/helpers/children.ts";
import type { AttackResult, AttackRow, Target } from "./attack-row.ts";
import { openStore, toModelName } from "./hostile-store.ts";
import { post } from "./http-attack.ts";
import { fromRoot } from "./server-arguments.ts";

/** Above the time after which a server left that had nothing but a timer to wait for. */
const WATCH_MS = 35_000;

/** Stores of models that send less than they should, or something else. */
export const STORE_ROWS: readonly AttackRow[] = [
  { name: "archives-damaged", server: "stored", prepare: () => loadArchives },
  { name: "downloads-broken", server: "null", prepare: () => startWithoutModels },
];

/** Loads each archive: a damaged one must not become a model, and a sound one has to. */
async function loadArchives(target: Target): Promise<AttackResult> {
  const { archives } = await openStore();
  const results: string[] = [];
  const wrong: string[] = [];
  const headers = { authorization: target.authorization ?? "" };
  for (const name of Object.keys(archives)) {
    const model = toModelName(name);
    const load = { path: `/v2/repository/models/${model}/load`, body: Buffer.from("{}"), headers };
    const loaded = await post(target, load);
    const ready = await post(target, { path: `/v2/models/${model}/ready`, method: "GET", body: Buffer.alloc(0) });
    results.push(`${name} ${loaded}`);
    const [first] = new Set([loaded, ready].map((status) => status === "200"));
    if (first !== name.startsWith("sound") || (loaded === "200") !== (ready === "200")) wrong.push(name);
  }
  const got = results.join(", ");
  return wrong.length === 0 ? { got } : { got, problem: `not as they should be: ${wrong.join(", ")}` };
}

/** Starts servers whose only model never comes: none of them may leave as if it had been asked to, or say nothing. */
async function startWithoutModels(): Promise<AttackResult> {
  const { url } = await openStore();
  const ends = await Promise.all(["breaks", "stalls"].map((way) => endOf(`${url}/${way}/m.null`)));
  const got = ends.map(({ code }) => (code === null ? "still there" : `ended with ${code}`)).join(", ");
  const isSilent = ends.some(({ code, said }) => code === 0 || (code !== null && said === ""));
  return isSilent ? { got, problem: "a server left without a word" } : { got };
}

/** Exit code and errors of a server that is ended after a while; the code is null if it was still there. */
async function endOf(model: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const folder = mkdtempSync(join(tmpdir(), "kserving-attack-"));
  const args = ["--driver", "null", "--model-path", model, "--port", "0", "--model-cache", folder, "--no-supervisor"];
  const stdio = ["ignore", "ignore", "pipe"] as const;
  const child = watchChild(spawn(process.execPath, [fromRoot("bin/kserving.cjs"), ...args], { stdio: [...stdio] }));
  const killer = setTimeout(() => child.kill("SIGKILL"), WATCH_MS);
  const said = await text(child.stderr as NonNullable<typeof child.stderr>);
  const code = await new Promise<number | null>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode);
    else child.once("exit", resolve);
  });
  clearTimeout(killer);
  rmSync(folder, { recursive: true });
  return { code, said };
}
