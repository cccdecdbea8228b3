import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Command } from "commander";
import { reasonText } from "../../errors.ts";
import { EXIT } from "../exit-codes.ts";
import { type Environment, fromEnvironment } from "../settings/environment.ts";
import { toUsageError } from "../settings/parse-settings.ts";
import { readSetting } from "../settings/read-setting.ts";
import { SETTINGS } from "../settings/settings.ts";

const READY_PATH = "/v2/health/ready";

const EPILOGUE = `
Examples:
  kserving health
  kserving health 127.0.0.1:9000
  kserving health http://127.0.0.1:9001
  kserving health unix:/run/kserving/grpc.sock

HOST:PORT, unix:PATH and grpcs://HOST:PORT are asked over gRPC (grpc.health.v1), http:// and https:// by GET ${READY_PATH}
unless the URL has a path. Certificates are not checked: this is meant for the machine that the server runs on.
The exit code is 0 where the server is ready, else 1.
`;

/** `kserving health`: asks a server whether it is ready, prints one line, and resolves with the exit code. */
export async function health(argv: readonly string[], env: Environment): Promise<number> {
  const port = fromEnvironment("port", SETTINGS.port, env)?.text ?? SETTINGS.port.default;
  const command = new Command("kserving health")
    .description("Asks a server whether it is ready, for probes of containers and services.")
    .argument("[address]", "address to ask", `127.0.0.1:${port}`)
    .option("--timeout <seconds>", "maximum time of the answer", "3")
    .helpOption("-h, --help", "print this help")
    .addHelpText("after", EPILOGUE)
    .configureOutput({ outputError: () => {} })
    .exitOverride();
  try {
    command.parse(argv, { from: "user" });
  } catch (reason) {
    throw toUsageError(reason, "kserving health --help says what it takes");
  }
  const [address = ""] = command.processedArgs as string[];
  const { timeout: text } = command.opts<{ timeout: string }>();
  const seconds = { type: "seconds", default: 0, help: "", commands: [] } as const;
  const timeoutMs = 1000 * Number(readSetting(seconds, { source: "--timeout", text }));
  const problem = await problemOf(address, timeoutMs);
  console.log(problem === undefined ? `${address} is ready` : `${address} is not ready: ${problem}`);
  return problem === undefined ? EXIT.ok : EXIT.failure;
}

/** The reason for which a server is not ready; undefined where it is. */
async function problemOf(address: string, timeoutMs: number): Promise<string | undefined> {
  try {
    if (/^https?:\/\//.test(address)) return await problemOverHttp(new URL(address), timeoutMs);
    const { checkHealth } = await import("../../remote/check-health.ts");
    const isEncrypted = address.startsWith("grpcs://");
    const status = await checkHealth(address.replace(/^grpcs?:\/\//, ""), { timeoutMs, isEncrypted });
    return status === "SERVING" ? undefined : status;
  } catch (reason) {
    return reasonText(reason);
  }
}

function problemOverHttp(url: URL, timeoutMs: number): Promise<string | undefined> {
  if (url.pathname === "/") url.pathname = READY_PATH;
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, signal, rejectUnauthorized: false }, (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      resolve(statusCode >= 200 && statusCode < 300 ? undefined : `status ${statusCode}`);
    });
    sent.once("error", (reason) => reject(signal.aborted ? new Error("no answer in time") : reason));
    sent.end();
  });
}
