import type { AttackRow, Target } from "./attack-row.ts";
import { ask } from "./http-attack.ts";
import { SECRETS } from "./server-arguments.ts";

/** Models of others, by where their code runs: what the server was started with is not for them. */
export const SECRET_ROWS: readonly AttackRow[] = ["process", "hooks"].map((place) => ({
  name: `secrets-${place}`,
  server: "spied",
  prepare: () => async (target: Target) => {
    const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [1] }];
    const path = `/v2/models/spying-${place}/infer`;
    const { status, start } = await ask(target, { path, body: Buffer.from(JSON.stringify({ inputs })) });
    const [, read = "0"] = /environments of (\d+)/.exec(start) ?? [];
    const got = `${status}, environments of ${read} processes`;
    if (Object.values(SECRETS).some((secret) => start.includes(secret))) return { got, problem: "it finds a secret" };
    return Number(read) > 0 ? { got } : { got, problem: "it has read none" };
  },
}));
