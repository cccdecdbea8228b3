import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { invalidArgument } from "../../errors.ts";
import { claimPath } from "../../storage/local-name.ts";
import { schemeOf } from "../../storage/remote-address.ts";
import { modelName } from "./model-name.ts";
import type { ParsedCommandLine } from "./parse-settings.ts";
import { flagOf, type SettingName } from "./settings.ts";

/** A name that also means the only model of a command line such as `kserving emotion.onnx`. */
export const ONLY_MODEL_ALIAS = "default";

type Parsed = ParsedCommandLine<"serve"> & { readonly warnings?: readonly string[] };

/** Maximum number of names in a message. */
const MAX_NAMED = 5;

/**
 * The command line with the flags that its bare words stand for: a model file or a folder with one model is
 * `--model-path` under its own name, several are `--model`, and so is an address in a bucket, in which versions may
 * lie; a folder of models or versions is `--model-repository`, and a script is `--hooks`, under its own name if it is
 * alone. HTTP is on, and every file has to load, unless settings say otherwise. Throws `invalid_argument` for words
 * that do not go together, or not with flags.
 */
export async function applyWords(parsed: Parsed): Promise<Parsed> {
  if (parsed.words.length === 0) return parsed;
  const scripts = parsed.words.filter(isScript);
  const models = parsed.words.filter((word) => !isScript(word));
  assertNoFlag(parsed, "modelPath", models);
  const served = await withModels(onByDefault(parsed, "httpEnable"), models);
  return scripts.length === 0 ? served : withHooks(served, scripts, models);
}

async function withModels(parsed: Parsed, words: readonly string[]): Promise<Parsed> {
  const [only, ...others] = words;
  if (only === undefined) return parsed;
  if (others.length === 0 && !(await holdsSeveral(only)) && !mayHoldVersions(only, parsed))
    return withPipeline(await withWarning(parsed, only), only);
  const folders: string[] = [];
  const models: string[] = [];
  for (const word of words) {
    if (await holdsSeveral(word)) folders.push(word);
    else models.push(`${modelName(word)}=${word}`);
  }
  const whole = folders.length === 0 ? onByDefault(parsed, "failFast") : parsed;
  return withList(withList(whole, "model", models), "modelRepository", folders);
}

function withPipeline(parsed: Parsed, word: string): Parsed {
  const pipeline = given(parsed, "modelPath", [word], quoted(word));
  const listed = [...parsed.listed, { flag: "model-path", value: word }];
  return { ...given(pipeline, "name", nameIn(parsed) ?? modelName(word), quoted(word)), listed };
}

function withHooks(parsed: Parsed, scripts: readonly string[], models: readonly string[]): Parsed {
  const [script = "", second] = scripts;
  if (second !== undefined)
    throw invalidArgument(`${quoted(script)} and ${quoted(second)} are hook files; expected one.`);
  assertNoFlag(parsed, "hooks", scripts);
  const hooked = given(parsed, "hooks", script, quoted(script));
  if (models.length > 0 || parsed.origins.has("driver")) return hooked;
  const named = given(hooked, "name", nameIn(parsed) ?? modelName(script), quoted(script));
  const driver = given(named, "driver", ["null"], quoted(script));
  return { ...driver, listed: [...parsed.listed, { flag: "driver", value: "null" }] };
}

function withList(parsed: Parsed, name: "model" | "modelRepository", entries: readonly string[]): Parsed {
  const [first] = entries;
  if (first === undefined) return parsed;
  return given(parsed, name, [...parsed.settings[name], ...entries], quoted(first));
}

function onByDefault(parsed: Parsed, name: "httpEnable" | "failFast"): Parsed {
  return parsed.origins.has(name) ? parsed : { ...parsed, settings: { ...parsed.settings, [name]: true } };
}

/** The command line with one more setting, and with its origin. */
function given(parsed: Parsed, name: SettingName, value: unknown, origin: string): Parsed {
  const origins = new Map([...parsed.origins, [name, origin] as const]);
  return { ...parsed, settings: { ...parsed.settings, [name]: value }, origins };
}

function assertNoFlag({ origins }: Parsed, name: SettingName, words: readonly string[]): void {
  const [word] = words;
  const origin = origins.get(name);
  if (word === undefined || origin === undefined) return;
  throw invalidArgument(
    `${quoted(word)} and ${origin} say the same; expected one. A chain is written as ${flagOf("modelPath")} FIRST ${flagOf("modelPath")} SECOND.`,
  );
}

function nameIn({ origins, settings }: Parsed): string | undefined {
  return origins.has("name") ? settings.name : undefined;
}

/** Settings that only one pipeline has, which is not versioned. */
const OF_PIPELINE: readonly SettingName[] = ["driver", "hooks", "name", "warmup"];

/** An address in a bucket, which is not listed before the start. */
function mayHoldVersions(word: string, { origins, words }: Parsed): boolean {
  const isBucket = ["s3", "gs", "az", "as"].includes(schemeOf(word) ?? "");
  return isBucket && !words.some(isScript) && !OF_PIPELINE.some((name) => origins.has(name));
}

/** A folder of versions or of models, or one with Triton's description of its model. */
async function holdsSeveral(path: string): Promise<boolean> {
  if (!(await isFolder(path))) return false;
  const { hasTritonConfig } = await import("../../serving/repository/folders/read-triton-config.ts");
  if (await hasTritonConfig(claimPath(path))) return true;
  const { findModel, isDetected, isMain } = await import("../../serving/repository/folders/find-model.ts");
  const model = await findModel(path).catch(() => undefined);
  // One of Hugging Face's that no driver recognises has folders too.
  if (model === path && ["config.json", "tokenizer.json"].every((name) => existsSync(join(path, name)))) return false;
  if (model === undefined || !(await isDetected(model))) return true;
  return !isMain(model) && (await othersIn(path, model)).length > 0;
}

/** The command line with a warning if a folder is served as the one model that is called `model` in it. */
async function withWarning(parsed: Parsed, path: string): Promise<Parsed> {
  if (!(await isFolder(path))) return parsed;
  const { findModel } = await import("../../serving/repository/folders/find-model.ts");
  const model = await findModel(path);
  const names = (await othersIn(path, model)).slice(0, MAX_NAMED).map(({ name }) => name);
  if (names.length === 0) return parsed;
  const text = `${basename(model)} is served as the model of the folder "${path}", and other models in it are left out (${names.join(", ")}); ${flagOf("modelRepository")} ${path} serves each.`;
  return { ...parsed, warnings: [text] };
}

/** The models in a folder besides the one that it means. */
async function othersIn(path: string, model: string): Promise<readonly { readonly name: string }[]> {
  const { modelsBeside } = await import("../../serving/repository/folders/list-models.ts");
  return model === path ? [] : modelsBeside(path, model);
}

function isFolder(path: string): Promise<boolean> {
  return stat(claimPath(path)).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function isScript(word: string): boolean {
  return /\.[cm]?[jt]s$/.test(word);
}

function quoted(word: string): string {
  return `"${word}"`;
}
