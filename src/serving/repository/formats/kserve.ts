import { resolve } from "node:path";
import type { RawOptions } from "../../../drivers/option-table.ts";
import { findDriver } from "../../../drivers/registry.ts";
import { ServingError } from "../../../errors.ts";
import { isRemoteAddress } from "../../../storage/remote-address.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { locateModel } from "../folders/find-model.ts";
import { listModels, type ModelList } from "../folders/list-models.ts";
import { listVersions } from "../folders/list-versions.ts";
import { type FolderModel, hasTritonConfig, readTritonConfig } from "../folders/read-triton-config.ts";

/** The words of a KServe command line about the model in its folder. */
export interface KserveWishes {
  /** Name of the model, if there is one. */
  readonly name: string;
  /** Absent = by the files in the folder. */
  readonly driver?: string;
  /** The hook file's absolute path. */
  readonly hooks?: string;
  /** True if scikit-learn's probabilities are asked for in place of its classes. */
  readonly wantsProbabilities: boolean;
  /** Keys of `-o` options that the user gives, which are left alone. */
  readonly ownOptions: readonly string[];
}

/**
 * Finds what a folder of KServe holds, which never says of which format: one model or folders of its versions, under
 * the name that is asked for, else a folder for each of several models. Throws `failed_precondition` if it has none.
 */
export async function findKserveModels(path: string, wishes: KserveWishes): Promise<ModelList> {
  if (isRemoteAddress(path)) return { models: [modelConfig({ path, ...ofWishes(wishes) })], warnings: [] };
  const folder = resolve(path);
  const { models, warnings } = (await findOne(folder, wishes)) ?? (await listModels(folder));
  return { models: await Promise.all(models.map((model) => withOptions(model, wishes))), warnings };
}

function ofWishes({ name, driver, hooks }: KserveWishes) {
  return { name, ...(driver !== undefined && { driver }), ...(hooks !== undefined && { hooks }) };
}

/** The only model of a folder; undefined for a folder that may hold folders of models instead. */
async function findOne(path: string, wishes: KserveWishes): Promise<ModelList | undefined> {
  if (await hasTritonConfig(path)) return withName(await readTritonConfig(path, true), wishes);
  try {
    await listVersions(path, wishes.driver);
    return { models: [modelConfig({ path, ...ofWishes(wishes) })], warnings: [] };
  } catch (reason) {
    if (reason instanceof ServingError && reason.code === "not_found") return undefined;
    throw reason;
  }
}

function withName({ config, warnings }: FolderModel, wishes: KserveWishes): ModelList {
  return { models: [{ ...config, ...ofWishes(wishes) }], warnings };
}

/** Options that KServe's own servers have built in, for a model whose driver takes them. */
async function withOptions(model: ModelConfig, wishes: KserveWishes): Promise<ModelConfig> {
  const driver = await driverOf(model);
  if (driver === undefined) return model;
  const { options: table } = (await findDriver(driver)).driver;
  const outputs = wishes.wantsProbabilities ? "predict_proba" : "predict";
  const builtIn: RawOptions = {
    ...("allow_pickle" in table && { allow_pickle: "true" }),
    ...(driver === "sklearn" && { outputs }),
  };
  const entries = Object.entries(builtIn).filter(([key]) => !wishes.ownOptions.includes(key));
  return { ...model, options: { ...Object.fromEntries(entries), ...model.options } };
}

/** Of a model that cannot be found the driver is told later, with the reason. */
async function driverOf({ path, stages, refusal, ...rest }: ModelConfig): Promise<string | undefined> {
  if (path === undefined || stages !== undefined || refusal !== undefined) return undefined;
  const { versions } = await listVersions(path, rest.driver);
  return (await locateModel(versions.at(-1)?.path ?? path, rest)).driver;
}
