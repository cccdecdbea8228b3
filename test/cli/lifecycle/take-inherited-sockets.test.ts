import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { describe, expect, test } from "vitest";
import { takeInheritedSockets } from "../../../src/cli/lifecycle/systemd-reporter.ts";
import { connect } from "../../grpc/byte-client.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startWithSockets } from "../start-kserving.ts";

const PID = String(process.pid);

/** A listening socket, its port and its descriptor, which Node.js does not publish. */
async function openSocket(): Promise<{ readonly server: Server; readonly port: number; readonly fd: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle;
  return { server, port: (server.address() as AddressInfo).port, fd };
}

describe.runIf(process.platform === "linux")("sockets from systemd", () => {
  test("are served, and what clients sent before the start is answered", async () => {
    const sockets = [await openSocket(), await openSocket(), await openSocket()];
    const [grpc, http, metrics] = sockets.map(({ port }) => `127.0.0.1:${port}`);
    const descriptors = sockets.map(({ fd }) => fd);
    const program = startWithSockets(["--driver", "null"], descriptors, "grpc:http:metrics");
    for (const { server } of sockets) server.close();
    // It is not accepted yet.
    const early = fetch(`http://${http}/v2/health/ready`);
    expect(await program.event("ready")).toMatchObject({ grpc, http: `http://${http}` });
    expect((await early).status).toBe(200);
    expect((await fetch(`http://${metrics}/metrics`)).status).toBe(200);
    expect((await fetch(`http://${http}/metrics`)).status).toBe(404);
    await connect(grpc as string).call("/inference.GRPCInferenceService/ServerLive", Buffer.alloc(0));
    program.kill("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stderr: "" });
  });

  test("that are none end the program with the descriptor", async () => {
    const program = startWithSockets(["--driver", "null"], [process.stdout.fd], "grpc");
    const { code, stderr } = await program.ended();
    expect([code, stderr]).toEqual([1, expect.stringContaining("Cannot listen on the socket with descriptor 3")]);
  });

  test.each([
    ["1", "", { grpc: 3 }],
    ["1", "kserving.socket", { grpc: 3 }],
    ["1", "http", { http: 3 }],
    ["4", "admin:metrics:http:grpc", { admin: 3, metrics: 4, http: 5, grpc: 6 }],
  ])("%s of them called %j are taken once", (LISTEN_FDS, LISTEN_FDNAMES, sockets) => {
    const { log } = createEventLog();
    const env: NodeJS.ProcessEnv = { LISTEN_FDS, LISTEN_FDNAMES, LISTEN_PID: PID, HOME: "/" };
    expect(takeInheritedSockets(env, log)).toEqual(sockets);
    expect(env).toEqual({ HOME: "/" });
    expect(takeInheritedSockets(env, log)).toEqual({});
  });

  test.each([
    ["grpc:rest", 'a socket called "rest"; expected a unit for each socket'],
    ["grpc:grpc", 'two sockets called "grpc"'],
    ["grpc", 'a socket called ""'],
  ])("called %j are refused", (LISTEN_FDNAMES, message) => {
    const env = { LISTEN_FDS: "2", LISTEN_FDNAMES, LISTEN_PID: PID };
    expect(() => takeInheritedSockets(env, createEventLog().log)).toThrow(message);
  });

  test("of the example units have names that are served", () => {
    const units = ["grpc", "http"].map((name) => readFileSync(`examples/systemd/kserving-${name}.socket`, "utf8"));
    const names = units.map((unit) => /^FileDescriptorName=(.*)$/m.exec(unit)?.[1]);
    const env = { LISTEN_FDS: "2", LISTEN_FDNAMES: names.join(":"), LISTEN_PID: PID };
    expect(takeInheritedSockets(env, createEventLog().log)).toEqual({ grpc: 3, http: 4 });
  });

  test("for another process are left alone, with a warning", () => {
    const { log, events } = createEventLog();
    expect(takeInheritedSockets({ LISTEN_FDS: "1", LISTEN_PID: "1" }, log)).toEqual({});
    expect(events).toMatchObject([{ level: "warn", msg: expect.stringContaining("for the process 1") }]);
  });
});
