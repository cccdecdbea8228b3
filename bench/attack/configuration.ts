import type { AttackRow } from "./attack-row.ts";

/** Ports of an attacked server: plain or encrypted, accepted by its main thread or by threads that listen. */
export interface Configuration {
  readonly name: string;
  readonly isEncrypted: boolean;
  readonly hasListeners: boolean;
}

/** Every configuration, by its name. */
export const CONFIGURATIONS: readonly Configuration[] = [false, true].flatMap((hasListeners) =>
  [false, true].map((isEncrypted) => ({
    name: [isEncrypted ? "tls" : hasListeners ? "" : "plain", hasListeners ? "listeners" : ""]
      .filter(Boolean)
      .join("-"),
    isEncrypted,
    hasListeners,
  })),
);

/** Configurations that a row's attack can be sent to. */
export function configurationsOf({ isEncrypted, isPlain, hasListeners }: AttackRow): readonly Configuration[] {
  return CONFIGURATIONS.filter((one) => {
    if (one.isEncrypted ? isPlain === true : isEncrypted === true) return false;
    return hasListeners === undefined || one.hasListeners === hasListeners;
  });
}

/** The row's own configuration, which the name gives it: it stays the same whatever rows come and go. */
export function usualConfiguration(row: AttackRow): Configuration {
  const all = configurationsOf(row);
  let sum = 0;
  for (const character of row.name) sum = (sum * 31 + character.charCodeAt(0)) % 65_521;
  return all[sum % all.length] as Configuration;
}
