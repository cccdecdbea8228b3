import { publicText } from "../../errors.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { chosenVersions } from "./chosen-versions.ts";
import { locateModel } from "./find-model.ts";
import type { FoundVersion } from "./list-versions.ts";

/** A model as this machine would serve it with its configuration. */
export interface InspectedModel {
  readonly config: ModelConfig;
  /** The models of the highest version; several for a pipeline. */
  readonly driver: string;
  readonly chosen: readonly bigint[];
  readonly available: readonly bigint[];
  readonly warnings: readonly string[];
  /** The reason why it would not be served. */
  readonly problem?: string;
}

/** Collects facts about a model without loading it. */
export async function inspectModel(config: ModelConfig): Promise<InspectedModel> {
  const nothing = { config, driver: "-", chosen: [], available: [], warnings: [] };
  if (config.refusal !== undefined) return { ...nothing, problem: `${config.refusal}.` };
  // Not looked at: that would take credentials, and requests.
  if (isRemoteAddress(config.path ?? "")) return nothing;
  try {
    const { chosen, available, warnings } = await chosenVersions(config);
    const numbersOf = (versions: readonly FoundVersion[]) => versions.map(({ version }) => version);
    const found = { config, available: numbersOf(available), warnings, chosen: numbersOf(chosen) };
    const highest = chosen.at(-1);
    if (highest === undefined) return { ...nothing, ...found, problem: "none of its versions is there." };
    return { ...found, driver: await driverOf(config, highest.path) };
  } catch (reason) {
    return { ...nothing, problem: publicText(reason) };
  }
}

async function driverOf(config: ModelConfig, path: string): Promise<string> {
  const { stages, driver } = config;
  if (stages !== undefined)
    return stages.map((stage) => stage.driver ?? (stage.model === undefined ? "by its path" : "served")).join(" → ");
  return path === "" ? (driver ?? "-") : (await locateModel(path, config)).driver;
}
