import { type ClientHttp2Stream, connect } from "node:http2";
import { expect, onTestFinished } from "vitest";
import type { ServerStream } from "../../src/http2/server-session.ts";
import { startSessions } from "../http2/raw-client.ts";

/** Both ends of a request whose body has not begun, over a real connection that closes when the test ends. */
export async function openStream(): Promise<{ stream: ServerStream; request: ClientHttp2Stream }> {
  const streams: ServerStream[] = [];
  const port = await startSessions((opened) => opened.on("stream", (stream) => streams.push(stream)));
  const session = connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  const request = session.request({ ":method": "POST" });
  request.on("error", () => {});
  await expect.poll(() => streams.length).toBe(1);
  return { stream: streams[0] as ServerStream, request };
}
