import type { Driver } from "../../drivers/driver.ts";
import type { OptionSpec, OptionTable } from "../../drivers/option-table.ts";

/** A driver as people and programs see it. */
export interface DriverFacts {
  readonly name: string;
  /** Names of files by which it is chosen. */
  readonly endings: readonly string[];
  /** True where it needs no model. */
  readonly pathless: boolean;
  /** True where its models run in processes of their own. */
  readonly isolated: boolean;
  readonly options: readonly OptionFacts[];
}

/** One `-o` key. */
export type OptionFacts = OptionSpec & { readonly name: string };

/** Files of models as their writers call them. */
const FILES = [
  ...["onnx", "ort", "xml", "pb", "tflite", "h5", "hdf5", "keras", "pt", "pth", "pt2", "torchscript", "jit"],
  ...["joblib", "pkl", "pickle", "ubj", "bst", "xgb", "lgb", "lgbm"],
].map((ending) => `.${ending}`);

/** Facts of a driver, the endings by asking it. */
export function toDriverFacts(driver: Driver): DriverFacts {
  const { name, detect, pathless = false, isIsolated = false, options } = driver;
  const recognised = [...FILES.map((ending) => ["x", ending]), ["", "model.json"]] as const;
  const endings = recognised.filter((parts) => detect?.(parts.join(""))).map(([, file]) => file as string);
  return { name, endings, pathless, isolated: isIsolated, options: toOptionFacts(options) };
}

/** A table of options as a list; a family of keys is called `PREFIX.KEY`. */
export function toOptionFacts(table: OptionTable): OptionFacts[] {
  return Object.entries<OptionSpec>(table).map(([name, spec]) => ({
    name: spec.type === "prefix" ? `${name}.KEY` : name,
    ...spec,
  }));
}
