import { once } from "node:events";
import { type ClientHttp2Stream, connect, createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Both ends of a request whose body has not begun, over a real connection that closes when the test ends. */
export async function openStream(): Promise<{ stream: ServerHttp2Stream; request: ClientHttp2Stream }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  const request = session.request({ ":method": "POST" });
  request.on("error", () => {});
  const [stream] = (await once(server, "stream")) as [ServerHttp2Stream];
  return { stream, request };
}
