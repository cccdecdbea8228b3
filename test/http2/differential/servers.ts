import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { ServerSession } from "../../../src/http2/server-session.ts";
import { watchChild } from "../../helpers/children.ts";
import { listenOnFreePort } from "../listen-on-free-port.ts";
import { answerRequests, LIMITS } from "./answer.ts";

/** A server of ours, and one of node:http2, that answer alike: what they received, and as many bytes as they did. */
export interface Servers {
  readonly ours: number;
  readonly nodes: Pick<NodeServer, "port" | "deaths">;
  /** Time without a word after which one of them has nothing to say where they seem to differ, in milliseconds. */
  readonly doubtMs: number;
  close(): void;
}

const DOUBT_MS = 400;

/** Starts both servers on free ports, ours with connections of the given class. */
export async function startServers(Session = ServerSession): Promise<Servers> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    answerRequests(new Session(socket, LIMITS));
  });
  const [ours, nodes] = [await listenOnFreePort(server), new NodeServer()];
  await nodes.port();
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    nodes.close();
  };
  return { ours, nodes, doubtMs: DOUBT_MS, close };
}

/** A server of node:http2 in a process, which the library ends at some frames, and which is then started again. */
class NodeServer {
  deaths = 0;
  #child: ChildProcess;
  #port: Promise<number>;

  constructor() {
    this.#child = this.#start();
    this.#port = firstMessage(this.#child);
  }

  /** Resolves with its port once it listens. */
  port(): Promise<number> {
    return this.#port;
  }

  close(): void {
    this.#child.removeAllListeners("exit").kill();
  }

  #start(): ChildProcess {
    const program = fileURLToPath(new URL("node-server-entry.ts", import.meta.url));
    const child = watchChild(
      fork(program, { execArgv: ["--import", "tsx"], stdio: ["ignore", "ignore", "ignore", "ipc"] }),
    );
    child.once("exit", () => {
      this.deaths++;
      this.#child = this.#start();
      this.#port = firstMessage(this.#child);
    });
    return child;
  }
}

async function firstMessage(child: ChildProcess): Promise<number> {
  const [port] = await once(child, "message");
  return port;
}
