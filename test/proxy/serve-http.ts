import { onTestFinished } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { type SettingOptions, sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../src/proxy/http-server.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import type { InferenceService } from "../../src/serving/inference-service.ts";

/** An HTTP server on a free port that closes when the test ends. */
export async function serveHttp(
  service: InferenceService,
  options: Partial<HttpServerOptions> & Omit<SettingOptions, keyof HttpServerOptions> = {},
): Promise<HttpServer> {
  const server = await createHttpServer(service, {
    host: "127.0.0.1",
    port: 0,
    protocols: PROTOCOLS,
    settings: sliceSettings(options as SettingOptions),
    log: createSilentLogger(),
    ...options,
  });
  onTestFinished(() => server.close(0));
  return server;
}
