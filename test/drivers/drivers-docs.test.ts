import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { OptionSpec } from "../../src/drivers/option-table.ts";
import { PYTHON_HOST_OPTIONS } from "../../src/drivers/python/python-host-options.ts";
import { DRIVER_NAMES, findDriver } from "../../src/drivers/registry.ts";
import { HOST_OPTIONS } from "../../src/models/host-options.ts";
import { PYTHON_FRAMEWORKS } from "../../src/storage/runtimes/python-frameworks.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { describeDriver } from "./driver-contract.ts";
import { describeStreams } from "./stream-contract.ts";

describe("docs/drivers.md", () => {
  it.each(DRIVER_NAMES)(
    "leads to the page of the %s driver, which has its options as its table has them",
    async (name) => {
      expect(readPage("drivers.md")).toContain(`\n| [${name}](drivers/${name}.md) | `);
      const { options } = (await findDriver(name)).driver;
      const shared = Object.hasOwn(PYTHON_FRAMEWORKS, name) ? toRows(PYTHON_HOST_OPTIONS) : [];
      expect([...rowsOf(readPage(`drivers/${name}.md`)), ...shared]).toEqual(toRows(options));
    },
  );

  it("has no page of a driver that is none", () => {
    const others = ["models-in-python", "own-drivers"];
    expect(readdirSync("docs/drivers").toSorted()).toEqual(
      [...DRIVER_NAMES, ...others].map((name) => `${name}.md`).toSorted(),
    );
  });

  it.each([
    ["models in Python", "drivers/models-in-python.md", PYTHON_HOST_OPTIONS],
    ["every driver", "drivers.md", HOST_OPTIONS],
  ])("has the options of %s as their table has them", (_, page, options) => {
    expect(rowsOf(readPage(page).split("\n## Every driver\n").at(-1) as string)).toEqual(toRows(options));
  });
});

function readPage(name: string): string {
  return readFileSync(`docs/${name}`, "utf8");
}

/** The rows of a page's options table. */
function rowsOf(page: string): string[] {
  return page.split("\n").filter((line) => line.startsWith("| `"));
}

function toRows(options: Readonly<Record<string, OptionSpec>>): string[] {
  return Object.entries(options).map(([key, spec]) => toRow(key, spec));
}

function toRow(key: string, spec: OptionSpec): string {
  const name = spec.type === "prefix" ? `${key}.KEY` : key;
  const initial = "default" in spec && spec.default !== undefined ? `\`${spec.default}\`` : "";
  return `| \`${name}\` | ${toValues(spec)} | ${initial} | ${spec.help} |`;
}

function toValues(spec: OptionSpec): string {
  if (spec.type === "choice") return spec.choices.map((choice) => `\`${choice}\``).join(", ");
  if (spec.type === "prefix") return "text";
  return "min" in spec && spec.min !== undefined ? `${spec.type}, ${spec.min} or more` : spec.type;
}

const folder = mkdtempSync(join(tmpdir(), "kserving-docs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const examples = readPage("drivers/own-drivers.md").matchAll(/```ts\n([\s\S]*?)```/g);
const [linear = "", count = ""] = [...examples].map(([, code]) => code);
writeFileSync(join(folder, "linear.ts"), linear);
writeFileSync(join(folder, "count.ts"), count);
writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
writeFileSync(join(folder, "double.linear.json"), JSON.stringify({ weight: 2, bias: 1 }));

describe("the driver in docs/drivers/own-drivers.md", () => {
  it("satisfies the compiler", () => {
    const compilerOptions = {
      paths: { kserving: [resolve("dist/index.d.ts")] },
      typeRoots: [resolve("node_modules/@types")],
    };
    const config = { extends: resolve("tsconfig.json"), compilerOptions, include: [], files: ["linear.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const { stdout } = spawnSync(resolve("node_modules/.bin/tsc"), ["-p", folder]);
    expect(stdout.toString()).toBe("");
  });
});

const list = (...values: number[]) => createTensor("float32", [values.length], Float32Array.from(values));

await describeDriver({
  name: join(folder, "linear.ts"),
  modelPath: join(folder, "double.linear.json"),
  options: { digits: "1" },
  samples: [
    { inputs: { x: list(1, 2) }, expected: { y: list(3, 5) } },
    { inputs: { x: list(0.26) }, expected: { y: list(1.5) } },
  ],
  exempt: [{ case: "refuses a request that was cancelled before it began", reason: "is done at once" }],
});

const integer = (value: number) => createTensor("int32", [1], Int32Array.of(value));
const countTo = (last: number) => ({
  inputs: { x: integer(last) },
  parts: Array.from({ length: last }, (_, index) => ({ y: integer(index + 1) })),
});

describeStreams("the model that counts in docs/drivers/own-drivers.md", {
  driver: () => join(folder, "count.ts"),
  options: { ms: "1" },
  one: countTo(1),
  several: countTo(5),
  none: { x: integer(0) },
  endless: { x: integer(2 ** 31 - 1) },
});
