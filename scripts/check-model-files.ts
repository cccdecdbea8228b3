import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { driversFor } from "../src/drivers/drivers-for.ts";
import { parseOptions } from "../src/drivers/option-table.ts";
import { findDriver } from "../src/drivers/registry.ts";
import { ServingError } from "../src/errors.ts";
import { createSilentLogger } from "../src/observability/logger.ts";
import { toColumns } from "../src/platform/text/terminal.ts";

/**
 * Loads every model file below folders on every driver that takes its kind, in a process each, and prints which are
 * served, which are refused and why, and which end their process. Ends with 1 where one does.
 *
 *     tsx scripts/check-model-files.ts FOLDER …
 */

const MODEL_FILE = /(\.(onnx|tflite|lite|h5|hdf5|keras|xml|pb|pdmodel)|\/model\.json)$/i;
/** Drivers that read the file itself: those in Python need to be told of what is in it. */
const NATIVE = ["onnx", "openvino", "tensorflow"];

const SELF = fileURLToPath(import.meta.url);
const PATIENCE_MS = 120_000;
/** Exit codes of a child. */
const [SERVED, REFUSED] = [0, 3];

function modelsBelow(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== "node_modules");
  // The folder is the model.
  if (entries.some(({ name }) => name === "saved_model.pb")) return [folder];
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return modelsBelow(path);
    return MODEL_FILE.test(path) ? [path] : [];
  });
}

function judge(driver: string, path: string): { readonly verdict: string; readonly reason: string } {
  const args = ["--import", "tsx", SELF, "--one", driver, path];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: PATIENCE_MS,
  });
  if (status === SERVED) return { verdict: "served", reason: "" };
  if (status === REFUSED) return { verdict: "refused", reason: stdout.trim() };
  return { verdict: "DIED", reason: `${signal ?? status} ${stderr.trim().split("\n").at(-1)}` };
}

/** The child's part: a load, whose refusal is printed. */
async function loadOne(name: string, path: string): Promise<number> {
  try {
    const { driver } = await findDriver(name);
    const options = parseOptions(driver.options, {});
    const model = await driver.load(path, options, { log: createSilentLogger(), threads: 1 });
    await model.close();
    return SERVED;
  } catch (reason) {
    const { code, message } = ServingError.from(reason);
    process.stdout.write(`${code}: ${message.replaceAll(path, basename(path)).slice(0, 300)}\n`);
    // What is not foreseen is no refusal.
    return code === "internal" ? 1 : REFUSED;
  }
}

async function main(folders: readonly string[]): Promise<number> {
  const rows: [string, string, string, string][] = [];
  for (const path of folders.flatMap(modelsBelow)) {
    const drivers = await driversFor(path);
    for (const driver of drivers.filter((name) => NATIVE.includes(name))) {
      const { verdict, reason } = judge(driver, path);
      rows.push([verdict, driver, basename(path), reason]);
    }
  }
  process.stdout.write(`${toColumns(rows).join("\n")}\n`);
  const died = rows.filter(([verdict]) => verdict === "DIED").length;
  process.stdout.write(`${rows.length} loads, ${died} ended their process\n`);
  return died === 0 && rows.length > 0 ? 0 : 1;
}

const [first, ...rest] = process.argv.slice(2);
process.exit(
  first === "--one" ? await loadOne(rest[0] as string, rest[1] as string) : await main(process.argv.slice(2)),
);
