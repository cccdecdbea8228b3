import { expect, test } from "vitest";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { serveHttp } from "./serve-http.ts";

test.each(["/v2/health/live", "/v2", "/nothing", "/v2/models/%zz"])(
  "no browser takes the answer of %s for something else than it says",
  async (path) => {
    const { url } = await serveHttp(new ScriptedService());
    const { headers } = await fetch(url + path);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  },
);
