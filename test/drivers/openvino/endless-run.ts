import { createSilentLogger, type Logger } from "../../../src/observability/logger.ts";
import { createServer } from "../../../src/server/server.ts";
import { openvinoModel } from "./openvino-cases.ts";

// A program: asks a model for a loop without end, gives up, and asks for three turns once the model was loaded again.
// It ends without waiting for the loop.
let replaced = () => {};
const replacement = new Promise<void>((resolve) => {
  replaced = resolve;
});
const log: Logger = {
  ...createSilentLogger(),
  level: "warn",
  warn: (message) => {
    if (message.includes("runs")) process.stdout.write(`${message}\n`);
  },
  error: (message) => {
    process.stdout.write(`${message.replace(/\d+/, "N")}\n`);
    if (message.endsWith("is replaced")) replaced();
  },
  child: () => log,
};
const { httpUrl } = await createServer({
  log,
  http: {},
  modelStallMs: 200,
  requestTimeoutMs: 500,
  stages: [{ driver: "openvino", path: openvinoModel("loop") }],
});

process.stdout.write(`${await ask(2_000_000_000)}\n`);
await replacement;
let status = 0;
while (status !== 200) status = await ask(3);
process.stdout.write("answered\n");
process.kill(process.pid, "SIGKILL");

async function ask(turns: number): Promise<number> {
  const body = JSON.stringify({ inputs: { turns, x: [1, 2] } });
  return (await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body })).status;
}
