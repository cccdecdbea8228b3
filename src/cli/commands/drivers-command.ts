import type { Command } from "commander";
import type { Driver } from "../../drivers/driver.ts";
import type { OptionSpec, OptionTable } from "../../drivers/option-table.ts";
import { DRIVER_NAMES, findDriver } from "../../drivers/registry.ts";
import { HOST_OPTIONS } from "../../models/host-options.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import { helpWidth } from "../help-width.ts";
import { toWrappedTable } from "../status-reporter/model-table.ts";
import { createParser, runParser } from "./create-parser.ts";

const EPILOGUE = `
Examples:
  kserving drivers
  kserving drivers onnx
  kserving drivers ./my-driver.ts --json

kserving runtimes list shows which runtimes are installed; docs/drivers.md has more about each driver.
`;

/** `kserving drivers`: lists drivers, or the options of one. */
export function drivers(argv: readonly string[]): Promise<void> {
  return runParser(createDriversCommand(), argv);
}

/** The parser of `kserving drivers`. */
export function createDriversCommand(): Command {
  return createParser("drivers", { description: "Lists drivers and their options.", epilogue: EPILOGUE })
    .argument("[name]", "a driver, or the path of your own; lists its options")
    .option("--json", "print JSON")
    .action(run);
}

async function run(name: string | undefined, { json = false }: { readonly json?: boolean }): Promise<void> {
  if (name === undefined) return list(json);
  const facts = await factsOf(name);
  if (json) return print({ ...facts, hostOptions: toOptionFacts(HOST_OPTIONS) });
  const rows = toOptionRows(facts.options);
  const own = rows.length === 1 ? [`The driver ${facts.name} has no options of its own.`] : rows;
  console.log([...own, "", "Options of every driver:", ...toOptionRows(toOptionFacts(HOST_OPTIONS))].join("\n"));
}

async function list(json: boolean): Promise<void> {
  const all = await Promise.all(DRIVER_NAMES.map(factsOf));
  if (json) return print(all);
  const rows = all.map(({ name, endings, options }) => [name, endings.join(", ") || "-", String(options.length)]);
  console.log(toColumns([["Driver", "Recognises", "Options"], ...rows]).join("\n"));
}

async function factsOf(name: string): Promise<DriverFacts> {
  const found = await findDriver(name);
  await found.dispose();
  return toDriverFacts(found.driver);
}

function print(value: unknown): void {
  console.log(JSON.stringify(value, null, 2));
}

/** A driver as people and programs see it. */
interface DriverFacts {
  readonly name: string;
  /** Names of files by which it is chosen. */
  readonly endings: readonly string[];
  /** True if it needs no model. */
  readonly pathless: boolean;
  /** True if its models run in processes of their own. */
  readonly isolated: boolean;
  readonly options: readonly OptionFacts[];
}

/** One `-o` key. */
type OptionFacts = OptionSpec & { readonly name: string };

/** Files of models as their writers call them. */
const FILES = [
  ...["onnx", "ort", "xml", "pb", "tflite", "h5", "hdf5", "keras", "pt", "pth", "pt2", "torchscript", "jit"],
  ...["joblib", "pkl", "pickle", "ubj", "bst", "xgb", "lgb", "lgbm"],
].map((ending) => `.${ending}`);

/** Facts of a driver, the endings by asking it. */
function toDriverFacts(driver: Driver): DriverFacts {
  const { name, detect, pathless = false, isIsolated = false, options } = driver;
  const recognised = [...FILES.map((ending) => ["x", ending]), ["", "model.json"]] as const;
  const endings = recognised.filter((parts) => detect?.(parts.join(""))).map(([, file]) => file as string);
  return { name, endings, pathless, isolated: isIsolated, options: toOptionFacts(options) };
}

/** A table of options as a list; a family of keys is called `PREFIX.KEY`. */
function toOptionFacts(table: OptionTable): OptionFacts[] {
  return Object.entries<OptionSpec>(table).map(([name, spec]) => ({
    name: spec.type === "prefix" ? `${name}.KEY` : name,
    ...spec,
  }));
}

const HEADINGS = ["Option", "Value", "Default", "Meaning"];
const WRAPPED = 3;

/** Options as the lines of a table. */
function toOptionRows(options: readonly OptionFacts[]): string[] {
  const rows = options.map((option) => [option.name, valueText(option), defaultText(option), meaningOf(option)]);
  return toWrappedTable([HEADINGS, ...rows], WRAPPED, helpWidth()).split("\n");
}

function valueText(option: OptionFacts): string {
  if (option.type === "prefix") return "text";
  return "min" in option && option.min !== undefined ? `${option.type}, ${option.min} or more` : option.type;
}

function defaultText(option: OptionFacts): string {
  return "default" in option && option.default !== undefined ? String(option.default) : "-";
}

function meaningOf(option: OptionFacts): string {
  return option.type === "choice" ? `${option.choices.join(", ")}. ${option.help}` : option.help;
}
