import { goProgram } from "./installed-program.ts";
import type { RealServer } from "./real-server.ts";
import { sendRequest } from "./send-request.ts";
import { startProgram } from "./start-program.ts";

/** An emulator of Google's storage, built with Go. */
export async function startFakeGcs(): Promise<RealServer> {
  const { program, version } = await goProgram("fake-gcs-server", "github.com/fsouza/fake-gcs-server");
  const { port, stop } = await startProgram((port) => ({
    command: [program, "-scheme", "http", "-host", "127.0.0.1", "-port", String(port), "-backend", "memory"],
  }));
  const base = `http://127.0.0.1:${port}`;
  const headers = { "content-type": "application/json" };
  await sendRequest(`${base}/storage/v1/b?project=check`, { method: "POST", headers, body: '{"name":"models-check"}' });
  return {
    port,
    version,
    bucket: () => "gs://models-check",
    env: (own) => ({ STORAGE_EMULATOR_HOST: `http://127.0.0.1:${own}` }),
    put: (key, body) => {
      const query = new URLSearchParams({ uploadType: "media", name: key });
      return sendRequest(`${base}/upload/storage/v1/b/models-check/o?${query}`, { method: "POST", body });
    },
    stop,
  };
}
