import { driversToAsk } from "../../drivers/drivers-for.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { reasonText } from "../../errors.ts";
import { createSilentLogger } from "../../observability/logger.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { withProgress } from "../live-line.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";

/** A driver that was asked to load a model. */
export interface DriverTrial {
  readonly driver: string;
  /** The reason for which it refused; absent if it loaded the model. */
  readonly problem?: string;
  /** The runtime with its version and place. */
  readonly runtime?: string;
  readonly loadMs?: number;
  readonly signatures?: Readonly<Record<string, Signature>>;
}

/** Drivers and their options. */
interface Trials {
  /** Empty = those that may take the model. */
  readonly driver: readonly string[];
  readonly option: readonly string[];
}

/** Lets drivers load a model, one after the other. */
export async function tryDrivers(path: string, { driver, option }: Trials): Promise<readonly DriverTrial[]> {
  const names = driver.length > 0 ? driver : await driversToAsk(path);
  const { shared } = parseOptionFlags(option, 1);
  const trials: DriverTrial[] = [];
  for (const name of names)
    trials.push(await withProgress(`loading ${path} with ${name}`, () => tryDriver(name, path, shared)));
  return trials;
}

async function tryDriver(driver: string, path: string, options: RawOptions): Promise<DriverTrial> {
  const { createServer } = await import("../../server/server.ts");
  try {
    const server = await createServer({
      stages: [{ driver, path }],
      options,
      ...{ listen: false, shareThreads: false, drainTimeoutMs: 1000 },
      log: createSilentLogger(),
    });
    const [{ runtime, loadMs } = {}] = server.stages;
    const lease = await server.service.acquire({ model: "" });
    const { signatures } = lease.description;
    lease.release();
    await server.close();
    return { driver, ...(runtime !== undefined && { runtime }), ...(loadMs !== undefined && { loadMs }), signatures };
  } catch (reason) {
    return { driver, problem: reasonText(reason).replace(/\s*\n\s*/g, " ") };
  }
}
