import { join } from "node:path";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";

/** An interpreter with numpy, which has imported it already. */
export const python = warmNumpy("Python handlers");
const HALF = "test/fixtures/models/half-plus-two.onnx";

/** Serves a model with an inference.py, and files beside that. */
export async function servePythonHandlers(source: string, files: Readonly<Record<string, string>> = {}, options = {}) {
  const hooks = join(tempFolder({ ...files, "inference.py": source }), "inference.py");
  const model = { driver: "onnx", path: HALF, hooks, options: { python: python as string, ...options } };
  const server = await startServer({ models: { half: model }, hookTimeoutMs: 5000 });
  const invoke = async (body: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${server.httpUrl}/invocations`, { method: "POST", body, headers });
    return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
  };
  return { server, invoke };
}
