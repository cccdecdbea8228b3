import { expect, onTestFinished, test } from "vitest";
import { createGrpcServer } from "../../src/grpc/grpc-server.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { createHttpServer } from "../../src/proxy/http-server.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import type { InferenceService } from "../../src/serving/inference-service.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { WIRES, type Wire } from "./wires.ts";

const PROMISE = "Internal error; the server's log has the cause.";

/** Both transports in front of a service, and their log. */
async function serve(service: InferenceService) {
  const { log, events } = createEventLog();
  const options = { host: "127.0.0.1", port: 0, protocols: PROTOCOLS, settings: sliceSettings({}), log };
  const [grpc, http] = [await createGrpcServer(service, options), await createHttpServer(service, options)];
  onTestFinished(async () => void (await Promise.all([grpc.close(0), http.close(0)])));
  return { events, server: { grpcAddress: grpc.address, httpUrl: http.url } };
}

/** A bug of ours, with its own place in its stack. */
function bugAt(place: string): never {
  throw new TypeError(`a bug at ${place}`);
}

const PLACES: Readonly<Record<string, () => InferenceService>> = {
  "the run": () => new ScriptedService(() => bugAt("the run")),
  "the lease": () => Object.assign(new ScriptedService(), { acquire: () => bugAt("the lease") }),
  "the lease, later": () => Object.assign(new ScriptedService(), { acquire: async () => bugAt("the lease, later") }),
};

test.each(
  Object.keys(PLACES).flatMap((place) =>
    Object.entries<Wire>(WIRES).map(([name, wire]) => [name, place, wire] as const),
  ),
)("%s tells of a bug at %s, and the log has it", async (_name, place, wire) => {
  const { events, server } = await serve((PLACES[place] as () => InferenceService)());
  const [, message] = await wire.ask(server, {});
  expect(message).toContain(PROMISE);
  const line = events.find(({ level, err }) => level === "error" && JSON.stringify(err).includes(`a bug at ${place}`));
  expect(line, JSON.stringify(events)).toBeDefined();
});
