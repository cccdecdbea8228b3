import type { ServedVersion } from "../../server/served-version.ts";
import { portOf } from "../addresses/port-of.ts";
import type { Settings } from "../settings/settings.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import { tensorflowLog } from "./tensorflow-log.ts";

const log = (text: string) => tensorflowLog("I", text);

type ListenSettings = Pick<Settings<"serve">, "port" | "grpcSocketPath">;

/** Prints the lines of `tensorflow_model_server` that scripts wait for, to standard error as there. */
export function createTensorflowReporter({ port, grpcSocketPath }: ListenSettings): Partial<StatusReporter> {
  const available = new Set<string>();
  const tellVersion = ({ name, version, state }: ServedVersion) => {
    const text = `{name: ${name} version: ${version}}`;
    if (state === "AVAILABLE" && !available.has(text)) {
      available.add(text);
      log(`Successfully loaded servable version ${text}`);
    }
    if (state === "END" && available.delete(text)) log(`Done unloading servable version ${text}`);
  };
  return {
    changed: tellVersion,
    ready: ({ grpcAddress, httpUrl }) => {
      if (port !== 0) log(`Running gRPC ModelServer at 0.0.0.0:${portOf(grpcAddress)} ...`);
      if (grpcSocketPath !== undefined) log(`Running gRPC ModelServer at UNIX socket ${grpcSocketPath} ...`);
      if (httpUrl === undefined) return;
      log(`Exporting HTTP/REST API at:localhost:${portOf(httpUrl)} ...`);
      // Many scripts wait for the last line of all.
      process.stderr.write("[kserving : 0] NET_LOG: Entering the event loop ...\n");
    },
  };
}
