import { join } from "node:path";
import type { ServerOptions } from "../../../../src/server/server-options.ts";
import { findPython } from "../../../helpers/find-python.ts";
import { startServer } from "../../../helpers/start-server.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { warmPython } from "../../../helpers/warm-python.ts";

/** An interpreter with numpy, for tests of the process itself. */
export const ownPython = findPython("Python hooks", ["numpy"]);
/** The same with numpy imported already. */
export const python = ownPython && warmPython(ownPython, "numpy");

/** Answer of a server with Python hooks. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly error: string | undefined;
  /** Values by output. */
  readonly outputs: Readonly<Record<string, readonly unknown[]>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly shapes: Readonly<Record<string, readonly number[]>>;
}

/** A V2 input. */
type Input = readonly [datatype: string, shape: readonly number[], data: readonly unknown[]];

/** Options of the server, and further files beside the hooks. */
interface Serving extends Partial<ServerOptions> {
  readonly files?: Readonly<Record<string, string>>;
}

/** Serves a hook file's text, and asks it over HTTP. */
export async function servePythonHooks(source: string, { files, ...options }: Serving = {}) {
  const folder = tempFolder({ ...files, "hooks.py": source });
  const server = await startServer({
    stages: [{ driver: "null" }],
    hooks: join(folder, "hooks.py"),
    workers: 1,
    ...options,
    options: { python: python as string, ...options.options },
  });
  return { folder, server, ask: (inputs: Readonly<Record<string, Input>>) => ask(server.httpUrl, inputs) };
}

async function ask(url: string, inputs: Readonly<Record<string, Input>>): Promise<Answer> {
  const given = Object.entries(inputs).map(([name, [datatype, shape, data]]) => ({ name, datatype, shape, data }));
  const body = JSON.stringify({ inputs: given });
  const response = await fetch(`${url}/v2/models/default/infer`, { method: "POST", body });
  const answer = (await response.json()) as { error?: string; outputs?: readonly Output[] };
  const by = <T>(member: (output: Output) => T) =>
    Object.fromEntries((answer.outputs ?? []).map((output) => [output.name, member(output)]));
  return {
    status: response.status,
    headers: response.headers,
    error: answer.error,
    outputs: by(({ data }) => data),
    dtypes: by(({ datatype }) => datatype),
    shapes: by(({ shape }) => shape),
  };
}

interface Output {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly unknown[];
}
