import { invalidArgument } from "../../errors.ts";
import type { ModelSources } from "../../serving/repository/config-sources.ts";
import type { ListedPath } from "../../serving/repository/folder-source.ts";
import { claimPath } from "../../storage/local-name.ts";
import { toPlace } from "../../storage/remote-address.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import { FILE_SETTINGS } from "../settings/read-file-settings.ts";
import type { ServeCommandLine } from "../settings/read-serve-settings.ts";
import type { SettingName } from "../settings/settings.ts";

/** Settings of the one pipeline of the command line. */
const OF_PIPELINE: readonly SettingName[] = ["modelPath", "driver", "hooks", "name", "warmup"];
/** Settings of which each makes a server of named models. */
const OF_SEVERAL: readonly SettingName[] = ["model", "modelRepository"];

/**
 * Descriptions of the named models of a command line; undefined if it has one pipeline. Throws `invalid_argument`
 * for flags of both, and for a `--model` that is not NAME=PATH.
 */
export function toModelSources(commandLine: ServeCommandLine): ModelSources | undefined {
  const { settings, configs, foreign } = commandLine;
  const several = originOfSeveral(commandLine);
  if (several === undefined) {
    assertOnePipeline(commandLine);
    return undefined;
  }
  assertNoPipeline(commandLine, several);
  return {
    named: settings.model.map(parseModelFlag),
    models: foreign?.models ?? [],
    files: configs.length === 0 ? [] : settings.config,
    ...(foreign?.keepsFiles && { keepsFiles: true }),
    settingNames: [...FILE_SETTINGS.keys()],
    folders: settings.modelRepository,
    options: parseOptionFlags(settings.option, "several").shared,
  };
}

/** The flag, variable or file that names models. */
function originOfSeveral({ origins, configs, settings, foreign }: ServeCommandLine): string | undefined {
  if (foreign !== undefined) return "the command line";
  const name = OF_SEVERAL.find((each) => origins.has(each));
  if (name !== undefined) return origins.get(name);
  const index = configs.findIndex(({ models }) => models.length > 0);
  return index === -1 ? undefined : settings.config[index];
}

function assertNoPipeline({ origins, settings }: ServeCommandLine, several: string): void {
  const ofPipeline = OF_PIPELINE.find((name) => origins.has(name));
  if (ofPipeline !== undefined)
    throw invalidArgument(
      `${origins.get(ofPipeline)} describes one pipeline, and ${several} names models; expected one of them. A chain gives each model by --model-path: --model-path a.onnx --model-path b.onnx --hooks hooks.ts. A pipeline among several models is described in a file for --config, with stages and hooks.`,
    );
  if (settings.loadModel.length > 0 && settings.modelControl !== "explicit")
    throw invalidArgument(
      "--load-model names what is loaded with --model-control explicit; without that, every model is loaded.",
    );
}

function assertOnePipeline({ origins }: ServeCommandLine): void {
  const ofSeveral = (["loadModel", "modelControl"] as const).find((name) => origins.has(name));
  if (ofSeveral === undefined) return;
  throw invalidArgument(
    `${origins.get(ofSeveral)} is for named models; expected --model NAME=PATH, --model-repository DIR or --config FILE with it.`,
  );
}

function parseModelFlag(text: string): Required<ListedPath> {
  const [, name, path] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (name !== undefined && path !== undefined) return { name: name.trim(), path: toPlace(claimPath(path.trim())) };
  throw invalidArgument(
    `--model is "${text}"; expected NAME=PATH, for example emotion=models/emotion. One model needs no name: --model-path PATH.`,
  );
}
