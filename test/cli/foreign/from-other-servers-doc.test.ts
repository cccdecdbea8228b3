import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { effectText, type ForeignFlag, type ForeignFlags } from "../../../src/cli/foreign/foreign-flag.ts";
import { KSERVE_FLAGS } from "../../../src/cli/foreign/kserve-flags.ts";
import { IE_SERVING_FLAGS, IE_SERVING_VARIABLES, OVMS_FLAGS } from "../../../src/cli/foreign/openvino-flags.ts";
import { SIMPLE_TENSORFLOW_FLAGS } from "../../../src/cli/foreign/simple-tensorflow-serving-flags.ts";
import { TENSORFLOW_FLAGS } from "../../../src/cli/foreign/tensorflow-flags.ts";

const DOC = new URL("../../../docs/from-other-servers.md", import.meta.url);

function toTable(flags: ForeignFlags, dashes: string): string {
  const rows = Object.entries<ForeignFlag>(flags).map(([name, flag]) => {
    const { default: value = "", env, help } = flag;
    const variable = dashes === "--" && env !== undefined ? `, \`${env}\`` : "";
    return `| \`${dashes}${name}\`${variable} | ${value === "" ? "-" : `\`${value}\``} | ${help} | ${effectText(flag)} |`;
  });
  return ["| Flag | Default | Meaning | Here |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function withoutVariables(flags: ForeignFlags): ForeignFlags {
  return Object.fromEntries(Object.entries(flags).map(([name, { env: _, ...flag }]) => [name, flag as ForeignFlag]));
}

test.each([
  ["flags of tensorflow_model_server", toTable(TENSORFLOW_FLAGS, "--")],
  ["flags of ovms", toTable(withoutVariables(OVMS_FLAGS), "--")],
  ["flags of ie_serving model", toTable(IE_SERVING_FLAGS.model, "--")],
  ["flags of ie_serving config", toTable(IE_SERVING_FLAGS.config, "--")],
  ["flags of simple_tensorflow_serving", toTable(SIMPLE_TENSORFLOW_FLAGS, "--")],
  ["flags of kserve", toTable(KSERVE_FLAGS, "--")],
  ["variables of ie_serving", toTable(IE_SERVING_VARIABLES, "").replace("| Flag |", "| Variable |")],
])("docs/from-other-servers.md has the %s as the program's table has them", async (title, table) => {
  const doc = await readFile(DOC, "utf8");
  const [, section] = doc.split(`<!-- ${title} -->\n`);
  expect((section ?? "").split("<!-- end -->", 1)[0]).toBe(`${table}\n`);
});
