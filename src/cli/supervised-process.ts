import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";

/** What to run. */
export interface ProcessSource {
  readonly argv: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;
/** A process that lived this long was well; its next restart is quick again. */
const HEALTHY_MS = 10_000;

/** Another program that is started again, with growing delays, whenever it ends. Its output goes where ours goes. */
export class SupervisedProcess {
  readonly #source: ProcessSource;
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isClosing = false;

  constructor(source: ProcessSource) {
    this.#source = source;
    process.once("exit", this.kill);
  }

  /** Resolves once the program runs; throws `failed_precondition` when it cannot be started. */
  async start(): Promise<void> {
    const { argv, env } = this.#source;
    const [program, ...args] = argv;
    const startedAt = performance.now();
    const child = spawn(program, args, { env, stdio: ["ignore", "inherit", "inherit"] });
    try {
      await once(child, "spawn");
    } catch (reason) {
      throw new ServingError("failed_precondition", `${program} could not be started; is it installed?`, {
        cause: reason,
      });
    }
    this.#child = child;
    child.once("exit", (code, signal) => this.#onExit({ code, signal, livedMs: performance.now() - startedAt }));
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
    const kill = setTimeout(this.kill, graceMs);
    await gone;
    clearTimeout(kill);
  }

  /** Ends the program without asking. */
  readonly kill = (): void => {
    this.#child?.kill("SIGKILL");
  };

  #onExit({ livedMs, ...how }: { code: number | null; signal: string | null; livedMs: number }): void {
    this.#child = undefined;
    if (this.#isClosing) return;
    if (livedMs >= HEALTHY_MS) this.#delayMs = FIRST_DELAY_MS;
    this.#source.log.warn("the HTTP server command ended; it is started again", { ...how, afterMs: this.#delayMs });
    this.#startLater();
  }

  #startLater(): void {
    this.#restart = setTimeout(() => {
      this.start().catch((reason) => {
        this.#source.log.error("the HTTP server command could not be started again", { err: reason });
        this.#startLater();
      });
    }, this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_DELAY_MS);
  }
}
