import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { failedPrecondition, reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { Backoff } from "../../platform/async/backoff.ts";
import { toAuthority } from "../../platform/net/listen.ts";
import type { Server } from "../../server/server.ts";
import { toReachableAddress } from "../addresses/address-text.ts";
import { probePort } from "../addresses/probe-port.ts";
import type { Running } from "../lifecycle/shutdown.ts";
import type { Settings } from "../settings/settings.ts";
import { supervised } from "../supervisor/supervised.ts";

/** The waits before a program that ended is started again. */
const BACKOFF = { firstMs: 100, maxMs: 10_000 } as const;
/** A program that lived this long was well; its next restart is quick again. */
const HEALTHY_MS = 10_000;

/** A running server with the address at which HTTP is served; undefined = it is not. */
interface Front extends Running {
  readonly httpUrl: string | undefined;
}

/** The server, with another program before it if `--http-server-command` asks for one. */
export async function openFront(server: Server, settings: Settings<"serve">, log: Logger): Promise<Front> {
  const inFlight = () => server.inFlight();
  const retire = () => server.retire();
  if (settings.httpServerCommand === undefined) {
    return { httpUrl: server.httpUrl, inFlight, retire, close: () => server.close() };
  }
  const httpPort = settings.httpPort === 0 ? await probePort(settings.host, 0, "httpPort") : settings.httpPort;
  const grpcAddress = toReachableAddress(server.grpcAddress, "127.0.0.1");
  const program = startHttpServerCommand(settings.httpServerCommand, { grpcAddress, httpPort, log });
  const front = await program.catch(async (reason) => {
    await server.close();
    throw reason;
  });
  const close = async () => {
    await Promise.all([front.close(settings.drainTimeoutMs), server.close()]);
  };
  return { httpUrl: `http://${toAuthority(settings.host, httpPort)}`, inFlight, retire, close, abandon: front.kill };
}

/** Addresses and limits for another program that serves HTTP for us. */
interface HttpServerCommandOptions {
  readonly grpcAddress: string;
  readonly httpPort: number;
  readonly log: Logger;
}

/**
 * Starts the program of `--http-server-command` and keeps it running. It learns where to go from its environment
 * (KSERVING_GRPC_ADDRESS, KSERVING_HTTP_PORT, which `kserving proxy` reads too) or from `{grpc_address}`, `{grpc_port}`
 * and `{http_port}` in its arguments.
 */
async function startHttpServerCommand(
  [program, ...args]: readonly [string, ...string[]],
  { grpcAddress, httpPort, log }: HttpServerCommandOptions,
): Promise<HttpServerProcess> {
  const values: Readonly<Record<string, string>> = {
    "{grpc_address}": grpcAddress,
    "{grpc_port}": grpcAddress.slice(grpcAddress.lastIndexOf(":") + 1),
    "{http_port}": String(httpPort),
  };
  const fill = (word: string) => word.replace(/\{\w+\}/g, (placeholder) => values[placeholder] ?? placeholder);
  const supervised = new HttpServerProcess({
    argv: [program, ...args.map(fill)],
    // Our own delay is over when the program is asked to end.
    env: {
      ...process.env,
      KSERVING_GRPC_ADDRESS: grpcAddress,
      KSERVING_HTTP_PORT: String(httpPort),
      KSERVING_SHUTDOWN_DELAY: "0",
    },
    log,
  });
  await supervised.start();
  return supervised;
}

/** A program to run, and its environment. */
interface ProcessSource {
  readonly argv: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
}

/**
 * The program of `--http-server-command`, started again, with growing waits, whenever
 * it ends. Its output goes where ours goes.
 */
class HttpServerProcess {
  readonly #source: ProcessSource;
  readonly #backoff = new Backoff(BACKOFF);
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isClosing = false;

  constructor(source: ProcessSource) {
    this.#source = source;
    process.once("exit", this.kill);
  }

  /** Resolves once the program runs; throws `failed_precondition` when it cannot be started. */
  async start(): Promise<void> {
    const { argv, env, log } = this.#source;
    const [program, ...args] = argv;
    const startedAt = performance.now();
    // Its own process group keeps the terminal's Ctrl-C from it, which would cut the
    // requests that we still want to finish.
    const child = spawn(program, args, { env, stdio: ["ignore", "inherit", "inherit"], detached: true });
    child.on("error", (err) => log.debug("http server command", { err }));
    this.#child = child;
    child.once("exit", (code, signal) => this.#onExit({ code, signal, livedMs: performance.now() - startedAt }));
    try {
      await once(child, "spawn");
      if (child.pid !== undefined) await supervised()?.tell({ owned: [child.pid] });
    } catch (reason) {
      this.#child = undefined;
      const message = `The program ${program} of --http-server-command could not be started (${reasonText(reason)}); expected one that PATH finds, or the path of one.`;
      throw failedPrecondition(message, reason);
    }
  }

  /** Asks the program to end, kills it when it has not after `graceMs`; resolves once it is gone. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#restart);
    process.off("exit", this.kill);
    const child = this.#child;
    if (child === undefined) return;
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    const patience = setTimeout(this.kill, graceMs);
    await gone;
    clearTimeout(patience);
  }

  /** Ends the program, and what it has started, without asking. */
  readonly kill = (): void => {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch (reason) {
      this.#source.log.debug("http server command is gone already", { err: reason });
    }
  };

  #onExit({ livedMs, ...how }: { code: number | null; signal: string | null; livedMs: number }): void {
    this.#child = undefined;
    if (this.#isClosing) return;
    if (livedMs >= HEALTHY_MS) this.#backoff.reset();
    const restartInMs = this.#backoff.next();
    this.#source.log.warn("the HTTP server command ended", { ...how, restartInMs });
    this.#restartIn(restartInMs);
  }

  #restartIn(waitMs: number): void {
    this.#restart = setTimeout(() => {
      this.start().catch((reason) => {
        this.#source.log.error("the HTTP server command is not back", { err: reason });
        this.#restartIn(this.#backoff.next());
      });
    }, waitMs);
  }
}
