/**
 * The reason why a runtime cannot be imported; undefined if it can. Prints it, since its tests are then skipped. In CI,
 * where nothing may be skipped, it throws.
 */
export async function missingRuntime(what: string, runtime: () => Promise<unknown>): Promise<string | undefined> {
  const reason = await runtime().then(
    () => undefined,
    (cause) => String(cause),
  );
  if (reason === undefined) return undefined;
  if (process.env.CI) throw new Error(`${what} cannot be tested: ${reason}`);
  process.stderr.write(`${what} is not tested: ${reason}\n`);
  return reason;
}
