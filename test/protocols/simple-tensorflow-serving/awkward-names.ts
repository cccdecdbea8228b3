import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { promisify } from "node:util";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Names that mean something else in some language, or run a program there. */
export const AWKWARD_NAMES = [
  "default",
  "it's",
  'a "quoted" name',
  "$HOME `touch run` $(touch run) ${touch}",
  "back\\slash \\u0041 \\n \\",
  "üñí 模型 😀",
  "'; touch run; '",
  "'''+open('run','w')+'''",
  "`;require('fs').writeFileSync('run','');`",
  "*/ } REQUEST",
  "two\nlines\r\u2028\u2029\u0085\u0007",
  "REQUEST\n$(touch run)\nREQUEST\n",
  "<script>touch</script> & %s %d %n #{1} {{x}}",
  "__proto__",
] as const;

/** A server with a model of each awkward name that has inputs with all of these names, and gives back what it takes. */
export async function startAwkwardServer(): Promise<{ readonly httpUrl: string }> {
  const inputs = [
    ...AWKWARD_NAMES.map((name) => ({ name, dtype: "float32", shape: [-1, 3] }) as const),
    { name: "count", dtype: "int64", shape: [] },
    { name: "text", dtype: "bytes", shape: [{ min: 3, max: 9 }] },
    { name: "flag", dtype: "bool" },
  ] as const;
  const hooks = defineHooks({ inputs, preprocess: (values) => values });
  const pipeline = { stages: [{ driver: "null" }], hooks };
  const models = Object.fromEntries(AWKWARD_NAMES.map((name) => [name, pipeline]));
  return startServer({ models });
}

const ROWS = [
  [1, 1, 1],
  [1, 1, 1],
];

/** The answer to the example of every model there, as JSON. */
export const AWKWARD_ANSWER = JSON.stringify(
  Object.fromEntries([
    ...AWKWARD_NAMES.map((name) => [name, ROWS]),
    ["count", 1],
    ["text", ["", "", ""]],
    ["flag", [true, true]],
  ]),
);

/** The URL of a model's client. */
export function clientUrl(httpUrl: string, model: string, language: string): string {
  return `${httpUrl}/v1/models/${encodeURIComponent(model)}/gen_client?language=${language}`;
}

/**
 * Fetches a program, runs it in its own folder, and gives the JSON that it
 * printed; throws if it has written a file.
 */
export async function runClient(url: string, file: string, command: readonly [string, ...string[]]): Promise<string> {
  const answer = await fetch(url);
  const cwd = tempFolder({ [file]: await answer.text() });
  const [program, ...args] = command;
  const { stdout } = await promisify(execFile)(program, args, { cwd });
  const files = readdirSync(cwd).filter((name) => name !== file);
  if (files.length > 0) throw new Error(`The program has written ${files}.`);
  return JSON.stringify(JSON.parse(stdout));
}
