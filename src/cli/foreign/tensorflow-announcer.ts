import type { Announcer } from "../announcer/announcer.ts";
import { tensorflowLog } from "./tensorflow-log.ts";

const log = (text: string) => tensorflowLog("I", text);

/** Prints the lines of `tensorflow_model_server` that scripts wait for, to standard error as there. */
export function createTensorflowAnnouncer(): Partial<Announcer> {
  const available = new Set<string>();
  const tellVersion = (name: string, version: bigint | string, state: string) => {
    const text = `{name: ${name} version: ${version}}`;
    if (state === "AVAILABLE" && !available.has(text)) {
      available.add(text);
      log(`Successfully loaded servable version ${text}`);
    }
    if (state === "END" && available.delete(text)) log(`Done unloading servable version ${text}`);
  };
  return {
    changed: ({ name, version, state }) => tellVersion(name, version, state),
    ready: ({ grpcAddress, httpUrl, models = [] }) => {
      for (const { name, version, state } of models) tellVersion(name, version, state);
      log(`Running gRPC ModelServer at 0.0.0.0:${portOf(grpcAddress)} ...`);
      if (httpUrl === undefined) return;
      log(`Exporting HTTP/REST API at:localhost:${portOf(httpUrl)} ...`);
      // Many scripts wait for the last line of all.
      process.stderr.write("[kserving : 0] NET_LOG: Entering the event loop ...\n");
    },
  };
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(":") + 1);
}
