/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The first of these variables that is set and not empty. */
export function firstOf(env: Environment, ...names: readonly string[]): string | undefined {
  return names.map((name) => env[name]).find((value) => value !== undefined && value !== "");
}

/** Checks if a variable says yes. */
export function isOn(value: string | undefined): boolean {
  return /^(?:1|true|yes|on)$/i.test(value ?? "");
}
