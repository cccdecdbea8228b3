import { once } from "node:events";
import { connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ScriptedService, serve } from "../grpc/scripted-service.ts";
import { RawClient } from "../proxy/raw-client.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS = "\0\0\0\x04\0\0\0\0\0";
/** The answer to those of the server. */
const ANSWER = "\0\0\0\x04\x01\0\0\0\0";
/** The client begins no more calls. */
const GOAWAY = "\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/** A header frame of 100 bytes, of which one has come. */
const HALF_HEADERS = "\0\0\x64\x01\x04\0\0\0\x01\x82";
/** Headers that refer to no entry of a table. */
const UNREADABLE_HEADERS = "\0\0\x01\x01\x04\0\0\0\x01\x80";

it.each([
  ["nothing", ""],
  ["half of the preface", PREFACE.slice(0, 10)],
  ["only the preface", PREFACE],
  ["half of its settings", PREFACE + SETTINGS.slice(0, 4)],
  ["half a header frame", PREFACE + SETTINGS + HALF_HEADERS],
  ["headers that cannot be read", PREFACE + SETTINGS + UNREADABLE_HEADERS],
  ["no answer to the server's settings", PREFACE + SETTINGS],
  ["no answer to a ping", PREFACE + SETTINGS + ANSWER],
])("a connection that sends %s is closed in time", async (_, bytes) => {
  const channelArguments = ["grpc.keepalive_time_ms=30"];
  const { port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100, channelArguments });
  const client = new RawClient(port);
  client.write(bytes);
  await client.closed();
});

it("a connection whose client ends its session, but not the connection, is closed in time", async () => {
  const { port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100 });
  const client = connectSocket({ port, allowHalfOpen: true });
  client.write(PREFACE + SETTINGS + GOAWAY, "latin1");
  client.resume();
  await once(client, "end");
  // A connection that is gone answers with a reset.
  const timer = setInterval(() => client.write(SETTINGS, "latin1"), 20);
  onTestFinished(() => clearInterval(timer));
  await expect(once(client, "close")).rejects.toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) });
});

it("a connection that answers its ping lives on while others are closed", async () => {
  const channelArguments = ["grpc.keepalive_time_ms=30"];
  const { address, port } = await serve(new ScriptedService(), { handshakeTimeoutMs: 100, channelArguments });
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  await once(session, "ping");
  for (let round = 0; round < 3; round++) await new RawClient(port).closed();
  await new Promise((resolve) => session.ping(resolve));
  expect(session.destroyed).toBe(false);
});
