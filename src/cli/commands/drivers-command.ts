import type { Command } from "commander";
import { DRIVER_NAMES, findDriver } from "../../drivers/registry.ts";
import { HOST_OPTIONS } from "../../model-host/host-options.ts";
import { toColumns } from "../../text/columns.ts";
import { createParser, runParser } from "./create-parser.ts";
import { type DriverFacts, toDriverFacts, toOptionFacts } from "./driver-facts.ts";
import { toOptionRows } from "./option-rows.ts";

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
