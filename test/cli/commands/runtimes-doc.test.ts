import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createRuntimesCommand } from "../../../src/cli/commands/runtimes-command.ts";
import { libraryVariables } from "../../../src/storage/runtimes/find-library.ts";
import { NATIVE_RUNTIMES } from "../../../src/storage/runtimes/native-runtimes.ts";

const doc = await readFile(new URL("../../../docs/runtimes.md", import.meta.url), "utf8");

test("docs/runtimes.md has the flags of kserving runtimes install", () => {
  const install = createRuntimesCommand().commands.find((command) => command.name() === "install");
  const flags = [...doc.matchAll(/^\| `(--\w+)/gm)].map(([, flag]) => flag);
  expect(flags).toEqual(install?.options.map(({ long }) => long));
});

test.each(NATIVE_RUNTIMES)(
  "docs/runtimes.md has the tested version and the variables of $name",
  ({ name, testedVersion }) => {
    expect(doc).toContain(`| \`${name}\` | ${testedVersion} |`);
    for (const variable of libraryVariables(name)) expect(doc).toContain(`\`${variable}\``);
  },
);
